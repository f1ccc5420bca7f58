/*
 * A bearer token that the threads of one store share. It is fetched anew some minutes ahead of its
 * expiry by whichever thread asks first, while the others go on with the one there is; when the
 * fetch fails, the last good one is kept, so that an outage of a metadata server shorter than the
 * token's life is not noticed.
 */
#ifndef BEARER_TOKEN_H
#define BEARER_TOKEN_H

#include "base/cancel.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bearer_token {
	char *text;         /* the token alone, without "Bearer " */
	int64_t expires_ms; /* monotonic */
};

/* Fills the token; blocks for seconds at most. */
typedef int (*bearer_token_fetch_fn)(void *arg, struct bearer_token *token, struct cancel *cancel,
				     struct err *err);

struct bearer_token_cache {
	bearer_token_fetch_fn fetch;
	void *arg;
	int64_t refresh_ahead_ms; /* how long before its expiry a token is replaced */
	pthread_mutex_t mutex;    /* holds the members below */
	pthread_mutex_t fetching; /* held during a fetch; taken before `mutex` */
	struct bearer_token token;
	/* monotonic: after a fetch, no other before this while there is a token */
	int64_t retry_ms;
};

void bearer_token_cache_init(struct bearer_token_cache *bearer, bearer_token_fetch_fn fetch,
			     void *arg, int64_t refresh_ahead_ms);
void bearer_token_cache_release(struct bearer_token_cache *bearer);

/* A copy of the token; the caller frees. Fails as `fetch` does, when there is no token at all. */
int bearer_token_cache_get(struct bearer_token_cache *bearer, char **token, struct cancel *cancel,
			   struct err *err);

/*
 * The other side refused this token. Fetches another, unless one is there already; -1 where there
 * is none to be had, and then the refused one stays.
 */
int bearer_token_cache_invalidate(struct bearer_token_cache *bearer, const char *token,
				  struct cancel *cancel, struct err *err);

/* --- PURE --- */

enum bearer_token_plan {
	BEARER_TOKEN_USE,     /* as it is */
	BEARER_TOKEN_REFRESH, /* good, but fetch another if nobody does */
	BEARER_TOKEN_FETCH,   /* there is none, or its time is over */
};

/* `expires_ms` 0: there is none. */
enum bearer_token_plan bearer_token_plan(int64_t now_ms, int64_t expires_ms,
					 int64_t refresh_ahead_ms, int64_t retry_ms);

/* True for what may stand in a header: not empty, no blanks and no control characters. */
bool bearer_token_is_valid(const char *text);

#endif
