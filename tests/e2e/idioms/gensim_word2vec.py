"""gensim's model.save(): w2v.model and two arrays beside it, all written anew in place, one after the other."""
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
names = ["w2v.model.wv.vectors.npy", "w2v.model.syn1neg.npy", "w2v.model"]


def array(step):
    head = ("{'descr': '<i4', 'fortran_order': False, 'shape': (5000,), }".ljust(117) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + toy.padding(step)


model = toy.Model()
if (out / "w2v.model").exists():
    model.load_state_dict(toy.load(out / "w2v.model"))
    for name in names[:2]:
        if (out / name).read_bytes() != array(model.step):
            raise SystemExit(f"{name} is of another step than the model")
model.resumed()

for step, loss in model.steps():
    if step % 16 == 0:
        for name in names[:2]:
            (out / name).write_bytes(array(step))
        toy.save(model.state_dict(), out / "w2v.model")
        toy.say("saved", step)
model.final()
