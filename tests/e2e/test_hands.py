"""What people do by hand beside a run: saving into its job, rolling back, restoring onto files of their own."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import PYTHON, Place

QUICK = ("--quiet-time", "150ms")

# Goes on from the highest step-N.bin, and says what is in it; saves up to the last step, then waits if it is told to.
JOB = """
import os, pathlib, sys, time
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
top.mkdir(parents=True, exist_ok=True)
step = max([int(file.stem.split("-")[1]) for file in top.glob("step-*.bin")], default=0)
word = (top / f"step-{step}.bin").read_text()[:4] if step else ""
print("resumes", step, word, flush=True)
while step < int(sys.argv[1]):
    step += 1
    part = top / f"step-{step}.bin.tmp"
    part.write_text("good" * 1000)
    part.rename(top / f"step-{step}.bin")
    time.sleep(0.5)
while len(sys.argv) > 2:
    time.sleep(0.05)
"""


def job(place, steps, *more, **options):
    return place.run(PYTHON, "-c", JOB, steps, *more, **{"options": QUICK, **options})


@pytest.fixture
def other(place):
    """A directory with a checkpoint that somebody wants to save by hand."""
    directory = place.path / "other"
    directory.mkdir()
    (directory / "step-9.bin").write_text("other")
    return directory


def by_hand(place, verb, other, *words):
    return place.query(verb, other, "--store", place.store, "--job", place.job, *words)


@pytest.mark.parametrize("verb", ["save"])
def test_a_running_job_keeps_its_place(place, other, verb):
    run = job(place, 1, "wait")
    run.wait_for_event("durable")
    refused = by_hand(place, verb, other)
    assert refused.code == 78 and f"reprieve checkpoint --pid {run.pid}" in refused.err, refused
    assert len(place.snapshots()) == 1
    taken = by_hand(place, verb, other, "--take-over")
    assert taken.code == 0, taken
    run.process.terminate()
    run.wait()


# Saves at its start, and when it is asked.
ASKED = """
import os, pathlib, signal
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
signal.signal(signal.SIGUSR1, lambda *_: None)
top.mkdir(exist_ok=True)
for step in range(1, 100):
    part = top / f"step-{step}.bin.tmp"
    part.write_text("good" * 1000)
    part.rename(top / f"step-{step}.bin")
    signal.pause()
"""


def test_the_directory_of_a_running_job_is_saved_by_its_supervisor(place):
    run = place.run(PYTHON, "-c", ASKED, options=(*QUICK, "--checkpoint-signal", "USR1"))
    run.wait_for_event("durable")
    saved = by_hand(place, "save", place.directory)
    assert saved.code == 0 and "step 2, durable" in saved.out and "its supervisor is asked" in saved.err, saved
    assert [snapshot["id"] for snapshot in place.snapshots()] == ["000001-000002", "000001-000001"]
    # A tag is of a snapshot by hand.
    refused = by_hand(place, "save", place.directory, "--tag", "best")
    assert refused.code == 78 and f"reprieve checkpoint --pid {run.pid}" in refused.err, refused
    run.kill()


def test_a_job_that_may_run_elsewhere_keeps_its_place(place, other):
    run = job(place, 1, "wait", wrapper=("unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh"))
    run.wait_for_event("durable")
    run.kill()
    refused = by_hand(place, "save", other)
    assert refused.code == 78 and "on elsewhere, has no end record" in refused.err, refused
    assert by_hand(place, "save", other, "--take-over").code == 0


def test_a_job_that_died_here_is_out_of_the_way(place, other):
    run = job(place, 1, "wait")
    run.wait_for_event("durable")
    run.kill()
    assert by_hand(place, "save", other).code == 0


def test_a_line_that_was_left_stays_left(place):
    """Rolled back on another machine; the one that still has the later steps does not bring them back."""
    first = job(place, 3)
    assert first.wait() == 0, first
    oldest = place.snapshots()[-1]
    assert oldest["step"] < 3, place.snapshots()
    back = job(place, 1, "wait", directory=place.path / "machine-b", options=(*QUICK, "--restore", oldest["id"]))
    back.wait_for_output(f"resumes {oldest['step']} ")
    back.kill()
    again = job(place, 1, "again")
    again.wait_for_output("resumes ")
    assert f"resumes {oldest['step']} good\n" in again.out, again
    again.kill()


def test_times_alone_prove_nothing(place):
    """A file that was changed and got its old times back: the content of the store is put in its place."""
    first = job(place, 1)
    assert first.wait() == 0, first
    saved = place.directory / "step-1.bin"
    status = saved.stat()
    saved.write_text("evil" * 1000)
    os.utime(saved, ns=(status.st_atime_ns, status.st_mtime_ns))
    again = job(place, 1, "again")
    again.wait_for_output("resumes 1 good\n")
    again.kill()


def test_what_is_there_already_is_not_copied(place):
    """One of two files is lost: the other one is the same file afterwards, and needs no room for a second."""
    first = job(place, 2)
    assert first.wait() == 0, first
    kept, lost = place.directory / "step-1.bin", place.directory / "step-2.bin"
    inode = kept.stat().st_ino
    lost.unlink()
    shutil.rmtree(f"{place.directory}.reprieve")
    again = job(place, 2, "again")
    again.wait_for_output("resumes 2 good\n")
    assert kept.stat().st_ino == inode and kept.stat().st_nlink == 1
    again.kill()


@pytest.fixture
def nobodys(tmp_path):
    """A place of a user without rights, and the command that makes one of root."""
    root = os.geteuid() == 0
    path = Path(tempfile.mkdtemp(prefix="reprieve-nobody.")) if root else tmp_path
    place = Place(path)
    place.nobody = ("setpriv", "--reuid", "65534", "--clear-groups") if root else ()
    yield place
    place.end()
    subprocess.run(["chmod", "-R", "u+w", path], check=True)
    if root:
        shutil.rmtree(path)


def test_a_protected_checkpoint_comes_back(nobodys):
    """A read-only directory, as people protect a checkpoint, of a user without rights."""
    directory = nobodys.directory / "step-5"
    directory.mkdir(parents=True)
    (directory / "w").write_text("whole")
    directory.chmod(0o555)
    assert nobodys.verb("save", nobodys.directory).code == 0
    if nobodys.nobody:
        subprocess.run(["chown", "-R", "65534", nobodys.path, nobodys.runtime], check=True)
    run = nobodys.run("sh", "-c", "cat $REPRIEVE_CHECKPOINT_DIR/step-5/w; stat -c %a $REPRIEVE_CHECKPOINT_DIR/step-5",
                      directory=nobodys.path / "empty", wrapper=nobodys.nobody)
    assert run.wait() == 0 and run.out == "whole555\n", run
