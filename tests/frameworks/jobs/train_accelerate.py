"""Accelerate: save_state() every so many steps, load_state() of the highest number at the start."""
import glob

import torch
from accelerate import Accelerator

from digits import arguments, batch, report, resumed
from network import network

options = arguments()
accelerator = Accelerator(cpu=True)
first, model = 0, network()
model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01))
for path in sorted(glob.glob(f"{options.dir}/checkpoint_*"))[-1:]:
    accelerator.load_state(path)
    first = int(path.rpartition("_")[2])
    resumed(first)
for step in range(first + 1, options.steps + 1):
    images, labels = (torch.from_numpy(array) for array in batch(step))
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    report(step, loss.item())
    if options.every and step % options.every == 0:
        accelerator.save_state(f"{options.dir}/checkpoint_{step:06}")
