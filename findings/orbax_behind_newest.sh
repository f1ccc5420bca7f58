#!/bin/bash
# Software: Orbax 0.12.8 (PyPI orbax-checkpoint), with jax 0.10.2.
# One would guess: CheckpointManager.save(step) saves, or raises an error, for each step that is not there yet.
# What happens: as long as a directory of a higher step is there, save() of a lower one does nothing but return False. No error, no
#   warning.
# Why it matters: a run that goes back, from step 20 which it cannot or will not use to step 10, saves nothing until it is past 20
#   again, however long that takes. A second preemption in that time costs all of it, and the next start takes 20 again. What has been
#   set aside must be moved away, not just passed over.
# Seen:
#   > saved: 10 True, 20 True
#   > resumed from 10: 12 False, 15 False, 18 False, 22 True
#   > there are: 10 20 22
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
import os
import numpy
import orbax.checkpoint as orbax

def open_manager():
    return orbax.CheckpointManager(os.path.abspath("checkpoints"))

def save(manager, *steps):
    return ", ".join(f"{step} {manager.save(step, args=orbax.args.StandardSave({'w': numpy.full(8, step)}))}" for step in steps)

manager = open_manager()
print("saved:", save(manager, 10, 20))
manager.wait_until_finished()
manager = open_manager()
manager.restore(10)
print("resumed from 10:", save(manager, 12, 15, 18, 22))
manager.wait_until_finished()
print("there are:", *manager.all_steps())
EOF
got=$(venv/bin/python train.py 2>errors.log) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
