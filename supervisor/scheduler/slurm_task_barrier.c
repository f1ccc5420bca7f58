#include "slurm_task_barrier.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool number_of(const char *text, uint64_t *number)
{
	return text && text_to_u64(text, UINT_MAX, number);
}

bool slurm_tasks_parse(const char *count, const char *number, const char *job, const char *step,
	const char *restarts, struct slurm_tasks *tasks)
{
	uint64_t how_many, mine, job_number, step_number, start = 0;

	if (!number_of(count, &how_many) || !number_of(number, &mine) ||
		!number_of(job, &job_number) || !number_of(step, &step_number) ||
		(restarts && !number_of(restarts, &start)) || how_many < 2 || mine >= how_many)
		return false;
	*tasks = (struct slurm_tasks){.count = (unsigned)how_many, .number = (unsigned)mine};
	snprintf(tasks->roll, sizeof(tasks->roll), "slurm-%u.%u.%u", (unsigned)job_number,
		(unsigned)step_number, (unsigned)start);
	return true;
}

const char *slurm_tasks_name(
	const struct slurm_tasks *tasks, enum slurm_task_state state, char name[SLURM_TASK_NAME])
{
	snprintf(name, SLURM_TASK_NAME, "%u-%s", tasks->number,
		state == SLURM_TASK_HERE ? "here" : "through");
	return name;
}

static bool is_through(const char *here, char *const *names, size_t count)
{
	size_t length = strcspn(here, "-") + 1;

	for (size_t i = 0; i < count; i++)
		if (strncmp(names[i], here, length) == 0 &&
			text_equal(names[i] + length, "through"))
			return true;
	return false;
}

size_t slurm_tasks_missing(const struct slurm_tasks *tasks, char *const *names, size_t count)
{
	char ours[SLURM_TASK_NAME];
	size_t missing = 0;

	slurm_tasks_name(tasks, SLURM_TASK_HERE, ours);
	for (size_t i = 0; i < count; i++)
		if (text_ends(names[i], "-here") && !text_equal(names[i], ours) &&
			!is_through(names[i], names, count))
			missing++;
	return missing;
}

int64_t slurm_tasks_wait_until(int64_t now_ms, int64_t deadline_ms)
{
	int64_t reserve_ms = (deadline_ms - now_ms) / 3;

	if (reserve_ms < 5000)
		reserve_ms = 5000;
	if (reserve_ms > 20000)
		reserve_ms = 20000;
	return deadline_ms - reserve_ms;
}
