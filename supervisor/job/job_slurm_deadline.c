/* Slurm's SIGTERM does not say how much time is left: that depends on the partition's GraceTime and
 * on
 * --signal. scontrol knows. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "scheduler/scheduler.h"

#include <stdlib.h>

/* scontrol is slow when many jobs are preempted at once. A later answer would help little. */
#define SCONTROL_MS 5000

static void query_slurm_worker(void *arg)
{
	struct slurm_deadline *end = &((struct job *)arg)->slurm_deadline;
	char id[SLURM_JOB_ID_SIZE];

	end->asked = slurm_job_query(SCONTROL_MS, id, &end->answer);
}

static void join_barrier_worker(void *arg)
{
	job_join_slurm_barrier(((struct job *)arg)->slurm_deadline.storage);
}

static void on_barrier_joined(void *arg)
{
	(void)arg;
}

static void on_slurm_reply(void *arg)
{
	struct job *job = arg;
	struct slurm_deadline *end = &job->slurm_deadline;
	struct notice notice = end->notice;
	int64_t wall_ms = clock_wall_ms(), ahead_ms = clock_monotonic_ms() - wall_ms;

	end->asking = false;
	if (end->asked != SLURM_QUERY_OK || job->loop.stopped || !notices_stop(&job->notices))
		return;
	notice.deadline_ms =
		ahead_ms + slurm_job_deadline(&end->answer, wall_ms, notice.deadline_ms - ahead_ms);
	if (notice.deadline_ms >= end->notice.deadline_ms)
		return;
	text_set(notice.reason, sizeof(notice.reason),
		 end->answer.preempted ? "the end of Slurm's grace time"
				       : "the end time that Slurm has set");
	job_add_notice(job, &notice);
}

void job_query_slurm_deadline(struct job *job, const struct notice *notice)
{
	struct slurm_deadline *end = &job->slurm_deadline;
	const char *id = getenv("SLURM_JOB_ID");
	struct err err;

	if (!id || !*id || end->asking || job->loop.stopped)
		return;
	/* Own workers: an upload, a busy controller and a slow store must not wait for each other.
	 */
	if (!end->workers && workers_new(&job->loop, 2, &end->workers, &err) < 0) {
		log_debug("cannot ask Slurm when the job ends: %s", err.text);
		return;
	}
	end->asking = true;
	end->notice = *notice;
	/* During the restore, another worker owns the storage. */
	end->storage = job->snapshots ? job->resume.storage : NULL;
	workers_run(end->workers, query_slurm_worker, on_slurm_reply, job);
	workers_run(end->workers, join_barrier_worker, on_barrier_joined, job);
}
