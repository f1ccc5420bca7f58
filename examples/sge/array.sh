#!/bin/bash
# An array: each element is a job of its own (sge-12_3), with its own checkpoints, and is queued again alone. train.py has to save into
# $REPRIEVE_CHECKPOINT_DIR.
#
#	qsub -t 1-10 examples/sge/array.sh python3 train.py
#
#$ -S /bin/bash -cwd -j y -notify
exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 50 --exit-policy sge --max-no-progress 10 \
	--checkpoint-dir "checkpoints-$SGE_TASK_ID" -- "$@"
