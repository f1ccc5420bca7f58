#include "azure_credentials.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/instance_metadata.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>

#define RESOURCE "https://storage.azure.com/"
#define AUTHORITY "https://login.microsoftonline.com"

enum {
	TOKEN_FILE_LIMIT = 256 * 1024
};

struct azure_credentials {
	int (*ask)(struct azure_credentials *credentials, struct bearer_token *token,
		   struct cancel *cancel, struct err *err);
	const char *source;
	/* Copies: the environment may change under other threads. NULL where not set. */
	char *tenant, *client, *secret, *token_file, *authority;
	char *identity_endpoint, *identity_header;
	struct metadata_endpoint machine;
	struct credential_cache tokens;
};

static char *copy_variable(const char *name)
{
	const char *value = text_from_environment(name);

	return value ? text_copy(value) : NULL;
}

/* --- Entra: a secret, or another issuer's token --- */

static int request_entra_token(struct azure_credentials *credentials, struct bytes *form,
			       struct bearer_token *token, struct cancel *cancel, struct err *err)
{
	static const char *const headers[] = {
		"Content-Type: application/x-www-form-urlencoded",
		NULL,
	};
	const char *authority = credentials->authority ? credentials->authority : AUTHORITY;
	size_t length = strlen(authority);
	auto_free char *tenant = uri_encode(credentials->tenant, false);
	auto_free char *url = NULL;

	while (length && authority[length - 1] == '/')
		length--;
	url = text_format("%.*s/%s/oauth2/v2.0/token", (int)length, authority, tenant);
	uri_add(form, "client_id", credentials->client);
	uri_add(form, "grant_type", "client_credentials");
	uri_add(form, "scope", RESOURCE ".default");
	return token_endpoint_get(
		&(struct token_endpoint){
			.name = "Microsoft Entra",
			.method = "POST",
			.url = url,
			.headers = headers,
			.body = uri_text(form),
		},
		token, cancel, err);
}

static int fetch_with_secret(struct azure_credentials *credentials, struct bearer_token *token,
			     struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};

	uri_add(&form, "client_secret", credentials->secret);
	return request_entra_token(credentials, &form, token, cancel, err);
}

/* Read each time: the kubelet replaces the file before its token expires. */
static int read_token_file(const char *path, char **assertion, struct err *err)
{
	auto_(bytes_release) struct bytes text = {.limit = TOKEN_FILE_LIMIT};

	if (file_read(path, &text, err) < 0)
		return -1;
	while (text.size && strchr(" \t\r\n", (char)text.data[text.size - 1]))
		text.size--;
	*assertion = text_copy_n(text.size ? (const char *)text.data : "", text.size);
	if (bearer_token_is_valid(*assertion))
		return 0;
	free(steal(assertion));
	return err_set(err, ERR_FAILED, "%s holds no token", path);
}

static int fetch_with_workload(struct azure_credentials *credentials, struct bearer_token *token,
			       struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};
	auto_free char *assertion = NULL;

	if (read_token_file(credentials->token_file, &assertion, err) < 0)
		return err_wrap(err, "AZURE_FEDERATED_TOKEN_FILE");
	uri_add(&form, "client_assertion_type",
		"urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
	uri_add(&form, "client_assertion", assertion);
	return request_entra_token(credentials, &form, token, cancel, err);
}

/* --- managed identities --- */

static int request_managed_token(const char *url, const char *header, const char *version,
				 const char *client, const char *name, struct bearer_token *token,
				 struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes query = {0};
	auto_free char *whole = NULL;
	const char *const headers[] = {header, NULL};

	uri_add(&query, "api-version", version);
	uri_add(&query, "resource", RESOURCE);
	if (client)
		uri_add(&query, "client_id", client);
	whole = text_format("%s%c%s", url, strchr(url, '?') ? '&' : '?', uri_text(&query));
	return token_endpoint_get(
		&(struct token_endpoint){
			.name = name,
			.url = whole,
			.headers = headers,
			.metadata = true,
		},
		token, cancel, err);
}

static int fetch_from_app_service(struct azure_credentials *credentials, struct bearer_token *token,
				  struct cancel *cancel, struct err *err)
{
	auto_free char *header = text_format("X-IDENTITY-HEADER: %s", credentials->identity_header);

	return request_managed_token(credentials->identity_endpoint, header, "2019-08-01",
				     credentials->client, "App Service's identity endpoint", token,
				     cancel, err);
}

static int fetch_from_metadata(struct azure_credentials *credentials, struct bearer_token *token,
			       struct cancel *cancel, struct err *err)
{
	auto_free char *url =
		text_format("%s/metadata/identity/oauth2/token", credentials->machine.url);

	return request_managed_token(url, instance_metadata_header(METADATA_AZURE_IDENTITY),
				     "2018-02-01", credentials->client, "Azure's metadata service",
				     token, cancel, err);
}

/* --- which --- */

static void select_source(struct azure_credentials *credentials)
{
	bool named = credentials->tenant && credentials->client;

	if (named && credentials->secret) {
		credentials->ask = fetch_with_secret;
		credentials->source = "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET";
	} else if (named && credentials->token_file) {
		credentials->ask = fetch_with_workload;
		credentials->source = "workload identity, AZURE_FEDERATED_TOKEN_FILE";
	} else if (credentials->identity_endpoint && credentials->identity_header) {
		credentials->ask = fetch_from_app_service;
		credentials->source = "managed identity, IDENTITY_ENDPOINT";
	} else {
		credentials->ask = fetch_from_metadata;
		credentials->source = "managed identity of the machine";
	}
}

static void *fetch_token(void *arg, int64_t *expires_ms, struct cancel *cancel, struct err *err)
{
	struct azure_credentials *credentials = arg;
	struct bearer_token token = {0};
	struct err why = {0};

	if (credentials->ask(credentials, &token, cancel, &why) == 0) {
		*expires_ms = token.expires_ms;
		return token.text;
	}
	/* A token file that is not there must not read as a snapshot that is not there. */
	if (why.kind == ERR_NOT_FOUND)
		why.kind = ERR_DENIED;
	if (credentials->ask == fetch_from_metadata)
		err_wrap(&why, "no AZURE_STORAGE_KEY, _SAS_TOKEN or _CONNECTION_STRING is set, nor "
			       "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET: set one, "
			       "or give the machine an identity");
	err_set(err, why.kind, "Azure credentials (%s): %s", credentials->source, why.text);
	return NULL;
}

static const struct credential_source credential_source = {
	.fetch = fetch_token,
	.copy = bearer_token_copy,
	.equal = bearer_token_equal,
	.free = bearer_token_free,
	.refresh_ahead_ms = 300 * 1000,
	.rest_ms = BEARER_TOKEN_REST_MS,
};

int azure_credentials_new(struct azure_credentials **result, struct err *err)
{
	struct azure_credentials *credentials = memory_new(sizeof(*credentials));

	credentials->tenant = copy_variable("AZURE_TENANT_ID");
	credentials->client = copy_variable("AZURE_CLIENT_ID");
	credentials->secret = copy_variable("AZURE_CLIENT_SECRET");
	credentials->token_file = copy_variable("AZURE_FEDERATED_TOKEN_FILE");
	credentials->authority = copy_variable("AZURE_AUTHORITY_HOST");
	credentials->identity_endpoint = copy_variable("IDENTITY_ENDPOINT");
	credentials->identity_header = copy_variable("IDENTITY_HEADER");
	instance_metadata_endpoint(METADATA_AZURE_IDENTITY, &credentials->machine);
	credential_cache_init(&credentials->tokens, &credential_source, credentials);
	select_source(credentials);
	if (credentials->authority && !uri_is_confidential(credentials->authority)) {
		azure_credentials_free(credentials);
		return err_set(err, ERR_INVALID, "AZURE_AUTHORITY_HOST is no https URL");
	}
	*result = credentials;
	return 0;
}

void azure_credentials_free(struct azure_credentials *credentials)
{
	if (!credentials)
		return;
	credential_cache_release(&credentials->tokens);
	if (credentials->secret)
		explicit_bzero(credentials->secret, strlen(credentials->secret));
	free(credentials->tenant);
	free(credentials->client);
	free(credentials->secret);
	free(credentials->token_file);
	free(credentials->authority);
	free(credentials->identity_endpoint);
	free(credentials->identity_header);
	free(credentials);
}

const char *azure_credentials_source(const struct azure_credentials *credentials)
{
	return credentials->source;
}

int azure_credentials_get(struct azure_credentials *credentials, char **token,
			  struct cancel *cancel, struct err *err)
{
	*token = credential_cache_get(&credentials->tokens, cancel, err);
	return *token ? 0 : -1;
}

int azure_credentials_invalidate(struct azure_credentials *credentials, const char *token,
				 struct cancel *cancel, struct err *err)
{
	return credential_cache_invalidate(&credentials->tokens, token, cancel, err);
}
