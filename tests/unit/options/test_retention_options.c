/* The --keep-* options: what they take. */
#include "options/options.h"

#include <string.h>

#include "unit.h"

static int set(struct retention_rules *options, const char *name, const char *value,
	       struct err *err)
{
	for (const struct option_row *row = retention_rows; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return option_row_set(row, options, value, err);
	fail_msg("no option %s", name);
	return -1;
}

static void test_values(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		bool right;
	} rows[] = {
		// clang-format off
		{"keep-last", "3", true},
		{"keep-last", "0", true},
		{"keep-last", "-1", false},
		{"keep-last", "three", false},
		{"keep-last", "4294967296", false},
		{"keep-within", "7d", true},
		{"keep-within", "90m", true},
		{"keep-within", "0", false},
		{"keep-within", "a week", false},
		{"keep-every", "10000", true},
		{"keep-every", "0", false},
		{"keep-tag", "best", true},
		{"keep-tag", "a b", false},
		{"keep-tag", "", false},
		{"keep-tag",
			"0123456789012345678901234567890123456789012345678901234567890123", true},
		{"keep-tag",
			"01234567890123456789012345678901234567890123456789012345678901234", false},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct retention_rules options = {.keep_last = -1};
		struct err err;

		if ((set(&options, rows[i].name, rows[i].value, &err) == 0) != rows[i].right)
			fail_msg("%s", rows[i].value);
		if (!rows[i].right)
			assert_int_equal(err.kind, ERR_INVALID);
		assert_int_equal(retention_is_given(&options),
				 rows[i].right && options.keep_last != 0);
	}
}

static void test_policy(void **state)
{
	struct retention_rules options = {.keep_last = -1};
	struct forget_policy policy;

	(void)state;
	assert_int_equal(set(&options, "keep-last", "3", NULL), 0);
	assert_int_equal(set(&options, "keep-within", "2h", NULL), 0);
	assert_int_equal(set(&options, "keep-every", "500", NULL), 0);
	for (int i = 0; i < KEEP_TAGS_MOST; i++)
		assert_int_equal(set(&options, "keep-tag", "t", NULL), 0);
	assert_int_equal(set(&options, "keep-tag", "t", NULL), -1);
	policy = retention_policy(&options);
	assert_int_equal(policy.keep_last, 3);
	assert_int_equal(policy.keep_within_ms, 7200000);
	assert_int_equal(policy.keep_every, 500);
	assert_int_equal(policy.keep_tag_count, KEEP_TAGS_MOST);
	assert_string_equal(policy.keep_tags[0], "t");
}

/* Any rule takes the place of the default; and --keep-last 0 that of any rule. */
static void test_default(void **state)
{
	static const char *const rules[][2] =
		{{"keep-last", "9"}, {"keep-within", "1d"}, {"keep-every", "5"}, {"keep-tag", "t"}};
	struct retention_rules options = {.keep_last = -1};
	struct forget_policy policy = retention_policy(&options);

	(void)state;
	assert_int_equal(policy.keep_last, 10);
	assert_true(policy.keep_daily);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		options = (struct retention_rules){.keep_last = -1};
		assert_int_equal(set(&options, rules[i][0], rules[i][1], NULL), 0);
		policy = retention_policy(&options);
		assert_false(policy.keep_daily);
		assert_int_equal(policy.keep_last, i == 0 ? 9 : 0);
		assert_int_equal(set(&options, "keep-last", "0", NULL), 0);
		assert_false(retention_is_given(&options));
		assert_int_equal(options.keep_last, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
