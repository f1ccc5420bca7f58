"""file:// on file systems that lack something: the store can be used, or is refused with a sentence that says what to do."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from harness import EXIT_CONFIGURATION, EXIT_DURABLE, PYTHON, REPRIEVE, SAVER, one_line, wait_for

CC = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
SOURCE = Path(__file__).with_name("unkind_files.c")
QUICK = ("--quiet-time", "150ms")


@pytest.fixture
def unkind(place):
    """unkind(WHAT, ...): the environment in which the store's file system is so."""
    if not CC:
        pytest.skip("no C compiler")
    if "__asan_" in subprocess.run(["nm", "-D", REPRIEVE], capture_output=True, text=True).stdout:
        pytest.skip("a sanitizer has to be the first library")
    library = place.path / "unkind_files.so"
    subprocess.run([CC, "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
    return lambda *what: {"LD_PRELOAD": str(library), "UNKIND": ",".join(what), "UNKIND_BELOW": str(place.store_path)}


def save_two_steps(place, **environment):
    return place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=QUICK, **environment)


@pytest.mark.parametrize("lacks,words", [
    (("no-links", "no-noreplace"), "neither hard links nor renames that spare what is there"),
    (("no-links", "looks-first"), "one name to two at the same time"),
])
def test_a_store_in_which_two_could_take_one_place_is_refused(place, unkind, lacks, words):
    environment = unkind(*lacks)
    run = save_two_steps(place, **environment)
    assert run.wait() == EXIT_CONFIGURATION and run.out == "", run
    line = one_line(run.err)
    assert words in line and "use another file system for the store" in line
    told = place.query("doctor", "--store", place.store, "--measure", "0", **environment)
    assert told.code == 1 and "\nfail  store" in told.out and words in told.out, told
    assert "only if it is absent" in told.out and "the bucket exists" not in told.out
    assert not place.snapshots()


@pytest.mark.parametrize("lacks", ["no-links", "no-noreplace", "lost-renames"])
def test_what_is_enough(place, unkind, lacks):
    environment = unkind(lacks)
    run = save_two_steps(place, **environment)
    assert run.wait() == 0 and "finished 2" in run.out, run
    assert place.newest()["step"] == 2
    assert place.verb("verify").code == 0
    told = place.query("doctor", "--store", place.store, "--measure", "0", **environment)
    assert told.code == 0 and "\nok    if-absent" in told.out, told


@pytest.fixture
def mounted(place):
    """The directory of a file system that can be taken away."""
    directory = place.path / "mounted"
    directory.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", directory], capture_output=True).returncode != 0:
        pytest.skip("nothing may be mounted here")
    yield directory
    while subprocess.run(["umount", "-l", directory], capture_output=True).returncode == 0:
        pass


def test_a_file_system_that_is_unmounted_under_a_run_is_not_replaced_by_the_disk_below(place, mounted, tmp_path):
    """What lay under the bare mount point, no other machine would find."""
    place.store = f"file://{mounted}/runs"
    aside = tmp_path / "aside"
    aside.mkdir()
    run = place.run(PYTHON, SAVER, "--pause", "0.4", options=(*QUICK, "--grace", "5"))
    run.wait_for_event("durable")
    subprocess.run(["mount", "--bind", mounted, aside], check=True)
    try:
        subprocess.run(["umount", "-l", mounted], check=True)
        wait_for("it is said", lambda: "its file system is not mounted there any more" in run.err, process=run.process, about=run)
        assert not list(mounted.iterdir())
        # It is there again, with all that was committed.
        subprocess.run(["mount", "--bind", aside, mounted], check=True)
        before = len(run.events("durable"))
        wait_for("it goes on", lambda: len(run.events("durable")) > before, process=run.process, about=run)
        run.signal(signal.SIGTERM)
        assert run.wait() == EXIT_DURABLE, run
        newest = run.events("durable")[-1]["id"]
        assert newest.startswith("000001-") and len(list(aside.glob(f"runs/jobs/*/snapshots/{newest}.json"))) == 1, run
    finally:
        run.kill()
        subprocess.run(["umount", "-l", aside], check=True)
