#include "scheduler/slurm_task_barrier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_table(void **state)
{
	static const struct {
		const char *count, *number, *job, *step, *restarts;
		const char *barrier; /* NULL: not one of several */
	} rows[] = {
		{"4", "0", "77", "0", NULL, "slurm-77.0.0"},
		{"4", "3", "77", "2", "5", "slurm-77.2.5"},
		/* alone; a batch script, which has a PROCID, too */
		{"1", "0", "77", "0", NULL, NULL},
		{NULL, "0", "77", NULL, NULL, NULL},
		{"4", "0", "77", NULL, NULL, NULL},
		/* nonsense */
		{"4", "4", "77", "0", NULL, NULL},
		{"", "0", "77", "0", NULL, NULL},
		{"4", "-1", "77", "0", NULL, NULL},
		{"4", "0", "../x", "0", NULL, NULL},
		{"4", "0", "77", "0", "x", NULL},
		{"99999999999", "0", "77", "0", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slurm_task_barrier tasks;
		bool several = slurm_task_barrier_parse(rows[i].count, rows[i].number, rows[i].job,
							rows[i].step, rows[i].restarts, &tasks);

		if (several != (rows[i].barrier != NULL))
			fail_msg("row %zu", i);
		if (several)
			assert_string_equal(tasks.barrier, rows[i].barrier);
	}
}

static void test_who_it_is(void **state)
{
	struct slurm_task_barrier tasks;

	(void)state;
	assert_true(slurm_task_barrier_parse("4", "3", "77", "0", NULL, &tasks));
	assert_int_equal(tasks.count, 4);
	assert_int_equal(tasks.number, 3);
}

static void test_who_is_missing(void **state)
{
	struct slurm_task_barrier tasks = {.count = 20, .number = 0};
	char *const names[] = {"1-here", "11-here",   "11-through",
			       "2-here", "2-through", "3-through"};
	char name[SLURM_TASK_MARKER_SIZE];

	(void)state;
	/* Nobody there: nobody to wait for. One that only leaves (it was never
	 * asked) is none either. */
	assert_int_equal(slurm_task_barrier_missing(&tasks, NULL, 0), 0);
	assert_int_equal(slurm_task_barrier_missing(&tasks, names + 5, 1), 0);
	assert_int_equal(slurm_task_barrier_missing(&tasks, names, 1), 1);
	assert_int_equal(slurm_task_barrier_missing(&tasks, names, 6), 1);
	assert_int_equal(slurm_task_barrier_missing(&tasks, names + 1, 2), 0);
	tasks.number = 1;
	assert_int_equal(slurm_task_barrier_missing(&tasks, names, 6), 0);
	assert_string_equal(slurm_task_barrier_marker(&tasks, SLURM_TASK_STARTED, name), "1-here");
	assert_string_equal(slurm_task_barrier_marker(&tasks, SLURM_TASK_FINISHED, name),
			    "1-through");
}

static void test_how_long(void **state)
{
	static const struct {
		int64_t deadline_ms, until_ms;
	} rows[] = {{1000 + 120000, 1000 + 100000},
		    {1000 + 30000, 1000 + 20000},
		    {1000 + 9000, 1000 + 4000},
		    {1000 + 2000, 1000 - 3000}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (slurm_task_barrier_wait_until(1000, rows[i].deadline_ms) != rows[i].until_ms)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_missing),
		cmocka_unit_test(test_how_long),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_who_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
