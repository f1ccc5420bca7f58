"""step-N/ of three files; after each save the oldest but two goes. A DiskSaver with n_saved=2 does the same with files."""
import shutil
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "step-*")
if saved:
    model.load_state_dict(toy.load(saved[-1] / "model.pt"))
    for name in ("optimizer.pt", "scheduler.pt"):
        if toy.load(saved[-1] / name)["step"] != model.step:
            raise SystemExit(f"{name} is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 10 == 0:
        path = out / f"step-{step}"
        path.mkdir(exist_ok=True)
        toy.save(model.state_dict(), path / "model.pt")
        for name in ("optimizer.pt", "scheduler.pt"):
            toy.save({"step": step, "moments": toy.padding(step)}, path / name, seconds=0.05)
        toy.say("saved", step)
        for old in toy.numbered(out, "step-*")[:-2]:
            shutil.rmtree(old)
model.final()
