/* Points in time as services write them: there, back, and what is none. */
#include "unit.h"

#include "base/clock.h"

static void times_are_parsed(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2017-09-18T08:22:00Z", 1505722920},
		{"2017-09-18T08:22:00", 1505722920}, /* seen without its Z */
		{"2017-09-18 08:22:00Z", 1505722920},
		{"2017-09-18T02:52:00-05:30", 1505722920},
		{"2017-09-18t08:22:00z", 1505722920},
		{"2017-09-18T10:22:00+02:00", 1505722920},
		{"2017-09-18T02:52:00-0530", 1505722920},
		{"2017-09-18T08:22:00.999Z", 1505722920},
		{"Mon, 11 Apr 2026 22:26:58 GMT",
		 1775946418}, /* the documentation's own weekday is wrong */
		{"11 Apr 2026 22:26:58 GMT", 1775946418},
		{"2 Jan 2006 15:04:05 GMT", 1136214245},
		{"Thu, 29 Feb 2024 00:00:00 UTC", 1709164800},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wall = -1;

		assert_true(datetime_parse(rows[i].text, &wall));
		assert_int_equal(wall / 1000, rows[i].seconds);
	}
}

static void others_are_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"now",
		"not-a-time",
		"2017",
		"2017-09-18",
		"2017-13-18T08:22:00Z",
		"2017-00-18T08:22:00Z",
		"2017-04-32T08:22:00Z",
		"2017-09-18T24:00:00Z",
		"2017-09-18T08:60:00Z",
		"2017-09-18T08:22:00Zulu",
		"2017-09-18T08:22:00+2",
		"2017-09-18T08:22:00+25:00",
		"-2017-09-18T08:22:00Z",
		"1960-01-01T00:00:00Z",
		"Mon, 11 Foo 2026 22:26:58 GMT",
		"Mon, 11 anF 2026 22:26:58 GMT",
		"Mon, 31 Apr 2026 22:26:58 GMT",
		"Mon, 11 Apr 2026 22:26:58 CEST",
		"Mon, 11 Apr 2026",
		"2017-09-18T08:22:00X",
		"2017-09-18T08:22:00+02",
		"0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wall;

		assert_false(datetime_parse(rows[i], &wall));
	}
}

static void what_is_written_is_read(void **state)
{
	static const int64_t rows[] = {0, 951782400000, 1709164800000, 1775946418000,
				       4102444799000};
	char text[DATETIME_SIZE];
	int64_t wall;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(datetime_parse(datetime_iso(rows[i], text), &wall));
		assert_int_equal(wall, rows[i]);
		assert_true(datetime_parse(datetime_rfc1123(rows[i], text), &wall));
		assert_int_equal(wall, rows[i]);
	}
	assert_string_equal(datetime_rfc1123(1775946418000, text), "Sat, 11 Apr 2026 22:26:58 GMT");
	assert_string_equal(datetime_compact(1775946418000, text), "20260411T222658Z");
	assert_true(datetime_parse("2026-04-11T22:26:58.123Z", &wall));
	assert_int_equal(wall, 1775946418123);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_parsed),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(what_is_written_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
