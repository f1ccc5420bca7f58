"""step_N.pt, and step_N.opt 2.5 s later, beside files with numbers of their own that are written once: resnet_50.pth, vocab_32000.json."""
import json
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
if not (out / "vocab_32000.json").exists():
    toy.save({"features": 50}, out / "resnet_50.pth")
    (out / "vocab_32000.json").write_text(json.dumps(list(range(100))))
    time.sleep(2)  # the data are read
toy.load(out / "resnet_50.pth")
model = toy.Model()
models = toy.numbered(out, "step_*.pt")
if models:
    model.load_state_dict(toy.load(models[-1]))
    if toy.load(models[-1].with_suffix(".opt"))["step"] != model.step:
        raise SystemExit("the optimizer is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 40 == 0:
        toy.save(model.state_dict(), out / f"step_{step}.pt")
        toy.say("half", step)
        if step > 40:
            time.sleep(2.5)  # the optimizer's shards are gathered
        toy.save({"step": step, "moments": toy.padding(step)}, out / f"step_{step}.opt")
        toy.say("saved", step)
model.final()
