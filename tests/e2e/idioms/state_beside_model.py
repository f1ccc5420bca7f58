"""lora-N.bin, and lora-N-state/ 2.5 s later, as sd-scripts saves them; it resumes from the newest model, and its state must be there."""
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
models = toy.numbered(out, "lora-*.bin")
if models:
    model.load_state_dict(toy.load(models[-1]))
    state = models[-1].with_name(models[-1].stem + "-state")
    if not toy.load(state / "optimizer.bin")["step"] == toy.load(state / "random.pkl")["step"] == model.step:
        raise SystemExit("the state is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 20 == 0:
        toy.save(model.state_dict(), out / f"lora-{step:06}.bin")
        toy.say("half", step)
        time.sleep(2.5)  # the optimizer's shards are gathered
        state = out / f"lora-{step:06}-state"
        state.mkdir(exist_ok=True)
        for name in ("optimizer.bin", "random.pkl"):
            toy.save({"step": step, "moments": toy.padding(step)}, state / name)
        toy.say("saved", step)
model.final()
