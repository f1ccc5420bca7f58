/* Times of services: there, back, and what is none. */
#include "base/datetime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MOMENT 1775946418000LL /* date -ud @1775946418 */

static void test_iso(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t wall_ms;
	} rows[] = {
		{"2026-04-11T22:26:58Z", true, MOMENT},
		{"2026-04-11T22:26:58.123Z", true, MOMENT},
		{"2026-04-11T22:26:58", true, MOMENT},
		{"2026-04-11 22:26:58Z", true, MOMENT},
		{"2026-04-12T00:26:58+02:00", true, MOMENT},
		{"2026-04-11T16:56:58-05:30", true, MOMENT},
		{"1970-01-01T00:00:00Z", true, 0},
		{"2026-04-11T22:26:58X", false, 0},
		{"2026-04-11T22:26:58+02", false, 0},
		{"2026-13-11T22:26:58Z", false, 0},
		{"2026-04-32T22:26:58Z", false, 0},
		{"2026-04-11T24:26:58Z", false, 0},
		{"2026-04-11", false, 0},
		{"soon", false, 0},
		{"", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wall_ms = 0;

		assert_int_equal(timestamp_parse_iso(rows[i].text, &wall_ms), rows[i].good);
		if (rows[i].good)
			assert_int_equal(wall_ms, rows[i].wall_ms);
	}
}

static void test_http(void **state)
{
	static const char *const bad[] = {"Sat, 11 Foo 2026 22:26:58 GMT",
		"11 Apr 2026 22:26:58 GMT", "Sat, 11 Apr 2026 22:26:58 CET", "Sat, 11 Apr 2026", "",
		"0"};
	int64_t wall_ms = 0;

	(void)state;
	assert_true(timestamp_parse_http("Sat, 11 Apr 2026 22:26:58 GMT", &wall_ms));
	assert_int_equal(wall_ms, MOMENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(timestamp_parse_http(bad[i], &wall_ms));
}

static void test_formats(void **state)
{
	char buffer[TIMESTAMP_SIZE];

	(void)state;
	assert_string_equal(timestamp_compact(MOMENT, buffer), "20260411T222658Z");
	assert_string_equal(timestamp_http(MOMENT, buffer), "Sat, 11 Apr 2026 22:26:58 GMT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iso),
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_formats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
