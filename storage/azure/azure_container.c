#include "azure_container.h"

#include "azure_reply_error.h"
#include "azure_shared_key.h"
#include "base/cleanup.h"
#include "base/datetime.h"
#include "storage/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION "2021-12-02"

enum {
	HEADERS_MOST = 8
};

/* A call with what its tries have to remember. */
struct call_attempt {
	struct azure_container *container;
	const struct azure_call *call;
	char *path;        /* encoded */
	const char *query; /* "" for none */
	char *token;       /* of the last try */
	bool refused;
	int64_t sent_ms;
};

static void call_attempt_release(struct call_attempt *call_attempt)
{
	free(call_attempt->path);
	if (call_attempt->token)
		explicit_bzero(call_attempt->token, strlen(call_attempt->token));
	free(call_attempt->token);
}
AUTO(struct call_attempt, call_attempt_release);

/* --- one try --- */

static int renew_token(struct call_attempt *call_attempt, struct cancel *cancel, struct err *err)
{
	struct azure_credentials *credentials = call_attempt->container->credentials;

	if (call_attempt->refused &&
	    azure_credentials_invalidate(credentials, call_attempt->token, cancel, err) < 0)
		return -1;
	call_attempt->refused = false;
	free(steal(&call_attempt->token));
	return azure_credentials_get(credentials, &call_attempt->token, cancel, err);
}

static void sign_request(struct call_attempt *call_attempt, const char *const *headers,
			 struct call_request *request)
{
	const struct azure_shared_key_request signable = {
		.method = call_attempt->call->method,
		.account = call_attempt->container->account.name,
		.path = call_attempt->path,
		.query = call_attempt->query,
		.headers = headers,
		.content_length = call_attempt->call->body_size,
	};
	auto_free char *authorization =
		azure_shared_key_sign(&signable, &call_attempt->container->account.key);

	call_request_add_header(request, "Authorization: %s", authorization);
}

static void set_request_url(struct call_attempt *call_attempt, struct call_request *request)
{
	const struct azure_account *account = &call_attempt->container->account;
	int origin = (int)(call_attempt->container->path - account->endpoint);
	const char *sas = account->sas ? account->sas : "";
	auto_free char *url =
		text_format("%.*s%s%s%s%s%s", origin, account->endpoint, call_attempt->path,
			    call_attempt->query[0] || sas[0] ? "?" : "", call_attempt->query,
			    call_attempt->query[0] && sas[0] ? "&" : "", sas);

	call_request_set_url(request, url);
}

static int prepare_request(void *arg, const struct call_try *attempt, struct call_request *request,
			   struct cancel *cancel, struct err *err)
{
	struct call_attempt *call_attempt = arg;
	char date[DATETIME_SIZE], date_header[DATETIME_SIZE + 16];
	const char *headers[HEADERS_MOST] = {date_header, "x-ms-version: " API_VERSION};
	size_t count = 2;

	if (call_attempt->container->credentials && renew_token(call_attempt, cancel, err) < 0)
		return -1;
	call_attempt->sent_ms = attempt->now_ms;
	snprintf(date_header, sizeof(date_header), "x-ms-date: %s",
		 datetime_rfc1123(attempt->now_ms, date));
	for (size_t i = 0; call_attempt->call->headers[i]; i++)
		headers[count++] = call_attempt->call->headers[i];
	for (size_t i = 0; headers[i]; i++)
		call_request_add_header(request, "%s", headers[i]);
	set_request_url(call_attempt, request);
	if (call_attempt->token)
		call_request_add_header(request, "Authorization: Bearer %s", call_attempt->token);
	else if (call_attempt->container->account.key.size)
		sign_request(call_attempt, headers, request);
	return 0;
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	struct call_attempt *call_attempt = arg;
	struct error_body error;
	const char *date = http_header(response, "Date");
	struct azure_reply reply = {
		.status = response->status,
		.code = error.code,
		.message = error.message,
		.if_absent = call_attempt->call->if_absent,
		.bearer = call_attempt->token != NULL,
		.is_put = strcmp(call_attempt->call->method, "PUT") == 0,
		.is_identified = http_header(response, "x-ms-request-id") != NULL,
	};
	enum call_verdict verdict;
	int64_t server_ms;

	if (response->status == 416 && call_attempt->call->past_end_is_empty)
		return CALL_DONE;
	error_body_read(response->body.data, response->body.size, &error);
	/* The header is there also where the body is not. */
	if (http_header(response, "x-ms-error-code"))
		text_set(error.code, sizeof(error.code), http_header(response, "x-ms-error-code"));
	if (date && datetime_parse(date, &server_ms))
		reply.skew_ms = server_ms - call_attempt->sent_ms;
	verdict = azure_reply_judge(&reply, err);
	call_attempt->refused = verdict == CALL_REFRESH;
	/* What makes no sense is asked for again. */
	if (verdict == CALL_DONE && call_attempt->call->read &&
	    call_attempt->call->read(call_attempt->call->arg, response, err) < 0) {
		if (err)
			err->kind = ERR_RETRY;
		return CALL_RETRY;
	}
	return verdict;
}

int azure_container_perform(struct azure_container *container, const struct azure_call *call,
			    struct http_response *response, struct cancel *cancel, struct err *err)
{
	auto_free char *key = call->key ? text_format("%s%s", container->account.prefix, call->key)
					: text_copy("");
	auto_free char *encoded = uri_encode(key, true);
	auto_(call_attempt_release) struct call_attempt call_attempt = {
		.container = container,
		.call = call,
		.path = text_format("%s/%s%s%s", container->path, container->account.container,
				    call->key ? "/" : "", encoded),
		.query = call->query ? call->query : "",
	};
	const struct retried_call remote = {
		.method = call->method,
		.body = call->body,
		.body_size = call->body_size,
		.arg = &call_attempt,
		.prepare = prepare_request,
		.judge = judge_response,
	};

	if (retrying_client_perform(container->remote, &remote, response, cancel, err) == 0)
		return 0;
	return err_wrap(err, "%s %s", container->account.name,
			call_attempt.path + strlen(container->path) + 1);
}

/* --- the whole of it --- */

static int init_account(struct azure_container *container, const char *url, struct err *err)
{
	const struct azure_environment environment = {
		.connection = getenv("AZURE_STORAGE_CONNECTION_STRING"),
		.account = getenv("AZURE_STORAGE_ACCOUNT"),
		.key = getenv("AZURE_STORAGE_KEY"),
		.sas = getenv("AZURE_STORAGE_SAS_TOKEN"),
		.endpoint = getenv("AZURE_STORAGE_BLOB_ENDPOINT"),
	};
	struct azure_account *account = &container->account;

	if (azure_account_read(url, &environment, account, err) < 0)
		return -1;
	container->path = strstr(account->endpoint, "://") + 3;
	container->path += strcspn(container->path, "/");
	if (account->source)
		return 0;
	if (!uri_is_confidential(account->endpoint))
		return err_set(err, ERR_INVALID,
			       "store %s: no token is sent over plain http; let the endpoint be "
			       "https",
			       url);
	return azure_credentials_new(&container->credentials, err);
}

int azure_container_init(struct azure_container *container, const char *url, struct err *err)
{
	*container = (struct azure_container){0};
	if (init_account(container, url, err) < 0) {
		azure_container_release(container);
		return -1;
	}
	container->remote = retrying_client_new(NULL);
	return 0;
}

void azure_container_release(struct azure_container *container)
{
	retrying_client_free(container->remote);
	azure_credentials_free(container->credentials);
	azure_account_release(&container->account);
}
