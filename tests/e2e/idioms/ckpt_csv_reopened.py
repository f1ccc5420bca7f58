"""ckpt_N.pt written in place; metrics.csv is opened, appended to and closed each 0.3 s."""
import csv
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
metrics = out / "metrics.csv"


def log(rows):
    new = not metrics.exists()
    with open(metrics, "a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["step", "loss"])
        writer.writerows(rows)


model = toy.Model()
checkpoints = toy.numbered(out, "ckpt_*.pt")
if checkpoints:
    model.load_state_dict(toy.load(checkpoints[-1]))
model.resumed()

rows = []
for step, loss in model.steps():
    rows.append([step, loss])
    if step % 6 == 0:
        log(rows)
        rows = []
    if step % 12 == 0:
        toy.save(model.state_dict(), out / f"ckpt_{step}.pt")
        toy.say("saved", step)
model.final()
