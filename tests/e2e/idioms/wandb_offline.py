"""W&B's offline directory among the checkpoints: a record that stays open, a log, a summary that is rewritten."""
import json
import os
import struct
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
run = out / "wandb" / f"offline-run-20260411_220501-{os.getpid():x}"
(run / "files").mkdir(parents=True)
(run / "files" / "config.yaml").write_text("lr:\n  value: 0.1\n")
record = open(run / f"run-{os.getpid():x}.wandb", "wb")
record.write(b":W&B" + struct.pack("<HB", 0xbee1, 0))
output = open(run / "files" / "output.log", "w")
latest = out / "wandb" / "latest-run"
if latest.is_symlink():
    latest.unlink()
latest.symlink_to(run.name)

model = toy.Model()
saved = toy.numbered(out, "model-*.pkl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
model.resumed()
summarised = 0.0
for step, loss in model.steps():
    record.write(struct.pack("<Id", step, loss) * 20)
    record.flush()
    print("step", step, "loss", loss, file=output, flush=True)
    if time.monotonic() - summarised > 1:
        (run / "files" / "wandb-summary.json").write_text(json.dumps({"_step": step, "loss": loss}))
        summarised = time.monotonic()
    if step % 15 == 0:
        toy.save(model.state_dict(), out / f"model-{step}.pkl")
        toy.say("saved", step)
model.final()
