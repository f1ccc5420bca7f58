"""DeepSpeed's engine on the CPU: save_checkpoint() every so many steps, load_checkpoint() at the start."""
import deepspeed
import torch

from digits import arguments, batch, report, resumed
from network import network

options = arguments()
deepspeed.init_distributed("gloo")
engine, *_ = deepspeed.initialize(model=network(), config={
    "train_micro_batch_size_per_gpu": 64, "zero_optimization": {"stage": 1},
    "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}}})
engine.load_checkpoint(options.dir)
first = engine.global_steps
if first:
    resumed(first)
for step in range(first + 1, options.steps + 1):
    images, labels = (torch.from_numpy(array) for array in batch(step))
    loss = torch.nn.functional.cross_entropy(engine(images), labels)
    engine.backward(loss)
    engine.step()
    report(step, loss.item())
    if options.every and step % options.every == 0:
        engine.save_checkpoint(options.dir)
