"""model-N.bin, and optimizer-N.bin 2.5 s later; the newest model is what it resumes from, and both must be there."""
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
models = toy.numbered(out, "model-*.bin")
if models:
    step = toy.number(models[-1])
    model.load_state_dict(toy.load(models[-1]))
    if toy.load(out / f"optimizer-{step}.bin")["step"] != step:
        raise SystemExit("the optimizer is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 20 == 0:
        toy.save(model.state_dict(), out / f"model-{step}.bin")
        toy.say("half", step)
        time.sleep(2.5)  # the optimizer's shards are gathered
        toy.save({"step": step, "moments": toy.padding(step)}, out / f"optimizer-{step}.bin")
        toy.say("saved", step)
model.final()
