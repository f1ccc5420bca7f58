#include "frameworks.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Values that are assigned. */
#define ONE "1([^[:alnum:]_.]|$)"
#define NOT_ONE "([^1= \t]|1[[:alnum:]_.]|$)"

static bool assigns(const char *script, const char *name, const char *value)
{
	auto_free char *pattern = text_format("%s[ \t]*=[ \t]*%s", name, value);

	return text_matches(script, pattern);
}

bool lightning_slurm_is_safe(const struct lightning_slurm_facts *facts)
{
	if (!facts->script || facts->in_environment || facts->launched)
		return false;
	if (assigns(facts->script, "devices", NOT_ONE) ||
	    assigns(facts->script, "num_nodes", NOT_ONE) ||
	    (facts->many_devices && !assigns(facts->script, "devices", ONE)))
		return false;
	/* The script uses SIGUSR1 or Slurm itself. */
	if (strstr(facts->script, "SIGUSR1") || strstr(facts->script, "SLURM"))
		return false;
	/* The script resumes from a file of its own choice, not from the one saved on SIGUSR1. */
	if (strstr(facts->script, "ckpt_path"))
		return false;
	return facts->directory_is_root || strstr(facts->script, "default_root_dir");
}

static bool is_cluster_environment(void)
{
	static const char *const starts[] = {"SLURM_",        "OMPI_", "PMI_",        "PMIX_",
					     "TORCHELASTIC_", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=",
					     "GROUP_RANK=",   "LSB_",  "JSM_"};

	for (char **pair = environ; *pair; pair++)
		for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
			if (text_starts(*pair, starts[i]))
				return true;
	return false;
}

bool lightning_slurm_is_available(const char *script, bool launched, const char *checkpoint_dir)
{
	char here[PATH_MAX];
	auto_free char *root = getcwd(here, sizeof(here)) ? file_absolute(here) : text_copy("");
	auto_free char *checkpoints = file_absolute(checkpoint_dir);
	struct lightning_slurm_facts facts = {
		.script = script,
		.in_environment = is_cluster_environment(),
		.launched = launched,
		.many_devices = file_exists("/dev/nvidia1") || file_exists("/dev/dri/renderD129"),
		.directory_is_root = text_equal(root, checkpoints),
	};

	return lightning_slurm_is_safe(&facts);
}

int lightning_slurm_create(const char *directory, struct err *err)
{
	/* Lightning calls it only for "scontrol requeue ID" after the save. */
	static const char program[] = "#!/bin/sh\nexit 0\n";
	auto_free char *path = text_format("%s/scontrol", directory);
	auto_close int fd = -1;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return err_os(err, errno, "%s", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (fd < 0)
		return err_os(err, errno, "%s", path);
	if (file_write_all(fd, program, sizeof(program) - 1, err) < 0)
		return -1;
	/* On a noexec mount, Lightning's handler would fail with an exception and end the
	 * training. */
	if (access(path, X_OK) < 0)
		return err_os(err, errno, "%s", path);
	return 0;
}

char **lightning_slurm_environment(const char *directory, unsigned attempt)
{
	static const char *const fixed[] = {"SLURM_NTASKS=1", "SLURM_PROCID=0", "SLURM_LOCALID=0",
					    "SLURM_NODEID=0", "SLURM_JOB_NAME=reprieve"};
	const char *path = getenv("PATH");
	char **pairs = memory_new(8 * sizeof(*pairs));
	size_t count = 0;

	for (; count < sizeof(fixed) / sizeof(fixed[0]); count++)
		pairs[count] = text_copy(fixed[count]);
	pairs[count++] = text_format("SLURM_JOB_ID=%u", attempt);
	pairs[count++] = text_format("PATH=%s:%s", directory, path ? path : "/usr/bin:/bin");
	return pairs;
}
