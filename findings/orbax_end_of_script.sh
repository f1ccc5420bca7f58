#!/bin/bash
# Software: Orbax 0.12.8 (PyPI orbax-checkpoint), with jax 0.10.2.
# One would guess: a script whose last line is CheckpointManager.save(step) leaves that checkpoint, as Python waits for its threads;
#   or else it ends with an error.
# What happens: save() has returned True and the rest is done by a thread, which fails when the interpreter ends ("cannot schedule new
#   futures after shutdown"). The directory stays under its temporary name, the traceback is on standard error only, and the exit code
#   is 0. The next start does not see the step.
# Why it matters: the last save of a run, which is the one that counts, is not there after an exit code of 0. The code of a job does
#   not say that its save is complete.
# Seen:
#   > save() returns True
#   > exit code 0
#   > left: 10.orbax-checkpoint-tmp
#   > the newest step is None
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'orbax-checkpoint==0.12.8' 'jax==0.10.2' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >train.py <<'EOF'
import os, sys
import numpy
import orbax.checkpoint as orbax

manager = orbax.CheckpointManager(os.path.abspath("checkpoints"))
if len(sys.argv) > 1:
    print("the newest step is", manager.latest_step())
else:
    print("save() returns", manager.save(10, args=orbax.args.StandardSave({"w": numpy.zeros(10_000_000)})))
EOF
got=$(
	code=0
	venv/bin/python train.py 2>errors.log || code=$?
	echo "exit code $code"
	echo "left: $(ls checkpoints)"
	venv/bin/python train.py again 2>errors.log
) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
