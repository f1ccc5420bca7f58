#include "slurm.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

/* scontrol is slow when many jobs are preempted at once. A later answer would help little. */
#define SCONTROL_MS 5000

static void query_worker(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;
	char id[SLURM_JOB_ID_SIZE];

	slurm_deadline->asked = slurm_job_query(SCONTROL_MS, id, &slurm_deadline->answer);
	if (slurm_deadline->asked == SLURM_QUERY_OK)
		slurm_times_query(&slurm_deadline->answer, SCONTROL_MS, &slurm_deadline->times);
}

static void join_worker(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;

	slurm_task_barrier_join(slurm_deadline->storage);
}

static void on_joined(void *arg)
{
	(void)arg;
}

static void on_answered(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;
	int64_t ahead_ms = clock_monotonic_ms() - clock_wall_ms();
	struct slurm_job_end end;

	slurm_deadline->asking = false;
	if (slurm_deadline->asked != SLURM_QUERY_OK)
		return;
	end = slurm_job_end(&slurm_deadline->answer, &slurm_deadline->times,
			    slurm_deadline->signal_wall_ms, slurm_deadline->deadline_ms - ahead_ms);
	if (end.why)
		slurm_deadline->earlier(slurm_deadline->arg, ahead_ms + end.at_ms, end.why);
}

void slurm_deadline_query(struct slurm_deadline *slurm_deadline, int64_t deadline_ms,
			  struct storage *storage)
{
	const char *id = getenv("SLURM_JOB_ID");
	struct err err;

	if (!id || !*id || slurm_deadline->asking)
		return;
	/* Own workers: an upload, a busy controller and a slow store must not wait for each other.
	 */
	if (!slurm_deadline->workers &&
	    workers_new(slurm_deadline->loop, 2, &slurm_deadline->workers, &err) < 0) {
		log_debug("cannot ask Slurm when the job ends: %s", err.text);
		return;
	}
	slurm_deadline->asking = true;
	slurm_deadline->signal_wall_ms = clock_wall_ms();
	slurm_deadline->deadline_ms = deadline_ms;
	slurm_deadline->storage = storage;
	workers_run(slurm_deadline->workers, query_worker, on_answered, slurm_deadline);
	workers_run(slurm_deadline->workers, join_worker, on_joined, slurm_deadline);
}

void slurm_deadline_release(struct slurm_deadline *slurm_deadline)
{
	workers_free(slurm_deadline->workers);
	slurm_deadline->workers = NULL;
}
