"""weights-N.pkl, and history.json with all losses, which is written anew in place each 0.3 s and read at the start. OWN"""
import json
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
path, history = out / "history.json", []
model = toy.Model()
saved = toy.numbered(out, "weights-*.pkl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
    history = [entry for entry in json.loads(path.read_text()) if entry["step"] <= model.step]
model.resumed()

for step, loss in model.steps():
    history.append({"step": step, "loss": loss})
    if step % 6 == 0:
        path.write_text(json.dumps(history, indent=1))
    if step % 18 == 0:
        toy.save(model.state_dict(), out / f"weights-{step}.pkl")
        toy.say("saved", step)
model.final()
