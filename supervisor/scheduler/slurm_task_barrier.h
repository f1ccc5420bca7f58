/*
 * PURE. Several tasks of one srun, each with a supervisor and a job name of its own. A requeue ends
 * them all (KillWait, 30 s unless the cluster says otherwise), so the first, which asks for it,
 * waits until those that save are through.
 */
#ifndef SLURM_TASK_BARRIER_H
#define SLURM_TASK_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurm_task_barrier {
	unsigned count;
	unsigned number;  /* ours, from 0 */
	char barrier[96]; /* what this start of this step is called; for storage_barrier_arrive() */
};

/*
 * As srun's processes have them in their environment: SLURM_STEP_NUM_TASKS, SLURM_PROCID,
 * SLURM_JOB_ID, SLURM_STEP_ID and SLURM_RESTART_COUNT (NULL at the first start). False where this
 * is not one of several: a batch script has no SLURM_STEP_NUM_TASKS.
 */
bool slurm_task_barrier_parse(const char *count, const char *number, const char *job,
			      const char *step, const char *restarts,
			      struct slurm_task_barrier *tasks);

/* What a task says of itself: "3-here" at the notice, "3-through" at its end. Returns `name`. */
enum slurm_task_state {
	SLURM_TASK_STARTED,
	SLURM_TASK_FINISHED,
};
#define SLURM_TASK_MARKER_SIZE 24
const char *slurm_task_barrier_marker(const struct slurm_task_barrier *tasks,
				      enum slurm_task_state state,
				      char name[SLURM_TASK_MARKER_SIZE]);

/* How many others are there and not through, by the names that have been given. */
size_t slurm_task_barrier_missing(const struct slurm_task_barrier *tasks, char *const *names,
				  size_t count);

/* Until when the first waits: a third of what is left is the requeue's own, but 5 to 20 s, since a
 * busy controller is slow. Milliseconds of one clock. */
int64_t slurm_task_barrier_wait_until(int64_t now_ms, int64_t deadline_ms);

#endif
