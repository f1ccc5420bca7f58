"""Wrong from the start: one line with cause and fix, the documented exit code, and the job is not started."""
import os
import re
import subprocess

import damage
import pytest
from harness import EXIT_CONFIGURATION, EXIT_USAGE, PYTHON, REPRIEVE, SAVER, one_line


def job(place):
    """A command that leaves a trace if it is ever started."""
    return ["touch", str(place.path / "started")]


def assert_refused(place, result, code, *words):
    line = one_line(result)
    assert result.code == code, result
    for word in words:
        assert word in line, f"{word!r} is not in: {line}"
    assert result.out == ""
    assert not (place.path / "started").exists(), "the job was started"


def refused(place, code, words, *arguments, **environment):
    assert_refused(place, place.query("run", *arguments, **environment), code, *words)


def test_unknown_option(place):
    refused(place, EXIT_USAGE, ["--no-such-option", "--help"], "--no-such-option", "--", *job(place))
    refused(place, EXIT_USAGE, ["-Z", "--help"], "-Z", "--", *job(place))


def test_option_without_its_value(place):
    refused(place, EXIT_USAGE, ["--store", "value"], "--store")


@pytest.mark.parametrize("option, value", [("--grace", "soon"), ("--quiet-time", "-1"), ("--checkpoint-signal", "NOPE"),
                                           ("--restore", "yesterday"), ("--shim", "maybe"), ("--notice", "carrier-pigeon")])
def test_wrong_value(place, option, value):
    refused(place, EXIT_USAGE, [option, value], option, value, "--", *job(place))


def test_wrong_value_in_the_environment(place):
    refused(place, EXIT_USAGE, ["REPRIEVE_GRACE", "soon"], "--", *job(place), REPRIEVE_GRACE="soon")


def test_missing_command(place):
    refused(place, EXIT_USAGE, ["command", "reprieve run --"])
    refused(place, EXIT_USAGE, ["command"], "--store", place.store, "--")


def test_unknown_verb(place):
    assert_refused(place, place.query("fly"), EXIT_USAGE, "fly", "--help")


@pytest.mark.parametrize("url", ["ftp://host/dir", "s4://bucket", "store", "file://relative/dir"])
def test_unknown_store(place, url):
    refused(place, EXIT_CONFIGURATION, ["file://"], f"--store={url}", "--job", "j", "--", *job(place))


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "x" * 200])
def test_impossible_job_name(place, name):
    refused(place, EXIT_USAGE, ["--job", "A-Z a-z 0-9"], "--store", place.store, f"--job={name}", "--", *job(place))


def test_store_that_is_a_file(place):
    (place.path / "occupied").write_text("")
    refused(place, EXIT_CONFIGURATION, ["occupied"], "--store", f"file://{place.path}/occupied", "--job", "j", "--", *job(place))


def test_checkpoint_directory_that_is_a_file(place):
    (place.path / "occupied").write_text("")
    refused(place, EXIT_CONFIGURATION, ["occupied"], "--store", place.store, "--job", "j", "-c", str(place.path / "occupied"),
            "--", *job(place))


@pytest.fixture
def read_only(place):
    """A directory that even root cannot write to."""
    path = place.path / "read-only"
    path.mkdir()
    if os.geteuid() != 0:
        path.chmod(0o555)
        yield path
        path.chmod(0o755)
        return
    bound = subprocess.run(f"mount --bind '{path}' '{path}' && mount -o remount,bind,ro '{path}'", shell=True,
                           capture_output=True, text=True)
    if bound.returncode != 0:
        pytest.skip(f"root, and no read-only mount to be had: {bound.stderr.strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_store_that_cannot_be_written(place, read_only):
    refused(place, EXIT_CONFIGURATION, [str(read_only)], "--store", f"file://{read_only}/store", "--job", "j", "--", *job(place))


def test_checkpoint_directory_that_cannot_be_written(place, read_only):
    refused(place, EXIT_CONFIGURATION, [str(read_only)], "--store", place.store, "--job", "j", "-c", str(read_only), "--", *job(place))
    refused(place, EXIT_CONFIGURATION, [str(read_only)], "--store", place.store, "--job", "j", "-c", str(read_only / "new"),
            "--", *job(place))


def make_version(path, difference):
    header, body = damage.read_record(path)
    damage.write_record(path, {**header, "version": header["version"] + difference}, body)


def make_newer(path):
    make_version(path, 1)


@pytest.fixture
def used(place):
    """A store with one snapshot in it."""
    run = place.run(PYTHON, SAVER, "--steps", 1, options=("--quiet-time", "100ms"))
    assert run.wait() == 0 and len(place.snapshots()) == 1, run
    return place


def test_store_of_a_newer_version(used):
    make_newer(used.store_path / "format.json")
    refused(used, EXIT_CONFIGURATION, ["newer version", "upgrade"], "--store", used.store, "--job", used.job, "--", *job(used))
    for verb in (["list"], ["verify"], ["show", "latest"], ["restore", "latest", "out"], ["save", str(used.directory)]):
        assert_refused(used, used.verb(*verb), EXIT_CONFIGURATION, "newer version", "upgrade")


def test_store_of_an_older_version(used):
    make_version(used.store_path / "format.json", -1)
    said = ("older Reprieve", "another store")
    refused(used, EXIT_CONFIGURATION, list(said), "--store", used.store, "--job", used.job, "--", *job(used))
    for verb in (["list"], ["verify"], ["restore", "latest", "out"], ["save", str(used.directory)]):
        assert_refused(used, used.verb(*verb), EXIT_CONFIGURATION, *said)


def test_claim_of_a_newer_version(used):
    """Who cannot read the lineage must not guess it: an older version would fork a newer one's job."""
    make_newer(next((used.store_path / "jobs" / used.job / "attempts").glob("*[0-9].json")))
    refused(used, EXIT_CONFIGURATION, ["newer version", "upgrade"], "--store", used.store, "--job", used.job, "--", *job(used))


def test_restoring_what_is_not_there(used):
    refused(used, EXIT_CONFIGURATION, ["000009-000009"], "--store", used.store, "--job", used.job, "--restore", "9-9", "--", *job(used))


@pytest.mark.parametrize("command, code", [("/no/such/program", 127), ("no-such-program-in-path", 127), ("/etc/passwd", 126), ("/", 126)])
def test_command_that_cannot_be_run(place, command, code):
    """As shells do."""
    result = place.query("run", "--", command)
    assert result.code == code, result
    assert command in one_line(result)


@pytest.mark.parametrize("verb", ["list", "show", "verify"])
def test_queries_without_a_store(place, verb):
    result = place.verb(verb)
    assert result.code != 0 and result.out == "", result
    assert str(place.store_path) in one_line(result)
    assert not place.store_path.exists(), "a query made a store"


def test_help_and_version_say_no_more_than_that(place):
    for arguments in (["--help"], ["run", "--help"], ["list", "--help"], ["drill", "--help"], ["mock", "--help"]):
        result = place.query(*arguments)
        assert result.code == 0 and result.err == "" and "reprieve" in result.out, result
    named = place.query("--version")
    assert named.code == 0 and named.err == "", named
    assert re.fullmatch(r"reprieve \d+\.\d+\.\d+\nstore format \d+, manifests of version \d+\ncommit ([0-9a-f]{12}|unknown)\n", named.out), named
    assert os.access(REPRIEVE, os.X_OK)
