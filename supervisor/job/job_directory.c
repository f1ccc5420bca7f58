/* Before an attempt is claimed: can the command be run, and may the job start in this checkpoint
 * directory, and with the parts that could be set up? */
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "workspace/workspace.h"

static int check_directory(struct job *job, const char **advice, struct err *err)
{
	const struct directory_check own = {
		.directory = job->options->checkpoint_dir,
		.store = job->store,
		.runtime = job->session.directory,
		.command = job->options->command,
	};

	if (directory_check_run(&own, advice, err) < 0)
		return -1;
	*advice = DIRECTORY_CHECK_CHOOSE;
	if (job->store && directory_check_is_working_directory(job->options->checkpoint_dir))
		log_warn("the checkpoint directory is the working directory: everything in %s is "
			 "saved with the checkpoints, and replaced by a restore",
			 job->workspace.directory);
	return job->options->directory_chosen ? workspace_prepare(&job->workspace, err) : 0;
}

static int refuse_directory(struct job *job, char reason[160])
{
	const char *advice;
	struct err err;

	if (check_directory(job, &advice, &err) == 0)
		return 0;
	if (!job->options->directory_chosen && !job->store_is_needed && !job->options->strict) {
		report_our_failure(&job->reports, "checkpoints will not be saved", &err);
		job->store = NULL;
		return 0;
	}
	log_error("%s: %s", err.text, advice);
	text_set(reason, 160, err.text);
	return err.kind == ERR_NO_SPACE ? EXIT_OWN_FAILURE : EXIT_CONFIGURATION;
}

/* Under --strict, a part that could not be set up keeps the job from starting. The failure itself
 * has been logged. */
static int refuse_strictly(const struct job *job, char reason[160])
{
	if (!job->options->strict || !job->reports.failed)
		return 0;
	log_error("not started: --strict turns the failure above into an error");
	text_set(reason, 160, "--strict turns a failure there into an error");
	return EXIT_CONFIGURATION;
}

/* A mistyped command is to leave no job in the store. */
static int refuse_command(struct job *job, char reason[160])
{
	int refused = command_check(job->options->command[0], job->workspace.directory,
				    &job->command_err);

	job->command_refused = refused != 0;
	if (refused)
		text_set(reason, 160, job->command_err.text);
	return refused;
}

int job_check_start(struct job *job, char reason[160])
{
	int refused = refuse_command(job, reason);

	if (!refused)
		refused = refuse_directory(job, reason);
	return refused ? refused : refuse_strictly(job, reason);
}
