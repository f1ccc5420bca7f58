#include "google_token_exchange.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "google_subject_token.h"
#include "jwt.h"
#include "storage/http/http.h"

#include <stdlib.h>
#include <string.h>

#define SCOPE_STORAGE "https://www.googleapis.com/auth/devstorage.read_write"
/* Acting as another account is an IAM call, which the narrow scope does not cover. */
#define SCOPE_ALL "https://www.googleapis.com/auth/cloud-platform"

enum {
	JWT_SECONDS = 3600,
};

static const char *const form_headers[] = {"Content-Type: application/x-www-form-urlencoded", NULL};

static int check_confidential(const char *url, const char *name, struct err *err)
{
	if (uri_is_confidential(url))
		return 0;
	return err_set(err, ERR_INVALID, "%s: no secret is sent over plain http", name);
}

/* --- a key --- */

static int get_service_token(const struct google_account *account, int64_t wall_ms,
			     struct bearer_token *token, struct err *err)
{
	json_int_t now = wall_ms / 1000;
	auto_json json_t *claims =
		json_pack("{s:s, s:s, s:s, s:I, s:I}", "iss", account->email, "sub", account->email,
			  "scope", SCOPE_STORAGE, "iat", now, "exp", now + JWT_SECONDS);

	token->expires_ms = clock_monotonic_ms() + JWT_SECONDS * 1000LL;
	return jwt_sign(account->key_pem, account->key_id, claims, &token->text, err);
}

/* --- a person --- */

static int refresh_user_token(const struct google_account *account, struct bearer_token *token,
			      struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};
	const char *name = "Google's token service";

	uri_add(&form, "grant_type", "refresh_token");
	uri_add(&form, "client_id", account->client_id);
	uri_add(&form, "client_secret", account->client_secret);
	uri_add(&form, "refresh_token", account->refresh_token);
	if (check_confidential(account->token_url, name, err) < 0)
		return -1;
	return token_endpoint_get(
		&(struct token_endpoint){
			.name = name,
			.method = "POST",
			.url = account->token_url,
			.headers = form_headers,
			.body = uri_text(&form),
		},
		token, cancel, err);
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

static int exchange_subject_token(const struct google_account *account, int64_t wall_ms,
				  struct bearer_token *token, struct cancel *cancel,
				  struct err *err)
{
	auto_(bytes_release) struct bytes form = {0};
	auto_free char *subject = NULL, *basic = basic_authorization(account);
	const char *const headers[] = {form_headers[0], basic, NULL};
	const char *name = "Google's token exchange";

	if (check_confidential(account->token_url, name, err) < 0 ||
	    google_subject_token_get(account, wall_ms, &subject, cancel, err) < 0)
		return -1;
	uri_add(&form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
	uri_add(&form, "requested_token_type", "urn:ietf:params:oauth:token-type:access_token");
	uri_add(&form, "audience", account->audience);
	uri_add(&form, "scope", account->impersonation_url ? SCOPE_ALL : SCOPE_STORAGE);
	uri_add(&form, "subject_token_type", account->subject_type);
	uri_add(&form, "subject_token", subject);
	return token_endpoint_get(
		&(struct token_endpoint){
			.name = name,
			.method = "POST",
			.url = account->token_url,
			.headers = headers,
			.body = uri_text(&form),
		},
		token, cancel, err);
}

/* --- acting as a service account --- */

static int read_impersonated(const struct http_response *response, struct bearer_token *token,
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
			       struct bearer_token *token, struct cancel *cancel, struct err *err)
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
	return read_impersonated(&response, token, err);
}

static int get_source_token(const struct google_account *account, int64_t wall_ms,
			    struct bearer_token *token, struct cancel *cancel, struct err *err)
{
	struct google_account source;

	switch (account->kind) {
	case GOOGLE_SERVICE_ACCOUNT:
		return get_service_token(account, wall_ms, token, err);
	case GOOGLE_USER:
		return refresh_user_token(account, token, cancel, err);
	case GOOGLE_EXTERNAL:
		return exchange_subject_token(account, wall_ms, token, cancel, err);
	case GOOGLE_IMPERSONATED:
		break;
	}
	if (google_account_read(account->source, &source, err) < 0)
		return err_wrap(err, "source_credentials");
	if (source.kind == GOOGLE_IMPERSONATED)
		return err_set(err, ERR_INVALID, "source_credentials are impersonated themselves");
	return google_token_exchange_account(&source, wall_ms, token, cancel, err);
}

int google_token_exchange_account(const struct google_account *account, int64_t wall_ms,
				  struct bearer_token *token, struct cancel *cancel,
				  struct err *err)
{
	struct bearer_token own = {0};
	int result;

	if (!account->impersonation_url)
		return get_source_token(account, wall_ms, token, cancel, err);
	if (get_source_token(account, wall_ms, &own, cancel, err) < 0)
		return -1;
	result = impersonate_account(account, own.text, token, cancel, err);
	free(own.text);
	return result;
}

/* --- a machine --- */

static int ask_metadata_server(const char *base, struct bearer_token *token, struct cancel *cancel,
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
				  struct bearer_token *token, struct cancel *cancel,
				  struct err *err)
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
