#!/bin/bash
# An array: each element is a job of its own (oar-12_3), with its own checkpoints, and is submitted again alone. train.py has to save into
# $REPRIEVE_CHECKPOINT_DIR.
#
#	oarsub --array 10 -l resource_id=1,walltime=2:0:0 -t idempotent --checkpoint 120 "$PWD/examples/oar/array.sh python3 train.py"
#
exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 --exit-policy oar --max-no-progress 10 \
	--checkpoint-dir "checkpoints-$OAR_ARRAY_INDEX" -- "$@"
