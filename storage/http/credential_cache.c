#include "credential_cache.h"

#include "base/clock.h"

#include <stddef.h>

enum {
	WAIT_MS = 10
};

enum credential_plan credential_plan(int64_t now_ms, int64_t expires_ms, int64_t refresh_ahead_ms,
				     int64_t rest_until_ms)
{
	/* After a failure even one past its time is used. */
	if (now_ms < expires_ms - refresh_ahead_ms || now_ms < rest_until_ms)
		return CREDENTIAL_USE;
	return now_ms < expires_ms ? CREDENTIAL_REFRESH : CREDENTIAL_FETCH;
}

void credential_cache_init(struct credential_cache *cache, const struct credential_source *source,
			   void *arg)
{
	*cache = (struct credential_cache){.source = source, .arg = arg};
	pthread_mutex_init(&cache->fetching, NULL);
	pthread_mutex_init(&cache->mutex, NULL);
}

void credential_cache_release(struct credential_cache *cache)
{
	cache->source->free(cache->credential);
	pthread_mutex_destroy(&cache->fetching);
	pthread_mutex_destroy(&cache->mutex);
}

/* What there is now, NULL for nothing, and what to do about it. */
static void *copy_current(struct credential_cache *cache, enum credential_plan *plan)
{
	void *copy = NULL;

	pthread_mutex_lock(&cache->mutex);
	*plan = CREDENTIAL_FETCH;
	if (cache->credential) {
		*plan = credential_plan(clock_monotonic_ms(), cache->expires_ms,
					cache->source->refresh_ahead_ms, cache->rest_until_ms);
		copy = cache->source->copy(cache->credential);
	}
	pthread_mutex_unlock(&cache->mutex);
	return copy;
}

/* With `fetching` held. */
static int fetch_credential(struct credential_cache *cache, struct cancel *cancel, struct err *err)
{
	int64_t expires_ms = 0;
	struct err own = {0};
	void *fresh = cache->source->fetch(cache->arg, &expires_ms, cancel, &own);

	pthread_mutex_lock(&cache->mutex);
	if (fresh) {
		cache->source->free(cache->credential);
		cache->credential = fresh;
		cache->expires_ms = expires_ms;
	}
	/* Also after success: a metadata service hands out what it has, even what is about to
	 * expire. */
	cache->rest_until_ms = clock_monotonic_ms() + cache->source->rest_ms;
	pthread_mutex_unlock(&cache->mutex);
	return fresh ? 0 : err_pass(err, &own);
}

/* Waits for the thread that fetches, in slices, for a mutex knows nothing of the cancel object. */
static int lock_for_fetch(struct credential_cache *cache, struct cancel *cancel, struct err *err)
{
	while (pthread_mutex_trylock(&cache->fetching) != 0)
		if (cancel_sleep(cancel, WAIT_MS, err) < 0)
			return -1;
	return 0;
}

/* With `fetching` held. */
static void *get_or_fetch(struct credential_cache *cache, struct cancel *cancel, struct err *err)
{
	enum credential_plan plan;
	/* Another thread may have fetched while this one waited. */
	void *credential = copy_current(cache, &plan);
	struct err own = {0};

	if (plan == CREDENTIAL_USE)
		return credential;
	if (fetch_credential(cache, cancel, &own) < 0) {
		/* An old one that still holds is better than none. */
		if (!credential && err)
			*err = own;
		return credential;
	}
	cache->source->free(credential);
	return copy_current(cache, &plan);
}

void *credential_cache_get(struct credential_cache *cache, struct cancel *cancel, struct err *err)
{
	enum credential_plan plan;
	void *credential = copy_current(cache, &plan);

	if (plan == CREDENTIAL_USE)
		return credential;
	if (plan == CREDENTIAL_REFRESH && pthread_mutex_trylock(&cache->fetching) != 0)
		return credential;
	cache->source->free(credential);
	if (plan == CREDENTIAL_FETCH && lock_for_fetch(cache, cancel, err) < 0)
		return NULL;
	credential = get_or_fetch(cache, cancel, err);
	pthread_mutex_unlock(&cache->fetching);
	return credential;
}

int credential_cache_invalidate(struct credential_cache *cache, const void *refused,
				struct cancel *cancel, struct err *err)
{
	enum credential_plan plan;
	void *current;
	int result = 0;

	if (lock_for_fetch(cache, cancel, err) < 0)
		return -1;
	current = copy_current(cache, &plan);
	if (!current || cache->source->equal(current, refused))
		result = fetch_credential(cache, cancel, err);
	cache->source->free(current);
	pthread_mutex_unlock(&cache->fetching);
	return result;
}
