/*
 * az://ACCOUNT/CONTAINER[/PREFIX]: block blobs, each put by one request; "if absent" is
 * If-None-Match: *. The container is there already: to make one is for whoever owns the account.
 */
#include "azure.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/file.h"
#include "base/instance_metadata.h"
#include "base/text.h"
#include "storage/http/http.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Which account, container and endpoint, and which of the secrets that the environment holds
 * is for it.
 *
 *	az://ACCOUNT/CONTAINER[/PREFIX]
 */

/* The emulator's, the same everywhere and no secret: Azurite's manual names them. */
#define EMULATOR_ACCOUNT "devstoreaccount1"
#define EMULATOR_KEY                                                    \
	"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6t" \
	"q/K1SZFPTOtr/KBHBeksoGMGw=="
#define EMULATOR_ENDPOINT "http://127.0.0.1:10000/" EMULATOR_ACCOUNT

#define CONNECTION "AZURE_STORAGE_CONNECTION_STRING"

enum connection_member {
	CONNECTION_ACCOUNT,
	CONNECTION_KEY,
	CONNECTION_SAS,
	CONNECTION_ENDPOINT,
	CONNECTION_SUFFIX,
	CONNECTION_PROTOCOL,
	CONNECTION_EMULATOR,
	CONNECTION_MEMBERS
};

/* The fields of a connection string; NULL for a field that it lacks. */
struct connection {
	char *values[CONNECTION_MEMBERS];
};

static void connection_release(struct connection *connection)
{
	for (int i = 0; i < CONNECTION_MEMBERS; i++)
		free(connection->values[i]);
}
AUTO(struct connection, connection_release);

static bool text_is_set(const char *text)
{
	return text && text[0];
}

/* --- the URL --- */

static bool consists_of(const char *text, const char *allowed, size_t least, size_t most)
{
	size_t length = strlen(text);

	return length >= least && length <= most && strspn(text, allowed) == length;
}

static int read_url(const char *url, struct azure_account *account, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-$";
	const char *at = url + strlen("az://");
	size_t length = strcspn(at, "/");

	account->name = text_copy_n(at, length);
	at += length + (at[length] == '/');
	uri_split_prefix(at, &account->container, &account->prefix);
	if (!consists_of(account->name, letters, 3, 63) ||
	    !consists_of(account->container, letters, 3, 63))
		return err_set(err, ERR_INVALID,
			       "store %s: an Azure store is named az://ACCOUNT/CONTAINER/PREFIX, "
			       "with 3 to 63 of a-z 0-9 - for the first two",
			       url);
	if (strpbrk(account->prefix, "?#\\") || strstr(account->prefix, "//"))
		return err_set(err, ERR_INVALID, "store %s: no ? # \\ or // in the prefix", url);
	return 0;
}

/* --- the connection string --- */

static int read_connection(const char *text, struct connection *connection, struct err *err)
{
	static const char *const names[CONNECTION_MEMBERS] =
		{"AccountName",          "AccountKey",     "SharedAccessSignature",
		 "BlobEndpoint",         "EndpointSuffix", "DefaultEndpointsProtocol",
		 "UseDevelopmentStorage"};
	char **values = connection->values;

	while (*(text += strspn(text, "; \t\r\n"))) {
		size_t length = strcspn(text, ";"), name = strcspn(text, "=");

		if (name >= length)
			return err_set(err, ERR_INVALID,
				       CONNECTION ": a part of it is not NAME=VALUE");
		for (int i = 0; i < CONNECTION_MEMBERS; i++) {
			if (strlen(names[i]) != name || strncasecmp(text, names[i], name) != 0)
				continue;
			free(values[i]);
			values[i] = text_copy_n(text + name + 1, length - name - 1);
		}
		text += length;
	}
	if (text_equal(values[CONNECTION_EMULATOR], "true") && !values[CONNECTION_ACCOUNT])
		values[CONNECTION_ACCOUNT] = text_copy(EMULATOR_ACCOUNT);
	return 0;
}

/* --- what follows --- */

static int set_key(struct azure_account *account, const char *key, const char *source,
		   struct err *err)
{
	if (!base64_decode(key, &account->key) || account->key.size == 0)
		return err_set(err, ERR_INVALID, "%s: the account key is not base64", source);
	account->source = source;
	return 0;
}

static int set_sas(struct azure_account *account, const char *sas, const char *source,
		   struct err *err)
{
	sas += strspn(sas, "?&");
	for (const char *at = sas; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == '#')
			return err_set(err, ERR_INVALID,
				       "%s: the shared access signature is not a URL's query",
				       source);
	if (!strstr(sas, "sig="))
		return err_set(err, ERR_INVALID,
			       "%s: the shared access signature has no sig=", source);
	account->sas = text_copy(sas);
	account->source = source;
	return 0;
}

static int set_endpoint(struct azure_account *account, const char *endpoint, struct err *err)
{
	account->endpoint = uri_endpoint(endpoint);
	if (!account->endpoint)
		return err_set(err, ERR_INVALID, "the blob endpoint is no http or https URL");
	return 0;
}

static int choose_endpoint(struct azure_account *account, char *const *values,
			   const struct azure_environment *environment, struct err *err)
{
	const char *suffix = values[CONNECTION_SUFFIX];
	auto_free char *built = NULL;

	if (text_is_set(values[CONNECTION_ENDPOINT]))
		return set_endpoint(account, values[CONNECTION_ENDPOINT], err);
	if (text_is_set(environment->endpoint))
		return set_endpoint(account, environment->endpoint, err);
	if (strcmp(account->name, EMULATOR_ACCOUNT) == 0 && !text_is_set(suffix))
		return set_endpoint(account, EMULATOR_ENDPOINT, err);
	built = text_format("%s://%s.blob.%s",
			    text_equal(values[CONNECTION_PROTOCOL], "http") ? "http" : "https",
			    account->name, text_is_set(suffix) ? suffix : "core.windows.net");
	return set_endpoint(account, built, err);
}

static int choose_secret(struct azure_account *account, char *const *values,
			 const struct azure_environment *environment, struct err *err)
{
	if (text_is_set(values[CONNECTION_KEY]))
		return set_key(account, values[CONNECTION_KEY], CONNECTION, err);
	if (text_is_set(values[CONNECTION_SAS]))
		return set_sas(account, values[CONNECTION_SAS], CONNECTION, err);
	if (text_is_set(environment->key))
		return set_key(account, environment->key, "AZURE_STORAGE_KEY", err);
	if (text_is_set(environment->sas))
		return set_sas(account, environment->sas, "AZURE_STORAGE_SAS_TOKEN", err);
	if (strcmp(account->name, EMULATOR_ACCOUNT) == 0)
		return set_key(account, EMULATOR_KEY, "the emulator's well-known key", err);
	return 0;
}

/* A secret of another account would only be refused, and with words that do not say why. */
static int check_name(const struct azure_account *account, const char *name, const char *variable,
		      struct err *err)
{
	if (!name || !*name || strcmp(name, account->name) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "%s is for the account %s, but the store's account is %s",
		       variable, name, account->name);
}

int azure_account_read(const char *url, const struct azure_environment *environment,
		       struct azure_account *account, struct err *err)
{
	auto_(connection_release) struct connection connection = {0};

	*account = (struct azure_account){0};
	if (read_url(url, account, err) < 0)
		return -1;
	if (text_is_set(environment->connection) &&
	    read_connection(environment->connection, &connection, err) < 0)
		return -1;
	if (check_name(account, connection.values[CONNECTION_ACCOUNT], CONNECTION, err) < 0 ||
	    check_name(account, environment->account, "AZURE_STORAGE_ACCOUNT", err) < 0)
		return -1;
	if (choose_endpoint(account, connection.values, environment, err) < 0)
		return -1;
	return choose_secret(account, connection.values, environment, err);
}

void azure_account_release(struct azure_account *account)
{
	free(account->name);
	free(account->container);
	free(account->prefix);
	free(account->endpoint);
	free(account->sas);
	bytes_release(&account->key);
	*account = (struct azure_account){0};
}

/* What a reply of Azure Blob Storage means: a table for store_reply_judge(). */

// clang-format off

/* Codes: "Blob service error codes" and "Common REST API error codes" of Microsoft's manual. */
static const struct reply_row rows[] = {
	{STATUS_GOOD, NULL, CAME_UNMARKED, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	/* "Put Blob" is answered with 201 and nothing else. */
	{201, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{STATUS_GOOD, NULL, ASKED_PUT, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{STATUS_GOOD, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{404, "BlobNotFound", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
	{404, "BlobNotFound", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
	{404, "ContainerNotFound", 0, CALL_FAILED, ERR_INVALID,
		"there is no such container: make it, or correct its name"},
	{404, "ContainerBeingDeleted", 0, CALL_FAILED, ERR_INVALID, NULL},
	{416, NULL, ASKED_GET_REST, CALL_DONE, ERR_NONE, NULL},
	{416, NULL, 0, CALL_FAILED, ERR_CORRUPT, "the blob is shorter than it was"},
	/* If-None-Match: * is answered with 409; 412 is what other conditions get, and there was
	 * no other. */
	{409, "BlobAlreadyExists", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS,
		"it is there already"},
	{412, "ConditionNotMet", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS,
		"it is there already"},
	{412, "LeaseIdMissing", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "ContainerBeingDeleted", 0, CALL_FAILED, ERR_INVALID, NULL},
	{409, "ContainerDisabled", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "BlobImmutableDueToPolicy", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "BlobArchived", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "SnapshotsPresent", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "OperationNotAllowedInCurrentState", 0, CALL_RETRY, ERR_RETRY, NULL},
	{409, "AccountBeingCreated", 0, CALL_RETRY, ERR_RETRY, NULL},
	{400, "Md5Mismatch", 0, CALL_RETRY, ERR_RETRY, NULL},
	/* A signature that is wrong and one that is old get the same code; a token has its time
	 * from elsewhere. */
	{401, NULL, SENT_TOKEN, CALL_REFRESH, ERR_DENIED, NULL},
	{401, NULL, SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{401, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, SENT_TOKEN, CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{403, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{503, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{501, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
};

// clang-format on

/* A signature is good for 15 minutes. */
const struct reply_table azure_blob_replies = {rows, sizeof(rows) / sizeof(*rows), 10 * 60 * 1000};

int azure_listing_read(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err)
{
	static const struct listing_dialect list_blobs = {
		.root = "EnumerationResults",
		.object = "/Blobs/Blob",
		.key = "/Blobs/Blob/Name",
		.size = "/Blobs/Blob/Properties/Content-Length",
		.modified = "/Blobs/Blob/Properties/Last-Modified",
		.type = "/Blobs/Blob/Properties/ResourceType",
		.folded = "/Blobs/BlobPrefix/Name",
		.next = "/NextMarker",
	};

	return listing_page_read(&list_blobs, body, size, prefix, listing, next, err);
}

/*
 * Tokens of Microsoft Entra for Azure Storage, where there is neither a key nor a shared access
 * signature: a client secret, a workload identity (federated token file), App Service's or the
 * virtual machine's managed identity, whichever the environment speaks of first. Kept and renewed
 * as token_endpoint.h says.
 */

#define RESOURCE "https://storage.azure.com/"
#define AUTHORITY "https://login.microsoftonline.com"

enum identity_variable {
	IDENTITY_TENANT,
	IDENTITY_CLIENT,
	IDENTITY_SECRET,
	IDENTITY_TOKEN_FILE,
	IDENTITY_AUTHORITY,
	IDENTITY_ENDPOINT,
	IDENTITY_HEADER,
	IDENTITY_VARIABLES
};

struct azure_identity {
	/* NULL: no token is needed. */
	int (*ask)(const struct azure_identity *identity, struct credential *token,
		   struct cancel *cancel, struct err *err);
	const char *source; /* in words and without secrets */
	/* Copies: the environment may change under other threads. NULL where not set. */
	char *values[IDENTITY_VARIABLES];
	struct metadata_endpoint machine;
};

/* --- Entra: a secret, or another issuer's token --- */

static int request_entra_token(const struct azure_identity *identity, struct bytes *form,
			       struct credential *token, struct cancel *cancel, struct err *err)
{
	static const char *const headers[] = {
		"Content-Type: application/x-www-form-urlencoded",
		NULL,
	};
	const char *own = identity->values[IDENTITY_AUTHORITY], *authority = own ? own : AUTHORITY;
	size_t length = strlen(authority);
	auto_free char *tenant = uri_encode(identity->values[IDENTITY_TENANT], false);
	auto_free char *url = NULL;

	while (length && authority[length - 1] == '/')
		length--;
	url = text_format("%.*s/%s/oauth2/v2.0/token", (int)length, authority, tenant);
	uri_add(form, "client_id", identity->values[IDENTITY_CLIENT]);
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

static int fetch_with_secret(const struct azure_identity *identity, struct credential *token,
			     struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};

	uri_add(&form, "client_secret", identity->values[IDENTITY_SECRET]);
	return request_entra_token(identity, &form, token, cancel, err);
}

static int fetch_with_workload(const struct azure_identity *identity, struct credential *token,
			       struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};
	auto_free char *assertion = NULL;

	/* The kubelet replaces the file before its token expires. */
	if (bearer_token_read_file(identity->values[IDENTITY_TOKEN_FILE], &assertion, err) < 0)
		return err_wrap(err, "AZURE_FEDERATED_TOKEN_FILE");
	uri_add(&form, "client_assertion_type",
		"urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
	uri_add(&form, "client_assertion", assertion);
	return request_entra_token(identity, &form, token, cancel, err);
}

/* --- managed identities --- */

static int request_managed_token(const struct azure_identity *identity, const char *url,
				 const char *header, const char *version, const char *name,
				 struct credential *token, struct cancel *cancel, struct err *err)
{
	const char *const headers[] = {header, NULL}, *client = identity->values[IDENTITY_CLIENT];
	auto_(bytes_release) struct bytes query = {0};
	auto_free char *whole = NULL;

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

static int fetch_from_app_service(const struct azure_identity *identity, struct credential *token,
				  struct cancel *cancel, struct err *err)
{
	auto_free char *header =
		text_format("X-IDENTITY-HEADER: %s", identity->values[IDENTITY_HEADER]);

	return request_managed_token(identity, identity->values[IDENTITY_ENDPOINT], header,
				     "2019-08-01", "App Service's identity endpoint", token, cancel,
				     err);
}

static int fetch_from_metadata(const struct azure_identity *identity, struct credential *token,
			       struct cancel *cancel, struct err *err)
{
	auto_free char *url =
		text_format("%s/metadata/identity/oauth2/token", identity->machine.url);

	if (request_managed_token(identity, url, instance_metadata_header(METADATA_AZURE_IDENTITY),
				  "2018-02-01", "Azure's metadata service", token, cancel, err) ==
	    0)
		return 0;
	return err_wrap(err, "no Azure credentials: set AZURE_STORAGE_KEY or _SAS_TOKEN, or "
			     "AZURE_CLIENT_ID and its secret, or use an identity");
}

/* --- which --- */

static void identity_release(struct azure_identity *identity)
{
	char *secret = identity->values[IDENTITY_SECRET];

	if (secret)
		explicit_bzero(secret, strlen(secret));
	for (int i = 0; i < IDENTITY_VARIABLES; i++)
		free(identity->values[i]);
}

/* Reads the environment; makes no request. ERR_INVALID for an authority that is no https URL. */
static int identity_init(struct azure_identity *identity, struct err *err)
{
	static const char *const names[IDENTITY_VARIABLES] =
		{"AZURE_TENANT_ID",      "AZURE_CLIENT_ID",
		 "AZURE_CLIENT_SECRET",  "AZURE_FEDERATED_TOKEN_FILE",
		 "AZURE_AUTHORITY_HOST", "IDENTITY_ENDPOINT",
		 "IDENTITY_HEADER"};
	char **values = identity->values;

	for (int i = 0; i < IDENTITY_VARIABLES; i++) {
		const char *value = text_from_environment(names[i]);

		values[i] = value ? text_copy(value) : NULL;
	}
	instance_metadata_endpoint(METADATA_AZURE_IDENTITY, &identity->machine);
	identity->ask = fetch_from_metadata;
	identity->source = "managed identity of the machine";
	if (values[IDENTITY_TENANT] && values[IDENTITY_CLIENT] && values[IDENTITY_SECRET]) {
		identity->ask = fetch_with_secret;
		identity->source = "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET";
	} else if (values[IDENTITY_TENANT] && values[IDENTITY_CLIENT] &&
		   values[IDENTITY_TOKEN_FILE]) {
		identity->ask = fetch_with_workload;
		identity->source = "workload identity, AZURE_FEDERATED_TOKEN_FILE";
	} else if (values[IDENTITY_ENDPOINT] && values[IDENTITY_HEADER]) {
		identity->ask = fetch_from_app_service;
		identity->source = "managed identity, IDENTITY_ENDPOINT";
	}
	if (values[IDENTITY_AUTHORITY] && !uri_is_confidential(values[IDENTITY_AUTHORITY]))
		return err_set(err, ERR_INVALID, "AZURE_AUTHORITY_HOST is no https URL");
	return 0;
}

static int fetch_token(void *arg, struct credential *token, struct cancel *cancel, struct err *err)
{
	const struct azure_identity *identity = arg;

	return identity->ask(identity, token, cancel, err) == 0
		       ? 0
		       : err_wrap(err, "Azure credentials (%s)", identity->source);
}

static const struct credential_source credential_source = {
	.fetch = fetch_token,
	.refresh_ahead_ms = 300 * 1000,
	.rest_ms = BEARER_TOKEN_REST_MS,
};

/*
 * Azure's SharedKey: the text that is signed, and the header. The layout is Microsoft's
 * "Authorize with Shared Key"; all parts are taken as they go out on the wire, so that both sides
 * see the same.
 */

char *azure_shared_key_text(const struct azure_shared_key_request *request)
{
	struct bytes text = {0};

	/* Since 2015-02-21 a length of 0 is signed as nothing. */
	if (request->content_length)
		bytes_format(&text, NULL, "%s\n\n\n%zu\n", request->method,
			     request->content_length);
	else
		bytes_format(&text, NULL, "%s\n\n\n\n", request->method);
	/* Of the headers with a place of their own we send one. */
	bytes_format(&text, NULL, "\n\n\n\n\n%s\n\n\n", request->if_absent ? "*" : "");
	for (const char *const *header = request->headers; *header; header++) {
		int name = (int)strcspn(*header, ":");

		bytes_format(&text, NULL, "%.*s:%s\n", name, *header, *header + name + 2);
	}
	/* The path as sent, so that the account is there twice where the endpoint's path begins
	 * with it. */
	bytes_format(&text, NULL, "/%s%s", request->account, request->path);
	for (const char *at = request->query; *at;) {
		size_t length = strcspn(at, "&"), name = strcspn(at, "=") + 1;
		auto_free char *value = uri_decode(at + name, length - name);

		bytes_format(&text, NULL, "\n%.*s:%s", (int)name - 1, at, value);
		at += length + (at[length] == '&');
	}
	uri_text(&text);
	return (char *)text.data;
}

char *azure_shared_key_sign(const struct azure_shared_key_request *request, const struct bytes *key)
{
	auto_free char *text = azure_shared_key_text(request);
	auto_free char *signature = NULL;
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	HMAC(EVP_sha256(), key->data, (int)key->size, (const uint8_t *)text, strlen(text), digest,
	     &size);
	signature = base64_encode(digest, size);
	return text_format("SharedKey %s:%s", request->account, signature);
}

/* Signs the call, or adds its token, again for each try. */

struct azure_store {
	struct http_store http;
	struct azure_account account;
	const char *path; /* of the endpoint, within it: "", or "/devstoreaccount1" */
	struct azure_identity identity;
	struct credential_cache tokens;
};

static struct azure_store *azure_of(struct store *store)
{
	return (struct azure_store *)store;
}

#define API_VERSION "2021-12-02"

/* --- one try --- */

static void set_request_url(const struct azure_store *azure, const char *path, const char *query,
			    struct call_request *request)
{
	const struct azure_account *account = &azure->account;
	const char *sas = account->sas ? account->sas : "";
	auto_free char *url = text_format("%.*s%s%s%s%s%s", (int)(azure->path - account->endpoint),
					  account->endpoint, path, query[0] || sas[0] ? "?" : "",
					  query, query[0] && sas[0] ? "&" : "", sas);

	call_request_set_url(request, url);
}

static void authorize_request(const struct call_attempt *attempt, const char *path,
			      const char *const *headers, struct call_request *request)
{
	const struct azure_account *account = &azure_of(&attempt->http->store)->account;
	auto_free char *signature = NULL;

	if (attempt->credential) {
		call_request_add_header(request, "Authorization: Bearer %s",
					attempt->credential->text);
		return;
	}
	if (account->key.size == 0)
		return;
	signature = azure_shared_key_sign(
		&(struct azure_shared_key_request){
			.method = attempt->method,
			.account = account->name,
			.path = path,
			.query = attempt->call->query,
			.headers = headers,
			.if_absent = attempt->call->asked == ASKED_PUT_IF_ABSENT,
			.content_length = attempt->call->body_size,
		},
		&account->key);
	call_request_add_header(request, "Authorization: %s", signature);
}

static void azure_prepare(const struct call_attempt *attempt, struct call_request *request)
{
	const struct azure_store *azure = azure_of(&attempt->http->store);
	const struct store_call *call = attempt->call;
	char date[DATETIME_SIZE];
	auto_free char *sent =
		text_format("x-ms-date: %s", datetime_rfc1123(attempt->now_ms, date));
	auto_free char *range = call->range ? text_format("x-ms-range: %s", call->range) : NULL;
	auto_free char *key = text_format("%s%s", call->key ? azure->account.prefix : "",
					  call->key ? call->key : "");
	auto_free char *encoded = uri_encode(key, true);
	auto_free char *path = text_format("%s/%s%s%s", azure->path, azure->account.container,
					   call->key ? "/" : "", encoded);
	const char *headers[5] = {NULL}; /* in the order of their names, as they are signed */
	size_t count = 0;

	if (call->asked & ASKED_PUT)
		headers[count++] = "x-ms-blob-type: BlockBlob";
	headers[count++] = sent;
	if (range)
		headers[count++] = range;
	headers[count++] = "x-ms-version: " API_VERSION;
	for (size_t i = 0; headers[i]; i++)
		call_request_add_header(request, "%s", headers[i]);
	if (call->asked == ASKED_PUT_IF_ABSENT)
		call_request_add_header(request, "If-None-Match: *");
	set_request_url(azure, path, call->query, request);
	authorize_request(attempt, path, headers, request);
}

static enum call_verdict azure_judge(struct call_attempt *attempt,
				     const struct http_response *response, struct err *err)
{
	unsigned facts = attempt->call->asked | (attempt->credential ? SENT_TOKEN : 0) |
			 (http_header(response, "x-ms-request-id") ? 0 : CAME_UNMARKED);
	const char *code = http_header(response, "x-ms-error-code");
	struct store_reply reply;

	store_reply_read(&reply, response, facts, attempt->now_ms);
	/* The header is there also where the body is not. */
	if (code)
		text_set(reply.code, sizeof(reply.code), code);
	return store_reply_judge(&azure_blob_replies, &reply, err);
}

/* In the order of the names, as they are signed. */
static void azure_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
				 const char *token)
{
	uri_add(query, "comp", "list");
	if (depth == STORE_LEVEL)
		uri_add(query, "delimiter", "/");
	if (token)
		uri_add(query, "marker", token);
	uri_add(query, "prefix", prefix);
	uri_add(query, "restype", "container");
}

/* --- opening --- */

static int init_account(struct azure_store *azure, const char *url, struct err *err)
{
	const struct azure_environment environment = {
		.connection = getenv("AZURE_STORAGE_CONNECTION_STRING"),
		.account = getenv("AZURE_STORAGE_ACCOUNT"),
		.key = getenv("AZURE_STORAGE_KEY"),
		.sas = getenv("AZURE_STORAGE_SAS_TOKEN"),
		.endpoint = getenv("AZURE_STORAGE_BLOB_ENDPOINT"),
	};
	struct azure_account *account = &azure->account;

	if (azure_account_read(url, &environment, account, err) < 0)
		return -1;
	azure->path = strstr(account->endpoint, "://") + 3;
	azure->path += strcspn(azure->path, "/");
	if (account->source)
		return 0;
	if (!uri_is_confidential(account->endpoint))
		return err_set(err, ERR_INVALID,
			       "store %s: no token is sent over plain http; let the endpoint be "
			       "https",
			       url);
	return identity_init(&azure->identity, err);
}

static void azure_close(struct store *store)
{
	struct azure_store *azure = azure_of(store);

	http_store_release(&azure->http);
	credential_cache_release(&azure->tokens);
	identity_release(&azure->identity);
	azure_account_release(&azure->account);
	free(azure);
}

static int azure_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *err)
{
	static const struct http_store_ops ops = {NULL, azure_prepare, azure_judge,
						  azure_add_page_query, azure_listing_read};
	struct azure_store *azure;

	(void)create, (void)read_only;
	if (cancel_check(cancel, err) < 0)
		return -1;
	azure = memory_new(sizeof(*azure));
	credential_cache_init(&azure->tokens, &credential_source, &azure->identity);
	if (init_account(azure, url, err) < 0) {
		azure_close(&azure->http.store);
		return -1;
	}
	azure->http = (struct http_store){
		.store.ops = &azure_store_ops,
		.ops = &ops,
		.prefix = azure->account.prefix,
		.place = text_format("%s %s/", azure->account.name, azure->account.container),
		.client = retrying_client_new(0, NULL, NULL),
		.credentials = azure->identity.ask ? &azure->tokens : NULL,
	};
	*store = &azure->http.store;
	return 0;
}

/* --- for people --- */

static void azure_describe(struct store *store, char *text, size_t capacity)
{
	const struct azure_store *azure = azure_of(store);

	snprintf(text, capacity, "%s, credentials: %s", azure->account.endpoint,
		 azure->identity.ask ? azure->identity.source : azure->account.source);
}

/* Without a key or a signature there is a token, for which http is refused. */
static void azure_read_health(struct store *store, struct store_health *health)
{
	http_store_read_health(store, health);
	health->in_the_clear = !uri_is_confidential(azure_of(store)->account.endpoint);
}

const struct store_ops azure_store_ops = {
	.scheme = "az",
	.open = azure_open,
	.close = azure_close,
	.put = http_store_put,
	.get = http_store_get,
	.read = http_store_read,
	.list = http_store_list,
	.remove = http_store_remove,
	.describe = azure_describe,
	.read_health = azure_read_health,
};
