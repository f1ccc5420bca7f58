"""A thread writes step-N/__R_0.distcp for two ranks and, last of all, .metadata, as PyTorch's DCP does in async_save()."""
import sys
import threading
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = [path for path in toy.numbered(out, "step-*") if (path / ".metadata").exists()]
if saved:
    for rank in range(2):
        model.load_state_dict(toy.load(saved[-1] / f"__{rank}_0.distcp"))
    if toy.load(saved[-1] / ".metadata")["step"] != model.step:
        raise SystemExit("the metadata is of another step")
model.resumed()


def write(state):
    path = out / f"step-{state['step']}"
    path.mkdir(exist_ok=True)
    for rank in range(2):
        toy.save(state, path / f"__{rank}_0.distcp", seconds=0.2)
    toy.save({"step": state["step"]}, path / ".metadata.tmp")
    (path / ".metadata.tmp").rename(path / ".metadata")
    toy.say("saved", state["step"])


thread = None
for step, loss in model.steps():
    if step % 16 == 0:
        if thread:
            thread.join()
        thread = threading.Thread(target=write, args=(model.state_dict(),))
        thread.start()
if thread:
    thread.join()
model.final()
