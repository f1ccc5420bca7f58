#include "scheduler/slurm.h"

#include "base/clock.h"
#include "storage_fixture.h"

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
	/* nor is one that is alone, or whose number is none */
	become_task("1");
	setenv("SLURM_STEP_NUM_TASKS", "1", 1);
	slurm_task_barrier_join(fixture.storage);
	become_task("3");
	slurm_task_barrier_join(fixture.storage);
	become_task("1");
	setenv("SLURM_RESTART_COUNT", "x", 1);
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
		cmocka_unit_test(test_tasks_meet_in_the_store),
		cmocka_unit_test(test_without_a_store_nobody_meets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
