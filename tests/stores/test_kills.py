"""Killed at every fault point and at random instants, and racing for a job, against radosgw: what was committed stands.

REPRIEVE_KILLS is the number of random kills (default 200); tests/stores/run.sh --short does without them.
"""
import filecmp
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import test_faults
from harness import PYTHON, REPRIEVE, SAVER, wait_for
from test_faults import OFTEN, committed_step, finish, resumed_step, steps_of

STORAGE = Path(__file__).resolve().parents[2] / "storage"
WRITERS = 16
LONG = pytest.mark.long
# Those of a file:// store are passed in tests/faults.
ALL_POINTS = sorted({point for source in STORAGE.rglob("*.c") if source.name not in ("file_store.c", *test_faults.HOUSEKEEPING)
                     for point in re.findall(r'fault_point\("(\w+)"\)', source.read_text())})
POINTS = [point for point in ALL_POINTS if not point.endswith("_remove")]
POINTS_OF_REMOVAL = [point for point in ALL_POINTS if point.endswith("_remove")]


@pytest.fixture
def place(radosgw, place_at):
    return place_at(radosgw)


# A start claims once; the other points are passed at every checkpoint.
@pytest.mark.parametrize("point, time_passed", [pytest.param(point, count, marks=LONG if count == 3 or "s3" in point else []) for point in POINTS
                                                for count in (1, 3) if count == 1 or "claim" not in point])
def test_killed_at_fault_point(place, point, time_passed):
    test_faults.test_killed_at_fault_point(place, point, time_passed)


def test_the_points_are_there():
    """What the search above must have found."""
    assert {f"{when}_{what}_put" for when in ("before", "after") for what in ("pack", "manifest", "claim")} <= set(POINTS)
    assert POINTS_OF_REMOVAL


@pytest.mark.parametrize("point", [pytest.param(point, marks=LONG if point != "after_pack_remove" else []) for point in POINTS_OF_REMOVAL])
def test_killed_while_forgetting(radosgw, place, point):
    """Manifests first, then packs: what is left is whole at every instant, and the next one finishes the work."""
    tree = place.path / "tree"
    tree.mkdir()
    for number in range(4):
        (tree / "content").write_bytes(bytes([number]) * 3 + os.urandom(100_000))
        assert place.verb("save", tree).code == 0
    time.sleep(2)  # old enough for --sweep-age, by the server's clock, which counts seconds
    forget = ("--keep-last", "1", "--sweep-age", "1s")
    assert place.verb("forget", *forget, REPRIEVE_FAULT=point).code == -signal.SIGKILL
    for snapshot in place.snapshots():
        assert snapshot["state"] == "good", snapshot
    assert place.verb("verify").code == 0
    assert place.verb("forget", *forget).code == 0
    # The newest, and what its attempt started from.
    assert [snapshot["newest"] for snapshot in place.snapshots()] == [True, False]
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert (place.path / "back" / "content").read_bytes() == (tree / "content").read_bytes()
    packs = [key for key in radosgw.objects(place.store) if key.endswith(".pack")]
    assert len(packs) == 2, packs


@LONG
def test_killed_at_random_instants(place):
    test_faults.test_killed_at_random_instants(place)


def test_sixteen_claim_at_once(place):
    """All want the same job: each gets a number of its own, the last one's work counts, and nobody's job is harmed."""
    assert place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=OFTEN).wait() == 0
    runs = [place.run(PYTHON, SAVER, "--pause", "1", options=(*OFTEN, "--take-over"), directory=place.path / f"machine{number}")
            for number in range(WRITERS)]
    claims = [run.wait_for_event("claimed") for run in runs]
    numbers = [claim["attempt"] for claim in claims]
    assert len(set(numbers)) == WRITERS, sorted(numbers)
    last = runs[numbers.index(max(numbers))]
    last.wait_for_event("durable", count=2)
    for run in runs:
        wait_for("the job's start", lambda: "resumes" in run.out, process=run.process)
        assert resumed_step(run) >= 2
    # Each of the others notices as soon as it has something to save.
    for run in runs:
        if run is not last:
            wait_for("word of having been superseded", lambda: "superseded" in run.err or "no further checkpoints are uploaded" in run.err,
                     process=run.process, about=run)
    for run in runs:
        assert run.process.poll() is None, f"a job was harmed\n{run}"
        run.kill()
    newest = place.newest()
    assert int(newest["id"].split("-")[0]) == max(numbers)
    committed = committed_step(place)
    assert resumed_step(finish(place, place.path / "next")) == committed
    assert place.verb("report", "--json").json["total"]["attempts"] == WRITERS + 2
    check_chain(place)


def check_chain(place):
    """From the newest down, each good snapshot holds at least what the one before it held."""
    good = [snapshot for snapshot in place.snapshots() if snapshot["state"] == "good"]
    steps = [steps_of(place, snapshot)[-1] for snapshot in good]
    assert steps == sorted(steps, reverse=True), list(zip([snapshot["id"] for snapshot in good], steps))


def test_sixteen_save_at_once(place):
    """`reprieve save` sixteen times at once: all that was called saved is there and whole."""
    processes = []
    for number in range(WRITERS):
        tree = place.path / f"tree{number}"
        tree.mkdir()
        (tree / "which").write_text(f"{number}\n")
        processes.append(subprocess.Popen([REPRIEVE, "save", str(tree), "--store", place.store, "--job", place.job], cwd=place.path,
                                          env=place.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          text=True))
    said = [process.communicate(timeout=120)[0] for process in processes]
    saved = {number: re.search(r"saved (\d+-\d+)", text) for number, text in enumerate(said)}
    winners = {number: match[1] for number, match in saved.items() if match and processes[number].returncode == 0}
    assert winners and len(set(winners.values())) == len(winners), said
    states = {snapshot["id"]: snapshot for snapshot in place.snapshots()}
    assert set(winners.values()) <= set(states)
    for number, name in winners.items():
        target = place.path / f"back{number}"
        assert place.verb("restore", name, target).code == 0
        assert (target / "which").read_text() == f"{number}\n"
    assert sum(snapshot["newest"] for snapshot in states.values()) == 1


@pytest.mark.parametrize("point", ["after_pack_put:2", "before_manifest_put:1"])
def test_what_was_sent_is_not_sent_again(radosgw, place, point):
    """Killed in the middle of an upload, and when all but the commit was done: the next attempt, on another machine, sends the rest."""
    tree, size = place.path / "tree", 100_000_000
    tree.mkdir()
    (tree / "weights").write_bytes(random.Random(5).randbytes(size))
    assert place.verb("save", tree, REPRIEVE_FAULT=point).code == -signal.SIGKILL
    sent = {key: size for key, size in radosgw.objects(place.store).items() if key.endswith(".pack")}
    assert sum(sent.values()) > 20_000_000 and place.snapshots() == []
    saved = place.verb("save", tree)
    assert saved.code == 0, saved
    packs = {key: size for key, size in radosgw.objects(place.store).items() if key.endswith(".pack")}
    assert sent.items() <= packs.items()
    again = sum(packs.values()) - size
    assert again < 1_000_000, f"{again} bytes lie there twice"
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert filecmp.cmp(tree / "weights", place.path / "back" / "weights", shallow=False)
    assert place.verb("verify").code == 0


@LONG
def test_one_of_sixteen_wins_a_name(radosgw):
    """The store alone, below all that the program does with it: awkward names and queries, and sixteen that put one key."""
    program = Path(REPRIEVE).parents[1] / "tests" / "unit" / "test_store_s3"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    bucket = "/".join(radosgw.make().split("/")[:3])
    environment = {**radosgw.environment, "PATH": os.environ["PATH"], "REPRIEVE_TEST_S3": bucket}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[       OK ] test_real" in done.stdout + done.stderr
