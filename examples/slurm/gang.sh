#!/bin/bash
# One training on several nodes, one checkpoint: a supervisor on each node, which take, commit and restore one snapshot
# together. SIGTERM at the beginning of a grace time reaches one of them or all: all save, and end with 75. The first has the job requeued.
# Who waits in vain for a node that does not come ends with 75 as well, and the job is requeued.
#
#	sbatch --nodes=2 examples/slurm/gang.sh torchrun --nproc-per-node=8 train.py
#
# torchrun reads from PET_* how many nodes there are, which one this is, and where the first one is.
#
#SBATCH --ntasks-per-node=1 --requeue --signal=TERM@120 --open-mode=append
PET_MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export PET_MASTER_ADDR PET_MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000)) PET_NNODES=$SLURM_JOB_NUM_NODES
# shellcheck disable=SC2016 # each task expands its own number
srun --kill-on-bad-exit=0 bash -c 'export PET_NODE_RANK=$SLURM_NODEID; exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" \
	--grace 110 --checkpoint-dir "checkpoints-$SLURM_NODEID" -- "$@"' node "$@"
