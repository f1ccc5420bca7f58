#include "aws_credentials.h"

#include "aws_source.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct aws_chain {
	const struct aws_settings *settings;
	struct credential_cache cache;
	/* Changed during a fetch alone; NULL: none has given any yet. */
	const struct aws_source *source;
	/* Holds what aws_chain_source() reads beside a fetch. */
	pthread_mutex_t mutex;
	char source_text[256];
};

static const struct aws_source *const source_chain[] = {
	&aws_source_environment, &aws_source_profile,  &aws_source_web_identity,
	&aws_source_container,   &aws_source_instance,
};

/* --- one set --- */

void aws_credentials_release(struct aws_credentials *credentials)
{
	free(credentials->access_key);
	bearer_token_free(credentials->secret_key);
	bearer_token_free(credentials->session_token);
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

static bool credentials_equal(const void *one, const void *other)
{
	const struct aws_credentials *a = one, *b = other;

	return text_equal(a->access_key, b->access_key) &&
	       text_equal(a->secret_key, b->secret_key) && !a->session_token == !b->session_token &&
	       (!a->session_token || text_equal(a->session_token, b->session_token));
}

static void *copy_credentials(const void *credentials)
{
	struct aws_credentials *copy = memory_new(sizeof(*copy));

	aws_credentials_copy(copy, credentials);
	return copy;
}

static void free_credentials(void *credentials)
{
	if (credentials)
		aws_credentials_release(credentials);
	free(credentials);
}

/* --- the chain --- */

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

static void *fetch_credentials(void *arg, int64_t *expires_ms, struct cancel *cancel,
			       struct err *err)
{
	struct aws_chain *chain = arg;
	struct aws_credentials *fresh = memory_new(sizeof(*fresh));
	const struct aws_source *source = chain->source;
	char text[sizeof(chain->source_text)] = "";
	int result;

	if (source)
		result = source->fetch(chain->settings, fresh, text, sizeof(text), cancel, err);
	else
		result = fetch_first(chain->settings, &source, fresh, text, sizeof(text), cancel,
				     err);
	if (result < 0) {
		free_credentials(fresh);
		return NULL;
	}
	*expires_ms = fresh->expires_ms == CLOCK_NEVER ? CLOCK_NEVER
						       : clock_from_wall_ms(fresh->expires_ms);
	pthread_mutex_lock(&chain->mutex);
	chain->source = source;
	text_set(chain->source_text, sizeof(chain->source_text), text);
	pthread_mutex_unlock(&chain->mutex);
	return fresh;
}

static const struct credential_source credential_source = {
	.fetch = fetch_credentials,
	.copy = copy_credentials,
	.equal = credentials_equal,
	.free = free_credentials,
	/* A metadata service has the next ones some minutes before. */
	.refresh_ahead_ms = 15 * 60 * 1000,
	.rest_ms = 60 * 1000,
};

struct aws_chain *aws_chain_new(const struct aws_settings *settings)
{
	struct aws_chain *chain = memory_new(sizeof(*chain));

	chain->settings = settings;
	credential_cache_init(&chain->cache, &credential_source, chain);
	pthread_mutex_init(&chain->mutex, NULL);
	return chain;
}

void aws_chain_free(struct aws_chain *chain)
{
	if (!chain)
		return;
	credential_cache_release(&chain->cache);
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

int aws_chain_get(struct aws_chain *chain, const struct aws_credentials *refused,
		  struct aws_credentials *credentials, struct cancel *cancel, struct err *err)
{
	struct aws_credentials *copy;

	*credentials = (struct aws_credentials){0};
	if (refused && credential_cache_invalidate(&chain->cache, refused, cancel, err) < 0)
		return -1;
	copy = credential_cache_get(&chain->cache, cancel, err);
	if (!copy)
		return -1;
	*credentials = *copy;
	free(copy);
	return 0;
}
