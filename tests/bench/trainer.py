"""Writes a checkpoint as a training job does, at the pace of a disk: trainer.py DIRECTORY MIB FILES MB_PER_SECOND when-asked|at-once

when-asked: all of it comes when USR1 does. at-once: it comes at the start, and USR1 only brings a small file more. Prints "written" with
the monotonic milliseconds of the last byte, each time, and ends when it has done what was asked.
"""
import os
import random
import signal
import sys
import threading
import time

directory, mib, files, pace, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]) * 1e6, sys.argv[5]
PIECE = 1 << 20
asked = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: asked.set())
generator = random.Random(mib)
noise = [generator.randbytes(PIECE) for _ in range(64)]


def save(step):
    path = os.path.join(directory, f"step_{step}")
    os.makedirs(path, exist_ok=True)
    began, done = time.monotonic(), 0
    for number in range(files):
        with open(os.path.join(path, f"weights-{number}.bin"), "wb", buffering=0) as file:
            for piece in range(mib // files):
                # No two pieces alike.
                file.write(number.to_bytes(4, "big") + piece.to_bytes(4, "big") + noise[generator.randrange(64)][8:])
                done += PIECE
                time.sleep(max(0.0, began + done / pace - time.monotonic()))
    print("written", int(time.monotonic() * 1000), flush=True)


if mode == "at-once":
    save(1)
print("ready", flush=True)
while not asked.wait(0.5):
    pass
if mode == "at-once":
    with open(os.path.join(directory, "step_1", "asked.json"), "w") as file:
        file.write("{}")
else:
    save(1)
