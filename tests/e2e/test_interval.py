"""How often a job is asked (--every auto), what a preemption would cost, and the plan at a notice."""
import json
from pathlib import Path

import pytest

from harness import PYTHON, SAVER, wait_for

TRAINER = str(Path(__file__).resolve().parent / "trainer.py")
QUICK = ("--quiet-time", "150ms")
AUTO = (*QUICK, "--every", "auto", "--checkpoint-signal", "USR1")


def trainer(place, *options):
    return (PYTHON, "-u", TRAINER, "--dir", place.directory, "--signal", "USR1", *options)


def preempted(place, run, notice):
    notice.write_text(json.dumps({"reason": "drill", "in_seconds": 60}))
    assert run.wait() == 75, run
    notice.unlink()


def test_auto_learns_what_a_save_takes_and_the_next_attempt_knows_it(place, tmp_path):
    notice = tmp_path / "notice"
    options = (*AUTO, "--notice", f"file:{notice}")
    first = place.run(*trainer(place, "--every", "60", "--steps", "100000"), options=options)
    guess = first.wait_for_event("interval")
    assert guess["save_seconds"] is None and guess["mtbf_seconds"] == 4 * 3600
    chosen = first.wait_for_event("interval", count=2)
    assert 0 < chosen["save_seconds"] < 10 and chosen["seconds"] < guess["seconds"]
    first.wait_for_event("durable")
    preempted(place, first, notice)
    assert first.err.count("--every auto: first checkpoint after") == 1
    assert first.err.count("--every auto: checkpoint every") >= 1
    second = place.run(*trainer(place, "--steps", "100000"), options=options)
    known = second.wait_for_event("interval")
    assert known["save_seconds"] is not None
    # One interruption more, that came early, and was announced in time.
    assert known["mtbf_seconds"] < 4 * 3600 and known["announced"] > chosen["announced"]
    preempted(place, second, notice)
    third = place.run(*trainer(place, "--steps", "100000"), options=(*options, "--mtbf", "10h"))
    assert third.wait_for_event("interval")["mtbf_seconds"] == 36000


@pytest.mark.long
def test_auto_asks_when_it_is_time(place, tmp_path):
    notice = tmp_path / "notice"
    options = (*AUTO, "--mtbf", "1m", "--notice", f"file:{notice}")
    first = place.run(*trainer(place, "--steps", "100000"), options=options)
    first.wait_for_output("step 5\n")
    preempted(place, first, notice)
    second = place.run(*trainer(place, "--steps", "100000"), options=options)
    assert second.wait_for_event("asked")["reason"] == "interval"
    second.wait_for_event("durable")
    assert second.event("interval")["seconds"] == 10


def test_a_regular_interval_is_as_it_was(place):
    run = place.run(*trainer(place, "--steps", "100000"), options=(*QUICK, "--every", "300ms", "--checkpoint-signal", "USR1"))
    run.wait_for_event("durable", count=2)
    assert run.event("asked")["reason"] == "interval" and run.event("interval") is None


def test_the_plan_and_what_would_be_lost_are_said(place, tmp_path):
    notice = tmp_path / "notice"
    run = place.run(*trainer(place, "--every", "60", "--steps", "100000"),
                    options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}"))
    run.wait_for_event("durable")
    status = wait_for("what would be lost", lambda: place.query("status", "--job", place.job), process=run.process)
    assert "at risk   a preemption now would lose " in status.out, status
    document = place.query("status", "--job", place.job, "--json").json["jobs"][0]
    assert document["at_risk_seconds"] > 0 and "would lose" in document["loss"]
    preempted(place, run, notice)
    assert "plan: a fresh checkpoint (save takes " in run.event("plan")["text"]
    assert run.err.count("reprieve: plan: ") == 1


def test_a_command_without_a_store_has_no_plan(place):
    run = place.query("run", "--grace", "20", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 100")
    assert run.code == 143 and "plan" not in run.err, run


def test_a_save_that_cannot_fit_is_said_once(place):
    run = place.run(*trainer(place, "--every", "250", "--gap", "1.3", "--steps", "100000"),
                    options=("--quiet-time", "2s", "--grace", "1", "--checkpoint-signal", "USR1"))
    warned = run.wait_for_event("upload_exceeds_notice")
    assert warned["save_seconds"] > 1 and warned["window_seconds"] == 1
    assert run.err.count("exceeds the 1.0 s of --grace") == 1, run.err


@pytest.mark.long
def test_what_is_on_its_way_goes_first_where_a_fresh_one_does_not_fit(place, tmp_path):
    notice = tmp_path / "notice"
    run = place.run(PYTHON, SAVER, "--pause", "5", "--size", "12000000",
                    options=(*QUICK, "--checkpoint-signal", "USR1", "--bandwidth", "1500kB/s", "--notice", f"file:{notice}"))
    upload = run.wait_for_event("durable")["seconds"]
    run.wait_for_event("checkpoint_complete", count=2)
    # Enough for the one that is on its way, and not for another one behind it.
    (tmp_path / "new").write_text(json.dumps({"reason": "drill", "in_seconds": 1.6 * upload}))
    (tmp_path / "new").rename(notice)
    run.wait_for_event("plan")
    run.wait()
    kinds = [event["event"] for event in run.events()]
    assert "upload the newest complete checkpoint" in run.event("plan")["text"], run
    after = kinds[kinds.index("plan"):]
    asked = next(place for place, kind in enumerate(after) if kind in ("asked", "request_failed"))  # it has no handler: asking it shows all the same
    assert after.index("durable") < asked, "the job is asked only when that one is safe"


# --- trackers ---

SAYS_RUN = "import os; print(os.environ.get('WANDB_RUN_ID'), os.environ.get('WANDB_RESUME'), flush=True); raise SystemExit(3)"


def run_of(place, *options, **environment):
    run = place.run(PYTHON, "-c", SAYS_RUN, options=options, **environment)
    assert run.wait() == 3, run
    return run.out.split()


def test_all_attempts_are_one_run_for_wandb(place):
    first, resume = run_of(place)
    assert first.isalnum() and resume == "allow"
    assert run_of(place) == [first, "allow"]
    assert run_of(place, "--restore", "none") != [first, "allow"], "who begins afresh begins a new run"
    second, _ = run_of(place)
    assert second != first


def test_what_the_user_set_stays(place):
    assert run_of(place, WANDB_RUN_ID="mine") == ["mine", "allow"]
    assert run_of(place, WANDB_RESUME="must")[1] == "must"
    assert run_of(place, WANDB_SWEEP_ID="s") == ["None", "None"]
    assert run_of(place, "--run-identity", "off") == ["None", "None"]
