"""file:// on file systems that lack something: the store can be used, or is refused with a sentence that says what to do."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import EXIT_CONFIGURATION, PYTHON, REPRIEVE, SAVER, one_line

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
