#include "slurm_tasks.h"

#include "base/text.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

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
