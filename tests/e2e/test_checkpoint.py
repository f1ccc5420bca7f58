"""Clients of `reprieve checkpoint`: who is answered when, and who is refused."""
import fcntl
import json
import shutil
import socket
import threading
from pathlib import Path

import pytest
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
        assert refused.code == 1 and "saves and exits when it is asked" in one_line(refused), (refused, run)
    assert run.events("asked") == []
    assert run.process.poll() is None


def test_either_process_id_finds_the_job(place):
    run = start(place, NEVER_QUIET)
    # Of all jobs here: other tests may run some at the same time.
    jobs = {job["supervisor_pid"]: job["pid"] for job in place.query("status", "--json").json["jobs"]}
    assert jobs[run.pid] == run.job_pid, run
    assert f"pid {run.job_pid} (supervisor {run.pid})" in place.query("status").out
    for pid in (run.job_pid, run.pid):
        assert place.query("checkpoint", "--pid", pid, "--no-wait").code == 0, run
    assert place.query("checkpoint", "--pid", 2**31 - 1, "--no-wait").code == 69


@pytest.fixture
def silent(place):
    """A supervisor that hangs up on whoever asks; `silent.ends`: and is gone then."""
    class Silent(threading.Thread):
        ends = True

        def run(self):
            while not self.stopping:
                try:
                    client, _ = self.listener.accept()
                except TimeoutError:
                    continue
                client.recv(4096)
                if self.ends:
                    shutil.rmtree(self.directory)
                    self.lock.close()
                client.close()

    silent = Silent(daemon=True)
    silent.stopping = False
    above = Path(place.runtime) / "reprieve"
    above.mkdir(mode=0o700)
    silent.directory = above / "1-00000000"
    silent.directory.mkdir()
    (silent.directory / "job").write_text("leaving")
    silent.lock = open(silent.directory / "lock", "w")
    fcntl.flock(silent.lock, fcntl.LOCK_EX)
    silent.listener = socket.socket(socket.AF_UNIX)
    silent.listener.settimeout(0.1)
    silent.listener.bind(str(silent.directory / "control.sock"))
    silent.listener.listen()
    silent.start()
    yield silent
    silent.stopping = True
    silent.join()
    silent.listener.close()
    silent.lock.close()


def test_a_supervisor_that_ends_meanwhile_is_none_that_runs(place, silent):
    result = place.query("status", "--job", "leaving")
    assert result.code == 69 and "no such job is running" in one_line(result), result


def test_a_supervisor_that_does_not_answer_is_said(place, silent):
    silent.ends = False
    result = place.query("status", "--job", "leaving")
    assert result.code == 1 and "leaving (pid 1)" in one_line(result), result
