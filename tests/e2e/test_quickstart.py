"""examples/quickstart.sh from a fresh copy of the sources, as a user meets it: installs nothing that is there, builds, drills, and holds."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import harness
import pytest


def copy_of_sources(target):
    shutil.copytree(harness.ROOT, target, symlinks=True,
                    ignore=lambda directory, names: [name for name in names if name in (".git", "__pycache__", ".venv", ".pytest_cache")
                                                     or (Path(directory) == harness.ROOT and name.startswith("build"))])
    return target


@pytest.mark.long
def test_quickstart(tmp_path):
    root = copy_of_sources(tmp_path / "a copy")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # Built without optimisation, in half the time.
    result = subprocess.run([root / "examples" / "quickstart.sh"], cwd=elsewhere, text=True, capture_output=True, timeout=900,
                            env={**os.environ, "TMPDIR": str(tmp_path), "CMAKE_BUILD_TYPE": "Debug"}, stdin=subprocess.DEVNULL, preexec_fn=harness.die_with_parent)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 of 2 preemptions" in result.stdout
    assert "final.npy equals" in result.stdout
    assert re.search(r"^PASS: lost ", result.stdout, re.MULTILINE)
    assert list(elsewhere.iterdir()) == []
    left = {path.name for path in (root / "examples").iterdir()}
    assert "final.npy" not in left and "checkpoints" not in left


@pytest.mark.long
def test_quickstart_fails_with_the_drill(tmp_path):
    """The same with a job that does not load its checkpoint: exit 1 and no word of success."""
    root = tmp_path / "copy"
    shutil.copytree(harness.ROOT / "examples", root / "examples")
    job = root / "examples" / "train_digits.py"
    text = job.read_text()
    assert "state = load_newest(args.checkpoint_dir)" in text
    job.write_text(text.replace("state = load_newest(args.checkpoint_dir)", "state = None"))
    script = root / "examples" / "quickstart.sh"
    text = script.read_text()
    # The build is not what this is about: the program that is there is used.
    assert "reprieve=$root/build/supervisor/reprieve" in text and "quietly " in text
    text = text.replace("reprieve=$root/build/supervisor/reprieve", f"reprieve={harness.REPRIEVE}")
    text = re.sub(r"(?m)^\s*quietly \"\$root.*$", "\ttrue", text)
    script.write_text(text)
    result = subprocess.run([script], text=True, capture_output=True, timeout=600, stdin=subprocess.DEVNULL,
                            env={**os.environ, "TMPDIR": str(tmp_path)}, preexec_fn=harness.die_with_parent)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "does not load its checkpoint" in result.stdout
    assert "weights are the same" not in result.stdout


def test_training_is_the_same_bit_for_bit_after_a_restart(tmp_path):
    """Without Reprieve: what the drill compares must not depend on luck."""
    job = [harness.PYTHON, str(harness.ROOT / "examples" / "train_digits.py"), "--save-every", "70"]

    def train(directory, steps, out):
        result = subprocess.run([*job, "--checkpoint-dir", directory, "--steps", str(steps), "--out", out], cwd=tmp_path, text=True,
                                capture_output=True, timeout=harness.LIMIT)
        assert result.returncode == 0, result.stderr
        return result.stdout

    train("whole", 200, "whole.npy")
    train("parts", 100, "first.npy")
    assert "resumed from step 70" in train("parts", 200, "parts.npy")
    assert (tmp_path / "whole.npy").read_bytes() == (tmp_path / "parts.npy").read_bytes()
    assert (tmp_path / "whole.npy").read_bytes() != (tmp_path / "first.npy").read_bytes()
    assert len(list((tmp_path / "whole").iterdir())) == 2


def test_install_packages_says_what_is_wrong():
    script = str(harness.ROOT / "examples" / "install_packages.sh")
    for arguments, said in (([], "usage"), (["everything"], "unknown group")):
        result = subprocess.run(["bash", script, *arguments], text=True, capture_output=True, timeout=harness.LIMIT)
        assert result.returncode == 1 and said in result.stderr
    # Neither Debian nor Ubuntu: one line, and nothing is tried.
    result = subprocess.run(["/bin/bash", script, "run"], text=True, capture_output=True, timeout=harness.LIMIT,
                            env={**os.environ, "PATH": "/nonexistent"})
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1 and "no apt-get" in result.stderr
