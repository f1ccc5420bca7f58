"""iter_N/ with two files, and last of all latest_checkpointed_iteration.txt, written anew in place: Megatron, DeepSpeed. OWN"""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
pointer = out / "latest_checkpointed_iteration.txt"
model = toy.Model()
if pointer.exists():
    path = out / f"iter_{int(pointer.read_text()):07d}"
    model.load_state_dict(toy.load(path / "model_optim_rng.ckpt"))
    if toy.load(path / "distrib_optim.ckpt")["step"] != model.step:
        raise SystemExit("the optimizer is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 12 == 0:
        path = out / f"iter_{step:07d}"
        path.mkdir(exist_ok=True)
        toy.save(model.state_dict(), path / "model_optim_rng.ckpt", seconds=0.1)
        toy.save({"step": step}, path / "distrib_optim.ckpt", seconds=0.1)
        pointer.write_text(str(step))
        toy.say("saved", step)
model.final()
