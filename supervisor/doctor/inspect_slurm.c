#include "base/cleanup.h"
#include "base/text.h"
#include "check_slurm.h"
#include "doctor.h"
#include "base/program_output.h"
#include "scheduler/scheduler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCONTROL_MS 10000

/* What scontrol answers; NULL where it does not. The caller frees. */
static char *scontrol(const char *const *words, struct err *err)
{
	const char *argv[8] = {"scontrol"};
	auto_free char *said = NULL;

	for (size_t i = 0; i < 6 && words[i]; i++)
		argv[i + 1] = words[i];
	return program_output((char *const *)argv, SCONTROL_MS, &said, err) < 0 ? NULL
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
	struct err err = {0};
	auto_free char *config = scontrol((const char *const[]){"show", "config", NULL}, &err);
	auto_free char *job = NULL, *partition = NULL, *script = NULL;
	char id[48], name[64];
	bool in_job = slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
		getenv("SLURM_ARRAY_TASK_ID"), id, sizeof(id));

	if (!config && err.kind == ERR_NOT_FOUND && !in_job)
		return false;
	if (!config) {
		diagnosis_of_slurm(
			&(struct slurm_texts){.asked = err.kind == ERR_NOT_FOUND ? SLURM_NO_PROGRAM
										 : SLURM_NO_ANSWER,
				.silence = err.text},
			diagnosis);
		return true;
	}
	if (in_job) {
		job = scontrol((const char *const[]){"--oneliner", "show", "job", id, NULL}, NULL);
		script = scontrol(
			(const char *const[]){"write", "batch_script", id, "-", NULL}, NULL);
	}
	if (diagnosis_slurm_partition(job, name, sizeof(name)))
		partition = scontrol(
			(const char *const[]){"--oneliner", "show", "partition", name, NULL}, NULL);
	diagnosis_of_slurm(&(struct slurm_texts){.config = config,
				   .job = job,
				   .partition = partition,
				   .script = script,
				   .log_appends = job ? output_appends() : -1},
		diagnosis);
	return true;
}
