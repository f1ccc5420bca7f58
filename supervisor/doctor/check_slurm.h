/*
 * PURE. What Slurm's configuration means for a job that wants to save before it is preempted, and
 * to run again: one line per trap. slurm.conf(5), sbatch(1), scontrol(1); tried with 22.05.
 */
#ifndef CHECK_SLURM_H
#define CHECK_SLURM_H

#include "check_store.h"
#include "scheduler/scheduler.h"

/* What scontrol printed; NULL: not asked, or it did not say. */
struct slurm_outputs {
	/* for show config; unless answered, nothing else is judged */
	enum slurm_query_result asked;
	const char *error_text; /* of SLURM_QUERY_FAILED: why, in scontrol's own words */
	const char *config;     /* show config */
	const char *job;        /* --oneliner show job ID, of the job that we are in */
	const char *partition;  /* --oneliner show partition, of that job's */
	const char *script;     /* write batch_script ID - */
	int log_appends; /* of the file that this job's output goes to: 1, 0; -1: not known */
};

/* At most 10 rows. */
void check_slurm(const struct slurm_outputs *texts, struct check_list *check_list);

/* The partition of a job in `scontrol --oneliner show job`. False where it is not
 * there, or does not fit. */
bool check_slurm_partition(const char *job, char *name, size_t capacity);

#endif
