#include "azure_container.h"

#include "azure_blob_reply.h"
#include "azure_shared_key.h"
#include "base/cleanup.h"
#include "base/clock.h"
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
	const struct store_call *call;
	/* Encoded. */
	char *path;
	/* Of the last try. */
	char *token;
	bool refused;
	int64_t sent_ms;
};

static void call_attempt_release(struct call_attempt *attempt)
{
	free(attempt->path);
	if (attempt->token)
		explicit_bzero(attempt->token, strlen(attempt->token));
	free(attempt->token);
}
AUTO(struct call_attempt, call_attempt_release);

/* --- one try --- */

static int renew_token(struct call_attempt *attempt, struct cancel *cancel, struct err *err)
{
	struct azure_credentials *credentials = attempt->container->credentials;

	if (attempt->refused &&
	    azure_credentials_invalidate(credentials, attempt->token, cancel, err) < 0)
		return -1;
	attempt->refused = false;
	free(steal(&attempt->token));
	return azure_credentials_get(credentials, &attempt->token, cancel, err);
}

static void sign_request(struct call_attempt *attempt, const char *const *headers,
			 struct call_request *request)
{
	const struct azure_shared_key_request signable = {
		.method = store_call_method(attempt->call),
		.account = attempt->container->account.name,
		.path = attempt->path,
		.query = attempt->call->query,
		.headers = headers,
		.content_length = attempt->call->body_size,
	};
	auto_free char *authorization =
		azure_shared_key_sign(&signable, &attempt->container->account.key);

	call_request_add_header(request, "Authorization: %s", authorization);
}

static void set_request_url(struct call_attempt *attempt, struct call_request *request)
{
	const struct azure_account *account = &attempt->container->account;
	int origin = (int)(attempt->container->path - account->endpoint);
	const char *sas = account->sas ? account->sas : "";
	auto_free char *url =
		text_format("%.*s%s%s%s%s%s", origin, account->endpoint, attempt->path,
			    attempt->call->query[0] || sas[0] ? "?" : "", attempt->call->query,
			    attempt->call->query[0] && sas[0] ? "&" : "", sas);

	call_request_set_url(request, url);
}

static int prepare_request(void *arg, const struct call_try *try, struct call_request *request,
			   struct cancel *cancel, struct err *err)
{
	struct call_attempt *attempt = arg;
	auto_free char *range =
		attempt->call->range ? text_format("x-ms-range: %s", attempt->call->range) : NULL;
	char date[DATETIME_SIZE], date_header[DATETIME_SIZE + 16];
	const char *headers[HEADERS_MOST] = {date_header, "x-ms-version: " API_VERSION};
	size_t count = 2;

	if (attempt->container->credentials && renew_token(attempt, cancel, err) < 0)
		return -1;
	attempt->sent_ms = try->now_ms;
	snprintf(date_header, sizeof(date_header), "x-ms-date: %s",
		 datetime_rfc1123(try->now_ms, date));
	if (attempt->call->asked & ASKED_PUT)
		headers[count++] = "x-ms-blob-type: BlockBlob";
	if (attempt->call->asked == ASKED_PUT_IF_ABSENT)
		headers[count++] = "If-None-Match: *";
	if (range)
		headers[count++] = range;
	for (size_t i = 0; headers[i]; i++)
		call_request_add_header(request, "%s", headers[i]);
	set_request_url(attempt, request);
	if (attempt->token)
		call_request_add_header(request, "Authorization: Bearer %s", attempt->token);
	else if (attempt->container->account.key.size)
		sign_request(attempt, headers, request);
	return 0;
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	struct call_attempt *attempt = arg;
	unsigned facts = attempt->call->asked | (attempt->token ? SENT_TOKEN : 0) |
			 (http_header(response, "x-ms-request-id") ? 0 : CAME_UNMARKED);
	const char *code = http_header(response, "x-ms-error-code");
	struct store_reply reply;
	enum call_verdict verdict;

	store_reply_read(&reply, response, facts, attempt->sent_ms);
	/* The header is there also where the body is not. */
	if (code)
		text_set(reply.code, sizeof(reply.code), code);
	verdict = store_reply_judge(&azure_blob_replies, &reply, err);
	attempt->refused = verdict == CALL_REFRESH;
	return verdict;
}

int azure_container_perform(struct azure_container *container, const struct store_call *call,
			    struct http_response *response, struct cancel *cancel, struct err *err)
{
	auto_free char *key = call->key ? text_format("%s%s", container->account.prefix, call->key)
					: text_copy("");
	auto_free char *encoded = uri_encode(key, true);
	auto_(call_attempt_release) struct call_attempt attempt = {
		.container = container,
		.call = call,
		.path = text_format("%s/%s%s%s", container->path, container->account.container,
				    call->key ? "/" : "", encoded),
	};
	const struct retried_call retried =
		store_call_retried(call, &attempt, prepare_request, judge_response);

	if (retrying_client_perform(container->client, &retried, response, cancel, err) == 0)
		return 0;
	return err_wrap(err, "%s %s", container->account.name,
			attempt.path + strlen(container->path) + 1);
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
	container->client = retrying_client_new(NULL);
	return 0;
}

void azure_container_release(struct azure_container *container)
{
	retrying_client_free(container->client);
	azure_credentials_free(container->credentials);
	azure_account_release(&container->account);
}
