"""timm's CheckpointSaver: a temporary file becomes last.pth.tar, which is linked as checkpoint-N.pth.tar; three of these stay."""
import os
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
last, temporary = out / "last.pth.tar", out / "tmp.pth.tar"
model = toy.Model()
if last.exists():
    model.load_state_dict(toy.load(last)["state_dict"])
model.resumed()

for step, loss in model.steps():
    if step % 12 == 0:
        toy.save({"state_dict": model.state_dict(), "epoch": step // 12}, temporary)
        if last.exists():
            last.unlink()
        os.rename(temporary, last)
        os.link(last, out / f"checkpoint-{step}.pth.tar")
        for old in toy.numbered(out, "checkpoint-*.pth.tar")[:-3]:
            old.unlink()
        toy.say("saved", step)
model.final()
