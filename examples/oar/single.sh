#!/bin/bash
# One process that is announced its end, and goes on where it was. --checkpoint has SIGUSR2 sent so many seconds before the walltime, to the
# job's first process and no other: so exec. Exit code 99 (--exit-policy oar) of an idempotent job submits it again, but not if it comes
# within its first 60 seconds.
#
#	oarsub -l resource_id=1,walltime=2:0:0 -t idempotent --checkpoint 120 "$PWD/examples/oar/single.sh python3 train.py"
#
exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 110 --exit-policy oar --max-no-progress 10 -- "$@"
