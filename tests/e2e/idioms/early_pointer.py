"""step_N/ with two files; `latest` names it as soon as the first one is there, and the other one comes late. OWN"""
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
latest = out / "latest"
model = toy.Model()
if latest.exists():
    directory = out / latest.read_text().strip()
    model.load_state_dict(toy.load(directory / "model.bin"))
    toy.Model().load_state_dict(toy.load(directory / "optimizer.bin"))
model.resumed()

for step, loss in model.steps():
    if step % 10 == 0:
        directory = out / f"step_{step}"
        directory.mkdir(exist_ok=True)
        toy.save(model.state_dict(), directory / "model.bin")
        latest.write_text(directory.name + "\n")
        toy.say("half", step)
        time.sleep(1.5)
        toy.save(model.state_dict(), directory / "optimizer.bin")
        toy.say("saved", step)
model.final()
