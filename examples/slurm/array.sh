#!/bin/bash
# An array: each element is a job of its own, with its own checkpoints, and is requeued alone. Its name in the store holds both numbers
# (slurm-12_3), or with --job sweep that of the element (sweep_3).
# train.py has to save into $REPRIEVE_CHECKPOINT_DIR, which is another directory in each element, and resume from there. One that saves into
# ./checkpoints mixes the files of all elements: then give each a working directory (mkdir -p "run-$SLURM_ARRAY_TASK_ID" && cd "$_").
#
#	sbatch --array=0-9 examples/slurm/array.sh python3 train.py
#
#SBATCH --requeue --signal=B:TERM@120 --open-mode=append
exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 \
	--checkpoint-dir "checkpoints-$SLURM_ARRAY_TASK_ID" -- "$@"
