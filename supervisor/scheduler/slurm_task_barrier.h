/*
 * Several tasks of one srun, each with its own supervisor and job name. A requeue kills them all
 * (after KillWait, 30 s by default), so task 0, which requeues, waits until the tasks that save
 * have finished. They meet in the store, the only thing that they share (storage_barrier_arrive()):
 * each puts a marker when it gets the notice, and another at its end. A task without a first marker
 * (no supervisor, another store) is not waited for. PURE, except for the last three functions.
 */
#ifndef SLURM_TASK_BARRIER_H
#define SLURM_TASK_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage;

struct slurm_task_barrier {
	unsigned count;
	unsigned number;  /* ours, from 0 */
	char barrier[96]; /* names this start of this step, for storage_barrier_arrive() */
};

/*
 * The arguments are variables of srun's processes: SLURM_STEP_NUM_TASKS, SLURM_PROCID,
 * SLURM_JOB_ID, SLURM_STEP_ID and SLURM_RESTART_COUNT (NULL at the first start). False: this is not
 * one of several tasks. A batch script has no SLURM_STEP_NUM_TASKS.
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

/* How many other tasks have put their first marker and not their second, by the markers' names. */
size_t slurm_task_barrier_missing(const struct slurm_task_barrier *tasks, char *const *names,
				  size_t count);

/* Until when task 0 waits. It reserves a third of the time for the requeue, between 5 and 20 s,
 * because a busy controller is slow. Milliseconds of any one clock. */
int64_t slurm_task_barrier_wait_until(int64_t now_ms, int64_t deadline_ms);

/* --- for the task that this process is in; `storage` NULL, or no such task: does nothing --- */

/* At the notice, on a worker: marks this task as started. Blocks for one PUT, 5 s at most. */
void slurm_task_barrier_join(struct storage *storage);
/* At the end, if there was a notice: marks it as finished. Blocks as above. */
void slurm_task_barrier_leave(struct storage *storage);
/* Blocks until all started tasks have finished, or until shortly before the deadline. `seen_ms`:
 * when the notice came. Both monotonic. */
void slurm_task_barrier_await(struct storage *storage, int64_t seen_ms, int64_t deadline_ms);

#endif
