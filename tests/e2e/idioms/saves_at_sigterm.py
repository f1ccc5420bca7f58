"""Saves when SIGTERM asks, and ends with 0; metrics.csv stays open."""
import signal
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
model = toy.Model()
saved = toy.numbered(out, "model_*.pkl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
model.resumed()

metrics = open(out / "metrics.csv", "a")
for step, loss in model.steps():
    print(step, loss, sep=",", file=metrics, flush=True)
    if asked or step % 40 == 0:
        toy.save(model.state_dict(), out / f"model_{step}.pkl")
        toy.say("saved", step)
    if asked:
        sys.exit(0)
model.final()
