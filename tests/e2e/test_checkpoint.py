"""Clients of `reprieve checkpoint`: who is answered when, and who is refused."""
import json
from pathlib import Path

from harness import PYTHON, one_line

TRAINER = str(Path(__file__).resolve().parent / "trainer.py")
# Far longer than any test may take: nothing that the job writes becomes complete, so that nobody who waits for it is answered.
NEVER_QUIET = ("--quiet-time", "600s", "--shim", "off", "--checkpoint-signal", "USR1")


def start(place, options):
    run = place.run(PYTHON, "-u", TRAINER, "--dir", place.directory, "--signal", "USR1", "--steps", "100000", options=options)
    run.wait_for_output("step 5\n")
    return run


def events(result):
    return [json.loads(line) for line in result.out.splitlines()]


def test_who_does_not_wait_is_answered_once_the_job_is_asked(place):
    run = start(place, NEVER_QUIET)
    result = place.query("checkpoint", "--pid", run.pid, "--no-wait", "--json")
    assert result.code == 0, (result, run)
    [asked] = events(result)
    assert asked["event"] == "asked" and asked["pids"] == run.event("asked")["pids"]
    # The request is still out: the next one is served by it, and answered without another signal.
    again = place.query("checkpoint", "--pid", run.pid, "--no-wait")
    assert (again.code, again.out) == (0, "asked\n"), (again, run)
    assert len(run.events("asked")) == 1
    assert place.query("checkpoint", "--pid", run.pid, "--timeout", "1s").code == 1


def test_who_does_not_wait_leaves_the_others_their_answer(place):
    run = start(place, ("--quiet-time", "150ms", "--checkpoint-signal", "USR1"))
    assert place.query("checkpoint", "--pid", run.pid, "--no-wait").code == 0
    waited = place.query("checkpoint", "--pid", run.pid, "--json")
    assert waited.code == 0 and events(waited)[-1]["event"] == "durable", (waited, run)
    assert run.process.poll() is None


def test_a_job_that_would_end_of_it_is_not_asked(place):
    """submitit's own handler saves and ends; the client has to hear that, and not wait for ever."""
    run = start(place, ("--quiet-time", "150ms", "--profile", "submitit"))
    for wait in ((), ("--no-wait",)):
        refused = place.query("checkpoint", "--pid", run.pid, *wait)
        assert refused.code == 1 and "saves and ends when it is asked" in one_line(refused), (refused, run)
    assert run.events("asked") == []
    assert run.process.poll() is None
