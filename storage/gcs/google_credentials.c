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
	/* The metadata server hands out the same token until four minutes before its end. */
	REFRESH_AHEAD_MS = 225 * 1000,
	FILE_LIMIT = 1 << 20,
};

struct google_credentials {
	json_t *file; /* NULL: the metadata server */
	struct google_account account;
	char *host;
	char *source;
	_Atomic int64_t skew_ms;
	struct bearer_token_cache bearer;
};

static int fetch_token(void *arg, struct bearer_token *token, struct cancel *cancel,
		       struct err *err)
{
	struct google_credentials *credentials = arg;
	int64_t wall_ms = clock_wall_ms() + atomic_load(&credentials->skew_ms);
	int result;

	if (credentials->file)
		result = google_token_exchange_account(&credentials->account, wall_ms, token,
						       cancel, err);
	else
		result = google_token_exchange_machine(credentials->host, token, cancel, err);
	if (result == 0)
		return 0;
	if (!credentials->file && err->kind == ERR_DENIED)
		err_wrap(err, "name a file in GOOGLE_APPLICATION_CREDENTIALS, or run \"gcloud auth "
			      "application-default login\", or give the machine a service account");
	return err_wrap(err, "Google credentials (%s)", credentials->source);
}

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
	const char *config = getenv("CLOUDSDK_CONFIG"), *home = getenv("HOME");

	if (config && config[0])
		return text_format("%s/application_default_credentials.json", config);
	if (home && home[0])
		return text_format("%s/.config/gcloud/application_default_credentials.json", home);
	return NULL;
}

static void use_metadata_server(struct google_credentials *credentials)
{
	const char *host = getenv("GCE_METADATA_HOST");

	if (!host || !host[0])
		host = getenv("GCE_METADATA_IP");
	if (host && host[0])
		credentials->host = text_copy(host);
	credentials->source =
		text_copy("the metadata server, because there is no file of credentials");
}

static int select_source(struct google_credentials *credentials, struct err *err)
{
	const char *named = getenv("GOOGLE_APPLICATION_CREDENTIALS");
	auto_free char *path = gcloud_credentials_path();

	if (named && named[0]) {
		if (read_credentials_file(credentials, named, err) < 0)
			return err_wrap(err, "GOOGLE_APPLICATION_CREDENTIALS");
		credentials->source = text_format("GOOGLE_APPLICATION_CREDENTIALS, file %s", named);
		return 0;
	}
	if (path && file_exists(path)) {
		credentials->source = text_format("file %s", path);
		return read_credentials_file(credentials, path, err);
	}
	use_metadata_server(credentials);
	return 0;
}

int google_credentials_new(struct google_credentials **result, struct err *err)
{
	struct google_credentials *credentials = memory_new(sizeof(*credentials));
	struct err own = {0};

	bearer_token_cache_init(&credentials->bearer, fetch_token, credentials, REFRESH_AHEAD_MS);
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
	bearer_token_cache_release(&credentials->bearer);
	json_decref(credentials->file);
	free(credentials->host);
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
	auto_free char *token = NULL;

	if (bearer_token_cache_get(&credentials->bearer, &token, cancel, err) < 0)
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
	return bearer_token_cache_invalidate(&credentials->bearer, authorization + strlen(PREFIX),
					     cancel, err);
}
