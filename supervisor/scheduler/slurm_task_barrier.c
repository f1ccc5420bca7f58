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

static bool parse_number(const char *text, uint64_t *number)
{
	return text && text_to_u64(text, UINT_MAX, number);
}

bool slurm_task_barrier_parse(const char *count, const char *number, const char *job,
			      const char *step, const char *restarts,
			      struct slurm_task_barrier *tasks)
{
	uint64_t how_many, mine, job_number, step_number, start = 0;

	if (!parse_number(count, &how_many) || !parse_number(number, &mine) ||
	    !parse_number(job, &job_number) || !parse_number(step, &step_number) ||
	    (restarts && !parse_number(restarts, &start)) || how_many < 2 || mine >= how_many)
		return false;
	*tasks = (struct slurm_task_barrier){.count = (unsigned)how_many, .number = (unsigned)mine};
	snprintf(tasks->barrier, sizeof(tasks->barrier), "slurm-%u.%u.%u", (unsigned)job_number,
		 (unsigned)step_number, (unsigned)start);
	return true;
}

const char *slurm_task_barrier_marker(const struct slurm_task_barrier *tasks,
				      enum slurm_task_state state,
				      char name[SLURM_TASK_MARKER_SIZE])
{
	snprintf(name, SLURM_TASK_MARKER_SIZE, "%u-%s", tasks->number,
		 state == SLURM_TASK_STARTED ? "here" : "through");
	return name;
}

static bool has_finished(const char *here, char *const *names, size_t count)
{
	size_t length = strcspn(here, "-") + 1;

	for (size_t i = 0; i < count; i++)
		if (strncmp(names[i], here, length) == 0 &&
		    text_equal(names[i] + length, "through"))
			return true;
	return false;
}

size_t slurm_task_barrier_missing(const struct slurm_task_barrier *tasks, char *const *names,
				  size_t count)
{
	char ours[SLURM_TASK_MARKER_SIZE];
	size_t missing = 0;

	slurm_task_barrier_marker(tasks, SLURM_TASK_STARTED, ours);
	for (size_t i = 0; i < count; i++)
		if (text_ends(names[i], "-here") && !text_equal(names[i], ours) &&
		    !has_finished(names[i], names, count))
			missing++;
	return missing;
}

int64_t slurm_task_barrier_wait_until(int64_t now_ms, int64_t deadline_ms)
{
	int64_t reserve_ms = (deadline_ms - now_ms) / 3;

	if (reserve_ms < 5000)
		reserve_ms = 5000;
	if (reserve_ms > 20000)
		reserve_ms = 20000;
	return deadline_ms - reserve_ms;
}

static bool read_environment(struct slurm_task_barrier *tasks)
{
	return slurm_task_barrier_parse(getenv("SLURM_STEP_NUM_TASKS"), getenv("SLURM_PROCID"),
					getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"),
					getenv("SLURM_RESTART_COUNT"), tasks);
}

/* The first task waits; nobody waits for it. */
static void put_marker(struct storage *storage, enum slurm_task_state state)
{
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	char name[SLURM_TASK_MARKER_SIZE];
	struct slurm_task_barrier tasks;
	struct err err;

	if (!storage || !read_environment(&tasks) || tasks.number == 0 ||
	    cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + MARKER_PUT_MS);
	if (storage_barrier_arrive(storage, tasks.barrier,
				   slurm_task_barrier_marker(&tasks, state, name), &cancel, &err) <
	    0)
		log_debug("cannot put this task's marker for the first task: %s", err.text);
}

void slurm_task_barrier_join(struct storage *storage)
{
	put_marker(storage, SLURM_TASK_STARTED);
}

void slurm_task_barrier_leave(struct storage *storage)
{
	put_marker(storage, SLURM_TASK_FINISHED);
}

/* How many tasks have started to save and have not finished; -1: the store cannot be read. */
static int count_missing(struct storage *storage, const struct slurm_task_barrier *tasks,
			 struct cancel *cancel)
{
	auto_(storage_barrier_release) struct storage_barrier_arrivals barrier = {0};
	struct err err;

	if (storage_barrier_read(storage, tasks->barrier, &barrier, cancel, &err) < 0) {
		log_debug("the other tasks of the job: %s", err.text);
		return -1;
	}
	return (int)slurm_task_barrier_missing(tasks, barrier.names, barrier.count);
}

void slurm_task_barrier_await(struct storage *storage, int64_t seen_ms, int64_t deadline_ms)
{
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	int64_t arrived_ms = seen_ms + ARRIVAL_MS;
	struct slurm_task_barrier tasks;
	bool said = false;
	int missing;
	struct err err;

	if (!storage || !read_environment(&tasks) || cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel,
			    slurm_task_barrier_wait_until(clock_monotonic_ms(), deadline_ms));
	while ((missing = count_missing(storage, &tasks, &cancel)) > 0 ||
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
