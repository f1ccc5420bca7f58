"""Jobs whose saves follow each other too closely for a pause between them."""
import signal

import pytest

from harness import EXIT_DURABLE, PYTHON, kill_quietly, wait_for

QUIET = ["--quiet-time", "60"]  # no pause on a slow machine is taken for the end of a save

# step-N.bin, one after the other, each written in two pieces; the last one stays half written. One of two, with a name of its own.
JOB = """
import os, sys, time
directory, last, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def write(path, half):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"%06d" % step * 1000)
        file.flush()
        if half:
            print("half", step, flush=True)
            time.sleep(1000)
        file.write(b"end")
for step in range(1, last + 1):
    write(f"{directory}/{name.replace('N', str(step))}", step == last)
    time.sleep(0.1)
"""


def whole(step):
    return b"%06d" % step * 1000 + b"end"


@pytest.mark.parametrize("name", ["step-N.bin", "checkpoint-N/model.bin"])
def test_the_newest_whole_one_is_taken_when_the_job_is_killed_in_the_next(place, name):
    run = place.run(PYTHON, "-c", JOB, place.directory, 6, name, options=QUIET)
    run.wait_for_output("half 6")
    kill_quietly(run.job_pid, signal.SIGKILL)
    assert run.wait() == 128 + signal.SIGKILL
    assert place.newest()["step"] == 5
    again = place.run(PYTHON, "-c", "pass", directory=place.path / "new")
    assert again.wait() == 0
    for step in range(1, 6):
        assert (place.path / "new" / name.replace("N", str(step))).read_bytes() == whole(step)
    assert not (place.path / "new" / name.replace("N", "6")).exists()


def test_and_when_it_is_ended_because_of_a_notice(place, tmp_path):
    notice = tmp_path / "notice"
    run = place.run(PYTHON, "-c", JOB, place.directory, 6, "step-N.bin", options=[*QUIET, "--notice", f"file:{notice}"])
    run.wait_for_output("half 6")
    notice.write_text('{"in_seconds": 15}')
    assert run.wait() == EXIT_DURABLE
    wait_for("durable", lambda: run.events("durable"))
    assert place.newest()["step"] == 5


def test_parts_of_one_checkpoint_are_not_taken_for_checkpoints(place):
    run = place.run(PYTHON, "-c", JOB, place.directory, 4, "part-N.bin", options=QUIET)
    run.wait_for_output("half 4")
    kill_quietly(run.job_pid, signal.SIGKILL)
    assert run.wait() == 128 + signal.SIGKILL
    assert place.newest() is None


# Each save is a new directory, in which a temporary file is renamed by a raw system call: at once, so that often nobody tells of it.
RAW_RENAMES = """
import ctypes, os, sys
libc, renames = ctypes.CDLL(None, use_errno=True), {"x86_64": 82, "aarch64": 276}[os.uname().machine]
def rename(old, new):
    if renames == 82:
        return libc.syscall(82, old.encode(), new.encode())
    return libc.syscall(276, -100, old.encode(), -100, new.encode(), 0)
for step in range(1, 41):
    folder = f"{sys.argv[1]}/checkpoint-{step}"
    os.makedirs(folder)
    with open(f"{folder}/.tmpa", "wb") as file:
        file.write(b"%d" % step)
    assert rename(f"{folder}/.tmpa", f"{folder}/model.bin") == 0
    with open(f"{folder}/last.bin", "wb") as file:
        file.write(b"%d" % step)
"""


def test_a_rename_that_nobody_tells_holds_nothing_up(place):
    run = place.run(PYTHON, "-c", RAW_RENAMES, place.directory)
    assert run.wait() == 0, run
    assert run.events("durable")[-1]["step"] == 40, run
    look = place.path / "look"
    place.verb("restore", "latest", look)
    assert (look / "checkpoint-40/model.bin").read_bytes() == b"40"
    assert not list(look.glob("*/.tmp*"))


# The first one waits for its temporary file to be renamed, longer than the second one takes to be complete. Which was begun first, only who
# has seen it can tell.
LATE = """
import os, sys, time
for step in (1, 2):
    folder = f"{sys.argv[1]}/checkpoint-{step}"
    os.makedirs(folder)
    for name in ("model.bin", "rest.tmp")[:3 - step]:
        open(f"{folder}/{name}", "w").close()
    while not os.path.exists("seen"): time.sleep(0.01)
time.sleep(1000)
"""


def test_an_older_checkpoint_that_is_decided_later_is_not_the_newest(place):
    run = place.run(PYTHON, "-c", LATE, place.directory, options=["--quiet-time", "0.2", "--snapshot-interval", "0"])
    run.wait_for_event("saving")
    (place.path / "seen").touch()
    run.wait_for_event("durable", 2)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    assert [event["step"] for event in run.events("durable")] == [2, 2], run
    assert [snapshot["step"] for snapshot in place.snapshots()] == [2, 2]
