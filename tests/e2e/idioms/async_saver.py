"""A thread writes ckpt-N.pkl in place, which takes 2 s, while the loop trains on and writes state.json in each step. OWN"""
import json
import sys
import threading
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "ckpt-*.pkl")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
if (out / "state.json").exists():
    json.loads((out / "state.json").read_text())
model.resumed()


def write(state):
    toy.save(state, out / f"ckpt-{state['step']}.pkl", seconds=2)
    toy.say("saved", state["step"])


thread = None
for step, loss in model.steps():
    (out / "state.json").write_text(json.dumps({"step": step, "best": loss}))
    if step % 50 == 0:
        if thread:
            thread.join()
        thread = threading.Thread(target=write, args=(model.state_dict(),))
        thread.start()
if thread:
    thread.join()
model.final()
