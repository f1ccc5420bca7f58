/* What is asked for, and which answers are taken for it. */
#include "unit.h"

#include "base/cleanup.h"
#include "storage/backend/http_store.h"
#include "storage/backend/object_store.h"

#include <string.h>

static void texts(void **state)
{
	auto_free char *exact = range_request_header(5, 10),
		       *rest = range_request_header(5, STORE_TO_END);
	auto_free char *large = range_request_header(1ULL << 40, 1);

	(void)state;
	assert_string_equal(exact, "bytes=5-14");
	assert_string_equal(rest, "bytes=5-");
	assert_string_equal(large, "bytes=1099511627776-1099511627776");
	assert_null(range_request_header(0, STORE_TO_END));
}

static void answers(void **state)
{
	// clang-format off
	static const struct {
		int status;
		const char *range;
		size_t got;
		uint64_t offset;
		size_t size;
		enum err_kind kind;
	} rows[] = {
		{200, NULL, 7, 0, STORE_TO_END, ERR_NONE},
		{200, NULL, 0, 0, STORE_TO_END, ERR_NONE},
		{206, "bytes 5-9/20", 5, 5, 5, ERR_NONE},
		{206, "bytes 5-19/20", 15, 5, STORE_TO_END, ERR_NONE},
		{206, "bytes 5-7/8", 3, 5, 5, ERR_CORRUPT},
		{206, "bytes 5-19/20", 15, 5, 5, ERR_FAILED},
		{206, "bytes 0-4/20", 5, 5, 5, ERR_FAILED},
		{206, "bytes */20", 5, 5, 5, ERR_FAILED},
		{206, "5-9/20", 5, 5, 5, ERR_FAILED},
		{206, "bytes 99999999999999999999999-9/20", 5, 5, 5, ERR_FAILED},
		{206, NULL, 5, 5, 5, ERR_FAILED},
		{200, NULL, 20, 5, 5, ERR_FAILED},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(http_response_release) struct http_response response = {
			.status = rows[i].status,
		};
		static const char body[20] = "abcdefghijklmnopqrs";
		struct err err = {0};

		bytes_append(&response.body, body, rows[i].got, NULL);
		if (rows[i].range) {
			bytes_append(&response.fields, "content-range", 14, NULL);
			bytes_append(&response.fields, rows[i].range, strlen(rows[i].range) + 1,
				     NULL);
		}
		range_request_check(&response, rows[i].offset, rows[i].size, &err);
		if (err.kind != rows[i].kind)
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* Before its body has come: exactly the bytes that were asked for. */
static void headers_that_fit(void **state)
{
	// clang-format off
	static const struct {
		int status;
		const char *range;
		bool fits;
	} rows[] = {
		{206, "bytes 5-9/20", true},
		{206, "bytes 5-9/*", true},
		{200, "bytes 5-9/20", false},
		{206, "bytes 5-8/20", false},
		{206, "bytes 5-10/20", false},
		{206, "bytes 4-8/20", false},
		{206, "bytes 6-10/20", false},
		{206, "bytes 5-3/20", false},
		{206, "bytes */20", false},
		{206, NULL, false},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(http_response_release) struct http_response response = {
			.status = rows[i].status,
		};

		if (rows[i].range) {
			bytes_append(&response.fields, "content-range", 14, NULL);
			bytes_append(&response.fields, rows[i].range, strlen(rows[i].range) + 1,
				     NULL);
		}
		if (range_request_fits(&response, 5, 5) != rows[i].fits)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(answers),
		cmocka_unit_test(headers_that_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
