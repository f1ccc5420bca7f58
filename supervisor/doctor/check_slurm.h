/*
 * PURE. Does Slurm's configuration let a preempted job save, and start again? One row per setting.
 * Facts from slurm.conf(5), sbatch(1) and scontrol(1), tested with 22.05.
 */
#ifndef CHECK_SLURM_H
#define CHECK_SLURM_H

#include "check_store.h"
#include "scheduler/scheduler.h"

/* The output of scontrol's commands; NULL: not run, or it failed. */
struct slurm_outputs {
	/* result of `show config`; if it is not OK, nothing else is judged */
	enum slurm_query_result asked;
	const char *error_text; /* with SLURM_QUERY_FAILED: scontrol's error */
	const char *config;     /* show config */
	const char *job;        /* --oneliner show job ID, for the job that we are in */
	const char *partition;  /* --oneliner show partition, for that job's partition */
	const char *script;     /* write batch_script ID - */
	int log_appends;        /* this job's output file is opened to append: 1, 0; -1: unknown */
};

/* Replaces the list by at most 10 rows. */
void check_slurm(const struct slurm_outputs *texts, struct check_list *check_list);

/* The partition in `scontrol --oneliner show job`. False: it is missing, or does not fit. */
bool check_slurm_partition(const char *job, char *name, size_t capacity);

#endif
