"""A model that trains, for scripts that save it as people do; what a script needs of a framework, and no more.

What is trained is one number, which follows from the step alone: a state that is loaded is checked, and one that is torn, or of another
step than it says, ends the script. Lines on stdout, which the tests read: "resumed N", "step N", "saved N", "final N WEIGHT".
"""
import io
import os
import pickle
import re
import struct
import time
import zipfile
from pathlib import Path

SECONDS = float(os.environ.get("TOY_SECONDS", "0.05"))  # that a step takes
MORE = int(os.environ.get("TOY_MORE", "100000"))  # steps that a start trains
ZIPS = (".pt", ".pth", ".tar", ".npz", ".ckpt", ".zip")


def say(*words):
    """In one piece: threads, processes and handlers speak too."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def weight_after(step, start=0, weight=1):
    for now in range(start + 1, step + 1):
        weight = (weight * 1103515245 + now) % 2**31
    return weight


def padding(weight, size=20000):
    return struct.pack("<I", weight) * (size // 4)


class Model:
    def __init__(self):
        self.step, self.weight = 0, 1

    def train(self):
        """One step; returns its loss."""
        time.sleep(SECONDS)
        self.weight = weight_after(self.step + 1, self.step, self.weight)
        self.step += 1
        say("step", self.step)
        return self.weight / 2**31

    def steps(self):
        """Trains, and gives the number of each step and its loss."""
        for step in range(self.step + 1, self.step + MORE + 1):
            yield step, self.train()

    def state_dict(self):
        return {"step": self.step, "weight": self.weight, "layers": padding(self.weight)}

    def load_state_dict(self, state):
        weight = weight_after(state["step"])
        if state["weight"] != weight or state["layers"] != padding(weight):
            raise ValueError(f"the state is not one of step {state['step']}")
        self.step, self.weight = state["step"], weight

    def resumed(self):
        say("resumed", self.step)

    def final(self):
        say("final", self.step, self.weight)


def dumps(state, path):
    if not set(Path(path).suffixes) & set(ZIPS):
        return pickle.dumps(state)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(state))
    return buffer.getvalue()


def save(state, path, seconds=0.0):
    """In place, as most frameworks do; `seconds`: how long the writing takes."""
    content = dumps(state, path)
    with open(path, "wb") as file:
        for piece in range(10):
            file.write(content[len(content) * piece // 10:len(content) * (piece + 1) // 10])
            file.flush()
            time.sleep(seconds / 10)


def load(path):
    if not set(Path(path).suffixes) & set(ZIPS):
        return pickle.loads(Path(path).read_bytes())
    with zipfile.ZipFile(path) as archive:
        return pickle.loads(archive.read("archive/data.pkl"))


def number(path):
    """The last number in the name, as in ckpt-120.pt."""
    return int(re.findall(r"\d+", Path(path).name.split(".")[0])[-1])


def numbered(directory, pattern):
    """From the oldest to the newest."""
    return sorted(Path(directory).glob(pattern), key=number)
