#include "scontrol.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program_output.h"

#include <stdlib.h>

enum slurm_query_result slurm_job_query(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
					struct slurm_job *job)
{
	char *const argv[] = {"scontrol", "--oneliner", "show", "job", id, NULL};
	auto_free char *said = NULL;
	struct err err;

	if (!slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
			  getenv("SLURM_ARRAY_TASK_ID"), id, SLURM_JOB_ID_SIZE)) {
		id[0] = '\0';
		return SLURM_QUERY_FAILED;
	}
	if (program_output(argv, timeout_ms, &said, &err) < 0) {
		log_debug("%s", err.text);
		return err.kind == ERR_NOT_FOUND ? SLURM_QUERY_NO_PROGRAM : SLURM_QUERY_FAILED;
	}
	return slurm_job_parse(said, job) ? SLURM_QUERY_OK : SLURM_QUERY_FAILED;
}
