"""DistributedDataParallel under torchrun. Every rank hears SIGTERM, all agree on the step, rank 0 saves, and all end."""
import glob
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from digits import arguments, report, resumed
from network import network, train

options = arguments()
asked = torch.zeros(1)


def ask(*_):
    asked[0] = 1


signal.signal(signal.SIGTERM, ask)
dist.init_process_group("gloo")
rank = dist.get_rank()
first, model = 0, DistributedDataParallel(network())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for path in sorted(glob.glob(f"{options.dir}/step-*.pt"))[-1:]:
    state = torch.load(path)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if rank == 0:
        resumed(first)
for step in range(first + 1, options.steps + 1):
    loss = train(model, optimizer, step, rank)
    if rank == 0:
        report(step, loss)
    agreed = asked.clone()
    dist.all_reduce(agreed, dist.ReduceOp.MAX)
    if rank == 0 and (agreed.item() or (options.every and step % options.every == 0)):
        path = f"{options.dir}/step-{step:06}.pt"
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path + ".part")
        os.replace(path + ".part", path)
    if agreed.item():
        dist.barrier()
        sys.exit(143)
dist.destroy_process_group()
