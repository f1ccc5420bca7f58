/*
 * PyTorch Lightning saves on SIGUSR1 and goes on, tells `scontrol` when the save is done, and
 * resumes from it by itself: all of that only under Slurm. Where nothing else can be confused by
 * it, the job is given an environment that looks like Slurm with one task, and a `scontrol` of its
 * own; no line of the script changes. Measured with Lightning 2.6.6 (signal_connector.py,
 * checkpoint_connector.py: <default_root_dir>/hpc_ckpt_N.ckpt).
 */
#ifndef LIGHTNING_SLURM_H
#define LIGHTNING_SLURM_H

#include "base/err.h"

#include <stdbool.h>

struct lightning_slurm_facts {
	const char *script;  /* text of the Python script; NULL: unknown */
	bool in_environment; /* of ours: Slurm's, a launcher's, MPI's */
	bool launched;       /* the command has a launcher in it */
	bool many_devices;   /* more than one GPU is in sight */
	/* checkpoints go to the current directory, which is Lightning's default */
	bool directory_is_root;
};

/*
 * PURE. Lightning would take each of several devices for a task that somebody else starts, and wait
 * for them for ever; and a save that goes elsewhere than to the checkpoint directory is not seen.
 * Only what is known to be right is.
 */
bool lightning_slurm_is_safe(const struct lightning_slurm_facts *facts);

/* The same with the facts of this process: its environment, its devices. */
bool lightning_slurm_is_available(const char *script, bool launched, const char *checkpoint_dir);

/* Makes `directory` with a `scontrol` that says yes in it. ERR_DENIED where programs there
 * cannot be executed. */
int lightning_slurm_create(const char *directory, struct err *err);

/* "NAME=value", NULL-terminated; the caller frees each and the array. */
char **lightning_slurm_environment(const char *directory, unsigned attempt);

#endif
