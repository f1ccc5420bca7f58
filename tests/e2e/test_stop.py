"""How a job is told to end that cannot be asked for a checkpoint: after the save that is under way, and with time to hear it."""
import json
import os
import re
import signal
from pathlib import Path

import pytest
from harness import PYTHON, wait_for

GATED = str(Path(__file__).resolve().parent / "gated.py")
HELD = "SIGTERM is forwarded when it completes"


def begin(place, step):
    (place.path / f"begin-{step}").touch()


def go(place, step):
    (place.path / f"go-{step}").touch()


def start(place, *arguments, options=(), quiet="0.3"):
    """With one checkpoint that is durable."""
    begin(place, 1)
    go(place, 1)
    run = place.run(PYTHON, GATED, *arguments, options=("--quiet-time", quiet, "--grace", "60", *options))
    run.wait_for_event("durable")
    return run


def start_saving(place, *arguments, options=()):
    """And in the midst of the second one."""
    run = start(place, *arguments, options=options)
    begin(place, 2)
    run.wait_for_output("saving 2\n")
    run.wait_for_event("saving", 2)
    return run


def wait_until_held(run):
    wait_for("SIGTERM is kept", lambda: HELD in run.err, process=run.process)


def loss(place, run):
    return wait_for("what would be lost", lambda: place.query("status", "--job", place.job, "--json").json["jobs"][0]["loss"],
                    process=run.process)


@pytest.mark.parametrize("options", [(), ("--checkpoint-signal", "none")])
def test_a_save_under_way_is_waited_for(place, options):
    run = start_saving(place, "2", options=options)
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    assert "forwarding" not in run.err
    go(place, 2)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 2, run
    assert "wait for the save in progress" in run.event("plan")["text"]
    assert "forwarding SIGTERM" in run.err and run.event("stopping") is None


def test_a_save_that_is_not_yet_known_to_be_complete_is_waited_for(place):
    run = start(place, "2", quiet="3")
    begin(place, 2)
    go(place, 2)
    run.wait_for_output("saved 2\n")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 2, run


def test_a_job_that_saves_nothing_just_now_is_told_at_once(place):
    run = start(place, "1")
    assert "announced" not in loss(place, run)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert HELD not in run.err and "forwarding SIGTERM" in run.err
    assert run.event("plan")["text"] == "plan: rely on the newest durable checkpoint: the job cannot be asked for a fresh one"


def test_a_job_that_handles_sigterm_is_asked_at_once(place):
    run = start_saving(place, "2", "--handler")
    assert "if it came without a notice" in loss(place, run)
    run.signal(signal.SIGTERM)
    run.wait_for_output("told to end\n")
    run.wait()
    assert HELD not in run.err
    assert "plan: a fresh checkpoint" in run.event("plan")["text"]


def test_a_second_sigterm_is_passed_on_at_once(place):
    run = start_saving(place, "2")
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 1
    assert run.event("stopping") is None, run
    assert run.event("child_exited")["signal"] == "SIGTERM"


def test_a_save_that_breaks_off_is_waited_for_no_longer(place):
    run = start_saving(place, "2", "--fork")
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    os.kill(int(re.search(r"(?s)writer.*writer (\d+)", run.out)[1]), signal.SIGKILL)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 1
    assert run.event("stopping") is None, run


def test_a_save_that_does_not_end_is_waited_for_as_long_as_there_is_time(place):
    run = start_saving(place, "2", options=("--grace", "5"))
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert HELD in run.err and run.event("stopping")["signal"] == "TERM"
    assert place.newest()["step"] == 1


def test_a_job_that_ends_by_itself_while_it_is_waited_for_was_told_nothing(place):
    run = start_saving(place, "2", "--exit")
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    go(place, 2)
    assert run.wait() == 0, run
    assert run.event("ended")["outcome"] == "finished"
    assert place.newest()["step"] == 2
    assert "forwarding" not in run.err


def test_who_is_told_to_end_in_the_midst_of_a_save_has_time_to_hear_it(place, tmp_path):
    notice = tmp_path / "notice"
    run = start_saving(place, "2", "--handler", options=("--checkpoint-signal", "none", "--notice", f"file:{notice}"))
    notice.write_text(json.dumps({"reason": "short", "in_seconds": 24}))
    assert run.wait() == 75, run
    assert "has cleaned up\n" in run.out, run
    assert [event["signal"] for event in run.events("stopping")] == ["TERM"]
    assert "has not exited" not in run.err
