/* az:// against a container in memory: with a key, with a signature in the URL, and with tokens of
 * each kind of identity, whose requests are looked at to the byte. */
#include "err_kind.h"
#include "memory_bucket.h"

static void list_object(struct bytes *out, const char *key, size_t size)
{
	bytes_format(out, NULL,
		     "<Blob><Name>%s</Name><Properties><Content-Length>%zu</Content-Length>"
		     "</Properties></Blob>",
		     key, size);
}

static void list_folded(struct bytes *out, const char *key)
{
	bytes_format(out, NULL, "<BlobPrefix><Name>%s</Name></BlobPrefix>", key);
}

static void list_end(struct bytes *out, const char *next)
{
	bytes_format(out, NULL, "</Blobs><NextMarker>%s</NextMarker></EnumerationResults>", next);
}

static const struct bucket_dialect dialect = {
	.root = "/box/",
	.mark = "x-ms-request-id",
	.range = "x-ms-range",
	.condition = "If-None-Match",
	.condition_value = "*",
	.taken_status = 409,
	.taken_code = "BlobAlreadyExists",
	.missing_code = "BlobNotFound",
	.marker = "marker",
	.list_object = list_object,
	.list_folded = list_folded,
	.list_end = list_end,
	.list_begin = "<EnumerationResults><Blobs>",
};

static char directory[] = "/tmp/reprieve-test-XXXXXX";

static int set_up(void **state)
{
	static const char *const variables[] = {
		"AZURE_STORAGE_CONNECTION_STRING",
		"AZURE_STORAGE_ACCOUNT",
		"AZURE_STORAGE_KEY",
		"AZURE_STORAGE_SAS_TOKEN",
		"AZURE_TENANT_ID",
		"AZURE_CLIENT_ID",
		"AZURE_CLIENT_SECRET",
		"AZURE_FEDERATED_TOKEN_FILE",
		"AZURE_AUTHORITY_HOST",
		"IDENTITY_ENDPOINT",
		"IDENTITY_HEADER",
	};
	auto_free char *endpoint = memory_url("");

	(void)state;
	memory_clear();
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	setenv("AZURE_STORAGE_BLOB_ENDPOINT", endpoint, 1);
	return 0;
}

static void use_app_service(void)
{
	auto_free char *url = memory_url("/msi/token");

	setenv("IDENTITY_ENDPOINT", url, 1);
	setenv("IDENTITY_HEADER", "the header", 1);
	snprintf(memory.token, sizeof(memory.token), "none yet");
}

static void test_contract(void **state)
{
	set_up(state);
	setenv("AZURE_STORAGE_KEY", "a2V5", 1);
	memory_check_contract("az://account/box", "account box/jobs/");
	memory_check_contract("az://account/box/some/where", "account box/some/where/jobs/");
	assert_int_equal(memory.tokens, 0);
	set_up(state);
	use_app_service();
	memory_check_contract("az://account/box/p", "account box/p/jobs/");
	/* One token serves all of it. */
	assert_int_equal(memory.tokens, 1);
}

static void test_headers(void **state)
{
	auto_(store_close) struct store *store = NULL;
	struct err err = {0};

	set_up(state);
	setenv("AZURE_STORAGE_KEY", "a2V5", 1);
	store = memory_open("az://account/box");
	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(memory.last_put, "PUT /box/k|Authorization: SharedKey account:"));
	assert_non_null(strstr(memory.last_put, "|x-ms-version: 20"));
	assert_non_null(strstr(memory.last_put, "|x-ms-blob-type: BlockBlob"));
	assert_null(strstr(memory.last_put, "If-None-Match"));
	assert_int_equal(memory_put_text(store, "l", "x", STORE_IF_ABSENT, &err), 0);
	assert_non_null(strstr(memory.last_put, "|If-None-Match: *"));
	memory_check_get(store, "k", 0, STORE_TO_END, "x");
	assert_null(strstr(memory.last, "|x-ms-blob-type"));
	store_close(store);
	set_up(state);
	setenv("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=abc", 1);
	store = memory_open("az://account/box");
	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), 0);
	assert_non_null(strstr(memory.last_put, "|sig: abc"));
	assert_null(strstr(memory.last_put, "Authorization"));
	memory_check_list(store, "", STORE_ALL, "k:1 ");
	assert_non_null(strstr(memory.last, "|sig: abc"));
}

/* --- tokens --- */

#define FORM_END                                                \
	"client_id=client&grant_type=client_credentials&scope=" \
	"https%3A%2F%2Fstorage.azure.com%2F.default\n"
#define FORM_HEAD \
	"POST /ten ant/oauth2/v2.0/token|Content-Type: application/x-www-form-urlencoded\n"

static void check_asked(const char *expected, const char *source)
{
	auto_(store_close) struct store *store = memory_open("az://account/box");
	struct err err = {0};
	char text[300];

	store_describe(store, text, sizeof(text));
	if (!strstr(text, source))
		fail_msg("%s", text);
	if (memory_put_text(store, "k", "x", STORE_UNIQUE, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(memory.asked, expected);
	assert_non_null(strstr(memory.last_put, "|Authorization: Bearer token1"));
}

static void test_identities(void **state)
{
	auto_free char *base = memory_url(""), *slashes = memory_url("//");
	auto_free char *file = text_format("%s/federated", directory);
	struct err err = {0};

	set_up(state);
	assert_int_equal(file_write(file, "asser-tion \n\n", 13, &err), 0);
	snprintf(memory.token, sizeof(memory.token), "none yet");
	setenv("AZURE_TENANT_ID", "ten ant", 1);
	setenv("AZURE_CLIENT_ID", "client", 1);
	setenv("AZURE_CLIENT_SECRET", "s&t", 1);
	setenv("AZURE_AUTHORITY_HOST", slashes, 1);
	check_asked(FORM_HEAD "client_secret=s%26t&" FORM_END, "AZURE_CLIENT_SECRET");

	memory_clear();
	unsetenv("AZURE_CLIENT_SECRET");
	setenv("AZURE_FEDERATED_TOKEN_FILE", file, 1);
	check_asked(FORM_HEAD
		    "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3A"
		    "jwt-bearer&client_assertion=asser-tion&" FORM_END,
		    "AZURE_FEDERATED_TOKEN_FILE");

	set_up(state);
	use_app_service();
	check_asked("GET /msi/token|X-IDENTITY-HEADER: the header\n\n",
		    "managed identity, IDENTITY_ENDPOINT");

	set_up(state);
	snprintf(memory.token, sizeof(memory.token), "none yet");
	setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", base, 1);
	check_asked("GET /metadata/identity/oauth2/token|Metadata: true\n\n",
		    "managed identity of the machine");
	unsetenv("AZURE_POD_IDENTITY_AUTHORITY_HOST");
}

static void check_token_fails(enum err_kind kind, const char *said)
{
	auto_(store_close) struct store *store = memory_open("az://account/box");
	struct err err = {0};

	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), -1);
	if (err.kind != kind || !strstr(err.text, said))
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
}

static void test_token_files_that_hold_none(void **state)
{
	static const char *const texts[] = {"", " \n", "two words"};
	auto_free char *base = memory_url("");
	auto_free char *file = text_format("%s/federated", directory);
	struct err err = {0};

	set_up(state);
	setenv("AZURE_TENANT_ID", "tenant", 1);
	setenv("AZURE_CLIENT_ID", "client", 1);
	setenv("AZURE_AUTHORITY_HOST", base, 1);
	setenv("AZURE_FEDERATED_TOKEN_FILE", "/nonexistent", 1);
	/* Not as if the object were not found. */
	check_token_fails(ERR_DENIED, "AZURE_FEDERATED_TOKEN_FILE");
	setenv("AZURE_FEDERATED_TOKEN_FILE", file, 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(file_write(file, texts[i], strlen(texts[i]), &err), 0);
		check_token_fails(ERR_FAILED, "holds no token");
	}
	assert_int_equal(memory.tokens, 0);
}

static void test_refused_tokens(void **state)
{
	set_up(state);
	use_app_service();
	memory_check_refused_tokens("az://account/box", "401 InvalidAuthenticationInfo",
				    "account box/k");
}

static void test_faults(void **state)
{
	static const struct memory_fault rows[] = {
		{{"503 ServerBusy"}, ERR_NONE, 2},
		{{"reset", "500 InternalError"}, ERR_NONE, 3},
		{{"403 AuthorizationPermissionMismatch"}, ERR_DENIED, 1},
		{{"404 ContainerNotFound"}, ERR_INVALID, 1},
	};

	set_up(state);
	setenv("AZURE_STORAGE_KEY", "a2V5", 1);
	memory_check_faults("az://account/box", rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_opening(void **state)
{
	static const struct {
		const char *name, *value, *said;
	} rows[] = {
		{"AZURE_STORAGE_BLOB_ENDPOINT", "http://192.0.2.1",
		 "no token is sent over plain http"},
		{"AZURE_AUTHORITY_HOST", "http://192.0.2.1",
		 "AZURE_AUTHORITY_HOST is no https URL"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store *store = NULL;
		struct err err = {0};

		set_up(state);
		use_app_service();
		setenv(rows[i].name, rows[i].value, 1);
		assert_int_equal(store_open("az://account/box", false, false, &store, NULL, &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
		if (!strstr(err.text, rows[i].said))
			fail_msg("%s", err.text);
		/* With a key nothing is asked for. */
		setenv("AZURE_STORAGE_KEY", "a2V5", 1);
		store = memory_open("az://account/box");
		store_close(store);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_identities),
		cmocka_unit_test(test_token_files_that_hold_none),
		cmocka_unit_test(test_refused_tokens),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_opening),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
