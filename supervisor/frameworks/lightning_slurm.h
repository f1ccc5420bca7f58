/*
 * An emulated Slurm environment for PyTorch Lightning. Under Slurm, and only there, Lightning saves
 * on SIGUSR1 and continues, calls `scontrol requeue` after the save, and resumes from it by itself.
 * If it is safe, the job gets the environment variables of a Slurm job with one task, and a
 * `scontrol` that does nothing. The script does not change. Measured with Lightning 2.6.6
 * (signal_connector.py, checkpoint_connector.py: <default_root_dir>/hpc_ckpt_N.ckpt).
 */
#ifndef LIGHTNING_SLURM_H
#define LIGHTNING_SLURM_H

#include "base/err.h"

#include <stdbool.h>

struct lightning_slurm_facts {
	const char *script;  /* text of the Python script; NULL: unknown */
	bool in_environment; /* our environment has variables of Slurm, a launcher or MPI */
	bool launched;       /* the command contains a launcher */
	bool many_devices;   /* more than one GPU is visible */
	/* the checkpoint directory is the current directory, which is Lightning's default */
	bool directory_is_root;
};

/*
 * PURE. Can the emulation do no harm? With several devices Lightning would expect one Slurm task
 * for each and wait for them for ever. A save outside of the checkpoint directory would not be
 * noticed. False if in doubt.
 */
bool lightning_slurm_is_safe(const struct lightning_slurm_facts *facts);

/* Collects the facts on this machine (environment, GPUs) and judges them. */
bool lightning_slurm_is_available(const char *script, bool launched, const char *checkpoint_dir);

/* Creates `directory` with a `scontrol` that always succeeds. ERR_DENIED: programs in it cannot be
 * executed (noexec). */
int lightning_slurm_create(const char *directory, struct err *err);

/* The job's environment variables, "NAME=value", NULL-terminated; the caller frees each and the
 * array. `directory` is put in front of PATH. */
char **lightning_slurm_environment(const char *directory, unsigned attempt);

#endif
