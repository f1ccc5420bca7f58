/*
 * Several tasks of one srun, each with its own supervisor and job name. A requeue kills them all
 * (after KillWait, 30 s by default), so task 0, which requeues, waits until the tasks that save
 * have finished. They meet in the store, the only thing that they share (storage_barrier_arrive()):
 * each puts a marker when it gets the notice ("3-here"), and another at its end ("3-through"). A
 * task without a first marker (no supervisor, another store) is not waited for.
 *
 * For the task that this process is in, by the variables of srun's processes. With `storage` NULL,
 * or where this is not one of several tasks, these functions do nothing.
 */
#ifndef SLURM_TASK_BARRIER_H
#define SLURM_TASK_BARRIER_H

#include <stdint.h>

struct storage;

/* At the notice, on a worker: marks this task as started. Blocks for one PUT, 5 s at most. */
void slurm_task_barrier_join(struct storage *storage);
/* At the end, if there was a notice: marks it as finished. Blocks as above. */
void slurm_task_barrier_leave(struct storage *storage);
/* Blocks until all started tasks have finished, or until shortly before the deadline: a third of
 * the time, between 5 and 20 s, stays for the requeue, because a busy controller is slow.
 * `seen_ms`: when the notice came. Both monotonic. */
void slurm_task_barrier_await(struct storage *storage, int64_t seen_ms, int64_t deadline_ms);

#endif
