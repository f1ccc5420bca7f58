#include "inside.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "REPRIEVE_"

// clang-format off
const char *const inside_handed_on[] = {
	/* options: which run it is, and where it alone writes */
	"REPRIEVE_JOB", "REPRIEVE_CHECKPOINT_DIR", "REPRIEVE_RESTORE", "REPRIEVE_GANG",
	"REPRIEVE_MEMBER", "REPRIEVE_METRICS", "REPRIEVE_METRICS_FILE", "REPRIEVE_EVENTS",
	"REPRIEVE_LOG", "REPRIEVE_TERMINATION_LOG",
	/* the scheduler's job */
	"SLURM_JOB_ID", "SGE_JOB_SPOOL_DIR", "OAR_JOB_ID", "PBS_JOBID", "LSB_JOBID", "LSB_JOBINDEX", "FLUX_JOB_ID", "AWS_BATCH_JOB_ID",
	"SKYPILOT_TASK_ID", "TRAINING_JOB_NAME",
	NULL,
};
// clang-format on

const char *inside_getenv(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

const char *inside_outer_name(const char *variable, char text[INSIDE_NAME_SIZE])
{
	size_t skipped = text_starts(variable, PREFIX) ? strlen(PREFIX) : 0;

	snprintf(text, INSIDE_NAME_SIZE, PREFIX "OUTER_%s", variable + skipped);
	return text;
}

static const char *value_of(const char *variable, inside_getenv_fn get, void *arg)
{
	const char *value = get(arg, variable);

	return value && *value ? value : NULL;
}

bool inside_is_of_outer(const char *variable, inside_getenv_fn get, void *arg)
{
	char name[INSIDE_NAME_SIZE];
	const char *value = value_of(variable, get, arg);
	const char *outer = value_of(inside_outer_name(variable, name), get, arg);

	return value && outer && text_equal(value, outer);
}

bool inside_run(inside_getenv_fn get, void *arg)
{
	if (!value_of(INSIDE_VARIABLE, get, arg))
		return false;
	for (const char *const *variable = inside_handed_on; *variable; variable++)
		if (!text_starts(*variable, PREFIX) && value_of(*variable, get, arg) &&
		    !inside_is_of_outer(*variable, get, arg))
			return false;
	return true;
}
