#!/bin/bash
# One process. `exec`: the signal ahead of the end (B: to the batch shell alone) reaches reprieve, which saves, and has the job requeued.
#
#	sbatch examples/slurm/single.sh python3 train.py
#
#SBATCH --requeue --signal=B:TERM@120 --open-mode=append
exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 -- "$@"
