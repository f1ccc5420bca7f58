"""model_N/ with two files, where N counts epochs and no word says so; the three newest are kept. OWN"""
import shutil
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
states = toy.numbered(out, "model_*")
if states:
    model.load_state_dict(toy.load(states[-1] / "weights.npz"))
    if toy.load(states[-1] / "optim.npz")["step"] != model.step:
        raise SystemExit("the optimizer is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 10 == 0:
        state = out / f"model_{step // 10}"
        state.mkdir(exist_ok=True)
        toy.save(model.state_dict(), state / "weights.npz", seconds=0.1)
        toy.save({"step": step}, state / "optim.npz")
        for old in toy.numbered(out, "model_*")[:-3]:
            shutil.rmtree(old)
        toy.say("saved", step)
model.final()
