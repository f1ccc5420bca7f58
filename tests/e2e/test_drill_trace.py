"""reprieve drill --trace: a job under a list of preemptions, bare, under reprieve and under the script of examples/bash."""
import importlib.util
import os
import signal
import subprocess

import harness
import pytest

SCRIPT = harness.ROOT / "examples" / "bash" / "trap_and_sync.sh"
TRACES = harness.ROOT / "examples" / "traces"
JOB = '''
import os, sys, time
from pathlib import Path
here = Path("checkpoints")
here.mkdir(exist_ok=True)
step = max((int(path.suffix[1:]) for path in here.glob("state.*")), default=0)
print("begins at", step, flush=True)
while step < int(sys.argv[1]):
    time.sleep(0.02)
    step += 1
    if step % 10 == 0:
        Path("unfinished").write_text(str(step))
        os.rename("unfinished", here / f"state.{step}")
'''


@pytest.fixture
def drill(place):
    (place.path / "job.py").write_text(JOB)

    def play(trace, *options, command=(harness.PYTHON, "job.py", "150")):
        (place.path / "trace").write_text(trace)
        return place.query("drill", "--trace", "trace", *options, "--", *command)

    return play


def test_goodput_beside_that_of_the_script(drill):
    result = drill("# seconds, notice\n3600\n7200 120\n", "--notice", "2s", "--json")
    assert result.code == 0, result
    bare, *others = result.json["lanes"]
    assert [lane["name"] for lane in (bare, *others)] == ["undisturbed", "reprieve", "script"]
    assert bare["machines"] == 1 and bare["goodput"] == 1 and result.json["preemptions"] == 2
    assert result.json["speed"] == pytest.approx(7200 / bare["paid_seconds"], rel=0.01)
    for lane in others:
        assert lane["finished"] and 2 <= lane["machines"] <= 3 and lane["goodput"] < 1
        assert lane["goodput"] == pytest.approx(bare["paid_seconds"] / lane["paid_seconds"], abs=0.002)


def test_a_job_that_fails_once_it_resumes(drill, place):
    """Whoever runs it, it has no goodput, and the line says how it ended."""
    (place.path / "job.py").write_text(JOB.replace("while step <", "assert step == 0\nwhile step <"))
    result = drill("1\n", "--keep")
    assert result.code == 1 and "undisturbed" in result.out, result
    assert "   0.0 %  ended with 1: AssertionError" in result.out, result


@pytest.mark.parametrize("trace, options, says", [
    ("", [], "it has no preemption"),
    ("60 1\n60 1\n", [], "'60 1': write a later time"),
    ("an hour\n", [], "'an hour': write a later time"),
    ("60\n", ["--gang", "2"], "leave --gang"),
], ids=["none", "not-later", "words", "gang"])
def test_what_cannot_be_played(drill, trace, options, says):
    result = drill(trace, *options)
    assert result.code == harness.EXIT_USAGE and says in harness.one_line(result), result


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_examples_are_what_their_generator_writes(drill, path):
    spec = importlib.util.spec_from_file_location("generate", TRACES / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert path.read_text() == module.trace(*module.TRACES[path.name]) and "https://" in path.read_text()
    result = drill(path.read_text(), command=("false",))
    assert "the job ends with 1 undisturbed" in harness.one_line(result), result


def test_the_script_copies_and_restores(place):
    (place.path / "job.py").write_text(JOB)
    command, environment = [SCRIPT, harness.PYTHON, "job.py", "100000"], {**place.environment, "STORE": str(place.path / "copies"), "EVERY": "0.1"}
    first = subprocess.Popen(command, cwd=place.path, env=environment, preexec_fn=harness.die_with_parent)
    harness.wait_for("a copy", lambda: list((place.path / "copies").glob("state.*")))
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait(harness.LIMIT) == 143
    for path in (place.path / "checkpoints").iterdir():
        path.unlink()
    command[-1] = "1"
    again = subprocess.run(command, cwd=place.path, env=environment, capture_output=True, text=True, timeout=harness.LIMIT)
    assert again.returncode == 0 and int(again.stdout.split()[-1]) >= 10, again
