"""A replay buffer that grows by one file with each save, called by the steps that it holds (replay_0_12.pt, replay_12_24.pt), beside ckpt_N.pt."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "ckpt_*.pt")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
held = 0
for path in toy.numbered(out, "replay_*.pt"):
    chunk = toy.load(path)
    if chunk["first"] != held:
        raise SystemExit(f"the replay buffer has nothing of steps {held} to {chunk['first']}")
    held = chunk["last"] if chunk["last"] <= model.step else held
if held != model.step:
    raise SystemExit(f"the replay buffer ends at {held}, and not at {model.step}")
model.resumed()

for step, loss in model.steps():
    if step % 12 == 0:
        toy.save({"first": held, "last": step}, out / f"replay_{held}_{step}.pt")
        toy.save(model.state_dict(), out / f"ckpt_{step}.pt")
        held = step
        toy.say("saved", step)
model.final()
