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
		enum detector_verdict verdict;
		bool nothing_new, watched;
		int64_t at_ms, next_ms;
	} rows[] = {
		/* The next event is soon enough, where events come. */
		{DETECTOR_NOTHING, false, true, DETECTOR_NEVER, CLOCK_NEVER},
		{DETECTOR_NOTHING, false, false, DETECTOR_NEVER, NOW + 1000},
		/* What is being written: as it wants, but to tell of closed files sooner. */
		{DETECTOR_BUSY, true, true, DETECTOR_NEVER, NOW + 1000},
		{DETECTOR_BUSY, true, true, NOW + 300, NOW + 300},
		{DETECTOR_BUSY, true, false, NOW + 300, NOW + 300},
		{DETECTOR_BUSY, false, true, DETECTOR_NEVER, NOW + 200},
		{DETECTOR_BUSY, false, true, NOW + 300, NOW + 200},
		{DETECTOR_BUSY, false, true, NOW + 100, NOW + 100},
		{DETECTOR_BUSY, false, true, NOW - 5, NOW - 5},
		/* There is more to take. */
		{DETECTOR_COMPLETE, false, true, NOW + 300, NOW + 300},
		{DETECTOR_TORN, false, true, DETECTOR_NEVER, NOW + 1000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tracker_timing timing = {.done_generation = rows[i].nothing_new ? 7 : 6};
		int64_t next_ms = tracker_timing_next(&timing, rows[i].verdict, rows[i].at_ms, 7,
						      rows[i].watched, NOW);

		if (next_ms != rows[i].next_ms)
			fail_msg("row %zu: %lld", i, (long long)next_ms);
	}
}

static void closed_files_are_told_of_now_and_then(void **state)
{
	struct tracker_timing timing = {0};

	(void)state;
	assert_false(tracker_timing_reports_due(&timing, 0, NOW));
	assert_true(tracker_timing_reports_due(&timing, 1, NOW));
	assert_false(tracker_timing_reports_due(&timing, 2, NOW + 199));
	/* Not done with: told again, though nothing is new. */
	assert_true(tracker_timing_reports_due(&timing, 2, NOW + 200));
	assert_true(tracker_timing_reports_due(&timing, 2, NOW + 400));
	tracker_timing_set_done(&timing, 2);
	assert_false(tracker_timing_reports_due(&timing, 2, NOW + 1000));
	assert_true(tracker_timing_reports_due(&timing, 3, NOW + 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_look),
		cmocka_unit_test(closed_files_are_told_of_now_and_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
