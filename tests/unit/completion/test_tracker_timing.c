/* When to look again, and how often to tell of closed files. */
#include "completion/tracker_timing.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 50000

static void the_next_look(void **state)
{
	static const struct {
		enum sealing_verdict verdict;
		bool nothing_new, watched;
		int64_t at_ms, next_ms;
	} rows[] = {
		/* The next event is soon enough, where events come. */
		{SEALING_NOTHING, false, true, SEALING_NEVER, CLOCK_NEVER},
		{SEALING_NOTHING, false, false, SEALING_NEVER, NOW + 1000},
		/* What is being written: as it wants, but to tell of closed files sooner. */
		{SEALING_BUSY, true, true, SEALING_NEVER, NOW + 1000},
		{SEALING_BUSY, true, true, NOW + 300, NOW + 300},
		{SEALING_BUSY, true, false, NOW + 300, NOW + 300},
		{SEALING_BUSY, false, true, SEALING_NEVER, NOW + 200},
		{SEALING_BUSY, false, true, NOW + 300, NOW + 200},
		{SEALING_BUSY, false, true, NOW + 100, NOW + 100},
		{SEALING_BUSY, false, true, NOW - 5, NOW - 5},
		/* There is more to take. */
		{SEALING_SEALED, false, true, NOW + 300, NOW + 300},
		{SEALING_TORN, false, true, SEALING_NEVER, NOW + 1000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tracker_pace pace = {.done_generation = rows[i].nothing_new ? 7 : 6};
		int64_t next_ms = tracker_pace_next(
			&pace, rows[i].verdict, rows[i].at_ms, 7, rows[i].watched, NOW);

		if (next_ms != rows[i].next_ms)
			fail_msg("row %zu: %lld", i, (long long)next_ms);
	}
}

static void closed_files_are_told_of_now_and_then(void **state)
{
	struct tracker_pace pace = {0};

	(void)state;
	assert_false(tracker_pace_tells(&pace, 0, NOW));
	assert_true(tracker_pace_tells(&pace, 1, NOW));
	assert_false(tracker_pace_tells(&pace, 2, NOW + 199));
	/* Not done with: told again, though nothing is new. */
	assert_true(tracker_pace_tells(&pace, 2, NOW + 200));
	assert_true(tracker_pace_tells(&pace, 2, NOW + 400));
	tracker_pace_is_done(&pace, 2);
	assert_false(tracker_pace_tells(&pace, 2, NOW + 1000));
	assert_true(tracker_pace_tells(&pace, 3, NOW + 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_look),
		cmocka_unit_test(closed_files_are_told_of_now_and_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
