#include "azure_container.h"

#include "azure_shared_key.h"
#include "base/cleanup.h"
#include "azure_reply_error.h"
#include "storage/http/http.h"
#include "base/datetime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION "2021-12-02"

enum {
	HEADERS_MOST = 8
};

/* A call with what its tries have to remember. */
struct trying {
	struct azure_container *container;
	const struct azure_call *call;
	char *path;        /* encoded */
	const char *query; /* "" for none */
	char *token;       /* of the last try */
	bool refused;
	int64_t sent_ms;
};

static void trying_release(struct trying *trying)
{
	free(trying->path);
	if (trying->token)
		explicit_bzero(trying->token, strlen(trying->token));
	free(trying->token);
}
AUTO(struct trying, trying_release);

/* --- one try --- */

static int renew_token(struct trying *trying, struct cancel *cancel, struct err *err)
{
	struct azure_credentials *credentials = trying->container->credentials;

	if (trying->refused &&
		azure_credentials_refused(credentials, trying->token, cancel, err) < 0)
		return -1;
	trying->refused = false;
	free(take(&trying->token));
	return azure_credentials_get(credentials, &trying->token, cancel, err);
}

static void sign(struct trying *trying, const char *const *headers, struct remote_request *request)
{
	const struct azure_sign_request signable = {
		.method = trying->call->method,
		.account = trying->container->account.name,
		.path = trying->path,
		.query = trying->query,
		.headers = headers,
		.content_length = trying->call->body_size,
	};
	auto_free char *authorization = azure_sign(&signable, &trying->container->account.key);

	remote_add_header(request, "Authorization: %s", authorization);
}

static void set_url(struct trying *trying, struct remote_request *request)
{
	const struct azure_account *account = &trying->container->account;
	int origin = (int)(trying->container->path - account->endpoint);
	const char *sas = account->sas ? account->sas : "";
	auto_free char *url = text_format("%.*s%s%s%s%s%s", origin, account->endpoint, trying->path,
		trying->query[0] || sas[0] ? "?" : "", trying->query,
		trying->query[0] && sas[0] ? "&" : "", sas);

	remote_set_url(request, url);
}

static int prepare(void *arg, const struct remote_try *attempt, struct remote_request *request,
	struct cancel *cancel, struct err *err)
{
	struct trying *trying = arg;
	char date[DATETIME_SIZE], date_header[DATETIME_SIZE + 16];
	const char *headers[HEADERS_MOST] = {date_header, "x-ms-version: " API_VERSION};
	size_t count = 2;

	if (trying->container->credentials && renew_token(trying, cancel, err) < 0)
		return -1;
	trying->sent_ms = attempt->now_ms;
	snprintf(date_header, sizeof(date_header), "x-ms-date: %s",
		datetime_rfc1123(attempt->now_ms, date));
	for (size_t i = 0; trying->call->headers[i]; i++)
		headers[count++] = trying->call->headers[i];
	for (size_t i = 0; headers[i]; i++)
		remote_add_header(request, "%s", headers[i]);
	set_url(trying, request);
	if (trying->token)
		remote_add_header(request, "Authorization: Bearer %s", trying->token);
	else if (trying->container->account.key.size)
		sign(trying, headers, request);
	return 0;
}

static enum remote_verdict judge(void *arg, const struct http_response *response, struct err *err)
{
	struct trying *trying = arg;
	struct error_body error;
	const char *date = http_header(response, "Date");
	struct blob_reply reply = {
		.status = response->status,
		.code = error.code,
		.message = error.message,
		.if_absent = trying->call->if_absent,
		.bearer = trying->token != NULL,
		.is_put = strcmp(trying->call->method, "PUT") == 0,
		.is_identified = http_header(response, "x-ms-request-id") != NULL,
	};
	enum remote_verdict verdict;
	int64_t server_ms;

	if (response->status == 416 && trying->call->past_end_is_empty)
		return REMOTE_DONE;
	error_body_read(response->body.data, response->body.size, &error);
	/* The header is there also where the body is not. */
	if (http_header(response, "x-ms-error-code"))
		text_set(error.code, sizeof(error.code), http_header(response, "x-ms-error-code"));
	if (date && datetime_parse(date, &server_ms))
		reply.skew_ms = server_ms - trying->sent_ms;
	verdict = blob_reply_judge(&reply, err);
	trying->refused = verdict == REMOTE_REFRESH;
	/* What makes no sense is asked for again. */
	if (verdict == REMOTE_DONE && trying->call->read &&
		trying->call->read(trying->call->arg, response, err) < 0) {
		if (err)
			err->kind = ERR_RETRY;
		return REMOTE_RETRY;
	}
	return verdict;
}

int azure_container_perform(struct azure_container *container, const struct azure_call *call,
	struct http_response *response, struct cancel *cancel, struct err *err)
{
	auto_free char *key = call->key ? text_format("%s%s", container->account.prefix, call->key)
					: text_copy("");
	auto_free char *encoded = uri_encode(key, true);
	auto_(trying_release) struct trying trying = {
		.container = container,
		.call = call,
		.path = text_format("%s/%s%s%s", container->path, container->account.container,
			call->key ? "/" : "", encoded),
		.query = call->query ? call->query : "",
	};
	const struct remote_call remote = {
		.method = call->method,
		.body = call->body,
		.body_size = call->body_size,
		.arg = &trying,
		.prepare = prepare,
		.judge = judge,
	};

	if (remote_perform(container->remote, &remote, response, cancel, err) == 0)
		return 0;
	return err_wrap(
		err, "%s %s", container->account.name, trying.path + strlen(container->path) + 1);
}

/* --- the whole of it --- */

static int set_up(struct azure_container *container, const char *url, struct err *err)
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
	if (!uri_keeps_secrets(account->endpoint))
		return err_set(err, ERR_INVALID,
			"store %s: no token is sent over plain http; let the endpoint be https",
			url);
	return azure_credentials_new(&container->credentials, err);
}

int azure_container_init(struct azure_container *container, const char *url, struct err *err)
{
	*container = (struct azure_container){0};
	if (set_up(container, url, err) < 0) {
		azure_container_release(container);
		return -1;
	}
	container->remote = remote_new(NULL);
	return 0;
}

void azure_container_release(struct azure_container *container)
{
	remote_free(container->remote);
	azure_credentials_free(container->credentials);
	azure_account_release(&container->account);
}
