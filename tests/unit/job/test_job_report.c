/* What is known of a run, for those who tell of it. */
#include "bare_job.h"

static bool looked, about_stop;

struct job_view __wrap_job_look(const struct job *job, bool processes);
struct job_view __wrap_job_look(const struct job *job, bool processes)
{
	assert_non_null(job);
	looked = true;
	about_stop = processes;
	return (struct job_view){.now_ms = 3};
}

struct snapshot_id __wrap_snapshot_queue_newest(const struct snapshot_queue *queue);
struct snapshot_id __wrap_snapshot_queue_newest(const struct snapshot_queue *queue)
{
	assert_non_null(queue);
	return (struct snapshot_id){4, 2};
}

static void each_fact_is_that_of_its_part(void **state)
{
	static struct job job;
	struct run_facts run;

	(void)state;
	for (int bit = -1; bit < 7; bit++) {
		bare_job_init(&job);
		job.snapshots = bit == 0 ? SOME(snapshot_queue) : NULL;
		job.resume.kind = bit == 1   ? RESUME_FRESH
				  : bit == 2 ? RESUME_RESTORED
					     : RESUME_KEPT;
		job.expected = bit == 3 ? EXPECT_BY_COMMAND : EXPECT_NOTHING;
		job.ask.method = bit == 4 ? REQUEST_COMMAND : REQUEST_SIGNAL;
		text_set(job.cloud, sizeof(job.cloud), bit == 5 ? "aws" : "");
		job.child.running = bit == 6;
		run = job_facts(&job, LOOK_AT_MODEL);
		assert_int_equal(run.saves, bit == 0);
		assert_int_equal(run.durable.attempt, bit == 0 ? 4 : 0);
		assert_int_equal(run.fresh, bit == 1);
		assert_int_equal(run.restored, bit == 2);
		assert_int_equal(run.expected, bit == 3);
		assert_int_equal(run.asks_by_command, bit == 4);
		assert_int_equal(run.of_known_cloud, bit == 5);
		assert_int_equal(run.view.child_running, bit == 6);
		assert_null(run.stop);
	}
}

/* All processes are looked at only where that matters, and nothing at all from any callback. */
static void what_is_looked_at(void **state)
{
	static const struct {
		enum run_look look;
		bool looks, at_processes;
	} rows[] = {{LOOK_AT_MODEL, false, false},
		    {LOOK_AT_PARTS, true, false},
		    {LOOK_AT_PROCESSES, true, true}};
	static struct job job;

	(void)state;
	bare_job_init(&job);
	for (size_t i = 0; i < 3; i++) {
		struct run_facts run;

		looked = about_stop = false;
		run = job_facts(&job, rows[i].look);
		assert_int_equal(looked, rows[i].looks);
		assert_int_equal(about_stop, rows[i].at_processes);
		assert_int_equal(run.view.now_ms == 3, rows[i].looks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fact_is_that_of_its_part),
		cmocka_unit_test(what_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
