"""PyTorch Distributed Checkpoint in a loop of one's own; SIGTERM makes it save and end."""
import glob
import signal
import sys

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from digits import arguments, report, resumed
from network import network, train

options = arguments()
asked = False


def ask(*_):
    global asked
    asked = True


signal.signal(signal.SIGTERM, ask)
first, model = 0, network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for path in sorted(glob.glob(f"{options.dir}/step-*"))[-1:]:
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=path)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    first = state["step"]
    resumed(first)
for step in range(first + 1, options.steps + 1):
    report(step, train(model, optimizer, step))
    if asked or (options.every and step % options.every == 0):
        weights, moments = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": moments, "step": step}, checkpoint_id=f"{options.dir}/step-{step:06}")
    if asked:
        sys.exit(143)
