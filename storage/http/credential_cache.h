/*
 * A secret that expires, shared by the threads of one store: AWS's keys, a bearer token. It is
 * fetched again some minutes ahead of its expiry by whichever thread asks first, while the others
 * continue with the present one. If the fetch fails, the last good one is kept, even past its time,
 * because clocks differ and the other side is the judge: an outage of a metadata service that is
 * shorter than the secret's life is not noticed.
 */
#ifndef CREDENTIAL_CACHE_H
#define CREDENTIAL_CACHE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Clears the memory first. NULL is fine. */
void secret_free(char *text);
AUTO_POINTER(char, secret_free);

/* One of the cache never changes. */
struct credential {
	char *text; /* a bearer token, without "Bearer " */
	/* AWS's; session_token may be NULL */
	char *access_key, *secret_key, *session_token;
	int64_t expires_ms; /* monotonic, or CLOCK_NEVER */
	atomic_uint holders;
};
/* Clears and frees the texts. */
void credential_clear(struct credential *credential);
AUTO(struct credential, credential_clear);
/* Gives back one of credential_cache_get(). NULL is fine. */
void credential_release(struct credential *credential);
AUTO_POINTER(struct credential, credential_release);

struct credential_source {
	/* Fills `fresh`, which is empty. Blocks for seconds at most; never two at once. */
	int (*fetch)(void *arg, struct credential *fresh, struct cancel *cancel, struct err *err);
	/* How long before its expiry one is replaced. */
	int64_t refresh_ahead_ms;
	/* How long after a fetch no other follows, if there is a credential. */
	int64_t rest_ms;
};

struct credential_cache {
	const struct credential_source *source;
	void *arg;
	/* `fetching` is held during a fetch, and taken before `mutex`, which guards the rest. */
	pthread_mutex_t fetching, mutex;
	/* NULL: none yet */
	struct credential *credential;
	/* monotonic */
	int64_t rest_until_ms;
};

/* The source stays the caller's, and longer than the cache. */
void credential_cache_init(struct credential_cache *cache, const struct credential_source *source,
			   void *arg);
void credential_cache_release(struct credential_cache *cache);
AUTO(struct credential_cache, credential_cache_release);

/* The caller releases it; may block for a fetch. NULL: as `fetch` fails, if there is none at all;
 * ERR_CANCELLED. */
struct credential *credential_cache_get(struct credential_cache *cache, struct cancel *cancel,
					struct err *err);

/* The other side refused this one. Fetches another whatever its expiry says, unless another thread
 * has; -1 as `fetch` fails, and then the refused one stays. */
int credential_cache_invalidate(struct credential_cache *cache, const struct credential *refused,
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
