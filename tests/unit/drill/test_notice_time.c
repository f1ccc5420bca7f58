#include "drill/notice_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// clang-format off
static const struct {
	int64_t chosen_ms, passed_ms;
	bool has_pace, due;
} times[] = {
	{NOTICE_AFTER_UNSAID, 4999, true, false},
	{NOTICE_AFTER_UNSAID, 5000, true, true},
	/* Its libraries are still loading. */
	{NOTICE_AFTER_UNSAID, 5000, false, false},
	{NOTICE_AFTER_UNSAID, 59999, false, false},
	{NOTICE_AFTER_UNSAID, 60000, false, true},
	/* To the letter. */
	{5000, 5000, false, true},
	{90000, 89999, true, false},
	{90000, 90000, false, true},
	{0, 0, false, true},
};
// clang-format on

static void each_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (notice_is_due(times[i].chosen_ms, times[i].passed_ms, times[i].has_pace) !=
		    times[i].due)
			fail_msg("%zu", i);
}

// clang-format off
static const struct {
	const char *lines[4];
	size_t checkpoints;
	bool has_pace;
} jobs[] = {
	{{"hello"}, 0, false},
	{{"step 10"}, 1, false},
	{{"step 10", "step 20"}, 0, true},
	{{"Epoch 1/3", "hello", "Epoch 2/3"}, 0, true},
	{{"2026 loading", "2026 loaded"}, 0, false},
	{{"hello"}, 2, true},
};
// clang-format on

static void each_job(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		auto_(job_log_release) struct job_log log = {0};
		struct run_events events;

		event_log_reader_init(&events);
		events.checkpoint_count = jobs[i].checkpoints;
		for (const char *const *line = jobs[i].lines; *line; line++)
			job_log_add(&log, *line, strlen(*line), 1000);
		if (notice_has_pace(&log, &events) != jobs[i].has_pace)
			fail_msg("%zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_time),
		cmocka_unit_test(each_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
