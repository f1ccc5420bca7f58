/*
 * The s3:// backend. Against a small server of our own that can be told to misbehave; and, where
 * REPRIEVE_TEST_S3 names a bucket ("s3://bucket", with the usual AWS_* beside it), the same and
 * more against that real store.
 */
#include "storage/backend/object_store.h"
#include "storage/scheme_table.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/httpd.h"
#include "err_kind.h"
#include "storage/http/uri.h"
#include "storage/http/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a bucket in memory --- */

enum {
	OBJECTS_MOST = 64,
	PAGE = 3
};

struct object {
	char *key;
	struct bytes data;
};

static struct {
	struct httpd *httpd;
	pthread_mutex_t mutex;
	struct object objects[OBJECTS_MOST];
	size_t count;
	/* What goes wrong with the next requests, one letter each; '.' is nothing. */
	const char *faults;
	bool no_conditions, no_ranges, no_tokens;
	bool whole;          /* the range of this request is ignored */
	char region[32];     /* other regions in the signature are answered with 301 */
	char expired[32];    /* this access key is answered with ExpiredToken */
	char last_put[2048]; /* headers of note of the last PUT */
	atomic_int requests;
} bucket = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void send_error(struct httpd_reply *reply, int status, const char *code)
{
	auto_free char *body =
		text_format("<Error><Code>%s</Code><Message>m</Message></Error>", code);

	httpd_reply_text(reply, status, body);
}

static struct object *find(const char *key)
{
	for (size_t i = 0; i < bucket.count; i++)
		if (strcmp(bucket.objects[i].key, key) == 0)
			return &bucket.objects[i];
	return NULL;
}

static void put(const struct httpd_request *request, const char *key, struct httpd_reply *reply)
{
	const char *condition = httpd_request_header(request, "If-None-Match");
	static const char *const noted[] =
		{"x-amz-checksum-crc32c", "x-amz-request-payer", "x-amz-server-side-encryption",
		 "x-amz-content-sha256",  "authorization",       "content-type"};
	struct object *object = find(key);

	bucket.last_put[0] = '\0';
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++) {
		const char *value = httpd_request_header(request, noted[i]);
		size_t used = strlen(bucket.last_put);

		if (value)
			snprintf(bucket.last_put + used, sizeof(bucket.last_put) - used, "%s: %s\n",
				 noted[i], value);
	}
	if (object && condition && strcmp(condition, "*") == 0 && !bucket.no_conditions) {
		send_error(reply, 412, "PreconditionFailed");
		return;
	}
	if (!object) {
		object = &bucket.objects[bucket.count++];
		object->key = text_copy(key);
	}
	object->data.size = 0;
	bytes_append(&object->data, request->body, request->body_size, NULL);
	httpd_reply_header(reply, "ETag", "\"x\"");
	httpd_reply_text(reply, 200, "");
}

static void get(const struct httpd_request *request, const char *key, struct httpd_reply *reply)
{
	const char *range = httpd_request_header(request, "Range");
	struct object *object = find(key);
	unsigned long long first = 0, last;

	if (!object) {
		send_error(reply, 404, "NoSuchKey");
		return;
	}
	last = object->data.size - 1;
	if (range && !bucket.no_ranges && !bucket.whole) {
		sscanf(range, "bytes=%llu-%llu", &first, &last);
		if (first >= object->data.size) {
			send_error(reply, 416, "InvalidRange");
			return;
		}
		if (last >= object->data.size)
			last = object->data.size - 1;
		reply->status = 206;
		httpd_reply_header(reply, "Content-Range", "bytes %llu-%llu/%zu", first, last,
				   object->data.size);
	}
	httpd_reply_header(reply, "ETag", "\"x\"");
	if (object->data.size)
		bytes_append(&reply->body, object->data.data + first, (size_t)(last - first + 1),
			     NULL);
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct object *)a)->key, ((const struct object *)b)->key);
}

static void escape(struct bytes *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			bytes_format(out, NULL, "&#%d;", *text);
		else
			bytes_append(out, text, 1, NULL);
	}
}

/* Pages of a few keys; the token is the last key. */
static void list(const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *prefix = httpd_request_query(request, "prefix");
	const char *after = httpd_request_query(request, "continuation-token");
	bool level = httpd_request_query(request, "delimiter") != NULL;
	auto_free char *folded = text_copy("");
	size_t used = 0;

	if (bucket.no_tokens)
		after = NULL;
	qsort(bucket.objects, bucket.count, sizeof(bucket.objects[0]), compare);
	bytes_format(&reply->body, NULL, "<ListBucketResult><EncodingType>url</EncodingType>");
	for (size_t i = 0; i < bucket.count; i++) {
		const char *key = bucket.objects[i].key;
		const char *slash =
			text_starts(key, prefix) ? strchr(key + strlen(prefix), '/') : NULL;
		auto_free char *fold = slash ? text_copy_n(key, (size_t)(slash - key) + 1) : NULL;
		const char *name = level && fold ? fold : key;
		auto_free char *encoded = uri_encode(name, true);

		if (!text_starts(key, prefix) || (after && strcmp(name, after) <= 0) ||
		    strcmp(name, folded) == 0)
			continue;
		if (used++ == PAGE) {
			bytes_format(&reply->body, NULL,
				     "<IsTruncated>true</IsTruncated><NextContinuationToken>");
			escape(&reply->body, folded);
			bytes_format(&reply->body, NULL, "</NextContinuationToken>");
			break;
		}
		if (name == fold)
			bytes_format(&reply->body, NULL,
				     "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>",
				     encoded);
		else
			bytes_format(&reply->body, NULL,
				     "<Contents><Key>%s</Key><Size>%zu</Size></Contents>", encoded,
				     bucket.objects[i].data.size);
		free(folded);
		folded = text_copy(name);
	}
	bytes_format(&reply->body, NULL, "</ListBucketResult>");
}

static void drop(const char *key, struct httpd_reply *reply)
{
	struct object *object = find(key);

	if (object) {
		free(object->key);
		bytes_release(&object->data);
		*object = bucket.objects[--bucket.count];
		bucket.objects[bucket.count] = (struct object){0};
	}
	reply->status = 204;
}

/* True where the answer is made. */
static bool misbehave(const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *authorization = httpd_request_header(request, "Authorization");
	char fault = bucket.faults && *bucket.faults ? *bucket.faults++ : '.';

	if (!authorization) {
		send_error(reply, 403, "AccessDenied");
		return true;
	}
	if (bucket.expired[0] && strstr(authorization, bucket.expired)) {
		send_error(reply, 400, "ExpiredToken");
		return true;
	}
	if (bucket.region[0] && !strstr(authorization, bucket.region)) {
		httpd_reply_header(reply, "x-amz-bucket-region", "%s", bucket.region);
		send_error(reply, 301, "PermanentRedirect");
		return true;
	}
	switch (fault) {
	case '5':
		send_error(reply, 500, "InternalError");
		return true;
	case 's':
		send_error(reply, 503, "SlowDown");
		return true;
	case 'c':
		send_error(reply, 409, "ConditionalRequestConflict");
		return true;
	case '2':
		send_error(reply, 200, "InternalError");
		return true;
	case 'd':
		send_error(reply, 403, "AccessDenied");
		return true;
	case 'g':
		httpd_reply_text(reply, 200, "<html>not what you think");
		return true;
	case 'r':
		bucket.whole = true;
		return false;
	case 'X':
		reply->delivery = HTTPD_RESET;
		return true;
	default:
		return false;
	}
}

static void answer(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	auto_free char *key = NULL;

	(void)arg;
	atomic_fetch_add(&bucket.requests, 1);
	pthread_mutex_lock(&bucket.mutex);
	bucket.whole = false;
	key = text_starts(request->path, "/bucket/") ? text_copy(request->path + 8) : NULL;
	if (misbehave(request, reply))
		;
	else if (!key && strcmp(request->path, "/bucket") == 0)
		list(request, reply);
	else if (!key)
		send_error(reply, 404, "NoSuchBucket");
	else if (strcmp(request->method, "PUT") == 0)
		put(request, key, reply);
	else if (strcmp(request->method, "GET") == 0)
		get(request, key, reply);
	else
		drop(key, reply);
	/* The answer is lost behind a deed that was done. */
	if (bucket.faults && *bucket.faults == 'L') {
		bucket.faults++;
		reply->delivery = HTTPD_RESET;
	}
	pthread_mutex_unlock(&bucket.mutex);
}

/* --- fixtures --- */

static int set_up(void **state)
{
	auto_free char *endpoint = text_format("http://127.0.0.1:%u", httpd_port(bucket.httpd));

	(void)state;
	while (bucket.count) {
		free(bucket.objects[--bucket.count].key);
		bytes_release(&bucket.objects[bucket.count].data);
	}
	bucket.faults = NULL;
	bucket.no_conditions = bucket.no_ranges = bucket.no_tokens = false;
	bucket.region[0] = bucket.expired[0] = '\0';
	setenv("AWS_ACCESS_KEY_ID", "AK", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
	setenv("AWS_ENDPOINT_URL_S3", endpoint, 1);
	setenv("AWS_REGION", "us-east-1", 1);
	setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
	unsetenv("AWS_SESSION_TOKEN");
	unsetenv("AWS_PROFILE");
	unsetenv("REPRIEVE_S3_CONDITIONAL");
	unsetenv("REPRIEVE_S3_CHECKSUM");
	unsetenv("REPRIEVE_S3_HEADERS");
	unsetenv("AWS_REQUEST_PAYER");
	return 0;
}

static struct store *open_store(const char *url, bool create)
{
	struct store *store = NULL;
	struct err err = {0};

	if (store_open(url, create, false, &store, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return store;
}

static int put_text(struct store *store, const char *key, const char *text,
		    enum store_put_mode mode, struct err *err)
{
	return store->ops->put(store, key, text, strlen(text), mode, NULL, err);
}

static int gather(void *arg, size_t at, const void *data, size_t size, struct err *err)
{
	struct bytes *out = arg;

	out->size = at;
	return bytes_append(out, data, size, err);
}

static void check_read(struct store *store, const char *key, uint64_t offset, const char *expected)
{
	auto_(bytes_release) struct bytes out = {0};
	const struct store_taker taker = {gather, &out};
	size_t size = strlen(expected);
	struct err err = {0};

	if (store_read(store, key, offset, size, &taker, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.size, size);
	if (size)
		assert_memory_equal(out.data, expected, size);
}

static void check_read_fails(struct store *store, const char *key, uint64_t offset, size_t size,
			     enum err_kind kind)
{
	auto_(bytes_release) struct bytes out = {0};
	const struct store_taker taker = {gather, &out};
	struct err err = {0};

	assert_int_equal(store_read(store, key, offset, size, &taker, NULL, &err), -1);
	if (err.kind != kind)
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
	assert_int_equal(out.size, 0);
}

static void check_get(struct store *store, const char *key, uint64_t offset, size_t size,
		      const char *expected)
{
	auto_(bytes_release) struct bytes out = {0};
	struct err err = {0};

	bytes_append(&out, "before:", 7, NULL);
	if (store->ops->get(store, key, offset, size, &out, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.size, 7 + strlen(expected));
	assert_memory_equal(out.data + 7, expected, strlen(expected));
}

static void check_get_fails(struct store *store, const char *key, uint64_t offset, size_t size,
			    enum err_kind kind)
{
	auto_(bytes_release) struct bytes out = {0};
	struct err err = {0};

	assert_int_equal(store->ops->get(store, key, offset, size, &out, NULL, &err), -1);
	if (err.kind != kind)
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
	assert_int_equal(out.size, 0);
}

static void check_list(struct store *store, const char *prefix, enum store_depth depth,
		       const char *expected)
{
	auto_(store_listing_release) struct store_listing listing = {0};
	auto_(bytes_release) struct bytes keys = {0};
	struct err err = {0};

	if (store->ops->list(store, prefix, depth, &listing, NULL, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < listing.count; i++)
		bytes_format(&keys, NULL, "%s:%llu ", listing.items[i].key,
			     (unsigned long long)listing.items[i].size);
	bytes_append(&keys, "", 1, NULL);
	assert_string_equal((const char *)keys.data, expected);
}

/* --- what every store must do; also run against a real one --- */

static void check_contract(const char *url)
{
	auto_(store_close) struct store *store = open_store(url, true);
	struct err err = {0};

	check_list(store, "jobs/", STORE_ALL, "");
	assert_int_equal(put_text(store, "jobs/a/1", "one", STORE_UNIQUE, &err), 0);
	assert_int_equal(put_text(store, "jobs/a/2", "", STORE_UNIQUE, &err), 0);
	assert_int_equal(put_text(store, "jobs/b/3", "0123456789", STORE_IF_ABSENT, &err), 0);
	assert_int_equal(put_text(store, "jobs/b/3", "other", STORE_IF_ABSENT, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_int_equal(put_text(store, "jobs/a/1", "one!", STORE_UNIQUE, &err), 0);
	assert_int_equal(put_text(store, "jobs/c", "c", STORE_UNIQUE, &err), 0);

	check_get(store, "jobs/a/1", 0, STORE_TO_END, "one!");
	check_get(store, "jobs/a/2", 0, STORE_TO_END, "");
	check_get(store, "jobs/b/3", 2, 3, "234");
	check_get(store, "jobs/b/3", 8, STORE_TO_END, "89");
	check_get(store, "jobs/b/3", 10, STORE_TO_END, "");
	check_get(store, "jobs/b/3", 0, 0, "");
	check_get_fails(store, "jobs/b/3", 8, 3, ERR_CORRUPT);
	check_get_fails(store, "jobs/b/3", 11, 1, ERR_CORRUPT);
	check_get_fails(store, "jobs/none", 0, STORE_TO_END, ERR_NOT_FOUND);
	check_read(store, "jobs/b/3", 2, "234");
	check_read(store, "jobs/b/3", 0, "0123456789");
	check_read(store, "jobs/b/3", 3, "");
	check_read_fails(store, "jobs/b/3", 8, 3, ERR_CORRUPT);
	check_read_fails(store, "jobs/b/3", 11, 1, ERR_CORRUPT);
	check_read_fails(store, "jobs/none", 0, 1, ERR_NOT_FOUND);

	check_list(store, "jobs/", STORE_ALL, "jobs/a/1:4 jobs/a/2:0 jobs/b/3:10 jobs/c:1 ");
	check_list(store, "jobs/", STORE_LEVEL, "jobs/a/:0 jobs/b/:0 jobs/c:1 ");
	check_list(store, "jobs/a", STORE_ALL, "jobs/a/1:4 jobs/a/2:0 ");
	assert_int_equal(store->ops->remove(store, "jobs/a/1", NULL, &err), 0);
	assert_int_equal(store->ops->remove(store, "jobs/a/1", NULL, &err), 0);
	check_list(store, "jobs/a", STORE_ALL, "jobs/a/2:0 ");
	store->ops->remove(store, "jobs/a/2", NULL, &err);
	store->ops->remove(store, "jobs/b/3", NULL, &err);
	store->ops->remove(store, "jobs/c", NULL, &err);
	check_list(store, "jobs/", STORE_ALL, "");
}

struct racer {
	struct store *store;
	const char *key;
	char text[32];
	int result;
	struct err err;
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	racer->result =
		put_text(racer->store, racer->key, racer->text, STORE_IF_ABSENT, &racer->err);
	return NULL;
}

/* Of many writers one wins, and what is there is the winner's. */
static void check_race(const char *url)
{
	enum {
		RACERS = 16
	};
	auto_(store_close) struct store *store = open_store(url, true);
	struct racer racers[RACERS] = {0};
	pthread_t threads[RACERS];
	auto_free char *key = NULL;
	char nonce[33];
	int winner = -1;
	struct err err;

	random_hex(nonce);
	key = text_format("race/%s", nonce);
	for (int i = 0; i < RACERS; i++) {
		racers[i].store = store;
		racers[i].key = key;
		snprintf(racers[i].text, sizeof(racers[i].text), "writer %d", i);
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (int i = 0; i < RACERS; i++) {
		pthread_join(threads[i], NULL);
		if (racers[i].result == 0) {
			assert_int_equal(winner, -1);
			winner = i;
		} else if (racers[i].err.kind != ERR_EXISTS) {
			fail_msg("%s", racers[i].err.text);
		}
	}
	assert_true(winner >= 0);
	check_get(store, key, 0, STORE_TO_END, racers[winner].text);
	store->ops->remove(store, key, NULL, &err);
}

static void test_contract(void **state)
{
	(void)state;
	check_contract("s3://bucket");
	check_contract("s3://bucket/some/where/");
	check_contract("s3://bucket/my pre fix/\xc3\xbcn\xc3\xaf+x&y=z?%41#(1)'~\"<>");
}

static void test_race(void **state)
{
	(void)state;
	check_race("s3://bucket/p");
}

/* --- headers --- */

static void test_headers(void **state)
{
	auto_(store_close) struct store *store = NULL;
	struct err err = {0};

	(void)state;
	setenv("AWS_REQUEST_PAYER", "requester", 1);
	setenv("REPRIEVE_S3_HEADERS", " X-Amz-Server-Side-Encryption : aws:kms ,", 1);
	store = open_store("s3://bucket", false);
	assert_int_equal(put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(bucket.last_put, "x-amz-checksum-crc32c: 4waSgw==\n"));
	assert_non_null(strstr(bucket.last_put, "x-amz-request-payer: requester\n"));
	assert_non_null(strstr(bucket.last_put, "x-amz-server-side-encryption: aws:kms\n"));
	assert_non_null(
		strstr(bucket.last_put,
		       "SignedHeaders=host;x-amz-checksum-crc32c;x-amz-content-sha256;x-amz-date;"
		       "x-amz-request-payer;x-amz-server-side-encryption,"));
	assert_null(strstr(bucket.last_put, "SK"));
	assert_non_null(strstr(bucket.last_put, "content-type: application/octet-stream\n"));
}

static void test_described(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);
	struct store_health health = {0};
	struct err err = {0};
	char text[256];

	(void)state;
	assert_int_equal(put_text(store, "k", "v", STORE_UNIQUE, &err), 0);
	store_describe(store, text, sizeof(text));
	assert_non_null(strstr(text, "http://127.0.0.1:"));
	assert_non_null(strstr(text, "us-east-1"));
	assert_non_null(strstr(text, "environment"));
	assert_null(strstr(text, "SK"));
	store->ops->read_health(store, &health);
	assert_false(health.if_absent_guessed);
	assert_true(health.if_absent_unproven);
	assert_true(health.skew_known);
	assert_true(llabs(health.skew_ms) < 60000);
}

/* Opening it asks nothing. */
static void test_in_the_clear(void **state)
{
	static const struct {
		const char *endpoint;
		bool clear;
	} rows[] = {
		{"http://192.0.2.1:9000", true},
		{"https://192.0.2.1:9000", false},
		{"http://127.0.0.1:9000", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_close) struct store *store = NULL;
		struct store_health health = {0};
		struct err err = {0};

		setenv("AWS_ENDPOINT_URL_S3", rows[i].endpoint, 1);
		assert_int_equal(store_open("s3://bucket", false, false, &store, NULL, &err), 0);
		store->ops->read_health(store, &health);
		assert_int_equal(health.in_the_clear, rows[i].clear);
	}
}

static void test_as_many_headers_as_there_may_be(void **state)
{
	(void)state;
	for (unsigned count = 15; count <= 17; count++) {
		auto_(store_close) struct store *store = NULL;
		char text[512] = "";
		struct err err = {0};
		int result;

		for (unsigned i = 0; i < count; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "x-%u: v,", i);
		setenv("REPRIEVE_S3_HEADERS", text, 1);
		result = store_open("s3://bucket", false, false, &store, NULL, &err);
		assert_int_equal(result, count > 16 ? -1 : 0);
		if (result < 0)
			assert_non_null(strstr(err.text, "more than 16"));
	}
}

static void test_no_checksum(void **state)
{
	auto_(store_close) struct store *store = NULL;
	struct err err = {0};

	(void)state;
	setenv("REPRIEVE_S3_CHECKSUM", "off", 1);
	store = open_store("s3://bucket", false);
	assert_int_equal(put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_null(strstr(bucket.last_put, "checksum"));
	store_close(store);
	/* As for AWS's own tools. */
	unsetenv("REPRIEVE_S3_CHECKSUM");
	setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required", 1);
	store = open_store("s3://bucket", false);
	unsetenv("AWS_REQUEST_CHECKSUM_CALCULATION");
	assert_int_equal(put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_null(strstr(bucket.last_put, "checksum"));
}

static void test_bad_settings(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{"REPRIEVE_S3_HEADERS", "no colon"},
		{"REPRIEVE_S3_HEADERS", "Authorization: x"},
		{"REPRIEVE_S3_HEADERS", "x-amz-date: x"},
		{"REPRIEVE_S3_HEADERS", "x y: z"},
		{"REPRIEVE_S3_CONDITIONAL", "maybe"},
		{"REPRIEVE_S3_CHECKSUM", "maybe"},
		{"AWS_REQUEST_PAYER", "me"},
		{"AWS_REGION", "no/region"},
		{"AWS_ENDPOINT_URL_S3", "localhost:9000"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store *store = NULL;
		struct err err = {0};

		set_up(state);
		setenv(rows[i].name, rows[i].value, 1);
		assert_int_equal(store_open("s3://bucket", false, false, &store, NULL, &err), -1);
		if (err.kind != ERR_INVALID)
			fail_msg("%s: %s", rows[i].value, err.text);
	}
}

/* --- when it goes wrong --- */

static void test_faults(void **state)
{
	static const struct {
		const char *faults;
		bool put;
		enum err_kind kind;
	} rows[] = {
		{"5", true, ERR_NONE},
		{"X", true, ERR_NONE},
		{"2", true, ERR_NONE},
		{"g", true, ERR_NONE},
		{"c", true, ERR_NONE},
		{"5X2c", true, ERR_NONE},
		{"d", false, ERR_DENIED},
		/* The deed is done, the answer is lost: the next try meets our own object. The
		 * layer above reads it back. */
		{".L", false, ERR_EXISTS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_close) struct store *store = NULL;
		struct err err = {0};
		int result;

		set_up(state);
		store = open_store("s3://bucket", false);
		bucket.faults = rows[i].faults;
		result = put_text(store, "k", "v", STORE_IF_ABSENT, &err);
		if ((result == 0) != rows[i].put || err.kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].faults, err.text);
		bucket.faults = NULL;
		if (rows[i].kind != ERR_DENIED)
			check_get(store, "k", 0, STORE_TO_END, "v");
	}
}

static void test_list_faults(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);
	auto_(store_listing_release) struct store_listing listing = {0};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < 7; i++) {
		char key[] = "k0";

		key[1] = (char)('0' + i);
		assert_int_equal(put_text(store, key, "v", STORE_UNIQUE, &err), 0);
	}
	/* In the middle of the pages; garbage is tried again as well. */
	bucket.faults = ".X5g2";
	check_list(store, "k", STORE_ALL, "k0:1 k1:1 k2:1 k3:1 k4:1 k5:1 k6:1 ");
	/* Never a part of a list. */
	bucket.faults = ".d";
	assert_int_equal(store->ops->list(store, "k", STORE_ALL, &listing, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(listing.count, 0);
}

/* A cache in front of the store that does not mind the token sends the first page for ever. */
static void test_endless_list(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);
	auto_(store_listing_release) struct store_listing listing = {0};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < PAGE + 1; i++) {
		char key[] = "k0";

		key[1] = (char)('0' + i);
		assert_int_equal(put_text(store, key, "v", STORE_UNIQUE, &err), 0);
	}
	bucket.no_tokens = true;
	assert_int_equal(store->ops->list(store, "k", STORE_ALL, &listing, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_non_null(strstr(err.text, "does not end"));
	assert_int_equal(listing.count, 0);
}

static void test_denied_is_not_missing(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);

	(void)state;
	bucket.faults = "d";
	check_get_fails(store, "none", 0, STORE_TO_END, ERR_DENIED);
}

static void test_no_bucket(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://elsewhere", false);
	struct store *created = NULL;
	struct err err = {0};

	(void)state;
	check_get_fails(store, "k", 0, STORE_TO_END, ERR_INVALID);
	assert_int_equal(store_open("s3://elsewhere", true, false, &created, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void test_no_ranges(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);
	struct err err = {0};

	(void)state;
	bucket.no_ranges = true;
	assert_int_equal(put_text(store, "k", "0123456789", STORE_UNIQUE, &err), 0);
	check_get_fails(store, "k", 2, 3, ERR_FAILED);
}

/* Something in between may have answered for it: the next answer may be the store's. */
static void test_a_range_that_is_ignored_once(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);
	struct err err = {0};

	(void)state;
	assert_int_equal(put_text(store, "k", "0123456789", STORE_UNIQUE, &err), 0);
	for (int twice = 0; twice < 2; twice++) {
		bucket.faults = twice ? "rr" : "r";
		atomic_store(&bucket.requests, 0);
		check_get(store, "k", 2, 3, "234");
		assert_int_equal(atomic_load(&bucket.requests), twice ? 3 : 2);
		bucket.faults = twice ? "rr" : "r";
		check_read(store, "k", 2, "234");
		assert_int_equal(atomic_load(&bucket.requests), twice ? 6 : 4);
	}
	/* What the store has cut short is not asked for again. */
	atomic_store(&bucket.requests, 0);
	check_get_fails(store, "k", 8, 3, ERR_CORRUPT);
	assert_int_equal(atomic_load(&bucket.requests), 1);
}

static void test_region(void **state)
{
	auto_(store_close) struct store *store = open_store("s3://bucket", false);
	struct err err = {0};

	(void)state;
	text_set(bucket.region, sizeof(bucket.region), "/eu-west-1/");
	/* The header is taken without the slashes. */
	assert_int_equal(put_text(store, "k", "v", STORE_UNIQUE, &err), -1);
	text_set(bucket.region, sizeof(bucket.region), "eu-west-1");
	atomic_store(&bucket.requests, 0);
	assert_int_equal(put_text(store, "k", "v", STORE_UNIQUE, &err), 0);
	assert_int_equal(atomic_load(&bucket.requests), 2);
	/* It is remembered. */
	check_get(store, "k", 0, STORE_TO_END, "v");
	assert_int_equal(atomic_load(&bucket.requests), 3);
}

static void test_expired(void **state)
{
	char directory[] = "/tmp/test-s3-XXXXXX";
	auto_(store_close) struct store *store = NULL;
	auto_free char *path = NULL;
	struct err err = {0};
	static const char old[] = "[default]\naws_access_key_id=OLDKEY\naws_secret_access_key=x\n";
	static const char new[] = "[default]\naws_access_key_id=NEWKEY\naws_secret_access_key=x\n";

	(void)state;
	assert_non_null(mkdtemp(directory));
	path = text_format("%s/credentials", directory);
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
	assert_int_equal(file_write(path, old, strlen(old), &err), 0);
	store = open_store("s3://bucket", false);
	assert_int_equal(put_text(store, "k", "1", STORE_UNIQUE, &err), 0);
	text_set(bucket.expired, sizeof(bucket.expired), "OLDKEY");
	/* No others: it is said. */
	assert_int_equal(put_text(store, "k", "2", STORE_UNIQUE, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.text, "ExpiredToken"));
	assert_int_equal(file_write(path, new, strlen(new), &err), 0);
	assert_int_equal(put_text(store, "k", "3", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(bucket.last_put, "Credential=NEWKEY/"));
	file_remove_tree(directory, &err);
}

static void test_without_conditions(void **state)
{
	struct store *store = NULL;
	struct err err = {0};

	(void)state;
	bucket.no_conditions = true;
	assert_int_equal(store_open("s3://bucket", true, false, &store, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_UNFIT);
	assert_non_null(strstr(err.text, "REPRIEVE_S3_CONDITIONAL=off"));
	/* Who only reads does not need it. */
	store = open_store("s3://bucket", false);
	store_close(store);
	setenv("REPRIEVE_S3_CONDITIONAL", "off", 1);
	store = open_store("s3://bucket", true);
	assert_int_equal(put_text(store, "k", "1", STORE_IF_ABSENT, &err), 0);
	assert_int_equal(put_text(store, "k", "2", STORE_IF_ABSENT, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	check_get(store, "k", 0, STORE_TO_END, "1");
	store_close(store);
}

/* --- a real one --- */

static char *real_url, *real_variables[5];
static const char *const real_names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
					 "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_REGION"};

static void remember_real(void)
{
	const char *url = getenv("REPRIEVE_TEST_S3");

	real_url = url ? text_copy(url) : NULL;
	for (size_t i = 0; i < 5; i++) {
		const char *value = getenv(real_names[i]);

		real_variables[i] = value ? text_copy(value) : NULL;
	}
}

static int set_up_real(void **state)
{
	set_up(state);
	for (size_t i = 0; i < 5; i++)
		if (real_variables[i])
			setenv(real_names[i], real_variables[i], 1);
		else
			unsetenv(real_names[i]);
	return 0;
}

static void test_real(void **state)
{
	static const char *const prefixes[] = {
		"plain",
		"with blanks  in it",
		"\xc3\xbc/\xe1\x88\xb4",
		"a+b",
		"a*b",
		"a:b",
		"a=b",
		"a@b",
		"a!b$c'd(e)f,g;h",
		"a&b",
		"a~b",
		"a%b",
		"%41",
		"a?b#c",
		"a\"b<c>d",
		"[a]{b}|c^d`e\\f",
	};
	char nonce[33];

	(void)state;
	if (!real_url)
		skip();
	random_hex(nonce);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		auto_free char *url = text_format("%s/%s/%s", real_url, nonce, prefixes[i]);

		check_contract(url);
	}
	for (int i = 0; i < 5; i++)
		check_race(real_url);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_contract, set_up),
		cmocka_unit_test_setup(test_race, set_up),
		cmocka_unit_test_setup(test_headers, set_up),
		cmocka_unit_test_setup(test_described, set_up),
		cmocka_unit_test_setup(test_in_the_clear, set_up),
		cmocka_unit_test_setup(test_as_many_headers_as_there_may_be, set_up),
		cmocka_unit_test_setup(test_no_checksum, set_up),
		cmocka_unit_test_setup(test_bad_settings, set_up),
		cmocka_unit_test_setup(test_faults, set_up),
		cmocka_unit_test_setup(test_list_faults, set_up),
		cmocka_unit_test_setup(test_endless_list, set_up),
		cmocka_unit_test_setup(test_denied_is_not_missing, set_up),
		cmocka_unit_test_setup(test_no_bucket, set_up),
		cmocka_unit_test_setup(test_no_ranges, set_up),
		cmocka_unit_test_setup(test_a_range_that_is_ignored_once, set_up),
		cmocka_unit_test_setup(test_region, set_up),
		cmocka_unit_test_setup(test_expired, set_up),
		cmocka_unit_test_setup(test_without_conditions, set_up),
		cmocka_unit_test_setup(test_real, set_up_real),
	};
	struct err err = {0};
	int failed;

	remember_real();
	if (httpd_start(&(struct httpd_options){.handler = answer}, &bucket.httpd, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	set_up(NULL);
	httpd_stop(bucket.httpd);
	free(real_url);
	for (size_t i = 0; i < 5; i++)
		free(real_variables[i]);
	return failed;
}
