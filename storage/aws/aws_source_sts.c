/* Roles, from the Security Token Service: for other credentials, or for the token of a cluster or
 * another identity provider. */
#include "aws_source.h"

#include "aws_reply_credentials.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "sigv4.h"
#include "storage/http/http.h"

#include "base/digest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TOKEN_MOST = 64 * 1024,
	ANSWER_MOST = 256 * 1024,
	TIME_LIMIT_MS = 8000
};

#define CONTENT_TYPE "application/x-www-form-urlencoded; charset=utf-8"

struct sts_call {
	const char *endpoint, *region;
	const struct bytes *form;
	const struct aws_credentials *by; /* NULL: unsigned */
};

/* A form with a token in it does not stay in memory. */
static void form_release(struct bytes *form)
{
	if (form->data)
		explicit_bzero(form->data, form->capacity);
	bytes_release(form);
}
AUTO(struct bytes, form_release);

static void sign_request(const struct sts_call *call, int64_t now_ms, struct call_request *request)
{
	const char *host = strstr(call->endpoint, "://") + 3;
	auto_free char *authority = text_copy_n(host, strcspn(host, "/"));
	const struct sigv4_identity identity = {call->by->access_key, call->by->secret_key,
						call->region, "sts"};
	const struct sigv4_header headers[] = {
		{"host", authority},
		{"content-type", CONTENT_TYPE},
		{"x-amz-security-token", call->by->session_token},
	};
	uint8_t digest[DIGEST_SIZE];
	char hash[2 * DIGEST_SIZE + 1];
	struct sigv4_signed result;

	digest_sha256(call->form->data, call->form->size, digest);
	text_hex(digest, sizeof(digest), hash);
	sigv4_sign(&(struct sigv4_request){"POST", "/", "", hash, headers,
					   call->by->session_token ? 3 : 2},
		   &identity, now_ms, &result);
	call_request_add_header(request, "Host: %s", authority);
	call_request_add_header(request, "x-amz-date: %s", result.date);
	call_request_add_header(request, "Authorization: %s", result.authorization);
	if (call->by->session_token)
		call_request_add_header(request, "x-amz-security-token: %s",
					call->by->session_token);
	sigv4_signed_release(&result);
}

static int prepare_request(void *arg, const struct call_try *attempt, struct call_request *request,
			   struct cancel *cancel, struct err *err)
{
	const struct sts_call *call = arg;

	(void)cancel, (void)err;
	call_request_set_url(request, call->endpoint);
	call_request_add_header(request, "Content-Type: " CONTENT_TYPE);
	if (call->by)
		sign_request(call, attempt->now_ms, request);
	return 0;
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	(void)arg;
	return aws_reply_judge_sts(response->status, response->body.data, response->body.size, err);
}

static char *sts_endpoint_url(const struct aws_settings *settings, const char *region)
{
	auto_free char *endpoint = NULL;

	if (!settings->sts_endpoint)
		return text_format("https://sts.%s.amazonaws.com%s/", region,
				   text_starts(region, "cn-") ? ".cn" : "");
	endpoint = text_copy(settings->sts_endpoint);
	while (text_ends(endpoint, "/"))
		endpoint[strlen(endpoint) - 1] = '\0';
	return text_format("%s/", endpoint);
}

static int call_sts(const struct aws_settings *settings, const struct bytes *form,
		    const struct aws_credentials *by, struct aws_credentials *credentials,
		    struct cancel *cancel, struct err *err)
{
	const char *region = settings->region ? settings->region : "us-east-1";
	auto_free char *endpoint = sts_endpoint_url(settings, region);
	struct sts_call sts = {endpoint, region, form, by};
	const struct retried_call call = {
		.method = "POST",
		.body = form->data,
		.body_size = form->size,
		.arg = &sts,
		.prepare = prepare_request,
		.judge = judge_response,
	};
	auto_(retrying_client_free) struct retrying_client *remote =
		retrying_client_new(&(struct retrying_client_options){
			.patience_ms = TIME_LIMIT_MS,
			.ca_file = settings->ca_file,
			.ca_variable = "AWS_CA_BUNDLE",
		});
	auto_(http_response_release) struct http_response response = {.body.limit = ANSWER_MOST};
	int result;

	if (!s3_address_is_region(region) || !strstr(endpoint, "://") ||
	    !uri_is_confidential(endpoint))
		return err_set(err, ERR_INVALID,
			       "STS: a region and an endpoint that is https:// (or on this "
			       "machine) are needed");
	if (retrying_client_perform(remote, &call, &response, cancel, err) < 0)
		return err_wrap(err, "STS at %s", endpoint);
	result = aws_reply_sts(response.body.data, response.body.size, credentials, err);
	explicit_bzero(response.body.data, response.body.size);
	return result < 0 ? err_wrap(err, "STS at %s", endpoint) : 0;
}

/* A session's name stands in AWS's audit trail: the machine's name tells most there. */
static char *session_name(const struct aws_role *role)
{
	char host[65] = "";
	char *name;

	if (role->session)
		return text_copy(role->session);
	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	name = text_format("reprieve-%.50s", host);
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("=,.@-", *at))
			*at = '-';
	return name;
}

static void begin_form(struct bytes *form, const char *action, const struct aws_role *role)
{
	auto_free char *session = session_name(role);

	uri_add(form, "Action", action);
	uri_add(form, "Version", "2011-06-15");
	uri_add(form, "RoleArn", role->arn);
	uri_add(form, "RoleSessionName", session);
	if (role->duration)
		uri_add(form, "DurationSeconds", role->duration);
}

int aws_sts_assume(const struct aws_settings *settings, const struct aws_role *role,
		   const struct aws_credentials *by, struct aws_credentials *credentials,
		   struct cancel *cancel, struct err *err)
{
	auto_(form_release) struct bytes form = {0};

	begin_form(&form, "AssumeRole", role);
	if (role->external_id)
		uri_add(&form, "ExternalId", role->external_id);
	if (call_sts(settings, &form, by, credentials, cancel, err) < 0)
		return err_wrap(err, "role %s", role->arn);
	return 0;
}

static int read_token_file(const char *path, struct bytes *token, struct err *err)
{
	token->limit = TOKEN_MOST;
	if (file_read(path, token, err) < 0 || bytes_append(token, "", 1, err) < 0)
		return err_wrap(err, "web identity token");
	token->size = strlen((const char *)token->data);
	while (token->size && isspace(token->data[token->size - 1]))
		token->data[--token->size] = '\0';
	if (token->size)
		return 0;
	/* It is being replaced, perhaps. */
	return err_set(err, ERR_RETRY, "web identity token: %s is empty", path);
}

int aws_sts_web_identity(const struct aws_settings *settings, const struct aws_role *role,
			 struct aws_credentials *credentials, struct cancel *cancel,
			 struct err *err)
{
	auto_(form_release) struct bytes token = {0}, form = {0};

	if (read_token_file(role->token_file, &token, err) < 0)
		return -1;
	begin_form(&form, "AssumeRoleWithWebIdentity", role);
	uri_add(&form, "WebIdentityToken", (const char *)token.data);
	if (call_sts(settings, &form, NULL, credentials, cancel, err) < 0)
		return err_wrap(err, "role %s", role->arn);
	return 0;
}

/* --- as a source of its own: what EKS puts into the environment --- */

static bool web_identity_is_set_up(const struct aws_settings *settings)
{
	(void)settings;
	return text_from_environment("AWS_WEB_IDENTITY_TOKEN_FILE") &&
	       text_from_environment("AWS_ROLE_ARN");
}

static int web_identity_fetch(const struct aws_settings *settings,
			      struct aws_credentials *credentials, char *source_text,
			      size_t source_text_size, struct cancel *cancel, struct err *err)
{
	const struct aws_role role = {
		.arn = text_from_environment("AWS_ROLE_ARN"),
		.session = text_from_environment("AWS_ROLE_SESSION_NAME"),
		.token_file = text_from_environment("AWS_WEB_IDENTITY_TOKEN_FILE"),
	};
	auto_free char *words = text_format("web identity (role %s)", role.arn);

	text_set(source_text, source_text_size, words);
	return aws_sts_web_identity(settings, &role, credentials, cancel, err);
}

const struct aws_source aws_source_web_identity = {
	.name = "web identity",
	.is_set_up = web_identity_is_set_up,
	.fetch = web_identity_fetch,
};
