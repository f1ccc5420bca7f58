/* PRIVATE. Which cloud is this? */
#ifndef CLOUD_DETECT_H
#define CLOUD_DETECT_H

#include "base/instance_metadata.h"

#include <stdbool.h>

/* What the environment and the firmware tell. The caller's thread reads it once: getenv() on other
 * threads would race with setenv(). */
struct environment {
	struct metadata_endpoint endpoints[METADATA_SERVICES];
	struct metadata_aws_settings aws;
	char slurm_job[32], slurm_end[32]; /* SLURM_JOB_ID, SLURM_JOB_END_TIME; "": not set */
	/* SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID: the number of an array's last element means all
	 * of them to scontrol */
	char slurm_array[32], slurm_element[32];
	/* REPRIEVE_GCP_NOTICE: the length of the preemption notice configured for the VM */
	char gcp_notice[32];
	bool dmi_readable;
	char dmi_vendor[64], dmi_product[64], dmi_bios[64], dmi_chassis[64];
};

void detect_read_environment(struct environment *environment);

enum {
	DETECT_AWS = 1,
	DETECT_GCP = 2,
	DETECT_AZURE = 4,
	DETECT_PROBE = 8, /* unknown: probe 169.254.169.254 */
	DETECT_ALIBABA = 16,
	DETECT_TENCENT = 32,
	DETECT_SLURM = 64, /* in addition to any of them: a Slurm job */
};

/* PURE. The set of DETECT_*: every override that is set, otherwise by the firmware; 0: a machine of
 * none of these clouds. */
unsigned detect_sources(const struct environment *environment);

#endif
