#include "google_credentials.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A JSON Web Token signed with RS256 (RFC 7515, RFC 7519): what a Google service account
 * shows for itself. */

AUTO_POINTER(EVP_PKEY, EVP_PKEY_free);
AUTO_POINTER(EVP_MD_CTX, EVP_MD_CTX_free);

/* The alphabet for URLs, without padding (RFC 4648 section 5). */
static char *encode_base64url(const void *data, size_t size)
{
	char *text = base64_encode(data, size);

	for (char *at = text; *at; at++) {
		if (*at == '+')
			*at = '-';
		else if (*at == '/')
			*at = '_';
		else if (*at == '=')
			*at = '\0';
		if (!*at)
			break;
	}
	return text;
}

static char *encode_json(json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT);

	return text ? encode_base64url(text, strlen(text)) : NULL;
}

/* Never asks on the terminal for a passphrase. */
static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
	(void)buffer, (void)size, (void)writing, (void)arg;
	return -1;
}

static EVP_PKEY *read_key(const char *key_pem)
{
	BIO *input = BIO_new_mem_buf(key_pem, -1);
	EVP_PKEY *key = input ? PEM_read_bio_PrivateKey(input, NULL, no_passphrase, NULL) : NULL;

	BIO_free(input);
	return key;
}

static int sign_rs256(EVP_PKEY *key, const char *text, struct bytes *signature, struct err *err)
{
	auto_(EVP_MD_CTX_free) EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t size = 0;

	if (!context || EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(context, NULL, &size, (const uint8_t *)text, strlen(text)) != 1 ||
	    bytes_reserve(signature, size, NULL) < 0 ||
	    EVP_DigestSign(context, signature->data, &size, (const uint8_t *)text, strlen(text)) !=
		    1)
		return err_set(err, ERR_FAILED, "cannot sign with the private key");
	signature->size = size;
	return 0;
}

int jwt_sign(const char *key_pem, const char *key_id, json_t *claims, char **token, struct err *err)
{
	auto_(EVP_PKEY_free) EVP_PKEY *key = read_key(key_pem);
	auto_(bytes_release) struct bytes signature = {0};
	auto_json json_t *header = json_pack("{s:s, s:s}", "alg", "RS256", "typ", "JWT");
	auto_free char *first = NULL, *second = NULL, *third = NULL, *text = NULL;

	if (!key || !EVP_PKEY_is_a(key, "RSA"))
		return err_set(err, ERR_INVALID, "the private key is no RSA key in PEM form");
	if (key_id)
		json_object_set_new(header, "kid", json_string(key_id));
	first = encode_json(header);
	second = encode_json(claims);
	if (!first || !second)
		return err_set(err, ERR_INVALID, "the claims are not UTF-8");
	text = text_format("%s.%s", first, second);
	if (sign_rs256(key, text, &signature, err) < 0)
		return -1;
	third = encode_base64url(signature.data, signature.size);
	*token = text_format("%s.%s", text, third);
	return 0;
}

#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define SCOPE_STORAGE "https://www.googleapis.com/auth/devstorage.read_write"

/* Acting as another account is an IAM call, which the narrow scope does not cover. */
#define SCOPE_ALL "https://www.googleapis.com/auth/cloud-platform"

enum {
	FILE_LIMIT = 1 << 20,
	SUBJECT_LIMIT = 256 * 1024,
	HEADERS_MOST = 16,
	TOKEN_SECONDS = 3600,
};

/* --- what the file says --- */

static int require_text(json_t *object, const char *name, const char **value, struct err *err)
{
	*value = json_text_or(object, name, "");
	return (*value)[0] ? 0 : err_set(err, ERR_INVALID, "it has no \"%s\"", name);
}

static int read_service_account(json_t *object, struct google_account *account, struct err *err)
{
	account->key_id = json_text_or(object, "private_key_id", NULL);
	if (require_text(object, "client_email", &account->email, err) < 0)
		return -1;
	return require_text(object, "private_key", &account->key_pem, err);
}

static int read_user(json_t *object, struct google_account *account, struct err *err)
{
	account->token_url = json_text_or(object, "token_uri", TOKEN_URL);
	if (require_text(object, "client_id", &account->client_id, err) < 0 ||
	    require_text(object, "client_secret", &account->client_secret, err) < 0)
		return -1;
	return require_text(object, "refresh_token", &account->refresh_token, err);
}

static int read_subject_format(json_t *source, struct google_account *account, struct err *err)
{
	json_t *format = json_object_get(source, "format");
	const char *type = json_text_or(format, "type", "text");

	if (strcmp(type, "text") == 0)
		return 0;
	if (strcmp(type, "json") != 0)
		return err_set(err, ERR_INVALID, "its subject token has an unknown format");
	return require_text(format, "subject_token_field_name", &account->subject_field, err);
}

static int read_subject_source(json_t *source, struct google_account *account, struct err *err)
{
	static const char *const others[] = {"environment_id", "executable", "certificate"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (json_object_get(source, others[i]))
			return err_set(err, ERR_INVALID,
				       "its credential_source is of the kind \"%s\", which is not "
				       "supported: use \"file\" or \"url\"",
				       others[i]);
	account->file = json_text_or(source, "file", NULL);
	account->url = json_text_or(source, "url", NULL);
	if (!account->file == !account->url)
		return err_set(err, ERR_INVALID,
			       "its credential_source has neither \"file\" nor \"url\", or both");
	account->url_headers = json_object_get(source, "headers");
	return read_subject_format(source, account, err);
}

static void read_impersonation(json_t *object, struct google_account *account)
{
	json_t *options = json_object_get(object, "service_account_impersonation");

	account->impersonation_url =
		json_text_or(object, "service_account_impersonation_url", NULL);
	account->impersonation_life =
		json_number_or(options, "token_lifetime_seconds", TOKEN_SECONDS);
	account->delegates = json_object_get(object, "delegates");
}

static int read_external(json_t *object, struct google_account *account, struct err *err)
{
	account->client_id = json_text_or(object, "client_id", NULL);
	account->client_secret = json_text_or(object, "client_secret", NULL);
	read_impersonation(object, account);
	if (require_text(object, "audience", &account->audience, err) < 0 ||
	    require_text(object, "subject_token_type", &account->subject_type, err) < 0 ||
	    require_text(object, "token_url", &account->token_url, err) < 0)
		return -1;
	return read_subject_source(json_object_get(object, "credential_source"), account, err);
}

static int read_impersonated(json_t *object, struct google_account *account, struct err *err)
{
	const char *url;

	read_impersonation(object, account);
	account->source = json_object_get(object, "source_credentials");
	if (!json_is_object(account->source))
		return err_set(err, ERR_INVALID, "it has no \"source_credentials\"");
	return require_text(object, "service_account_impersonation_url", &url, err);
}

int google_account_read(json_t *object, struct google_account *account, struct err *err)
{
	static const struct {
		const char *type;
		enum google_account_kind kind;
		int (*read)(json_t *object, struct google_account *account, struct err *err);
	} kinds[] = {
		{"service_account", GOOGLE_SERVICE_ACCOUNT, read_service_account},
		{"authorized_user", GOOGLE_USER, read_user},
		{"external_account", GOOGLE_EXTERNAL, read_external},
		{"impersonated_service_account", GOOGLE_IMPERSONATED, read_impersonated},
	};
	const char *type = json_text_or(object, "type", "");

	*account = (struct google_account){0};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(type, kinds[i].type) != 0)
			continue;
		account->kind = kinds[i].kind;
		return kinds[i].read(object, account, err);
	}
	return err_set(err, ERR_INVALID,
		       "its \"type\" is not one of service_account, authorized_user, "
		       "external_account, impersonated_service_account");
}

int google_account_subject(const struct google_account *account, const void *text, size_t size,
			   char **token, struct err *err)
{
	auto_json json_t *object = NULL;
	const char *start = text;

	if (account->subject_field) {
		object = json_parse(text, size, NULL);
		start = json_text_or(object, account->subject_field, "");
		size = strlen(start);
	}
	*token = bearer_token_trimmed(start, size);
	if (bearer_token_is_valid(*token))
		return 0;
	free(steal(token));
	return err_set(err, ERR_FAILED, "there is no subject token in it");
}

/* --- the token of another issuer --- */

static int subject_from_file(const struct google_account *account, char **subject, struct err *err)
{
	auto_(bytes_release) struct bytes text = {.limit = SUBJECT_LIMIT};

	if (file_read(account->file, &text, err) < 0)
		return err_wrap(err, "the subject token");
	if (google_account_subject(account, text.data, text.size, subject, err) < 0)
		return err_wrap(err, "%s", account->file);
	return 0;
}

static int subject_from_url(const struct google_account *account, char **subject,
			    struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {0};
	char *headers[HEADERS_MOST + 1] = {NULL};
	size_t count = 0;
	const char *name;
	json_t *value;
	int result;

	json_object_foreach(account->url_headers, name,
			    value) if (count < HEADERS_MOST && json_is_string(value))
		headers[count++] = text_format("%s: %s", name, json_string_value(value));
	result = token_endpoint_perform(
		&(struct token_endpoint){
			.name = "the source of the subject token",
			.url = account->url,
			.headers = (const char *const *)headers,
			.metadata = strncasecmp(account->url, "http://", 7) == 0,
		},
		&response, cancel, err);
	for (size_t i = 0; i < count; i++)
		free(headers[i]);
	if (result < 0)
		return -1;
	return google_account_subject(account, response.body.data, response.body.size, subject,
				      err);
}

int google_subject_token_get(const struct google_account *account, char **subject,
			     struct cancel *cancel, struct err *err)
{
	if (account->url)
		return subject_from_url(account, subject, cancel, err);
	return subject_from_file(account, subject, err);
}

static int check_confidential(const char *url, const char *name, struct err *err)
{
	if (uri_is_confidential(url))
		return 0;
	return err_set(err, ERR_INVALID, "%s: no secret is sent over plain http", name);
}

/* `authorization`: a header more; NULL: none. */
static int post_form(const char *name, const char *url, const char *authorization,
		     struct bytes *form, struct credential *token, struct cancel *cancel,
		     struct err *err)
{
	const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
				       authorization, NULL};

	if (check_confidential(url, name, err) < 0)
		return -1;
	return token_endpoint_get(
		&(struct token_endpoint){
			.name = name,
			.method = "POST",
			.url = url,
			.headers = headers,
			.body = uri_text(form),
		},
		token, cancel, err);
}

/* --- a key --- */

static int get_service_token(const struct google_account *account, int64_t wall_ms,
			     struct credential *token, struct err *err)
{
	json_int_t now = wall_ms / 1000;
	auto_json json_t *claims =
		json_pack("{s:s, s:s, s:s, s:I, s:I}", "iss", account->email, "sub", account->email,
			  "scope", SCOPE_STORAGE, "iat", now, "exp", now + TOKEN_SECONDS);

	token->expires_ms = clock_monotonic_ms() + TOKEN_SECONDS * 1000LL;
	return jwt_sign(account->key_pem, account->key_id, claims, &token->text, err);
}

/* --- a person --- */

static int refresh_user_token(const struct google_account *account, struct credential *token,
			      struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};

	uri_add(&form, "grant_type", "refresh_token");
	uri_add(&form, "client_id", account->client_id);
	uri_add(&form, "client_secret", account->client_secret);
	uri_add(&form, "refresh_token", account->refresh_token);
	return post_form("Google's token service", account->token_url, NULL, &form, token, cancel,
			 err);
}

/* --- another issuer --- */

static char *basic_authorization(const struct google_account *account)
{
	auto_free char *pair = NULL, *encoded = NULL;

	if (!account->client_id || !account->client_secret)
		return NULL;
	pair = text_format("%s:%s", account->client_id, account->client_secret);
	encoded = base64_encode(pair, strlen(pair));
	return text_format("Authorization: Basic %s", encoded);
}

static int exchange_subject_token(const struct google_account *account, struct credential *token,
				  struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};
	auto_free char *subject = NULL, *basic = basic_authorization(account);
	const char *name = "Google's token exchange";

	if (check_confidential(account->token_url, name, err) < 0 ||
	    google_subject_token_get(account, &subject, cancel, err) < 0)
		return -1;
	uri_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
	uri_add(&form, "requested_token_type", "urn:ietf:params:oauth:token-type:access_token");
	uri_add(&form, "audience", account->audience);
	uri_add(&form, "scope", account->impersonation_url ? SCOPE_ALL : SCOPE_STORAGE);
	uri_add(&form, "subject_token_type", account->subject_type);
	uri_add(&form, "subject_token", subject);
	return post_form(name, account->token_url, basic, &form, token, cancel, err);
}

/* --- acting as a service account --- */

static int read_acting_token(const struct http_response *response, struct credential *token,
			     struct err *err)
{
	auto_json json_t *object = json_parse(response->body.data, response->body.size, NULL);
	const char *text = json_text_or(object, "accessToken", "");
	int64_t expires_ms;

	if (!bearer_token_is_valid(text) ||
	    !datetime_parse(json_text_or(object, "expireTime", ""), &expires_ms))
		return err_set(err, ERR_FAILED, "impersonation: no token in the answer");
	token->text = text_copy(text);
	token->expires_ms = clock_from_wall_ms(expires_ms);
	return 0;
}

static int impersonate_account(const struct google_account *account, const char *own,
			       struct credential *token, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {0};
	auto_free char *life = text_format("%llds", (long long)account->impersonation_life);
	auto_free char *authorization = text_format("Authorization: Bearer %s", own);
	const char *const headers[] = {authorization, "Content-Type: application/json", NULL};
	auto_json json_t *object =
		json_pack("{s:[s], s:s}", "scope", SCOPE_STORAGE, "lifetime", life);
	auto_free char *body = NULL;
	const char *name = "impersonation of a service account";

	if (json_is_array(account->delegates))
		json_object_set(object, "delegates", account->delegates);
	body = json_dumps(object, JSON_COMPACT);
	if (check_confidential(account->impersonation_url, name, err) < 0 ||
	    token_endpoint_perform(
		    &(struct token_endpoint){
			    .name = name,
			    .method = "POST",
			    .url = account->impersonation_url,
			    .headers = headers,
			    .body = body,
		    },
		    &response, cancel, err) < 0)
		return -1;
	return read_acting_token(&response, token, err);
}

int google_token_exchange_account(const struct google_account *account, int64_t wall_ms,
				  struct credential *token, struct cancel *cancel, struct err *err)
{
	struct google_account source;
	struct credential own = {0}, *target = account->impersonation_url ? &own : token;
	int result = -1;

	switch (account->kind) {
	case GOOGLE_SERVICE_ACCOUNT:
		result = get_service_token(account, wall_ms, target, err);
		break;
	case GOOGLE_USER:
		result = refresh_user_token(account, target, cancel, err);
		break;
	case GOOGLE_EXTERNAL:
		result = exchange_subject_token(account, target, cancel, err);
		break;
	case GOOGLE_IMPERSONATED:
		if (google_account_read(account->source, &source, err) < 0)
			return err_wrap(err, "source_credentials");
		if (source.kind == GOOGLE_IMPERSONATED)
			return err_set(err, ERR_INVALID,
				       "source_credentials are impersonated themselves");
		result = google_token_exchange_account(&source, wall_ms, target, cancel, err);
		break;
	}
	if (result == 0 && target == &own)
		result = impersonate_account(account, own.text, token, cancel, err);
	credential_clear(&own);
	return result;
}

/* --- a machine --- */

static int ask_metadata_server(const char *base, struct credential *token, struct cancel *cancel,
			       struct err *err)
{
	const char *const headers[] = {instance_metadata_header(METADATA_GOOGLE), NULL};
	auto_(http_response_release) struct http_response response = {0};
	auto_free char *url =
		text_format("%s/computeMetadata/v1/instance/service-accounts/default/token", base);
	const struct token_endpoint endpoint = {
		.name = "the Google metadata server",
		.url = url,
		.headers = headers,
		.metadata = true,
	};

	if (token_endpoint_perform(&endpoint, &response, cancel, err) < 0)
		return -1;
	/* Some other service at this address says 200 to everything. */
	if (!text_equal(http_header(&response, "Metadata-Flavor"), "Google"))
		return err_set(err, ERR_DENIED, "what answers at %s is no Google metadata server",
			       base);
	return token_endpoint_parse(response.body.data, response.body.size, clock_monotonic_ms(),
				    clock_wall_ms(), token, err);
}

int google_token_exchange_machine(const struct metadata_endpoint *endpoint,
				  struct credential *token, struct cancel *cancel, struct err *err)
{
	/* By name first, as Google's own libraries do. Without a resolver the address still
	 * answers. */
	if (!endpoint->is_named &&
	    ask_metadata_server("http://metadata.google.internal", token, cancel, err) == 0)
		return 0;
	if (cancel_check(cancel, err) < 0)
		return -1;
	return ask_metadata_server(endpoint->url, token, cancel, err);
}

/* --- Application Default Credentials --- */

struct google_credentials {
	json_t *file; /* NULL: the metadata server */
	struct google_account account;
	struct metadata_endpoint endpoint;
	char *source;
	struct retrying_client *client;
	struct credential_cache tokens;
};

static int fetch_token(void *arg, struct credential *token, struct cancel *cancel, struct err *err)
{
	struct google_credentials *credentials = arg;

	if (credentials->file
		    ? google_token_exchange_account(&credentials->account,
						    retrying_client_now_ms(credentials->client),
						    token, cancel, err) == 0
		    : google_token_exchange_machine(&credentials->endpoint, token, cancel, err) ==
			      0)
		return 0;
	if (!credentials->file)
		err_wrap(err, "set GOOGLE_APPLICATION_CREDENTIALS, or run \"gcloud auth "
			      "application-default login\", or use a service account");
	return err_wrap(err, "Google credentials (%s)", credentials->source);
}

static const struct credential_source credential_source = {
	.fetch = fetch_token,
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

int google_credentials_new(struct retrying_client *client, struct google_credentials **result,
			   struct err *err)
{
	struct google_credentials *credentials = memory_new(sizeof(*credentials));
	struct err own = {0};

	credentials->client = client;
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

struct credential_cache *google_credentials_tokens(struct google_credentials *credentials)
{
	return &credentials->tokens;
}
