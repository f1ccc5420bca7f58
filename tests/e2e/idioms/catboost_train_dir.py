"""catboost with train_dir and save_snapshot: the snapshot is written in place, and three tables stay open beside it."""
import json
import sys
import time
from pathlib import Path

import toy

train_dir = Path(sys.argv[1])
train_dir.mkdir(parents=True, exist_ok=True)
snapshot = train_dir / "experiment.cbsnapshot"
model = toy.Model()
if snapshot.exists():
    model.load_state_dict(toy.load(snapshot))
model.resumed()

learn_error = open(train_dir / "learn_error.tsv", "a")
time_left = open(train_dir / "time_left.tsv", "a")
report = open(train_dir / "catboost_training.json", "w")
report.write('{"meta": {"name": "experiment"},\n"iterations": [\n')
if learn_error.tell() == 0:
    learn_error.write("iter\tRMSE\n")
began = last = time.monotonic()
for step, loss in model.steps():
    learn_error.write(f"{step}\t{loss}\n")
    learn_error.flush()
    time_left.write(f"{step}\t{time.monotonic() - began}\n")
    time_left.flush()
    report.write(json.dumps({"iteration": step, "learn": [loss]}) + ",\n")
    report.flush()
    if time.monotonic() - last > 0.6:
        toy.save(model.state_dict(), snapshot)
        last = time.monotonic()
        toy.say("saved", step)
model.final()
