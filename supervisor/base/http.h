/*
 * One blocking HTTP request with a deadline and a cancel object; libcurl is behind it and nowhere
 * else.
 *
 * HTTP/1.1 only, no redirects, no netrc, no signals; the path goes out as it is. A status of 400 or
 * more is an answer, not an error: the caller knows what it means. The library is set up at the
 * first http_new(), so a program that makes no request does not pay for it.
 */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handle with its pool of connections, used by one thread at a time. */
struct http;

struct http_request {
	/* NULL: GET */
	const char *method;
	const char *url;
	/* "Name: value", ended by NULL; may be NULL */
	const char *const *headers;
	/* stays the caller's, and is read again when a kept connection turns out to be dead */
	const void *body;
	size_t body_size;
	/* for metadata services: a proxy adds X-Forwarded-For, and they refuse that */
	bool no_proxy;
	/* 0: 10 s */
	int64_t connect_timeout_ms;
	/* of the whole request; 0: none but the cancel object's */
	int64_t timeout_ms;
	/* ends a transfer below 1 KiB/s for that long (whole seconds); 0: never */
	int64_t stall_timeout_ms;
	/* a kept connection is not used after so long a rest (whole seconds); 0: 118 s */
	int64_t idle_timeout_ms;
	/* a new connection, the name looked up anew: for after a failure */
	bool fresh;
	/* The certificates that are trusted, PEM; NULL: as for curl what CURL_CA_BUNDLE or
	 * SSL_CERT_FILE (and SSL_CERT_DIR) names, else the system's. */
	const char *ca_file;
	/* what names a file beside those two, for a sentence that says so; NULL: nothing */
	const char *ca_variable;
};

/* Zero-initialise, and use it again for the next request: memory is kept. */
struct http_response {
	int status;
	struct bytes body;   /* set body.limit; a longer answer is ERR_FAILED */
	struct bytes fields; /* read with http_header() */
	int64_t arrived_ms;  /* monotonic: when the answer was complete */
};

int http_new(struct http **http, struct err *err);
void http_free(struct http *http);
static inline void cleanup_http_free(struct http **http)
{
	if (*http)
		http_free(*http);
}

/*
 * ERR_RETRY for what the network does (err->os is ETIMEDOUT for a time-out, ECONNREFUSED, ...),
 * ERR_CANCELLED within milliseconds of the cancel object's raise or at its deadline, ERR_INVALID
 * for a URL that is none, ERR_DENIED for a certificate that is not trusted, or a file of trusted
 * ones that cannot be read; the sentence names the variables.
 */
int http_perform(struct http *http, const struct http_request *request,
		 struct http_response *response, struct cancel *cancel, struct err *err);

/* The value of a header of the final answer, in any case of letters; NULL where
 * there is none. Borrowed. */
const char *http_header(const struct http_response *response, const char *name);
void http_response_release(struct http_response *response);
static inline void cleanup_http_response_release(struct http_response *response)
{
	http_response_release(response);
}

#endif
