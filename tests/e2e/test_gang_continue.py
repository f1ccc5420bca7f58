"""--on-preemption continue: a machine that is taken away leaves alone, the others go on, and what they save from then on is theirs."""
import json
import signal

import harness
import pytest
from gang import Gang, assert_not_torn, assert_resumed, committed_step
from harness import wait_for

OPTIONS = ("--on-preemption", "continue", "--checkpoint-signal", "USR1", "--grace", "30")


def elastic(place, members, generation=1, options=(), **rank):
    return Gang(place, members, generation, options=(*OPTIONS, *options), **{"layout": "dcp", "elastic": 1, "signal": "USR1", "every": 10, **rank})


def leave(gang, *members):
    """Their machines are taken away. Each ends with 75, and the others go on."""
    for member in members:
        gang.runs[member].signal(signal.SIGTERM)
    for member in members:
        assert gang.runs[member].wait() == harness.EXIT_DURABLE, f"{gang}"


def wait_for_snapshot_of(gang, count, of, after=0):
    """A durable one, of so many members, that is behind that step."""
    def there():
        newest = gang.place.newest()
        return newest and newest["step"] > after and newest["members"] - newest["members_without_checkpoint"] == count and newest["members"] == of and newest
    return wait_for(f"a snapshot of {count} of {of}", there)


def assert_restored(place, tmp_path, generation, members, step, files=None):
    """All of them, on new machines, from that step, with the files of all that were in it. Or from a later one that was whole when the last
    member ended, and that this start has committed."""
    new = [tmp_path / f"new{generation}-{member}" for member in range(members)]
    after = Gang(place, members, generation, options=OPTIONS, directories=new, layout="dcp", every=0, steps=step + 3).start_all()
    assert_resumed(after, step)
    assert [run.wait() for run in after.runs] == [0] * members, f"{after}"
    assert_not_torn(after)


@pytest.mark.parametrize("leaver", [0, 1, 2])
def test_one_leaves_and_the_others_become_durable(place, tmp_path, leaver):
    gang = elastic(place, 3).start_all()
    gang.wait_for_commits(1)
    leave(gang, leaver)
    assert place.newest()["members"] == 3
    rest = [member for member in range(3) if member != leaver]
    at = committed_step(place)
    newest = wait_for_snapshot_of(gang, 2, 3, at)
    for member in rest:
        assert gang.runs[member].process.poll() is None, f"{gang}"
        assert gang.runs[member].event("notice") is None
        assert f"member {leaver} on" in gang.runs[member].err and "has gone" in gang.runs[member].err
    shown = place.verb("show", newest["id"])
    assert f"member {leaver}: had left before" in shown.out, shown
    gone = place.verb("restore", newest["id"], tmp_path / "one", "--member", str(leaver))
    assert gone.code != 0 and "had left the gang before" in gone.err, gone
    leave(gang, rest[0])
    last = wait_for_snapshot_of(gang, 1, 3, committed_step(place))
    leave(gang, rest[1])
    assert place.newest()["step"] >= last["step"]
    step = committed_step(place)
    assert place.verb("verify").code == 0
    assert_restored(place, tmp_path, 2, 3, step)
    assert_not_torn(gang)


def test_all_leave_at_the_same_time(place, tmp_path):
    """As when a launcher ends all of them."""
    gang = elastic(place, 3).start_all()
    gang.wait_for_commits(1)
    leave(gang, 0, 1, 2)
    step = committed_step(place)
    assert_restored(place, tmp_path, 2, 3, step)


@pytest.mark.parametrize("point", ["before_part_put", "after_part_put", "before_manifest_put", "after_manifest_put"])
def test_the_leaver_is_killed_before_it_has_gone(place, tmp_path, point):
    """It has told nobody that it has gone: nothing more becomes durable until it is started again, and that ends the attempt."""
    gang = elastic(place, 3, every=0)
    gang.start(0)
    gang.start(1, REPRIEVE_FAULT=point)  # in the first round, which is that of the notice
    gang.start(2)
    for run in gang.runs:
        run.wait_for_output("step 10")
    gang.runs[1].signal(signal.SIGTERM)
    if point.startswith("before_manifest") or point.startswith("after_manifest"):  # perhaps another one commits
        gang.runs[1].wait()
    else:
        assert gang.runs[1].wait() == -signal.SIGKILL, f"{gang}"
    gang.runs[1].kill()
    before = place.snapshots()
    assert all(snapshot["members_without_checkpoint"] == 0 for snapshot in before)
    gang.start(1)
    for member in (0, 2):
        assert gang.runs[member].wait() in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{gang}"
    gang.kill_all()
    assert all(snapshot["members_without_checkpoint"] == 0 for snapshot in place.snapshots())
    step = committed_step(place)
    again = elastic(place, 3, 2, steps=step + 20).start_all()
    steps = set(again.resumed())
    assert len(steps) == 1 and min(steps) >= step, f"{steps} instead of {step}\n{again}"
    assert [run.wait() for run in again.runs] == [0] * 3, f"{again}"
    assert_not_torn(again)


def test_one_that_has_no_time_left_is_not_waited_for(place, tmp_path):
    """Its job saves nothing more, and what it has saved is in no snapshot of all. It says that it goes all the same."""
    gang = elastic(place, 3, options=("--grace", "4"))
    gang.each[1]["until"] = 300  # and answers no request
    gang.each[1]["answers"] = 0
    gang.start_all()
    gang.wait_for_commits(1)
    for run in gang.runs:
        run.wait_for_output("step 340")
    gang.runs[1].signal(signal.SIGTERM)
    assert gang.runs[1].wait() in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{gang}"
    wait_for_snapshot_of(gang, 2, 3, 340)
    gang.kill_all()
    assert_restored(place, tmp_path, 2, 3, committed_step(place))


def test_a_machine_that_comes_anew_ends_the_attempt(place, tmp_path):
    """The others go on without the one that has gone, until it is back: then all start again, from what the others have saved."""
    gang = elastic(place, 3).start_all()
    gang.wait_for_commits(1)
    leave(gang, 2)
    wait_for_snapshot_of(gang, 2, 3, committed_step(place))
    gang.directories[2] = tmp_path / "replacement"
    gang.start(2)
    for member in (0, 1):
        assert gang.runs[member].wait() in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{gang}"
        assert "this machine has come anew" in gang.runs[member].err
    step = committed_step(place)
    for member in (0, 1):
        gang.start(member)
    assert set(gang.resumed()) == {step}, f"{gang}"
    wait_for_snapshot_of(gang, 3, 3, step)
    gang.kill_all()


def test_all_have_the_same(place):
    """A difference is an error of all: one would wait for parts that the others do without."""
    gang = Gang(place, 3, every=10)
    for member in range(3):
        gang.options = ("--on-preemption", "continue" if member == 1 else "stop")
        gang.start(member)
    for run in gang.runs:
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{gang}"
        assert "member 1 has --on-preemption continue, and member 0 on" in run.err, f"{gang}"
    assert place.snapshots() == []


@pytest.mark.parametrize("leaver", [0, 1])
def test_one_directory_for_several(place, leaver):
    """Of members that have one directory, the keeper saves for the others: if it is taken away, all end. Another one leaves alone."""
    shared, own = place.path / "shared", place.path / "own"
    # The directory is polled: jobs that save as often as that may end with a step that not all have given (GANGS.md).
    gang = elastic(place, 3, keep=100000, every=100, step_time=0.05)
    gang.directories = [shared, shared, own]
    gang.start_all()
    gang.wait_for_commits(1)
    gang.runs[leaver].signal(signal.SIGTERM)
    if leaver == 0:
        assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 3, f"{gang}"
        assert "all members end, as with --on-preemption stop" in gang.runs[0].err
        return
    assert gang.runs[1].wait() == harness.EXIT_DURABLE, f"{gang}"
    step = committed_step(place)
    def later():
        newest = place.newest()
        manifest = json.loads((place.store_path / f"jobs/job/snapshots/{newest['id']}.json").read_text().splitlines()[1])
        return newest["step"] > step and [part.get("gone", False) for part in manifest["parts"]] == [False, True, False]
    wait_for("a snapshot without the one that has gone", later)
    gang.kill_all()


def test_what_others_save_after_the_keeper_has_ended_is_not_its_own(place):
    """The keeper's machine is taken away, and a member hears of it late: its rank has saved alone by then, into the directory of both."""
    shared, own = place.path / "shared", place.path / "own"
    gang = elastic(place, 3, keep=100000, every=40, step_time=0.05)
    gang.directories = [shared, shared, own]
    gang.start_all()
    gang.wait_for_commits(1)
    gang.runs[1].process.send_signal(signal.SIGSTOP)
    gang.runs[0].signal(signal.SIGTERM)
    gang.runs[0].wait_for_event("child_exited")
    together = max(int(path.name[5:]) for path in shared.glob("step_*"))
    wait_for("a save of one alone", lambda: list(shared.glob(f"step_{together // 40 * 40 + 80}/*")))
    gang.runs[1].process.send_signal(signal.SIGCONT)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 3, f"{gang}"
