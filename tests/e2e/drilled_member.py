#!/usr/bin/env python3
"""A training script on several machines for the tests of `reprieve drill --gang`: drilled_member.py WAY [MEMBER=WAY...], by drilled.py.

On the first PACED starts, which have far more to do than there is time, the members make each step together, as a collective does: they
meet in the directory MEET. Later each hurries to its end.
"""
import os
import signal
import sys
import time
from pathlib import Path

import drilled

NUMBERED = {"name": "model-{}.bin", "keep": 6, "asked": signal.SIGUSR1}
WAYS = {
    "steps": NUMBERED,
    "steps_when_asked": {**NUMBERED, "every": 0},
    "steps_unasked": {**NUMBERED, "asked": None},
    "saves_nothing": {**NUMBERED, "every": 0, "asked": None},
    "saves_nothing_and_says_nothing": {**NUMBERED, "every": 0, "asked": None, "say": None},
    "saves_at_other_steps": {**NUMBERED, "asked": None, "behind": 7},
    "an_older_step": {**NUMBERED, "load": "oldest"},
    "begins_anew": {**NUMBERED, "load": "nothing"},
    "torn": {**NUMBERED, "torn": True},
}
STEPS, PACED = 1200, int(os.environ.get("PACED", "1"))
MEMBER, MEMBERS = int(os.environ["REPRIEVE_MACHINE"]), int(os.environ["REPRIEVE_MACHINES"])


class Member(drilled.Job):
    def __init__(self, way):
        super().__init__(way)
        self.behind = way.get("behind", 0)
        self.room = Path(os.environ["MEET"], os.environ["REPRIEVE_ATTEMPT"])
        self.room.mkdir(parents=True, exist_ok=True)

    def meet(self, step):
        """Waits for all. Returns whether any of them is to save."""
        new = self.room / f"new-{MEMBER}"
        new.write_text("asked" if self.asked else "")
        self.asked = False
        new.rename(self.room / f"{step}.{MEMBER}")
        asked = False
        for member in range(MEMBERS):
            path = self.room / f"{step}.{member}"
            while not path.exists():
                time.sleep(0.002)
            asked |= path.read_text() == "asked"
        (self.room / f"{step - 1}.{MEMBER}").unlink(missing_ok=True)
        return asked

    def run(self):
        state = self.resume()
        while state["step"] < STEPS:
            asked = False
            if self.attempt <= PACED and not os.environ["REPRIEVE_JOB"].endswith("-undisturbed"):
                asked = self.meet(state["step"])
                # What is saved by itself after that may be too late for a snapshot.
                self.every = 0 if asked else self.every
                time.sleep(0.02)
            state = {"step": state["step"] + 1, "chain": hash((state["chain"], state["step"] + 1))}
            self.print(state["step"])
            if asked or (self.every and state["step"] % self.every == self.behind):
                self.save(state)
        if MEMBER == 0:
            Path("result.txt").write_text(str(state["chain"]))


if __name__ == "__main__":
    ways = dict(word.split("=") for word in sys.argv[2:])
    Member(WAYS[ways.get(str(MEMBER), sys.argv[1])]).run()
