#include "slurm_task_barrier.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

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
