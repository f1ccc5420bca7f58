#!/bin/bash
# One training on several nodes, one checkpoint: a supervisor on each node (--gang auto), which take, commit and restore one snapshot
# together. SIGTERM at the beginning of a grace time reaches one of them or all: all save, and end with 75. The first has the job requeued.
# Not finished: it runs only with REPRIEVE_UNFINISHED=gang (supervisor/gang/GANGS.md).
#
#	sbatch --nodes=2 examples/slurm/gang.sh torchrun ... train.py
#
#SBATCH --ntasks-per-node=1 --requeue --signal=TERM@120 --open-mode=append
# shellcheck disable=SC2016 # each task expands its own number
srun --kill-on-bad-exit=0 bash -c 'exec reprieve run --gang auto --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 \
	--checkpoint-dir "checkpoints-$SLURM_NODEID" -- "$@"' node "$@"
