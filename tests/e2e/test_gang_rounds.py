"""The rounds of a gang: what its members save together while the job runs, and who waits for whom (gang_rounds.h)."""
import json
import re
import signal

import harness
import pytest
from gang import Gang, assert_not_torn, committed_step
from harness import wait_for


def test_members_that_save_at_other_steps_have_a_snapshot_of_the_end_alone(place):
    """No two of their checkpoints are of one step, which is said; but once the jobs of all have finished, what each has left is saved as it is."""
    gang = Gang(place, 2, every=10, steps=45, keep=1000)
    gang.each[1]["offset"] = 5
    gang.start_all()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert [snapshot["step"] for snapshot in place.snapshots()] == [45]
    assert any(re.search(r"its steps: [\d, .]+; member \d has [\d, .]+: all must have one step", run.err) for run in gang.runs), f"{gang}"
    assert {run.events("ended")[-1]["durable"] for run in gang.runs} == {place.newest()["id"]}


def test_the_newest_step_that_all_have_is_durable(place, tmp_path):
    """One saves every 10 steps, and the other one every 35: what both have is a snapshot, though each has later ones by then."""
    gang = Gang(place, 2, every=10, step_time=0.03, keep=1000)
    gang.each[1]["every"] = 35
    gang.start_all()
    wait_for("a snapshot of a common step", lambda: committed_step(place) >= 70, process=gang.runs[0].process)
    step = committed_step(place)
    assert step % 70 == 0, f"{gang}"
    gang.kill_all()
    again = Gang(place, 2, 2, every=0, steps=step + 3, directories=[tmp_path / "new0", tmp_path / "new1"]).start_all()
    assert again.resumed() == [step] * 2, f"{again}"
    assert [run.wait() for run in again.runs] == [0, 0], f"{again}"
    assert_not_torn(again)


def test_who_is_missing_in_a_round_is_said(place):
    """Member 1 stands still, and the job of member 0 has ended."""
    gang = Gang(place, 2, every=10, steps=10, options=("--flush-time", "8s")).start_all()
    gang.runs[1].wait_for_output("step 5")
    gang.runs[1].signal(signal.SIGSTOP)
    run = gang.runs[0]
    run.wait()
    gang.runs[1].signal(signal.SIGCONT)
    assert "waits for the part of member 1" in run.err and "1 of 2 are there" in run.err, f"{gang}"


def test_what_is_added_to_a_checkpoint_is_durable_with_another_round(place, tmp_path):
    gang = Gang(place, 2, every=10, until=10).start_all()
    gang.wait_for_commits(1)
    added = gang.directories[0] / "step_10" / "extra.bin"
    added.write_bytes(b"x" * 5000)
    gang.runs[0].wait_for_event("durable", 2)
    gang.kill_all()
    assert len(place.snapshots()) == 2
    elsewhere = [tmp_path / "new0", tmp_path / "new1"]
    again = Gang(place, 2, 2, steps=12, directories=elsewhere).start_all()
    assert again.resumed() == [10, 10], f"{again}"
    assert (elsewhere[0] / "step_10" / "extra.bin").read_bytes() == b"x" * 5000


def test_ranks_that_begin_anew_are_not_mixed(place):
    """A launcher starts all ranks anew within one attempt: they go on from step 20 and save 30 once more."""
    gang = Gang(place, 2, every=10, steps=60, anew_at=25).start_all()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert "resumed 20" in gang.runs[0].out and "resumed 20" in gang.runs[1].out
    assert_not_torn(gang)
    assert committed_step(place) == 60
    again = Gang(place, 2, 2, options=(), steps=62).start_all()
    assert again.resumed() == [60, 60], f"{again}"


def runs_in(place, snapshot):
    """Which run of the job has saved what each member has in it."""
    whole = place.path / f"restored-{snapshot}"
    assert place.verb("restore", snapshot, whole).code == 0
    return {path.read_bytes().split(b"\n", 1)[0] for path in whole.glob("member-*/step_*/*") if snapshot_step(place, snapshot) in path.parent.name}


def snapshot_step(place, snapshot):
    return "step_%d" % next(item["step"] for item in place.snapshots() if item["id"] == snapshot)


@pytest.mark.parametrize("first", [(1,), (0, 1)], ids=["one", "both"])
def test_ranks_that_a_loop_starts_anew_are_not_mixed(place, first):
    """They resume at 20 and save 30 once more, while the round of 30 is open: member 0 has given in it what the ranks before have saved,
    unless it was slow."""
    gang = Gang(place, 2, every=10, steps=50, step_time=0.25, loop=1, anew_from=20, keep=100)
    for member in first:
        gang.each[member]["anew_at"] = 39
    gang.start_all()
    gang.wait_for_commits(1)
    gang.runs[1].wait_for_output("step 22")
    gang.runs[1].signal(signal.SIGSTOP)
    gang.runs[0].wait_for_output("resumed 20")
    run = gang.runs[1]
    wait_for("30 is saved once more", lambda: run.out.count("saved 30") == 2, process=run.process)
    run.signal(signal.SIGCONT)
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert "the job has begun anew within this attempt" in gang.runs[0].err and "the job has begun anew" in run.err, f"{gang}"
    assert committed_step(place) == 50
    for snapshot in place.snapshots():
        assert len(runs_in(place, snapshot["id"])) == 1, f"{snapshot}\n{gang}"


def test_a_job_that_fails_ends_the_others(place):
    """They would hang in their next collective. What was committed stands, and all resume from it."""
    gang = Gang(place, 3, every=10, step_time=0.05)
    gang.each[1]["fail_at"] = 45
    gang.start_all()
    assert gang.runs[1].wait() == 3, f"{gang}"
    for run in (gang.runs[0], gang.runs[2]):
        assert run.wait() in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{gang}"
        assert "member 1 on" in run.err and "its job has failed (exit code 3)" in run.err, f"{gang}"
    step = committed_step(place)
    again = Gang(place, 3, 2, steps=step + 5).start_all()
    assert again.resumed() == [step] * 3, f"{again}"


def test_a_lost_machine_is_no_failure_of_the_others(place):
    """Their collectives fail when it is gone, with the job's own error. It is named, and they end as after a preemption."""
    gang = Gang(place, 3, every=10, step_time=0.05)
    gang.start_all()
    gang.wait_for_commits(1)
    gang.runs[1].kill()
    (place.path / "meet" / "1." / "failed").touch()
    for run in (gang.runs[0], gang.runs[2]):
        assert run.wait() in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{gang}"
        assert "is lost" in run.err and "member 1" in run.err, f"{gang}"


def test_a_notice_reaches_members_that_save_nothing(place):
    """Rank 0 alone saves; the machine of member 1 is taken away."""
    gang = Gang(place, 2, every=10, savers="0", step_time=0.05, signal="USR1",
                options=("--checkpoint-signal", "USR1", "--grace", "20")).start_all()
    gang.runs[0].wait_for_event("durable")
    gang.runs[1].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 2, f"{gang}"
    assert gang.runs[0].event("notice")["source"] == "gang"
    assert {run.events("ended")[-1]["durable"] for run in gang.runs} == {place.newest()["id"]}


def test_a_request_at_one_member_is_durable_for_all(place):
    gang = Gang(place, 2, every=0, signal="USR1", options=("--checkpoint-signal", "USR1")).start_all()
    for run in gang.runs:
        run.wait_for_output("step 5")
    asked = place.query("checkpoint", "--pid", gang.runs[1].pid, "--json")
    assert asked.code == 0, f"{asked}\n{gang}"
    newest = place.newest()
    assert newest["step"] > 0
    gang.kill_all()
    step = committed_step(place)  # the other one may have been asked later, and have saved once more
    again = Gang(place, 2, 2, steps=step + 2, every=0).start_all()
    assert again.resumed()[0] == again.resumed()[1] >= step, f"{again}"


def test_a_request_at_a_member_that_saves_nothing(place):
    gang = Gang(place, 2, every=10, savers="0", step_time=0.03, signal="USR1", options=("--checkpoint-signal", "USR1")).start_all()
    gang.runs[0].wait_for_event("durable")
    asked = place.query("checkpoint", "--pid", gang.runs[1].pid, "--json")
    assert asked.code == 0, f"{asked}\n{gang}"


def test_a_notice_that_is_withdrawn_ends_all_the_same(place, tmp_path):
    """The others have been told, and end by it: whoever stayed would hang in its next collective."""
    told = tmp_path / "notice"
    gang = Gang(place, 2, every=0, signal="USR1", options=("--checkpoint-signal", "USR1"))
    gang.start(0)
    gang.options += ("--notice", f"file:{told}")
    gang.start(1)
    for run in gang.runs:
        run.wait_for_output("step 5")
    gang.runs[0].signal(signal.SIGSTOP)
    told.write_text(json.dumps({"reason": "maybe", "in_seconds": 600}))
    wait_for("the others are told", lambda: any('"kind":"notice"' in path.read_text() for path in place.store_path.glob(
        "jobs/job/gang/000001/log/*.json")), process=gang.runs[1].process)
    told.unlink()
    wait_for("it is withdrawn", lambda: any(e["kind"] == "cancelled" for e in gang.runs[1].events("notice")), process=gang.runs[1].process)
    gang.runs[0].signal(signal.SIGCONT)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 2, f"{gang}"
    assert "have been told of the notice" in gang.runs[1].err
    assert {run.events("ended")[-1]["durable"] for run in gang.runs} == {place.newest()["id"]}


def parts(place):
    return sorted(path.name for path in place.store_path.glob("jobs/job/parts/000001/*/*.json"))


def test_the_last_putter_dies_at_a_notice(place):
    """Member 1 puts the last part, and is killed before it commits: member 0 commits in the time that the notice leaves."""
    gang = Gang(place, 2, every=0, signal="USR1", options=("--checkpoint-signal", "USR1", "--grace", "14"))
    gang.start(0)
    gang.start(1, REPRIEVE_FAULT="before_manifest_put")
    for run in gang.runs:
        run.wait_for_output("step 5")
    gang.runs[1].signal(signal.SIGSTOP)
    gang.runs[0].signal(signal.SIGTERM)
    wait_for("the part of member 0", lambda: parts(place) == ["00000.json"], process=gang.runs[0].process)
    gang.runs[1].signal(signal.SIGCONT)
    assert gang.runs[1].wait() == -signal.SIGKILL, f"{gang}"
    assert gang.runs[0].wait() == harness.EXIT_DURABLE, f"{gang}"
    newest = place.newest()
    gang.kill_all()
    assert gang.runs[0].events("ended")[-1]["durable"] == newest["id"]
    again = Gang(place, 2, 2, steps=newest["step"] + 3, every=0).start_all()
    assert again.resumed() == [newest["step"]] * 2, f"{again}"


def test_all_die_before_they_commit(place):
    """With the parts of all in the store: the next start commits them, and goes on from there."""
    gang = Gang(place, 2, every=0, signal="USR1", options=("--checkpoint-signal", "USR1", "--grace", "20"))
    for member in range(2):
        gang.start(member, REPRIEVE_FAULT="before_manifest_put")
    for run in gang.runs:
        run.wait_for_output("step 5")
    gang.runs[1].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [-signal.SIGKILL] * 2, f"{gang}"
    gang.kill_all()
    assert place.snapshots() == [] and parts(place) == ["00000.json", "00001.json"]
    part = next(place.store_path.glob("jobs/job/parts/000001/*/00000.json")).read_text()
    step = int(re.search(r'"step":(\d+)', part).group(1))
    again = Gang(place, 2, 2, every=0, steps=step + 3).start_all()
    assert again.resumed() == [step] * 2, f"{again}"
    assert "the parts of all members were there" in again.runs[0].err
    assert [run.wait() for run in again.runs] == [0, 0]
    assert_not_torn(again)
    assert place.verb("verify").code == 0
