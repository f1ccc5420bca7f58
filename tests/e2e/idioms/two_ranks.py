"""Two processes, each of which writes its own file into step-N/, the second one later than the first. OWN"""
import os
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "step-*")
if saved:
    for rank in range(2):
        model.load_state_dict(toy.load(saved[-1] / f"rank{rank}.bin"))
        if model.step != toy.number(saved[-1]):
            raise SystemExit(f"rank {rank} is of another step")
model.resumed()

to_second, from_first = os.pipe()
to_first, from_second = os.pipe()
rank = 0 if os.fork() == 0 else 1  # the parent is rank 1, and is ended last
for step in range(model.step + 1, model.step + toy.MORE + 1):
    if rank == 0:
        model.train()
    else:
        time.sleep(toy.SECONDS)
        model.step, model.weight = step, toy.weight_after(step, step - 1, model.weight)
    if step % 20 == 0:
        path = out / f"step-{step}"
        path.mkdir(exist_ok=True)
        if rank == 0:
            toy.save(model.state_dict(), path / "rank0.bin")
            toy.say("half", step)
            os.write(from_first, b".")
            os.read(to_first, 1)  # a barrier
        else:
            os.read(to_second, 1)
            time.sleep(0.4)
            toy.save(model.state_dict(), path / "rank1.bin")
            toy.say("saved", step)
            os.write(from_second, b".")
if rank == 0:
    os._exit(0)
os.wait()
model.final()
