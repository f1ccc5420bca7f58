"""Damage in the store: never restored, the older good snapshot is taken instead, the damage is named, and verify finds it."""
import re
import subprocess

import damage
import pytest
from harness import PYTHON, SAVER

SIZE = 50000
QUICK = ("--quiet-time", "150ms")


@pytest.fixture
def two(place):
    """A place with the snapshots of steps 1 and 2, each with packs of its own, and their ids."""
    ids = []
    for step in (1, 2):
        subprocess.run([PYTHON, SAVER, "--steps", str(step), "--size", str(SIZE), "--pause", "0"], check=True, cwd=place.path,
                       env={**place.environment, "REPRIEVE_CHECKPOINT_DIR": str(place.directory)}, stdout=subprocess.DEVNULL)
        result = place.verb("save", place.directory, "--json")
        assert result.code == 0, result
        ids.append(result.json["id"])
    place.older, place.newer = ids
    place.secret = place.path / "secret"
    place.secret.write_text("not yours")
    return place


def manifest_of(place, identity):
    return place.store_path / "jobs" / place.job / "snapshots" / f"{identity}.json"


def pack_of(place, identity):
    """Of the packs that were first written for this snapshot, the one with the newest checkpoint's data."""
    _, body = damage.read_record(manifest_of(place, identity))
    folder = f"packs/{identity.split('-')[0]}/"
    own = [pack for pack in body["packs"] if pack["key"].startswith(folder)]
    largest = max(own, key=lambda pack: pack["bytes"])
    assert largest["bytes"] > SIZE, own
    return place.store_path / "jobs" / place.job / largest["key"]


def in_pack(spoil):
    return lambda place: spoil(pack_of(place, place.newer))


def in_manifest(spoil):
    return lambda place: spoil(manifest_of(place, place.newer))


DAMAGES = {
    "bit flipped in a pack's data": in_pack(lambda path: damage.flip(path, 5000)),
    "pack truncated by a byte": in_pack(lambda path: damage.truncate(path, path.stat().st_size - 1)),
    "pack truncated to half": in_pack(lambda path: damage.truncate(path, path.stat().st_size // 2)),
    "pack truncated to nothing": in_pack(lambda path: damage.truncate(path, 0)),
    "pack missing": in_pack(lambda path: path.unlink()),
    "bit flipped in the manifest's body": in_manifest(lambda path: damage.flip(path, -20)),
    "bit flipped in the manifest's header": in_manifest(lambda path: damage.flip(path, 5)),
    "manifest truncated": in_manifest(lambda path: damage.truncate(path, path.stat().st_size // 2)),
    "manifest empty": in_manifest(lambda path: damage.truncate(path, 0)),
    "path with ..": in_manifest(lambda path: damage.forge(path, damage.rename_data("../evil"))),
    "path with .. inside": in_manifest(lambda path: damage.forge(path, damage.rename_data("step-000001/../../evil"))),
    "absolute path": in_manifest(lambda path: damage.forge(path, damage.rename_data("/evil"))),
    "link to an absolute path": in_manifest(lambda path: damage.forge(path, damage.add_link("zz", "/etc"))),
    "link out": in_manifest(lambda path: damage.forge(path, damage.add_link("zz", "../secret"))),
    "link out through a name": in_manifest(lambda path: damage.forge(path, damage.add_link("zz", "step-000001/../../secret"))),
    "file written through a link": in_manifest(lambda path: damage.forge(path, damage.link_then_write_through)),
    "hard link out": in_manifest(lambda path: damage.forge(path, damage.hardlink_out)),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_the_older_good_one_is_taken(two, kind):
    DAMAGES[kind](two)
    verified = two.verb("verify")
    assert verified.code == 1, verified
    assert two.newer in verified.out and "damaged" in verified.out
    assert f"damaged  {two.older}" not in verified.out, "the older one has nothing to do with it"
    run = two.run(PYTHON, SAVER, "--steps", 1, directory=two.path / "empty")
    assert run.wait() == 0, run
    assert "resumes 1\n" in run.out, run
    assert run.event("restored")["id"] == two.older
    assert [event["id"] for event in run.events("snapshot_skipped")] == [two.newer]
    assert any(two.newer in line for line in run.err.splitlines()), "the damage is not named"
    assert not list(two.path.glob("**/evil")), "something was written outside"
    assert not (two.path / "empty").is_symlink() and two.secret.read_text() == "not yours"


# Without its last byte a pack has no index, but all of its data, which is checked chunk by chunk: by hand it can be had.
@pytest.mark.parametrize("kind", [kind for kind in DAMAGES if kind != "pack truncated by a byte"])
def test_it_is_not_restored_by_hand_either(two, kind):
    DAMAGES[kind](two)
    target = two.path / "by-hand"
    result = two.verb("restore", two.newer, target)
    assert result.code == 1, result
    assert len(result.err.splitlines()) == 1 and two.newer in result.err
    assert not target.exists(), "a part was left behind"
    assert not list(two.path.glob("**/evil"))
    assert two.verb("restore", two.older, target).code == 0
    assert (target / "step-000001" / "data").stat().st_size == SIZE


@pytest.mark.parametrize("verb", ["restore", "export"])
def test_the_latest_by_hand_names_the_good_one_before_it(two, verb):
    damage.flip(pack_of(two, two.newer), 5000)
    target = two.path / "by-hand"
    result = two.verb(verb, "latest", target)
    assert result.code == 1 and len(result.err.splitlines()) == 1, result
    command = result.err.split("the good one before it: `")[1].split("`")[0]
    assert command.startswith(f"reprieve {verb} {two.older} {target} ")
    assert two.query(*command.split()[1:]).code == 0
    assert target.exists()


@pytest.mark.parametrize("verb", ["restore", "export"])
def test_what_is_newer_than_the_latest_by_hand_is_named(two, verb):
    pack_of(two, two.newer).unlink()
    target = two.path / "by-hand"
    result = two.verb(verb, "latest", target)
    assert result.code == 0 and target.exists(), result
    assert "warning" in result.err and f"{two.newer} is damaged, and passed over" in result.err, result


@pytest.mark.parametrize("verb", ["restore", "export"])
def test_the_latest_by_hand_may_be_of_a_newer_version(two, verb):
    """Only that version could tell whether it is the one that is wanted."""
    manifest = manifest_of(two, two.newer)
    text, count = re.subn(r'"version":\d+', '"version":99', manifest.read_text(), count=1)
    assert count == 1
    manifest.write_text(text)
    target = two.path / "by-hand"
    result = two.verb(verb, "latest", target)
    assert result.code == 78 and two.newer in result.err and "newer version" in result.err, result
    assert not target.exists()
    assert [(snapshot["id"], snapshot["state"]) for snapshot in two.snapshots()] == [(two.newer, "newer"), (two.older, "good")]


def test_all_is_well_without_damage(two):
    """The control: without it, every test above could pass because nothing works."""
    assert two.verb("verify").code == 0
    run = two.run(PYTHON, SAVER, "--steps", 2, directory=two.path / "empty")
    assert run.wait() == 0 and "resumes 2\n" in run.out, run
    assert run.event("restored")["id"] == two.newer and not run.events("snapshot_skipped")


def test_verify_names_every_damaged_one(two):
    damage.flip(pack_of(two, two.newer), 5000)
    damage.truncate(pack_of(two, two.older), 100)
    verified = two.verb("verify", "--json")
    assert verified.code == 1, verified
    assert {found["id"] for found in verified.json["damages"]} == {two.older, two.newer}


def test_nothing_good_is_left(two):
    """All are damaged: the job does not start, and starts afresh if it is told to."""
    damage.flip(pack_of(two, two.newer), 5000)
    damage.flip(pack_of(two, two.older), 5000)
    refused = two.run(PYTHON, SAVER, "--steps", 1, directory=two.path / "refused")
    assert refused.wait() == 78 and refused.out == "", refused
    for identity in (two.older, two.newer):
        assert identity in refused.err
    run = two.run(PYTHON, SAVER, "--steps", 1, directory=two.path / "empty", options=("--restore", "none"))
    assert run.wait() == 0 and "resumes 0\n" in run.out, run
    assert not run.events("restored")


# Goes on from the highest step-N, and saves each step up to the last one; the same step has the same bytes.
SAME_BYTES = """
import os, pathlib, random, sys
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
top.mkdir(parents=True, exist_ok=True)
step = max([int(file.stem.split("-")[1]) for file in top.glob("step-*.bin")], default=0)
print("resumes", step, flush=True)
while step < int(sys.argv[1]):
    step += 1
    random.seed(step)
    part = top / f"step-{step}.bin.tmp"
    part.write_bytes(random.randbytes(300000))
    part.rename(top / f"step-{step}.bin")
"""


@pytest.fixture
def flipped(place):
    """Snapshots of the steps 1 and 2, of two runs; a bit in the pack of the second is flipped."""
    for step in (1, 2):
        assert place.run(PYTHON, "-c", SAME_BYTES, step, options=QUICK).wait() == 0
    place.older, place.newer = "000001-000001", "000002-000001"
    assert [snapshot["id"] for snapshot in place.snapshots()] == [place.newer, place.older]
    damage.flip(pack_of(place, place.newer), 5000)
    return place


def test_no_later_save_relies_on_what_is_damaged(flipped):
    """The job does the lost step again, bit for bit: its content is sent anew, and the next start goes on from it."""
    run = flipped.run(PYTHON, "-c", SAME_BYTES, 2, "again", directory=flipped.path / "second", options=QUICK)
    assert run.wait() == 0 and "resumes 1\n" in run.out, run
    assert run.event("durable")["bytes_sent"] > 300000, run
    again = flipped.run(PYTHON, "-c", SAME_BYTES, 3, directory=flipped.path / "third", options=QUICK)
    assert again.wait() == 0 and "resumes 2\n" in again.out, again
    assert "damaged" not in again.err, again


def test_the_claim_in_force_names_what_was_restored(flipped):
    """The snapshot that the run has started from is kept, and not the damaged one; the machine dies, and the next goes on from it."""
    run = flipped.run(PYTHON, "-c", SAME_BYTES + "\nimport time\ntime.sleep(60)", 1, directory=flipped.path / "second",
                      options=QUICK)
    run.wait_for_output("resumes 1\n")
    forgotten = flipped.verb("forget", "--keep-last", "1")
    run.kill()
    assert forgotten.code == 0, forgotten
    kept = {snapshot["id"]: snapshot["state"] for snapshot in flipped.snapshots()}
    assert kept.get(flipped.older) == "good", (kept, forgotten)
    again = flipped.run(PYTHON, "-c", SAME_BYTES, 1, "again", directory=flipped.path / "third", options=QUICK)
    assert again.wait() == 0 and "resumes 1\n" in again.out, again


def test_repair(flipped):
    """`verify --repair` sets aside what is damaged, and puts it back when it is whole again."""
    pack = pack_of(flipped, flipped.newer)
    aside = pack.parents[2] / "damaged" / pack.parent.name / pack.name
    first = flipped.verb("verify")
    assert "`reprieve verify --repair` sets aside" in first.out, first
    found = flipped.verb("verify", "--repair", "--json")
    assert found.code == 1 and found.json["set_aside"] == 1 and aside.exists() and pack.exists(), found
    assert [snapshot["state"] for snapshot in flipped.snapshots()] == ["damaged", "good"]
    again, only_looked = flipped.verb("verify", "--repair"), flipped.verb("verify")
    assert "the damage is known already, and the next save sends anew" in again.out, again
    assert "--repair" not in only_looked.out and "the damage is known already" in only_looked.out, only_looked
    damage.flip(pack, 5000)
    mended = flipped.verb("verify", "--repair")
    assert mended.code == 0 and "is whole, and put back" in mended.out, mended
    assert "there is nothing to repair" in flipped.verb("verify", "--repair").out
    assert [snapshot["state"] for snapshot in flipped.snapshots()] == ["good", "good"]


def test_a_save_heals_what_verify_found(flipped):
    """What is set aside is sent anew by the next save of the same content, and a start takes that."""
    assert flipped.verb("verify", "--repair").code == 1
    saved = flipped.verb("save", flipped.directory, "--json")
    assert saved.code == 0, saved
    checked = flipped.verb("verify", saved.json["id"])
    assert checked.code == 0, checked
    run = flipped.run(PYTHON, "-c", SAME_BYTES, 2, directory=flipped.path / "third", options=QUICK)
    assert run.wait() == 0 and "resumes 2\n" in run.out, run


def test_a_damaged_claim_does_not_lose_the_work(two):
    """An attempt's record is spoiled: what its snapshots hold is still found."""
    damage.flip(two.store_path / "jobs" / two.job / "attempts" / "000002.json", -5)
    run = two.run(PYTHON, SAVER, "--steps", 2, directory=two.path / "empty")
    assert run.wait() == 0 and "resumes 2\n" in run.out, run


