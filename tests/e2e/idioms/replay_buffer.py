"""A replay buffer mapped into memory, which stays open for the whole run, beside rl_model_N_steps.zip. OWN"""
import mmap
import struct
import sys
from pathlib import Path

import toy

CAPACITY = 100000
out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
path = out / "replay_buffer.npy"
model = toy.Model()
saved = toy.numbered(out, "rl_model_*_steps.zip")
if saved:
    model.load_state_dict(toy.load(saved[-1]))
if not path.exists():
    if saved:
        raise SystemExit("the replay buffer is gone")
    head = (f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({CAPACITY},), }}".ljust(117) + "\n").encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(4 * CAPACITY))
buffer = open(path, "r+b")
memory = mmap.mmap(buffer.fileno(), 0)
missing = [step for step in range(1, model.step + 1) if struct.unpack_from("<i", memory, 128 + 4 * step)[0] != step]
if missing:
    raise SystemExit(f"the replay buffer has no entry of steps {missing[:5]}")
model.resumed()

for step, loss in model.steps():
    struct.pack_into("<i", memory, 128 + 4 * step, step)
    if step % 12 == 0:
        toy.save(model.state_dict(), out / f"rl_model_{step}_steps.zip")
        toy.say("saved", step)
model.final()
