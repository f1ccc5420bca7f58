"""How a job is told to end that cannot be asked for a checkpoint: with time to hear it."""
import json
from pathlib import Path

from harness import PYTHON

GATED = str(Path(__file__).resolve().parent / "gated.py")


def begin(place, step):
    (place.path / f"begin-{step}").touch()


def go(place, step):
    (place.path / f"go-{step}").touch()


def start(place, *arguments, options=(), quiet="0.3"):
    """With one checkpoint that is durable."""
    begin(place, 1)
    go(place, 1)
    run = place.run(PYTHON, GATED, *arguments, options=("--quiet-time", quiet, "--grace", "60", *options))
    run.wait_for_event("durable")
    return run


def start_saving(place, *arguments, options=()):
    """And in the midst of the second one."""
    run = start(place, *arguments, options=options)
    begin(place, 2)
    run.wait_for_output("saving 2\n")
    run.wait_for_event("saving", 2)
    return run


def test_who_is_told_to_end_in_the_midst_of_a_save_has_time_to_hear_it(place, tmp_path):
    notice = tmp_path / "notice"
    run = start_saving(place, "2", "--handler", options=("--checkpoint-signal", "none", "--notice", f"file:{notice}"))
    notice.write_text(json.dumps({"reason": "short", "in_seconds": 12}))
    assert run.wait() == 75, run
    assert "has cleaned up\n" in run.out, run
    assert [event["signal"] for event in run.events("stopping")] == ["TERM"]
    assert "has not ended" not in run.err
