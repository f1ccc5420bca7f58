#include "launch.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/inside.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"
#include "shim/shim.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- expectation --- */

bool expectation_starts_another_run(char *const *command)
{
	for (char *const *word = command; *word; word++)
		if (strstr(*word, "reprieve run") ||
		    (text_equal(*word, "run") && word > command && text_ends(word[-1], "reprieve")))
			return true;
	return false;
}

/* Are several tasks of one launcher started with this command, each below a supervisor of its own?
 * Only one of them can have the directory, and the others must not be refused for it. */
static bool is_one_of_several_tasks(void)
{
	static const char *const sizes[] = {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE",
					    "PMI_SIZE", "PMIX_SIZE", "WORLD_SIZE"};
	uint64_t count;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *text = getenv(sizes[i]);

		if (text && text_to_u64(text, UINT32_MAX, &count) && count > 1)
			return true;
	}
	return false;
}

bool expectation_is_called_training(char *const *command)
{
	while (*command && !text_matches(*command, "(^|/)[^/]*(train|tune)[^/]*\\.py$"))
		command++;
	return *command != NULL;
}

enum expectation expectation_of(char *const *command, const struct profile *profile)
{
	if (!profile || profile->only_format || is_one_of_several_tasks() ||
	    expectation_starts_another_run(command))
		return EXPECT_NOTHING;
	return EXPECT_BY_COMMAND;
}

/* --- command_check --- */

/* A program in the checkpoint directory may only come with the restore; where that is, no text
 * with ".." tells. */
static bool may_be_restored(const char *command, const char *directory)
{
	size_t length = strlen(directory);
	auto_free char *here = getcwd(NULL, 0);
	auto_free char *absolute = NULL;

	while (text_starts(command, "./"))
		command += 2;
	/* In "/", what follows its slash. */
	absolute = *command == '/' ? text_copy(command)
				   : text_format("%s/%s", here && here[1] ? here : "", command);
	return strstr(command, "..") ||
	       (strncmp(absolute, directory, length) == 0 && absolute[length] == '/');
}

int command_check(const char *command, const char *directory, struct err *err)
{
	if (strchr(command, '/') && may_be_restored(command, directory))
		return 0;
	return child_check_command(command, err);
}

/* "NAME=value"; takes ownership. */
static void add_pair(struct child_environment *environment, char *pair)
{
	size_t count = 0;

	while (environment->pairs && environment->pairs[count])
		count++;
	environment->pairs = memory_grow(environment->pairs, count + 2, sizeof(char *));
	environment->pairs[count] = pair;
	environment->pairs[count + 1] = NULL;
}

/*
 * Keeps all attempts of a job in one run of its experiment tracker. W&B takes the id of the run
 * from the environment (docs.wandb.ai, "Environment variables": WANDB_RUN_ID, WANDB_RESUME). MLflow
 * does so too, but only for a run that its server knows already, so nothing can be set for it
 * before the job has created one.
 */
static void add_run_name(struct child_environment *environment, const struct child_facts *facts)
{
	const char *run = facts->run;

	/* W&B sweeps and grouped runs choose their own ids: leave them alone. */
	if (!run || !run[0] || text_from_environment("WANDB_SWEEP_ID") ||
	    text_from_environment("WANDB_RUN_GROUP"))
		return;
	if (!text_from_environment("WANDB_RUN_ID"))
		add_pair(environment, text_format("WANDB_RUN_ID=%s", run));
	/* Without it, W&B overwrites a run of the same id. */
	if (!text_from_environment("WANDB_RESUME"))
		add_pair(environment, text_copy("WANDB_RESUME=allow"));
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
static void add_tmpdir_variable(struct child_environment *environment,
				const struct child_facts *facts)
{
	/* Until the job makes it, our folder tells where it will be. */
	const char *there = file_is_directory(facts->workspace->directory)
				    ? facts->workspace->directory
				    : facts->workspace->beside;
	auto_free char *path = NULL;
	struct err err;

	if (getenv("TMPDIR") || !there || is_same_file_system("/tmp", there))
		return;
	path = workspace_path_beside(facts->workspace, "tmp", &err);
	if (!path || strlen(path) > TMPDIR_MOST ||
	    beneath_make_directories(facts->workspace->folder, "tmp", 0700, &err) < 0) {
		log_debug("TMPDIR is not set");
		return;
	}
	log_note("TMPDIR=%s: a checkpoint is renamed into place and not copied", path);
	add_pair(environment, text_format("TMPDIR=%s", path));
}

static void add_slurm_variables(struct child_environment *environment,
				const struct child_facts *facts)
{
	const char *directory = facts->slurm_directory;
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
	pairs = lightning_slurm_environment(directory, facts->attempt);
	for (char **pair = pairs; *pair; pair++)
		add_pair(environment, *pair);
}

/* The variables that the profile sets. */
static void add_profile_variables(struct child_environment *environment,
				  const struct child_facts *facts)
{
	const struct profile *profile = facts->profile;

	if (!profile)
		return;
	if (profile->local_tmpdir)
		add_tmpdir_variable(environment, facts);
	if (facts->like_slurm)
		add_slurm_variables(environment, facts);
}

/* A value of NULL leaves the variable unset. */
static void add_variable(struct child_environment *environment, const char *name, const char *value)
{
	if (value)
		add_pair(environment, text_format("%s=%s", name, value));
}

/* What the job has in it, whoever has set it. */
static const char *value_in_job(const struct child_environment *environment, const char *name)
{
	size_t length = strlen(name);

	for (char **pair = environment->pairs; pair && *pair; pair++)
		if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=')
			return *pair + length + 1;
	return getenv(name);
}

/* What an outer run has handed on to this one is not handed on once more. */
static void hand_on(struct child_environment *environment)
{
	for (const char *const *variable = inside_handed_on; *variable; variable++) {
		char name[INSIDE_NAME_SIZE];
		const char *value = value_in_job(environment, *variable);
		bool stale = getenv(inside_outer_name(*variable, name));

		add_variable(environment, name, value && *value ? value : stale ? "" : NULL);
	}
}

void child_environment_build(struct child_environment *environment, const struct child_facts *facts)
{
	char step[24] = "";

	if (facts->step >= 0)
		snprintf(step, sizeof(step), "%lld", (long long)facts->step);
	add_variable(environment, "REPRIEVE_JOB", facts->job);
	add_pair(environment,
		 text_format(INSIDE_VARIABLE "=%u", facts->attempt ? facts->attempt : 1));
	add_variable(environment, "REPRIEVE_RESUMING", facts->resuming ? "1" : "0");
	add_variable(environment, "REPRIEVE_STEP", step);
	add_variable(environment, "REPRIEVE_CHECKPOINT_DIR", facts->workspace->directory);
	add_pair(environment, text_format("REPRIEVE_MACHINES=%u", facts->members));
	add_pair(environment, text_format("REPRIEVE_MACHINE=%u", facts->member));
	add_variable(environment, "REPRIEVE_NOTICE_FILE", facts->notice);
	add_variable(environment, SHIM_ENV_CHANNEL, facts->channel);
	add_variable(environment, "REPRIEVE_PAGE", facts->page);
	add_profile_variables(environment, facts);
	add_run_name(environment, facts);
	hand_on(environment);
}

int child_environment_add_shim(struct child_environment *environment, const char *channel,
			       struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *preload = NULL;
	auto_free char *sanitizer = NULL;

	if (!channel)
		return err_set(err, ERR_FAILED, "its channel is not open");
	if (ld_preload_find(&path, err) < 0 ||
	    ld_preload_compose(getenv("LD_PRELOAD"), path, &preload, err) < 0)
		return -1;
	sanitizer = ld_preload_sanitizer_options(getenv("ASAN_OPTIONS"));
	add_variable(environment, "LD_PRELOAD", preload);
	add_variable(environment, "ASAN_OPTIONS", sanitizer);
	return 0;
}

void child_environment_release(struct child_environment *environment)
{
	path_list_free(environment->pairs);
	environment->pairs = NULL;
}
