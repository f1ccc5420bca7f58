"""N.orbax-checkpoint-tmp-TIME/ with arrays in files whose names are random, renamed to N/ when all is written: as Orbax saves."""
import shutil
import sys
import time
import uuid
from pathlib import Path

import toy

EVERY = 20

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = sorted((path for path in out.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
if saved:
    states = [toy.load(path) for path in (saved[-1] / "state" / "d").iterdir()]
    if len(states) != 3 or not (saved[-1] / "_CHECKPOINT_METADATA").read_text():
        raise SystemExit(f"{saved[-1]} lacks something")
    for state in states:
        model.load_state_dict(state)
model.resumed()

for step, _ in model.steps():
    if step % EVERY == 0:
        path = out / f"{step}.orbax-checkpoint-tmp-{time.time_ns() // 1000}"
        (path / "state" / "d").mkdir(parents=True)
        for _ in range(3):
            toy.save(model.state_dict(), path / "state" / "d" / uuid.uuid4().hex, seconds=0.05)
        for name in ("state/manifest.ocdbt", "state/_METADATA", "_CHECKPOINT_METADATA"):
            (path / name).write_text("{}")
        path.rename(out / str(step))
        toy.say("saved", step)
        saved.append(out / str(step))
        for old in saved[:-3]:
            shutil.rmtree(old)
        del saved[:-3]
model.final()
