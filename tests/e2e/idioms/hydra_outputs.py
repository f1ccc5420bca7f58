"""Hydra: each start has a directory of its own, named by date and time, with .hydra/ and a log; resumes from the newest of all."""
import logging
import os
import sys
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
run = out / time.strftime("%Y-%m-%d") / time.strftime("%H-%M-%S")
(run / ".hydra").mkdir(parents=True, exist_ok=True)
for name in ("config.yaml", "overrides.yaml", "hydra.yaml"):
    (run / ".hydra" / name).write_text("lr: 0.1\n")
logging.basicConfig(filename=run / "train.log", level=logging.INFO)

model = toy.Model()
saved = toy.numbered(out, "*/*/ckpt_*.pkl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
model.resumed()
toy.say("told", os.environ.get("REPRIEVE_STEP", "nothing"))
for step, loss in model.steps():
    logging.info("step %d loss %f", step, loss)
    if step % 10 == 0:
        toy.save(model.state_dict(), run / f"ckpt_{step}.pkl")
        toy.say("saved", step)
model.final()
