#include "drill/job_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// clang-format off
static const struct {
	const char *text;
	int64_t first, last;
} logs[] = {
	{"", -1, -1},
	{"no number here\n", -1, -1},
	{"step 120 loss 0.3456\n", 120, 120},
	{"step 1 loss 2\nstep 2 loss 1\nstep 3 loss 0\n", 1, 3},
	{"Epoch 3, Step: 44, lr 1e-3\n", 44, 44},
	{"steps=17\n", 17, 17},
	{"global_step=9\n", 9, 9},
	{"{\"step\": 12, \"loss\": 3}\n", 12, 12},
	{"step 10\rstep 11\rstep 12\n", 10, 12},
	/* A line that was cut off says a wrong number. */
	{"step 119 x\nstep 12", 119, 119},
	/* Not the job's own words, or not steps that it made here. */
	{"reprieve: saved step 999\nstep 3\nreprieve: step 998\n", 3, 3},
	{"resumed from step 118\nstep 119 loss 1\n", 119, 119},
	{"Restoring checkpoint step 118\nstep 119\n", 119, 119},
	{"footstep 5\n", -1, -1},
	{"stepping 5\n", -1, -1},
	{"step size 5\n", -1, -1},
	{"step 99999999999999999999999\n", -1, -1},
	{"step of 3 phases, step 7\n", 7, 7},
};
// clang-format on

static void steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		struct job_steps found = job_log_steps(logs[i].text, strlen(logs[i].text));

		if (found.first != logs[i].first || found.last != logs[i].last)
			fail_msg("'%s': %lld, %lld", logs[i].text, (long long)found.first,
				 (long long)found.last);
	}
}

static void tail(void **state)
{
	static const char text[] = "a\nb\nc\n";

	(void)state;
	assert_string_equal(text + job_log_tail(text, 6, 1), "c\n");
	assert_string_equal(text + job_log_tail(text, 6, 2), "b\nc\n");
	assert_string_equal(text + job_log_tail(text, 6, 9), text);
	assert_int_equal(job_log_tail("", 0, 3), 0);
	assert_int_equal(job_log_tail("no newline", 10, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
