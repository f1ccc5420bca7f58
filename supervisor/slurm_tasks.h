/*
 * PURE. Several tasks of one srun, each with a supervisor and a job name of its own. A requeue ends them all (KillWait, 30 s unless the
 * cluster says otherwise), so the first, which asks for it, waits until the others are through.
 */
#ifndef SLURM_TASKS_H
#define SLURM_TASKS_H

#include <stdbool.h>

struct slurm_tasks {
	unsigned count;
	unsigned number; /* ours, from 0 */
	char roll[96];   /* what this start of this step is called; for storage_sign() */
};

/* As srun's processes have them in their environment: SLURM_STEP_NUM_TASKS, SLURM_PROCID, SLURM_JOB_ID, SLURM_STEP_ID and
 * SLURM_RESTART_COUNT (NULL at the first start). False where this is not one of several: a batch script has no SLURM_STEP_NUM_TASKS. */
bool slurm_tasks_parse(const char *count, const char *number, const char *job, const char *step,
	const char *restarts, struct slurm_tasks *tasks);

#endif
