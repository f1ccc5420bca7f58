/*
 * Several tasks of one srun: a requeue kills them all. Task 0, which requeues, therefore waits
 * until the others have saved. They meet in the store, the only thing that they share: each task
 * puts a marker when it gets the notice, and another at its end. A task without a first marker (no
 * supervisor, another store) is not waited for.
 */
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "scheduler/scheduler.h"

#include <stdlib.h>

/* A marker is not worth more of the notice. */
#define MARKER_PUT_MS 5000
#define BARRIER_POLL_MS 1000
/* Slurm signals all tasks at once, and each needs one PUT to arrive. Until then, no marker does not
 * mean that there is no task. */
#define ARRIVAL_MS 3000

static bool read_task_barrier(struct slurm_task_barrier *tasks)
{
	return slurm_task_barrier_parse(getenv("SLURM_STEP_NUM_TASKS"), getenv("SLURM_PROCID"),
					getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"),
					getenv("SLURM_RESTART_COUNT"), tasks);
}

static void put_task_marker(struct storage *storage, enum slurm_task_state state)
{
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	char name[SLURM_TASK_MARKER_SIZE];
	struct slurm_task_barrier tasks;
	struct err err;

	if (!storage || !read_task_barrier(&tasks) || tasks.number == 0 ||
	    cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + MARKER_PUT_MS);
	if (storage_barrier_arrive(storage, tasks.barrier,
				   slurm_task_barrier_marker(&tasks, state, name), &cancel, &err) <
	    0)
		log_debug("cannot put this task's marker for the first task: %s", err.text);
}

void job_join_slurm_barrier(struct storage *storage)
{
	put_task_marker(storage, SLURM_TASK_STARTED);
}

void job_leave_slurm_barrier(struct job *job)
{
	if (job->model.facts.noticed)
		put_task_marker(job->resume.storage, SLURM_TASK_FINISHED);
}

/* How many tasks have started to save and have not finished; -1: the store cannot be read. */
static int count_missing(struct job *job, const struct slurm_task_barrier *tasks,
			 struct cancel *cancel)
{
	auto_(storage_barrier_release) struct storage_barrier_arrivals barrier = {0};
	struct err err;

	if (storage_barrier_read(job->resume.storage, tasks->barrier, &barrier, cancel, &err) < 0) {
		log_debug("the other tasks of the job: %s", err.text);
		return -1;
	}
	return (int)slurm_task_barrier_missing(tasks, barrier.names, barrier.count);
}

void job_await_slurm_barrier(struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	struct slurm_task_barrier tasks;
	int64_t arrived_ms;
	bool said = false;
	int missing;
	struct err err;

	if (!stop || !job->resume.storage || !read_task_barrier(&tasks) ||
	    cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel,
			    slurm_task_barrier_wait_until(clock_monotonic_ms(), stop->deadline_ms));
	arrived_ms = stop->seen_ms + ARRIVAL_MS;
	while ((missing = count_missing(job, &tasks, &cancel)) > 0 ||
	       (missing == 0 && clock_monotonic_ms() < arrived_ms)) {
		if (missing > 0 && !said)
			log_note("waiting for the other tasks of this job to finish saving, until "
				 "shortly before the deadline: a requeue will kill them");
		said |= missing > 0;
		if (cancel_sleep(&cancel, BARRIER_POLL_MS, &err) < 0)
			break;
	}
	if (missing > 0)
		log_warn("%d other task%s not finished saving; requeue will kill %s", missing,
			 missing == 1 ? " has" : "s have", missing == 1 ? "it" : "them");
}
