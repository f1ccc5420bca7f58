"""Numbered models beside the alignments of two jobs (ali.1.gz, ali.2.gz), which are written over in each save, as Kaldi does."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "*.mdl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
    toy.load(saved[-1].with_suffix(".occs"))
    for job in (1, 2):
        toy.load(out / f"ali.{job}.gz")
model.resumed()

for step, loss in model.steps():
    if step % 40 == 0:
        for name in ("ali.1.gz", "ali.2.gz", f"{step}.mdl", f"{step}.occs"):
            toy.save(model.state_dict(), out / name)
        toy.say("saved", step)
model.final()
