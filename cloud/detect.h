/* PRIVATE. Which cloud is this? */
#ifndef CLOUD_DETECT_H
#define CLOUD_DETECT_H

#include "base/instance_metadata.h"

#include <stdbool.h>

/* What the environment and the firmware say, read once, by the caller's thread: getenv() on others
 * would race with setenv(). */
struct environment {
	struct metadata_endpoint endpoints[METADATA_SERVICES];
	struct metadata_aws_settings aws;
	char slurm_job[32], slurm_end[32]; /* SLURM_JOB_ID, SLURM_JOB_END_TIME; "" where not set */
	char gcp_notice[32]; /* REPRIEVE_GCP_NOTICE: a preemption notice that the VM was given */
	bool dmi_readable;
	char dmi_vendor[64], dmi_product[64], dmi_bios[64], dmi_chassis[64];
};

void detect_read_environment(struct environment *environment);

enum {
	DETECT_AWS = 1,
	DETECT_GCP = 2,
	DETECT_AZURE = 4,
	DETECT_PROBE = 8, /* nothing known: ask 169.254.169.254 */
	DETECT_ALIBABA = 16,
	DETECT_TENCENT = 32,
	DETECT_SLURM = 64, /* beside any of them: a job whose end is known */
};

/* PURE. Overrides first (each that is set), then the firmware; 0 for a machine
 * that is none of them. */
unsigned detect_sources(const struct environment *environment);

#endif
