/*
 * az://ACCOUNT/CONTAINER[/PREFIX]: block blobs, each put by one request; "if absent" is If-None-Match: *. The container is there
 * already: to make one is for whoever owns the account.
 */
#include "store.h"

#include "azure_account.h"
#include "azure_credentials.h"
#include "azure_sign.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "blob_listing.h"
#include "blob_reply.h"
#include "error_body.h"
#include "ranged.h"
#include "remote.h"
#include "timestamp.h"
#include "uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION "2021-12-02"

enum {
	HEADERS_MOST = 8,
	PAGE_LIMIT = 64 << 20,
	SMALL_LIMIT = 1 << 20,
};

struct store_azure {
	struct store store;
	struct azure_account account;
	const char *path; /* of the endpoint, within it: "", or "/devstoreaccount1" */
	struct azure_credentials *credentials; /* NULL with a key or a shared access signature */
	struct remote *remote;
};

/* One call, over all its tries. */
struct call {
	struct store_azure *store;
	const char *method;
	char *path;             /* encoded */
	char *query;            /* encoded, without the shared access signature */
	const char *headers[3]; /* besides those that all have; ended by NULL */
	size_t body_size;
	bool if_absent;
	bool past_end_is_empty;
	char *token; /* of the last try */
	bool refused;
	int64_t sent_ms;
};

static void call_release(struct call *call)
{
	free(call->path);
	free(call->query);
	if (call->token)
		explicit_bzero(call->token, strlen(call->token));
	free(call->token);
}
AUTO(struct call, call_release);

static struct store_azure *azure_of(struct store *store)
{
	return (struct store_azure *)store;
}

/* --- one try --- */

static int renew_token(struct call *call, struct cancel *cancel, struct err *err)
{
	struct azure_credentials *credentials = call->store->credentials;

	if (call->refused && azure_credentials_refused(credentials, call->token, cancel, err) < 0)
		return -1;
	call->refused = false;
	free(take(&call->token));
	return azure_credentials_get(credentials, &call->token, cancel, err);
}

static void sign(struct call *call, const char *const *headers, struct remote_request *request)
{
	const struct azure_sign_request signable = {
		.method = call->method,
		.account = call->store->account.name,
		.path = call->path,
		.query = call->query,
		.headers = headers,
		.content_length = call->body_size,
	};
	auto_free char *authorization = azure_sign(&signable, &call->store->account.key);

	remote_add_header(request, "Authorization: %s", authorization);
}

static void set_url(struct call *call, struct remote_request *request)
{
	const struct azure_account *account = &call->store->account;
	int origin = (int)(call->store->path - account->endpoint);
	const char *sas = account->sas ? account->sas : "";
	auto_free char *url = text_format("%.*s%s%s%s%s%s", origin, account->endpoint, call->path,
		call->query[0] || sas[0] ? "?" : "", call->query,
		call->query[0] && sas[0] ? "&" : "", sas);

	remote_set_url(request, url);
}

static int prepare(void *arg, const struct remote_try *attempt, struct remote_request *request,
	struct cancel *cancel, struct err *err)
{
	struct call *call = arg;
	char date[TIMESTAMP_SIZE], date_header[TIMESTAMP_SIZE + 16];
	const char *headers[HEADERS_MOST] = {date_header, "x-ms-version: " API_VERSION};
	size_t count = 2;

	if (call->store->credentials && renew_token(call, cancel, err) < 0)
		return -1;
	call->sent_ms = attempt->now_ms;
	snprintf(date_header, sizeof(date_header), "x-ms-date: %s",
		timestamp_http(attempt->now_ms, date));
	for (size_t i = 0; call->headers[i]; i++)
		headers[count++] = call->headers[i];
	for (size_t i = 0; headers[i]; i++)
		remote_add_header(request, "%s", headers[i]);
	set_url(call, request);
	if (call->token)
		remote_add_header(request, "Authorization: Bearer %s", call->token);
	else if (call->store->account.key.size)
		sign(call, headers, request);
	return 0;
}

static enum remote_verdict judge(void *arg, const struct http_response *response, struct err *err)
{
	struct call *call = arg;
	struct error_body error;
	const char *date = http_header(response, "Date");
	struct blob_reply reply = {
		.status = response->status,
		.code = error.code,
		.message = error.message,
		.if_absent = call->if_absent,
		.bearer = call->token != NULL,
	};
	enum remote_verdict verdict;
	int64_t server_ms;

	if (response->status >= 200 && response->status < 300)
		return REMOTE_DONE;
	if (response->status == 416 && call->past_end_is_empty)
		return REMOTE_DONE;
	error_body_read(response->body.data, response->body.size, &error);
	/* The header is there also where the body is not. */
	if (http_header(response, "x-ms-error-code"))
		text_set(error.code, sizeof(error.code), http_header(response, "x-ms-error-code"));
	if (date && timestamp_parse_http(date, &server_ms))
		reply.skew_ms = server_ms - call->sent_ms;
	verdict = blob_reply_judge(&reply, err);
	call->refused = verdict == REMOTE_REFRESH;
	return verdict;
}

/* --- calls --- */

static int perform(struct call *call, const void *body, struct http_response *response,
	struct cancel *cancel, struct err *err)
{
	const struct remote_call remote_call = {
		.method = call->method,
		.body = body,
		.body_size = call->body_size,
		.arg = call,
		.prepare = prepare,
		.judge = judge,
	};

	return remote_perform(call->store->remote, &remote_call, response, cancel, err);
}

static struct call call_new(struct store *store, const char *method, const char *key)
{
	struct store_azure *azure = azure_of(store);
	auto_free char *whole =
		key ? text_format("%s%s", azure->account.prefix, key) : text_copy("");
	auto_free char *encoded = uri_encode(whole, true);

	return (struct call){
		.store = azure,
		.method = method,
		.path = text_format("%s/%s%s%s", azure->path, azure->account.container,
			key ? "/" : "", encoded),
		.query = text_copy(""),
	};
}

static int wrap(const struct call *call, struct err *err)
{
	return err_wrap(err, "%s %s", call->store->account.name,
		call->path + strlen(call->store->path) + 1);
}

static int azure_put(struct store *store, const char *key, const void *data, size_t size,
	enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	auto_(call_release) struct call call = call_new(store, "PUT", key);
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};

	call.body_size = size;
	call.if_absent = mode == STORE_IF_ABSENT;
	call.headers[0] = "x-ms-blob-type: BlockBlob";
	if (call.if_absent)
		call.headers[1] = "If-None-Match: *";
	if (perform(&call, data, &response, cancel, err) < 0)
		return wrap(&call, err);
	return 0;
}

static int azure_get(struct store *store, const char *key, uint64_t offset, size_t size,
	struct bytes *out, struct cancel *cancel, struct err *err)
{
	auto_(call_release) struct call call = call_new(store, "GET", key);
	auto_(http_response_release) struct http_response response = {.body.limit = out->limit};
	auto_free char *range = NULL, *header = NULL;

	if (size == 0)
		return cancel_check(cancel, err);
	range = ranged_text(offset, size);
	if (range)
		call.headers[0] = header = text_format("x-ms-range: %s", range);
	call.past_end_is_empty = size == STORE_TO_END;
	if (size != STORE_TO_END && bytes_reserve(&response.body, size, err) < 0)
		return wrap(&call, err);
	if (perform(&call, NULL, &response, cancel, err) < 0)
		return wrap(&call, err);
	if (response.status == 416)
		return 0;
	if (ranged_take(&response, offset, size, out, err) < 0)
		return wrap(&call, err);
	return 0;
}

static int azure_remove(
	struct store *store, const char *key, struct cancel *cancel, struct err *err)
{
	auto_(call_release) struct call call = call_new(store, "DELETE", key);
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	struct err why = {0};

	if (perform(&call, NULL, &response, cancel, &why) == 0 || why.kind == ERR_NOT_FOUND)
		return 0;
	err_set(err, why.kind, "%s", why.text);
	return wrap(&call, err);
}

/* --- listing --- */

static char *list_query(const struct store_azure *azure, const char *prefix, enum store_depth depth,
	const char *marker)
{
	struct bytes query = {0};
	auto_free char *whole = text_format("%s%s", azure->account.prefix, prefix);

	uri_add(&query, "restype", "container");
	uri_add(&query, "comp", "list");
	uri_add(&query, "prefix", whole);
	if (depth == STORE_LEVEL)
		uri_add(&query, "delimiter", "/");
	if (marker)
		uri_add(&query, "marker", marker);
	uri_text(&query);
	return (char *)query.data;
}

/* One page; `marker` becomes that of the next, NULL after the last. */
static int list_page(struct store_azure *azure, const char *prefix, enum store_depth depth,
	char **marker, struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	auto_(call_release) struct call call = call_new(&azure->store, "GET", NULL);
	auto_(http_response_release) struct http_response response = {.body.limit = PAGE_LIMIT};
	auto_free char *next = NULL;

	free(call.query);
	call.query = list_query(azure, prefix, depth, *marker);
	if (perform(&call, NULL, &response, cancel, err) < 0 ||
		blob_listing_read(response.body.data, response.body.size, azure->account.prefix,
			listing, &next, err) < 0)
		return wrap(&call, err);
	if (next && text_equal(next, *marker)) {
		err_set(err, ERR_FAILED, "the listing does not end: the same marker again");
		return wrap(&call, err);
	}
	free(*marker);
	*marker = take(&next);
	return 0;
}

static int azure_list(struct store *store, const char *prefix, enum store_depth depth,
	struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	auto_free char *marker = NULL;

	do {
		if (list_page(azure_of(store), prefix, depth, &marker, listing, cancel, err) < 0) {
			store_listing_release(listing);
			return -1;
		}
	} while (marker);
	store_listing_sort(listing);
	return 0;
}

/* --- opening --- */

static void azure_close(struct store *store)
{
	struct store_azure *azure = azure_of(store);

	remote_free(azure->remote);
	azure_credentials_free(azure->credentials);
	azure_account_release(&azure->account);
	free(azure);
}

static int set_up(struct store_azure *azure, const char *url, struct err *err)
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
	if (!uri_keeps_secrets(account->endpoint))
		return err_set(err, ERR_INVALID,
			"store %s: no token is sent over plain http; let the endpoint be https",
			url);
	return azure_credentials_new(&azure->credentials, err);
}

static int azure_open(const char *url, bool create, bool read_only, struct store **store,
	struct cancel *cancel, struct err *err)
{
	struct store_azure *azure = memory_new(sizeof(*azure));

	(void)create, (void)read_only;
	azure->store.ops = &store_azure_ops;
	if (set_up(azure, url, err) < 0 || cancel_check(cancel, err) < 0) {
		azure_close(&azure->store);
		return -1;
	}
	azure->remote = remote_new(NULL);
	*store = &azure->store;
	return 0;
}

static void azure_describe(struct store *store, char *text, size_t capacity)
{
	const struct store_azure *azure = azure_of(store);

	snprintf(text, capacity, "%s, credentials: %s", azure->account.endpoint,
		azure->credentials ? azure_credentials_source(azure->credentials)
				   : azure->account.source);
}

const struct store_ops store_azure_ops = {
	.scheme = "az",
	.open = azure_open,
	.close = azure_close,
	.put = azure_put,
	.get = azure_get,
	.list = azure_list,
	.remove = azure_remove,
	.describe = azure_describe,
};
