/* What the profile adds to the job's environment, only where it is unset. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "frameworks/frameworks.h"
#include "job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Python's multiprocessing makes sockets there, whose whole path may have 107 characters. */
#define TMPDIR_MOST 60

static bool is_same_file_system(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev;
}

/* A rename from another file system is a copy: the final name would hold half a
 * file for a while. */
static void add_tmpdir_variable(struct job *job)
{
	auto_free char *path = NULL;
	struct err err;

	if (getenv("TMPDIR") || !file_is_directory(job->workspace.directory) ||
	    is_same_file_system("/tmp", job->workspace.directory))
		return;
	path = workspace_path_beside(&job->workspace, "tmp", &err);
	if (!path || strlen(path) > TMPDIR_MOST || file_make_directories(path, 0700, &err) < 0) {
		log_debug("TMPDIR stays as it is");
		return;
	}
	log_note("TMPDIR=%s, so that a checkpoint is renamed into place and not copied", path);
	child_environment_add(job, text_format("TMPDIR=%s", path));
}

static void add_slurm_variables(struct job *job)
{
	auto_free char *directory = session_path(&job->session, "bin");
	auto_free char **pairs = NULL;
	struct err err;

	if (!directory) {
		log_note("the job cannot be asked as under Slurm: there is no runtime directory");
		return;
	}
	if (lightning_slurm_create(directory, &err) < 0) {
		log_note("the job cannot be asked as under Slurm: %s", err.text);
		return;
	}
	pairs = lightning_slurm_environment(directory, job->resume.attempt.number);
	for (char **pair = pairs; *pair; pair++)
		child_environment_add(job, *pair);
}

void child_environment_add_profile(struct job *job)
{
	const struct profile *profile = job->profile.profile;

	if (!profile)
		return;
	if (profile->local_tmpdir)
		add_tmpdir_variable(job);
	if (job->options->ask_like_slurm)
		add_slurm_variables(job);
}
