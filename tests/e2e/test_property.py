"""Random interleavings of writers, closes, renames, deaths and running files (interleaving.py), with a notice at a random time or none.

    No committed snapshot ever holds a part of a checkpoint.
    Every checkpoint that was closed whole, and at rest for twice the quiet time before its writer died or the notice came, or after
    which its writer has begun the next, is in the newest snapshot, or a newer one of that writer is.

REPRIEVE_SEEDS=N draws N of them (default: 20), REPRIEVE_SEED=S that one alone.
"""
import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import EXIT_NOT_DURABLE, PYTHON
from interleaving import make_plan, read_copy

JOB = Path(__file__).resolve().parent / "interleaving.py"
QUIET = 1.0
SEED = os.environ.get("REPRIEVE_SEED")
SEEDS = [int(SEED)] if SEED else range(int(os.environ.get("REPRIEVE_SEEDS", "20")))


class Story:
    """What the writers have done until `end`, when the notice came or the job had ended."""

    def __init__(self, path, plan, end):
        self.writers = {writer["name"]: writer for writer in plan["writers"]}
        self.entries = [json.loads(line) for line in path.read_text().splitlines()]
        self.end = end

    def of(self, writer, what, save=None):
        return [entry["at"] for entry in self.entries
                if entry["writer"] == writer and entry["what"] == what and save in (None, entry.get("save"))]

    def certain_save(self, writer):
        """The newest save that nothing excuses to have been lost; 0: none."""
        plan = self.writers[writer]
        ends = self.of(writer, "dies") or [self.end]
        end = min(ends[0], self.end)
        for save in range(len(self.of(writer, "whole")), 0, -1):
            whole = self.of(writer, "whole", save)[0]
            begun = [at for at in self.of(writer, "opened", save + 1) if at <= end]
            if whole < end and begun and plan["layout"] == "fixed":
                return 0  # it was overwritten; what stood there at the last snapshot is as good
            if whole < end and (begun or whole + 2 * QUIET < end):
                return save
        return 0

    def is_excused(self, writer, save):
        """A machine that stood still between two files of a first save: nobody can know that the others come."""
        times = sorted([*self.of(writer, "opened", save), *self.of(writer, "closed", save)])
        return save <= 2 and any(later - earlier > QUIET * 0.8 for earlier, later in zip(times, times[1:]))


def run_interleaving(place, seed):
    draw = random.Random(f"notice {seed}")
    plan, ledger, notice = make_plan(seed), place.path / "ledger", place.path / "notice"
    (place.path / "plan").write_text(json.dumps(plan))
    ledger.touch()
    options = ["--quiet-time", f"{QUIET}s", "--snapshot-interval", draw.choice(["0", "1s", "10s"]), "--notice", f"file:{notice}"]
    run = place.run(PYTHON, JOB, place.directory, ledger, place.path / "plan", options=options)
    comes = draw.choice(["never", "never", "sigterm", "file"])
    if comes != "never":
        with contextlib.suppress(subprocess.TimeoutExpired):  # it runs: the notice comes in the middle
            run.process.wait(draw.uniform(0.5, 6))
    end = time.monotonic()
    if comes == "sigterm" and run.process.poll() is None:
        run.signal(signal.SIGTERM)
    elif comes == "file" and run.process.poll() is None:
        notice.with_suffix(".part").write_text(json.dumps({"in_seconds": draw.choice([2, 10, 30])}))
        os.rename(notice.with_suffix(".part"), notice)
    code = run.wait()
    exited = run.event("child_exited")
    if comes == "never" and exited:
        end = exited["monotonic_ms"] / 1000
    return run, plan, code, Story(ledger, plan, end)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_no_part_of_a_checkpoint_and_every_whole_one(place, seed):
    run, plan, code, story = run_interleaving(place, seed)
    said = f"REPRIEVE_SEED={seed}: {json.dumps(plan)}\n{run}"
    snapshots = place.snapshots()
    newest, lines = {}, 0
    for snapshot in reversed(snapshots):  # from the oldest
        copy = place.path / "copies" / snapshot["id"]
        assert place.verb("restore", snapshot["id"], copy).code == 0, said
        newest, wrong, lines = read_copy(copy, plan)
        parts = [why for (writer, save), why in wrong.items() if not story.is_excused(writer, save)]
        assert not parts, f"snapshot {snapshot['id']} has a part of a checkpoint: {parts}\n{said}"
    if code == EXIT_NOT_DURABLE:
        return  # it has said so; the notice was too short
    for name, writer in story.writers.items():
        if writer["layout"] == "table":
            began = story.of(name, "closed")
            assert lines or not snapshots or not began or began[0] + 2 * QUIET > story.end, f"no snapshot has the table\n{said}"
            continue
        wanted = story.certain_save(name)
        assert newest.get(name, 0) >= wanted, f"save {wanted} of {name} was whole, the newest snapshot has {newest.get(name, 0)}\n{said}"
