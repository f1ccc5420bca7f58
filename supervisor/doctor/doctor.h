/*
 * supervisor/doctor/: is this machine, this store and this scheduler ready for a preemption? Facts
 * are collected first, then judged by PURE functions: one row per check, with what to do about it.
 *
 * For other folders, through this header alone:
 *
 *	doctor.h		collects the facts of the host and of Slurm, and judges them
 *	check_store.h		PURE: judges a store's probe; the list of rows
 *
 * Of this folder only:
 *
 *	check_host.h		PURE: judges notice sources, shim, init, limits, grace
 *	check_slurm.h		PURE: judges Slurm's configuration
 *
 * The two functions below run small programs. They block for seconds, or for half a minute if a
 * notice command takes that long.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "check_store.h"

struct doctor_options {
	const char *notice;  /* as --notice of run; NULL: auto */
	int64_t grace_ms;    /* as --grace of run */
	int64_t transfer_ms; /* time to upload a whole checkpoint; -1: unknown */
};

/* Runs each notice source until it can be judged (check_host_source_wait_ms()), and starts this
 * program with the shim preloaded. */
void inspect_host(const struct doctor_options *options, struct check_list *check_list);

/* False: there is no Slurm here (no scontrol, and not in a job). If scontrol fails, the list says
 * so. */
bool inspect_slurm(struct check_list *check_list);

#endif
