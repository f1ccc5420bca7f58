"""A store on a disk that is full: a start has room for its claim, and what is dead in packs goes."""
import os
import subprocess

import pytest
from harness import EXIT_OURS, PYTHON, SAVER, wait_for

QUICK = ("--quiet-time", "150ms", "--snapshot-interval", "0", "--keep-last", "1")

# One layer after another stays as it is.
LAYERS = """
import os, random, shutil, sys, time
for step in range(1, 13):
    os.makedirs(f"{sys.argv[1]}/step-{step}")
    for layer in range(1, 11):
        with open(f"{sys.argv[1]}/step-{step}/layer-{layer}", "wb") as file:
            file.write(random.Random(1000 * layer + min(step, layer)).randbytes(100_000))
    shutil.rmtree(f"{sys.argv[1]}/step-{step - 1}", ignore_errors=True)
    time.sleep(0.6)
"""


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
    run = place.run(PYTHON, SAVER, options=(*QUICK, "--rerun"))
    run.wait_for_output("resumes 2")
    assert place.newest()["id"] == before
    # Nothing was durable; with room it is.
    os.remove(directory / "other")
    wait_for("a durable step behind 2", lambda: place.newest()["step"] > 2)
    run.kill()
    run.wait()
    assert place.verb("verify").code == 0


def test_a_start_without_that_room_says_what_makes_some(place, small):
    directory = small("8m")
    assert place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=QUICK).wait() == 0
    (room,) = directory.glob("runs/jobs/*/attempts/room")
    room.unlink()
    fill(directory)
    run = place.run(PYTHON, SAVER, options=(*QUICK, "--rerun"))
    assert run.wait() == EXIT_OURS and "resumes" not in run.out, run
    assert "to make room" in run.err


def test_what_a_snapshot_keeps_of_dead_packs_goes(place):
    """The packs were five times what the snapshot needs."""
    assert place.run(PYTHON, "-c", LAYERS, place.directory, options=QUICK).wait() == 0
    snapshot = place.newest()
    assert snapshot["step"] == 12
    assert snapshot["bytes_alone"] < 2 * snapshot["bytes"], snapshot
    assert place.verb("verify").code == 0


def test_room_for_two_snapshots_is_enough(place, small):
    """Old and new side by side, and a little: what changes, and where it is restarted, makes no difference."""
    small(int(2.1 * 12 * 500_000))
    for attempt in range(3):
        directory = place.path / f"machine-{attempt}"
        directory.mkdir()
        run = place.run(PYTHON, "-c", HALF, directory, 6, options=(*QUICK, "--rerun"), directory=directory)
        assert run.wait() == 0, run
        assert not run.events("snapshot_failed"), run
        assert place.newest()["step"] == 6 * (attempt + 1), run
    assert place.verb("verify").code == 0
