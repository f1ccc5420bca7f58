"""`reprieve forget`, `pin`, --keep-* on `run`, costs, `restore --include`, `status`, on file://."""
import hashlib
import json
import os
import random
import time
from pathlib import Path

from harness import EXIT_USAGE, PYTHON, one_line

TRAINER = str(Path(__file__).resolve().parent / "trainer.py")
QUICK = ("--quiet-time", "150ms")
DAYS_AGO = time.time() - 2 * 24 * 3600


def save(place, *options, size=300_000):
    """One snapshot of its own content; returns its id."""
    place.directory.mkdir(exist_ok=True)
    (place.directory / "weights").write_bytes(random.randbytes(size))
    result = place.verb("save", place.directory, "--json", *options)
    assert result.code == 0, result
    return result.json["id"]


def forget(place, *options):
    result = place.verb("forget", "--json", *options)
    assert result.code == 0, result
    return result.json


def ids(place):
    return [snapshot["id"] for snapshot in place.snapshots()]


def packs(place):
    return list((place.store_path / "jobs" / place.job / "packs").rglob("*.pack"))


def make_old(place):
    for path in (place.store_path / "jobs").rglob("*"):
        os.utime(path, (DAYS_AGO, DAYS_AGO))


def trainer(place, *options):
    return (PYTHON, "-u", TRAINER, "--dir", place.directory, *options)


# --- forget ---


def test_forget_without_a_rule_is_a_mistake(place):
    save(place)
    result = place.verb("forget")
    assert result.code == EXIT_USAGE and "--keep-last" in one_line(result)
    assert len(ids(place)) == 1


def test_keeps_the_newest_and_frees_the_rest(place):
    saved = [save(place) for _ in range(6)]
    make_old(place)
    dry = forget(place, "--keep-last", "2", "--dry-run")
    assert len(ids(place)) == 6 and len(packs(place)) == 6
    wet = forget(place, "--keep-last", "2")
    # The fifth is both: last, and what the newest attempt started from.
    assert ids(place) == [saved[5], saved[4]]
    assert {row["id"] for row in wet["snapshots"] if row["kept"]} == {saved[5], saved[4]}
    for key in ("kept", "forgotten", "bytes_before", "bytes_freed", "packs_removed", "snapshots"):
        assert dry[key] == wet[key], key
    assert wet["packs_removed"] == 4 and len(packs(place)) == 2
    assert place.verb("verify").code == 0
    target = place.path / "back"
    assert place.verb("restore", "latest", target).code == 0
    assert (target / "weights").read_bytes() == (place.directory / "weights").read_bytes()


def test_pins_and_tags_hold(place):
    pinned, tagged, plain = save(place), save(place, "--tag", "best"), save(place)
    for _ in range(3):
        save(place)
    assert place.verb("pin", pinned).code == 0
    forget(place, "--keep-last", "1", "--keep-tag", "best")
    left = ids(place)
    assert pinned in left and tagged in left and plain not in left
    row = next(snapshot for snapshot in place.snapshots() if snapshot["id"] == tagged)
    assert row["tag"] == "best" and not row["pinned"]
    assert place.verb("unpin", pinned).code == 0
    forget(place, "--keep-last", "1", "--keep-tag", "best")
    assert pinned not in ids(place)


def test_what_it_costs_is_an_estimate(place):
    save(place, size=3_000_000)
    plain = place.verb("list")
    assert "stored: 2.9 MiB\n" in plain.out
    priced = place.verb("list", "--price", "1000")
    assert "$2.79 a month (an estimate" in priced.out, priced
    dry = place.verb("forget", "--keep-last", "1", "--dry-run", "--price", "1000")
    assert "a month (an estimate" in dry.out, dry


# --- run ---


def test_run_forgets_behind_its_commits(place):
    run = place.run(*trainer(place, "--every", "5", "--steps", "40", "--step-time", "0.1"),
                    options=(*QUICK, "--keep-last", "2", "--tag", "night", "--snapshot-interval", "0"))
    assert run.wait() == 0, run
    saved = {event["id"]: event["step"] for event in run.events("durable")}
    assert len(saved) > 4
    left = place.snapshots()
    assert len(left) == 2 and left[0]["newest"] and left[0]["step"] == max(saved.values())
    assert {snapshot["tag"] for snapshot in left} == {"night"}
    assert run.events("snapshots_removed")
    assert place.verb("verify").code == 0


def test_run_keeps_what_it_started_from(place):
    assert place.run(*trainer(place, "--every", "5", "--steps", "12"), options=QUICK).wait() == 0
    start = place.newest()["id"]
    second = place.run(*trainer(place, "--every", "5", "--steps", "40", "--step-time", "0.1"), options=(*QUICK, "--keep-last", "1"))
    assert second.wait() == 0, second
    left = ids(place)
    assert start in left and len(left) == 2


# --- what stays by default ---


def set_day(place, snapshot, day):
    """As if that machine's clock had said so."""
    (path,) = place.store_path.glob(f"jobs/*/snapshots/{snapshot}.json")
    head, body = path.read_bytes().split(b"\n", 1)
    head, body = json.loads(head), json.loads(body[:json.loads(head)["bytes"]])
    body["created"] = f"{day}T12:00:00.000Z"
    body = json.dumps(body, separators=(",", ":")).encode()
    head.update(bytes=len(body), sha256=hashlib.sha256(body).hexdigest())
    path.write_bytes(json.dumps(head, separators=(",", ":")).encode() + b"\n" + body)


def test_ten_and_the_last_of_each_day_stay(place):
    days = ["2026-03-01"] * 2 + ["2026-03-02"] * 3 + ["2026-03-04"]
    earlier = [save(place, size=1000) for _ in days]
    for snapshot, day in zip(earlier, days):
        set_day(place, snapshot, day)
    assert place.verb("pin", earlier[2]).code == 0
    run = place.run(*trainer(place, "--every", "5", "--steps", "80", "--step-time", "0.05"),
                    options=(*QUICK, "--snapshot-interval", "0", "--restore", earlier[-1]))
    assert run.wait() == 0, run
    saved = [event["id"] for event in run.events("durable")]
    assert len(saved) > 11
    assert set(ids(place)) == set(saved[-10:]) | {earlier[1], earlier[2], earlier[4], earlier[5]}
    assert run.err.count("beyond the newest 10 and the last of each day (--keep-last 0 keeps all)") == 1
    assert place.verb("verify").code == 0


def test_keep_last_0_keeps_all(place):
    run = place.run(*trainer(place, "--every", "5", "--steps", "80", "--step-time", "0.05"),
                    options=(*QUICK, "--snapshot-interval", "0", "--keep-last", "0", "--keep-tag", "none"))
    assert run.wait() == 0, run
    saved = [event["id"] for event in run.events("durable")]
    assert len(saved) > 11 and ids(place) == saved[::-1]
    assert "removed" not in run.err


def test_what_has_no_step_takes_no_checkpoint_along(place):
    (place.directory / "step-7").mkdir(parents=True)
    (place.directory / "step-7" / "model.pt").write_bytes(b"model")
    run = place.run("sh", "-c", "echo again > checkpoints/step-7/model.pt", options=QUICK)
    assert run.wait() == 0, run
    checkpoint = next(snapshot["id"] for snapshot in place.snapshots() if snapshot["step"] == 7)
    place.directory = place.path / "logs"
    for _ in range(3):
        save(place, size=1000)
    forget(place, "--keep-last", "1")
    assert checkpoint in ids(place)


# --- restore --include, --exclude ---


def test_restore_of_a_part(place):
    for name in ("model/a.safetensors", "model/config.json", "optimizer/state.pt", "step"):
        path = place.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert place.verb("save", place.directory).code == 0

    def restored(*options):
        target = place.path / f"part{random.randrange(10**9)}"
        result = place.verb("restore", "latest", target, *options)
        assert result.code == 0, result
        return {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}

    assert restored("--include", "*.safetensors") == {"model/a.safetensors"}
    assert restored("--exclude", "optimizer") == {"model/a.safetensors", "model/config.json", "step"}
    assert restored("--include", "model", "--exclude", "*.json") == {"model/a.safetensors"}
    nothing = place.verb("restore", "latest", place.path / "none", "--include", "*.nothing")
    assert nothing.code == 1 and "no file" in one_line(nothing)
    assert not (place.path / "none").exists()


# --- status ---


# --- progress ---


def test_a_run_that_begins_afresh_keeps_the_earlier_line(place):
    """What `--restore none` leaves behind is counted by itself: not all of it goes with the first commit."""
    earlier = [save(place) for _ in range(3)]
    place.directory = place.path / "new"
    run = place.run(*trainer(place, "--every", "3", "--steps", "3"), options=(*QUICK, "--restore", "none", "--keep-last", "2"))
    assert run.wait() == 0, run
    assert "starting from scratch (--restore none" in run.err and "no snapshot yet" not in run.err
    assert "that no --keep rule keeps" in run.err
    left = place.snapshots()
    assert [snapshot["id"] for snapshot in left if snapshot["state"] == "superseded"] == earlier[:0:-1]
    assert [snapshot["state"] for snapshot in left].count("good") >= 1
