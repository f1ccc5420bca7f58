#include "aws_credentials.h"

#include "aws_source.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* a metadata service has the next ones some minutes before */
	REFRESH_AHEAD_MS = 15 * 60 * 1000,
	/* between two fetches while there are any */
	RETRY_AFTER_MS = 60 * 1000,
	WAIT_MS = 10,
};

struct aws_chain {
	const struct aws_settings *settings;
	pthread_mutex_t fetching;           /* held during a fetch; taken before `mutex` */
	pthread_mutex_t mutex;              /* holds what follows */
	struct aws_credentials credentials; /* access_key NULL: none yet */
	int64_t fetched_ms;
	const struct aws_source *source; /* NULL: none has given any yet */
	char source_text[256];
};

static const struct aws_source *const source_chain[] = {
	&aws_source_environment, &aws_source_profile,  &aws_source_web_identity,
	&aws_source_container,   &aws_source_instance,
};

/* --- one set --- */

static void free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void aws_credentials_release(struct aws_credentials *credentials)
{
	free(credentials->access_key);
	free_secret(credentials->secret_key);
	free_secret(credentials->session_token);
	*credentials = (struct aws_credentials){0};
}

void aws_credentials_copy(struct aws_credentials *target, const struct aws_credentials *source)
{
	*target = (struct aws_credentials){
		.access_key = text_copy(source->access_key),
		.secret_key = text_copy(source->secret_key),
		.session_token = source->session_token ? text_copy(source->session_token) : NULL,
		.expires_ms = source->expires_ms,
	};
}

static bool credentials_equal(const struct aws_credentials *a, const struct aws_credentials *b)
{
	return text_equal(a->access_key, b->access_key) &&
	       text_equal(a->secret_key, b->secret_key) && !a->session_token == !b->session_token &&
	       (!a->session_token || text_equal(a->session_token, b->session_token));
}

enum aws_plan aws_credentials_plan(const struct aws_age *age)
{
	if (!age->there_are)
		return AWS_PLAN_FETCH;
	if (age->expires_ms == CLOCK_NEVER || age->now_ms < age->expires_ms - REFRESH_AHEAD_MS)
		return AWS_PLAN_USE;
	/* Also past their time, and also when our clock is hours ahead: the other
	 * side is the judge. */
	if (age->fetched_ms && age->now_ms >= age->fetched_ms &&
	    age->now_ms < age->fetched_ms + RETRY_AFTER_MS)
		return AWS_PLAN_USE;
	return age->now_ms < age->expires_ms ? AWS_PLAN_REFRESH : AWS_PLAN_FETCH;
}

/* --- the chain --- */

struct aws_chain *aws_chain_new(const struct aws_settings *settings)
{
	struct aws_chain *chain = memory_new(sizeof(*chain));

	chain->settings = settings;
	pthread_mutex_init(&chain->fetching, NULL);
	pthread_mutex_init(&chain->mutex, NULL);
	return chain;
}

void aws_chain_free(struct aws_chain *chain)
{
	if (!chain)
		return;
	aws_credentials_release(&chain->credentials);
	pthread_mutex_destroy(&chain->fetching);
	pthread_mutex_destroy(&chain->mutex);
	free(chain);
}

const char *aws_chain_source(struct aws_chain *chain, char *text, size_t capacity)
{
	pthread_mutex_lock(&chain->mutex);
	text_set(text, capacity, chain->source ? chain->source_text : "none yet");
	pthread_mutex_unlock(&chain->mutex);
	return text;
}

/* What there is now, and what to do about it. */
static enum aws_plan copy_credentials(struct aws_chain *chain, struct aws_credentials *credentials)
{
	struct aws_age age = {.now_ms = clock_wall_ms()};

	pthread_mutex_lock(&chain->mutex);
	age.there_are = chain->credentials.access_key != NULL;
	age.expires_ms = chain->credentials.expires_ms;
	age.fetched_ms = chain->fetched_ms;
	if (age.there_are)
		aws_credentials_copy(credentials, &chain->credentials);
	pthread_mutex_unlock(&chain->mutex);
	return aws_credentials_plan(&age);
}

static int fetch_first(const struct aws_settings *settings, const struct aws_source **source,
		       struct aws_credentials *credentials, char *source_text, size_t size,
		       struct cancel *cancel, struct err *err)
{
	for (size_t i = 0; i < sizeof(source_chain) / sizeof(*source_chain); i++) {
		if (!source_chain[i]->is_set_up(settings))
			continue;
		*source = source_chain[i];
		return source_chain[i]->fetch(settings, credentials, source_text, size, cancel,
					      err);
	}
	return err_set(err, ERR_DENIED,
		       "there are none: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a "
		       "profile");
}

/* With `fetching` held. */
static int fetch_credentials(struct aws_chain *chain, struct cancel *cancel, struct err *err)
{
	struct aws_credentials fresh = {0};
	const struct aws_source *source;
	char source_text[sizeof(chain->source_text)] = "";
	int result;

	pthread_mutex_lock(&chain->mutex);
	source = chain->source;
	pthread_mutex_unlock(&chain->mutex);
	result = source ? source->fetch(chain->settings, &fresh, source_text, sizeof(source_text),
					cancel, err)
			: fetch_first(chain->settings, &source, &fresh, source_text,
				      sizeof(source_text), cancel, err);
	pthread_mutex_lock(&chain->mutex);
	chain->fetched_ms = clock_wall_ms();
	if (result == 0) {
		aws_credentials_release(&chain->credentials);
		chain->credentials = fresh;
		chain->source = source;
		text_set(chain->source_text, sizeof(chain->source_text), source_text);
	}
	pthread_mutex_unlock(&chain->mutex);
	return result;
}

/* Waits until no other thread fetches. */
static int lock_for_fetch(struct aws_chain *chain, struct cancel *cancel, struct err *err)
{
	while (pthread_mutex_trylock(&chain->fetching) != 0)
		if (cancel_sleep(cancel, WAIT_MS, err) < 0)
			return -1;
	return 0;
}

/* There are none, or they were refused: somebody has to fetch before anybody goes on. */
static int fetch_or_wait(struct aws_chain *chain, const struct aws_credentials *refused,
			 struct cancel *cancel, struct err *err)
{
	auto_(aws_credentials_release) struct aws_credentials there = {0};
	enum aws_plan plan;
	int result = 0;

	if (lock_for_fetch(chain, cancel, err) < 0)
		return -1;
	plan = copy_credentials(chain, &there);
	/* Another thread may have fetched while we waited. */
	if (refused ? !there.access_key || credentials_equal(&there, refused)
		    : plan == AWS_PLAN_FETCH)
		result = fetch_credentials(chain, cancel, err);
	pthread_mutex_unlock(&chain->fetching);
	return result;
}

int aws_chain_get(struct aws_chain *chain, const struct aws_credentials *refused,
		  struct aws_credentials *credentials, struct cancel *cancel, struct err *err)
{
	enum aws_plan plan;
	struct err own = {0};

	*credentials = (struct aws_credentials){0};
	if (!refused) {
		plan = copy_credentials(chain, credentials);
		if (plan == AWS_PLAN_USE)
			return 0;
		if (plan == AWS_PLAN_REFRESH) {
			if (pthread_mutex_trylock(&chain->fetching) != 0)
				return 0;
			/* Failing is fine: what there is is still good. */
			fetch_credentials(chain, cancel, &own);
			pthread_mutex_unlock(&chain->fetching);
		} else if (fetch_or_wait(chain, NULL, cancel, &own) < 0 &&
			   (!credentials->access_key || own.kind == ERR_CANCELLED)) {
			aws_credentials_release(credentials);
			if (err)
				*err = own;
			return -1;
		}
	} else if (fetch_or_wait(chain, refused, cancel, err) < 0) {
		return -1;
	}
	aws_credentials_release(credentials);
	copy_credentials(chain, credentials);
	return 0;
}
