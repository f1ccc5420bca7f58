"""The job and its supervisor are killed in one instant, and the supervisor had not yet read what the job had done last: here it stands
still (SIGSTOP) while the job goes on. The next start reads it."""
import pickle
import signal
from pathlib import Path

import pytest

from harness import PYTHON, Place, wait_for
from test_quarantine import listing, quarantined

JOB = """
import os, pickle, sys, time

def content(step):
    return pickle.dumps({"step": step, "weights": b"1" * 200000}, protocol=4)

def begin(name, step):
    if os.path.dirname(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    file = open(name, "wb", buffering=0)
    file.write(content(step)[:100000])
    return file

def put(name, step):
    with begin(name, step) as file:
        file.write(content(step)[100000:])

def place(name, step):
    put(name + ".tmp", step)
    os.rename(name + ".tmp", name)

os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for number, part in enumerate(sys.argv[3:]):
    while number and not os.path.exists(sys.argv[2] + str(number)):
        time.sleep(0.01)
    exec(part)
    print("part", number, flush=True)
time.sleep(1000)
"""

PAIR = ["put('model.pkl', {0}); put('opt.pkl', {0})"]
PLACED = ["place('model.pkl', {0}); place('opt.pkl', {0})"]
TREE = ["put('step_{0}/model.pkl', {0}); put('step_{0}/opt.pkl', {0})"]

# Saves that are durable; what is not read; what the job finds then: each file's step.
CASES = {
    "torn": (["put('last.pkl', {0})"], "held = begin('last.pkl', 3)", {"last.pkl": 2}),
    "half-of-a-pair": (PAIR, "put('model.pkl', 3)", {"model.pkl": 2, "opt.pkl": 2}),
    "one-of-two-renames": (PLACED, "put('model.pkl.tmp', 3); place('model.pkl', 3)", {"model.pkl": 2, "opt.pkl": 2}),
    "half-a-directory": (TREE, "put('step_3/model.pkl', 3)", {"step_1": 1, "step_2": 2}),
    "a-whole-pair": (PAIR, "put('model.pkl', 3); put('opt.pkl', 3)", {"model.pkl": 3, "opt.pkl": 3}),
    "a-whole-directory": (TREE, "put('step_3/model.pkl', 3); put('step_3/opt.pkl', 3)", {"step_1": 1, "step_2": 2, "step_3": 3}),
    "a-file-before-its-close": (["put('last.pkl', {0})"], "held = begin('last.pkl', 3); held.write(content(3)[100000:])", {"last.pkl": 3}),
}


def run_until_killed(place, parts, unread):
    """The parts are durable one by one; of `unread`, the supervisor reads nothing."""
    run = place.run(PYTHON, "-c", JOB, place.directory, place.path / "go", *parts, unread, options=("--snapshot-interval", "0"))
    for number in range(len(parts)):
        wait_for(f"save {number + 1} is durable", lambda: len(run.events("durable")) > number, process=run.process)
        if number == len(parts) - 1:
            run.signal(signal.SIGSTOP)
        (place.path / f"go{number + 1}").touch()
    run.wait_for_output(f"part {len(parts)}")
    run.kill()


def steps(place):
    """Of each file, or of all in one directory."""
    found = {}
    for path in place.directory.rglob("*.*"):
        if path.is_file():
            name = path.relative_to(place.directory).parts[0]
            step = pickle.loads(path.read_bytes())["step"]
            assert found.setdefault(name, step) == step
    return found


@pytest.mark.parametrize("case", CASES)
def test_what_was_not_read_is_read_at_the_next_start(place, case):
    saves, unread, expected = CASES[case]
    run_until_killed(place, [save.format(step) for step in (1, 2) for save in saves], unread)
    again = listing(place)
    assert again.code == 0 and steps(place) == expected, again


def test_the_first_save_of_a_later_attempt_stays_if_it_was_closed(place):
    run_until_killed(place, ["put('last.pkl', 1)", "put('last.pkl', 2)"], "pass")
    for path in place.path.glob("go*"):
        path.unlink()
    run = place.run(PYTHON, "-c", JOB, place.directory, place.path / "go", "pass", "put('last.pkl', 3)", name="later")
    run.wait_for_output("part 0")
    run.signal(signal.SIGSTOP)
    (place.path / "go1").touch()
    run.wait_for_output("part 1")
    run.kill()
    again = listing(place)
    assert again.code == 0 and steps(place) == {"last.pkl": 3} and quarantined(place) == [], again


def test_what_is_copied_in_by_hand_afterwards_stays(place):
    """Half of what a save has had so far, and one with a name that the job was writing."""
    run_until_killed(place, [TREE[0].format(1), TREE[0].format(2)], "put('step_3/model.pkl', 3)")
    (place.directory / "step_9").mkdir()
    (place.directory / "step_9" / "model.pkl").write_bytes(pickle.dumps({"step": 9}))
    again = listing(place)
    assert again.code == 0 and steps(place) == {"step_1": 1, "step_2": 2, "step_9": 9}, again
    # What was moved aside has gone with the next durable one.
    assert quarantined(place) == [], again


def test_of_jobs_that_were_killed_together_each_start_reads_its_own(place, tmp_path):
    """They share a runtime directory. What one of them has left is still there after a start of another one."""
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other", environment={})
    other.environment["XDG_RUNTIME_DIR"] = place.runtime
    try:
        for one in (place, other):
            run_until_killed(one, [PAIR[0].format(step) for step in (1, 2)], "put('model.pkl', 3)")
        for one in (other, place):
            again = listing(one)
            assert again.code == 0 and steps(one) == {"model.pkl": 2, "opt.pkl": 2}, again
            assert quarantined(one) == ["model.pkl"], again
    finally:
        other.end()
    assert [path.name for path in Path(place.runtime, "reprieve").iterdir()] == [".starts"]
