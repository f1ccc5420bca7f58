/* JSON from outside: what is accepted, what is refused, and which member the refusal names. */
#include "base/json.h"

#include <stdlib.h>

#include "unit.h"

#include <string.h>

static json_t *parse(const char *text, struct err *err)
{
	return json_parse(text, strlen(text), err);
}

static void test_malformed_is_corrupt(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[1,]",
		"{\"a\":1,\"a\":2}",
		"{} x",
		"<html>",
		"nul",
		"{\"a\":\"\\ud800\"}",
		"\"\xff\xfe\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err err = {0};

		assert_null(parse(texts[i], &err));
		assert_int_equal(err.kind, ERR_CORRUPT);
		assert_non_null(strstr(err.text, "line"));
	}
}

static void test_size_is_kept(void **state)
{
	auto_json json_t *value = json_parse("{\"a\":1}garbage", 7, NULL);

	(void)state;
	assert_non_null(value);
	assert_null(json_parse("{\"a\":1}", 6, NULL));
}

static void test_getters_check_type_and_range(void **state)
{
	auto_json json_t *object = parse("{\"t\":\"x\",\"n\":5,\"m\":-1,\"r\":1.5,\"l\":[1],"
					 "\"big\":9223372036854775807}",
					 NULL);
	struct err err = {0};
	const char *text;
	json_t *list;
	uint64_t number = 0;

	(void)state;
	assert_non_null(object);
	assert_int_equal(json_get_text(object, "t", &text, &err), 0);
	assert_string_equal(text, "x");
	assert_int_equal(json_get_text(object, "n", &text, &err), -1);
	assert_non_null(strstr(err.text, "\"n\""));
	assert_int_equal(err.kind, ERR_CORRUPT);
	assert_int_equal(json_get_u64(object, "n", 5, &number, &err), 0);
	assert_int_equal(number, 5);
	assert_int_equal(json_get_u64(object, "n", 4, &number, &err), -1);
	assert_int_equal(json_get_u64(object, "m", 9, &number, &err), -1);
	assert_int_equal(json_get_u64(object, "r", 9, &number, &err), -1);
	assert_int_equal(json_get_u64(object, "t", 9, &number, &err), -1);
	assert_int_equal(json_get_u64(object, "missing", 9, &number, &err), -1);
	assert_non_null(strstr(err.text, "\"missing\""));
	assert_int_equal(json_get_u64(object, "big", UINT64_MAX, &number, &err), 0);
	assert_true(number == INT64_MAX);
	assert_int_equal(json_get_array(object, "l", &list, &err), 0);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(json_get_array(object, "t", &list, &err), -1);
}

static void test_what_is_not_an_object_has_no_members(void **state)
{
	auto_json json_t *array = parse("[1,2]", NULL);
	struct err err = {0};
	const char *text;

	(void)state;
	assert_non_null(array);
	assert_int_equal(json_get_text(array, "t", &text, &err), -1);
	assert_string_equal(json_text_or(array, "t", "otherwise"), "otherwise");
	assert_int_equal(json_get_text(NULL, "t", &text, &err), -1);
}

static void test_optional_members(void **state)
{
	auto_json json_t *object =
		parse("{\"t\":\"x\",\"n\":-7,\"b\":true,\"f\":false,\"z\":null}", NULL);

	(void)state;
	assert_string_equal(json_text_or(object, "t", "o"), "x");
	assert_string_equal(json_text_or(object, "n", "o"), "o");
	assert_string_equal(json_text_or(object, "z", "o"), "o");
	assert_int_equal(json_number_or(object, "n", 1), -7);
	assert_int_equal(json_number_or(object, "t", 1), 1);
	assert_int_equal(json_number_or(object, "z", 1), 1);
	assert_true(json_true_or(object, "b", false));
	assert_false(json_true_or(object, "f", true));
	assert_true(json_true_or(object, "t", true));
	assert_false(json_true_or(object, "missing", false));
}

static void test_seconds(void **state)
{
	static const struct {
		const char *text;
		int64_t milliseconds;
	} rows[] = {
		{"{\"s\":1.5}", 1500},
		{"{\"s\":-2}", -2000},
		{"{\"s\":0}", 0},
		/* Out of the range of an integer: as much as can still be added up. */
		{"{\"s\":1e20}", 31622400000000000},
		{"{\"s\":-1e300}", -31622400000000000},
		{"{\"s\":\"1\"}", -7},
		{"{\"s\":null}", -7},
		{"{}", -7},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *object = json_loads(rows[i].text, 0, NULL);

		assert_int_equal(json_seconds_or(object, "s", -7), rows[i].milliseconds);
	}
}

static void test_numbers_are_printed_as_people_write_them(void **state)
{
	static const struct {
		double value;
		const char *rounded;
	} rows[] = {
		{17.611999999999998, "[{\"a\":17.612}]"},
		{0.05649, "[{\"a\":0.056}]"},
		{-2.0006, "[{\"a\":-2.001}]"},
		{30, "[{\"a\":30.0}]"},
		{0, "[{\"a\":0.0}]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *value = json_pack("[{s:f}]", "a", rows[i].value);
		char *text = json_line(value);

		assert_string_equal(text, rows[i].rounded);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed_is_corrupt),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_numbers_are_printed_as_people_write_them),
		cmocka_unit_test(test_size_is_kept),
		cmocka_unit_test(test_getters_check_type_and_range),
		cmocka_unit_test(test_what_is_not_an_object_has_no_members),
		cmocka_unit_test(test_optional_members),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
