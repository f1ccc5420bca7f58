"""ckpt-N.data and ckpt-N.index, and then `checkpoint`, which names the newest; three stay: TensorFlow's CheckpointManager. OWN"""
import os
import re
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
pointer = out / "checkpoint"
model = toy.Model()
if pointer.exists():
    newest = re.search(r'model_checkpoint_path: "(.*)"', pointer.read_text()).group(1)
    model.load_state_dict(toy.load(out / f"{newest}.data-00000-of-00001"))
    if toy.load(out / f"{newest}.index")["step"] != model.step:
        raise SystemExit("the index is of another step")
model.resumed()

for step, loss in model.steps():
    if step % 12 == 0:
        toy.save(model.state_dict(), out / f"ckpt-{step}.data-00000-of-00001", seconds=0.1)
        toy.save({"step": step}, out / f"ckpt-{step}.index")
        (out / "checkpoint.tmp").write_text(f'model_checkpoint_path: "ckpt-{step}"\nall_model_checkpoint_paths: "ckpt-{step}"\n')
        os.replace(out / "checkpoint.tmp", pointer)
        toy.say("saved", step)
        for old in toy.numbered(out, "ckpt-*.index")[:-3]:
            old.unlink()
            (out / f"{old.stem}.data-00000-of-00001").unlink()
model.final()
