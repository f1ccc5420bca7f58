/* Bodies, and whose clock to believe. */
#include "unit.h"

#include "cloud/watcher.h"

#include <string.h>

static void bodies_are_trimmed(void **state)
{
	static const struct {
		const char *body;
		size_t size;
		bool good;
		const char *text;
	} rows[] = {
		{"", 0, true, ""},           {NULL, 0, true, ""},
		{"TRUE\n", 5, true, "TRUE"}, {" \t a b \r\n", 9, true, "a b"},
		{"   ", 3, true, ""},        {"1234567", 7, true, "1234567"},
		{"12345678", 8, false, ""},  {"a\0b", 3, false, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {.body = rows[i].body, .size = rows[i].size};
		char text[8];

		assert_int_equal(reply_text(&reply, text, sizeof(text)), rows[i].good);
		assert_string_equal(text, rows[i].text);
	}
}

static void the_service_is_believed_where_clocks_differ(void **state)
{
	static const struct {
		const char *header;
		int64_t ours, expected;
	} rows[] = {
		{NULL, 5, 5},
		{"yesterday", 5, 5},
		{"Sat, 11 Apr 2026 22:26:58 GMT", 1775946418000, 1775946418000},
		{"Sat, 11 Apr 2026 22:26:58 GMT", 1775946420900, 1775946420900},
		{"Sat, 11 Apr 2026 22:26:58 GMT", 1775946418000 + 300000, 1775946418500},
		{"Sat, 11 Apr 2026 22:26:58 GMT", 1775946418000 - 300000, 1775946418500},
		{"Sat, 11 Apr 2026 22:26:58 GMT", 0, 1775946418500},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(reply_wall_clock(rows[i].header, rows[i].ours), rows[i].expected);
}

static void words_for_what_was_not_expected(void **state)
{
	static const struct {
		int status;
		const char *body, *word;
	} rows[] = {
		{403, "", "turned off"},  {429, "", "too many"}, {200, "", "without a body"},
		{200, " <html>", "HTML"}, {500, "oops", "500"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = {
			.status = rows[i].status,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
		};
		struct verdict verdict;

		verdict_unexpected(&verdict, &reply);
		assert_int_equal(verdict.kind, VERDICT_UNKNOWN);
		assert_non_null(strstr(verdict.why, rows[i].word));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_are_trimmed),
		cmocka_unit_test(the_service_is_believed_where_clocks_differ),
		cmocka_unit_test(words_for_what_was_not_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
