"""checkpoints/step_N/ with two files, each 0.1 s; the newest five stay."""
import json
import shutil
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "step_*")
if saved:
    model.load_state_dict(toy.load(saved[-1] / "model.bin"))
    if json.loads((saved[-1] / "trainer.json").read_text())["step"] != model.step:
        raise SystemExit("the two files are of different steps")
model.resumed()

for step, loss in model.steps():
    if step % 2 == 0:
        path = out / f"step_{step:06d}"
        path.mkdir(exist_ok=True)
        toy.save(model.state_dict(), path / "model.bin")
        (path / "trainer.json").write_text(json.dumps({"step": step, "loss": loss}))
        toy.say("saved", step)
        for old in toy.numbered(out, "step_*")[:-5]:
            shutil.rmtree(old)
model.final()
