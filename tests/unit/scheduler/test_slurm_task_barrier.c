#include "scheduler/slurm_task_barrier.h"

#include "base/clock.h"
#include "storage_fixture.h"

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

static void become_task(const char *number)
{
	setenv("SLURM_STEP_NUM_TASKS", "3", 1);
	setenv("SLURM_PROCID", number, 1);
	setenv("SLURM_JOB_ID", "77", 1);
	setenv("SLURM_STEP_ID", "0", 1);
	unsetenv("SLURM_RESTART_COUNT");
}

static int64_t measure_wait(struct storage *storage, int64_t notice_age_ms, int64_t left_ms)
{
	int64_t began_ms = clock_monotonic_ms();

	become_task("0");
	slurm_task_barrier_await(storage, began_ms - notice_age_ms, began_ms + left_ms);
	return clock_monotonic_ms() - began_ms;
}

/* Three tasks and their store. The first one reserves 5 s of what is left. */
static void test_tasks_meet_in_the_store(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	/* long after the notice, nobody has come: nobody is waited for */
	assert_true(measure_wait(fixture.storage, 60000, 60000) < 1000);
	/* just after it, somebody may still come */
	assert_true(measure_wait(fixture.storage, 2500, 60000) >= 500);
	/* the first task is not waited for, nor is one that is at its end already */
	slurm_task_barrier_join(fixture.storage);
	become_task("1");
	slurm_task_barrier_join(fixture.storage);
	slurm_task_barrier_leave(fixture.storage);
	assert_true(measure_wait(fixture.storage, 60000, 60000) < 1000);
	/* another one saves: until shortly before the deadline */
	become_task("2");
	slurm_task_barrier_join(fixture.storage);
	assert_in_range(measure_wait(fixture.storage, 60000, 6000), 900, 3000);
	become_task("2");
	slurm_task_barrier_leave(fixture.storage);
	assert_true(measure_wait(fixture.storage, 60000, 60000) < 1000);
	fixture_stop(&fixture);
}

static void test_without_a_store_nobody_meets(void **state)
{
	(void)state;
	become_task("1");
	slurm_task_barrier_join(NULL);
	slurm_task_barrier_leave(NULL);
	assert_true(measure_wait(NULL, 0, 60000) < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_missing),
		cmocka_unit_test(test_how_long),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_who_it_is),
		cmocka_unit_test(test_tasks_meet_in_the_store),
		cmocka_unit_test(test_without_a_store_nobody_meets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
