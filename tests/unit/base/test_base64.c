/* Vectors of RFC 4648 section 10, and what is not base64. */
#include "base/digest.h"

#include "base/cleanup.h"

#include "unit.h"

#include <string.h>

static void test_vectors_go_both_ways(void **state)
{
	static const struct {
		const char *bytes, *text;
		// clang-format off
	} rows[] = {
		{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe\n", "//4K"},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *text = base64_encode(rows[i].bytes, strlen(rows[i].bytes));
		auto_(bytes_release) struct bytes bytes = {0};

		assert_string_equal(text, rows[i].text);
		assert_true(base64_decode(rows[i].text, &bytes));
		assert_int_equal(bytes.size, strlen(rows[i].bytes));
		assert_memory_equal(bytes.data, rows[i].bytes, bytes.size);
	}
}

static void test_what_is_malformed_is_refused(void **state)
{
	static const char *const rows[] = {"Zg",   "Zg=",  "Z===",     "====", "Zm9v\n",
					   " Zm9", "Zm9-", "Zg==Zg==", "=Zg="};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(bytes_release) struct bytes bytes = {0};

		assert_false(base64_decode(rows[i], &bytes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_go_both_ways),
		cmocka_unit_test(test_what_is_malformed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
