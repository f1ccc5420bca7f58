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
