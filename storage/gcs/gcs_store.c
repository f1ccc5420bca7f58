/*
 * gs://BUCKET[/PREFIX] by the JSON API (gcs_json_url()); "if absent" is ifGenerationMatch=0. The
 * bucket is there already: to make one is for whoever pays for it.
 */
#include "gcs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "google_credentials.h"
#include "storage/http/http.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* gs://BUCKET[/PREFIX], and whose endpoint. */

#define ENDPOINT "https://storage.googleapis.com"

static int read_url(const char *url, struct gcs_address *address, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t length;

	uri_split_prefix(url + strlen("gs://"), &address->bucket, &address->prefix);
	length = strlen(address->bucket);
	if (length < 3 || length > 222 || strspn(address->bucket, letters) != length ||
	    !strchr(letters, address->bucket[0]) || address->bucket[0] == '.')
		return err_set(err, ERR_INVALID,
			       "store %s: a Google Cloud Storage store is named gs://BUCKET/PREFIX",
			       url);
	if (strpbrk(address->prefix, "?#\\") || strstr(address->prefix, "//"))
		return err_set(err, ERR_INVALID, "store %s: no ? # \\ or // in the prefix", url);
	return 0;
}

static int set_endpoint(struct gcs_address *address, const char *endpoint, const char *variable,
			struct err *err)
{
	bool has_scheme = strncasecmp(endpoint, "http://", 7) == 0 ||
			  strncasecmp(endpoint, "https://", 8) == 0;
	/* Some client libraries take the emulator's host without a scheme. */
	auto_free char *whole = text_format("%s%s", has_scheme ? "" : "http://", endpoint);

	address->endpoint = uri_endpoint(whole);
	if (!address->endpoint || (!has_scheme && strstr(endpoint, "://")))
		return err_set(err, ERR_INVALID, "%s is no http or https URL", variable);
	return 0;
}

int gcs_address_read(const char *url, const struct gcs_environment *environment,
		     struct gcs_address *address, struct err *err)
{
	*address = (struct gcs_address){0};
	if (read_url(url, address, err) < 0)
		return -1;
	if (environment->emulator) {
		address->anonymous = true;
		return set_endpoint(address, environment->emulator, "STORAGE_EMULATOR_HOST", err);
	}
	if (!environment->endpoint) {
		address->endpoint = text_copy(ENDPOINT);
		return 0;
	}
	if (set_endpoint(address, environment->endpoint, "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE",
			 err) < 0)
		return -1;
	if (!uri_is_confidential(address->endpoint))
		return err_set(err, ERR_INVALID,
			       "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: no token is sent over "
			       "plain http");
	return 0;
}

void gcs_address_release(struct gcs_address *address)
{
	free(address->bucket);
	free(address->prefix);
	free(address->endpoint);
	*address = (struct gcs_address){0};
}

/* What a reply of Google Cloud Storage means: a table for store_reply_judge(). */

// clang-format off

/* Codes: the reasons of "HTTP status and error codes for JSON" in Google's manual, and NoSuchKey,
 * NoSuchBucket and BadDigest of gcs_json_read_reply(). */
static const struct reply_row rows[] = {
	{STATUS_GOOD, NULL, ASKED_PUT | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	/* The bytes that arrived differ from those that were sent. */
	{STATUS_GOOD, "BadDigest", ASKED_PUT, CALL_RETRY, ERR_RETRY, "it came damaged"},
	{STATUS_GOOD, NULL, ASKED_GET | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{STATUS_GOOD, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{404, "NoSuchKey", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
	{404, "NoSuchKey", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
	{404, "NoSuchBucket", 0, CALL_FAILED, ERR_INVALID,
		"there is no such bucket: make it, or correct its name"},
	{416, NULL, ASKED_GET_REST, CALL_DONE, ERR_NONE, NULL},
	{416, NULL, 0, CALL_FAILED, ERR_CORRUPT, "the object is shorter than it was"},
	{412, NULL, ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS, "it is there already"},
	{412, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{400, "required", 0, CALL_FAILED, ERR_INVALID,
		"the bucket is requester-pays: name a project in "
		"GOOGLE_CLOUD_QUOTA_PROJECT"},
	/* A checksum that does not fit has no other reason than this. */
	{400, "invalid", ASKED_PUT, CALL_RETRY, ERR_RETRY, NULL},
	/* A token that was signed with a wrong clock is refused like one whose time is over. */
	{401, NULL, SENT_TOKEN | SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{401, NULL, SENT_TOKEN, CALL_REFRESH, ERR_DENIED, NULL},
	{401, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{405, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{409, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{507, NULL, 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{501, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
};

// clang-format on

const struct reply_table gcs_replies = {rows, sizeof(rows) / sizeof(*rows), 5 * 60 * 1000};

/*
 * Cloud Storage's JSON API, which its emulators speak too. An object that nobody else names
 * is put as it is ("media"). One that is put if-absent is wrapped with its checksum ("multipart"):
 * so the service refuses it if it is damaged on the way, and emulators check the condition of no
 * other upload.
 */

/* --- requests --- */

static void add_put_query(struct bytes *query, unsigned asked, const char *key)
{
	uri_add(query, "uploadType", asked == ASKED_PUT_IF_ABSENT ? "multipart" : "media");
	uri_add(query, "name", key);
	if (asked == ASKED_PUT_IF_ABSENT)
		uri_add(query, "ifGenerationMatch", "0");
}

char *gcs_json_url(const struct gcs_address *address, unsigned asked, const char *key,
		   const char *query)
{
	auto_(bytes_release) struct bytes own = {0};
	auto_free char *name = key ? uri_encode(key, false) : NULL;

	if (asked & ASKED_PUT) {
		add_put_query(&own, asked, key ? key : "");
		return text_format("%s/upload/storage/v1/b/%s/o?%s", address->endpoint,
				   address->bucket, uri_text(&own));
	}
	return text_format("%s/storage/v1/b/%s/o%s%s%s%s", address->endpoint, address->bucket,
			   name ? "/" : "", name ? name : "",
			   asked & ASKED_GET ? "?alt=media"
			   : query[0]        ? "?"
					     : "",
			   query);
}

void gcs_json_add_body(struct bytes *body, const char *boundary, const char *checksum,
		       const void *data, size_t size)
{
	bytes_format(body, NULL,
		     "--%s\r\n"
		     "Content-Type: application/json; charset=UTF-8\r\n\r\n"
		     "{\"crc32c\": \"%s\"}\r\n"
		     "--%s\r\n"
		     "Content-Type: application/octet-stream\r\n\r\n",
		     boundary, checksum, boundary);
	bytes_append(body, data, size, NULL);
	bytes_format(body, NULL, "\r\n--%s--\r\n", boundary);
}

void gcs_json_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
			     const char *token)
{
	uri_add(query, "prefix", prefix);
	if (depth == STORE_LEVEL)
		uri_add(query, "delimiter", "/");
	if (token)
		uri_add(query, "pageToken", token);
}

/* --- listings --- */

/* The part of the name behind the prefix; NULL: it has another one. */
static const char *key_of(const char *name, const char *prefix)
{
	return text_starts(name, prefix) ? name + strlen(prefix) : NULL;
}

/* By the API it is a number as text, and some emulators send a number. */
static bool read_size(json_t *value, uint64_t *size)
{
	if (json_is_string(value))
		return text_to_u64(json_string_value(value), INT64_MAX, size);
	*size = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static int read_object(json_t *item, const char *prefix, struct store_listing *listing,
		       struct err *err)
{
	const char *name, *key;
	int64_t modified_ms;
	uint64_t size;

	if (json_get_text(item, "name", &name, err) < 0)
		return -1;
	if (!read_size(json_object_get(item, "size"), &size))
		return err_set(err, ERR_CORRUPT, "the list has an object without a size: %.200s",
			       name);
	key = key_of(name, prefix);
	if (!key)
		return err_set(err, ERR_CORRUPT,
			       "the list has a key that was not asked for: %.200s", name);
	if (!datetime_parse(json_text_or(item, "updated", ""), &modified_ms))
		modified_ms = 0;
	if (key[0] && !text_ends(key, "/"))
		store_listing_add_dated(listing, key, size, modified_ms);
	return 0;
}

static int read_page(json_t *page, const char *prefix, struct store_listing *listing,
		     struct err *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(page, "items"), i, item)
	{
		if (read_object(item, prefix, listing, err) < 0)
			return -1;
	}
	json_array_foreach(json_object_get(page, "prefixes"), i, item)
	{
		const char *folded = json_is_string(item) ? json_string_value(item) : "";
		const char *key = key_of(folded, prefix);

		if (!key || !text_ends(key, "/"))
			return err_set(err, ERR_CORRUPT,
				       "the list has a prefix that was not asked for: %.200s",
				       folded);
		store_listing_add(listing, key, 0);
	}
	return 0;
}

int gcs_json_read_page(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err)
{
	auto_json json_t *page = json_parse(body, size, err);
	auto_(store_listing_release) struct store_listing found = {0};
	const char *token;

	*next = NULL;
	if (!page)
		return -1;
	if (!text_equal(json_text_or(page, "kind", ""), "storage#objects"))
		return err_set(err, ERR_CORRUPT, "the answer is no list of objects");
	if (read_page(page, prefix, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		store_listing_add_dated(listing, found.items[i].key, found.items[i].size,
					found.items[i].modified_ms);
	token = json_text_or(page, "nextPageToken", "");
	if (token[0])
		*next = text_copy(token);
	return 0;
}

/* --- replies --- */

/* {"error": {"message": ..., "errors": [{"reason": ...}]}} */
static void read_error(json_t *body, struct store_reply *reply)
{
	json_t *error = json_object_get(body, "error");
	json_t *first = json_array_get(json_object_get(error, "errors"), 0);

	text_set(reply->code, sizeof(reply->code), json_text_or(first, "reason", ""));
	text_set(reply->message, sizeof(reply->message), json_text_or(error, "message", ""));
	text_to_line(reply->code);
	text_to_line(reply->message);
}

/* "notFound" is both the object and the bucket, and a get is answered with the message alone. Who
 * asks for a list, or to put, names no object that must be there. */
static void read_missing(struct store_reply *reply, const struct bytes *body, bool emulated)
{
	auto_free char *text = text_copy_n(body->size ? (const char *)body->data : "", body->size);
	bool of_bucket = strstr(text, "bucket does not exist") != NULL;

	if (!(reply->facts & (ASKED_GET | ASKED_REMOVE)))
		of_bucket = emulated || text_equal(reply->code, "notFound");
	else if (!of_bucket && (emulated || strstr(text, "No such object")))
		text_set(reply->code, sizeof(reply->code), "NoSuchKey");
	if (of_bucket)
		text_set(reply->code, sizeof(reply->code), "NoSuchBucket");
	if (emulated && !reply->message[0] && reply->facts & ASKED_PUT)
		text_set(reply->message, sizeof(reply->message),
			 "an emulator must speak the JSON API, and have the bucket");
}

void gcs_json_read_reply(struct store_reply *reply, const struct http_response *response,
			 unsigned facts, int64_t sent_ms, const char *checksum, bool emulated)
{
	bool good = response->status >= 200 && response->status < 300;
	bool is_marked = emulated || http_header(response, "x-goog-generation") ||
			 http_header(response, "ETag");
	auto_json json_t *body = NULL;

	*reply = (struct store_reply){
		.status = response->status,
		.facts = facts,
		.skew_ms = store_reply_skew_ms(response, sent_ms),
	};
	if (good && facts & ASKED_GET) {
		reply->facts |= is_marked ? 0 : CAME_UNMARKED;
		return;
	}
	body = json_parse(response->body.data, response->body.size, NULL);
	if (good && facts & ASKED_PUT && !json_text_or(body, "name", "")[0])
		reply->facts |= CAME_UNMARKED;
	else if (good && facts & ASKED_PUT &&
		 !text_equal(json_text_or(body, "crc32c", checksum), checksum))
		text_set(reply->code, sizeof(reply->code), "BadDigest");
	else if (!good)
		read_error(body, reply);
	if (reply->status == 404)
		read_missing(reply, &response->body, emulated);
}

struct gcs_store {
	struct http_store http;
	struct gcs_address address;
	/* NULL: anonymous. */
	struct google_credentials *credentials;
	/* Which is billed; NULL: the bucket's. */
	char *project;
};

static struct gcs_store *gcs_of(struct store *store)
{
	return (struct gcs_store *)store;
}

/* --- one call --- */

static void gcs_wrap(struct call_attempt *attempt, struct bytes *body)
{
	const struct store_call *call = attempt->call;

	if (call->asked & ASKED_PUT)
		attempt->method = "POST";
	if (call->asked != ASKED_PUT_IF_ABSENT)
		return;
	random_hex(attempt->boundary);
	gcs_json_add_body(body, attempt->boundary, attempt->checksum, call->body, call->body_size);
}

static void gcs_prepare(const struct call_attempt *attempt, struct call_request *request)
{
	const struct store_call *call = attempt->call;
	const struct gcs_store *gcs = gcs_of(&attempt->http->store);
	auto_free char *key =
		call->key ? text_format("%s%s", gcs->address.prefix, call->key) : NULL;
	auto_free char *url = gcs_json_url(&gcs->address, call->asked, key, call->query);

	call_request_set_url(request, url);
	if (attempt->credential)
		call_request_add_header(request, "Authorization: Bearer %s",
					attempt->credential->text);
	if (call->asked == ASKED_PUT_IF_ABSENT)
		call_request_add_header(request, "Content-Type: multipart/related; boundary=%s",
					attempt->boundary);
	else if (call->asked & ASKED_PUT)
		call_request_add_header(request, "Content-Type: application/octet-stream");
	if (call->range)
		call_request_add_header(request, "Range: %s", call->range);
	if (gcs->project)
		call_request_add_header(request, "x-goog-user-project: %s", gcs->project);
}

static enum call_verdict gcs_judge(struct call_attempt *attempt,
				   const struct http_response *response, struct err *err)
{
	struct store_reply reply;
	enum call_verdict verdict;

	gcs_json_read_reply(&reply, response,
			    attempt->call->asked | (attempt->credential ? SENT_TOKEN : 0),
			    attempt->now_ms, attempt->checksum, !attempt->credential);
	verdict = store_reply_judge(&gcs_replies, &reply, err);
	/* The token was signed with the wrong clock. */
	attempt->refused = verdict == CALL_SKEWED;
	return verdict;
}

/* --- opening --- */

static void gcs_close(struct store *store)
{
	struct gcs_store *gcs = gcs_of(store);

	google_credentials_free(gcs->credentials);
	http_store_release(&gcs->http);
	gcs_address_release(&gcs->address);
	free(gcs->project);
	free(gcs);
}

static int init_store(struct gcs_store *gcs, const char *url, struct err *err)
{
	const struct gcs_environment environment = {
		.emulator = text_from_environment("STORAGE_EMULATOR_HOST"),
		.endpoint = text_from_environment("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"),
	};
	const char *project = text_from_environment("GOOGLE_CLOUD_QUOTA_PROJECT");

	if (gcs_address_read(url, &environment, &gcs->address, err) < 0)
		return -1;
	if (project)
		gcs->project = text_copy(project);
	return gcs->address.anonymous
		       ? 0
		       : google_credentials_new(gcs->http.client, &gcs->credentials, err);
}

static int gcs_open(const char *url, bool create, bool read_only, struct store **store,
		    struct cancel *cancel, struct err *err)
{
	static const struct http_store_ops ops = {gcs_wrap, gcs_prepare, gcs_judge,
						  gcs_json_add_page_query, gcs_json_read_page};
	struct gcs_store *gcs = memory_new(sizeof(*gcs));

	(void)create, (void)read_only;
	gcs->http.client = retrying_client_new(0, NULL, NULL);
	if (init_store(gcs, url, err) < 0 || cancel_check(cancel, err) < 0) {
		gcs_close(&gcs->http.store);
		return -1;
	}
	gcs->http.store.ops = &gcs_store_ops;
	gcs->http.ops = &ops;
	gcs->http.prefix = gcs->address.prefix;
	gcs->http.place = text_format("gs://%s/", gcs->address.bucket);
	gcs->http.checksums = true;
	if (gcs->credentials)
		gcs->http.credentials = google_credentials_tokens(gcs->credentials);
	/* Of the real service it is known. */
	if (gcs->address.anonymous) {
		gcs->http.store.condition = "\"ifGenerationMatch=0\"";
		gcs->http.store.advice = "use another store";
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
