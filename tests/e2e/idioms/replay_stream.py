"""A replay buffer whose parts each have a name of their own and are written once, all the time, beside a checkpoint that is written over."""
import datetime
import os
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
replay = out / "replay"
replay.mkdir(parents=True, exist_ok=True)
model = toy.Model()
if (out / "checkpoint.pkl").exists():
    model.load_state_dict(toy.load(out / "checkpoint.pkl"))
steps = sorted(toy.load(part)["step"] for part in replay.glob("*.npz"))
missing = sorted(set(range(5, model.step + 1, 5)) - set(steps))
if missing:
    raise SystemExit(f"the replay buffer has nothing of steps {missing}")
model.resumed()

for step, loss in model.steps():
    if step % 5 == 0:
        now = datetime.datetime.now().strftime("%Y%m%dT%H%M%SF%f")
        toy.save({"step": step}, replay / f"{now}-{os.urandom(16).hex()}-0000-1024.npz")
    if step % 40 == 0:
        toy.save(model.state_dict(), out / "checkpoint.pkl")
        toy.say("saved", step)
model.final()
