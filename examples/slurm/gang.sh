#!/bin/bash
# One training on several nodes, one checkpoint: a supervisor on each node, which take, commit and restore one snapshot
# together. SIGTERM at the beginning of a grace time reaches one of them or all: all save, and end with 75. The first has the job requeued.
#
#	sbatch --nodes=2 examples/slurm/gang.sh torchrun ... train.py
#
#SBATCH --ntasks-per-node=1 --requeue --signal=TERM@120 --open-mode=append
# shellcheck disable=SC2016 # each task expands its own number
srun --kill-on-bad-exit=0 bash -c 'exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 \
	--checkpoint-dir "checkpoints-$SLURM_NODEID" -- "$@"' node "$@"
