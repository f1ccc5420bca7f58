"""Checkpoints on the way, and at the end, just before it exits with 0, final_model.bin and results.json. OWN"""
import json
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "checkpoint_*.bin")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
model.resumed()

for step, loss in model.steps():
    if step % 10 == 0:
        toy.save(model.state_dict(), out / f"checkpoint_{step}.bin")
        toy.say("saved", step)
toy.save(model.state_dict(), out / "final_model.bin")
(out / "results.json").write_text(json.dumps({"step": model.step, "weight": model.weight}))
model.final()
