"""One directory with two paths: the job sees the checkpoint directory below another name, as in a container or behind a bind mount. It
is the same directory all the same: by device and inode.
"""
import shutil
import signal
import subprocess

import pytest

from harness import EXIT_DURABLE, PYTHON, SAVER

@pytest.fixture(params=["bind mount", "bind mount of the directory above", "bwrap"])
def elsewhere(request, place):
    """elsewhere(COMMAND...): the command, to which the checkpoint directory is called by another path than to us."""
    there = place.path / "seen"
    there.mkdir()
    place.directory.mkdir()
    if request.param == "bwrap":
        if not shutil.which("bwrap"):
            pytest.skip("bwrap is not installed: examples/install_packages.sh test")
        probe, wrap = ["bwrap", "--dev-bind", "/", "/", "true"], [
            "bwrap", "--dev-bind", "/", "/", "--bind", place.directory, there, "--setenv", "REPRIEVE_CHECKPOINT_DIR", there]
    else:
        whole = "above" in request.param
        inside = there / place.directory.name if whole else there
        probe, wrap = ["unshare", "--mount", "true"], [
            "unshare", "--mount", "sh", "-c",
            'from=$1 to=$2 REPRIEVE_CHECKPOINT_DIR=$3; export REPRIEVE_CHECKPOINT_DIR; shift 3; mount --bind "$from" "$to" && exec "$@"',
            "sh", place.path if whole else place.directory, there, inside]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip(f"no mount namespace may be made here: {probe}")
    return lambda *command: [*wrap, *command]


@pytest.mark.parametrize("shim", ["auto", "off"])
def test_the_last_save_before_the_end_is_saved(place, elsewhere, shim):
    run = place.run(*elsewhere(PYTHON, SAVER, "--steps", 4, "--pause", "0.3"), options=("--shim", shim))
    assert run.wait() == 0 and "finished 4" in run.out, run
    assert place.newest()["step"] == 4, run
    assert "not watched" not in run.err and "saves" not in run.err, run


def test_what_is_saved_at_the_signal_is_durable(place, elsewhere):
    run = place.run(*elsewhere(PYTHON, SAVER, "--on-signal", "--pause", "0.01"), options=("--checkpoint-signal", "USR1"))
    run.wait_for_output("resumes 0")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    saved = int(run.out.split("saved ")[-1].split()[0])
    assert place.newest()["step"] == saved, run
    assert "not watched" not in run.err, run
    again = place.run(*elsewhere(PYTHON, SAVER, "--steps", saved + 2))
    assert again.wait() == 0 and f"resumes {saved}" in again.out, again


def test_a_save_that_is_cut_off_there_is_not_taken_for_whole(place, elsewhere):
    """Killed between the two files: who had the first one open is known although its path is another."""
    run = place.run(*elsewhere(PYTHON, SAVER, "--pause", "0.2", "--between", "0.4"), options=("--snapshot-interval", "0"))
    run.wait_for_event("durable", 2)
    run.wait_for_output("between 4")
    run.kill()
    again = place.run(*elsewhere(PYTHON, SAVER, "--steps", 6))
    assert again.wait() == 0 and "BAD" not in again.out, f"{run}\n{again}"


def test_a_program_without_the_library_is_known_by_what_it_has_open(place, elsewhere):
    """A shell that writes for a while: its file is under way as long as it is open."""
    job = "exec 3>$REPRIEVE_CHECKPOINT_DIR/step-1; echo half >&3; echo open; sleep 2; echo whole >&3; exec 3>&-; sleep 1"
    run = place.run(*elsewhere("sh", "-c", job), options=("--shim", "off", "--quiet-time", "300ms"))
    assert run.wait() == 0, run
    assert run.events("durable")[0]["files"] == 1, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert (place.path / "back" / "step-1").read_text() == "half\nwhole\n"
