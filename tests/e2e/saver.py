#!/usr/bin/env python3
"""A tiny job that saves often, and that checks at its start what it resumes from.

Each checkpoint is a directory step-NNNNNN with two files: data, and meta with the step, the size and the SHA-256 of data. They are
written in place, data first, as a trainer without temporary names does: between the two, the checkpoint is not complete.

At its start it takes the newest step directory. Unless that one is complete and right it prints BAD and exits 3: whoever put
it there broke the promise. Lines on stdout: "resumes N" (0: afresh), "saved N", "finished N"; with --every also "step N".

saver.py [--steps N] [--size BYTES] [--pause SECONDS] [--keep N] [--between SECONDS] [--every STEPS] [--on-signal]
"""
import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10**6, help="end after this step")
    parser.add_argument("--size", type=int, default=20000, help="bytes of data in a checkpoint")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds that a step takes")
    parser.add_argument("--between", type=float, default=0, help="seconds between the two files of a checkpoint")
    parser.add_argument("--keep", type=int, default=3, help="checkpoints kept in the directory")
    parser.add_argument("--every", type=int, default=1, help="steps from one save to the next")
    parser.add_argument("--on-signal", action="store_true", help="save when SIGUSR1 asks, not after every step")
    return parser.parse_args()


def say(*words):  # in one piece: a handler may speak between two of print()'s
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def content(step, size):
    return random.Random(step).randbytes(size)


def steps_in(directory):
    return sorted(int(path.name[5:]) for path in directory.glob("step-*"))


def check(path, step):
    """Why this checkpoint is not complete and right; None if it is."""
    try:
        data = (path / "data").read_bytes()
        meta = json.loads((path / "meta").read_text())
    except (OSError, ValueError) as error:
        return str(error)
    if meta["step"] != step or meta["size"] != len(data):
        return f"meta says step {meta['step']} and {meta['size']} bytes, data has {len(data)}"
    if meta["sha256"] != hashlib.sha256(data).hexdigest() or data != content(step, len(data)):
        return "data is not what was saved"
    return None


def resume(directory):
    found = steps_in(directory) if directory.is_dir() else []
    if not found:
        return 0
    wrong = check(directory / f"step-{found[-1]:06d}", found[-1])
    if wrong:
        say("BAD", found[-1], wrong)
        sys.exit(3)
    return found[-1]


def save(directory, step, arguments):
    path = directory / f"step-{step:06d}"
    data = content(step, arguments.size)
    path.mkdir(parents=True)
    (path / "data").write_bytes(data)
    if arguments.between:
        say("between", step)
        time.sleep(arguments.between)
    (path / "meta").write_text(json.dumps({"step": step, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}))
    for old in steps_in(directory)[:-arguments.keep]:
        shutil.rmtree(directory / f"step-{old:06d}")
    say("saved", step)


def main():
    arguments = options()
    directory = Path(os.environ.get("REPRIEVE_CHECKPOINT_DIR", "checkpoints"))
    asked = []
    if arguments.on_signal:
        signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
    step = resume(directory)
    say("resumes", step)
    while step < arguments.steps:
        step += 1
        time.sleep(arguments.pause)
        if arguments.every > 1:
            say("step", step)
        if asked or not arguments.on_signal and step % arguments.every == 0:
            asked.clear()
            save(directory, step, arguments)
    say("finished", step)


if __name__ == "__main__":
    main()
