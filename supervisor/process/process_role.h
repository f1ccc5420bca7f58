/*
 * PURE. The role of a process of the job, by its command line and the signals that it handles: the
 * work itself, a wrapper or launcher of it, or a helper of it.
 */
#ifndef PROCESS_ROLE_H
#define PROCESS_ROLE_H

#include "process_tree.h"

#include <stdbool.h>

enum process_role {
	/* does the work, or is not known */
	ROLE_JOB,
	/* bash, tini, conda run: a handler in it is the user's own */
	ROLE_WRAPPER,
	/* torchrun, mpirun, srun: at a signal it ends its ranks, or sends it to all of them */
	ROLE_LAUNCHER,
	/* rsync, rclone, aws: it copies what others have written, and stops at a signal */
	ROLE_COPIER,
};

enum process_role process_role(const struct process *process);

/* The script or module that an interpreter runs, "train.py" or "package.module"; NULL: it runs
 * none, or is no interpreter. Borrowed from the process. */
const char *process_role_script(const struct process *process);

/* Do both run the same program with the same script? Then both are ranks, or none is. */
bool process_role_same_program(const struct process *a, const struct process *b);

/* Was it started by Python's multiprocessing ("spawn", "forkserver")? Then it has its parent's
 * os.environ. */
bool process_role_is_spawned(const struct process *process);

/*
 * Is it a worker of a PyTorch DataLoader? At SIGTERM such a worker exits, which its rank takes for
 * a crash. It is known by its handlers for SIGTERM, SIGBUS, SIGSEGV and SIGFPE
 * (torch/csrc/DataLoader.cpp).
 */
bool process_role_is_data_worker(const struct process *process, const struct process *parent);

/* Does its runtime handle every signal, so that a handler proves nothing? Go does, and yet ends at
 * SIGTERM. */
bool process_role_catches_every_signal(const struct process *process);

#endif
