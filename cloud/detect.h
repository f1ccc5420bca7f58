/* PRIVATE. Which cloud is this? */
#ifndef CLOUD_DETECT_H
#define CLOUD_DETECT_H

#include "base/cancel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the environment and the firmware say, read once, by the caller's thread: getenv() on others
 * would race with setenv(). */
struct environment {
	char aws_endpoint[160]; /* "" where not set, here and below */
	char gcp_host[160];
	char azure_endpoint[160];
	char alibaba_endpoint[160], tencent_endpoint[160];
	char slurm_job[32], slurm_end[32]; /* SLURM_JOB_ID, SLURM_JOB_END_TIME */
	char gcp_notice[32]; /* REPRIEVE_GCP_NOTICE: a preemption notice that the VM was given */
	bool aws_disabled, aws_tokenless_allowed, aws_ipv6;
	int64_t aws_timeout_ms;
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

/* PURE. Where each service is: an override without trailing slashes, or the well-known address. */
void detect_aws_endpoint(const struct environment *environment, char *endpoint, size_t capacity);
void detect_gcp_endpoint(const struct environment *environment, char *endpoint, size_t capacity);
void detect_azure_endpoint(const struct environment *environment, char *endpoint, size_t capacity);
void detect_alibaba_endpoint(const struct environment *environment, char *endpoint,
			     size_t capacity);
void detect_tencent_endpoint(const struct environment *environment, char *endpoint,
			     size_t capacity);

/* The first provider whose service answers there, or NULL; blocks for at most a second. */
struct provider;
const struct provider *detect_probe(const char *endpoint, struct cancel *cancel);

#endif
