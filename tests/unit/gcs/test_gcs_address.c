/* gs:// URLs and the variables that move the endpoint. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "storage/gcs/gcs.h"

// clang-format off
static const struct {
	const char *url;
	struct gcs_environment environment;
	const char *endpoint; /* NULL: ERR_INVALID */
	const char *prefix;
	bool anonymous;
} rows[] = {
	{"gs://bucket", {0}, "https://storage.googleapis.com", "", false},
	{"gs://bucket/a/b/", {0}, "https://storage.googleapis.com", "a/b/", false},
	{"gs://my.dotted_bucket-1//a", {0}, "https://storage.googleapis.com", "a/", false},
	{"gs://bucket", {"http://localhost:9000/", NULL}, "http://localhost:9000", "", true},
	{"gs://bucket", {"localhost:9000", NULL}, "http://localhost:9000", "", true},
	{"gs://bucket", {"ftp://x", NULL}, NULL, NULL, false},
	{"gs://bucket", {"http://", NULL}, NULL, NULL, false},
	{"gs://bucket", {":9000", NULL}, NULL, NULL, false},
	{"gs://bucket", {"/", NULL}, NULL, NULL, false},
	{"gs://bucket", {NULL, "https:///x"}, NULL, NULL, false},
	{"gs://bucket", {NULL, "https://a\vb"}, NULL, NULL, false},
	{"gs://bucket", {NULL, "https://private.example/"}, "https://private.example", "", false},
	{"gs://bucket", {NULL, "http://127.0.0.1:1"}, "http://127.0.0.1:1", "", false},
	{"gs://bucket", {NULL, "http://127.0.0.1.example"}, NULL, NULL, false},
	{"gs://bucket", {NULL, "http://private.example"}, NULL, NULL, false},
	{"gs://bucket", {NULL, "http://localhost@evil.example"}, NULL, NULL, false},
	{"gs://", {0}, NULL, NULL, false},
	{"gs://Bucket", {0}, NULL, NULL, false},
	{"gs://b/x", {0}, NULL, NULL, false},
	{"gs://..x/x", {0}, NULL, NULL, false},
	{"gs://bucket/a?b", {0}, NULL, NULL, false},
	{"gs://bucket/a//b", {0}, NULL, NULL, false},
};
// clang-format on

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(gcs_address_release) struct gcs_address address = {0};
		struct err err = {0};
		int result = gcs_address_read(rows[i].url, &rows[i].environment, &address, &err);

		if ((result < 0) != !rows[i].endpoint)
			fail_msg("row %zu: %s", i, err.text);
		if (result < 0) {
			assert_int_equal(err.kind, ERR_INVALID);
			continue;
		}
		assert_string_equal(address.endpoint, rows[i].endpoint);
		assert_string_equal(address.prefix, rows[i].prefix);
		assert_int_equal(address.anonymous, rows[i].anonymous);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
