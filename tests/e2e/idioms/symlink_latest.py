"""epoch_N.pt, and latest.pt, a symbolic link that is replaced after each save. OWN"""
import os
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
latest = out / "latest.pt"
model = toy.Model()
if os.path.lexists(latest):
    model.load_state_dict(toy.load(latest))
model.resumed()

for step, loss in model.steps():
    if step % 10 == 0:
        path = out / f"epoch_{step // 10}.pt"
        toy.save(model.state_dict(), path, seconds=0.1)
        temporary = out / "latest.pt.tmp"
        temporary.symlink_to(path.name)
        os.replace(temporary, latest)
        toy.say("saved", step)
model.final()
