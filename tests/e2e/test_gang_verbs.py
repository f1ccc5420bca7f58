"""What the verbs say of a gang: of its snapshots, of the part of each member, and of one that runs; and another number of machines."""
import os
import re
import signal
import subprocess

import harness
import pytest
from gang import Gang
from harness import one_line, wait_for


def finish(place, members, **rank):
    gang = Gang(place, members, **rank).start_all()
    assert [run.wait() for run in gang.runs] == [0] * members, f"{gang}"
    return gang


def shards(directory):
    return sorted(path.name for path in directory.rglob("*.bin"))


def test_a_snapshot_of_a_gang_is_seen_as_a_whole_and_by_member(place):
    finish(place, 3, every=10, steps=10)
    newest = place.newest()
    host = os.uname().nodename
    assert (newest["members"], newest["members_without_checkpoint"], newest["files"]) == (3, 0, 3)
    assert newest["bytes"] == 3 * (20000 + len("run 0\n"))
    table = place.verb("list").out
    assert re.search(r"STEP +MEMBERS +FILES", table) and re.search(r"good +10 +3 +3 ", table), table
    shown = place.verb("show", "latest").out
    assert "members   3" in shown, shown
    for member in range(3):
        assert re.search(rf"member {member} on {re.escape(host)}, step 10: .* in 1 file\n", shown), shown
        assert f"member-0000{member}/step_10/shard_{member}.bin" in shown

    whole, one = place.path / "whole", place.path / "one"
    assert place.verb("restore", "latest", whole).code == 0
    assert shards(whole) == ["shard_0.bin", "shard_1.bin", "shard_2.bin"]
    assert (whole / "member-00002/step_10/shard_2.bin").exists()
    assert place.verb("restore", "latest", one, "--member", "2").code == 0
    assert shards(one) == ["shard_2.bin"] and (one / "step_10/shard_2.bin").exists()
    archive = place.path / "one.tar.lz4"
    assert place.verb("export", "latest", archive, "--member", "1").code == 0
    names = subprocess.run(f"lz4 -dc '{archive}' | tar -t", shell=True, capture_output=True, text=True, check=True).stdout
    assert "step_10/shard_1.bin\n" in names and "member-" not in names and "shard_0" not in names

    refused = place.verb("restore", "latest", place.path / "none", "--member", "3")
    assert refused.code == harness.EXIT_CONFIGURATION and "a gang of 3 members" in one_line(refused)
    assert not (place.path / "none").exists()
    refused = place.verb("export", "latest", place.path / "none", "--member", "3")
    assert refused.code == harness.EXIT_CONFIGURATION and not (place.path / "none").exists()


def test_a_member_without_a_checkpoint_is_told_apart(place):
    finish(place, 2, every=10, steps=20, savers="0", step_time=0.03)
    newest = place.newest()
    assert (newest["members"], newest["members_without_checkpoint"]) == (2, 1)
    assert "1 of 2" in place.verb("list").out
    assert re.search(r"member 1 on \S+: no checkpoint\n", place.verb("show", "latest").out)
    refused = place.verb("restore", "latest", place.path / "none", "--member", "1")
    assert refused.code == 1 and "member 1 has no files" in one_line(refused)


def test_damage_in_one_part_names_the_member(place):
    finish(place, 2, every=10, steps=10)
    packs = sorted((place.store_path / "jobs/job/packs").rglob("*.pack"))
    damaged = set()
    for pack in packs:
        whole = pack.read_bytes()
        for at in (100, len(whole) // 2):
            pack.chmod(0o600)
            pack.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            found = place.verb("verify", "latest")
            assert found.code == 1, found
            members = set(re.findall(r"member-0000(\d)/|the part of member (\d)", found.out))
            assert len(members) == 1, found
            damaged |= {first or second for first, second in members}
        pack.write_bytes(whole)
    assert damaged == {"0", "1"}
    assert place.verb("verify", "latest").code == 0


def test_to_forget_takes_the_parts_of_all(place):
    finish(place, 2, every=10, steps=30)
    count = len(place.snapshots())
    assert count >= 1
    newest = place.newest()["id"]
    assert place.verb("forget", "--keep-last", "1").code == 0
    assert [snapshot["id"] for snapshot in place.snapshots()] == [newest]
    assert place.verb("verify").code == 0
    assert place.verb("restore", "latest", place.path / "whole").code == 0
    for member in range(2):
        assert (place.path / f"whole/member-0000{member}/step_30/shard_{member}.bin").exists()


def test_a_report_counts_one_attempt_and_all_machines(place):
    finish(place, 3, every=10, steps=10)
    report = place.verb("report", "--json", "--spot-price", "3600").json
    job = report["jobs"][0]
    assert job["attempts"] == 1 and job["list"][0]["machines"] == 3
    assert job["spot_cost"] == pytest.approx(3 * (job["ran_seconds"] + job["restore_seconds"]))
    assert "+2 " in place.verb("report").out


@pytest.mark.parametrize("number", [1, 3])
def test_another_number_of_machines_reads_a_distributed_checkpoint(place, number):
    """Each member has files of its own in step_10/, and .metadata is at the first alone: with the files of all, any number reads it."""
    first = finish(place, 2, every=10, steps=10, layout="dcp")
    assert [shards(directory) for directory in first.directories] == [[], []]
    assert not (first.directories[1] / "step_10/.metadata").exists()
    directories = [place.path / f"then{i}" for i in range(number)]
    then = Gang(place, number, 2, directories=directories, options=(), every=10, steps=20, layout="dcp").start_all()
    assert then.resumed() == [10] * number, f"{then}"
    assert [run.wait() for run in then.runs] == [0] * number, f"{then}"
    assert "was taken by 2 machines" in then.runs[0].err
    newest = place.newest()
    assert (newest["step"], newest["members"]) == (20, number if number > 1 else 0)
    assert place.verb("verify").code == 0


def test_one_machine_becomes_two(place):
    alone = Gang(place, 1, every=10, steps=10, layout="dcp").start_all()
    assert alone.runs[0].wait() == 0, f"{alone}"
    assert place.newest()["members"] == 0
    two = Gang(place, 2, 2, directories=[place.path / "a", place.path / "b"], options=(), every=10, steps=20,
               layout="dcp").start_all()
    assert two.resumed() == [10, 10], f"{two}"
    assert [run.wait() for run in two.runs] == [0, 0], f"{two}"
    assert place.newest()["members"] == 2


def test_the_same_number_gets_the_files_of_all_where_one_has_the_marker(place):
    finish(place, 2, every=10, steps=10, layout="dcp")
    again = Gang(place, 2, 2, directories=[place.path / "a", place.path / "b"], options=(), every=200, layout="dcp").start_all()
    assert again.resumed() == [10, 10], f"{again}"
    # That what it saves has less in it than what it was given keeps no member from saving.
    again.wait_for_commits(2)
    again.kill_all()
    assert "is not used" not in f"{again}"
    assert place.newest()["step"] >= 400


def test_a_file_of_each_rank_is_not_resharded(place):
    finish(place, 2, every=10, steps=10)
    for number, says in ((3, "and this one has 3"), (1, "this is one machine")):
        directories = [place.path / f"{number}.{i}" for i in range(number)]
        then = Gang(place, number, 1 + number, directories=directories, options=("--join-time", "20s"), steps=20).start_all()
        assert {run.wait() for run in then.runs} == {harness.EXIT_CONFIGURATION}, f"{then}"
        said = then.runs[0].err
        assert "a gang of 2 members" in said and says in said and "--parts all" in said, said
        assert "shard_1.bin is of one of its ranks" in said, said


def test_status_tells_of_all_members_and_whose_part_is_missing(place):
    """Member 1 stands still: the others' supervisors have opened a round that it gives nothing in."""
    gang = Gang(place, 3, every=20).start_all()
    gang.wait_for_commits(1)
    gang.runs[1].signal(signal.SIGSTOP)

    def asked():
        """What member 0 says, as soon as the parts of all others are there."""
        for job in place.query("status", "--json").json["jobs"]:
            told = job.get("gang")
            if told and told["member"] == 0 and told["round"] and told["round"].get("missing") == [1]:
                return told
        return None

    try:
        told = wait_for("a round waits for member 1", asked, about=gang)
        assert told["members"] == 3 and not told["over"] and told["round"]["gave"]
        assert told["round"]["given"] == [0, 2] and told["round"]["state"] == "open"
        host = os.uname().nodename
        states = ["goes on", "has not ended", "has not ended"]
        assert [(member["member"], member["host"], member["state"]) for member in told["list"]] == [(i, host, states[i]) for i in range(3)]
        text = place.query("status").out
        assert "  gang      member 0 of 3\n" in text and "  gang      member 2 of 3\n" in text, text
        assert re.search(f"member 1 on {host}: nothing heard for .*, its part is missing\n", text), text
        assert f"member 0 on {host}: goes on, has given its part\n" in text, text
        assert re.search(r"round +" + told["round"]["id"] + r", step \d+: open, 2 of 3 parts are there\n", text), text
    finally:
        gang.runs[1].signal(signal.SIGCONT)
    gang.wait_for_commits(2)
