/*
 * PURE. What a process of the job is for, by its command line and the signals that it handles: the
 * work itself, something between us and the work, or a helper of it.
 */
#ifndef PROCESS_ROLE_H
#define PROCESS_ROLE_H

#include "process_tree.h"

#include <stdbool.h>

enum process_role {
	/* does the work, as far as can be seen */
	ROLE_JOB,
	/* bash, tini, conda run: a handler there is the user's */
	ROLE_WRAPPER,
	/* torchrun, mpirun, srun: takes a signal for the end of its ranks, or
	 * sends it to all of them */
	ROLE_LAUNCHER,
};

enum process_role process_role(const struct process *process);

/* What the interpreter of a script was told to run: "train.py", "package.module"; NULL where it was
 * told none, or is none. Borrowed from the process. */
const char *process_role_script(const struct process *process);

/* The same program with the same script: both may be ranks, or both none. */
bool process_role_same_program(const struct process *a, const struct process *b);

/* Started by Python's multiprocessing as a process of its own ("spawn", "forkserver"), which has
 * its parent's os.environ. */
bool process_role_is_spawned(const struct process *process);

/*
 * A worker of a PyTorch DataLoader: it handles SIGTERM by itself (torch/csrc/DataLoader.cpp:
 * SIGBUS, SIGSEGV and SIGFPE as well), and what it makes of it is to leave, which its rank takes
 * for a crash.
 */
bool process_role_is_data_worker(const struct process *process, const struct process *parent);

/* Its runtime handles every signal, so that a handler says nothing: Go, which ends
 * at SIGTERM all the same. */
bool process_role_catches_every_signal(const struct process *process);

#endif
