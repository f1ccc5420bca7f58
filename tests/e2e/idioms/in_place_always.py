"""One file, written in place: each save takes 0.5 s, and 0.5 s after it the next begins."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
path = out / "last.pkl"
if path.exists():
    model.load_state_dict(toy.load(path))
model.resumed()

for step, loss in model.steps():
    if step % 10 == 0:
        toy.save(model.state_dict(), path, seconds=0.5)
        toy.say("saved", step)
model.final()
