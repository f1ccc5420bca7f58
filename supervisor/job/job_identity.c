/*
 * One run for the trackers of experiments, however often the job is started again. W&B takes the
 * name of a run from the environment (docs.wandb.ai, "Environment variables": WANDB_RUN_ID,
 * WANDB_RESUME). MLflow does too, but only of a run that its server knows already, so that nothing
 * can be set for it before the job has made one.
 */
#include "base/text.h"
#include "job.h"

#include <stdlib.h>

static bool is_variable_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

void child_environment_add_run(struct job *job)
{
	const char *run = job->resume.attempt_outcomes.run;

	/* A sweep names its runs itself; a group means that this job makes several. */
	if (!job->options->run_identity || !run[0] || is_variable_set("WANDB_SWEEP_ID") ||
	    is_variable_set("WANDB_RUN_GROUP"))
		return;
	if (!is_variable_set("WANDB_RUN_ID"))
		child_environment_add(job, text_format("WANDB_RUN_ID=%s", run));
	/* Without it a run of the same name is written over. */
	if (!is_variable_set("WANDB_RESUME"))
		child_environment_add(job, text_copy("WANDB_RESUME=allow"));
}
