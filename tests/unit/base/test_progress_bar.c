/* What a bar and a line say: tables. */
#include "base/progress_bar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void test_lines(void **state)
{
	static const struct {
		struct progress_bar_facts facts;
		const char *line;
	} rows[] = {
		// clang-format off
		{{"restoring", 0, 40 * GIB, 0, 0}, "restoring: 0 B of 40 GiB (0 %)"},
		{{"restoring", 20 * GIB, 40 * GIB, 0, 0}, "restoring: 20 GiB of 40 GiB (50 %)"},
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 0},
			"saving: 20 GiB of 40 GiB (50 %), 512 MiB/s, 40 s left"},
		/* Nothing moves: the rate of a moment ago says nothing, nor does a rate that
		 * would take days. */
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 4999},
			"saving: 20 GiB of 40 GiB (50 %), 512 MiB/s, 40 s left"},
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 5000},
			"saving: 20 GiB of 40 GiB (50 %), nothing moved for 5.0 s"},
		{{"saving", 20 * GIB, 40 * GIB, 100000, 0},
			"saving: 20 GiB of 40 GiB (50 %), 98 KiB/s"},
		{{"saving", 0, 40 * GIB, 64 * MIB, 0},
			"saving: 0 B of 40 GiB (0 %), 64 MiB/s, 10 min 40 s left"},
		{{"reading", 1000, 1000, 500, 0},
			"reading: 1000 B of 1000 B (100 %), 500 B/s, 0 ms left"},
		{{"reading", 999, 1000, 1, 0},
			"reading: 999 B of 1000 B (99 %), 1 B/s, 1.0 s left"},
		/* More than was thought, and nothing at all. */
		{{"reading", 2000, 1000, 500, 0}, "reading: 2.0 KiB of 1000 B (100 %), 500 B/s"},
		{{"reading", 0, 0, 0, 0}, "reading: 0 B of 0 B (0 %)"},
		// clang-format on
	};
	char buffer[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(progress_bar_format_line(&rows[i].facts, buffer,
							     sizeof(buffer)),
				    rows[i].line);
}

static void test_a_bar_fits_the_terminal(void **state)
{
	struct progress_bar_facts facts = {"restoring", 20 * GIB, 40 * GIB, 512 * MIB, 0};
	char buffer[256];

	(void)state;
	assert_string_equal(progress_bar_format_bar(&facts, 120, buffer, sizeof(buffer)),
			    "[############............] restoring: 20 GiB of 40 GiB (50 %), 512 "
			    "MiB/s, 40 s left");
	for (unsigned columns = 1; columns < 120; columns++) {
		progress_bar_format_bar(&facts, columns, buffer, sizeof(buffer));
		assert_true(strlen(buffer) <= columns);
	}
	assert_string_equal(progress_bar_format_bar(&facts, 79, buffer, sizeof(buffer)),
			    "[##########..........] restoring: 20 GiB of 40 GiB (50 %), 512 MiB/s, "
			    "40 s left");
	progress_bar_format_bar(&facts, 60, buffer, sizeof(buffer));
	assert_null(strchr(buffer, '#'));
}

static void test_short_buffers(void **state)
{
	struct progress_bar_facts facts = {"restoring", 20 * GIB, 40 * GIB, 512 * MIB, 0};
	char buffer[64];

	(void)state;
	for (size_t capacity = 1; capacity < sizeof(buffer); capacity++) {
		memset(buffer, 'x', sizeof(buffer));
		progress_bar_format_line(&facts, buffer, capacity);
		assert_true(strlen(buffer) < capacity);
		assert_int_equal(buffer[capacity], 'x');
	}
}

static void test_rate(void **state)
{
	uint64_t rate = 0;

	(void)state;
	assert_int_equal(progress_bar_rate(0, 1000, 500), 2000);
	assert_int_equal(progress_bar_rate(2000, 1000, 500), 2000);
	assert_int_equal(progress_bar_rate(1000, 0, 500), 700);
	assert_int_equal(progress_bar_rate(1000, 500, 0), 1000);
	for (int i = 0; i < 40; i++)
		rate = progress_bar_rate(rate, i < 20 ? 1000 : 5000, 1000);
	assert_in_range(rate, 4900, 5000);
}

static void test_time_left(void **state)
{
	(void)state;
	assert_int_equal(progress_bar_left_ms(&(struct progress_bar_facts){"x", 0, 1000, 100, 0}),
			 10000);
	assert_int_equal(progress_bar_left_ms(&(struct progress_bar_facts){"x", 0, 1000, 0, 0}),
			 -1);
	assert_int_equal(progress_bar_left_ms(&(struct progress_bar_facts){"x", 5, 1, 10, 0}), -1);
	assert_int_equal(progress_bar_left_ms(
				 &(struct progress_bar_facts){"x", 0, UINT64_MAX, 1, 0}),
			 -1);
}

/* A store that hangs for an hour is worth ten lines, not seven hundred. */
static void test_pauses(void **state)
{
	unsigned lines = 0;

	(void)state;
	assert_int_equal(progress_bar_pause_ms(0), 5000);
	assert_int_equal(progress_bar_pause_ms(5000), 5000);
	for (int64_t still = 0; still < 3600000; still += progress_bar_pause_ms(still))
		lines++;
	assert_in_range(lines, 9, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_a_bar_fits_the_terminal),
		cmocka_unit_test(test_short_buffers),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_time_left),
		cmocka_unit_test(test_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
