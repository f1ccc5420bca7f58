"""checkpoint-N/ with five files, trainer_state.json last of all but the scheduler, two of them kept; runs/ has TensorBoard's events."""
import json
import shutil
import struct
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
logs = out / "runs" / time.strftime("%b%d_%H-%M-%S_host")
logs.mkdir(parents=True, exist_ok=True)
events = open(logs / f"events.out.tfevents.{int(time.time())}.host.1.0", "ab")
model = toy.Model()
saved = toy.numbered(out, "checkpoint-*")
if saved:
    model.load_state_dict(toy.load(saved[-1] / "model.zip"))
    state = json.loads((saved[-1] / "trainer_state.json").read_text())
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
        if toy.load(saved[-1] / name)["step"] != state["global_step"]:
            raise SystemExit(f"{name} is of another step")
model.resumed()

for step, loss in model.steps():
    events.write(struct.pack("<Id", step, loss))
    events.flush()
    if step % 12 == 0:
        path = out / f"checkpoint-{step}"
        path.mkdir(exist_ok=True)
        (path / "config.json").write_text(json.dumps({"hidden": 8}))
        toy.save(model.state_dict(), path / "model.zip", seconds=0.1)
        toy.save({"step": step}, path / "optimizer.pt", seconds=0.1)
        for name in ("scheduler.pt", "rng_state.pth"):
            toy.save({"step": step}, path / name)
        (path / "trainer_state.json").write_text(json.dumps({"global_step": step}))
        toy.say("saved", step)
        for old in toy.numbered(out, "checkpoint-*")[:-2]:
            shutil.rmtree(old)
model.final()
