"""A new attempt that starts while the one before it still saves waits for that save, instead of taking over."""
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, ROOT, Place, wait_for

sys.path.insert(0, str(ROOT / "tests" / "fakes"))
from fault_server import FaultServer  # noqa: E402

OPTIONS = ("--quiet-time", "100ms", "--checkpoint-signal", "TERM")
LONG = "100"

# Saves when it is told to, and is through with that once the gate is there. Or ends when it is let go.
JOB = """
import os, signal, sys, time
directory, gate, leave = os.environ["REPRIEVE_CHECKPOINT_DIR"], *sys.argv[1:]
steps = [int(name[5:]) for name in os.listdir(directory) if name.startswith("step-")] if os.path.isdir(directory) else []
asked = []
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
step = max(steps, default=0)
print("resumes", step, flush=True)
while not asked and not os.path.exists(leave):
    time.sleep(0.02)
if asked:
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/step-{step + 1}", "w") as file:
        print("saves", flush=True)
        while not os.path.exists(gate):
            time.sleep(0.02)
        file.write("whole")
"""


class Story:
    """Machines of one job, one after the other."""

    def __init__(self, place, objects):
        self.place, self.objects = place, objects
        self.gate, self.leave = place.path / "gate", place.path / "leave"

    def machine(self, name, *options, grace=LONG, directory=None):
        return self.place.run(PYTHON, "-c", JOB, self.gate, self.leave, name=name, directory=directory or self.place.path / name,
                              options=(*OPTIONS, "--grace", grace, *options))

    def words(self, attempt):
        """What the attempt has said of its time so far."""
        found = [self.objects()[key] for key in sorted(self.objects()) if f"/draining/{attempt:06}-" in key]
        return [json.loads(content.split(b"\n", 1)[1]) for content in found]

    def saving(self, *options, **more):
        """A first machine that was told to end, is saving, and has said so."""
        run = self.machine("first", *options, **more)
        run.wait_for_output("resumes 0")
        run.signal(signal.SIGTERM)
        run.wait_for_output("saves")
        wait_for("it says so", lambda: self.words(1), process=run.process)
        return run

    def waiting(self, *options, **more):
        """A second one that waits for it."""
        run = self.machine("second", *options, **more)
        wait_for("it waits", lambda: "waiting for its end" in run.err, process=run.process)
        return run

    def finish(self, run, code=0):
        self.leave.touch()
        assert run.wait() == code, run


@pytest.fixture
def story(place):
    return Story(place, lambda: {str(path.relative_to(place.store_path)): path.read_bytes() for path in place.store_path.rglob("*.json")})


@pytest.fixture(params=["file", "s3"])
def any_story(request, tmp_path):
    if request.param == "file":
        yield request.getfixturevalue("story")
        return
    server = FaultServer()
    server.memory.buckets["snaps"] = {}
    place = Place(tmp_path, store="s3://snaps/team", environment={**server.environment, "REPRIEVE_S3_CHECKSUM": "off"})
    yield Story(place, lambda: dict(server.memory.buckets["snaps"]))
    place.end()
    server.close()


def test_it_goes_on_from_the_save_that_it_waited_for(any_story):
    first = any_story.saving()
    second = any_story.waiting()
    line = next(line for line in second.err.splitlines() if "waiting for its end" in line)
    assert "attempt 1 on " in line and "Ctrl-C" in line
    any_story.gate.touch()
    assert first.wait() == EXIT_DURABLE, first
    second.wait_for_output("resumes 1")
    waited = second.event("predecessor_waited")
    assert waited["attempt"] == 1 and waited["ended"] is True and waited["host"]
    assert second.event("restored")["id"] == first.event("ended")["durable"] == "000001-000001"
    any_story.finish(second)
    assert "taken over" not in first.err and "superseded" not in first.err


def test_also_one_on_the_same_machine_in_the_same_directory(story):
    """A requeue may bring it back to where it was before it has left."""
    here = story.place.directory
    first = story.saving(directory=here)
    second = story.waiting(directory=here)
    story.gate.touch()
    assert first.wait() == EXIT_DURABLE, first
    second.wait_for_output("resumes 1")
    story.finish(second)


def test_also_one_that_begins_afresh(story):
    """Its claim would end the save as well, and somebody may want that back."""
    first = story.saving()
    second = story.waiting("--restore", "none")
    story.gate.touch()
    assert first.wait() == EXIT_DURABLE, first
    second.wait_for_output("resumes 0")
    story.finish(second)
    assert {snapshot["id"] for snapshot in story.place.snapshots()} == {"000001-000001"}


def test_what_the_other_one_has_added_counts(story):
    """What earlier attempts mean for this one is asked after the wait."""
    first = story.saving()
    second = story.waiting("--max-no-progress", "1")
    story.gate.touch()
    assert first.wait() == EXIT_DURABLE, first
    second.wait_for_output("resumes 1")
    story.finish(second)


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, EXIT_NOT_DURABLE), (signal.SIGINT, 128 + signal.SIGINT)])
def test_a_signal_ends_the_wait(any_story, number, code):
    any_story.saving().kill()
    second = any_story.waiting(grace="1")
    second.signal(number)
    assert second.wait() == code, second
    assert "resumes" not in second.out and second.event("claimed") is None
    assert not [key for key in any_story.objects() if "attempts/000002" in key]


def test_who_died_without_a_notice_is_not_waited_for(any_story):
    first = any_story.machine("first")
    first.wait_for_output("resumes 0")
    first.kill()
    second = any_story.machine("second")
    second.wait_for_output("resumes 0")
    any_story.finish(second)
    assert "waiting" not in second.err and second.event("predecessor_waited") is None


def test_whose_time_was_over_before_is_not_waited_for(story):
    story.saving().kill()
    word = next(Path(story.place.store_path).glob("jobs/*/draining/*"))
    past = time.time() - 1000
    os.utime(word, (past, past))
    second = story.machine("second")
    second.wait_for_output("resumes 0")
    story.finish(second)
    assert "waiting" not in second.err


def test_who_dies_of_its_notice_is_waited_for_until_its_time_is_over(story):
    story.saving(grace="3").kill()
    second = story.machine("second")
    second.wait_for_output("resumes 0")
    story.finish(second)
    waited = second.event("predecessor_waited")
    assert waited is None or not waited["ended"] and "ended without a final record" in second.err


def test_who_saves_for_long_says_so_again(story):
    first = story.saving()
    wait_for("a second word", lambda: len(story.words(1)) >= 2, process=first.process)
    once, again = story.words(1)[:2]
    assert again["left_ms"] < once["left_ms"] and first.event("ended") is None
    story.gate.touch()
    assert first.wait() == EXIT_DURABLE, first


def test_who_is_silent_is_not_waited_for_to_the_end_of_its_time(story):
    """Killed in the midst of a notice of many minutes."""
    story.saving(grace="3000").kill()
    second = story.machine("second")
    second.wait_for_output("resumes 0")
    story.finish(second)
    assert "ended without a final record" in second.err and not second.event("predecessor_waited")["ended"]


def test_a_notice_that_is_withdrawn_ends_the_wait(story):
    notice = story.place.path / "notice"
    first = story.machine("first", "--notice", f"file:{notice}", "--checkpoint-signal", "USR1")
    first.wait_for_output("resumes 0")
    notice.write_text('{"in_seconds": 900}')
    wait_for("it says so", lambda: story.words(1), process=first.process)
    second = story.waiting("--take-over")
    notice.unlink()
    second.wait_for_output("resumes 0")
    assert story.words(1)[-1]["left_ms"] is None
    story.finish(second)


def test_each_deadline_is_said(story):
    first = story.saving("--notice", f"file:{story.place.path / 'notice'}")
    (story.place.path / "notice").write_text('{"in_seconds": 40}')
    wait_for("a nearer one", lambda: story.words(1)[-1]["left_ms"] <= 40000, process=first.process)
    far, near = story.words(1)[0], story.words(1)[-1]
    assert 40000 < far["left_ms"] <= 100000
    assert far["until"] > near["until"] and far["host"] == near["host"]
    story.gate.touch()
    assert first.wait() == EXIT_DURABLE, first


def test_a_store_that_takes_no_word_delays_nothing(tmp_path):
    """The save is durable all the same."""
    server = FaultServer({"rules": [{"on": {"method": "PUT", "key": "/draining/"}, "answer": {"delay": 3600}}]})
    server.memory.buckets["snaps"] = {}
    place = Place(tmp_path, store="s3://snaps/team", environment={**server.environment, "REPRIEVE_S3_CHECKSUM": "off"})
    try:
        story = Story(place, lambda: dict(server.memory.buckets["snaps"]))
        story.gate.touch()
        first = story.machine("first")
        first.wait_for_output("resumes 0")
        first.signal(signal.SIGTERM)
        assert first.wait() == EXIT_DURABLE, first
        assert first.event("ended")["durable"] == "000001-000001" and server.rules[0].used
    finally:
        place.end()
        server.close()
