"""Weights that are backed up in place with a metadata file, after each epoch; a table that stays open, as of CSVLogger. OWN"""
import csv
import json
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
backup = out / "backup"
backup.mkdir(parents=True, exist_ok=True)
model = toy.Model()
if (backup / "training_metadata.json").exists():
    step = json.loads((backup / "training_metadata.json").read_text())["step"]
    model.load_state_dict(toy.load(backup / "latest.weights.npz"))
    if model.step != step:
        raise SystemExit(f"the metadata is of step {step}, the weights of {model.step}")
model.resumed()

with open(out / "training.csv", "a", newline="") as file:
    logger = csv.writer(file)
    if file.tell() == 0:
        logger.writerow(["step", "loss"])
    for step, loss in model.steps():
        logger.writerow([step, loss])
        file.flush()
        if step % 12 == 0:
            toy.save(model.state_dict(), backup / "latest.weights.npz", seconds=0.1)
            (backup / "training_metadata.json").write_text(json.dumps({"step": step}))
            toy.say("saved", step)
model.final()
