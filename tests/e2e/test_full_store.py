"""A store on a disk that is full: a start has room for its claim, and what is dead in packs goes."""
import os
import signal
import subprocess

import pytest
from harness import EXIT_NOT_DURABLE, PYTHON, SAVER, wait_for

QUICK = ("--quiet-time", "150ms", "--snapshot-interval", "0", "--keep-last", "1")
EXIT_NO_PROGRESS = 93
ALL = (*QUICK[:4], "--keep-last", "0")

# Half of the layers change with each step, any of them.
HALF = """
import os, random, re, shutil, sys, time
directory, steps = sys.argv[1], int(sys.argv[2])
begun = max([int(name.split("-")[1]) for name in os.listdir(directory) if re.fullmatch("step-[0-9]+", name)], default=0)
trained = [0] * 12
for step in range(1, begun + steps + 1):
    for layer in random.Random(step).sample(range(12), 6):
        trained[layer] = step
    if step <= begun:
        continue
    os.makedirs(f"{directory}/step-{step}")
    for layer in range(12):
        with open(f"{directory}/step-{step}/layer-{layer}", "wb") as file:
            file.write(random.Random(1000 * layer + trained[layer]).randbytes(500_000))
    shutil.rmtree(f"{directory}/step-{step - 1}", ignore_errors=True)
    time.sleep(0.6)
"""


@pytest.fixture
def small(place):
    """small(SIZE): the store is on a disk of that size."""
    directory = place.path / "disk"
    directory.mkdir()

    def mount(size):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory], capture_output=True).returncode != 0:
            pytest.skip("nothing may be mounted here")
        place.store_path = directory / "runs"
        place.store = f"file://{place.store_path}"
        return directory

    yield mount
    while subprocess.run(["umount", "-l", directory], capture_output=True).returncode == 0:
        pass


def fill(directory):
    """To the last byte."""
    with open(directory / "other", "ab", buffering=0) as other:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    other.write(bytes(size))
            except OSError:
                pass


def test_a_start_has_room_for_its_claim(place, small):
    directory = small("8m")
    assert place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=QUICK).wait() == 0
    before = place.newest()["id"]
    fill(directory)
    run = place.run(PYTHON, SAVER, options=QUICK)
    run.wait_for_output("resumes 2")
    assert place.newest()["id"] == before
    # Nothing was durable; with room it is.
    os.remove(directory / "other")
    wait_for("a durable step behind 2", lambda: place.newest()["step"] > 2)
    run.kill()
    run.wait()
    assert place.verb("verify").code == 0


def test_starts_go_on_in_a_full_store(place, small):
    """Each drops what retention does not keep, also where attempts that were killed have started from it."""
    directory = small("10m")

    def start(number, size):
        before = place.newest()["step"] if number > 1 else 0
        run = place.run(PYTHON, SAVER, "--pause", "0.5", "--keep", 1, "--size", size, options=QUICK, directory=place.path / f"machine-{number}")
        wait_for(f"a durable step behind {before}", lambda: place.snapshots() and place.newest()["step"] > before, process=run.process)
        run.kill()
        run.wait()

    start(1, 2_900_000)
    start(2, 1_900_000)
    fill(directory)
    start(3, 1_900_000)
    start(4, 1_900_000)


def without_room(directory):
    for room in directory.glob("runs/jobs/*/attempts/room"):
        room.unlink()
    fill(directory)


def preempt(run):
    """After a save of its own."""
    run.wait_for_output("saved 4")
    run.signal(signal.SIGTERM)
    return run.wait()


def test_a_start_without_that_room_runs_the_job(place, small):
    """Nothing can go: it goes on from what is there, says what helps, and ends with 74 each time."""
    directory = small("8m")
    assert place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=ALL).wait() == 0
    without_room(directory)
    for attempt in range(2):
        run = place.run(PYTHON, SAVER, "--pause", "0.3", options=(*ALL, "--grace", "5"), directory=place.path / f"machine-{attempt}")
        assert preempt(run) == EXIT_NOT_DURABLE, run
        assert "resumes 2" in run.out, run
        assert run.err.count(f"reprieve forget --job {place.job} --keep-last N") == 1, run
    # With room for it, each complete checkpoint claims.
    run = place.run(PYTHON, SAVER, "--pause", "0.3", options=ALL, directory=place.path / "last")
    run.wait_for_output("saved 4")
    os.remove(directory / "other")
    wait_for("a durable step behind 4", lambda: place.newest()["step"] > 4)
    run.kill()
    run.wait()
    assert place.verb("verify").code == 0


def test_what_cannot_be_recorded_ends_under_a_limit(place, small):
    directory = small("8m")
    assert place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=ALL).wait() == 0
    fill(directory)
    limit = (*ALL, "--grace", "5", "--max-no-progress", "100")
    recorded = place.run(PYTHON, SAVER, "--pause", "0.3", "--size", 300000, options=limit, directory=place.path / "recorded")
    assert preempt(recorded) == EXIT_NOT_DURABLE, recorded
    without_room(directory)
    refused = place.run(PYTHON, SAVER, "--pause", "0.3", options=limit, directory=place.path / "refused")
    assert refused.wait() == EXIT_NO_PROGRESS and "resumes" not in refused.out, refused
    assert f"reprieve forget --job {place.job} --keep-last N" in refused.err


def test_by_default_a_full_store_makes_room_for_a_start(place, small):
    """One that was filled by a run that kept all, to the last byte."""
    directory = small("8m")
    run = place.run(PYTHON, SAVER, "--steps", 14, "--size", "300000", "--pause", "0.4", options=ALL)
    assert run.wait() == 0 and len(place.snapshots()) > 11, run
    without_room(directory)
    run = place.run(PYTHON, SAVER, "--pause", "0.4", "--size", "300000", options=QUICK[:4], directory=place.path / "next")
    wait_for("a durable step behind 14", lambda: place.newest()["step"] > 14, process=run.process)
    run.kill()
    run.wait()
    assert "the store is full: removed" in run.err and "--keep-last 0" in run.err
    assert place.verb("verify").code == 0


def test_room_for_a_few_snapshots_is_enough(place, small):
    """Also where one half stays from save to save, and wherever it is restarted. A pack stays for as long as a layer in it is needed: how
    many layers share one is not the same each time, and of each of the last five saves a layer is needed still."""
    small(5 * 12 * 500_000)
    for attempt in range(3):
        directory = place.path / f"machine-{attempt}"
        directory.mkdir()
        run = place.run(PYTHON, "-c", HALF, directory, 6, options=QUICK, directory=directory)
        assert run.wait() == 0, run
        assert not run.events("snapshot_failed"), run
        assert place.newest()["step"] == 6 * (attempt + 1), run
    assert place.verb("verify").code == 0
