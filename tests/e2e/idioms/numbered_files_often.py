"""model_N.txt in place each 0.1 s, as lightgbm's and xgboost's callbacks write them."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
models = toy.numbered(out, "model_*.txt")
if models:
    lines = models[-1].read_text().splitlines()
    if lines[-1] != "end of trees":
        raise SystemExit(f"{models[-1]} ends in the middle")
    model.step, model.weight = int(lines[0]), int(lines[1])
model.resumed()

for step, loss in model.steps():
    if step % 2 == 0:
        with open(out / f"model_{step}.txt", "w") as file:
            print(step, model.weight, sep="\n", file=file)
            for tree in range(500):
                print("tree", tree, model.weight, file=file)
            print("end of trees", file=file)
        toy.say("saved", step)
model.final()
