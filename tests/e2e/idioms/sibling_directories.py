"""model/step-N.pt, optimizer/step-N.pt 2.5 s later, meta/step-N.json: the newest model is what it resumes from, and all must be there. Keeps three."""
import json
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
for name in ("model", "optimizer", "meta"):
    (out / name).mkdir(parents=True, exist_ok=True)
model = toy.Model()
models = toy.numbered(out, "model/step-*.pt")
if models:
    step = toy.number(models[-1])
    model.load_state_dict(toy.load(models[-1]))
    if not toy.load(out / f"optimizer/step-{step}.pt")["step"] == json.loads((out / f"meta/step-{step}.json").read_text())["step"] == step:
        raise SystemExit("the optimizer or the meta data is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 20 == 0:
        toy.save(model.state_dict(), out / f"model/step-{step}.pt")
        toy.say("half", step)
        time.sleep(2.5)  # the optimizer's shards are gathered
        toy.save({"step": step, "moments": toy.padding(step)}, out / f"optimizer/step-{step}.pt")
        (out / f"meta/step-{step}.json").write_text(json.dumps({"step": step, "loss": loss}))
        for old in toy.numbered(out, "model/step-*.pt")[:-3]:
            for path in (old, out / "optimizer" / old.name, (out / "meta" / old.name).with_suffix(".json")):
                path.unlink(missing_ok=True)
        toy.say("saved", step)
model.final()
