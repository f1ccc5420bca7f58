#!/bin/bash
# Software: torch 2.13.0 (PyPI), torch.distributed.checkpoint, two ranks with gloo on the CPU.
# One would guess: a save that is cut is seen as such: .metadata is written last, and what it says of each rank's file lets load()
#   find that they do not belong together.
# What happens: a save into a directory that has one already writes over the ranks' files one by one, while the .metadata before
#   stays. After a kill of one rank it describes both: load() returns the new weights of one rank and the old ones of the other, and
#   no error.
# Why it matters: a directory of a fixed name ("latest") has no moment in a save in which it can be resumed from, and no check of DCP
#   finds that. That .metadata is there, and that all loads, does not make it one checkpoint.
# Seen:
#   > after a whole save: rank 0 has step 100, rank 1 has step 100
#   > after a cut one: rank 0 has step 200, rank 1 has step 100
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'torch==2.13.0' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import os, signal, sys, warnings
from datetime import timedelta
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp, torch.multiprocessing as mp

warnings.simplefilter("ignore")

class Killed(dcp.FileSystemWriter):
    def write_data(self, *arguments):
        os.kill(os.getpid(), signal.SIGKILL)

def save(rank, folder, step, is_cut):
    dist.init_process_group("gloo", f"file://{folder}/group{step}", timedelta(seconds=20), 2, rank)
    weights = {f"weights of rank {rank}": torch.full((4,), float(step))}
    writer = Killed if is_cut and rank == 1 else dcp.FileSystemWriter
    dcp.save(weights, storage_writer=writer(f"{folder}/latest"))

def show(when, folder):
    weights = {f"weights of rank {rank}": torch.zeros(4) for rank in (0, 1)}
    dcp.load(weights, checkpoint_id=f"{folder}/latest", no_dist=True)
    print(f"{when}:", ", ".join(f"rank {name[-1]} has step {tensor[0]:.0f}" for name, tensor in weights.items()))

if __name__ == "__main__":
    folder = os.getcwd()
    mp.spawn(save, (folder, 100, False), 2)
    show("after a whole save", folder)
    context = mp.start_processes(save, (folder, 200, True), 2, join=False)
    for process in context.processes:
        process.join()
    show("after a cut one", folder)
EOF
got=$(timeout 900 venv/bin/python job.py 2>errors.log) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
