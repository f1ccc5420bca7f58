#include "slurm_task_barrier.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "storage/storage.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A marker is not worth more of the notice. */
#define MARKER_PUT_MS 5000
#define BARRIER_POLL_MS 1000
/* Slurm signals all tasks at once, and each needs one PUT to arrive. Until then, no marker does not
 * mean that there is no task. */
#define ARRIVAL_MS 3000

struct task {
	uint64_t number; /* from 0 */
	char step[96];   /* this start of this step, for storage_barrier_arrive() */
};

/* False: this is not one of several tasks. A batch script has no SLURM_STEP_NUM_TASKS, and a first
 * start no SLURM_RESTART_COUNT. */
static bool read_task(struct task *task)
{
	static const char *const names[] = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_JOB_ID",
					    "SLURM_STEP_ID", "SLURM_RESTART_COUNT"};
	uint64_t values[5] = {0};

	for (size_t i = 0; i < 5; i++) {
		const char *text = getenv(names[i]);

		if (!text_to_u64(text ? text : i == 4 ? "0" : "", UINT_MAX, &values[i]))
			return false;
	}
	task->number = values[1];
	snprintf(task->step, sizeof(task->step), "slurm-%u.%u.%u", (unsigned)values[2],
		 (unsigned)values[3], (unsigned)values[4]);
	return values[0] > 1 && task->number < values[0];
}

/* The first task waits; nobody waits for it. */
static void put_marker(struct storage *storage, const char *state)
{
	struct cancel cancel = CANCEL_AT(clock_monotonic_ms() + MARKER_PUT_MS);
	auto_free char *name = NULL;
	struct task task;
	struct err err;

	if (!storage || !read_task(&task) || task.number == 0)
		return;
	name = text_format("%u-%s", (unsigned)task.number, state);
	if (storage_barrier_arrive(storage, task.step, name, &cancel, &err) < 0)
		log_debug("cannot put this task's marker for the first task: %s", err.text);
}

void slurm_task_barrier_join(struct storage *storage)
{
	put_marker(storage, "here");
}

void slurm_task_barrier_leave(struct storage *storage)
{
	put_marker(storage, "through");
}

/* How many tasks have started to save and have not finished; -1: the store cannot be read. */
static int count_missing(struct storage *storage, const struct task *task, struct cancel *cancel)
{
	auto_(storage_barrier_release) struct storage_barrier_arrivals found = {0};
	int missing = 0;
	struct err err;

	if (storage_barrier_read(storage, task->step, &found, cancel, &err) < 0) {
		log_debug("the other tasks of the job: %s", err.text);
		return -1;
	}
	for (size_t i = 0; i < found.count; i++) {
		size_t number = strcspn(found.names[i], "-");
		auto_free char *last = text_format("%.*s-through", (int)number, found.names[i]);
		bool finished = false;

		for (size_t j = 0; j < found.count; j++)
			finished |= text_equal(found.names[j], last);
		missing += text_ends(found.names[i], "-here") && !finished;
	}
	return missing;
}

void slurm_task_barrier_await(struct storage *storage, int64_t seen_ms, int64_t deadline_ms)
{
	struct cancel cancel = CANCEL_AT(CLOCK_NEVER);
	int64_t reserve_ms = (deadline_ms - clock_monotonic_ms()) / 3;
	struct task task;
	bool said = false;
	int missing;
	struct err err;

	if (!storage || !read_task(&task))
		return;
	reserve_ms = reserve_ms < 5000 ? 5000 : reserve_ms > 20000 ? 20000 : reserve_ms;
	cancel_set_deadline(&cancel, deadline_ms - reserve_ms);
	while ((missing = count_missing(storage, &task, &cancel)) > 0 ||
	       (missing == 0 && clock_monotonic_ms() < seen_ms + ARRIVAL_MS)) {
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
