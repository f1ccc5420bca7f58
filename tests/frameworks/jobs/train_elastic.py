"""DistributedDataParallel under an elastic torchrun. All ranks have the same state, and each saves it into a directory of its own. SIGUSR1
to any of them asks all to save at one step; they train on. When a node is gone, torchrun starts the ranks that are left anew."""
import glob
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from digits import arguments, report, resumed
from network import network, train

options = arguments()
asked = torch.zeros(1)


def ask(*_):
    asked[0] = 1


signal.signal(signal.SIGUSR1, ask)
dist.init_process_group("gloo")
first, model = 0, DistributedDataParallel(network())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for path in sorted(glob.glob(f"{options.dir}/step-*.pt"))[-1:]:
    state = torch.load(path)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    resumed(first)
for step in range(first + 1, options.steps + 1):
    loss = train(model, optimizer, step, dist.get_rank())
    report(step, loss)
    agreed = asked.clone()
    asked[0] = 0
    dist.all_reduce(agreed, dist.ReduceOp.MAX)
    if agreed.item() or (options.every and step % options.every == 0):
        path = f"{options.dir}/step-{step:06}.pt"
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path + ".part")
        os.replace(path + ".part", path)
dist.destroy_process_group()
