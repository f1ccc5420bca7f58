"""A loop of one's own in PyTorch. torch.save in place; SIGTERM makes it save and end, unless it is --deaf."""
import glob
import signal
import sys

import torch

from digits import arguments, report, resumed
from network import network, train

options = arguments("--deaf")
asked = False


def ask(*_):
    global asked
    asked = True


if not options.deaf:
    signal.signal(signal.SIGTERM, ask)
first, model = 0, network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for path in sorted(glob.glob(f"{options.dir}/step-*.pt"))[-1:]:
    state = torch.load(path)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    resumed(first)
for step in range(first + 1, options.steps + 1):
    report(step, train(model, optimizer, step))
    if asked or (options.every and step % options.every == 0):
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{options.dir}/step-{step:06}.pt")
    if asked:
        sys.exit(143)
