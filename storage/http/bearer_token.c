#include "bearer_token.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	RETRY_MS = 15000,
	WAIT_MS = 10,
};

enum bearer_token_plan bearer_token_plan(int64_t now_ms, int64_t expires_ms,
					 int64_t refresh_ahead_ms, int64_t retry_ms)
{
	if (expires_ms == 0)
		return BEARER_TOKEN_FETCH;
	/* After a failure even a token past its time is used: clocks differ, and
	 * the other side is the judge. */
	if (now_ms < expires_ms - refresh_ahead_ms || now_ms < retry_ms)
		return BEARER_TOKEN_USE;
	return now_ms < expires_ms ? BEARER_TOKEN_REFRESH : BEARER_TOKEN_FETCH;
}

bool bearer_token_is_valid(const char *text)
{
	if (!text || !text[0])
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

void bearer_token_cache_init(struct bearer_token_cache *bearer, bearer_token_fetch_fn fetch_token,
			     void *arg, int64_t refresh_ahead_ms)
{
	*bearer = (struct bearer_token_cache){
		.fetch = fetch_token,
		.arg = arg,
		.refresh_ahead_ms = refresh_ahead_ms,
	};
	pthread_mutex_init(&bearer->mutex, NULL);
	pthread_mutex_init(&bearer->fetching, NULL);
}

/* What was secret does not stay in freed memory. */
static void token_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void bearer_token_cache_release(struct bearer_token_cache *bearer)
{
	token_free(bearer->token.text);
	pthread_mutex_destroy(&bearer->mutex);
	pthread_mutex_destroy(&bearer->fetching);
}

static enum bearer_token_plan copy_token(struct bearer_token_cache *bearer, char **token)
{
	enum bearer_token_plan plan;

	pthread_mutex_lock(&bearer->mutex);
	plan = bearer_token_plan(clock_monotonic_ms(), bearer->token.expires_ms,
				 bearer->refresh_ahead_ms, bearer->retry_ms);
	if (bearer->token.text)
		*token = text_copy(bearer->token.text);
	pthread_mutex_unlock(&bearer->mutex);
	return plan;
}

/* With `fetching` held. */
static int fetch_token(struct bearer_token_cache *bearer, struct cancel *cancel, struct err *err)
{
	struct bearer_token token = {0};
	int result = bearer->fetch(bearer->arg, &token, cancel, err);

	if (result == 0 && !bearer_token_is_valid(token.text))
		result = err_set(err, ERR_FAILED, "the token is none: empty, or with blanks");
	pthread_mutex_lock(&bearer->mutex);
	if (result == 0) {
		token_free(bearer->token.text);
		bearer->token = token;
	} else {
		token_free(token.text);
	}
	/* Also after success: a metadata server hands out the token it has, even one that is
	 * about to expire. */
	bearer->retry_ms = clock_monotonic_ms() + RETRY_MS;
	pthread_mutex_unlock(&bearer->mutex);
	return result;
}

/* Waits for the thread that fetches, in slices, because a mutex knows nothing of
 * the cancel object. */
static int lock_for_fetch(struct bearer_token_cache *bearer, struct cancel *cancel, struct err *err)
{
	while (pthread_mutex_trylock(&bearer->fetching) != 0)
		if (cancel_sleep(cancel, WAIT_MS, err) < 0)
			return -1;
	return 0;
}

static int get_or_fetch(struct bearer_token_cache *bearer, char **token, struct cancel *cancel,
			struct err *err)
{
	/* Another thread may have fetched it while this one waited. */
	if (copy_token(bearer, token) == BEARER_TOKEN_USE)
		return 0;
	if (fetch_token(bearer, cancel, err) < 0)
		return *token ? 0 : -1;
	token_free(steal(token));
	copy_token(bearer, token);
	return 0;
}

int bearer_token_cache_get(struct bearer_token_cache *bearer, char **token, struct cancel *cancel,
			   struct err *err)
{
	enum bearer_token_plan plan;
	int result;

	*token = NULL;
	plan = copy_token(bearer, token);
	if (plan == BEARER_TOKEN_USE)
		return 0;
	if (plan == BEARER_TOKEN_REFRESH) {
		if (pthread_mutex_trylock(&bearer->fetching) != 0)
			return 0;
	} else if (lock_for_fetch(bearer, cancel, err) < 0) {
		token_free(steal(token));
		return -1;
	}
	token_free(steal(token));
	result = get_or_fetch(bearer, token, cancel, err);
	pthread_mutex_unlock(&bearer->fetching);
	return result;
}

int bearer_token_cache_invalidate(struct bearer_token_cache *bearer, const char *token,
				  struct cancel *cancel, struct err *err)
{
	auto_free char *current = NULL;
	int result = 0;

	if (lock_for_fetch(bearer, cancel, err) < 0)
		return -1;
	copy_token(bearer, &current);
	if (text_equal(current ? current : "", token))
		result = fetch_token(bearer, cancel, err);
	pthread_mutex_unlock(&bearer->fetching);
	return result;
}
