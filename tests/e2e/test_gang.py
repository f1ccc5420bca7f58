"""A gang: several supervisors that take, commit and restore one snapshot over the store alone. Each member is a process here, with a
checkpoint directory of its own; the ranks meet at each step (gang_rank.py)."""
import os
import signal
import sys

import harness
import pytest
from gang import RANK, Gang, assert_not_torn, assert_resumed, committed_step
from harness import PYTHON, wait_for

sys.path.insert(0, str(harness.ROOT / "tests"))
import gang_kills  # noqa: E402

KILLS = int(os.environ.get("REPRIEVE_GANG_KILLS", "12"))


def test_all_members_resume_from_one_commit(place):
    first = Gang(place, 3, every=10).start_all()
    first.wait_for_commits(2)
    first.kill_all()
    step = committed_step(place)
    assert step > 0 and step % 10 == 0
    second = Gang(place, 3, 2, steps=step + 20).start_all()
    assert_resumed(second, step)
    for run in second.runs:
        assert run.wait() == 0, f"{run}"
    assert_not_torn(second)
    for member, run in enumerate(second.runs):  # in one log of all, as srun writes it, they can be told apart
        assert run.err and all(line.startswith(f"reprieve[{member}]: ") for line in run.err.splitlines()), run
    newest = place.newest()
    assert newest["step"] == step + 20
    # One attempt of all: none has fenced another.
    assert newest["id"].startswith("000002-")
    assert all(snapshot["state"] == "good" for snapshot in place.snapshots())
    assert place.verb("verify").code == 0


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_instant_all_resume_from_the_newest_commit(place, seed):
    """tests/gang_kills.py does the same for longer."""
    gang_kills.play(place, seed, members=2 + seed % 3, kills=2)


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_instant_while_some_leave(place, seed):
    """With --on-preemption continue: what the others save without those that have gone counts as any other commit."""
    gang_kills.play(place, seed, members=3, kills=2, leaves=True)


@pytest.mark.parametrize("point", ["before_part_put", "after_part_put", "before_manifest_put", "after_manifest_put"])
def test_a_member_is_killed_while_it_commits(place, point):
    """Of the second checkpoint. Whoever sees all parts may have committed it: what is listed decides, for all alike."""
    gang = Gang(place, 2, every=10)
    gang.start(0)
    gang.start(1, REPRIEVE_FAULT=f"{point}:2")  # of manifests: the second that it puts before the other does
    wait_for("it is killed", lambda: gang.runs[1].process.poll() is not None)
    assert gang.runs[1].wait() == -signal.SIGKILL, f"{gang}"
    gang.kill_all()
    step = committed_step(place)
    again = Gang(place, 2, 2, steps=step + 20, every=10).start_all()
    assert_resumed(again, step)
    assert [run.wait() for run in again.runs] == [0, 0]
    assert_not_torn(again)
    assert place.verb("verify").code == 0


def test_checkpoints_without_a_step_are_refused_aloud(place):
    """While the jobs go on, nothing says that both are of one moment. What is there when both have finished is."""
    finish = place.path / "finish"
    program = "import os, sys, time\nos.mkdir(os.path.dirname(sys.argv[1]))\nopen(sys.argv[1], 'wb').write(b'x' * 100000)\nwhile not os.path.exists(sys.argv[2]): time.sleep(0.01)\n"
    gang = Gang(place, 2)
    for member in range(2):
        directory = gang.directories[member]
        gang.runs[member] = place.run(
            PYTHON, "-c", program, directory / "last.pt", finish, directory=directory, name=f"fixed{member}",
            options=("--gang", "2", "--member", str(member), "--snapshot-interval", "0"))
    for run in gang.runs:
        wait_for("it is refused", lambda run=run: "its checkpoint has no step" in run.err, process=run.process, about=run)
    assert place.snapshots() == []
    finish.touch()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert [snapshot["files"] for snapshot in place.snapshots()] == [2]


def test_a_notice_at_one_member_ends_all(place):
    """The machine of member 1 is taken away. All save at one step, and all end with it durable."""
    gang = Gang(place, 2, every=0, signal="USR1", options=("--checkpoint-signal", "USR1", "--grace", "20")).start_all()
    for run in gang.runs:
        run.wait_for_output("step 20")
    gang.runs[1].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * 2, f"{gang}"
    notice = gang.runs[0].event("notice")
    assert notice["source"] == "gang" and "member 1 on" in notice["reason"] and "SIGTERM" in notice["reason"]
    newest = place.newest()
    durable = {run.events("durable")[-1]["id"] for run in gang.runs}
    assert durable == {newest["id"]}
    after = Gang(place, 2, 2, steps=newest["step"] + 3, every=0).start_all()
    assert after.resumed() == [newest["step"]] * 2, f"{after}"
    assert [run.wait() for run in after.runs] == [0, 0]


def test_one_machine_leaves_nothing_of_a_gang(place):
    run = place.run(PYTHON, RANK, "--dir", place.directory, "--meet", place.path / "meet", "--rank", "0", "--ranks", "1", "--steps", "20",
                    options=("--gang", "1"))
    assert run.wait() == 0, f"{run}"
    kinds = {path.name for path in (place.store_path / "jobs/job").iterdir()}
    assert kinds.isdisjoint({"gang", "parts"})
    manifest = next((place.store_path / "jobs/job/snapshots").iterdir()).read_text()
    assert manifest.startswith('{"reprieve":"snapshot","version":3,')
