/* Asking a token service or a metadata server for a bearer token. Errors carry no secret: neither
 * what was sent nor a token. */
#ifndef TOKEN_ENDPOINT_H
#define TOKEN_ENDPOINT_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/http.h"
#include "credential_cache.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* As a credential_source's rest_ms. */
	BEARER_TOKEN_REST_MS = 15 * 1000
};

/* PURE. True for what may stand in a header: not empty, no blanks and no control characters. */
bool bearer_token_is_valid(const char *text);

/* PURE. Without white space at the end, as files have it. The caller frees. */
char *bearer_token_trimmed(const char *text, size_t size);
/* The token that a file holds, which others replace: to be read each time. The caller frees it, by
 * secret_free(). ERR_FAILED: it holds none. */
int bearer_token_read_file(const char *path, char **token, struct err *err);

struct token_endpoint {
	const char *name; /* for errors: "the metadata server" */
	const char *method;
	const char *url;
	const char *const *headers; /* ended by NULL; NULL for none */
	const char *body;           /* NULL for none */
	/* no proxy, and short time-outs: on another kind of machine nobody answers */
	bool metadata;
};

/*
 * Three tries for what the network or a busy service does. Fills the response where the answer is
 * 200; else ERR_RETRY for what may pass, ERR_DENIED for a refusal, with the service's own words,
 * and where a metadata service is not there at all.
 */
int token_endpoint_perform(const struct token_endpoint *endpoint, struct http_response *response,
			   struct cancel *cancel, struct err *err);

/* Asks, and reads the token from the answer. */
int token_endpoint_get(const struct token_endpoint *endpoint, struct credential *token,
		       struct cancel *cancel, struct err *err);

/* --- PURE --- */

/*
 * OAuth 2.0's answer (RFC 6749): "access_token" and how long it is good, as "expires_in", or as
 * Azure's "expires_on" (seconds since 1970); both may be numbers or text. Without either it is
 * taken for good for five minutes. ERR_FAILED for an answer that is none.
 */
int token_endpoint_parse(const void *body, size_t size, int64_t now_ms, int64_t wall_ms,
			 struct credential *token, struct err *err);

/* What an answer that is not 200 says of its reason, in one line: OAuth's "error_description",
 * Google's "error.message". */
void token_endpoint_error_text(const void *body, size_t size, char *words, size_t capacity);

#endif
