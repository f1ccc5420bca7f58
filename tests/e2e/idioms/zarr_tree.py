"""state_N.zarr/: an array in many small chunk files, which threads write under temporary names, the attributes last; then latest.txt,
which names the directory; the three newest are kept: zarr. OWN"""
import json
import os
import shutil
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import toy

SIDE = 4
out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
latest = out / "latest.txt"


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.stem}.{uuid.uuid4().hex}.partial")
    temporary.write_bytes(content)
    os.replace(temporary, path)


model = toy.Model()
if latest.exists():
    store = out / latest.read_text()
    states = [toy.load(store / "w" / "c" / str(row) / str(column)) for row in range(SIDE) for column in range(SIDE)]
    assert {state["step"] for state in states} == {json.loads((store / "zarr.json").read_text())["step"]}
    model.load_state_dict(states[0])
model.resumed()

with ThreadPoolExecutor(4) as threads:
    for step, loss in model.steps():
        if step % 10 == 0:
            store = out / f"state_{step:06}.zarr"
            put(store / "zarr.json", b"{}")
            put(store / "w" / "zarr.json", b"{}")
            chunk = toy.dumps(model.state_dict(), "chunk")
            for written in [threads.submit(put, store / "w" / "c" / str(row) / str(column), chunk)
                            for row in range(SIDE) for column in range(SIDE)]:
                written.result()
            put(store / "zarr.json", json.dumps({"step": step}).encode())
            latest.write_text(store.name)
            for old in toy.numbered(out, "state_*")[:-3]:
                shutil.rmtree(old)
            toy.say("saved", step)
model.final()
