/*
 * The s3:// backend. Against a bucket in memory that can be told to misbehave; and, where
 * REPRIEVE_TEST_S3 names a bucket ("s3://bucket", with the usual AWS_* beside it), the same and
 * more against that real store.
 */
#include "memory_bucket.h"

#include "storage/http/xml.h"

#include <unistd.h>

/* --- the bucket's dialect --- */

static struct {
	char region[32];  /* other regions in the signature are answered with 301 */
	char expired[32]; /* this access key is answered with ExpiredToken */
} bucket;

static bool refuse(const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *authorization = httpd_request_header(request, "Authorization");

	if (!authorization) {
		memory_error(reply, 403, "AccessDenied");
	} else if (bucket.expired[0] && strstr(authorization, bucket.expired)) {
		memory_error(reply, 400, "ExpiredToken");
	} else if (bucket.region[0] && !strstr(authorization, bucket.region)) {
		httpd_reply_header(reply, "x-amz-bucket-region", "%s", bucket.region);
		memory_error(reply, 301, "PermanentRedirect");
	} else {
		return false;
	}
	return true;
}

static void list_object(struct bytes *out, const char *key, size_t size)
{
	auto_free char *encoded = uri_encode(key, true);

	bytes_format(out, NULL, "<Contents><Key>%s</Key><Size>%zu</Size></Contents>", encoded,
		     size);
}

static void list_folded(struct bytes *out, const char *key)
{
	auto_free char *encoded = uri_encode(key, true);

	bytes_format(out, NULL, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", encoded);
}

/* The token is the last key. */
static void list_end(struct bytes *out, const char *next)
{
	bytes_format(out, NULL, "<IsTruncated>%s</IsTruncated><NextContinuationToken>",
		     next[0] ? "true" : "false");
	for (; *next; next++)
		bytes_format(out, NULL, strchr("<>&\"'", *next) ? "&#%d;" : "%c", *next);
	bytes_format(out, NULL, "</NextContinuationToken></ListBucketResult>");
}

static struct bucket_dialect dialect = {
	.root = "/bucket/",
	.mark = "ETag",
	.range = "Range",
	.condition = "If-None-Match",
	.condition_value = "*",
	.taken_status = 412,
	.taken_code = "PreconditionFailed",
	.missing_code = "NoSuchKey",
	.marker = "continuation-token",
	.refuse = refuse,
	.list_object = list_object,
	.list_folded = list_folded,
	.list_end = list_end,
	.list_begin = "<ListBucketResult><EncodingType>url</EncodingType>",
	.put_status = 200,
};

/* --- fixtures --- */

static int set_up(void **state)
{
	auto_free char *endpoint = memory_url("");

	(void)state;
	memory_clear();
	memset(&bucket, 0, sizeof(bucket));
	dialect.condition = "If-None-Match";
	dialect.range = "Range";
	dialect.marker = "continuation-token";
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

static void check_read(struct store *store, const char *key, uint64_t offset, const char *expected)
{
	auto_(bytes_release) struct bytes out = {0};
	struct store_gathering gathering = {&out, 0};
	const struct store_taker taker = {store_gather, &gathering};
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
	struct store_gathering gathering = {&out, 0};
	const struct store_taker taker = {store_gather, &gathering};
	struct err err = {0};

	assert_int_equal(store_read(store, key, offset, size, &taker, NULL, &err), -1);
	if (err.kind != kind)
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
	assert_int_equal(out.size, 0);
}

static void check_contract(const char *url, const char *name)
{
	auto_(store_close) struct store *store = NULL;
	struct err err = {0};

	memory_check_contract(url, name);
	store = open_store(url, true);
	assert_int_equal(memory_put_text(store, "jobs/b", "0123456789", STORE_UNIQUE, &err), 0);
	memory_check_get(store, "jobs/b", 10, STORE_TO_END, "");
	memory_check_get(store, "jobs/b", 0, 0, "");
	memory_check_get_fails(store, "jobs/b", 11, 1, ERR_CORRUPT, "");
	check_read(store, "jobs/b", 2, "234");
	check_read(store, "jobs/b", 0, "0123456789");
	check_read(store, "jobs/b", 3, "");
	check_read_fails(store, "jobs/b", 8, 3, ERR_CORRUPT);
	check_read_fails(store, "jobs/b", 11, 1, ERR_CORRUPT);
	check_read_fails(store, "jobs/none", 0, 1, ERR_NOT_FOUND);
	store->ops->remove(store, "jobs/b", NULL, &err);
	memory_clear();
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

	racer->result = memory_put_text(racer->store, racer->key, racer->text, STORE_IF_ABSENT,
					&racer->err);
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
	memory_check_get(store, key, 0, STORE_TO_END, racers[winner].text);
	store->ops->remove(store, key, NULL, &err);
}

static void test_contract(void **state)
{
	(void)state;
	check_contract("s3://bucket", "s3://bucket/jobs/");
	check_contract("s3://bucket/some/where/", "s3://bucket/some/where/jobs/");
	check_contract("s3://bucket/my pre fix/\xc3\xbcn\xc3\xaf+x&y=z?%41#(1)'~\"<>", "jobs/");
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
	store = memory_open("s3://bucket");
	assert_int_equal(memory_put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(memory.last_put, "|x-amz-checksum-crc32c: 4waSgw=="));
	assert_non_null(strstr(memory.last_put, "|x-amz-request-payer: requester"));
	assert_non_null(strstr(memory.last_put, "|x-amz-server-side-encryption: aws:kms"));
	assert_non_null(
		strstr(memory.last_put,
		       "SignedHeaders=host;x-amz-checksum-crc32c;x-amz-content-sha256;x-amz-date;"
		       "x-amz-request-payer;x-amz-server-side-encryption,"));
	assert_null(strstr(memory.last_put, "SK"));
	assert_non_null(strstr(memory.last_put, "|Content-Type: application/octet-stream"));
}

static void test_described(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");
	struct store_health health = {0};
	struct err err = {0};
	char text[256];

	(void)state;
	assert_int_equal(memory_put_text(store, "k", "v", STORE_UNIQUE, &err), 0);
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
	store = memory_open("s3://bucket");
	assert_int_equal(memory_put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_null(strstr(memory.last_put, "checksum"));
	store_close(store);
	/* As for AWS's own tools. */
	unsetenv("REPRIEVE_S3_CHECKSUM");
	setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required", 1);
	store = memory_open("s3://bucket");
	unsetenv("AWS_REQUEST_CHECKSUM_CALCULATION");
	assert_int_equal(memory_put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_null(strstr(memory.last_put, "checksum"));
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
		const char *faults[4];
		bool put;
		enum err_kind kind;
	} rows[] = {
		{{"500 InternalError"}, true, ERR_NONE},
		{{"reset"}, true, ERR_NONE},
		{{"200 InternalError"}, true, ERR_NONE},
		{{"page"}, true, ERR_NONE},
		{{"409 ConditionalRequestConflict"}, true, ERR_NONE},
		{{"500 InternalError", "reset", "200 InternalError", "409 Conflict"},
		 true,
		 ERR_NONE},
		{{"403 AccessDenied"}, false, ERR_DENIED},
		/* The deed is done, the answer is lost: the next try meets our own object. The
		 * layer above reads it back. */
		{{"lost"}, false, ERR_EXISTS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_close) struct store *store = NULL;
		struct err err = {0};
		int result;

		set_up(state);
		store = memory_open("s3://bucket");
		memcpy(memory.faults, rows[i].faults, sizeof(rows[i].faults));
		result = memory_put_text(store, "k", "v", STORE_IF_ABSENT, &err);
		if ((result == 0) != rows[i].put || err.kind != rows[i].kind)
			fail_msg("row %zu: %s", i, err.text);
		if (rows[i].kind != ERR_DENIED)
			memory_check_get(store, "k", 0, STORE_TO_END, "v");
	}
}

static void fail_with(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	const char *const faults[] = {a, b, c, d, e};

	memcpy(memory.faults, faults, sizeof(faults));
	memory.fault = 0;
}

static void test_list_faults(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");
	auto_(store_listing_release) struct store_listing listing = {0};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < 7; i++) {
		char key[] = "k0";

		key[1] = (char)('0' + i);
		assert_int_equal(memory_put_text(store, key, "v", STORE_UNIQUE, &err), 0);
	}
	/* In the middle of the pages; garbage is tried again as well. */
	fail_with("", "reset", "500 InternalError", "page", "200 InternalError");
	memory_check_list(store, "k", STORE_ALL, "k0:1 k1:1 k2:1 k3:1 k4:1 k5:1 k6:1 ");
	/* Never a part of a list. */
	fail_with("", "403 AccessDenied", NULL, NULL, NULL);
	assert_int_equal(store->ops->list(store, "k", STORE_ALL, &listing, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(listing.count, 0);
}

/* A cache in front of the store that does not mind the token sends the first page for ever. */
static void test_endless_list(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");
	auto_(store_listing_release) struct store_listing listing = {0};
	struct err err = {0};

	(void)state;
	for (int i = 0; i < MEMORY_PAGE + 1; i++) {
		char key[] = "k0";

		key[1] = (char)('0' + i);
		assert_int_equal(memory_put_text(store, key, "v", STORE_UNIQUE, &err), 0);
	}
	dialect.marker = "none";
	assert_int_equal(store->ops->list(store, "k", STORE_ALL, &listing, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_non_null(strstr(err.text, "does not end"));
	assert_int_equal(listing.count, 0);
}

static void test_denied_is_not_missing(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");

	(void)state;
	memory.faults[0] = "403 AccessDenied";
	memory_check_get_fails(store, "none", 0, STORE_TO_END, ERR_DENIED, "");
}

static void test_no_bucket(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://elsewhere");
	struct store *created = NULL;
	struct err err = {0};

	(void)state;
	memory_check_get_fails(store, "k", 0, STORE_TO_END, ERR_INVALID, "");
	assert_int_equal(store_open("s3://elsewhere", true, false, &created, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void test_no_ranges(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");
	struct err err = {0};

	(void)state;
	dialect.range = "none";
	assert_int_equal(memory_put_text(store, "k", "0123456789", STORE_UNIQUE, &err), 0);
	memory_check_get_fails(store, "k", 2, 3, ERR_FAILED, "");
}

/* Something in between may have answered for it: the next answer may be the store's. */
static void test_a_range_that_is_ignored_once(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");
	struct err err = {0};

	(void)state;
	assert_int_equal(memory_put_text(store, "k", "0123456789", STORE_UNIQUE, &err), 0);
	for (int twice = 0; twice < 2; twice++) {
		fail_with("whole", twice ? "whole" : NULL, NULL, NULL, NULL);
		memory.requests = 0;
		memory_check_get(store, "k", 2, 3, "234");
		assert_int_equal(memory.requests, twice ? 3 : 2);
		fail_with("whole", twice ? "whole" : NULL, NULL, NULL, NULL);
		check_read(store, "k", 2, "234");
		assert_int_equal(memory.requests, twice ? 6 : 4);
	}
	/* What the store has cut short is not asked for again. */
	memory.requests = 0;
	memory_check_get_fails(store, "k", 8, 3, ERR_CORRUPT, "");
	assert_int_equal(memory.requests, 1);
}

static void test_region(void **state)
{
	auto_(store_close) struct store *store = memory_open("s3://bucket");
	struct err err = {0};

	(void)state;
	text_set(bucket.region, sizeof(bucket.region), "/eu-west-1/");
	/* The header is taken without the slashes. */
	assert_int_equal(memory_put_text(store, "k", "v", STORE_UNIQUE, &err), -1);
	text_set(bucket.region, sizeof(bucket.region), "eu-west-1");
	memory.requests = 0;
	assert_int_equal(memory_put_text(store, "k", "v", STORE_UNIQUE, &err), 0);
	assert_int_equal(memory.requests, 2);
	/* It is remembered. */
	memory_check_get(store, "k", 0, STORE_TO_END, "v");
	assert_int_equal(memory.requests, 3);
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
	store = memory_open("s3://bucket");
	assert_int_equal(memory_put_text(store, "k", "1", STORE_UNIQUE, &err), 0);
	text_set(bucket.expired, sizeof(bucket.expired), "OLDKEY");
	/* No others: it is said. */
	assert_int_equal(memory_put_text(store, "k", "2", STORE_UNIQUE, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.text, "ExpiredToken"));
	assert_int_equal(file_write(path, new, strlen(new), &err), 0);
	assert_int_equal(memory_put_text(store, "k", "3", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(memory.last_put, "Credential=NEWKEY/"));
	file_remove_tree(directory, &err);
}

static void test_without_conditions(void **state)
{
	struct store *store = NULL;
	struct err err = {0};

	(void)state;
	dialect.condition = "none";
	assert_int_equal(store_open("s3://bucket", true, false, &store, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_UNFIT);
	assert_non_null(strstr(err.text, "REPRIEVE_S3_CONDITIONAL=off"));
	/* Who only reads does not need it. */
	store = memory_open("s3://bucket");
	store_close(store);
	setenv("REPRIEVE_S3_CONDITIONAL", "off", 1);
	store = open_store("s3://bucket", true);
	assert_int_equal(memory_put_text(store, "k", "1", STORE_IF_ABSENT, &err), 0);
	assert_int_equal(memory_put_text(store, "k", "2", STORE_IF_ABSENT, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	memory_check_get(store, "k", 0, STORE_TO_END, "1");
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

		check_contract(url, "jobs/");
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
	int failed;

	remember_real();
	if (memory_start(&dialect) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	set_up(NULL);
	httpd_stop(memory.httpd);
	free(real_url);
	for (size_t i = 0; i < 5; i++)
		free(real_variables[i]);
	return failed;
}
