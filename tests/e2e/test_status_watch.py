"""`reprieve status --watch`: on a terminal a picture that is drawn over, in a pipe a line for each change; and how it ends."""
import json
import os
import random
import re
import signal
import subprocess

import pytest

from harness import EXIT_DURABLE, PYTHON, REPRIEVE, SAVER, wait_for
from screen import Terminal

OFTEN = ("--quiet-time", "100ms", "--snapshot-interval", "0")


@pytest.fixture
def place(place):
    """With a name of its own for the job: others run here at the same time, perhaps under this user."""
    place.job = f"job-{os.getpid()}-{random.randrange(10**9)}"
    return place


@pytest.fixture
def terminals():
    terminals = []
    yield terminals
    for terminal in terminals:
        terminal.end()


def start(place, steps=10**6, pause="0.2", **how):
    run = place.run(PYTHON, SAVER, "--steps", steps, "--pause", pause, options=OFTEN, **how)
    run.wait_for_event("durable")
    return run


def watch(place, terminals, *options, **how):
    terminal = Terminal([REPRIEVE, "status", "--watch", "--job", place.job, *options], place.path, place.environment, **how)
    terminals.append(terminal)
    return terminal


def in_pipe(place, *options):
    return subprocess.Popen([REPRIEVE, "status", "--watch", "--job", place.job, *options], env=place.environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def test_a_picture_that_is_drawn_over(place, terminals):
    run = start(place)
    view = watch(place, terminals, columns=120)
    view.wait_for(rf"\A{place.job}: running, attempt 1, pid {run.job_pid} \(supervisor {run.pid}\)$")
    for row in ("store     file:///", "durable   000001-", "at risk   a preemption now would lose", "plan      at a notice: ",
                "notices   SIGTERM alone"):
        view.wait_for("^  " + row)
    durable = r"durable   000001-\d+, step \d+"
    wait_for("another picture", lambda: len(view.all(durable)) > 1, process=view.process)
    assert view.text.count(f"{place.job}: running") == 1, view.text
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE
    assert view.wait() == EXIT_DURABLE, view.text
    newest = place.newest()
    assert view.text == f"{place.job} has ended: preempted (exit 75); durable: {newest['id']}, step {newest['step']}"


def test_a_line_for_each_change_in_a_pipe(place):
    run = start(place)
    view = in_pipe(place)
    first = view.stdout.readline()
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ {place.job}: running, attempt 1; durable: 000001-\d+, step \d+.*\n", first), first
    run.signal(signal.SIGTERM)
    run.wait()
    lines = [first, *view.communicate(timeout=60)[0].splitlines(keepends=True)]
    assert view.returncode == EXIT_DURABLE
    assert all(re.match(r"[-0-9T:]+Z job-", line) and "\x1b" not in line for line in lines), lines
    said = [line.split(" ", 1)[1] for line in lines]
    assert all(one != other for one, other in zip(said, said[1:])), lines
    assert re.match(rf"{place.job} has ended: preempted \(exit 75\); durable: ", said[-1]), lines


def test_several_runs_and_a_new_one(place, terminals):
    """One ends well, one is killed, and its supervisor with it: the first that did not end with 0 counts."""
    one = start(place, steps=20)
    view = watch(place, terminals, columns=120)
    view.wait_for(rf"^{place.job}: running, .* \(supervisor {one.pid}\)")
    two = start(place, directory=place.path / "two", store=f"file://{place.path}/other")
    view.wait_for(rf"^{place.job}: running, .* \(supervisor {two.pid}\)")
    assert one.wait() == 0
    view.wait_for(rf"^{place.job} has ended: finished \(exit 0\); durable: 000001-.*\n{place.job}: running, .* \(supervisor {two.pid}\)")
    two.kill()
    assert view.wait() == 1, view.text
    assert re.fullmatch(rf"{place.job} has ended: finished .*\n{place.job} has ended: its supervisor was killed.*", view.text), view.text


def test_the_outcome_as_json(place):
    run = start(place)
    view = in_pipe(place, "--json")
    assert json.loads(view.stdout.readline())["jobs"][0]["plan"].startswith("plan: ")
    run.signal(signal.SIGTERM)
    run.wait()
    last = view.communicate(timeout=60)[0].splitlines()[-1]
    [ended] = json.loads(last)["ended"]
    assert (ended["job"], ended["outcome"], ended["exit_code"]) == (place.job, "preempted", EXIT_DURABLE)
    assert ended["durable"].startswith(place.newest()["id"])


def test_nothing_runs(place):
    view = in_pipe(place)
    assert "no such job is running" in view.communicate(timeout=60)[0]
    assert view.returncode == 69
