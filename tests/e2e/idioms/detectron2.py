"""metrics.json is open for appending all the time; model_N.pth, and last of all last_checkpoint, the only word on what to resume from. OWN"""
import json
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
pointer = out / "last_checkpoint"
model = toy.Model()
if pointer.exists():
    model.load_state_dict(toy.load(out / pointer.read_text()))
model.resumed()

metrics = open(out / "metrics.json", "a")
for step, loss in model.steps():
    metrics.write(json.dumps({"step": step, "loss": loss}) + "\n")
    metrics.flush()
    if step % 120 == 0:
        toy.save(model.state_dict(), out / f"model_{step:07d}.pth")
        pointer.write_text(f"model_{step:07d}.pth")
        toy.say("saved", step)
model.final()
