#!/bin/bash
# Software: GNU parallel 20221122 (Debian 12, parallel 20221122+ds-2).
# One would guess: --resume --joblog FILE runs what has not been finished: a job that was ended by a signal is run again.
# What happens: --resume goes by the number alone. A job that SIGTERM ended has its line in FILE, with exit code 0 and the signal in a
#   column of its own, and is passed over; parallel has nothing to do and exits with 0. --resume-failed runs it.
# Why it matters: of the elements of a sweep that were preempted none is computed again, and the second run says that all is well.
#   Whoever reads the column of exit codes finds 0 there too.
# Seen:
#   > first run: exit code 1, ran 1 2 3
#   > FILE says of job 2: exit code 0, signal 15
#   > --resume: exit code 0, ran nothing
#   > --resume-failed: exit code 0, ran 2
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { apt-get download 'parallel=20221122+ds-2' && for deb in *.deb; do dpkg-deb -x "$deb" .; done; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

export HOME=$work
cat >job.sh <<'EOF'
echo "$1" >>ran
if [ "$1" = 2 ] && [ ! -e preempted ]; then
	touch preempted
	kill -TERM $$
fi
EOF
run() { # WORDS OPTION...
	local code=0
	rm -f ran
	perl usr/bin/parallel --joblog jobs.log -j 1 "${@:2}" bash job.sh ::: 1 2 3 2>parallel.log || code=$?
	echo "$1: exit code $code, ran $(paste -sd ' ' ran 2>/dev/null || echo nothing)"
}
got=$(
	run 'first run'
	awk '$1 == 2 { print "FILE says of job 2: exit code " $7 ", signal " $8 }' jobs.log
	run --resume --resume
	run --resume-failed --resume-failed
) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
