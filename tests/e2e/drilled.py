#!/usr/bin/env python3
"""A training script for the tests of `reprieve drill`, in many ways of writing one: honest ones, and ones that cheat.

drilled.py WAY: see WAYS. It saves every few steps into checkpoints/. On the first machine it has far more to do than there is time; on
the next it hurries to its end. What it learns is a chain of digests: whoever leaves out a step or does one twice has another result.
"""
import os
import pickle
import signal
import sys
import time
from pathlib import Path

WAYS = {
    # Honest.
    "step_lines": {},
    "epochs": {"say": lambda step: f"Epoch {1 + (step - 1) // 5}/900  loss {1 / step:.4f}", "every": 5},
    "steps_of_epochs": {"say": lambda step: f"epoch {1 + (step - 1) // 20} step {1 + (step - 1) % 20} loss {1 / step:.4f}", "every": 20},
    "bar": {"say": lambda step: f"\r {step // 50}%|##    | {step}/5000 [00:{step % 60:02}<01:40, 49.9it/s]", "end": ""},
    "only_names_count": {"say": None, "name": "model-{}.bin", "keep": 6, "paced": True},
    "ten_a_second": {"every": 3},
    "only_when_asked": {"every": 0, "asked": signal.SIGUSR1},
    "says_nothing": {"say": None},
    "saves_slowly_and_prints_afterwards": {"every": 0, "asked": signal.SIGUSR1, "slow": 1},
    "imports_slowly": {"prints": 10, "starts": 7},
    "crashes_after_the_notice": {"every": 0, "say": None, "fails": True},
    "is_deaf_to_the_end": {"every": 30, "asked": signal.SIGTERM, "ignores": True},
    "crashes_at_the_end": {"every": 30, "asked": signal.SIGTERM, "crashes": True},
    # Cheating.
    "never_loads": {"load": "nothing"},
    "never_loads_and_says_nothing": {"load": "nothing", "say": None},
    "loads_an_older_one": {"load": "oldest", "name": "model-{}.bin", "keep": 6},
    "counts_anew": {"load": "counts anew"},
    "ignores_its_data_order": {"load": "forgets the chain"},
    "saves_torn_files": {"torn": True},
    "saves_elsewhere": {"place": "runs", "name": "model-{}.pt"},
    "never_closes_its_checkpoint": {"held": True},
    "exits_without_saving": {"every": 0, "asked": signal.SIGTERM, "deaf": True},
    "saves_at_the_end": {"every": 0},
    "prints_a_faked_step": {"load": "fakes", "name": "model-{}.bin", "keep": 6},
    # It keeps a part of its state beside the checkpoints, and begins anew without it.
    "keeps_a_part_in_another_directory": {"part": "out/part.bin"},
}
NAME = "state.bin"


def content(path):
    with open(path, "rb") as file:
        return pickle.load(file)


class Job:
    def __init__(self, way):
        self.load, self.every, self.keep, self.torn = way.get("load", "newest"), way.get("every", 15), way.get("keep", 1), way.get("torn")
        self.say, self.end = way.get("say", lambda step: f"step {step} loss {1 / step:.4f}"), way.get("end", "\n")
        self.directory, self.name = Path(way.get("place", "checkpoints")), way.get("name", NAME)
        self.deaf, self.asked = way.get("deaf"), False
        self.attempt = int(os.environ["REPRIEVE_ATTEMPT"])
        self.held = None
        self.paced, self.part, self.slow, self.ignores, self.crashes = way.get("paced"), way.get("part"), way.get("slow"), way.get("ignores"), way.get("crashes")
        self.prints, self.fails = way.get("prints", 1), way.get("fails")
        time.sleep(way.get("starts", 0) if self.attempt == 1 else 0)
        self.directory.mkdir(exist_ok=True)
        if way.get("held"):
            self.held = open(self.directory / self.name, "ab")
        if way.get("asked"):
            signal.signal(way["asked"], self.ask)

    def ask(self, *_):
        if self.crashes:
            raise RuntimeError("interrupted")
        self.asked = not self.ignores

    def checkpoints(self):
        if self.held:
            return []
        pattern = self.name.replace("{}", "*")
        return sorted(self.directory.glob(pattern), key=lambda path: path.stat().st_mtime_ns)

    def resume(self):
        state, found = {"step": 0, "chain": 0}, self.checkpoints()
        if not found or self.load == "nothing":
            return state
        if self.load == "oldest":
            return content(found[0])
        if self.load == "fakes":
            return {"step": int(os.environ["REPRIEVE_STEP"] or 120), "chain": 0}
        loaded = content(found[-1])
        if self.part and not (Path(self.part).exists() and Path(self.part).read_bytes().startswith(b"part")):
            return state
        if self.load == "counts anew":
            return {"step": 0, "chain": loaded["chain"]}
        if self.load == "forgets the chain":
            return {"step": loaded["step"], "chain": 0}
        return state if self.load == "ignores" else loaded

    def print(self, step):
        if self.say and step % self.prints == 0:
            print(self.say(step), end=self.end)

    def write(self, path, state):
        path.parent.mkdir(exist_ok=True)
        # A cut shows in the frames of a later protocol: then nothing of it would be saved.
        data = pickle.dumps({**state, "weights": os.urandom(20000)}, protocol=2 if self.torn else None)
        with open(f"{path}.tmp", "wb") as file:
            if self.slow:
                file.write(data[:1000])
                file.flush()
                time.sleep(self.slow)
                data = data[1000:]
            file.write(data[:len(data) // 2] if self.torn else data)
        os.replace(f"{path}.tmp", path)

    def save(self, state):
        if self.held:
            self.held.write(pickle.dumps(state))
            self.held.flush()
            return
        self.write(self.directory / self.name.format(state["step"]), state)
        if self.part:
            Path(self.part).parent.mkdir(exist_ok=True)
            with open(self.part, "r+b" if Path(self.part).exists() else "wb") as file:
                file.write(b"part")
        for old in self.checkpoints()[:-self.keep]:
            old.unlink()
            if old.parent != self.directory:
                old.parent.rmdir()

    def run(self):
        state = self.resume()
        last = state["step"] + 60 if self.attempt > 1 else 10**6
        while state["step"] < last:
            if self.attempt == 1 or self.paced:
                time.sleep(0.02)
            state = {"step": state["step"] + 1, "chain": hash((state["chain"], state["step"] + 1))}
            if not self.slow:
                self.print(state["step"])
            if self.fails and os.path.exists(os.environ["REPRIEVE_NOTICE_FILE"]):
                import no_such_module  # noqa: F401
            if self.asked and self.deaf:
                sys.exit(0)
            if self.asked or (self.every and state["step"] % self.every == 0):
                self.asked = False
                self.save(state)
                if self.slow:
                    self.print(state["step"])
                    time.sleep(60)  # it is ended now
            elif self.slow:
                self.print(state["step"])
        self.save(state)


if __name__ == "__main__":
    Job(WAYS[sys.argv[1]]).run()
