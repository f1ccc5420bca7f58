#include "credential_cache.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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

void secret_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void credential_clear(struct credential *credential)
{
	secret_free(credential->text);
	secret_free(credential->access_key);
	secret_free(credential->secret_key);
	secret_free(credential->session_token);
	*credential = (struct credential){0};
}

void credential_release(struct credential *credential)
{
	if (!credential || atomic_fetch_sub(&credential->holders, 1) > 1)
		return;
	credential_clear(credential);
	free(credential);
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
	credential_release(cache->credential);
	pthread_mutex_destroy(&cache->fetching);
	pthread_mutex_destroy(&cache->mutex);
}

/* The present one, NULL for none, and what to do about it. */
static struct credential *hold_current(struct credential_cache *cache, enum credential_plan *plan)
{
	struct credential *credential;

	pthread_mutex_lock(&cache->mutex);
	*plan = CREDENTIAL_FETCH;
	credential = cache->credential;
	if (credential) {
		*plan = credential_plan(clock_monotonic_ms(), credential->expires_ms,
					cache->source->refresh_ahead_ms, cache->rest_until_ms);
		atomic_fetch_add(&credential->holders, 1);
	}
	pthread_mutex_unlock(&cache->mutex);
	return credential;
}

/* With `fetching` held. */
static int fetch_credential(struct credential_cache *cache, struct cancel *cancel, struct err *err)
{
	struct credential *fresh = memory_new(sizeof(*fresh));
	struct err own = {0};
	int result = cache->source->fetch(cache->arg, fresh, cancel, &own);

	fresh->holders = 1;
	pthread_mutex_lock(&cache->mutex);
	if (result == 0) {
		struct credential *old = cache->credential;

		cache->credential = fresh;
		fresh = old;
	}
	/* Also after success: a metadata service hands out what it has, even what is about to
	 * expire. */
	cache->rest_until_ms = clock_monotonic_ms() + cache->source->rest_ms;
	pthread_mutex_unlock(&cache->mutex);
	credential_release(fresh);
	return result < 0 ? err_pass(err, &own) : 0;
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
static struct credential *get_or_fetch(struct credential_cache *cache, struct cancel *cancel,
				       struct err *err)
{
	enum credential_plan plan;
	/* Another thread may have fetched while this one waited. */
	struct credential *credential = hold_current(cache, &plan);
	struct err own = {0};

	if (plan == CREDENTIAL_USE)
		return credential;
	if (fetch_credential(cache, cancel, &own) < 0) {
		/* An old one that still holds is better than none. */
		if (!credential && err)
			*err = own;
		return credential;
	}
	credential_release(credential);
	return hold_current(cache, &plan);
}

struct credential *credential_cache_get(struct credential_cache *cache, struct cancel *cancel,
					struct err *err)
{
	enum credential_plan plan;
	struct credential *credential = hold_current(cache, &plan);

	if (plan == CREDENTIAL_USE)
		return credential;
	if (plan == CREDENTIAL_REFRESH && pthread_mutex_trylock(&cache->fetching) != 0)
		return credential;
	credential_release(credential);
	if (plan == CREDENTIAL_FETCH && lock_for_fetch(cache, cancel, err) < 0)
		return NULL;
	credential = get_or_fetch(cache, cancel, err);
	pthread_mutex_unlock(&cache->fetching);
	return credential;
}

/* A source may hand out once more what was refused. */
static bool has_same_content(const struct credential *a, const struct credential *b)
{
	return text_equal(a->text, b->text) && text_equal(a->access_key, b->access_key) &&
	       text_equal(a->secret_key, b->secret_key) &&
	       text_equal(a->session_token, b->session_token);
}

int credential_cache_invalidate(struct credential_cache *cache, const struct credential *refused,
				struct cancel *cancel, struct err *err)
{
	enum credential_plan plan;
	struct credential *current;
	int result = 0;

	if (lock_for_fetch(cache, cancel, err) < 0)
		return -1;
	current = hold_current(cache, &plan);
	if (!current || has_same_content(current, refused))
		result = fetch_credential(cache, cancel, err);
	credential_release(current);
	pthread_mutex_unlock(&cache->fetching);
	return result;
}
