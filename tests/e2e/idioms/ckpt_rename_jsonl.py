"""ckpt-N.pt by a temporary name and os.replace; metrics.jsonl stays open and gets a line each step."""
import json
import os
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
checkpoints = toy.numbered(out, "ckpt-*.pt")
if checkpoints:
    model.load_state_dict(toy.load(checkpoints[-1])["model"])
model.resumed()

with open(out / "metrics.jsonl", "a") as metrics:
    for step, loss in model.steps():
        metrics.write(json.dumps({"step": step, "loss": loss}) + "\n")
        metrics.flush()
        if step % 10 == 0:
            path = out / f"ckpt-{step}.pt"
            toy.save({"model": model.state_dict(), "step": step}, f"{path}.tmp")
            os.replace(f"{path}.tmp", path)
            toy.say("saved", step)
model.final()
