/* The --keep-* options: what they take. */
#include "cli/retention_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef int set_fn(struct retention_rules *rules, const char *value, struct err *err);

static void test_values(void **state)
{
	static const struct {
		set_fn *set;
		const char *value;
		bool right;
	} rows[] = {
		// clang-format off
		{retention_set_last, "3", true},
		{retention_set_last, "0", false},
		{retention_set_last, "-1", false},
		{retention_set_last, "three", false},
		{retention_set_last, "4294967296", false},
		{retention_set_within, "7d", true},
		{retention_set_within, "90m", true},
		{retention_set_within, "0", false},
		{retention_set_within, "a week", false},
		{retention_set_every, "10000", true},
		{retention_set_every, "0", false},
		{retention_add_tag, "best", true},
		{retention_add_tag, "a b", false},
		{retention_add_tag, "", false},
		{retention_add_tag,
			"0123456789012345678901234567890123456789012345678901234567890123", true},
		{retention_add_tag,
			"01234567890123456789012345678901234567890123456789012345678901234", false},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct retention_rules options = {0};
		struct err err;

		if ((rows[i].set(&options, rows[i].value, &err) == 0) != rows[i].right)
			fail_msg("%s", rows[i].value);
		if (!rows[i].right)
			assert_int_equal(err.kind, ERR_INVALID);
		assert_int_equal(retention_is_set(&options), rows[i].right);
	}
}

static void test_policy(void **state)
{
	struct retention_rules options = {0};
	struct forget_policy policy;

	(void)state;
	assert_int_equal(retention_set_last(&options, "3", NULL), 0);
	assert_int_equal(retention_set_within(&options, "2h", NULL), 0);
	assert_int_equal(retention_set_every(&options, "500", NULL), 0);
	for (int i = 0; i < KEEP_TAGS_MOST; i++)
		assert_int_equal(retention_add_tag(&options, "t", NULL), 0);
	assert_int_equal(retention_add_tag(&options, "t", NULL), -1);
	policy = retention_policy(&options);
	assert_int_equal(policy.keep_last, 3);
	assert_int_equal(policy.keep_within_ms, 7200000);
	assert_int_equal(policy.keep_every, 500);
	assert_int_equal(policy.keep_tag_count, KEEP_TAGS_MOST);
	assert_string_equal(policy.keep_tags[0], "t");
}

static void test_reasons_in_words(void **state)
{
	char text[160], little[8];

	(void)state;
	assert_string_equal(retention_format_reasons(0, text, sizeof(text)), "");
	assert_string_equal(retention_format_reasons(1u << KEEP_NEWEST | 1u << KEEP_LAST, text,
						     sizeof(text)),
			    "newest, last");
	assert_string_equal(retention_format_reasons(1u << KEEP_NEWEST | 1u << KEEP_LAST, little,
						     sizeof(little)),
			    "newest,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_reasons_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
