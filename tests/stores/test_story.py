"""The main story in each store, from the first save to the tar that is taken out, looked at with the cloud's own client."""
import hashlib
import json
import os
import random
import re
import subprocess
import time

import pytest
from harness import PYTHON, SAVER
from test_faults import OFTEN, SAVING, committed_step, finish, resumed_step

# What storage/FORMAT.md lets lie in a store.
# A machine that is killed while it asks for the store's time leaves what it asked by.
KEYS = re.compile(r"[.]probe|format[.]json|tmp/clock-[0-9a-f]{32}"
                  r"|jobs/job/(attempts/\d{6}([.](end|confirmed))?[.]json|(snapshots|draining)/\d{6}-\d{6}[.]json"
                  r"|notes/\d{6}/(ledger|log|metrics)-\d{4}|packs/\d{6}/\d{6}-[0-9a-f]{32}-\d{4}[.]pack)")


@pytest.fixture
def place(server, place_at):
    return place_at(server)


def make_tree(path):
    """Files as they come: of several packs, empty, sparse, with names and modes that a careless program gets wrong."""
    content = random.Random(7)
    (path / "deep" / "er").mkdir(parents=True)
    (path / "weights.bin").write_bytes(content.randbytes(40_000_000))
    (path / "deep" / "er" / "state of + %41 é.txt").write_text("step 7\n")
    (path / "deep" / "empty").write_bytes(b"")
    (path / "run.sh").write_text("exit 0\n")
    (path / "run.sh").chmod(0o755)
    (path / "latest").symlink_to("deep/er")
    with open(path / "sparse", "wb") as sparse:
        sparse.seek(9_000_000)
        sparse.write(b"end")
    return path


def shape(path):
    """Everything that a snapshot keeps of a tree."""
    found = {}
    for directory, _, files in os.walk(path):
        for name in [".", *files]:
            entry = os.path.normpath(os.path.join(directory, name))
            status = os.lstat(entry)
            content = os.readlink(entry) if os.path.islink(entry) else None
            if os.path.isfile(entry) and content is None:
                with open(entry, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            found[os.path.relpath(entry, path)] = (status.st_mode, content, None if os.path.isdir(entry) else status.st_mtime_ns)
    return found


def unpack(archive, target):
    """With the tools that everyone has."""
    target.mkdir()
    unpacked = subprocess.run(f"lz4 -dc '{archive}' | tar -x -C '{target}'", shell=True, capture_output=True, text=True)
    assert unpacked.returncode == 0, unpacked.stderr


def check_objects(server, place):
    """The other client's list against what the records say: every object is known, and every pack that is named is there, whole."""
    objects = server.objects(place.store)
    assert all(KEYS.fullmatch(key) for key in objects), sorted(objects)
    snapshots = [key for key in objects if "/snapshots/" in key]
    assert snapshots
    for key in snapshots:
        header, _, body = server.read(place.store, key).partition(b"\n")
        header = json.loads(header)
        assert (header["bytes"], header["sha256"]) == (len(body), hashlib.sha256(body).hexdigest()), key
        for pack in json.loads(body)["packs"]:
            assert objects[f"jobs/job/{pack['key']}"] == pack["bytes"], pack
    return objects


def test_a_job_outlives_its_machine(server, place):
    """Saved, killed with its machine, resumed on an empty one, looked at, verified and taken out."""
    first = place.run(*SAVING, options=OFTEN, directory=place.path / "first")
    first.wait_for_event("durable", count=2)
    first.kill()
    committed = committed_step(place)
    assert committed >= 2
    second = finish(place, place.path / "second")
    assert resumed_step(second) == committed
    newest = place.newest()
    assert newest["state"] == "good" and committed_step(place) == committed + 2
    assert place.verb("verify").code == 0
    check_objects(server, place)
    for run in (first, second):
        assert not any(secret in run.err for secret in ("TESTSECRET", "Eby8vdM02", "token-")), "a secret was logged"
    archive = place.path / "newest.tar.lz4"
    assert place.verb("export", newest["id"], archive).code == 0
    unpack(archive, place.path / "unpacked")
    assert place.verb("restore", newest["id"], place.path / "restored").code == 0
    assert shape(place.path / "unpacked") == shape(place.path / "restored")
    resumed = subprocess.run([PYTHON, SAVER, "--steps", str(committed + 2)], env={"REPRIEVE_CHECKPOINT_DIR": str(place.path / "restored")},
                             capture_output=True, text=True)
    assert resumed.stdout == f"resumes {committed + 2}\nfinished {committed + 2}\n"


def test_a_tree_comes_back_as_it_was(server, place):
    tree = make_tree(place.path / "tree")
    assert place.verb("save", tree).code == 0
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert shape(place.path / "back") == shape(tree)
    archive = place.path / "tree.tar.lz4"
    assert place.verb("export", "latest", archive).code == 0
    unpack(archive, place.path / "unpacked")
    assert {path: mode_and_content[:2] for path, mode_and_content in shape(place.path / "unpacked").items()} == \
        {path: mode_and_content[:2] for path, mode_and_content in shape(tree).items()}
    before = check_objects(server, place)
    packs = {key for key in before if key.endswith(".pack")}
    assert sum(before[key] for key in packs) > 40_000_000 and len(packs) > 1
    # What has not changed is not sent again.
    (tree / "run.sh").write_text("exit 1\n")
    assert place.verb("save", tree).code == 0
    after = check_objects(server, place)
    assert sum(after[key] for key in after if key.endswith(".pack") and key not in packs) < 100_000
    assert place.verb("restore", "latest", place.path / "second").code == 0
    assert shape(place.path / "second") == shape(tree)


def test_forgotten_content_is_swept(server, place):
    """By the dates in the server's own lists: what is too young stays, and what is old enough goes."""
    tree = place.path / "tree"
    tree.mkdir()
    for number in range(4):
        (tree / "content").write_bytes(bytes([number]) + os.urandom(100_000))
        assert place.verb("save", tree).code == 0
    forgotten = place.verb("forget", "--keep-last", "1", "--sweep-age", "1h")
    assert forgotten.code == 0, forgotten

    def packs():
        return [key for key in server.objects(place.store) if key.endswith(".pack")]
    assert len(packs()) == 4, "swept before its time"
    time.sleep(2.1)  # servers' clocks count whole seconds
    swept = place.verb("forget", "--keep-last", "1", "--sweep-age", "1s")
    assert swept.code == 0, swept
    # The newest, and what its attempt started from.
    assert len(packs()) == 2, swept
    check_objects(server, place)
    assert place.verb("verify").code == 0
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert shape(place.path / "back") == shape(tree)
