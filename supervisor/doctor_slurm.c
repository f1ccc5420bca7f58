#include "base/cleanup.h"
#include "base/text.h"
#include "diagnosis_slurm.h"
#include "doctor.h"
#include "program_output.h"
#include "slurm_job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCONTROL_MS 10000

/* What scontrol answers; NULL where it does not. The caller frees. */
static char *scontrol(const char *const *words)
{
	const char *argv[8] = {"scontrol"};
	auto_free char *said = NULL;
	struct err err;

	for (size_t i = 0; i < 6 && words[i]; i++)
		argv[i + 1] = words[i];
	return program_output((char *const *)argv, SCONTROL_MS, &said, &err) < 0 ? NULL
										 : take(&said);
}

static int output_appends(void)
{
	struct stat about;

	if (fstat(STDERR_FILENO, &about) < 0 || !S_ISREG(about.st_mode))
		return -1;
	return (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
}

bool doctor_of_slurm(struct diagnosis *diagnosis)
{
	auto_free char *config = scontrol((const char *const[]){"show", "config", NULL});
	auto_free char *job = NULL, *partition = NULL, *script = NULL;
	char id[48], name[64];
	bool in_job = slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
		getenv("SLURM_ARRAY_TASK_ID"), id, sizeof(id));

	if (!config)
		return false;
	if (in_job) {
		job = scontrol((const char *const[]){"--oneliner", "show", "job", id, NULL});
		script = scontrol((const char *const[]){"write", "batch_script", id, "-", NULL});
	}
	if (diagnosis_slurm_partition(job, name, sizeof(name)))
		partition = scontrol(
			(const char *const[]){"--oneliner", "show", "partition", name, NULL});
	diagnosis_of_slurm(&(struct slurm_texts){.config = config,
				   .job = job,
				   .partition = partition,
				   .script = script,
				   .log_appends = job ? output_appends() : -1},
		diagnosis);
	return true;
}
