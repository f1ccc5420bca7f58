"""A gang: several supervisors that take, commit and restore one snapshot over the store alone. Each member is a process here, with a
checkpoint directory of its own; the ranks meet at each step (gang_rank.py)."""
import os
import random
import signal
import time

import harness
import pytest
from gang import RANK, Gang, assert_not_torn, committed_step
from harness import PYTHON, wait_for


KILLS = int(os.environ.get("REPRIEVE_GANG_KILLS", "6"))


@pytest.fixture(autouse=True)
def tried_unfinished(place):
    place.environment["REPRIEVE_UNFINISHED"] = "gang"


def test_all_members_resume_from_one_commit(place):
    first = Gang(place, 3, every=10).start_all()
    first.wait_for_commits(2)
    first.kill_all()
    step = committed_step(place)
    assert step > 0 and step % 10 == 0
    second = Gang(place, 3, 2, steps=step + 20).start_all()
    assert second.resumed() == [step] * 3, f"{second}"
    for run in second.runs:
        assert run.wait() == 0, f"{run}"
    assert_not_torn(second)
    newest = place.newest()
    assert newest["step"] == step + 20
    # One attempt of all: none has fenced another.
    assert newest["id"].startswith("000002-")
    assert all(snapshot["state"] == "good" for snapshot in place.snapshots())
    assert place.verb("verify").code == 0


def test_another_machine_restores_its_part(place, tmp_path):
    first = Gang(place, 2, every=10).start_all()
    first.wait_for_commits(1)
    first.kill_all()
    step = committed_step(place)
    elsewhere = [tmp_path / f"new{i}" for i in range(2)]
    second = Gang(place, 2, 2, directories=elsewhere, steps=step + 10).start_all()
    assert second.resumed() == [step] * 2, f"{second}"
    assert [run.wait() for run in second.runs] == [0, 0]
    assert_not_torn(second)
    # Each has its own shards, and nothing of the other's.
    for member, directory in enumerate(elsewhere):
        shards = {path.name for path in directory.rglob("*.bin")}
        assert shards == {f"shard_{member}.bin"}


def test_without_a_commit_nobody_resumes(place):
    """What one member has, complete, is no checkpoint of all: here the other never saves."""
    first = Gang(place, 2, every=5, steps=1000)
    first.start(0)
    first.rank["every"] = 0
    first.start(1)
    first.runs[0].wait_for_event("checkpoint_complete")
    first.runs[0].wait_for_output("saved 10")
    first.kill_all()
    assert place.snapshots() == []
    second = Gang(place, 2, 2, steps=3).start_all()
    assert second.resumed() == [0, 0], f"{second}"
    assert [run.wait() for run in second.runs] == [0, 0]
    # It is not lost: it lies aside.
    assert "they were moved to" in second.runs[0].err


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_instant_all_resume_from_the_newest_commit(place, seed):
    draw = random.Random(seed)
    members = draw.choice([2, 3, 4])
    # The first start is left alone until there is something to lose; each later one is killed somewhere in joining, restoring,
    # saving or committing.
    gang = Gang(place, members, every=10, size=300000).start_all()
    gang.wait_for_commits(1)
    for generation in range(2, 6):
        if draw.random() < 0.5:
            # One member first; the launcher ends the others a moment later.
            gang.runs[draw.randrange(members)].kill()
            time.sleep(draw.uniform(0, 0.5))
        else:
            time.sleep(draw.uniform(0, 0.5))
        gang.kill_all()
        step = committed_step(place)
        gang = Gang(place, members, generation, every=10, size=300000).start_all()
        if draw.random() < 0.5:
            # In the middle of the start, or a little later.
            time.sleep(draw.uniform(0, 1.0))
            continue
        assert gang.resumed() == [step] * members, f"seed {seed}, start {generation}\n{gang}"
        time.sleep(draw.uniform(0, 1.0))
    gang.kill_all()
    step = committed_step(place)
    last = Gang(place, members, 9, steps=step + 10, size=300000).start_all()
    assert last.resumed() == [step] * members, f"seed {seed}\n{last}"
    assert [run.wait() for run in last.runs] == [0] * members, f"{last}"
    assert_not_torn(last)
    assert place.verb("verify").code == 0


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
    assert again.resumed() == [step] * 2, f"{again}"
    assert [run.wait() for run in again.runs] == [0, 0]
    assert_not_torn(again)
    assert place.verb("verify").code == 0


def test_a_member_that_wakes_up_late_changes_nothing(place, tmp_path):
    first = Gang(place, 2, every=10).start_all()
    first.wait_for_commits(1)
    stale = first.runs[1]
    stale.signal(signal.SIGSTOP)
    first.runs[0].kill()
    step = committed_step(place)
    second = Gang(place, 2, 2, every=10, directories=[first.directories[0], tmp_path / "new1"]).start_all()
    assert second.resumed() == [step] * 2, f"{second}"
    second.wait_for_commits(1)
    harness.kill_quietly(stale.job_pid)  # its rank hangs in a collective until that gives up
    stale.signal(signal.SIGCONT)
    assert stale.wait() != 0
    second.kill_all()
    assert all(snapshot["state"] == "good" for snapshot in place.snapshots())
    newest = committed_step(place)
    third = Gang(place, 2, 3, steps=newest + 10, directories=second.directories).start_all()
    assert third.resumed() == [newest] * 2, f"{third}"
    assert [run.wait() for run in third.runs] == [0, 0]
    assert_not_torn(third)


def test_a_machine_that_was_replaced_while_it_waited_ends(place, tmp_path):
    """Two say that they are member 1: the one that came later is."""
    gang = Gang(place, 2, steps=20, every=10)
    old = gang.start(1)
    wait_for("the first has joined", lambda: list(place.store_path.glob("jobs/job/gang/000000/join-00001-*")), process=old.process)
    gang.directories[1] = tmp_path / "new1"
    gang.generation = 2
    new = gang.start(1)
    assert old.wait() == harness.EXIT_CONFIGURATION
    assert "came later, is member 1" in old.err and "stale" in old.err
    gang.start(0)
    assert gang.runs[0].wait() == 0 and new.wait() == 0, f"{gang}"


def test_a_stopped_joiner_is_stale_once_others_have_begun(place, tmp_path):
    gang = Gang(place, 2, steps=20, every=10)
    old = gang.start(1)
    wait_for("the first has joined", lambda: list(place.store_path.glob("jobs/job/gang/000000/join-00001-*")), process=old.process)
    old.signal(signal.SIGSTOP)
    gang.directories[1] = tmp_path / "new1"
    gang.generation = 2
    gang.start(1)
    gang.start(0)
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    old.signal(signal.SIGCONT)
    assert old.wait() == harness.EXIT_CONFIGURATION
    assert "stale" in old.err
    assert "step" not in old.out


def test_a_member_that_starts_anew_before_all_have_restored(place):
    """It joins once more, and so do the others: no job has started yet."""
    gang = Gang(place, 2, every=10, steps=20)
    gang.start(0)
    dead = gang.start(1)
    claimed = place.store_path / "jobs/job/attempts/000001.confirmed.json"
    wait_for("the attempt is claimed", claimed.exists)
    dead.kill()
    gang.generation = 2
    again = gang.start(1)
    if gang.runs[0].event("launched"):
        pytest.skip("both had restored already")
    assert again.wait() == 0 or gang.runs[0].event("launched"), f"{gang}"


def test_who_is_missing_is_named(place):
    gang = Gang(place, 3, options=("--join-time", "2s"))
    gang.start(0)
    gang.start(2)
    for run in (gang.runs[0], gang.runs[2]):
        assert run.wait() == harness.EXIT_OURS
        assert "2 of the 3 members of this gang have come within" in run.err and "member 1 has not" in run.err
        assert "launched" not in [event["event"] for event in run.events()]
    # Nothing of them holds up the next start.
    assert not list(place.store_path.glob("jobs/job/gang/*/join-*"))


def test_members_that_count_differently_end(place):
    two = Gang(place, 2).start(0)
    wait_for("it has joined", lambda: list(place.store_path.glob("jobs/job/gang/000000/join-*")), process=two.process)
    three = Gang(place, 3, 2).start(1)
    assert two.wait() == harness.EXIT_CONFIGURATION and three.wait() == harness.EXIT_CONFIGURATION
    assert "here the gang has 2 members, and on" in two.err
    assert "here the gang has 3 members, and on" in three.err


def test_a_snapshot_of_another_number_of_members_is_refused(place, tmp_path):
    first = Gang(place, 2, steps=10, every=10).start_all()
    assert [run.wait() for run in first.runs] == [0, 0], f"{first}"
    alone = place.run("true", options=("--rerun",), directory=tmp_path / "alone")
    assert alone.wait() == harness.EXIT_CONFIGURATION
    assert "it is of a gang of 2 members, and this is one machine" in alone.err
    third = Gang(place, 3, 2, options=("--rerun", "--join-time", "5s")).start_all()
    assert harness.EXIT_CONFIGURATION in [run.wait() for run in third.runs]
    assert "it is of a gang of 2 members, and this one has another number of them" in "".join(run.err for run in third.runs)


def test_checkpoints_without_a_step_are_refused_aloud(place):
    gang = Gang(place, 2)
    for member in range(2):
        directory = gang.directories[member]
        gang.runs[member] = place.run(
            PYTHON, "-c", f"open('{directory}/last.pt', 'wb').write(b'x' * 100000)", directory=directory, name=f"fixed{member}",
            options=("--gang", "2", "--member", str(member), "--snapshot-interval", "0", "--flush-time", "1s"))
    for run in gang.runs:
        run.wait()
        assert "this checkpoint has no step" in run.err, f"{run}"
    assert place.snapshots() == []


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


def test_a_gang_is_refused_unless_it_is_asked_for_unfinished(place):
    for said in ("", "other"):
        refused = place.query("run", "--job", "j", "--store", place.store, "--gang", "2", "--member", "0", "--", "true", REPRIEVE_UNFINISHED=said)
        assert refused.code == harness.EXIT_USAGE and "gangs are not finished" in refused.err, refused


def test_what_a_gang_needs(place):
    environment = {"XDG_STATE_HOME": str(place.path / "state")}
    unnamed = place.query("run", "--store", place.store, "--gang", "2", "--member", "0", "--", "true", **environment)
    assert unnamed.code == harness.EXIT_USAGE and "give --job NAME" in unnamed.err
    embedded = place.query("run", "--job", "j", "--gang", "2", "--member", "0", "--", "true", **environment)
    assert embedded.code == harness.EXIT_USAGE and "give --store" in embedded.err
    contradicted = place.query("run", "--store", place.store, "--job", "j", "--gang", "auto", "--", "torchrun", "--nnodes=2",
                               "--node-rank=1", "train.py", OMPI_COMM_WORLD_SIZE="3", OMPI_COMM_WORLD_RANK="1", **environment)
    assert contradicted.code == harness.EXIT_USAGE
    assert "OMPI_COMM_WORLD_SIZE says that the job has 3 machines, and --nnodes says 2" in contradicted.err


def test_one_machine_leaves_nothing_of_a_gang(place):
    run = place.run(PYTHON, RANK, "--dir", place.directory, "--meet", place.path / "meet", "--rank", "0", "--ranks", "1", "--steps", "20",
                    options=("--gang", "1"))
    assert run.wait() == 0, f"{run}"
    kinds = {path.name for path in (place.store_path / "jobs/job").iterdir()}
    assert kinds.isdisjoint({"gang", "parts"})
    manifest = next((place.store_path / "jobs/job/snapshots").iterdir()).read_text()
    assert manifest.startswith('{"reprieve":"snapshot","version":3,')
