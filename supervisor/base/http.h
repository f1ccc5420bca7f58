/*
 * One blocking HTTP request with a deadline and a cancel object. The only user of libcurl.
 *
 * HTTP/1.1 only, TLS 1.2 or later, no redirects, no netrc, no signals; the path is sent unchanged.
 * A status of 400 or more is a response, not an error: the caller knows what it means. The library
 * is initialised at the first http_new(), so a program without requests does not pay for it.
 */
#ifndef BASE_HTTP_H
#define BASE_HTTP_H

#include "base/cancel.h"
#include "base/text.h"

/* A handle with its pool of connections, used by one thread at a time. */
struct http;

struct http_request {
	/* NULL: GET */
	const char *method;
	const char *url;
	/* "Name: value", ended by NULL; may be NULL */
	const char *const *headers;
	/* borrowed; read a second time if a kept connection turns out to be dead */
	const void *body;
	size_t body_size;
	/* for metadata services, which reject X-Forwarded-For, as a proxy adds it */
	bool no_proxy;
	/* 0: 10 s */
	int64_t connect_timeout_ms;
	/* for the whole request; 0: only the cancel object's deadline */
	int64_t timeout_ms;
	/* ends a transfer that is below 1 KiB/s for so long (whole seconds); 0: never */
	int64_t stall_timeout_ms;
	/* a kept connection is not reused after so long an idle time (whole seconds); 0: 118 s */
	int64_t idle_timeout_ms;
	/* force a new connection and DNS lookup; set after a failure */
	bool fresh;
	/* trusted certificates (PEM); NULL: the file of CURL_CA_BUNDLE or SSL_CERT_FILE, the
	 * directory of SSL_CERT_DIR, else the system's, as for curl(1) */
	const char *ca_file;
	/* a third variable that names such a file, for the error text; NULL: none */
	const char *ca_variable;
};

struct http_response;

/* Takes a body while it arrives, which saves a copy and the memory for all of it. */
struct http_sink {
	/* `response` has the status and the fields, and in `sunk` how much of the body came before.
	 * 1: taken. 0: not what was wanted; this goes to response->body. -1: `err` says why the
	 * transfer ends. */
	int (*take)(void *arg, const struct http_response *response, const void *data, size_t size,
		    struct err *err);
	void *arg;
};

/* Zero-initialise it. It can be reused for the next request, which keeps its memory. */
struct http_response {
	int status;
	const struct http_sink *sink; /* borrowed; NULL: none */
	uint64_t sunk;                /* bytes of the body that the sink has taken */
	struct bytes body;            /* set body.limit; a longer response is ERR_FAILED */
	struct bytes fields;          /* read them with http_header() */
	int64_t arrived_ms;           /* monotonic: when the response was complete */
};

int http_new(struct http **http, struct err *err);
void http_free(struct http *http);
AUTO_POINTER(struct http, http_free);

/*
 * ERR_RETRY: the network failed (err->os is ETIMEDOUT, ECONNREFUSED, ...). ERR_CANCELLED: within
 * milliseconds of cancel_raise(), or at the deadline. ERR_INVALID: not a URL. ERR_DENIED: the
 * certificate is not trusted, or the file of trusted ones cannot be read; the text names the
 * variables.
 */
int http_perform(struct http *http, const struct http_request *request,
		 struct http_response *response, struct cancel *cancel, struct err *err);

/* Value of a response header (the name is case-insensitive), or NULL. Borrowed. */
const char *http_header(const struct http_response *response, const char *name);
void http_response_release(struct http_response *response);
AUTO(struct http_response, http_response_release);

#endif
