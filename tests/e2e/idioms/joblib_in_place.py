"""partial_fit, and joblib.dump() over the same file each second: scikit-learn."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
path = out / "classifier.joblib"
model = toy.Model()
if path.exists():
    model.load_state_dict(toy.load(path))
model.resumed()

for step, loss in model.steps():
    if step % 20 == 0:
        toy.save(model.state_dict(), path)
        toy.say("saved", step)
model.final()
