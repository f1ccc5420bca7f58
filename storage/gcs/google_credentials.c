#include "google_credentials.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "google_token_exchange.h"
#include "storage/http/http.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "Bearer "

enum {
	FILE_LIMIT = 1 << 20
};

struct google_credentials {
	json_t *file; /* NULL: the metadata server */
	struct google_account account;
	struct metadata_endpoint endpoint;
	char *source;
	_Atomic int64_t skew_ms;
	struct credential_cache tokens;
};

static void *fetch_token(void *arg, int64_t *expires_ms, struct cancel *cancel, struct err *err)
{
	struct google_credentials *credentials = arg;
	int64_t wall_ms = clock_wall_ms() + atomic_load(&credentials->skew_ms);
	struct bearer_token token = {0};
	int result;

	if (credentials->file)
		result = google_token_exchange_account(&credentials->account, wall_ms, &token,
						       cancel, err);
	else
		result = google_token_exchange_machine(&credentials->endpoint, &token, cancel, err);
	*expires_ms = token.expires_ms;
	if (result == 0)
		return token.text;
	if (!credentials->file)
		err_wrap(err, "name a file in GOOGLE_APPLICATION_CREDENTIALS, or run \"gcloud auth "
			      "application-default login\", or give the machine a service account");
	err_wrap(err, "Google credentials (%s)", credentials->source);
	return NULL;
}

static const struct credential_source credential_source = {
	.fetch = fetch_token,
	.copy = bearer_token_copy,
	.equal = bearer_token_equal,
	.free = bearer_token_free,
	/* The metadata server hands out the same token until four minutes before its end. */
	.refresh_ahead_ms = 225 * 1000,
	.rest_ms = BEARER_TOKEN_REST_MS,
};

/* Never quotes the file: it holds a secret. */
static int read_credentials_file(struct google_credentials *credentials, const char *path,
				 struct err *err)
{
	auto_(bytes_release) struct bytes text = {.limit = FILE_LIMIT};

	if (file_read(path, &text, err) < 0)
		return -1;
	credentials->file = json_parse(text.data, text.size, NULL);
	explicit_bzero(text.data, text.size);
	if (!json_is_object(credentials->file))
		return err_set(err, ERR_INVALID, "%s is no JSON object", path);
	if (google_account_read(credentials->file, &credentials->account, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

static char *gcloud_credentials_path(void)
{
	const char *config = text_from_environment("CLOUDSDK_CONFIG");
	const char *home = text_from_environment("HOME");

	if (config)
		return text_format("%s/application_default_credentials.json", config);
	if (home)
		return text_format("%s/.config/gcloud/application_default_credentials.json", home);
	return NULL;
}

static int select_source(struct google_credentials *credentials, struct err *err)
{
	const char *named = text_from_environment("GOOGLE_APPLICATION_CREDENTIALS");
	auto_free char *path = gcloud_credentials_path();

	if (named) {
		if (read_credentials_file(credentials, named, err) < 0)
			return err_wrap(err, "GOOGLE_APPLICATION_CREDENTIALS");
		credentials->source = text_format("GOOGLE_APPLICATION_CREDENTIALS, file %s", named);
		return 0;
	}
	if (path && file_exists(path)) {
		credentials->source = text_format("file %s", path);
		return read_credentials_file(credentials, path, err);
	}
	instance_metadata_endpoint(METADATA_GOOGLE, &credentials->endpoint);
	credentials->source =
		text_copy("the metadata server, because there is no file of credentials");
	return 0;
}

int google_credentials_new(struct google_credentials **result, struct err *err)
{
	struct google_credentials *credentials = memory_new(sizeof(*credentials));
	struct err own = {0};

	credential_cache_init(&credentials->tokens, &credential_source, credentials);
	if (select_source(credentials, &own) < 0) {
		google_credentials_free(credentials);
		/* A file that is not there must not read as a snapshot that is not there. */
		return err_set(err, own.kind == ERR_NOT_FOUND ? ERR_INVALID : own.kind, "%s",
			       own.text);
	}
	*result = credentials;
	return 0;
}

void google_credentials_free(struct google_credentials *credentials)
{
	if (!credentials)
		return;
	credential_cache_release(&credentials->tokens);
	json_decref(credentials->file);
	free(credentials->source);
	free(credentials);
}

const char *google_credentials_source(const struct google_credentials *credentials)
{
	return credentials->source;
}

int google_credentials_get(struct google_credentials *credentials, char **authorization,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *token = credential_cache_get(&credentials->tokens, cancel, err);

	if (!token)
		return -1;
	*authorization = text_format(PREFIX "%s", token);
	return 0;
}

void google_credentials_set_skew(struct google_credentials *credentials, int64_t skew_ms)
{
	atomic_store(&credentials->skew_ms, skew_ms);
}

int google_credentials_invalidate(struct google_credentials *credentials, const char *authorization,
				  struct cancel *cancel, struct err *err)
{
	return credential_cache_invalidate(&credentials->tokens, authorization + strlen(PREFIX),
					   cancel, err);
}
