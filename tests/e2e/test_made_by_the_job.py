"""The checkpoint directory is the job's to make: one that refuses a directory that exists starts as it does without us, and what it
writes at once is seen. Only a restore makes it. What another job has left in it is named."""
import subprocess

import pytest

from harness import EXIT_CONFIGURATION, PYTHON, one_line

# Refuses an output directory that exists, unless there is a checkpoint in it. ARGUMENTS: directory, way of making it.
TRAIN = """
import os, shutil, sys
directory, way = sys.argv[1:]
found = sorted(os.listdir(directory)) if os.path.isdir(directory) else None
if found is not None and not any(name.startswith("step_") for name in found) and way != "again":
    sys.exit("it exists: %s" % found)
print("found", found, flush=True)
def save(directory, step):
    with open("%s/step_%d.bin" % (directory, step), "wb") as file:
        file.write(b"x" * 1000)
if way == "again":
    shutil.rmtree(directory, ignore_errors=True)
if way == "renamed":
    os.makedirs(directory + ".new")
    save(directory + ".new", 1)
    os.rename(directory + ".new", directory)
else:
    os.makedirs(directory, exist_ok=True)
    save(directory, 1)
"""

BEFORE = {  # shell in the working directory
    "nothing is there": ":",
    "it is there": "mkdir -p out/train",
    "it has a log": "mkdir -p out/train && touch out/train/train.log",
    "its parent is there": "mkdir out",
    "it is a link": "mkdir real out && ln -s ../real out/train",
    "its parent is a link": "mkdir real && ln -s real out",
}


def train(place, cwd, way="made", directory="out/train", wrapped=True, options=()):
    command = [PYTHON, "-c", TRAIN, directory, way]
    if wrapped:
        command = ["run", "--store", place.store, "--job", place.job, "-c", directory, *options, "--", *command]
        place.path, old = cwd, place.path
        try:
            return place.query(*command)
        finally:
            place.path = old
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize("before", BEFORE)
def test_a_job_that_refuses_a_directory_ends_as_without_us(place, before):
    ends = []
    for wrapped in (False, True):
        cwd = place.path / f"wrapped-{wrapped}"
        cwd.mkdir()
        subprocess.run(["sh", "-c", BEFORE[before]], cwd=cwd, check=True)
        starts = [train(place, cwd, wrapped=wrapped) for _ in range(2)]
        ends.append([(run.returncode if not wrapped else run.code, (run.stdout if not wrapped else run.out)) for run in starts])
        listed = sorted(path.name for path in (cwd / "out/train").iterdir())
        ends[-1].append([name for name in listed if name != ".reprieve"])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("shim", ["on", "off"])
@pytest.mark.parametrize("way", ["made", "renamed", "again"])
def test_what_is_written_at_once_is_saved(place, way, shim):
    first = train(place, place.path, way, options=("--shim", shim))
    assert first.code == 0 and place.newest()["step"] == 1, first
    # On the next machine it is put into place, and found.
    machine = place.path / "machine"
    machine.mkdir()
    second = train(place, machine, way, options=("--shim", shim))
    assert "found ['step_1.bin']" in second.out, second


def test_a_directory_that_is_never_made_leaves_nothing_behind(place):
    assert place.query("run", "--store", place.store, "-c", "out/train", "--", "true").code == 0
    assert list((place.path / "out").iterdir()) == []


@pytest.mark.parametrize("before, directory", [("touch file", "file"), ("touch file", "file/train"), (":", "/proc/train")])
def test_one_that_cannot_be_made_is_refused(place, before, directory):
    subprocess.run(["sh", "-c", before], cwd=place.path, check=True)
    refused = place.query("run", "--store", place.store, "-c", directory, "--", "true")
    assert refused.code == EXIT_CONFIGURATION and directory in one_line(refused.err), refused


def test_the_files_of_another_job_are_named(place):
    said = {}
    for number, job in enumerate("aabba"):
        place.job = job
        run = train(place, place.path)
        assert run.code == 0, run
        said[number] = [line for line in run.err.splitlines() if "held files of job" in line]
    assert [len(said[number]) for number in range(5)] == [0, 0, 1, 0, 1]
    assert "of job a: they stay, this job finds them" in said[2][0] and "of job b" in said[4][0], said
    assert (place.path / "out/train/step_1.bin").exists()


def test_a_restore_into_the_files_of_another_job_names_it(place):
    machine = place.path / "machine"
    machine.mkdir()
    for place.job, cwd in ("mine", machine), ("other", place.path):
        assert train(place, cwd).code == 0
    (place.path / "out/train/step_7.bin").write_bytes(b"y" * 1000)
    place.job = "mine"
    back = train(place, place.path)
    named = [line for line in back.err.splitlines() if "held files of job other" in line]
    kept = (place.path / "out/train/step_7.bin").exists()
    assert back.code == 0 and len(named) == 1 and ("they stay" in named[0]) == kept, back
    assert kept or "found ['step_1.bin']" in back.out, back
