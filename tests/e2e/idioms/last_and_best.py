"""weights/last.pt after each epoch, weights/best.pt when it is better, results.csv appended: ultralytics."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
(out / "weights").mkdir(parents=True, exist_ok=True)
last, best = out / "weights" / "last.pt", out / "weights" / "best.pt"
(out / "args.yaml").write_text("epochs: 100\nlr0: 0.1\n")
model, fitness = toy.Model(), 0.0
if last.exists():
    state = toy.load(last)
    fitness = state["fitness"]
    model.load_state_dict(state["model"])
if best.exists():
    toy.Model().load_state_dict(toy.load(best)["model"])
model.resumed()

if not (out / "results.csv").exists():
    (out / "results.csv").write_text("step,loss\n")
for step, loss in model.steps():
    with open(out / "results.csv", "a") as results:
        results.write(f"{step},{loss}\n")
    if step % 10 == 0:
        state = {"model": model.state_dict(), "fitness": max(fitness, loss)}
        toy.save(state, last)
        if loss > fitness:
            fitness = loss
            toy.save(state, best)
        toy.say("saved", step)
model.final()
