/*
 * gs://BUCKET[/PREFIX] by the XML API, which is S3's shape with a bearer token: one PUT for an
 * object; "if absent" is x-goog-if-generation-match: 0. The bucket is there already: to make one is
 * for whoever pays for it.
 */
#include "gcs_store.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "gcs_address.h"
#include "gcs_reply.h"
#include "google_credentials.h"
#include "storage/backend/backend.h"
#include "storage/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE_LIMIT = 64 << 20,
	SMALL_LIMIT = 1 << 20,
};

struct gcs_store {
	struct store store;
	struct gcs_address address;
	struct google_credentials *credentials; /* NULL: anonymous */
	char *project;                          /* which is billed; NULL: the bucket's */
	struct retrying_client *remote;
};

struct page {
	struct store_listing *listing;
	char **next;
};

/* One call, over all its tries. */
struct gcs_call {
	struct gcs_store *store;
	const char *method;
	char *key;   /* with the prefix; NULL for the bucket */
	char *query; /* encoded; NULL for none */
	char *headers[3];
	size_t header_count;
	size_t body_size;
	bool if_absent;
	bool past_end_is_empty;
	struct page *page;   /* which is read from a good answer; NULL: nothing to read */
	char *authorization; /* of the last try */
	bool refused;
	int64_t sent_ms;
};

static void gcs_call_release(struct gcs_call *call)
{
	free(call->key);
	free(call->query);
	for (size_t i = 0; i < call->header_count; i++)
		free(call->headers[i]);
	if (call->authorization)
		explicit_bzero(call->authorization, strlen(call->authorization));
	free(call->authorization);
}
AUTO(struct gcs_call, gcs_call_release);
AUTO(struct page_cycle, page_cycle_release);

static struct gcs_store *gcs_of(struct store *store)
{
	return (struct gcs_store *)store;
}

static void add_header(struct gcs_call *call, char *header)
{
	call->headers[call->header_count++] = header;
}

/* --- one try --- */

static int authorize_call(struct gcs_call *call, int64_t skew_ms, struct cancel *cancel,
			  struct err *err)
{
	struct google_credentials *credentials = call->store->credentials;

	google_credentials_set_skew(credentials, skew_ms);
	if (call->refused &&
	    google_credentials_invalidate(credentials, call->authorization, cancel, err) < 0)
		return -1;
	call->refused = false;
	free(steal(&call->authorization));
	return google_credentials_get(credentials, &call->authorization, cancel, err);
}

static int prepare_call(void *arg, const struct call_try *attempt, struct call_request *request,
			struct cancel *cancel, struct err *err)
{
	struct gcs_call *call = arg;
	const struct gcs_address *address = &call->store->address;
	auto_free char *key = uri_encode(call->key ? call->key : "", true);
	auto_free char *url = text_format("%s/%s%s%s%s%s", address->endpoint, address->bucket,
					  call->key ? "/" : "", key, call->query ? "?" : "",
					  call->query ? call->query : "");

	if (call->store->credentials) {
		if (authorize_call(call, attempt->now_ms - clock_wall_ms(), cancel, err) < 0)
			return -1;
		call_request_add_header(request, "Authorization: %s", call->authorization);
	}
	call->sent_ms = attempt->now_ms;
	call_request_set_url(request, url);
	for (size_t i = 0; i < call->header_count; i++)
		call_request_add_header(request, "%s", call->headers[i]);
	if (call->store->project)
		call_request_add_header(request, "x-goog-user-project: %s", call->store->project);
	return 0;
}

static int read_page(const struct gcs_call *call, const struct http_response *response,
		     struct err *err)
{
	return bucket_listing_read(response->body.data, response->body.size,
				   call->store->address.prefix, call->page->listing,
				   call->page->next, err);
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	struct gcs_call *call = arg;
	const char *date = http_header(response, "Date");
	struct error_body error;
	struct gcs_reply reply = {
		.status = response->status,
		.code = error.code,
		.message = error.message,
		.if_absent = call->if_absent,
		.anonymous = !call->store->credentials,
		.is_get = call->key && strcmp(call->method, "GET") == 0,
		.is_put = strcmp(call->method, "PUT") == 0,
		.is_tagged =
			http_header(response, "x-goog-generation") || http_header(response, "ETag"),
		.is_empty = response->body.size == 0,
	};
	enum call_verdict verdict;
	int64_t server_ms;

	if (response->status == 416 && call->past_end_is_empty)
		return CALL_DONE;
	error_body_read(response->body.data, response->body.size, &error);
	if (date && datetime_parse(date, &server_ms))
		reply.skew_ms = server_ms - call->sent_ms;
	verdict = gcs_reply_judge(&reply, err);
	call->refused = verdict == CALL_REFRESH || verdict == CALL_SKEWED;
	/* What makes no sense is asked for again. */
	if (verdict == CALL_DONE && call->page && read_page(call, response, err) < 0) {
		if (err)
			err->kind = ERR_RETRY;
		return CALL_RETRY;
	}
	return verdict;
}

/* --- calls --- */

static int perform_call(struct gcs_call *call, const void *body, struct http_response *response,
			struct cancel *cancel, struct err *err)
{
	const struct retried_call retried_call = {
		.method = call->method,
		.body = body,
		.body_size = call->body_size,
		.arg = call,
		.prepare = prepare_call,
		.judge = judge_response,
	};

	return retrying_client_perform(call->store->remote, &retried_call, response, cancel, err);
}

static struct gcs_call gcs_call_new(struct store *store, const char *method, const char *key)
{
	struct gcs_store *gcs = gcs_of(store);

	return (struct gcs_call){
		.store = gcs,
		.method = method,
		.key = key ? text_format("%s%s", gcs->address.prefix, key) : NULL,
	};
}

static int wrap_error(const struct gcs_call *call, struct err *err)
{
	return err_wrap(err, "gs://%s%s%s", call->store->address.bucket, call->key ? "/" : "",
			call->key ? call->key : "");
}

static int gcs_put(struct store *store, const char *key, const void *data, size_t size,
		   enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	auto_(gcs_call_release) struct gcs_call call = gcs_call_new(store, "PUT", key);
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	char crc[CRC32C_TEXT];

	call.body_size = size;
	call.if_absent = mode == STORE_IF_ABSENT;
	add_header(&call,
		   text_format("x-goog-hash: crc32c=%s", crc32c_text(crc32c(data, size), crc)));
	add_header(&call, text_copy("Content-Type: application/octet-stream"));
	if (call.if_absent)
		add_header(&call, text_copy("x-goog-if-generation-match: 0"));
	if (perform_call(&call, data, &response, cancel, err) < 0)
		return wrap_error(&call, err);
	return 0;
}

static int gcs_get(struct store *store, const char *key, uint64_t offset, size_t size,
		   struct bytes *out, struct cancel *cancel, struct err *err)
{
	auto_(gcs_call_release) struct gcs_call call = gcs_call_new(store, "GET", key);
	auto_(http_response_release) struct http_response response = {.body.limit = out->limit};
	auto_free char *range = NULL;

	if (size == 0)
		return cancel_check(cancel, err);
	range = range_request_header(offset, size);
	if (range)
		add_header(&call, text_format("Range: %s", range));
	call.past_end_is_empty = size == STORE_TO_END;
	if (size != STORE_TO_END && bytes_reserve(&response.body, size, err) < 0)
		return wrap_error(&call, err);
	if (perform_call(&call, NULL, &response, cancel, err) < 0)
		return wrap_error(&call, err);
	if (response.status == 416)
		return 0;
	if (range_request_read(&response, offset, size, out, err) < 0)
		return wrap_error(&call, err);
	return 0;
}

static int gcs_remove(struct store *store, const char *key, struct cancel *cancel, struct err *err)
{
	auto_(gcs_call_release) struct gcs_call call = gcs_call_new(store, "DELETE", key);
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	struct err why = {0};

	if (perform_call(&call, NULL, &response, cancel, &why) == 0 || why.kind == ERR_NOT_FOUND)
		return 0;
	err_set(err, why.kind, "%s", why.text);
	return wrap_error(&call, err);
}

/* --- listing --- */

static char *list_query(const struct gcs_store *gcs, const char *prefix, enum store_depth depth,
			const char *token)
{
	struct bytes query = {0};
	auto_free char *whole = text_format("%s%s", gcs->address.prefix, prefix);

	uri_add(&query, "list-type", "2");
	uri_add(&query, "prefix", whole);
	if (depth == STORE_LEVEL)
		uri_add(&query, "delimiter", "/");
	if (token)
		uri_add(&query, "continuation-token", token);
	uri_text(&query);
	return (char *)query.data;
}

/* One page; `token` becomes that of the next, NULL after the last. */
static int list_page(struct gcs_store *gcs, const char *prefix, enum store_depth depth,
		     char **token, struct store_listing *listing, struct cancel *cancel,
		     struct err *err)
{
	auto_(gcs_call_release) struct gcs_call call = gcs_call_new(&gcs->store, "GET", NULL);
	auto_(http_response_release) struct http_response response = {.body.limit = PAGE_LIMIT};
	struct page page = {listing, token};

	call.query = list_query(gcs, prefix, depth, *token);
	call.page = &page;
	free(steal(token));
	if (perform_call(&call, NULL, &response, cancel, err) < 0)
		return wrap_error(&call, err);
	return 0;
}

static int gcs_list(struct store *store, const char *prefix, enum store_depth depth,
		    struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	auto_(page_cycle_release) struct page_cycle pages = {0};
	auto_free char *token = NULL;

	do {
		if (list_page(gcs_of(store), prefix, depth, &token, listing, cancel, err) < 0 ||
		    (token && page_cycle_check(&pages, token, err) < 0)) {
			store_listing_release(listing);
			return err_wrap(err, "list of %s", prefix);
		}
	} while (token);
	store_listing_sort(listing);
	return 0;
}

/* --- opening --- */

static void gcs_close(struct store *store)
{
	struct gcs_store *gcs = gcs_of(store);

	retrying_client_free(gcs->remote);
	google_credentials_free(gcs->credentials);
	gcs_address_release(&gcs->address);
	free(gcs->project);
	free(gcs);
}

static int init_store(struct gcs_store *gcs, const char *url, struct err *err)
{
	const struct gcs_environment environment = {
		.emulator = getenv("STORAGE_EMULATOR_HOST"),
		.endpoint = getenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"),
	};
	const char *project = getenv("GOOGLE_CLOUD_QUOTA_PROJECT");

	if (gcs_address_read(url, &environment, &gcs->address, err) < 0)
		return -1;
	if (project && project[0])
		gcs->project = text_copy(project);
	return gcs->address.anonymous ? 0 : google_credentials_new(&gcs->credentials, err);
}

static int gcs_open(const char *url, bool create, bool read_only, struct store **store,
		    struct cancel *cancel, struct err *err)
{
	struct gcs_store *gcs = memory_new(sizeof(*gcs));

	(void)create, (void)read_only;
	gcs->store.ops = &gcs_store_ops;
	if (init_store(gcs, url, err) < 0 || cancel_check(cancel, err) < 0) {
		gcs_close(&gcs->store);
		return -1;
	}
	gcs->remote = retrying_client_new(NULL);
	*store = &gcs->store;
	return 0;
}

static void gcs_describe(struct store *store, char *text, size_t capacity)
{
	const struct gcs_store *gcs = gcs_of(store);

	snprintf(text, capacity, "%s, credentials: %s", gcs->address.endpoint,
		 gcs->credentials ? google_credentials_source(gcs->credentials)
				  : "none, because STORAGE_EMULATOR_HOST is set");
}

static void gcs_read_health(struct store *store, struct store_health *health)
{
	struct retrying_client_statistics statistics;

	retrying_client_statistics(gcs_of(store)->remote, &statistics);
	health->skew_known = statistics.clock_seen;
	health->skew_ms = statistics.clock_ms;
}

const struct store_ops gcs_store_ops = {
	.scheme = "gs",
	.open = gcs_open,
	.close = gcs_close,
	.put = gcs_put,
	.get = gcs_get,
	.list = gcs_list,
	.remove = gcs_remove,
	.describe = gcs_describe,
	.read_health = gcs_read_health,
};
