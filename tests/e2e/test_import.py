"""`reprieve import`: a tar, a directory, plain objects."""
import os
import random
import subprocess
import tarfile

import pytest

from harness import EXIT_CONFIGURATION, PYTHON, REPRIEVE, SAVER, one_line


@pytest.fixture
def tree(place):
    """A checkpoint that others have written."""
    tree = place.path / "theirs"
    (tree / "step-7" / "optimizer").mkdir(parents=True)
    (tree / "step-7" / "model.bin").write_bytes(random.randbytes(3_000_000))
    (tree / "step-7" / "optimizer" / "state").write_bytes(random.randbytes(100_000))
    (tree / "latest").symlink_to("step-7")
    return tree


def assert_newest_is(place, tree):
    target = place.path / f"back{random.randrange(10**9)}"
    assert place.verb("restore", "latest", target).code == 0
    assert subprocess.run(["diff", "-r", "--no-dereference", tree, target]).returncode == 0


def no_scratch(place):
    return not list((place.path / "scratch").glob("*"))


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_a_tar(place, tree, compression):
    scratch = place.path / "scratch"
    scratch.mkdir()
    archive = place.path / "theirs.tar"
    with tarfile.open(archive, f"w:{compression}") as tar:
        tar.add(tree, arcname=".")
    result = place.verb("import", archive, "--step", "7", "--json", TMPDIR=str(scratch))
    assert result.code == 0, result
    assert result.json["files"] == 2
    newest = place.newest()
    assert newest["step"] == 7 and newest["reason"] == "import"
    assert_newest_is(place, tree)
    assert no_scratch(place)


def test_a_directory_and_a_second_time(place, tree):
    assert place.verb("import", tree, "--tag", "theirs").code == 0
    assert_newest_is(place, tree)
    again = place.verb("import", tree, "--json")
    assert again.code == 0 and again.json["bytes_sent"] < 100_000, again
    assert [snapshot["tag"] for snapshot in place.snapshots()] == [None, "theirs"]


def test_standard_input(place, tree):
    archive = subprocess.run(["tar", "-C", tree, "-cz", "."], stdout=subprocess.PIPE, check=True).stdout
    process = subprocess.run([REPRIEVE, "import", "-", "--store", place.store, "--job", place.job], input=archive,
                             env=place.environment, cwd=place.path, timeout=120)
    assert process.returncode == 0
    assert_newest_is(place, tree)


def test_what_export_wrote_comes_back(place, tree):
    assert place.verb("import", tree).code == 0
    archive = place.path / "ours.tar.lz4"
    assert place.verb("export", "latest", archive).code == 0
    place.job = "other"
    assert place.verb("import", archive).code == 0
    assert_newest_is(place, tree)


def test_plain_objects_of_a_store(place, tree):
    (tree / "latest").unlink()
    result = place.verb("import", f"file://{tree}")
    assert result.code == 0, result
    target = place.path / "back"
    assert place.verb("restore", "latest", target).code == 0
    assert subprocess.run(["diff", "-r", tree, target]).returncode == 0


def test_a_job_goes_on_from_what_was_imported(place, tree):
    assert place.verb("import", tree, "--step", "7").code == 0
    run = place.run(PYTHON, "-c", "import os; print('resumes', os.environ['REPRIEVE_RESUMING'], os.environ['REPRIEVE_STEP'])")
    assert run.wait() == 0, run
    assert "resumes 1 7" in run.out


@pytest.mark.parametrize("what", ["junk", "cut", "hostile", "missing", "nothing-below"])
def test_what_is_refused_leaves_nothing_behind(place, tree, what):
    scratch = place.path / "scratch"
    scratch.mkdir()
    source = place.path / "theirs.tar.gz"
    if what == "junk":
        source.write_bytes(random.randbytes(1000))
    elif what == "cut":
        subprocess.run(["tar", "-C", tree, "-czf", source, "."], check=True)
        os.truncate(source, source.stat().st_size // 2)
    elif what == "hostile":
        with tarfile.open(source, "w:gz") as tar:
            tar.add(tree / "step-7" / "model.bin", arcname="../escaped")
    elif what == "nothing-below":
        source = f"file://{place.path}/none"
    result = place.verb("import", source, TMPDIR=str(scratch))
    assert result.code in (1, EXIT_CONFIGURATION), result
    one_line(result)
    assert no_scratch(place) and not (place.path / "escaped").exists()
    assert place.snapshots() == []


@pytest.mark.parametrize("verb", ["import", "save"])
def test_what_a_snapshot_cannot_hold_is_said(place, tree, verb):
    os.mkfifo(tree / "pipe")
    (tree / "dataset").symlink_to("/etc")
    result = place.verb(verb, tree)
    assert result.code == 0, result
    line = one_line(result)
    assert "dataset" in line and "a symbolic link that leads out of it" in line and "NOT in the snapshot (and 1 more)" in line


@pytest.mark.parametrize("verb", ["import", "save"])
@pytest.mark.parametrize("what", ["nothing", "only a link that leads out", "only an archive's directory"])
def test_what_there_is_nothing_in_takes_no_job_over(place, verb, what):
    """The claim of an attempt ends what a running job can publish: nothing is claimed for nothing."""
    run = place.run(PYTHON, SAVER, "--on-signal", options=("--quiet-time", "200ms", "--checkpoint-signal", "USR1"))
    run.wait_for_output("resumes")
    source = place.path / "theirs"
    source.mkdir()
    if what == "only a link that leads out":
        (source / "model").symlink_to("/etc/hostname")
    elif what == "only an archive's directory":
        (source / "empty").mkdir()
        if verb == "import":
            subprocess.run(["tar", "-C", source, "-cf", place.path / "theirs.tar", "."], check=True)
            source = place.path / "theirs.tar"
    result = place.verb(verb, source)
    assert result.code in (1, EXIT_CONFIGURATION), result
    one_line(result)
    assert place.verb("report", "--json").json["total"]["attempts"] == 1
    assert place.query("checkpoint", "--pid", run.pid).code == 0 and "durable:" in run.err


def test_a_few_bytes_that_become_a_terabyte(place):
    (place.path / "scratch").mkdir()
    (place.path / "hole").mkdir()
    with open(place.path / "hole" / "huge", "wb") as file:
        file.truncate(1 << 40)
    subprocess.run(["tar", "-C", place.path / "hole", "-cSzf", place.path / "huge.tar.gz", "."], check=True)
    result = place.verb("import", place.path / "huge.tar.gz", "--max-size", "1GB", TMPDIR=str(place.path / "scratch"))
    assert result.code != 0 and "--max-size" in one_line(result), result
    assert not place.snapshots() and no_scratch(place)


@pytest.mark.parametrize("kind", ["archive", "objects"])
def test_more_than_is_allowed(place, tree, kind):
    (place.path / "scratch").mkdir()
    (tree / "latest").unlink()
    source = f"file://{tree}"
    if kind == "archive":
        source = place.path / "theirs.tar"
        subprocess.run(["tar", "-C", tree, "-cf", source, "."], check=True)
    refused = place.verb("import", source, "--max-size", "3MB", TMPDIR=str(place.path / "scratch"))
    assert refused.code != 0 and "more than the" in one_line(refused), refused
    assert no_scratch(place)
    assert place.verb("import", source, "--max-size", "4MB", TMPDIR=str(place.path / "scratch")).code == 0


def test_many_names_are_bytes_too(place):
    """Empty files take a block or an inode each."""
    (place.path / "scratch").mkdir()
    with tarfile.open(place.path / "names.tar", "w") as tar:
        for number in range(1000):
            tar.addfile(tarfile.TarInfo(f"file-{number}"))
    assert place.verb("import", place.path / "names.tar", "--max-size", "1MB").code != 0
    assert place.verb("import", place.path / "names.tar", "--max-size", "5MB").code == 0


def test_a_restore_names_the_directory_that_was_given(place, tree):
    """And not the one beside it, in which the files are put together."""
    assert place.verb("import", tree).code == 0
    result = place.verb("restore", "latest", "/proc/no-such-place")
    assert result.code != 0 and "cannot make directory /proc/no-such-place: " in result.err and "restore-" not in result.err, result
