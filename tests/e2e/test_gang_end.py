"""How a gang ends: the last files of its members, and what lies beside their checkpoints (gang_rounds.h)."""
import re
import signal

import harness
from gang import Gang, assert_not_torn, committed_step
from harness import wait_for


def end_with_a_final_model(place, finish, **options):
    gang = Gang(place, 2, every=10, steps=20, **options)
    gang.each[0]["final"] = finish
    gang.start_all()
    gang.runs[1].wait_for_event("child_exited")
    return gang


def test_a_final_model_after_the_others_have_ended(place, tmp_path):
    """It has no step, and the others have nothing to add: when the last job ends, each member gives what is there."""
    finish = place.path / "finish"
    gang = end_with_a_final_model(place, finish)
    gang.wait_for_commits(1)
    assert gang.runs[1].process.poll() is None
    finish.touch()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    newest = place.newest()
    assert newest["step"] == 20
    for run in gang.runs:
        assert run.events("durable")[-1]["id"] == newest["id"], f"{gang}"
    again = [tmp_path / "new0", tmp_path / "new1"]
    after = Gang(place, 2, 2, options=(), steps=21, directories=again).start_all()
    assert after.resumed() == [20, 20], f"{after}"
    assert (again[0] / "final_model" / "weights.bin").stat().st_size == 20000
    assert not (again[1] / "final_model").exists()
    assert [run.wait() for run in after.runs] == [0, 0], f"{after}"


def test_the_others_wait_for_as_long_as_one_works(place):
    """Longer than --flush-time, of which the job of member 0 knows nothing: it is heard of again and again."""
    finish = place.path / "finish"
    gang = end_with_a_final_model(place, finish, options=("--flush-time", "15s"))
    log = place.store_path / "jobs/job/gang/000001/log"
    wait_for("it was said three times", lambda: sum('"word":"on"' in event.read_text().replace(" ", "") for event in log.iterdir()) >= 3)
    finish.touch()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert place.newest()["id"] == gang.runs[0].events("ended")[-1]["durable"]
    assert place.newest()["files"] == 5


def test_nothing_is_added_to_what_is_durable(place):
    """Nobody has more in the end than the last snapshot: no other one is made."""
    gang = Gang(place, 2, every=10, steps=20).start_all()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert place.newest()["step"] == 20
    assert len(place.snapshots()) <= 2


def test_a_member_that_dies_before_the_end_is_named(place):
    """The others wait for it, and then do not count as finished: what they have left is not durable."""
    finish = place.path / "finish"
    gang = end_with_a_final_model(place, finish, options=("--flush-time", "4s"))
    gang.wait_for_commits(1)
    gang.runs[1].signal(signal.SIGSTOP)
    finish.touch()
    run = gang.runs[0]
    assert run.wait() == harness.EXIT_NOT_DURABLE, f"{gang}"
    assert "waits for the part of member 1" in run.err and "NOT durable" in run.err, f"{gang}"
    gang.kill_all()
    assert [snapshot["step"] for snapshot in place.snapshots()] == [20]


def test_a_member_that_writes_settings_alone(place, tmp_path):
    """Rank 0 saves for all. Settings and curves of the others are in each snapshot, and do not keep it waiting."""
    gang = Gang(place, 2, every=10, savers="0", settings=1, curve=1, step_time=0.03).start_all()
    gang.runs[0].wait_for_event("durable", 4)
    gang.kill_all()
    step = committed_step(place)
    assert step >= 30
    again = [tmp_path / "new0", tmp_path / "new1"]
    after = Gang(place, 2, 2, every=10, savers="0", curve=1, steps=step + 5, directories=again).start_all()
    assert after.resumed() == [step] * 2, f"{after}"
    assert [run.wait() for run in after.runs] == [0, 0], f"{after}"
    for member, directory in enumerate(again):
        assert (directory / "args.json").read_text() == '{"rank": %d}' % member
        steps = [int(line) for line in (directory / "curve.csv").read_text().split()]
        # It goes on where the snapshot had it; what was added after that is done again.
        assert steps[0] == 1 and steps[-1] == step + 5
        assert set(range(step - 10, step + 6)) <= set(steps), f"{steps}"
    third = [tmp_path / "third0", tmp_path / "third1"]
    last = Gang(place, 2, 3, options=(), savers="0", steps=step + 6, directories=third).start_all()
    assert last.resumed() == [step] * 2, f"{last}"
    for directory in third:
        assert (directory / "curve.csv").read_text().split()[-1] == str(step + 5)
    assert_not_torn(last)


def test_a_state_under_a_fixed_name_is_never_mixed_in(place):
    """Nothing says of which step last_rank1.pt is: beside a checkpoint of rank 0 it would be of another one."""
    gang = Gang(place, 2, every=10, savers="0", step_time=0.02)
    gang.each[1]["fixed"] = "last_rank1.pt"
    gang.start_all()
    run = gang.runs[0]
    wait_for("it is refused", lambda: "its checkpoint has no step" in run.err, process=run.process, about=run)
    gang.runs[1].wait_for_event("checkpoint_complete", 3)
    gang.kill_all()
    assert place.snapshots() == []


def test_that_a_member_saves_nothing_is_known_from_the_last_snapshots(place):
    """Rank 0 saves once in this attempt: no later checkpoint says that the other one has nothing of it."""
    gang = Gang(place, 2, every=10, savers="0", step_time=0.02).start_all()
    gang.runs[0].wait_for_event("durable", 3)
    gang.kill_all()
    step = committed_step(place)
    after = Gang(place, 2, 2, every=step + 5, savers="0", signal="USR1").start_all()
    assert after.resumed() == [step] * 2, f"{after}"
    after.runs[0].wait_for_event("durable")
    assert committed_step(place) == step + 5
    after.runs[1].signal(signal.SIGTERM)
    assert after.runs[1].wait() in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{after}"
    after.kill_all()
    said, = re.findall(r"durable: (.*) \(exit", after.runs[1].err)
    assert f"step {step}" not in said and "as of the start" not in said, f"{after}"  # what others have saved since is of another step


def test_a_member_that_saves_after_all(place):
    gang = Gang(place, 2, every=10, savers="0", step_time=0.02).start_all()
    gang.runs[0].wait_for_event("durable", 3)
    gang.kill_all()
    step = committed_step(place)
    after = Gang(place, 2, 2, every=10, step_time=0.05, keep=1000).start_all()
    assert after.resumed() == [step] * 2, f"{after}"
    wait_for("it is said", lambda: "this member saves checkpoints after all" in after.runs[1].err, process=after.runs[1].process, about=after)
    after.wait_for_commits(2)
    after.kill_all()
    assert_not_torn(after)


def test_a_job_that_answers_no_notice(place):
    """Of a gang, what was saved counts: all of it is durable, so all say so, and not that they were asked in vain."""
    gang = Gang(place, 2, every=10, until=20, options=("--checkpoint-command", "true", "--grace", "4")).start_all()
    for run in gang.runs:
        wait_for("step 20 is durable", lambda run=run: any(event["step"] == 20 for event in run.events("durable")), process=run.process, about=run)
    gang.runs[0].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 2, f"{gang}"
    for run in gang.runs:
        assert run.event("asked") and f"durable: {place.newest()['id']} (step 20" in run.err.splitlines()[-1], f"{run}"


def test_the_first_checkpoint_of_all_at_a_notice_where_rank_0_saves(place, tmp_path):
    """No later one says that the other has nothing of it. But its job was asked as well, and has ended in order without one."""
    gang = Gang(place, 2, every=0, savers="0", signal="USR1", leave=1, settings=1, options=("--checkpoint-signal", "USR1")).start_all()
    for run in gang.runs:
        run.wait_for_output("step 5")
    gang.runs[0].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 2, f"{gang}"
    step = committed_step(place)
    assert f"saved {step}" in gang.runs[0].out, f"{gang}"
    again = [tmp_path / "new0", tmp_path / "new1"]
    after = Gang(place, 2, 2, savers="0", steps=step + 5, directories=again).start_all()
    assert after.resumed() == [step] * 2, f"{after}"
    for member, directory in enumerate(again):
        assert (directory / "args.json").read_text() == '{"rank": %d}' % member
    assert [run.wait() for run in after.runs] == [0, 0], f"{after}"


def test_a_job_that_was_cut_before_its_first_checkpoint_is_not_taken_for_one_that_has_none(place):
    """Each rank saves, and that of member 1 is ended before it does: the shard of member 0 alone is no checkpoint."""
    gang = Gang(place, 2, every=0, signal="USR1", answers=1, options=("--checkpoint-signal", "USR1", "--grace", "6"))
    gang.each[1]["savers"] = "0"
    gang.start_all()
    for run in gang.runs:
        run.wait_for_output("step 5")
    gang.runs[0].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_NOT_DURABLE] * 2, f"{gang}"
    assert place.snapshots() == []


def test_a_job_that_ends_in_order_says_nothing_of_an_older_checkpoint(place):
    """Member 0 has saved its shard of step 10, and member 1 ends when it is asked: it may have been about to save its own."""
    gang = Gang(place, 2, every=10, until=10, savers="0", signal="USR1", answers=0, leave=1, options=("--checkpoint-signal", "USR1", "--grace", "6"))
    gang.start_all()
    gang.runs[0].wait_for_output("saved 10")
    gang.runs[1].wait_for_output("step 11")
    gang.runs[0].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_NOT_DURABLE] * 2, f"{gang}"
    assert place.snapshots() == []
    assert "had no part yet of this older checkpoint" in gang.runs[1].err + gang.runs[0].err, f"{gang}"


def test_a_member_that_is_told_to_end_before_it_sees_the_commit(place, faults):
    """Member 1 gives the last part, and commits. What member 0 hears of that hangs; so it looks once more before it says anything."""
    part, snapshot = "jobs/job/parts/000001/000002/00001[.]json", "jobs/job/snapshots/000001-000002[.]json"
    hangs = {"on": {"method": "GET", "key": snapshot}, "answer": {"stall": 0}}
    faults.load({"rules": [{"on": {"method": "PUT", "key": part}, "answer": {"status": 503, "code": "SlowDown"}}, hangs]})
    place.store = "s3://snaps/runs"
    place.environment.update(faults.environment)
    gang = Gang(place, 2, every=10, until=10, options=("--checkpoint-command", "true", "--grace", "3")).start_all()
    wait_for("member 0 asks for the commit", lambda: any(re.search(snapshot, key) for _, key, *_ in faults.log), process=gang.runs[0].process, about=gang)
    faults.load({"rules": [hangs]})
    gang.runs[1].wait_for_event("durable")
    faults.behave()
    run = gang.runs[0]
    assert not run.event("durable"), f"{gang}"
    run.signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 2, f"{gang}"
    assert "durable: 000001-000002, which another member has committed" in run.err and "durable: 000001-000002 (step 10" in run.err, f"{run}"
    assert [event["id"] for event in run.events("durable")] == ["000001-000002"], f"{run}"
