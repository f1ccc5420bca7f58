"""Checkpoint directories of which the kernel does not tell all: behind FUSE, without inotify, after too many events."""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import LIMIT, PYTHON, die_with_parent, wait_for

QUIET = ("--quiet-time", "300ms")
SLEEPER = (PYTHON, "-c", "import sys; print('up', flush=True); sys.stdin = open(sys.argv[1]); sys.stdin.read()")


def kept(place):
    """What the newest snapshot holds; {} while there is none."""
    newest = place.newest()
    if not newest:
        return {}
    target = place.path / "look"
    assert place.verb("restore", newest["id"], target).code == 0
    files = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    shutil.rmtree(target)
    return files


@pytest.fixture
def sleeper(place):
    """A job that writes nothing, and ends when it is told to."""
    pipe = place.path / "end"
    os.mkfifo(pipe)
    place.tell_to_end = lambda: os.close(os.open(pipe, os.O_WRONLY))
    return (*SLEEPER, pipe)


@pytest.fixture
def mounted(place):
    """The directory behind a FUSE mount: what is written there is written by another machine, for all that this kernel knows."""
    behind = place.path / "behind"
    behind.mkdir()
    place.directory.mkdir()
    if not shutil.which("bindfs"):
        pytest.skip("bindfs is not installed")
    server = subprocess.Popen(["bindfs", "-f", behind, place.directory], preexec_fn=die_with_parent,
                              stderr=subprocess.PIPE, text=True)
    try:
        wait_for("the mount", lambda: os.path.ismount(place.directory) or server.poll() is not None)
        if server.poll() is not None:
            pytest.skip("no FUSE here: " + server.stderr.read().strip())
        yield behind
        place.end()
    finally:
        subprocess.run(["umount", "-l", place.directory], capture_output=True)
        server.kill()
        server.wait()


def test_what_another_machine_writes_is_kept(place, mounted, sleeper):
    (mounted / "old").write_bytes(b"was there")
    run = place.run(*sleeper, options=QUIET)
    run.wait_for_output("up")
    wait_for("it is said", lambda: "FUSE" in run.err, process=run.process)
    (mounted / "step-1").mkdir()
    (mounted / "step-1" / "data").write_bytes(b"1" * 100000)
    whole = {"old": b"was there", "step-1/data": b"1" * 100000}
    wait_for("the first", lambda: kept(place) == whole, process=run.process)
    (mounted / "tmp").write_bytes(b"2" * 100000)  # in place of the other, with the same size
    os.utime(mounted / "tmp", ns=(0, (mounted / "step-1" / "data").stat().st_mtime_ns))
    os.replace(mounted / "tmp", mounted / "step-1" / "data")
    whole["step-1/data"] = b"2" * 100000
    wait_for("the second", lambda: kept(place) == whole, process=run.process)
    place.tell_to_end()
    assert run.wait() == 0


def test_the_job_itself_behind_fuse_saves_each_checkpoint_once(place, mounted):
    job = ("import pathlib, sys, time; here = pathlib.Path(sys.argv[1])\n"
           "for step in 1, 2:\n"
           "    (here / f'step-{step}').write_bytes(b'x' * 100000 * step); time.sleep(3)")
    run = place.run(PYTHON, "-c", job, place.directory, options=QUIET)
    assert run.wait() == 0
    assert set(kept(place)) == {"step-1", "step-2"}
    assert len(run.events("durable")) == 2


def without_inotify(limit):
    """A user namespace with its own limit."""
    script = f'echo {limit} && exec "$@"'
    command = ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    return command


WRITER = ("import os, pathlib, sys, time; here = pathlib.Path(sys.argv[1]); here.mkdir(exist_ok=True)\n"
          "(here / 'a' / 'b').mkdir(parents=True)\n"
          "(here / 'a' / 'b' / 'step-1').write_bytes(b'x' * 100000)\n"
          "print('up', flush=True); open(sys.argv[2]).read()")


@pytest.mark.parametrize("limit", ["0 > /proc/sys/user/max_inotify_instances", "1 > /proc/sys/user/max_inotify_watches"])
@pytest.mark.parametrize("shim", ["auto", "off"])
def test_without_inotify_the_directory_is_looked_through(place, sleeper, limit, shim):
    run = place.run(PYTHON, "-c", WRITER, place.directory, sleeper[-1], options=(*QUIET, "--shim", shim), wrapper=without_inotify(limit))
    run.wait_for_output("up")
    whole = {"a/b/step-1": b"x" * 100000}
    wait_for("the checkpoint", lambda: kept(place) == whole, process=run.process)
    (place.directory / "a" / "b" / "step-2").write_bytes(b"y" * 100000)  # by nobody of the job
    whole["a/b/step-2"] = b"y" * 100000
    wait_for("the next", lambda: kept(place) == whole, process=run.process)
    assert "polling " in run.err
    place.tell_to_end()
    assert run.wait() == 0


def test_looking_can_be_asked_for(place, sleeper):
    run = place.run(PYTHON, "-c", WRITER, place.directory, sleeper[-1], options=(*QUIET, "--watch", "poll"))
    wait_for("the checkpoint", lambda: kept(place), process=run.process)
    place.tell_to_end()
    assert run.wait() == 0
    assert len(run.events("durable")) == 1
    wrong = place.run("true", options=("--watch", "never"))
    assert wrong.wait() == 64 and "auto or poll" in wrong.err


def test_what_was_lost_in_a_flood_of_events_is_looked_into(place, sleeper):
    """More events than the kernel keeps, and among the lost ones a file that is cut off."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 1000000:
        pytest.skip("it takes too many events to lose one")
    place.directory.mkdir()
    run = place.run(*sleeper, options=(*QUIET, "--shim", "off"))
    run.wait_for_output("up")
    run.signal(signal.SIGSTOP)
    try:
        (place.directory / "name").write_bytes(b"x")
        for number in range(most // 4 + 1):  # four events each, and none like the one before it
            os.rename(place.directory / "name", place.directory / "other")
            os.rename(place.directory / "other", place.directory / "name")
        (place.directory / "whole").write_bytes(b"x")
        torn = place.directory / "torn.safetensors"
        torn.write_bytes((80).to_bytes(8, "little") + b'{"w":{"dtype":"U8","shape":[900],"data_offsets":[0,900]}}'.ljust(80))
        os.utime(torn, (0, 0))  # so that nobody waits for the rest
    finally:
        run.signal(signal.SIGCONT)
    files = wait_for("the checkpoint", lambda: kept(place), process=run.process)
    assert set(files) == {"name", "whole"}
    place.tell_to_end()
    assert run.wait(LIMIT) == 0


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
