"""The disk with the checkpoints does not answer: what reads it waits, and nobody else does."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, REPRIEVE, wait_for

CC = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
SOURCE = Path(__file__).with_name("hanging_disk.c")

# Writes step-1/model.pt, a whole zip archive, and waits for the file "end", or for SIGTERM.
JOB = """
import os, signal, sys, time, zipfile
def told(number, frame):
    print("told", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, told)
os.makedirs(f"{sys.argv[1]}/step-1")
with zipfile.ZipFile(f"{sys.argv[1]}/step-1/model.pt", "w") as archive:
    archive.writestr("data", b"x" * 5000)
print("saved", flush=True)
while not os.path.exists("end"):
    time.sleep(0.01)
"""


def is_sanitized():
    symbols = subprocess.run(["nm", "-D", REPRIEVE], capture_output=True, text=True).stdout
    return "__asan_" in symbols or "__tsan_" in symbols


@pytest.fixture
def hanging(place):
    """Starts the job on a disk that hangs; `hanging.flag` keeps it so."""
    if not CC:
        pytest.skip("no C compiler")
    if is_sanitized():
        pytest.skip("a sanitizer has to be the first library")
    library = place.path / "hanging_disk.so"
    subprocess.run([CC, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)

    class Hanging:
        flag = place.path / "hangs"
        notice = place.path / "notice"

        def start(self):
            self.flag.touch()
            run = place.run(PYTHON, "-c", JOB, place.directory, options=["--notice", f"file:{self.notice}"],
                            LD_PRELOAD=str(library), HANG_BELOW=str(place.directory), HANG_WHILE=str(self.flag))
            run.wait_for_output("saved")
            return run

    return Hanging()


def test_a_disk_that_hangs_delays_no_notice(place, hanging):
    run = hanging.start()
    hanging.notice.write_text('{"in_seconds": 6}')
    run.wait_for_output("told")
    assert run.wait() == EXIT_NOT_DURABLE, run
    assert not run.events("durable")
    assert f"{place.directory} does not answer" in run.err, run


def test_one_that_answers_again_in_time(place, hanging):
    run = hanging.start()
    hanging.notice.write_text('{"in_seconds": 60}')
    run.wait_for_output("told")
    hanging.flag.unlink()
    assert run.wait() == EXIT_DURABLE, run
    assert place.newest()["step"] == 1


def test_a_job_that_ends_meanwhile(place, hanging):
    run = hanging.start()
    (place.path / "end").touch()
    run.wait_for_event("child_exited")
    assert place.query("status", "--job", place.job).code == 0, "who asks is answered"
    hanging.flag.unlink()
    assert run.wait() == 0, run
    assert place.newest()["step"] == 1


def test_a_job_that_ends_and_a_disk_that_never_answers(place, hanging):
    run = hanging.start()
    (place.path / "end").touch()
    run.wait_for_event("child_exited")
    run.signal(signal.SIGTERM)
    hanging.notice.write_text('{"in_seconds": 3}')
    assert run.wait() in (0, EXIT_NOT_DURABLE), run
    assert not run.events("durable")
    wait_for("nobody is left", lambda: run.process.poll() is not None)
