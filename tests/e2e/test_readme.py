"""The README's copyable examples, run as they stand there. <!-- example: NAME --> marks them."""
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from harness import LIMIT, REPRIEVE, ROOT, die_with_parent, wait_for

README = ROOT / "README.md"
SCRATCH = Path("/tmp/reprieve-readme")


def examples():
    found = dict(re.findall(r"<!-- example: (\w+) -->\n```sh\n(.*?)```", README.read_text(), re.S))
    assert set(found) == {"prefix", "queries", "entrypoint", "requeue", "drill"}
    return found


@pytest.fixture
def shell(place):
    """Runs an example in a copy of examples/, with the built program first in PATH; SCRATCH is the examples' own place."""
    shutil.copytree(ROOT / "examples", place.path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    binaries = place.path / "bin"
    binaries.mkdir()
    (binaries / "reprieve").symlink_to(REPRIEVE)
    (binaries / "python3").symlink_to("/usr/bin/python3")
    environment = {**place.environment, "PATH": f"{binaries}:{os.environ['PATH']}"}
    shutil.rmtree(SCRATCH, ignore_errors=True)

    def start(script, *flags, **more):
        return subprocess.Popen(["bash", *flags, "-c", script], cwd=place.path, env={**environment, **more}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=die_with_parent)

    def run(script, **more):
        process = start(script, "-eu", **more)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    run.start, run.binaries, run.path = start, binaries, place.path
    yield run
    shutil.rmtree(SCRATCH, ignore_errors=True)


@pytest.mark.long
def test_prefix_and_queries(shell):
    first = shell.start(examples()["prefix"], PYTHONUNBUFFERED="1")
    wait_for("the training to begin", lambda: "step 20 " in first.stdout.readline(), process=first)
    first.send_signal(signal.SIGTERM)
    out, err = first.communicate(timeout=LIMIT)
    assert first.returncode == 75, err
    # The machine is lost, the store is not.
    shutil.rmtree(SCRATCH / "checkpoints")
    code, out, err = shell(examples()["prefix"])
    assert code == 0 and "resumed from step" in out and "test accuracy" in out, err
    code, out, err = shell(examples()["prefix"])
    assert code == 0 and not out and "nothing to do" in err, err
    code, out, err = shell(examples()["queries"])
    assert code == 0, err
    assert re.search(r"^\* ", out, re.M), "list shows no newest snapshot"
    assert "step-002000.npz" in out, out


def test_man_page_has_no_words_for_options():
    """A macro that goes on too long makes an option of every word behind it."""
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    page = subprocess.run(["mandoc", "-Tutf8", ROOT / "supervisor" / "reprieve.1"], capture_output=True, text=True, check=True).stdout
    page = re.sub(".\b", "", page)
    assert "SYNOPSIS" in page and re.findall(r"\s(-(?!dc\b)\w\w+)", page) == []


def test_entrypoint(shell):
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root, to make a PID namespace")
    code, out, err = shell(examples()["entrypoint"])
    assert code == 3, err
    assert re.fullmatch(r"process \d+, started by process 1\n", out)


@pytest.mark.long
def test_requeue(shell):
    """With a scontrol that knows one running job, and writes down how it was called; tests/slurm has Slurm itself."""
    called = shell.path / "called"
    scontrol = shell.binaries / "scontrol"
    scontrol.write_text("#!/bin/sh\ncase $* in *show*) echo JobId=77 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 ;; "
                        f"*) echo \"$@\" >>'{called}' ;; esac\n")
    scontrol.chmod(0o755)
    batch = shell.start(examples()["requeue"], SLURM_JOB_ID="77", PYTHONUNBUFFERED="1")
    wait_for("the training to begin", lambda: "step 20 " in batch.stdout.readline(), process=batch)
    batch.send_signal(signal.SIGTERM)
    out, err = batch.communicate(timeout=LIMIT)
    assert batch.returncode == 75, err
    assert called.read_text() == "requeue Incomplete 77\n"
    again = shell.start(examples()["requeue"], SLURM_JOB_ID="77")
    wait_for("the training to go on", lambda: "resumed from step" in again.stdout.readline(), process=again)
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=LIMIT)


@pytest.mark.long
def test_drill(shell):
    code, out, err = shell(examples()["drill"])
    assert code == 0, f"{out}\n{err}"
    assert "PASS" in out and "FAIL" not in out


def verbs_of(program):
    listed = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  ([a-z]+)  +\S", listed, re.M))


def test_every_verb_and_file_that_it_names_is_there(program):
    text = README.read_text()
    words = set(re.findall(r"`([a-z]+)`", text.split("## Commands")[1].split("## What it is not")[0].split("`--json`")[0]))
    assert words and verbs_of(program) == words
    for name in re.findall(r"\./((?:tests|examples|storage|supervisor)/[\w./]+)", text):
        assert (ROOT / name).exists(), name


def test_the_synopsis_has_every_verb_and_all_that_is_explained(program):
    manual = (ROOT / "supervisor" / "reprieve.1").read_text()
    synopsis = manual.split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
    found = set()
    for line in re.findall(r"^\.Nm\n\.Cm (.*)$", synopsis, re.M):
        before = "explain " if line.startswith("explain ") else ""
        found |= {before + word for word in line.removeprefix(before).split(" | ")}
    shown = subprocess.run([program, "explain", "--help"], capture_output=True, text=True, check=True).stdout
    explained = {f"explain {word}" for words in re.findall(r"reprieve explain ([a-z]+(?: \| [a-z]+)*)", shown.split("Usage:")[1])
                 for word in words.split(" | ")}
    assert {"explain exit", "explain python"} < explained
    assert found == verbs_of(program) - {"explain"} | explained


def test_the_manual_has_every_option_of_run(program):
    manual = (ROOT / "supervisor" / "reprieve.1").read_text()
    shown = subprocess.run([program, "run", "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", shown, re.M))
    section = manual.split(".Ss Options of run")[1].split(".Sh ENVIRONMENT")[0]
    assert options and options == set(re.findall(r"^\.It Fl (?:\w , )?-([a-z-]+)", section, re.M))
    for name in options - {"dry-run", "help"}:
        assert "REPRIEVE_" + name.upper().replace("-", "_") in manual


def test_the_manual_has_every_variable():
    """What is read from the environment, and is meant for users."""
    manual = (ROOT / "supervisor" / "reprieve.1").read_text()
    # Of the tests, of the shim's own, of a scheduler.
    inner = {"REPRIEVE_FAULT", "REPRIEVE_VERSION", "AWS_BATCH_JOB_ID"}
    pattern = r'"((?:AWS|AZURE|GOOGLE|GCE|CLOUDSDK|STORAGE|REPRIEVE|IDENTITY|SSL|CURL)_[A-Z0-9_]+)"'
    found = {name for room in ("storage", "supervisor", "cloud") for source in (ROOT / room).rglob("*.c")
             for name in re.findall(pattern, source.read_text()) if not name.startswith("REPRIEVE_SHIM_")}
    assert found - inner and found - inner <= set(re.findall(r"[A-Z][A-Z0-9_]+", manual)), found - inner - set(re.findall(r"[A-Z][A-Z0-9_]+", manual))
