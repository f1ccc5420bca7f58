"""Not Megatron-LM, which needs CUDA: a script that writes what Megatron-LM writes, and reacts to its --exit-signal-handler as that does.
iter_0000010/mp_rank_00/model_optim_rng.pt, then latest_checkpointed_iteration.txt; SIGTERM: save at the end of the iteration, exit 0."""
import os
import signal
import sys

import torch

from digits import arguments, report, resumed
from network import network, train

options = arguments("--exit-signal-handler")
asked = False
tracker = f"{options.dir}/latest_checkpointed_iteration.txt"


def ask(*_):
    global asked
    asked = True


def part(iteration):
    return f"{options.dir}/iter_{iteration:07}/mp_rank_00/model_optim_rng.pt"


if options.exit_signal_handler:
    signal.signal(signal.SIGTERM, ask)
first, model = 0, network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
if os.path.exists(tracker):
    with open(tracker, encoding="utf-8") as file:
        first = int(file.read())
    state = torch.load(part(first))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    resumed(first)
for iteration in range(first + 1, options.steps + 1):
    report(iteration, train(model, optimizer, iteration))
    if asked or (options.every and iteration % options.every == 0):
        os.makedirs(os.path.dirname(part(iteration)), exist_ok=True)
        torch.save({"iteration": iteration, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, part(iteration))
        with open(tracker, "w", encoding="utf-8") as file:
            file.write(str(iteration))
    if asked:
        sys.exit(0)
