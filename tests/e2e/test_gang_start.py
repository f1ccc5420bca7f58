"""The start of a gang, and what it restores: who is in, who is stale, and that all start from one step. test_gang.py is about the rest."""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time

import harness
import pytest
from gang import Gang, assert_not_torn, assert_resumed, committed_step
from harness import wait_for

KILLS = int(os.environ.get("REPRIEVE_GANG_KILLS", "6"))
HOST = socket.gethostname()


def joins(place, member, after=0):
    return list(place.store_path.glob(f"jobs/job/gang/{after:06}/join-{member:05}-*"))


def wait_for_join(place, run, member, after=0):
    wait_for(f"member {member} has joined", lambda: joins(place, member, after), process=run.process)


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


def test_a_member_that_wakes_up_late_changes_nothing(place, tmp_path):
    first = Gang(place, 2, every=10).start_all()
    first.wait_for_commits(1)
    stale = first.runs[1]
    stale.signal(signal.SIGSTOP)
    first.runs[0].kill()
    step = committed_step(place)
    second = Gang(place, 2, 2, every=10, directories=[first.directories[0], tmp_path / "new1"]).start_all()
    assert_resumed(second, step)
    second.wait_for_commits(1)
    harness.kill_quietly(stale.job_pid)  # its rank hangs in a collective until that gives up
    stale.signal(signal.SIGCONT)
    assert stale.wait() != 0
    second.kill_all()
    assert all(snapshot["state"] == "good" for snapshot in place.snapshots())
    newest = committed_step(place)
    third = Gang(place, 2, 3, steps=newest + 20, directories=second.directories).start_all()
    assert_resumed(third, newest)
    assert [run.wait() for run in third.runs] == [0, 0]
    assert_not_torn(third)


def test_a_machine_that_was_replaced_while_it_waited_ends(place, tmp_path):
    """Two say that they are member 1: the one that came later is."""
    gang = Gang(place, 2, steps=20, every=10)
    old = gang.start(1)
    wait_for("the first has joined", lambda: joins(place, 1), process=old.process)
    gang.directories[1] = tmp_path / "new1"
    gang.generation = 2
    new = gang.start(1)
    assert old.wait() == harness.EXIT_CONFIGURATION
    assert "came later as member 1" in old.err and "stale" in old.err
    gang.start(0)
    assert gang.runs[0].wait() == 0 and new.wait() == 0, f"{gang}"


@pytest.mark.parametrize("stood", ["saved", "hangs", "at its launch"])
def test_a_stale_member_ends_although_its_log_was_swept(place, stood):
    """It stood still while the gang started twice: what has ended its attempt is not in the store any more. At its launch it did so for less
    than the time between two readings: all had restored, so the others went; and its job, alone, hangs."""
    gangs = [Gang(place, 2, generation, every=10) for generation in (1, 2, 3)]
    launch = stood == "at its launch"
    gangs[0].start(0)
    stale = gangs[0].start(1, **({"REPRIEVE_FAULT": "before_gang_feed/stop"} if launch else {}))
    if launch:
        wait_for("it stands still", lambda: harness.stat_fields(stale.pid)[0] == "T", process=stale.process)
    else:
        gangs[0].wait_for_commits(1)
        stale.signal(signal.SIGSTOP)
    if stood == "hangs":
        os.kill(stale.job_pid, signal.SIGSTOP)  # no save of its own says that another attempt has taken over
    gangs[0].runs[0].kill()
    for gang in gangs[1:]:
        gang.directories = [place.path / f"start{gang.generation}-machine{member}" for member in range(2)]
        gang.start_all().wait_for_commits(1)
        if gang is gangs[1]:
            gang.kill_all()
    log = place.store_path / "jobs/job/gang/000001/log"
    wait_for("the log of the first start is swept", lambda: [path.name for path in log.iterdir()] == ["000001.json"])
    if not launch:
        time.sleep(4)  # as long as two readings
    stale.signal(signal.SIGCONT)
    code = stale.wait()
    # It may have stood still when all that it had saved was in a snapshot.
    all_durable = not launch and stale.events("durable")[-1]["step"] == int(re.findall(r"^saved (\d+)$", stale.out, re.M)[-1])
    assert code == (harness.EXIT_DURABLE if all_durable else harness.EXIT_NOT_DURABLE), f"{stale}"
    if not launch:
        wait_for("its job is gone", lambda: not os.path.exists(f"/proc/{stale.job_pid}"))
    assert "this machine has come anew, so the attempt is over" in stale.err or "taken over" in stale.err, f"{stale}"
    gangs[2].kill_all()


@pytest.mark.parametrize("stop", ["before main", "before_join_put/stop"])
def test_a_process_that_stood_still_from_its_first_moment_ends_no_attempt(place, tmp_path, stop):
    """It is as old as the kernel says, and as the store saw it: not since when it woke up."""
    gang = Gang(place, 2, every=10)
    if stop == "before main":
        gang.wrappers[1] = ("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh")
        stale = gang.start(1)
    else:
        stale = gang.start(1, REPRIEVE_FAULT=stop)
    wait_for("it stands still", lambda: harness.stat_fields(stale.pid)[0] == "T", process=stale.process)
    time.sleep(2.2)  # what the clock of a store tells apart
    gang.wrappers[1] = ()
    gang.directories[1] = tmp_path / "new1"
    gang.generation = 2
    gang.start_all()
    gang.wait_for_commits(1)
    stale.signal(signal.SIGCONT)
    assert stale.wait() == harness.EXIT_CONFIGURATION and "stale" in stale.err, f"{stale}"
    gang.wait_for_commits(len(gang.runs[0].events("durable")) + 2)
    gang.kill_all()


def test_who_is_missing_is_named(place):
    gang = Gang(place, 3, options=("--join-time", "6s"))
    gang.start(0)
    gang.start(2)
    for run in (gang.runs[0], gang.runs[2]):
        assert run.wait() == harness.EXIT_DURABLE  # which no scheduler charges
        assert "launched" not in [event["event"] for event in run.events()]
    # The one that gives up last no longer sees the other one.
    assert any("2 of the 3 members of this gang have come within" in run.err and "member 1 has not" in run.err for run in gang.runs
               if run), f"{gang}"
    # Nothing of them holds up the next start.
    assert not list(place.store_path.glob("jobs/job/gang/*/join-*"))


def test_a_waiting_member_asks_for_one_thing(place, faults):
    """For the next claim. It lists only now and then, else a thousand would list a thousand all the time."""
    gang = Gang(place, 2, options=("--store", "s3://snaps/runs"))
    run = gang.start(1, **faults.environment)
    claim = "runs/jobs/job/attempts/000001.json"
    wait_for("it has asked ten times", lambda: sum(key == claim for _, key, *_ in faults.log) >= 10, process=run.process)
    listings = [query for method, key, query, _ in faults.log if method == "GET" and not key and "/gang/" in query.get("prefix", "")]
    assert len(listings) <= 6, listings
    gang.kill_all()


def assert_all_are_told(runs, member, reason):
    """All others end with one line that names the member, its host and why."""
    for run in runs:
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{run}"
        said = [line for line in run.err.splitlines() if "not started" in line]
        assert len(said) == 1 and f"member {member} on {HOST} cannot take part: " in said[0] and reason in said[0], f"{run}"
        assert not run.event("launched")


@pytest.mark.parametrize("first", [True, False])
def test_a_refused_directory_is_an_error_of_all(place, first):
    """Whether the others wait already, or come soon after."""
    gang = Gang(place, 3, directories=[place.path / "machine0", place.path, place.path / "machine2"])
    others = [0, 2]
    if not first:
        for member in others:
            wait_for_join(place, gang.start(member), member)
    refused = gang.start(1)
    assert refused.wait() == harness.EXIT_CONFIGURATION
    assert "not checkpoints alone" in refused.err, f"{refused}"
    if first:
        for member in others:
            gang.start(member)
    assert_all_are_told([gang.runs[member] for member in others], 1, "holds the store")
    # What was wrong is put right: nothing of it counts any more.
    again = Gang(place, 3, 2, steps=10, every=10).start_all()
    assert [run.wait() for run in again.runs] == [0, 0, 0], f"{again}"


def test_no_space_for_one_is_an_error_of_all(place):
    """It has joined, and finds out when it restores."""
    wrapper = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
               f'mount -t tmpfs -o size=400k none {place.path / "small"} && exec "$@"', "sh")
    (place.path / "small").mkdir()
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    first = Gang(place, 3, every=10, size=1000000).start_all()
    first.wait_for_commits(1)
    first.kill_all()
    second = Gang(place, 3, 2, directories=[place.path / "small" / "one" if member == 1 else place.path / f"new{member}" for member in range(3)])
    second.wrappers[1] = wrapper
    second.start_all()
    assert second.runs[1].wait() == harness.EXIT_OURS
    assert "No space left" in second.runs[1].err, f"{second}"
    assert_all_are_told([second.runs[0], second.runs[2]], 1, "No space left")
    step = committed_step(place)
    third = Gang(place, 3, 3, every=0, size=1000000).start_all()
    assert third.resumed() == [step] * 3, f"{third}"
    third.kill_all()


def test_of_two_with_one_number_by_hand_the_later_one_counts(place):
    """Both may be one machine after the other; the one that is missing is said."""
    gang = Gang(place, 3, options=("--join-time", "12s"), directories=[place.path / f"machine{i}" for i in range(3)])
    other = Gang(place, 3, 2, options=("--join-time", "12s"), directories=[place.path / f"other{i}" for i in range(3)])
    gang.start(0)
    wait_for_join(place, gang.start(1), 1)
    other.start(1)
    assert gang.runs[1].wait() == harness.EXIT_CONFIGURATION
    assert "two have the same --member" in gang.runs[1].err
    for run in (gang.runs[0], other.runs[1]):
        assert run.wait() == harness.EXIT_DURABLE and "member 2 has not" in run.err, f"{run}"


def test_what_a_gang_needs(place):
    environment = {"XDG_STATE_HOME": str(place.path / "state")}
    unnamed = place.query("run", "--store", place.store, "--gang", "2", "--member", "0", "--", "true", **environment)
    assert unnamed.code == harness.EXIT_USAGE and "give --job NAME" in unnamed.err
    embedded = place.query("run", "--job", "j", "--gang", "2", "--member", "0", "--", "true", **environment)
    assert embedded.code == harness.EXIT_USAGE and "give --store" in embedded.err
    for one_of, why in ((("--gang", "2", "--member", "0", "--shim", "off"), "needs the shim"), ((), "this run is of one machine")):
        goes_on = place.query("run", "--store", place.store, "--job", "j", *one_of, "--on-preemption", "continue", "--", "true", **environment)
        assert goes_on.code == harness.EXIT_USAGE and why in harness.one_line(goes_on)
    stops = place.query("run", "--on-preemption", "stop", "--", "true", **environment)
    assert stops.code == 0, stops
    contradicted = place.query("run", "--store", place.store, "--job", "j", "--gang", "auto", "--", "torchrun", "--nnodes=2",
                               "--node-rank=1", "train.py", OMPI_COMM_WORLD_SIZE="3", OMPI_COMM_WORLD_RANK="1", **environment)
    assert contradicted.code == harness.EXIT_CONFIGURATION
    assert "OMPI_COMM_WORLD_SIZE says that the job has 3 machines, and --nnodes says 2" in contradicted.err


def test_a_gang_goes_on_from_what_was_moved_aside_as_the_warning_says(place, tmp_path):
    """In a directory that all share, a step that no snapshot has may be there of all. What is done with it is what the warning says."""
    shared = tmp_path / "shared"
    first = Gang(place, 2, every=5, keep=100000, directories=[shared] * 2, steps=100000).start_all()
    first.wait_for_commits(1)
    first.runs[1].signal(signal.SIGKILL)
    first.runs[1].wait()
    step = place.snapshots()[0]["step"] + 30
    first.runs[0].wait_for_output(f"saved {step + 5}")
    first.kill_all()
    assert {path.name for path in (shared / f"step_{step}").iterdir()} == {"shard_0.bin", "shard_1.bin"}
    second = Gang(place, 2, 2, directories=[shared] * 2, steps=100000).start_all()
    assert max(second.resumed()) < step, f"{second}"
    later, said = re.search(r"up to step (\d+), which is newer, but which the members had not committed together; they were moved to (\S+)\n.*: To go "
                            r"on from them: if a step in there has the files of all ranks", second.runs[0].err).groups()
    assert int(later) >= step, f"{second}"
    second.kill_all()
    fresh = tmp_path / "fresh"
    shutil.copytree(f"{said}/step_{step}", fresh / f"step_{step}")
    third = Gang(place, 2, 3, options=("--restore", "none"), every=5, directories=[fresh] * 2, steps=step + 20).start_all()
    assert third.resumed() == [step] * 2, f"{third}"
    assert [run.wait() for run in third.runs] == [0] * 2 and "moved to" not in f"{third}", f"{third}"
    assert committed_step(place) == step + 20


def test_restore_none_begins_afresh_everywhere(place, tmp_path):
    first = Gang(place, 2, every=10).start_all()
    first.wait_for_commits(1)
    first.kill_all()
    # One of them has nothing here: it must not be the only one that begins afresh.
    second = Gang(place, 2, 2, options=("--restore", "none"), directories=[first.directories[0], tmp_path / "new1"], steps=20).start_all()
    assert second.resumed() == [0, 0], f"{second}"
    assert all("told 0 \n" in run.out for run in second.runs), f"{second}"
    assert [run.wait() for run in second.runs] == [0, 0], f"{second}"
    assert "they were moved to" in second.runs[0].err and "they were moved to" not in second.runs[1].err


def test_files_of_another_job_are_moved_aside(place):
    """A directory that was used for something else, at one member of two."""
    other = Gang(place, 2, steps=20, every=10).start_all()
    assert [run.wait() for run in other.runs] == [0, 0]
    gang = Gang(place, 2, 2, options=("--job", "fresh"), steps=10, every=0)
    gang.directories[1] = place.path / "empty"
    gang.start_all()
    assert gang.resumed() == [0, 0], f"{gang}"
    assert all("told 0 \n" in run.out for run in gang.runs), f"{gang}"
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"


def test_all_members_end_if_every_snapshot_is_damaged(place):
    first = Gang(place, 2, every=10).start_all()
    first.wait_for_commits(1)
    first.kill_all()
    for pack in place.store_path.glob("jobs/job/packs/*/*.pack"):
        pack.unlink()
    second = Gang(place, 2, 2).start_all()
    assert [run.wait() for run in second.runs] == [harness.EXIT_CONFIGURATION] * 2, f"{second}"
    assert all("every snapshot of job job is damaged" in run.err for run in second.runs), f"{second}"


def test_damage_that_one_member_finds_lets_all_go_behind_it(place):
    """Wrong content is seen by whoever reads it; what it marks, the next claim passes over."""
    first = Gang(place, 2, every=10, size=300000).start_all()
    first.wait_for_commits(3)
    first.kill_all()
    newest = place.newest()
    records = {path.stem: path.read_bytes() for path in place.store_path.glob("jobs/job/snapshots/*.json")}
    own = [pack for pack in place.store_path.glob("jobs/job/packs/*/*.pack") if [name for name in records if pack.name.encode() in records[name]] == [newest["id"]]]
    assert own
    # A byte in the middle of each pack that the newest one alone has.
    for pack in own:
        content = bytearray(pack.read_bytes())
        content[len(content) // 2] ^= 1
        pack.chmod(0o600)
        pack.write_bytes(content)
    directories = [place.path / f"other{i}" for i in range(2)]
    second = Gang(place, 2, 2, directories=directories, every=10, size=300000).start_all()
    steps = second.resumed()
    assert steps[0] == steps[1] < newest["step"], f"{second}"
    assert "all members of the gang begin anew" in "".join(run.err for run in second.runs), f"{second}"
    second.kill_all()


def test_two_starts_at_once_are_told_apart_as_wholes(place):
    """Whatever the order in which their members come, all of one end, and name a host of the other."""
    one = Gang(place, 2, directories=[place.path / f"one{i}" for i in range(2)])
    two = Gang(place, 2, 2, directories=[place.path / f"two{i}" for i in range(2)], steps=20, every=10)
    wait_for_join(place, one.start(0, REPRIEVE_LAUNCH="first"), 0)
    two.start(1, REPRIEVE_LAUNCH="second")
    assert one.runs[0].wait() == harness.EXIT_CONFIGURATION
    # It comes last, and is of the start that came first.
    one.start(1, REPRIEVE_LAUNCH="first")
    assert one.runs[1].wait() == harness.EXIT_CONFIGURATION
    two.start(0, REPRIEVE_LAUNCH="second")
    assert [run.wait() for run in two.runs] == [0, 0], f"{two}"
    for run in one.runs:
        assert f"on {HOST}" in run.err and "that start counts, and this one is over" in run.err, f"{run}"
        assert "step" not in run.out
    # Once the later one has begun as well.
    late = Gang(place, 2, 3, options=()).start(1, REPRIEVE_LAUNCH="first")
    assert late.wait() == harness.EXIT_CONFIGURATION and "that start counts, and this one is over" in late.err, f"{late}"


SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NUM_TASKS": "2"}


def test_a_requeued_slurm_job_is_a_later_start(place):
    gang = Gang(place, 2, given=False, steps=20, every=10)
    stale = gang.start(0, **SLURM, SLURM_NODEID="0")
    wait_for_join(place, stale, 0)
    stale.signal(signal.SIGSTOP)
    again = Gang(place, 2, 2, given=False, steps=20, every=10, directories=[place.path / f"new{i}" for i in range(2)])
    for node in range(2):
        again.start(node, **SLURM, SLURM_NODEID=str(node), SLURM_RESTART_COUNT="1")
    assert [run.wait() for run in again.runs] == [0, 0], f"{again}"
    stale.signal(signal.SIGCONT)
    assert stale.wait() == harness.EXIT_CONFIGURATION and "that start counts" in stale.err, f"{stale}"


def test_two_that_are_one_member_are_an_error_of_all(place):
    """srun starts nobody again alone, so neither of the two is a newer one."""
    gang = Gang(place, 3, given=False)
    environment = {**SLURM, "SLURM_STEP_NUM_NODES": "3", "SLURM_STEP_NUM_TASKS": "3"}
    third = Gang(place, 3, 2, given=False, directories=[place.path / f"third{i}" for i in range(3)])
    runs = [gang.start(0, **environment, SLURM_NODEID="0"), gang.start(1, **environment, SLURM_NODEID="1"),
            third.start(1, **environment, SLURM_NODEID="1")]
    for run in runs:
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{run}"
        assert f"{HOST} and {HOST} are both member 1 of this gang" in run.err, f"{run}"


def log_of(place, attempt):
    return [path.read_text() for path in sorted(place.store_path.glob(f"jobs/job/gang/{attempt:06}/log/*.json"))]


def test_a_supervisor_that_is_started_again_ends_the_attempt_at_all(place):
    """All others end with 75, and are started again; then all go on from the step that was committed."""
    gang = Gang(place, 3, every=10, until=20).start_all()
    for run in gang.runs:
        wait_for("the last checkpoint is durable", lambda: any(event["step"] == 20 for event in run.events("durable")), process=run.process)
    gang.runs[1].kill()
    gang.generation = 2
    again = gang.start(1)
    for member in (0, 2):
        assert gang.runs[member].wait() == harness.EXIT_DURABLE, f"{gang}"
        assert f"member 1 on {HOST}: this machine has come anew" in gang.runs[member].err, f"{gang}"
    assert not again.event("launched")
    gang.generation = 3
    for member in (2, 0):
        gang.start(member)
    assert gang.resumed() == [20] * 3, f"{gang}"
    assert [sum('"over"' in event for event in log_of(place, attempt)) for attempt in (1, 2)] == [1, 0]
    assert_not_torn(gang)
    gang.kill_all()


def resumed_together(gang):
    """The steps from which all have resumed in one attempt. Until then whoever has ended is started again, as a launcher does: the
    others may have launched when one is killed that had not yet, and the one that comes anew then ends their attempt."""
    def together():
        for member, run in enumerate(gang.runs):
            if run.process.poll() is not None:
                assert run.process.returncode in (harness.EXIT_DURABLE, harness.EXIT_NOT_DURABLE), f"{run}"
                gang.generation += 1
                gang.start(member)
        claimed = [run.event("claimed") for run in gang.runs]
        return all(claimed) and len({claim["attempt"] for claim in claimed}) == 1 and all("resumed " in run.out for run in gang.runs)
    wait_for("all resume in one attempt", together, about=gang)
    return gang.resumed()


@pytest.mark.parametrize("seed", range(KILLS))
def test_killed_at_any_instant_of_the_start(place, seed):
    """One after the other is killed while they join and restore, and started again alone, as pods are."""
    draw = random.Random(seed)
    members = draw.choice([2, 3, 4])
    gang = Gang(place, members, every=10, size=300000).start_all()
    gang.wait_for_commits(1)
    gang.kill_all()
    step = committed_step(place)
    gang = Gang(place, members, 2, every=0, size=300000).start_all()
    for generation in range(3, 3 + draw.randrange(1, 5)):
        time.sleep(draw.uniform(0, 0.5))
        if any(run.event("launched") for run in gang.runs):
            break
        victim = draw.randrange(members)
        gang.runs[victim].kill()
        gang.generation = generation
        gang.start(victim)
    steps = resumed_together(gang)
    # One of the starts may have committed what the first one had the parts of all of; none of them saves anything.
    newest = committed_step(place)
    assert newest >= step and steps == [newest] * members, f"seed {seed}\n{gang}"
    assert_not_torn(gang)
    gang.kill_all()
    assert place.verb("verify").code == 0


def test_parts_of_all_are_restored_where_one_saves_for_all(place):
    """Shards of each rank are refused by another number of machines, unless each takes the files of all."""
    first = Gang(place, 2, steps=10, every=10).start_all()
    assert [run.wait() for run in first.runs] == [0, 0], f"{first}"
    directories = [place.path / f"third{i}" for i in range(3)]
    third = Gang(place, 3, 2, options=("--parts", "all"), directories=directories, command=("true",)).start_all()
    assert [run.wait() for run in third.runs] == [0, 0, 0], f"{third}"
    for directory in directories:
        assert {path.name for path in directory.rglob("*.bin")} == {"shard_0.bin", "shard_1.bin"}
