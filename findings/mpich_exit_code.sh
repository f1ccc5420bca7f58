#!/bin/bash
# Software: MPICH 5.0.2 (PyPI mpich), its mpiexec.
# One would guess: mpiexec ends with the exit code of a rank that failed: the first one's, the highest, or 1. A rank that a signal
#   has ended counts as 128 and the signal's number, as in a shell.
# What happens: the codes of all ranks are put together by a bitwise or. 74 and 1 give 75, 75 and 4 give 79: codes that no rank
#   has left with. SIGTERM counts as 15.
# Why it matters: exit codes that mean something to a scheduler (75: start me again) come out where no rank said so, and are lost
#   where one did. Neither can be told from mpiexec's end: each rank's own has to be looked at.
# Seen:
#   > ranks end with 0 and 75: 75
#   > ranks end with 74 and 1: 75
#   > ranks end with 75 and 4: 79
#   > a rank is ended by SIGTERM: 15
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'mpich==5.0.2'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

try() { # CODE CODE
	local code=0
	venv/bin/mpiexec.hydra -n 2 bash -c "if [ \$PMI_RANK = 0 ]; then exit $1; else exit $2; fi" </dev/null >/dev/null 2>&1 || code=$?
	echo "$code"
}
# shellcheck disable=SC2016 # the rank's own
ended=$(venv/bin/mpiexec.hydra -n 1 bash -c 'kill -TERM $$' </dev/null >/dev/null 2>&1 || echo $?)
got="ranks end with 0 and 75: $(try 0 75)
ranks end with 74 and 1: $(try 74 1)
ranks end with 75 and 4: $(try 75 4)
a rank is ended by SIGTERM: $ended" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
