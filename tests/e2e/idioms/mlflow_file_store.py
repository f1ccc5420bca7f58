"""mlflow's file store in the checkpoint directory: each metric is a file that is appended to, meta.yaml is rewritten."""
import os
import sys
import time
from pathlib import Path

import toy

run = Path(sys.argv[1]) / "mlruns" / "0" / "6a1f0c6e7d0b4f3c9c2f0f5f3d1b2a77"
for name in ("metrics", "params", "tags", "artifacts"):
    (run / name).mkdir(parents=True, exist_ok=True)
(run / "params" / "lr").write_text("0.1")


def touch_meta(status):
    with open(run / "meta.yaml.tmp", "w") as file:
        file.write(f"artifact_uri: {run}/artifacts\nrun_id: {run.name}\nstatus: {status}\nlast: {time.time()}\n")
    os.replace(run / "meta.yaml.tmp", run / "meta.yaml")


model = toy.Model()
saved = toy.numbered(run / "artifacts", "model_*.pkl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
    assert "run_id" in (run / "meta.yaml").read_text()
model.resumed()
touch_meta(1)
for step, loss in model.steps():
    with open(run / "metrics" / "loss", "a") as file:
        file.write(f"{int(time.time() * 1000)} {loss} {step}\n")
    if step % 8 == 0:
        touch_meta(1)
        toy.save(model.state_dict(), run / "artifacts" / f"model_{step}.pkl")
        toy.say("saved", step)
touch_meta(3)
model.final()
