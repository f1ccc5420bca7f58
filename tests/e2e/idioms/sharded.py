"""checkpoint-N/ with four shards and, last of all, their index: save_pretrained() of a large model. OWN"""
import json
import sys
from pathlib import Path

import toy

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
model = toy.Model()
saved = toy.numbered(out, "checkpoint-*")
if saved:
    index = json.loads((saved[-1] / "pytorch_model.bin.index.json").read_text())
    states = [toy.load(saved[-1] / name) for name in index["weight_map"].values()]
    if len(states) != 4 or {state["step"] for state in states} != {toy.number(saved[-1])}:
        raise SystemExit("a shard is missing, or of another step")
    model.load_state_dict(states[0])
model.resumed()

for step, loss in model.steps():
    if step % 20 == 0:
        path = out / f"checkpoint-{step}"
        path.mkdir(exist_ok=True)
        names = {f"layer{i}": f"pytorch_model-{i:05d}-of-00004.bin" for i in range(1, 5)}
        for name in names.values():
            toy.save(model.state_dict(), path / name, seconds=0.2)
            toy.say("half", step)
        (path / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
        toy.say("saved", step)
model.final()
