#!/bin/bash
# Software: Accelerate 1.15.0 with torch 2.13.0 (PyPI), on the CPU.
# One would guess: with automatic_checkpoint_naming and total_limit, load_state() takes the newest checkpoint, and the next
#   save_state() goes on with the number behind it.
# What happens: the numbers go on in one process only. A restart that has loaded checkpoint_2 saves as checkpoint_0 and checkpoint_1,
#   each of which the limit removes before the next save, as the lowest number. At checkpoint_2 it removes what it saved last, to make
#   room, and then raises an error because that name is taken.
# Why it matters: of all that the second start has computed nothing is left, and the third one loads the checkpoint of the first,
#   again and again. The highest number is not the newest work, and what a limit removes may be just that.
# Seen:
#   > first start: saved checkpoint_0, saved checkpoint_1, saved checkpoint_2; there are checkpoint_1 checkpoint_2
#   > second start: saved checkpoint_0, saved checkpoint_1, ValueError; there are checkpoint_2
#   > third start: saved checkpoint_0, saved checkpoint_1, ValueError; there are checkpoint_2
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'accelerate==1.15.0' 'torch==2.13.0' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >train.py <<'EOF'
import os, sys
import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration

configuration = ProjectConfiguration(project_dir="run", automatic_checkpoint_naming=True, total_limit=2)
accelerator = Accelerator(cpu=True, project_config=configuration)
accelerator.prepare(torch.nn.Linear(2, 2))
if sys.argv[1] != "first":
    accelerator.load_state()
done = []
try:
    for _ in range(3):
        done.append("saved " + os.path.basename(accelerator.save_state()))
except ValueError:
    done.append("ValueError")
print(f"{sys.argv[1]} start: {', '.join(done)}; there are", *sorted(os.listdir("run/checkpoints")))
EOF
got=$(for start in first second third; do venv/bin/python train.py "$start" 2>errors.log; done) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
