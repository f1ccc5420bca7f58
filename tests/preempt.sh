#!/bin/sh
# A job is preempted, and goes on in an emptied directory from what it saved, with the library in it: for bare systems, which have
# /saver.py (tests/e2e/saver.py) and python3.
#	preempt.sh PROGRAM
set -eu
program=${1:?usage: preempt.sh PROGRAM}
rm -rf /tmp/story && mkdir -p /tmp/story
# A function would be a shell of its own in the background, and the signal would end that.
export REPRIEVE_STRICT=1 REPRIEVE_SHIM=on REPRIEVE_STORE=file:///tmp/story/store REPRIEVE_JOB=j REPRIEVE_CHECKPOINT_DIR=/tmp/story/c
export REPRIEVE_CHECKPOINT_SIGNAL=USR1 REPRIEVE_QUIET_TIME=0.2
"$program" run -- python3 -B /saver.py --on-signal --pause 0.01 >/tmp/story/first 2>/tmp/story/said &
supervisor=$!
until grep -q 'resumes 0' /tmp/story/first; do kill -0 $supervisor; sleep 0.1; done
kill -TERM $supervisor
code=0
wait $supervisor || code=$?
[ "$code" = 75 ] || { cat /tmp/story/said; echo "exit $code" >&2; exit 1; }
saved=$(sed -n 's/^saved \([0-9]*\).*/\1/p' /tmp/story/first | tail -n 1)
rm -rf /tmp/story/c
"$program" run -- python3 -B /saver.py --on-signal --pause 0.01 --steps $((saved + 3)) >/tmp/story/second
grep -q "resumes $saved" /tmp/story/second
"$program" run --job maps --checkpoint-dir /tmp/story/maps -- grep -q libreprieve-shim.so /proc/self/maps
rm -rf /tmp/story
