/*
 * Slurm's SIGTERM does not say how much time is left: KillWait, unless --signal or the partition's
 * GraceTime gives more (slurm_job_end()). scontrol knows, and is asked on a thread.
 */
#ifndef SLURM_DEADLINE_H
#define SLURM_DEADLINE_H

#include "base/loop.h"
#include "base/workers.h"
#include "slurm_job.h"

#include <stdbool.h>
#include <stdint.h>

struct storage;

/* Zeroed, but for the first three members, which the caller sets. */
struct slurm_deadline {
	struct loop *loop;
	/* On the loop: the job ends at `deadline_ms` of CLOCK_MONOTONIC, before what was asked
	 * about; `reason`: why. */
	void (*earlier)(void *arg, int64_t deadline_ms, const char *reason);
	void *arg;

	/* this file's own */
	struct workers *workers; /* NULL: never asked yet */
	bool asking;             /* while true, the worker owns the members below */
	int64_t deadline_ms;
	struct storage *storage;
	enum slurm_query_result asked;
	struct slurm_job answer;
	struct slurm_times times;
	int64_t signal_wall_ms; /* when the signal came, milliseconds since 1970 */
};

/*
 * Asks for a deadline before `deadline_ms`, and tells the other tasks of the step through `storage`
 * that this one has had the notice (slurm_task_barrier.h); NULL: not through this one. Nothing
 * happens outside of a Slurm job, or while it is asked. Does not block; borrows `storage` until
 * slurm_deadline_release().
 */
void slurm_deadline_query(struct slurm_deadline *slurm_deadline, int64_t deadline_ms,
			  struct storage *storage);
/* Blocks for the answer: a few seconds at most. */
void slurm_deadline_release(struct slurm_deadline *slurm_deadline);

#endif
