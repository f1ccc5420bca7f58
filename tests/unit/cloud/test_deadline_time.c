/* Ends that are known beforehand. */
#include <stdlib.h>
#include <time.h>

#include "unit.h"

#include "cloud/watcher.h"

#define NOW 1775944800000

static void times(void **state)
{
	static const struct {
		const char *text;
		bool good, is_span;
		int64_t wall_ms;
	} rows[] = {
		{"2h", true, true, NOW + 7200000},
		{"90", true, true, NOW + 90000},
		{"1.5m", true, true, NOW + 90000},
		{"2026-04-11T22:05:00Z", true, false, NOW + 300000},
		{"2026-04-12T00:05:00+02:00", true, false, NOW + 300000},
		{"Sat, 11 Apr 2026 22:05:00 GMT", true, false, NOW + 300000},
		{"1775945100", true, false, NOW + 300000},
		{"999999999", true, true, NOW + 999999999000},
		{"", false, false, 0},
		{"soon", false, false, 0},
		{"-5", false, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wall_ms = 0;
		bool is_span = false, good = deadline_parse(rows[i].text, NOW, &wall_ms, &is_span);

		if (good != rows[i].good || is_span != rows[i].is_span)
			fail_msg("%s", rows[i].text);
		if (good)
			assert_true(wall_ms == rows[i].wall_ms);
	}
}

/* scontrol 22.05, --oneliner, shortened */
#define SHOWN(end)                                                                     \
	"JobId=7 JobName=EndTime=x JobState=RUNNING PreemptTime=None EndTime=" end " " \
	"Deadline=N/A Command=/tmp/x\n"

static void slurms_end(void **state)
{
	static const struct {
		const char *shown;
		enum slurm_end end;
		int64_t wall_ms;
	} rows[] = {
		{SHOWN("2026-04-11T22:05:00"), SLURM_END_KNOWN, NOW + 300000},
		{SHOWN("Unknown"), SLURM_END_NEVER, 0},
		{SHOWN("soon"), SLURM_END_UNREADABLE, 0},
		{"JobId=7 JobState=RUNNING", SLURM_END_UNREADABLE, 0},
		{"slurm_load_jobs error: Invalid job id specified", SLURM_END_UNREADABLE, 0},
		{"", SLURM_END_UNREADABLE, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wall_ms = 0;

		if (slurm_end_parse(rows[i].shown, &wall_ms) != rows[i].end ||
		    (rows[i].end == SLURM_END_KNOWN && wall_ms != rows[i].wall_ms))
			fail_msg("%s", rows[i].shown);
	}
}

static void a_short_job_keeps_most_of_its_time(void **state)
{
	(void)state;
	assert_int_equal(deadline_fit_notice_ms(3600000, 120000), 120000);
	assert_int_equal(deadline_fit_notice_ms(120001, 120000), 120000);
	assert_int_equal(deadline_fit_notice_ms(120000, 120000), 30000);
	assert_int_equal(deadline_fit_notice_ms(8000, 120000), 2000);
	assert_int_equal(deadline_fit_notice_ms(-1, 120000), 120000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(slurms_end),
		cmocka_unit_test(a_short_job_keeps_most_of_its_time),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
