"""FSDP under torchrun, PyTorch Distributed Checkpoint: each rank saves its own shards, and rank 0 the metadata. Every rank hears SIGTERM,
all agree on the step, save together and end."""
import glob
import os
import signal
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from digits import arguments, report, resumed
from network import network, train

options = arguments()
asked = torch.zeros(1)


def ask(*_):
    asked[0] = 1


signal.signal(signal.SIGTERM, ask)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = fully_shard(network(), mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def newest():
    """Only a set that has its metadata is one."""
    return sorted(path for path in glob.glob(f"{options.dir}/step-*") if os.path.exists(f"{path}/.metadata"))[-1:]


first = 0
for path in newest():
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=path)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    first = state["step"]
    resumed(first)
for step in range(first + 1, options.steps + 1):
    loss = torch.tensor(train(model, optimizer, step, rank))
    dist.all_reduce(loss, dist.ReduceOp.SUM)
    report(step, loss.item())
    agreed = asked.clone()
    dist.all_reduce(agreed, dist.ReduceOp.MAX)
    if agreed.item() or (options.every and step % options.every == 0):
        weights, moments = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": moments, "step": step}, checkpoint_id=f"{options.dir}/step-{step:06}")
    if agreed.item():
        dist.barrier()
        sys.exit(143)
dist.destroy_process_group()
