#!/bin/bash
# One process that is announced its end, and goes on where it was. -notify has SIGUSR2 sent before the job is killed, SIGUSR1 before it is
# suspended: so many seconds ahead as its queue says (`qconf -sq QUEUE`, notify). --grace is a little less. Exit code 99 (--exit-policy sge)
# queues the job again, under its number; without it the job has ended.
#
#	qsub examples/sge/single.sh python3 train.py
#
#$ -S /bin/bash -cwd -j y -notify
exec reprieve run --store "${REPRIEVE_STORE:-file://$HOME/runs}" --grace 50 --exit-policy sge --max-no-progress 10 -- "$@"
