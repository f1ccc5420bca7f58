"""A loop of one's own in PyTorch with reprieve.Loop."""
import torch

import reprieve
from digits import arguments, report, resumed
from network import network, train

options = arguments()
first, model = 0, network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def save(step):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{options.dir}/step-{step:06}.pt")


newest = reprieve.newest("step-*.pt", options.dir)
if newest:
    state = torch.load(newest)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    resumed(first)
loop = reprieve.Loop(save, every=options.every)
for step in range(first + 1, options.steps + 1):
    report(step, train(model, optimizer, step))
    loop.done(step)
