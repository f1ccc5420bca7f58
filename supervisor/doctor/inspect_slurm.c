#include "base/cleanup.h"
#include "base/program.h"
#include "base/text.h"
#include "check_slurm.h"
#include "doctor.h"
#include "scheduler/scheduler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCONTROL_MS 10000

/* The output of scontrol; NULL: it failed. The caller frees. */
static char *run_scontrol(const char *const *words, struct err *err)
{
	const char *argv[8] = {"scontrol"};
	auto_free char *said = NULL;

	for (size_t i = 0; i < 6 && words[i]; i++)
		argv[i + 1] = words[i];
	return program_output((char *const *)argv, SCONTROL_MS, &said, err) < 0
		       ? NULL
		       : steal(&said);
}

static int stderr_appends(void)
{
	struct stat about;

	if (fstat(STDERR_FILENO, &about) < 0 || !S_ISREG(about.st_mode))
		return -1;
	return (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
}

bool inspect_slurm(struct check_list *check_list)
{
	struct err err = {0};
	auto_free char *config = run_scontrol((const char *const[]){"show", "config", NULL}, &err);
	auto_free char *job = NULL, *partition = NULL, *script = NULL;
	char id[48], name[64];
	bool in_job = slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
				   getenv("SLURM_ARRAY_TASK_ID"), id, sizeof(id));

	if (!config && err.kind == ERR_NOT_FOUND && !in_job)
		return false;
	if (!config) {
		check_slurm(
			&(struct slurm_outputs){
				.asked = err.kind == ERR_NOT_FOUND ? SLURM_QUERY_NO_PROGRAM
								   : SLURM_QUERY_FAILED,
				.error_text = err.text,
			},
			check_list);
		return true;
	}
	if (in_job) {
		job = run_scontrol((const char *const[]){"--oneliner", "show", "job", id, NULL},
				   NULL);
		script = run_scontrol((const char *const[]){"write", "batch_script", id, "-", NULL},
				      NULL);
	}
	if (check_slurm_partition(job, name, sizeof(name)))
		partition = run_scontrol((const char *const[]){"--oneliner", "show", "partition",
							       name, NULL},
					 NULL);
	check_slurm(
		&(struct slurm_outputs){
			.config = config,
			.job = job,
			.partition = partition,
			.script = script,
			.log_appends = job ? stderr_appends() : -1,
		},
		check_list);
	return true;
}
