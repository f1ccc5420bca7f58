"""`reprieve report`: what attempts have done, lost and cost, from what they left in the store."""
import signal
import socket

import pytest

from harness import EXIT_DURABLE, PYTHON, SAVER, one_line, wait_for

ASKED = ("--quiet-time", "200ms", "--checkpoint-signal", "USR1")


def preempted(place, *options):
    run = place.run(PYTHON, SAVER, "--on-signal", options=(*ASKED, *options))
    run.wait_for_output("resumes")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    return run


def killed(place, *options):
    run = place.run(PYTHON, SAVER, "--pause", "0.5", options=(*ASKED, *options))
    run.wait_for_event("durable")
    run.kill()
    return run


def test_attempts_are_accounted_for(place):
    first = preempted(place)
    killed(place)
    last = place.run(PYTHON, "-c", "raise SystemExit(3)", options=ASKED)
    assert last.wait() == 3
    report = place.verb("report", "--json").json
    assert report["schema"] == 1
    job = report["jobs"][0]
    attempts = job["list"]
    assert [attempt["outcome"] for attempt in attempts] == ["preempted", "lost without a word", "failed"]
    assert [attempt["interrupted"] for attempt in attempts] == [True, True, False]
    assert attempts[0]["source"] == "sigterm" and attempts[0]["notice_seconds"] > 0
    exited, durable = first.event("child_exited"), first.events("durable")[-1]
    # Also what the job did while it was not known yet that its save was complete; but not its exit.
    written = durable["monotonic_ms"] / 1000 - durable["age"]
    assert durable["age"] > durable["seconds"]
    told = first.event("stopping")["monotonic_ms"] / 1000
    assert attempts[0]["lost_seconds"] == pytest.approx(max(told - written, 0), abs=0.002)
    # The time of a write is as fine as the tick of the kernel (10 ms at most).
    assert attempts[0]["kept_seconds"] == pytest.approx(written - first.event("launched")["monotonic_ms"] / 1000, abs=0.012)
    assert attempts[2]["lost_seconds"] > 0, "a failure loses work too"
    assert attempts[0]["ran_seconds"] >= (exited["monotonic_ms"] - first.event("launched")["monotonic_ms"]) / 1000
    assert (job["attempts"], job["preemptions"], job["announced"]) == (3, 2, 1)
    people = place.verb("report")
    assert people.code == 0 and "3 attempts, 2 preemptions (1 announced)" in people.out
    assert "lost without a word" in people.out and "sigterm, 30 s" in people.out
    assert ", at least " in people.out and " are lost" in people.out, "one of them is not known to its end"
    shown = float(people.out.split("goodput")[1].split(" %")[0])
    assert 0 < job["goodput"] < 1 and shown == pytest.approx(100 * job["goodput"], abs=0.1), people
    assert job["at_least"]


def test_an_attempt_that_was_killed_is_counted_until_its_newest_snapshot(place):
    """It has left no ledger yet; what it has made durable has dates."""
    killed(place)
    assert place.run("true", options=ASKED).wait() == 0
    attempt = place.verb("report", "--json").json["jobs"][0]["list"][0]
    assert attempt["outcome"] == "lost without a word" and attempt["at_least"], attempt
    assert attempt["ran_seconds"] > 0 and attempt["kept_seconds"] == attempt["ran_seconds"], attempt
    [row] = [line for line in place.verb("report").out.splitlines() if "lost without a word" in line]
    assert "?" not in row.split("lost without")[0] and ">?" not in row, row


def test_snapshots_are_counted_as_they_are_now(place):
    """Retention has removed others, and the column says what it counts."""
    run = place.run(PYTHON, SAVER, "--every", "10", "--steps", "60", "--pause", "0.05", options=("--quiet-time", "100ms", "--snapshot-interval", "0"))
    assert run.wait() == 0 and len(run.events("durable")) > 2, run
    assert place.verb("forget", "--keep-last", "1").code == 0
    assert place.verb("report", "--json").json["jobs"][0]["list"][0]["snapshots"] == len(place.snapshots()) < len(run.events("durable"))
    header, row = place.verb("report").out.splitlines()[:2]
    assert row[header.index("IN STORE"):].split()[0] == str(len(place.snapshots()))


def test_the_time_that_a_job_takes_to_exit_is_no_loss(place):
    script = ('mkdir $REPRIEVE_CHECKPOINT_DIR; trap "echo 1 > $REPRIEVE_CHECKPOINT_DIR/model-1.bin; sleep 2; exit 0" TERM; echo ready; while :; do sleep 0.1; done')
    run = place.run("sh", "-c", script, options=("--quiet-time", "200ms"))
    run.wait_for_output("ready")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    exited, durable = run.event("child_exited"), run.events("durable")[-1]
    # Its two seconds less what it takes to see the write.
    assert exited["monotonic_ms"] / 1000 - (durable["monotonic_ms"] / 1000 - durable["age"]) > 1, "it takes its time"
    attempt = place.verb("report", "--json").json["jobs"][0]["list"][0]
    assert attempt["outcome"] == "preempted" and attempt["lost_seconds"] == 0 and attempt["kept_seconds"] > 0


def test_a_run_that_the_user_has_ended_is_no_failure_and_has_lost_what_it_had_not_saved(place):
    run = place.run(PYTHON, SAVER, "--on-signal", options=ASKED)
    run.wait_for_output("resumes")
    run.signal(signal.SIGINT)
    assert run.wait() == 130, run
    job = place.verb("report", "--json").json["jobs"][0]
    attempt = job["list"][0]
    assert attempt["outcome"] == "stopped" and not attempt["interrupted"] and job["preemptions"] == 0
    assert attempt["lost_seconds"] > 0 and attempt["kept_seconds"] == 0 and job["lost_seconds"] == attempt["lost_seconds"]
    row = place.verb("report").out.splitlines()[1]
    assert "stopped" in row and not row.rstrip().endswith(" -"), row


def test_a_job_that_runs_is_no_preemption(place):
    run = place.run(PYTHON, SAVER, "--on-signal", options=ASKED)
    run.wait_for_output("resumes")

    def job():
        return place.verb("report", "--json").json["jobs"][0]
    running = job()
    assert (running["attempts"], running["preemptions"], running["lost_seconds"]) == (1, 0, 0)
    attempt = running["list"][0]
    assert attempt["outcome"] == "running or vanished" and not attempt["interrupted"] and attempt["lost_seconds"] is None
    people = place.verb("report")
    assert "1 attempt, 0 preemptions" in people.out and "running or vanished" in people.out and ">-" not in people.out
    run.kill()
    assert job()["preemptions"] == 0, "nobody has seen yet that it is gone"
    assert place.run("true", options=ASKED).wait() == 0
    known = job()
    assert known["preemptions"] == 1 and known["list"][0]["outcome"] == "lost without a word"


def test_sums_by_label_and_their_cost(place):
    for job, team in (("a", "nlp"), ("b", "nlp"), ("c", "vision")):
        place.job = job
        preempted(place, "--label", f"team={team}")
    words = ("report", "--store", place.store, "--all", "--by", "team", "--spot-price", "3600", "--on-demand-price", "7200")
    report = place.query(*words, "--json").json
    assert {name: group["attempts"] for name, group in report["groups"].items()} == {"nlp": 2, "vision": 1}
    total = report["total"]
    assert total["spot_cost"] == pytest.approx(total["ran_seconds"] + total["restore_seconds"], abs=0.01)
    assert total["on_demand_cost"] == pytest.approx(2 * total["kept_seconds"], abs=0.01)
    people = place.query(*words)
    assert "nlp: 2 attempts" in people.out and "vision: 1 attempt," in people.out and "all: 3 attempts" in people.out
    assert "at $3600.00 an hour" in people.out


def test_an_empty_store_has_nothing_to_report(place):
    nothing = place.verb("report")
    assert nothing.code != 0 and one_line(nothing)


def test_a_second_start_says_that_it_takes_over_and_the_first_is_superseded(place):
    def start(name, steps, *more):
        options = ["--snapshot-interval", "0", "--quiet-time", "100ms", *more]
        return place.run(PYTHON, SAVER, "--steps", steps, "--pause", "0.2", options=options, directory=place.path / name, name=name)

    first = start("one", "1000")
    first.wait_for_event("durable")
    second = start("two", "1000", "--take-over")
    second.wait_for_event("durable")
    wait_for("word at the first", lambda: "superseded" in first.err, process=first.process)
    takeover = [line for line in second.err.splitlines() if "takes it over" in line]
    assert len(takeover) == 1 and "warning" in takeover[0], second
    assert f"is running on {socket.gethostname()} since" in takeover[0] and f"process {first.pid}" in takeover[0]
    first.signal(signal.SIGTERM)
    assert first.wait() == 74, first
    assert f"lies in {first.directory}; the attempt that has taken over goes on without it" in first.err.splitlines()[-1], first
    second.signal(signal.SIGTERM)
    assert second.wait() == 75, second
    attempts = {attempt["attempt"]: attempt for attempt in place.verb("report", "--json").json["jobs"][0]["list"]}
    newest = max(attempts)  # 2; 3 if the first one committed a snapshot while the second one claimed
    assert attempts[1]["superseded_by"] == newest and attempts[1]["lost_seconds"] > 0 and attempts[newest]["superseded_by"] is None
    assert f"superseded by {newest}" in place.verb("report").out


def test_a_start_after_a_dead_one_takes_over_from_nobody(place):
    first = place.run(PYTHON, SAVER, "--steps", "1000", "--pause", "0.2", options=["--quiet-time", "100ms"])
    first.wait_for_event("durable")
    first.kill()
    second = place.run("true")
    assert second.wait() == 0 and "takes it over" not in second.err, second


def test_a_name_that_nobody_has_chosen_comes_with_what_it_stands_for(place):
    """Without any option: one line says where what is kept, and list and report name the job so that one knows it again."""
    (place.path / "train.py").write_text("import os\nos.makedirs('checkpoints')\nopen('checkpoints/step-7.pt', 'w').write('x')\n")
    run = place.query("run", "--", PYTHON, "train.py")
    home = place.environment["XDG_STATE_HOME"] if "XDG_STATE_HOME" in place.environment else f"{place.environment['HOME']}/.local/state"
    [line] = [line for line in run.err.splitlines() if " are kept in " in line]
    assert run.code == 0 and "(--job): the newest 10 and the last of each day" in line and f"file://{home}/reprieve" in line, run
    name = line.split(" as job ")[1].split()[0]
    place.query("run", "--job", "chosen", "--checkpoint-dir", "other", "--", "true")
    for verb in ("list", "report"):
        shown = [line for line in place.query(verb).out.splitlines() if name in line or "chosen" in line]
        assert f"{place.path}/checkpoints: {PYTHON} train.py, step 7 of 20" in "".join(shown), shown
        assert not any("chosen" in line and "checkpoints:" in line for line in shown), shown
