/* Asks Slurm about the job that this process runs in. */
#ifndef SCONTROL_H
#define SCONTROL_H

#include "slurm_job.h"

#include <stdint.h>

/* `scontrol show job`. Blocks for at most `timeout_ms`. `id` gets its name, ""
 * where there is none. */
#define SLURM_JOB_ID_SIZE 48
enum slurm_query_result slurm_job_query(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
					struct slurm_job *job);

#endif
