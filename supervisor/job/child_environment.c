/* What the job sees of us in its environment. */
#include "base/cleanup.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"
#include "shim/shim.h"

#include <stdio.h>
#include <stdlib.h>

void child_environment_add(struct job *job, char *pair)
{
	size_t count = 0;

	while (job->environment[count])
		count++;
	job->environment = memory_grow(job->environment, count + 2, sizeof(*job->environment));
	job->environment[count] = pair;
	job->environment[count + 1] = NULL;
}

/* NULL: not set. */
static void add_variable(struct job *job, const char *name, const char *value)
{
	if (value)
		child_environment_add(job, text_format("%s=%s", name, value));
}

void child_environment_build(struct job *job)
{
	auto_free char *notice = session_path(&job->session, SESSION_NOTICE);
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	bool has_shim = job->tracker && job->options->shim != SHIM_USE_OFF;
	char attempt[16], step[24] = "";

	snprintf(attempt, sizeof(attempt), "%u",
		 job->resume.attempt.number ? job->resume.attempt.number : 1);
	if (job->resume.step >= 0)
		snprintf(step, sizeof(step), "%lld", (long long)job->resume.step);
	job->environment = memory_new(sizeof(*job->environment));
	add_variable(job, "REPRIEVE_JOB", job->name.text);
	add_variable(job, "REPRIEVE_ATTEMPT", attempt);
	add_variable(job, "REPRIEVE_RESUMING", job->resume.kind != RESUME_FRESH ? "1" : "0");
	add_variable(job, "REPRIEVE_STEP", step);
	add_variable(job, "REPRIEVE_CHECKPOINT_DIR", job->workspace.directory);
	add_variable(job, "REPRIEVE_NOTICE_FILE", notice);
	add_variable(job, SHIM_ENV_CHANNEL, has_shim ? tracker_channel(job->tracker) : NULL);
	add_variable(job, "REPRIEVE_PAGE", page ? progress_page_path(page) : NULL);
	child_environment_add_profile(job);
	child_environment_add_run(job);
}

int child_environment_add_shim(struct job *job, struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *preload = NULL;
	auto_free char *sanitizer = NULL;

	if (!job->tracker || !tracker_channel(job->tracker))
		return err_set(err, ERR_FAILED, "it has no channel to report on");
	if (ld_preload_find(&path, err) < 0 ||
	    ld_preload_compose(getenv("LD_PRELOAD"), path, &preload, err) < 0)
		return -1;
	sanitizer = ld_preload_sanitizer_options(getenv("ASAN_OPTIONS"));
	add_variable(job, "LD_PRELOAD", preload);
	add_variable(job, "ASAN_OPTIONS", sanitizer);
	return 0;
}

void child_environment_free(struct job *job)
{
	for (char **pair = job->environment; pair && *pair; pair++)
		free(*pair);
	free(job->environment);
	job->environment = NULL;
}
