"""A trainer that polls reprieve.py. Prints "step N" sometimes, "saved N" after each save, "resumed N" at the start."""
import argparse
import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the module lies in the source tree
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shim"))
import reprieve

options = argparse.ArgumentParser()
options.add_argument("--steps", type=int, default=100000)
options.add_argument("--silent", action="store_true")  # does not say saved()
options.add_argument("--open", action="store_true")  # says saved() too early: a file is still open
options.add_argument("--fork", type=int, default=0)  # ranks of their own, made by fork()
arguments = options.parse_args()


def say(*words):
    """In one piece, because ranks do so at the same time."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


if reprieve.resuming():
    print("resumed", reprieve.newest("model-*"), flush=True)
rank = 0
for number in range(1, arguments.fork):
    if os.fork() == 0:
        rank = number
        break
directory = reprieve.checkpoint_dir()
os.makedirs(directory, exist_ok=True)
reprieve.requested()
say("ready", rank, os.getpid())
for step in range(arguments.steps):
    time.sleep(0.01)
    reprieve.progress(step)
    if reprieve.requested():
        path = f"{directory}/model-{step}-{rank}"
        file = open(path + ".tmp", "wb")
        file.write(b"x" * 100000)
        if not arguments.open:
            file.close()
        os.rename(path + ".tmp", path)
        say("saved", step, rank)  # first: with the word the supervisor may end us
        if not arguments.silent:
            reprieve.saved(step)
        while arguments.silent and reprieve.requested():
            time.sleep(0.01)
        if arguments.open:
            time.sleep(3600)
