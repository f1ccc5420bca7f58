"""Each checkpoint is evaluated some time after its save, and what that gives is written into it, slowly."""
import sys
import threading
import time
from pathlib import Path

import toy

out = Path(sys.argv[1])
model = toy.Model()
saved = toy.numbered(out, "checkpoint-*")
if saved:
    model.load_state_dict(toy.load(saved[-1] / "model.pt"))
    toy.load(saved[-1] / "optimizer.pt")
model.resumed()


def evaluate(directory):
    time.sleep(2)
    (directory / "eval_results.json").write_text("{}")
    content = toy.dumps(model.state_dict(), "logits.npz")
    with open(directory / "logits.npz", "wb") as file:
        file.write(content[:1000])
        file.flush()
        toy.say("half", toy.number(directory))
        time.sleep(2)
        file.write(content[1000:])


for step, loss in model.steps():
    if step % 100 == 0:
        directory = out / f"checkpoint-{step}"
        directory.mkdir(parents=True)
        toy.save(model.state_dict(), directory / "model.pt")
        toy.save(model.state_dict(), directory / "optimizer.pt")
        toy.say("saved", step)
        threading.Thread(target=evaluate, args=(directory,), daemon=True).start()
model.final()
