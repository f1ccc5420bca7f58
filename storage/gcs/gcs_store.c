/*
 * gs://BUCKET[/PREFIX] by the JSON API (gcs_json.h); "if absent" is ifGenerationMatch=0. The bucket
 * is there already: to make one is for whoever pays for it.
 */
#include "gcs_store.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "gcs_address.h"
#include "gcs_json.h"
#include "gcs_reply.h"
#include "google_credentials.h"
#include "storage/backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gcs_store {
	struct http_store http;
	struct gcs_address address;
	/* NULL: anonymous. */
	struct google_credentials *credentials;
	/* Which is billed; NULL: the bucket's. */
	char *project;
	struct retrying_client *client;
};

/* A call with what its tries have to remember. */
struct call_attempt {
	struct gcs_store *store;
	const struct store_call *call;
	/* With the prefix; "" for the bucket. */
	char *key;
	/* Of the body that is put. */
	char checksum[CRC32C_TEXT];
	/* Of the parts of what is put if-absent. */
	char boundary[33];
	/* Of the last try. */
	char *authorization;
	bool refused;
	int64_t sent_ms;
};

static void call_attempt_release(struct call_attempt *attempt)
{
	free(attempt->key);
	if (attempt->authorization)
		explicit_bzero(attempt->authorization, strlen(attempt->authorization));
	free(attempt->authorization);
}
AUTO(struct call_attempt, call_attempt_release);

static struct gcs_store *gcs_of(struct store *store)
{
	return (struct gcs_store *)store;
}

static bool is_emulated(const struct gcs_store *store)
{
	return store->address.anonymous;
}

/* --- one try --- */

static int authorize_call(struct call_attempt *attempt, int64_t skew_ms, struct cancel *cancel,
			  struct err *err)
{
	struct google_credentials *credentials = attempt->store->credentials;

	google_credentials_set_skew(credentials, skew_ms);
	if (attempt->refused &&
	    google_credentials_invalidate(credentials, attempt->authorization, cancel, err) < 0)
		return -1;
	attempt->refused = false;
	free(steal(&attempt->authorization));
	return google_credentials_get(credentials, &attempt->authorization, cancel, err);
}

static void add_headers(const struct call_attempt *attempt, struct call_request *request)
{
	const struct store_call *call = attempt->call;

	if (attempt->authorization)
		call_request_add_header(request, "Authorization: %s", attempt->authorization);
	if (call->asked == ASKED_PUT_IF_ABSENT)
		call_request_add_header(request, "Content-Type: multipart/related; boundary=%s",
					attempt->boundary);
	else if (call->asked & ASKED_PUT)
		call_request_add_header(request, "Content-Type: application/octet-stream");
	if (call->range)
		call_request_add_header(request, "Range: %s", call->range);
	if (attempt->store->project)
		call_request_add_header(request, "x-goog-user-project: %s",
					attempt->store->project);
}

static int prepare_request(void *arg, const struct call_try *try, struct call_request *request,
			   struct cancel *cancel, struct err *err)
{
	struct call_attempt *attempt = arg;
	const struct store_call *call = attempt->call;
	auto_free char *url = gcs_json_url(&attempt->store->address, call->asked,
					   call->key ? attempt->key : NULL, call->query);

	if (attempt->store->credentials &&
	    authorize_call(attempt, try->now_ms - clock_wall_ms(), cancel, err) < 0)
		return -1;
	attempt->sent_ms = try->now_ms;
	call_request_set_url(request, url);
	add_headers(attempt, request);
	return 0;
}

static enum call_verdict judge_response(void *arg, const struct http_response *response,
					struct err *err)
{
	struct call_attempt *attempt = arg;
	unsigned facts = attempt->call->asked | (attempt->store->credentials ? SENT_TOKEN : 0);
	struct store_reply reply;
	enum call_verdict verdict;

	gcs_json_read_reply(&reply, response, facts, attempt->sent_ms, attempt->checksum,
			    is_emulated(attempt->store));
	verdict = store_reply_judge(&gcs_replies, &reply, err);
	attempt->refused = verdict == CALL_REFRESH || verdict == CALL_SKEWED;
	return verdict;
}

/* --- calls --- */

static int gcs_perform(struct store *store, const struct store_call *call,
		       struct http_response *response, struct cancel *cancel, struct err *err)
{
	struct gcs_store *gcs = gcs_of(store);
	auto_free char *key = text_format("%s%s", call->key ? gcs->address.prefix : "",
					  call->key ? call->key : "");
	auto_(call_attempt_release) struct call_attempt attempt =
		{.store = gcs, .call = call, .key = text_copy(key)};
	auto_(bytes_release) struct bytes body = {0};
	struct retried_call retried =
		store_call_retried(call, &attempt, prepare_request, judge_response);

	if (call->asked & ASKED_PUT) {
		retried.method = "POST";
		crc32c_text(crc32c(call->body, call->body_size), attempt.checksum);
	}
	if (call->asked == ASKED_PUT_IF_ABSENT) {
		random_hex(attempt.boundary);
		gcs_json_add_body(&body, attempt.boundary, attempt.checksum, call->body,
				  call->body_size);
		retried.body = body.data;
		retried.body_size = body.size;
	}
	if (retrying_client_perform(gcs->client, &retried, response, cancel, err) == 0)
		return 0;
	return err_wrap(err, "gs://%s%s%s", gcs->address.bucket, call->key ? "/" : "", key);
}

/* --- opening --- */

static void gcs_close(struct store *store)
{
	struct gcs_store *gcs = gcs_of(store);

	retrying_client_free(gcs->client);
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
	static const struct http_store_ops ops = {gcs_perform, gcs_json_add_page_query,
						  gcs_json_read_page};
	struct gcs_store *gcs = memory_new(sizeof(*gcs));

	if (init_store(gcs, url, err) < 0 || cancel_check(cancel, err) < 0) {
		gcs_close(&gcs->http.store);
		return -1;
	}
	gcs->client = retrying_client_new(NULL);
	gcs->http = (struct http_store){{.ops = &gcs_store_ops},
					&ops,
					gcs->address.prefix,
					gcs->client};
	/* Of the real service it is known. */
	if (is_emulated(gcs) && create && !read_only &&
	    http_store_prove_if_absent(&gcs->http.store, url, "\"ifGenerationMatch=0\"",
				       "use another store", cancel, err) < 0) {
		gcs_close(&gcs->http.store);
		return -1;
	}
	*store = &gcs->http.store;
	return 0;
}

static void gcs_describe(struct store *store, char *text, size_t capacity)
{
	const struct gcs_store *gcs = gcs_of(store);

	snprintf(text, capacity, "%s, credentials: %s", gcs->address.endpoint,
		 gcs->credentials ? google_credentials_source(gcs->credentials)
				  : "none, because STORAGE_EMULATOR_HOST is set");
}

const struct store_ops gcs_store_ops = {
	.scheme = "gs",
	.open = gcs_open,
	.close = gcs_close,
	.put = http_store_put,
	.get = http_store_get,
	.read = http_store_read,
	.list = http_store_list,
	.remove = http_store_remove,
	.describe = gcs_describe,
	.read_health = http_store_read_health,
};
