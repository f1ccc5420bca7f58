/* The variables that the job gets: REPRIEVE_*, the shim's, the profile's, those of its experiment
 * tracker. A variable that the user has set is not changed. */
#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/inside.h"
#include "base/log.h"
#include "base/text.h"
#include "frameworks/frameworks.h"
#include "job.h"
#include "process/process.h"
#include "shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "NAME=value"; takes ownership. */
static void add_pair(struct job *job, char *pair)
{
	size_t count = 0;

	while (job->environment[count])
		count++;
	job->environment = memory_grow(job->environment, count + 2, sizeof(*job->environment));
	job->environment[count] = pair;
	job->environment[count + 1] = NULL;
}

static bool is_variable_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/*
 * Keeps all attempts of a job in one run of its experiment tracker. W&B takes the id of the run
 * from the environment (docs.wandb.ai, "Environment variables": WANDB_RUN_ID, WANDB_RESUME). MLflow
 * does so too, but only for a run that its server knows already, so nothing can be set for it
 * before the job has created one.
 */
static void add_run_name(struct job *job)
{
	const char *run = job->resume.attempt_outcomes.run;

	/* W&B sweeps and grouped runs choose their own ids: leave them alone. */
	if (!job->options->run_identity || !run[0] || is_variable_set("WANDB_SWEEP_ID") ||
	    is_variable_set("WANDB_RUN_GROUP"))
		return;
	if (!is_variable_set("WANDB_RUN_ID"))
		add_pair(job, text_format("WANDB_RUN_ID=%s", run));
	/* Without it, W&B overwrites a run of the same id. */
	if (!is_variable_set("WANDB_RESUME"))
		add_pair(job, text_copy("WANDB_RESUME=allow"));
}

/* Python's multiprocessing creates sockets there, and unix(7) limits a path to 107 characters. */
#define TMPDIR_MOST 60

static bool is_same_file_system(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev;
}

/* A "rename" from another file system is a copy: for a while, the final name would hold half a
 * file. */
static void add_tmpdir_variable(struct job *job)
{
	auto_free char *path = NULL;
	struct err err;

	if (getenv("TMPDIR") || !file_is_directory(job->workspace.directory) ||
	    is_same_file_system("/tmp", job->workspace.directory))
		return;
	path = workspace_path_beside(&job->workspace, "tmp", &err);
	if (!path || strlen(path) > TMPDIR_MOST ||
	    beneath_make_directories(job->workspace.folder, "tmp", 0700, &err) < 0) {
		log_debug("TMPDIR is not set");
		return;
	}
	log_note("TMPDIR=%s: a checkpoint is renamed into place and not copied", path);
	add_pair(job, text_format("TMPDIR=%s", path));
}

static void add_slurm_variables(struct job *job)
{
	auto_free char *directory = session_path(&job->session, "bin");
	auto_free char **pairs = NULL;
	struct err err;

	if (!directory) {
		log_note("cannot emulate Slurm's environment: no runtime directory");
		return;
	}
	if (lightning_slurm_create(directory, &err) < 0) {
		log_note("cannot emulate Slurm's environment: %s", err.text);
		return;
	}
	pairs = lightning_slurm_environment(directory, job->resume.attempt.number);
	for (char **pair = pairs; *pair; pair++)
		add_pair(job, *pair);
}

/* The variables that the profile sets. */
static void add_profile_variables(struct job *job)
{
	const struct profile *profile = job->profile.profile;

	if (!profile)
		return;
	if (profile->local_tmpdir)
		add_tmpdir_variable(job);
	if (job->options->ask_like_slurm)
		add_slurm_variables(job);
}

/* A value of NULL leaves the variable unset. */
static void add_variable(struct job *job, const char *name, const char *value)
{
	if (value)
		add_pair(job, text_format("%s=%s", name, value));
}

void child_environment_build(struct job *job)
{
	auto_free char *notice = session_path(&job->session, SESSION_NOTICE);
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	bool has_shim = job->tracker && job->options->shim != SHIM_USE_OFF;
	char attempt[16], step[24] = "", machines[16], machine[16];

	snprintf(attempt, sizeof(attempt), "%u",
		 job->resume.attempt.number ? job->resume.attempt.number : 1);
	if (job->resume.step >= 0)
		snprintf(step, sizeof(step), "%lld", (long long)job->resume.step);
	job->environment = memory_new(sizeof(*job->environment));
	add_variable(job, "REPRIEVE_JOB", job->name.text);
	add_variable(job, INSIDE_VARIABLE, attempt);
	add_variable(job, "REPRIEVE_RESUMING", job->resume.kind != RESUME_FRESH ? "1" : "0");
	add_variable(job, "REPRIEVE_STEP", step);
	add_variable(job, "REPRIEVE_CHECKPOINT_DIR", job->workspace.directory);
	snprintf(machines, sizeof(machines), "%u", job->gang.members);
	snprintf(machine, sizeof(machine), "%u", job->gang.member);
	add_variable(job, "REPRIEVE_MACHINES", machines);
	add_variable(job, "REPRIEVE_MACHINE", machine);
	add_variable(job, "REPRIEVE_NOTICE_FILE", notice);
	add_variable(job, SHIM_ENV_CHANNEL, has_shim ? tracker_channel(job->tracker) : NULL);
	add_variable(job, "REPRIEVE_PAGE", page ? progress_page_path(page) : NULL);
	add_profile_variables(job);
	add_run_name(job);
}

int child_environment_add_shim(struct job *job, struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *preload = NULL;
	auto_free char *sanitizer = NULL;

	if (!job->tracker || !tracker_channel(job->tracker))
		return err_set(err, ERR_FAILED, "its channel is not open");
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
