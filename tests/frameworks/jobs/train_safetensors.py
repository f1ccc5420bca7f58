"""A loop of one's own in PyTorch, kept in safetensors; SIGTERM makes it save and end."""
import glob
import signal
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from digits import arguments, report, resumed
from network import network, train

options = arguments()
asked = False


def ask(*_):
    global asked
    asked = True


signal.signal(signal.SIGTERM, ask)
first, model = 0, network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for path in sorted(glob.glob(f"{options.dir}/step-*.safetensors"))[-1:]:
    with safe_open(path, "pt") as file:
        first = int(file.metadata()["step"])
        model.load_state_dict({name: file.get_tensor(name) for name in file.keys()})
    resumed(first)
for step in range(first + 1, options.steps + 1):
    report(step, train(model, optimizer, step))
    if asked or (options.every and step % options.every == 0):
        save_file(model.state_dict(), f"{options.dir}/step-{step:06}.safetensors", {"step": str(step)})
    if asked:
        sys.exit(143)
