#!/bin/bash
# One process, and a command behind it that runs when the training has finished, and in no attempt that was preempted (`|| exit $?`).
# srun, and --signal without "B:": with it the signal would go to this shell, which would die of it, and the job would be over.
#
#	sbatch examples/slurm/then.sh "python3 evaluate.py" python3 train.py
#
#SBATCH --requeue --signal=TERM@120 --open-mode=append
behind=$1
shift
srun reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 -- "$@" || exit $?
exec bash -c "$behind"
