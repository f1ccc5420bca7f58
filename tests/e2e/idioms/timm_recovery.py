"""timm's CheckpointSaver with --recovery-interval: recovery-EPOCH-BATCH.pth.tar beside the checkpoints of the epochs. The batch begins anew
in each epoch. Two of them stay."""
import os
import sys
from pathlib import Path

import toy

EPOCH, RECOVERY = 24, 5  # steps

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
last, temporary = out / "last.pth.tar", out / "tmp.pth.tar"
model = toy.Model()
states = [toy.load(path) for path in out.glob("*.pth.tar")]
if states:
    model.load_state_dict(max(states, key=lambda state: state["step"])["state_dict"])
model.resumed()

recoveries = []
for step, loss in model.steps():
    epoch, batch = divmod(step, EPOCH)
    state = {"state_dict": model.state_dict(), "step": step}
    if batch == 0:
        toy.save(state, temporary)
        if last.exists():
            last.unlink()
        os.rename(temporary, last)
        os.link(last, out / f"checkpoint-{epoch}.pth.tar")
        for old in toy.numbered(out, "checkpoint-*.pth.tar")[:-3]:
            old.unlink()
        toy.say("saved", step)
    elif batch % RECOVERY == 0:
        recoveries.append(out / f"recovery-{epoch}-{batch}.pth.tar")
        toy.save(state, recoveries[-1])
        for old in recoveries[:-2]:
            old.unlink(missing_ok=True)
        del recoveries[:-2]
        toy.say("saved", step)
model.final()
