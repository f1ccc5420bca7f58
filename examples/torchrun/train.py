#!/usr/bin/env python3
"""Trains a small network on scikit-learn's handwritten digits, with DistributedDataParallel on several machines.

It is an ordinary script for torchrun, and knows nothing of Reprieve. What matters for one that is preempted:

1. Every rank hears SIGTERM, and only takes note of it: which ranks get it, and when, differs by some steps.
2. After each step the ranks agree whether to save, by an all_reduce of that note. So all of them save at the same step. A rank that
   entered a save or a barrier alone would wait there for the others, and they for its gradients.
3. Rank 0 saves, under a name with the step, and puts the file into place when it is complete.
4. All resume from the newest checkpoint in --dir, which on each machine is a directory of its own.
"""
import argparse
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel

BATCH = 64

parser = argparse.ArgumentParser()
parser.add_argument("--dir", type=Path, default=Path(os.environ.get("REPRIEVE_CHECKPOINT_DIR", "checkpoints")))
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--every", type=int, default=100, help="steps from one checkpoint to the next")
parser.add_argument("--pause", type=float, default=0, help="seconds that stand in for heavier computing")
options = parser.parse_args()

asked = False


def ask(*_):
    global asked
    asked = True


def all_agree():
    """Whether any of the ranks was asked to save. All of them call it after each step."""
    word = torch.tensor([int(asked)], device=device)
    dist.all_reduce(word, dist.ReduceOp.MAX)
    return bool(word.item())


def save(step):
    if rank == 0:
        options.dir.mkdir(parents=True, exist_ok=True)
        path = options.dir / f"step-{step:06}.pt"
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{path}.part")
        os.replace(f"{path}.part", path)
        for old in sorted(options.dir.glob("step-*.pt"))[:-3]:
            old.unlink()
    dist.barrier()


signal.signal(signal.SIGTERM, ask)
cuda = torch.cuda.is_available()
if cuda:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
device = torch.device("cuda" if cuda else "cpu")
dist.init_process_group("nccl" if cuda else "gloo")
rank = dist.get_rank()

torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device))
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
images, labels = load_digits(return_X_y=True)
images, labels = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
first = 0
for path in sorted(options.dir.glob("step-*.pt"))[-1:]:
    state = torch.load(path, map_location=device)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if rank == 0:
        print(f"resumed {first}", flush=True)

for step in range(first + 1, options.steps + 1):
    # The same examples for the same step and rank, wherever it is run.
    chosen = torch.randint(len(labels), (BATCH,), generator=torch.Generator().manual_seed(step * 10000 + rank))
    loss = torch.nn.functional.cross_entropy(model(images[chosen].to(device)), labels[chosen].to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(options.pause)
    if rank == 0:
        print(f"step {step} {loss.item()!r}", flush=True)
    save_and_end = all_agree()
    if save_and_end or step % options.every == 0:
        save(step)
    if save_and_end:
        sys.exit(128 + signal.SIGTERM)
dist.destroy_process_group()
