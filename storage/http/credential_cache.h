/*
 * A secret that expires, shared by the threads of one store: AWS's keys, a bearer token. It is
 * fetched anew some minutes ahead of its expiry by whichever thread asks first, while the others go
 * on with the one there is. When the fetch fails, the last good one is kept, even past its time,
 * for clocks differ and the other side is the judge: an outage of a metadata service that is
 * shorter than the secret's life is not noticed.
 */
#ifndef CREDENTIAL_CACHE_H
#define CREDENTIAL_CACHE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct credential_source {
	/* A new one from the heap, and when it expires (monotonic, or CLOCK_NEVER); NULL with
	 * `err`. Blocks for seconds at most; never two at once. */
	void *(*fetch)(void *arg, int64_t *expires_ms, struct cancel *cancel, struct err *err);
	void *(*copy)(const void *credential);
	bool (*equal)(const void *a, const void *b);
	/* Clears the memory. NULL is fine. */
	void (*free)(void *credential);
	/* How long before its expiry one is replaced. */
	int64_t refresh_ahead_ms;
	/* After a fetch, no other before this has passed while there is any. */
	int64_t rest_ms;
};

struct credential_cache {
	const struct credential_source *source;
	void *arg;
	/* Held during a fetch; taken before `mutex`, which holds what follows. */
	pthread_mutex_t fetching, mutex;
	/* NULL: none yet */
	void *credential;
	/* monotonic */
	int64_t expires_ms, rest_until_ms;
};

/* The source stays the caller's, and longer than the cache. */
void credential_cache_init(struct credential_cache *cache, const struct credential_source *source,
			   void *arg);
void credential_cache_release(struct credential_cache *cache);
AUTO(struct credential_cache, credential_cache_release);

/* A copy, to be freed as the source does; may block for a fetch. NULL: as `fetch` fails, where
 * there is none at all; ERR_CANCELLED. */
void *credential_cache_get(struct credential_cache *cache, struct cancel *cancel, struct err *err);

/* The other side refused this one. Fetches another whatever its expiry says, unless another thread
 * has; -1 as `fetch` fails, and then the refused one stays. */
int credential_cache_invalidate(struct credential_cache *cache, const void *refused,
				struct cancel *cancel, struct err *err);

/* --- PURE --- */

enum credential_plan {
	/* As it is. */
	CREDENTIAL_USE,
	/* Good, but fetch another if nobody does. */
	CREDENTIAL_REFRESH,
	/* Its time is over. */
	CREDENTIAL_FETCH,
};

/* For one that there is; all times monotonic. */
enum credential_plan credential_plan(int64_t now_ms, int64_t expires_ms, int64_t refresh_ahead_ms,
				     int64_t rest_until_ms);

#endif
