#!/bin/bash
# Software: DVC 3.67.1 (PyPI dvc).
# One would guess: `dvc repro` ends with the exit code of the command that failed, or with 1.
# What happens: it ends with 255 whatever the command ended with. The code is in a sentence on standard error alone.
# Why it matters: a training that leaves with the code for "start me again" looks to the scheduler like one that has failed for
#   good, and one that was told that its options are wrong looks the same.
# Seen:
#   > the stage ends with 1: 255
#   > the stage ends with 75: 255
#   > the stage ends with 130: 255
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'dvc==3.67.1'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

export DVC_NO_ANALYTICS=1 HOME=$work
try() { # CODE
	local code=0
	printf 'stages:\n  train:\n    cmd: exit %s\n' "$1" >dvc.yaml
	../venv/bin/dvc repro >dvc.log 2>&1 || code=$?
	echo "$code"
}
mkdir project
cd project
../venv/bin/dvc init -q --no-scm
got="the stage ends with 1: $(try 1)
the stage ends with 75: $(try 75)
the stage ends with 130: $(try 130)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
