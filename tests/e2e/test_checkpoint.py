"""Clients of `reprieve checkpoint`: who is answered when, and who is refused."""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from harness import EXIT_DURABLE, LIMIT, PYTHON, REPRIEVE, one_line, wait_for

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


class Client:
    """`reprieve checkpoint --json` beside the test."""

    def __init__(self, place, run, *options):
        self.process = subprocess.Popen([REPRIEVE, "checkpoint", "--pid", str(run.pid), "--json", *options], cwd=place.path,
                                        env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self):
        try:
            out, self.err = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.code, self.events = self.process.returncode, [json.loads(line) for line in out.splitlines()]
        return self

    def __repr__(self):
        return f"exit {self.code} {self.events} {self.err}"


# Says "asked N" and saves step N when it comes; the save ends when the file go-N is there. Saves nothing else.
STEPPED = """
import os, pathlib, signal, time
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
step = 0
while True:
    time.sleep(0.01)
    if asked:
        del asked[0]
        step += 1
        path = top / f"step_{step}"
        path.mkdir(parents=True)
        with open(path / "weights.bin", "wb") as file:
            file.write(os.urandom(SIZE))
            file.flush()
            print(f"saving {step}", flush=True)
            while not pathlib.Path(f"go-{step}").exists():
                time.sleep(0.01)
        print(f"saved {step}", flush=True)
"""


def stepped(place, *options, size=1000):
    run = place.run(PYTHON, "-u", "-c", STEPPED.replace("SIZE", str(size)),
                    options=("--checkpoint-signal", "USR1", "--quiet-time", "150ms", *options))
    run.wait_for_output("ready\n")
    return run


def go(place, *steps):
    for step in steps:
        (place.path / f"go-{step}").touch()


def step_of(place, snapshot):
    return next(known["step"] for known in place.snapshots() if known["id"] == snapshot)


def test_a_request_is_answered_although_a_notice_comes_during_its_save(place):
    notice = place.path / "notice"
    run = stepped(place, "--notice", f"file:{notice}")
    client = Client(place, run)
    run.wait_for_output("saving 1\n")
    notice.write_text('{"action": "terminate", "seconds": 60}')
    run.wait_for_event("notice")
    go(place, 1, 2)
    assert run.wait() == EXIT_DURABLE, run
    assert client.wait().code == 0 and client.events[-1]["event"] == "durable", (client, run)


def test_each_client_gets_the_answer_of_its_own_request(place):
    """The first one's checkpoint is still being uploaded when the second one asks."""
    run = stepped(place, "--bandwidth", "2MB/s", size=8_000_000)
    first = Client(place, run)
    run.wait_for_output("saving 1\n")
    go(place, 1)
    wait_for("the first save", lambda: first.process.stdout and "saved 1\n" in run.out)
    run.wait_for_event("checkpoint_complete")
    second = Client(place, run)
    run.wait_for_output("saving 2\n")
    assert first.wait().code == 0 and first.events[-1]["step"] == 1, (first, run)
    assert second.process.poll() is None, run
    go(place, 2)
    assert second.wait().code == 0 and second.events[-1]["step"] == 2, (second, run)
    assert step_of(place, second.events[-1]["id"]) == 2


def test_who_waits_in_vain_hears_why(place):
    run = stepped(place)
    client = Client(place, run)
    run.wait_for_output("saving 1\n")
    os.kill(run.job_pid, signal.SIGKILL)
    assert run.wait() != 0
    assert client.wait().code == 1 and "the job has ended" in client.events[-1]["error"], (client, run)


def test_at_its_time_out_a_client_says_what_is_under_way(place):
    run = stepped(place)
    for expected in ("has not finished saving", "is asked when the save under way has ended"):
        result = place.query("checkpoint", "--pid", run.pid, "--timeout", "1s")
        assert result.code == 1 and expected in one_line(result), (result, run)
    go(place, 1, 2)
    assert "default: 10m" in place.query("checkpoint", "--help").out


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
    (silent.directory / "about").write_text("leaving\n0\n\n\n\n")
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


# Two whole checkpoints of two files each; then one with one file closed and one open; and, when `go` is there, all is closed.
SAVES = """
import os, pathlib, time
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
for step in (100, 200):
    (top / f"checkpoint-{step}").mkdir(parents=True)
    for name in ("model.bin", "optimizer.bin"):
        (top / f"checkpoint-{step}" / name).write_bytes(b"x" * 1000)
    while not pathlib.Path(f"seen-{step}").exists():
        time.sleep(0.01)
(top / "checkpoint-300").mkdir()
with open(top / "checkpoint-300" / "model.bin", "wb") as file:
    file.write(b"x" * 500)
    file.flush()
    print("half", flush=True)
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
print("one of two", flush=True)
time.sleep(600)
"""


def checkpoints_of(place):
    [job] = place.query("status", "--checkpoints", "--job", "told", "--json").json["jobs"]
    return {checkpoint["checkpoint"]: checkpoint for checkpoint in job["checkpoints"]}


def test_each_checkpoint_is_told_with_its_verdict_and_what_is_missing(place):
    run = place.run(PYTHON, "-u", "-c", SAVES, options=("--job", "told", "--quiet-time", "60s"))
    run.wait_for_event("saving")
    for step in (100, 200):
        # Which was begun first, only who has seen it can tell.
        wait_for(f"step {step}", lambda: checkpoints_of(place).get(f"checkpoint-{step}/", {}).get("files") == 2, about=run)
        (place.path / f"seen-{step}").touch()
    run.wait_for_output("half\n")
    told = wait_for("the verdicts", lambda: (
        lambda told: told if "checkpoint-300/" in told and told["checkpoint-200/"]["verdict"] == "complete" else None)(checkpoints_of(place)),
        about=run)
    assert list(told) == ["checkpoint-300/", "checkpoint-200/", "checkpoint-100/"]
    # The first one is known by the beginning of the second, which has the names of the first.
    assert [told[f"checkpoint-{step}/"]["reason"] for step in (100, 200, 300)] == ["next", "signature", "open"]
    assert [told[f"checkpoint-{step}/"]["missing"] for step in (100, 200, 300)] == [0, 0, 1]
    assert told["checkpoint-300/"]["open"] == ["checkpoint-300/model.bin"]
    assert told["checkpoint-300/"]["step"] == 300 and told["checkpoint-300/"]["files"] == 1

    (place.path / "go").touch()
    run.wait_for_output("one of two\n")
    told = wait_for("the close", lambda: (
        lambda told: told if told["checkpoint-300/"]["reason"] != "open" else None)(checkpoints_of(place)), about=run)
    assert told["checkpoint-300/"]["verdict"] == "under way" and told["checkpoint-300/"]["open"] == []
    out = place.query("status", "--checkpoints", "--job", "told").out
    assert "checkpoint-200/  complete     2 files  it has all files that earlier ones had, all closed\n" in out, out
    assert "checkpoint-300/  under way    1 file" in out and "1 of the files that earlier ones had: missing\n" in out, out
    # Only who asks for them is told of them.
    assert "checkpoint-300" not in place.query("status", "--job", "told").out
    assert run.process.poll() is None


def test_a_job_that_handles_no_sigterm_is_not_said_to_end_of_it(place):
    """SIGTERM is how the profile asks; but nobody here would save at it."""
    run = place.run(PYTHON, "-c", "import time; print('ready', flush=True); time.sleep(600)",
                    options=("--profile", "torch"))
    run.wait_for_output("ready")
    refused = place.query("checkpoint", "--pid", run.pid)
    assert refused.code == 1 and "cannot be asked" in one_line(refused), (refused, run)
    run.kill()
