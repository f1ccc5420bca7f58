"""Members of a gang that have one checkpoint directory: on one machine, as here, or on a file system that several machines see."""
import json
import os
import re
import shutil
import subprocess

import harness
import pytest
from gang import Gang, assert_not_torn, assert_resumed, committed_step
from harness import PYTHON, wait_for

KEEP = {"keep": 100000}  # no rank removes a directory that another still writes into


def parts_of(place):
    """Of the newest snapshot."""
    newest = sorted(place.store_path.glob("jobs/job/snapshots/*.json"))[-1]
    return json.loads(newest.read_text().splitlines()[1])["parts"]


def shards(directory):
    return {path.name for path in directory.rglob("*.bin")}


def whole_shards(directory):
    """The size of each that it was to have; a rank adds a few bytes that say which run it was."""
    return {path.name: path.stat().st_size // 1000 * 1000 for path in directory.iterdir()}


def test_two_of_three_have_one_directory(place, tmp_path):
    """They give one part, with the files of both; whoever takes it gets all of them."""
    one, two = place.path / "one", place.path / "two"
    first = Gang(place, 3, directories=[one, one, two], every=10, **KEEP).start_all()
    first.wait_for_commits(2)
    first.kill_all()
    step = committed_step(place)
    assert [part.get("keeper") for part in parts_of(place)] == [None, 0, None]
    assert parts_of(place)[1]["files"] == 0
    for member, said in ((0, "this one restores and saves it for all"), (1, "is the checkpoint directory of member 0 too")):
        assert said in first.runs[member].err, f"{first}"
    # All anew: what one of them restores is there for both before any job starts.
    there = [tmp_path / "shared", tmp_path / "shared", tmp_path / "own"]
    second = Gang(place, 3, 2, directories=there, every=10, **KEEP).start_all()
    assert second.resumed() == [step] * 3, f"{second}"
    second.wait_for_commits(1)
    second.kill_all()
    assert_not_torn(second)
    assert shards(there[0]) == {"shard_0.bin", "shard_1.bin"} and shards(there[2]) == {"shard_2.bin"}
    # Local disks now: each has all that its part held.
    step = committed_step(place)
    apart = [tmp_path / f"apart{i}" for i in range(3)]
    third = Gang(place, 3, 3, directories=apart, every=10, steps=step + 20, **KEEP).start_all()
    assert third.resumed() == [step] * 3, f"{third}"
    assert [run.wait() for run in third.runs] == [0, 0, 0], f"{third}"
    assert_not_torn(third)
    assert [part.get("keeper") for part in parts_of(place)] == [None] * 3
    assert place.verb("verify").code == 0


@pytest.mark.parametrize("before, now, expected", [
    ([0, 1, 2], [0, 0, 2], [{0, 1}, {0, 1}, {2}]),  # a directory for each, then one for two of them
    ([0, 1, 2], [0, 0, 0], [{0, 1, 2}] * 3),
    ([0, 0, 2, 2], [0, 1, 1, 1], [{0, 1}] + [{0, 1, 2, 3}] * 3),  # the keeper of one of them is elsewhere
])
def test_a_directory_has_what_all_have_saved_who_share_it_now(place, tmp_path, before, now, expected):
    members = len(before)
    rank = {"every": 10, "settings": 1, **KEEP}
    first = Gang(place, members, directories=[tmp_path / f"before{i}" for i in before], **rank).start_all()
    first.wait_for_commits(2)
    first.kill_all()
    step = committed_step(place)
    there = [tmp_path / f"now{i}" for i in now]
    second = Gang(place, members, 2, directories=there, steps=step + 50, **rank).start_all()
    assert_resumed(second, step)
    step = second.resumed()[0]
    assert [{int(path.stem.split("_")[1]) for path in (directory / f"step_{step}").iterdir()} for directory in there] == expected
    assert [run.wait() for run in second.runs] == [0] * members, f"{second}"
    assert_not_torn(second)
    # Each has written it, and only one of them stays.
    if len(set(before)) == members:
        assert "args.json of member 0 was taken, and not that of member 1" in second.runs[0].err
        assert "give each a --checkpoint-dir of its own" in second.runs[0].err


def test_shared_by_three_and_then_apart_on_two(place, tmp_path):
    """Another number of machines: the part of the keeper is the part of all."""
    rank = {"every": 10, "layout": "dcp", **KEEP}
    first = Gang(place, 3, directories=[tmp_path / "one"] * 3, **rank).start_all()
    first.wait_for_commits(2)
    first.kill_all()
    step = committed_step(place)
    second = Gang(place, 2, 2, directories=[tmp_path / "a", tmp_path / "b"], **rank).start_all()
    assert second.resumed() == [step] * 2, f"{second}"
    second.wait_for_commits(1)
    second.kill_all()
    assert_not_torn(second)
    step = committed_step(place)
    third = Gang(place, 3, 3, directories=[tmp_path / "c", tmp_path / "d", tmp_path / "d"], steps=step + 20, **rank).start_all()
    assert third.resumed() == [step] * 3, f"{third}"
    assert [run.wait() for run in third.runs] == [0] * 3, f"{third}"
    assert_not_torn(third)


def test_where_one_saves_for_all_into_one_directory(place):
    """The commonest layout of a cluster: rank 0 alone writes."""
    gang = Gang(place, 3, directories=[place.path / "one"] * 3, every=10, steps=100, savers="0", **KEEP).start_all()
    assert [run.wait() for run in gang.runs] == [0, 0, 0], f"{gang}"
    assert committed_step(place) == 100
    assert [part.get("keeper") for part in parts_of(place)] == [None, 0, 0]
    assert_not_torn(gang)


def test_a_snapshot_has_what_each_of_them_has_written(place):
    """Also if one is much slower than the one that saves for both: no step is there in part."""
    gang = Gang(place, 2, directories=[place.path / "one"] * 2, every=10, size=20000, **KEEP)
    gang.each[1]["size"] = 8000000
    gang.start_all()
    gang.wait_for_commits(3)
    gang.kill_all()
    target = place.path / "restored"
    assert place.verb("restore", place.newest()["id"], str(target)).code == 0
    for directory in target.rglob("step_*"):
        assert whole_shards(directory) == {"shard_0.bin": 20000, "shard_1.bin": 8000000}


def test_the_one_that_keeps_it_is_started_again_alone(place):
    """Before the job has started: all gather anew, and the directory is locked by the new one."""
    gang = Gang(place, 2, directories=[place.path / "one"] * 2, every=10, steps=20, **KEEP)
    held = gang.start(1)
    wait_for("it has joined", lambda: list(place.store_path.glob("jobs/job/gang/000000/join-00001-*")), process=held.process)
    gang.start(0).kill()
    gang.generation = 2
    gang.start(0)
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert committed_step(place) == 20


def test_a_directory_in_use_by_another_job_is_refused(place):
    """A run that is no member of the gang has it: that is an error of all."""
    other = place.run("sleep", "600", directory=place.path / "one", options=("--job", "other"))
    other.wait_for_event("launched")
    gang = Gang(place, 2, directories=[place.path / "one", place.path / "two"])
    for member in (1, 0):
        gang.start(member)
    assert gang.runs[0].wait() == harness.EXIT_OURS and "choose another directory with --checkpoint-dir" in gang.runs[0].err
    assert gang.runs[1].wait() == harness.EXIT_CONFIGURATION, f"{gang}"
    assert re.search(r"member 0 on \S+ cannot take part: checkpoint directory .*/one", gang.runs[1].err), f"{gang}"
    other.kill()


@pytest.fixture
def mounts(place):
    """One directory behind two mounts, as two machines see it on a shared file system: neither kernel tells what the other writes."""
    behind, seen = place.path / "behind", [place.path / f"mount{i}" for i in range(2)]
    behind.mkdir()
    if not shutil.which("bindfs"):
        pytest.skip("bindfs is not installed")
    servers = []
    try:
        for mount in seen:
            mount.mkdir()
            servers.append(subprocess.Popen(["bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0", behind, mount],
                                            preexec_fn=harness.die_with_parent, stderr=subprocess.PIPE, text=True))
            wait_for("the mount", lambda mount=mount: os.path.ismount(mount) or servers[-1].poll() is not None)
            if servers[-1].poll() is not None:
                pytest.skip("no FUSE here: " + servers[-1].stderr.read().strip())
        yield seen
        place.end()
    finally:
        for mount in seen:
            subprocess.run(["umount", "-l", mount], capture_output=True)
        for server in servers:
            server.kill()
            server.wait()


@pytest.mark.parametrize("savers", ["all", "0"])
def test_two_machines_see_one_directory(place, mounts, savers):
    """Whatever each of them has written of a checkpoint is in the snapshot, or there is none of it."""
    options = ("--quiet-time", "300ms")
    gang = Gang(place, 2, directories=mounts, options=options, every=100, steps=300, savers=savers, **KEEP)
    gang.each[1]["size"] = 4000000
    gang.start_all()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert committed_step(place) == 300
    assert [part.get("keeper") for part in parts_of(place)] == [None, 0]
    target = place.path / "restored"
    for snapshot in place.snapshots():
        assert place.verb("restore", snapshot["id"], str(target / snapshot["id"])).code == 0
        for directory in (target / snapshot["id"]).rglob("step_*"):
            assert whole_shards(directory) == {"shard_0.bin": 20000, **({"shard_1.bin": 4000000} if savers == "all" else {})}, f"{snapshot}\n{gang}"


LATE = """
import os, pathlib, time
rank, directory = int(os.environ["REPRIEVE_MACHINE"]), pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
for step in range(10, 70, 10):
    time.sleep(0.05 + (rank == {last} and step == 60) * 0.2)
    (directory / f"step_{{step}}").mkdir(parents=True, exist_ok=True)
    (directory / f"step_{{step}}" / f"shard_{{rank}}.bin").write_bytes(bytes(1000))
"""


@pytest.mark.parametrize("last", [0, 1])
def test_what_is_seen_after_the_job_has_finished_is_of_another_member(place, mounts, last):
    """It is no save of this one, whose part of that step has been given: nobody waits for another part."""
    gang = Gang(place, 2, directories=mounts, command=(PYTHON, "-c", LATE.format(last=last))).start_all()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert place.verb("restore", place.newest()["id"], str(place.path / "restored")).code == 0
    assert shards(place.path / "restored") == {"shard_0.bin", "shard_1.bin"}, f"{gang}"
