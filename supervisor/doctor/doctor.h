/* Looks at what diagnosis_*.h judges. Both run small programs, and block for seconds, or for half a
 * minute where a notice command does. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "check_store.h"

struct doctor_options {
	const char *notice;  /* as --notice of run; NULL: auto */
	int64_t grace_ms;    /* as --grace of run */
	int64_t transfer_ms; /* that a whole checkpoint needs; -1: not known */
};

/* Watches for notices until each source can be judged (check_host_source_wait_ms()), and starts
 * this program with the shim. */
void inspect_host(const struct doctor_options *options, struct check_list *check_list);

/* False where there is no Slurm: no scontrol, and not in a job. Where it does not answer, that
 * is the diagnosis. */
bool inspect_slurm(struct check_list *check_list);

#endif
