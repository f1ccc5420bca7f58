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

enum bearer_plan bearer_plan(int64_t now_ms, int64_t expires_ms, int64_t ahead_ms, int64_t retry_ms)
{
	if (expires_ms == 0)
		return BEARER_FETCH;
	/* After a failure even a token past its time is used: clocks differ, and the other side is the judge. */
	if (now_ms < expires_ms - ahead_ms || now_ms < retry_ms)
		return BEARER_USE;
	return now_ms < expires_ms ? BEARER_AHEAD : BEARER_FETCH;
}

bool bearer_is_token(const char *text)
{
	if (!text || !text[0])
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

void bearer_init(struct bearer *bearer, bearer_fetch_fn fetch, void *arg, int64_t ahead_ms)
{
	*bearer = (struct bearer){.fetch = fetch, .arg = arg, .ahead_ms = ahead_ms};
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

void bearer_release(struct bearer *bearer)
{
	token_free(bearer->token.text);
	pthread_mutex_destroy(&bearer->mutex);
	pthread_mutex_destroy(&bearer->fetching);
}

static enum bearer_plan look(struct bearer *bearer, char **token)
{
	enum bearer_plan plan;

	pthread_mutex_lock(&bearer->mutex);
	plan = bearer_plan(
		clock_monotonic_ms(), bearer->token.expires_ms, bearer->ahead_ms, bearer->retry_ms);
	if (bearer->token.text)
		*token = text_copy(bearer->token.text);
	pthread_mutex_unlock(&bearer->mutex);
	return plan;
}

/* With `fetching` held. */
static int fetch(struct bearer *bearer, struct cancel *cancel, struct err *err)
{
	struct bearer_token token = {0};
	int result = bearer->fetch(bearer->arg, &token, cancel, err);

	if (result == 0 && !bearer_is_token(token.text))
		result = err_set(err, ERR_FAILED, "the token is none: empty, or with blanks");
	pthread_mutex_lock(&bearer->mutex);
	if (result == 0) {
		token_free(bearer->token.text);
		bearer->token = token;
	} else {
		token_free(token.text);
	}
	/* Also after success: a metadata server hands out the token it has, even one that is about to expire. */
	bearer->retry_ms = clock_monotonic_ms() + RETRY_MS;
	pthread_mutex_unlock(&bearer->mutex);
	return result;
}

/* Waits for the thread that fetches, in slices, because a mutex knows nothing of the cancel object. */
static int lock_fetching(struct bearer *bearer, struct cancel *cancel, struct err *err)
{
	while (pthread_mutex_trylock(&bearer->fetching) != 0)
		if (cancel_sleep(cancel, WAIT_MS, err) < 0)
			return -1;
	return 0;
}

static int get_locked(struct bearer *bearer, char **token, struct cancel *cancel, struct err *err)
{
	/* Another thread may have fetched it while this one waited. */
	if (look(bearer, token) == BEARER_USE)
		return 0;
	if (fetch(bearer, cancel, err) < 0)
		return *token ? 0 : -1;
	token_free(take(token));
	look(bearer, token);
	return 0;
}

int bearer_get(struct bearer *bearer, char **token, struct cancel *cancel, struct err *err)
{
	enum bearer_plan plan;
	int result;

	*token = NULL;
	plan = look(bearer, token);
	if (plan == BEARER_USE)
		return 0;
	if (plan == BEARER_AHEAD) {
		if (pthread_mutex_trylock(&bearer->fetching) != 0)
			return 0;
	} else if (lock_fetching(bearer, cancel, err) < 0) {
		token_free(take(token));
		return -1;
	}
	token_free(take(token));
	result = get_locked(bearer, token, cancel, err);
	pthread_mutex_unlock(&bearer->fetching);
	return result;
}

int bearer_refused(struct bearer *bearer, const char *token, struct cancel *cancel, struct err *err)
{
	auto_free char *current = NULL;
	int result = 0;

	if (lock_fetching(bearer, cancel, err) < 0)
		return -1;
	look(bearer, &current);
	if (text_equal(current ? current : "", token))
		result = fetch(bearer, cancel, err);
	pthread_mutex_unlock(&bearer->fetching);
	return result;
}
