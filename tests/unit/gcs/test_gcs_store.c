/* gs:// against a bucket in memory, which wants a token, as the real service does. */
#include "memory_bucket.h"

#include "base/json.h"
#include "err_kind.h"

/* Of one page: what it folds stands behind the objects. */
static struct {
	bool has_objects;
	char folded[500];
} page;

static void list_object(struct bytes *out, const char *key, size_t size)
{
	bytes_format(out, NULL, "%s{\"name\":\"%s\",\"size\":\"%zu\"}", page.has_objects ? "," : "",
		     key, size);
	page.has_objects = true;
}

static void list_folded(struct bytes *out, const char *key)
{
	size_t used = strlen(page.folded);

	(void)out;
	snprintf(page.folded + used, sizeof(page.folded) - used, "%s\"%s\"", used ? "," : "", key);
}

static void list_end(struct bytes *out, const char *next)
{
	bytes_format(out, NULL, "],\"prefixes\":[%s],\"nextPageToken\":\"%s\"}", page.folded, next);
	memset(&page, 0, sizeof(page));
}

static const struct bucket_dialect dialect = {
	.root = "/storage/v1/b/bucket/o/",
	.mark = "x-goog-generation",
	.range = "Range",
	.condition = "ifGenerationMatch",
	.condition_value = "0",
	.taken_status = 412,
	.taken_code = "conditionNotMet",
	.missing_code = "notFound No such object",
	.marker = "pageToken",
	.list_object = list_object,
	.list_folded = list_folded,
	.list_end = list_end,
	.list_begin = "{\"kind\":\"storage#objects\",\"items\":[",
	.is_json = true,
};

static char directory[] = "/tmp/reprieve-test-XXXXXX";

/* Of another issuer, whose token is in a file. */
static void use_credentials(void)
{
	auto_free char *endpoint = memory_url(""), *url = memory_url("/token");
	auto_free char *subject = text_format("%s/subject", directory);
	auto_free char *file = text_format("%s/credentials.json", directory), *text = NULL;
	struct err err = {0};

	text = text_format("{\"type\":\"external_account\",\"audience\":\"a\","
			   "\"subject_token_type\":\"t\",\"token_url\":\"%s\","
			   "\"credential_source\":{\"file\":\"%s\"}}",
			   url, subject);
	assert_int_equal(file_write(subject, "subject", 7, &err), 0);
	assert_int_equal(file_write(file, text, strlen(text), &err), 0);
	unsetenv("STORAGE_EMULATOR_HOST");
	setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", endpoint, 1);
	setenv("GOOGLE_APPLICATION_CREDENTIALS", file, 1);
	snprintf(memory.token, sizeof(memory.token), "none yet");
}

static void set_up(void **state)
{
	(void)state;
	memory_clear();
	unsetenv("GOOGLE_CLOUD_QUOTA_PROJECT");
	use_credentials();
}

static void test_contract(void **state)
{
	set_up(state);
	memory_check_contract("gs://bucket", "gs://bucket/jobs/");
	memory_check_contract("gs://bucket/some/where", "gs://bucket/some/where/jobs/");
	/* One token serves all of a store. */
	assert_int_equal(memory.tokens, 2);
}

static void test_headers(void **state)
{
	auto_(store_close) struct store *store = NULL;
	struct err err = {0};

	set_up(state);
	store = memory_open("gs://bucket");
	assert_int_equal(memory_put_text(store, "k", "123456789", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(memory.last_put, "|Content-Type: application/octet-stream"));
	assert_null(strstr(memory.last_put, "x-goog-user-project"));
	assert_int_equal(memory_put_text(store, "l", "123456789", STORE_IF_ABSENT, &err), 0);
	assert_non_null(strstr(memory.last_put, "|Content-Type: multipart/related; boundary="));
	memory_check_get(store, "k", 0, STORE_TO_END, "123456789");
	store_close(store);
	use_credentials();
	setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer", 1);
	store = memory_open("gs://bucket");
	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(memory.last_put, "|Authorization: Bearer token2|"));
	assert_non_null(strstr(memory.last_put, "|x-goog-user-project: payer"));
}

static void test_refused_tokens(void **state)
{
	set_up(state);
	memory_check_refused_tokens("gs://bucket", "401 authError", "gs://bucket/k");
}

static void test_faults(void **state)
{
	static const struct memory_fault rows[] = {
		{{"503 ServiceUnavailable"}, ERR_NONE, 2},
		{{"reset", "500 InternalError"}, ERR_NONE, 3},
		{{"403 AccessDenied"}, ERR_DENIED, 1},
		{{"404 notFound"}, ERR_INVALID, 1},
	};

	set_up(state);
	memory_check_faults("gs://bucket", rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_opening(void **state)
{
	auto_(store_close) struct store *store = NULL;
	auto_free char *endpoint = memory_url("");
	struct store *none = NULL;
	struct err err = {0};
	char text[300];

	set_up(state);
	setenv("STORAGE_EMULATOR_HOST", endpoint, 1);
	memory.token[0] = '\0';
	store = memory_open("gs://bucket");
	store_describe(store, text, sizeof(text));
	assert_non_null(strstr(text, endpoint));
	assert_non_null(strstr(text, "credentials: none, because STORAGE_EMULATOR_HOST is set"));
	store_close(store);
	/* Whether an emulator keeps the condition is tried before it is written to. */
	assert_int_equal(store_open("gs://bucket", true, true, &store, NULL, &err), 0);
	store_close(store);
	assert_int_equal(memory.count, 0);
	assert_int_equal(store_open("gs://bucket", true, false, &store, NULL, &err), 0);
	store_close(store);
	assert_int_equal(memory.count, 1);
	use_credentials();
	store = memory_open("gs://bucket");
	store_describe(store, text, sizeof(text));
	assert_non_null(strstr(text, "credentials: GOOGLE_APPLICATION_CREDENTIALS, file "));
	setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent", 1);
	assert_int_equal(store_open("gs://bucket", false, false, &none, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(store_open("gs://b", false, false, &none, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static int start(void **state)
{
	(void)state;
	unsetenv("http_proxy");
	return mkdtemp(directory) ? memory_start(&dialect) : -1;
}

static int stop(void **state)
{
	struct err err;

	(void)state;
	memory_clear();
	httpd_stop(memory.httpd);
	return file_remove_tree(directory, &err);
}

/* Nothing is asked of the store then, and whoever reads the error knows whose fault it is. */
static void test_no_token_to_be_had(void **state)
{
	auto_(store_close) struct store *store = NULL;
	auto_free char *subject = text_format("%s/subject", directory);
	struct err err = {0};

	set_up(state);
	store = memory_open("gs://bucket");
	assert_int_equal(file_write(subject, "no token", 8, &err), 0);
	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), -1);
	assert_non_null(strstr(err.text, "Google credentials (GOOGLE_APPLICATION_CREDENTIALS"));
	assert_int_equal(memory.requests, 0);
	/* Nor after one that is refused and cannot be replaced. */
	assert_int_equal(file_write(subject, "subject", 7, &err), 0);
	err = (struct err){0};
	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), 0);
	assert_int_equal(file_write(subject, "no token", 8, &err), 0);
	snprintf(memory.token, sizeof(memory.token), "another");
	memory.requests = 0;
	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), -1);
	assert_int_equal(memory.requests, 1);
}

static void check_source(const char *expected)
{
	auto_(store_close) struct store *store = memory_open("gs://bucket");
	char text[400];

	store_describe(store, text, sizeof(text));
	if (!strstr(text, expected))
		fail_msg("%s, not %s", text, expected);
}

/* The file that is named, else what gcloud left, else the machine's. */
static void test_where_credentials_come_from(void **state)
{
	auto_free char *named = text_format("%s/credentials.json", directory);
	auto_free char *left = text_format("%s/application_default_credentials.json", directory);
	auto_free char *below = text_format("%s/.config/gcloud", directory);
	auto_free char *hidden = text_format("%s/application_default_credentials.json", below);
	struct store *none = NULL;
	struct err err = {0};

	set_up(state);
	setenv("HOME", directory, 1);
	setenv("CLOUDSDK_CONFIG", directory, 1);
	check_source("GOOGLE_APPLICATION_CREDENTIALS, file ");
	unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
	check_source("the metadata server, because there is no file of credentials");
	assert_int_equal(rename(named, left), 0);
	check_source("credentials: file ");
	unsetenv("CLOUDSDK_CONFIG");
	check_source("the metadata server, because there is no file of credentials");
	assert_int_equal(file_make_directories(below, 0755, &err), 0);
	assert_int_equal(rename(left, hidden), 0);
	check_source("/.config/gcloud/application_default_credentials.json");
	unsetenv("HOME");
	check_source("the metadata server, because there is no file of credentials");
	assert_int_equal(file_write(hidden, "[]", 2, &err), 0);
	setenv("GOOGLE_APPLICATION_CREDENTIALS", hidden, 1);
	assert_int_equal(store_open("gs://bucket", false, false, &none, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "is no JSON object"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_refused_tokens),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_opening),
		cmocka_unit_test(test_no_token_to_be_had),
		cmocka_unit_test(test_where_credentials_come_from),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
