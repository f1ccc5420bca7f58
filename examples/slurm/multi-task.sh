#!/bin/bash
# Tasks on several nodes, each with checkpoints of its own: --gang off (gang.sh is for one training on all of them). srun's processes get
# SIGTERM at the beginning of a grace time as well, and without "B:" the signal goes to them. The first task has the job requeued, once, after a third of the time that is left, so that the others can save.
# --kill-on-bad-exit=0: a task that is preempted leaves with 75, which would end those that still save where slurm.conf has KillOnBadExit=1.
#
#	sbatch --nodes=2 --ntasks=4 examples/slurm/multi-task.sh python3 train.py
#
#SBATCH --requeue --signal=TERM@120 --open-mode=append
# shellcheck disable=SC2016 # each task expands its own number
srun --kill-on-bad-exit=0 bash -c 'exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 --gang off \
	--job "slurm-$SLURM_JOB_ID-$SLURM_PROCID" --checkpoint-dir "checkpoints-$SLURM_PROCID" -- "$@"' task "$@"
