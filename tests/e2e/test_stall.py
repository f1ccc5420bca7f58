"""A supervisor that stands still for a while, as in a machine that is paused: what it has not seen it does not conclude from, and what it was
told meanwhile it does not miss."""
import fcntl
import os
import signal
import subprocess
import time

from harness import LIMIT, PYTHON, REPRIEVE, kill_quietly, members_of, wait_for

FIRST = """
    import os, time
    os.mkdir(os.environ["REPRIEVE_CHECKPOINT_DIR"])
    with open(os.environ["REPRIEVE_CHECKPOINT_DIR"] + "/step_1.pt", "wb") as file:
        file.write(b"x" * 1000)
    print("first", flush=True)
    time.sleep(3600)
"""
SAVES = """
    import os, signal, sys, time
    def save(*_):
        os.makedirs(os.environ["REPRIEVE_CHECKPOINT_DIR"], exist_ok=True)
        with open(os.environ["REPRIEVE_CHECKPOINT_DIR"] + "/step_1.pt", "wb") as file:
            file.write(b"x" * 1000)
        sys.exit(0)
    signal.signal(signal.SIGUSR1, save)
    signal.signal(signal.SIGTERM, lambda *_: print("TERM", flush=True))
    print("ready", flush=True)
    while not os.path.exists("end"):
        time.sleep(0.05)
"""


def python(program):
    lines = program.splitlines()
    return (PYTHON, "-u", "-c", "\n".join(line[4:] for line in lines))


def test_time_that_nobody_saw_is_no_quiet_time(place):
    """The job is killed right after a file, and the supervisor comes to both when the quiet time is long over."""
    run = place.run(*python(FIRST), options=("--quiet-time", "4s"))
    run.wait_for_output("first")
    run.wait_for_event("saving")
    run.signal(signal.SIGSTOP)
    os.kill(run.job_pid, signal.SIGKILL)
    time.sleep(6)
    run.signal(signal.SIGCONT)
    assert run.wait() == 128 + signal.SIGKILL, run
    assert place.snapshots() == [] and run.event("checkpoint_complete") is None, run
    assert "step_1.pt" in run.err and "is in no snapshot" in run.err


def test_a_sigterm_that_is_handed_on_to_who_stands_still_arrives(place):
    """The shim wakes itself by SIGTERM once a second, and of two that are pending the kernel keeps one."""
    run = place.run(*python(SAVES), options=("--checkpoint-signal", "USR1", "--verbose"))
    run.wait_for_output("ready")
    run.wait_for_event("launched")
    job = run.job_pid
    os.kill(job, signal.SIGTERM)
    time.sleep(0.05)
    os.kill(job, signal.SIGSTOP)
    run.signal(signal.SIGSTOP)
    time.sleep(1.5)
    run.signal(signal.SIGCONT)
    wait_for("it is handed on", lambda: f"process {job} gets its SIGTERM" in run.err, process=run.process)
    time.sleep(0.3)
    os.kill(job, signal.SIGCONT)
    run.wait_for_output("TERM")
    (place.path / "end").touch()
    assert run.wait() == 0, run


def test_nobody_reads_what_it_says(place):
    """Its standard error is a pipe that is full: the job is asked and ends in time all the same."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ))):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    said = place.path / "said"
    with open(said, "wb") as out:
        process = subprocess.Popen([REPRIEVE, "run", "--store", place.store, "--job", place.job, "--checkpoint-dir", str(place.directory),
                                    "--checkpoint-signal", "USR1", "--quiet-time", "100ms", "--grace", "60", "--", *python(SAVES)],
                                   cwd=place.path, env=place.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=writer,
                                   start_new_session=True)
    try:
        wait_for("the job runs", lambda: said.read_text() == "ready\n", process=process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 75
        assert place.newest()["step"] == 1
    finally:
        for pid in [*members_of(process.pid)]:
            kill_quietly(pid, signal.SIGKILL)
        process.wait()
        os.close(reader)
        os.close(writer)
