/* A bearer token and its life, as token services hand it out; kept in a credential_cache. */
#ifndef BEARER_TOKEN_H
#define BEARER_TOKEN_H

#include "credential_cache.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* As a credential_source's rest_ms. */
	BEARER_TOKEN_REST_MS = 15 * 1000
};

struct bearer_token {
	/* The token alone, without "Bearer "; from the heap. */
	char *text;
	/* monotonic */
	int64_t expires_ms;
};

/* For a credential_source whose credentials are the text of a token. */
void *bearer_token_copy(const void *text);
bool bearer_token_equal(const void *a, const void *b);
/* Clears what was secret. NULL is fine. */
void bearer_token_free(void *text);

/* PURE. True for what may stand in a header: not empty, no blanks and no control characters. */
bool bearer_token_is_valid(const char *text);

#endif
