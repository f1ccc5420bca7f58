"""Killed at any instant, frozen, out of space: what was committed stands, and what is resumed from is complete.

The job is tests/e2e/saver.py, which checks what it resumes from and prints BAD where that is not a complete checkpoint.
REPRIEVE_KILLS is the number of kills (default 200).
"""
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import damage
import pytest
from harness import EXIT_DURABLE, EXIT_OURS, PYTHON, SAVER, is_alive, wait_for

KILLS = int(os.environ.get("REPRIEVE_KILLS", "200"))
OFTEN = ("--quiet-time", "100ms")
SAVING = (PYTHON, SAVER, "--pause", "0.3")
STORAGE = Path(__file__).resolve().parents[2] / "storage"
# Every point that there is, by file; those of other backends are passed in tests/stores.
ALL_POINTS = {(source.name, point) for source in STORAGE.rglob("*.c")
              for point in re.findall(r'fault_point\("(\w+)"\)', source.read_text())}
# Those that only a job with many attempts passes; tests/unit/snapshots kills at each of them. Those of a gang are passed in
# tests/e2e/test_gang.py and test_gang_start.py.
HOUSEKEEPING = ("attempt_forget.c", *(source.name for source in (STORAGE / "gangs").glob("*.c")))
POINTS_HERE = sorted(point for name, point in ALL_POINTS if (not name.endswith("_store.c") or name == "file_store.c") and name not in HOUSEKEEPING)
FAULT_POINTS = [point for point in POINTS_HERE if not point.endswith("_remove")]
POINTS_OF_REMOVAL = [point for point in POINTS_HERE if point.endswith("_remove")]


def steps_of(place, snapshot):
    """The steps whose two files a snapshot holds, by its manifest."""
    result = place.verb("show", snapshot["id"], "--json")
    assert result.code == 0, result
    paths = {entry.get("path") for entry in result.json["entries"]}
    return sorted(int(match.group(1)) for path in paths if path and (match := re.fullmatch(r"step-(\d+)/meta", path))
                  and f"step-{match.group(1)}/data" in paths)


def committed_step(place):
    """The step that the newest commit holds; 0 while there is none."""
    newest = place.newest()
    return steps_of(place, newest)[-1] if newest else 0


def resumed_step(run):
    """What the job said it resumes from; None if it was not started, which is no fault of its."""
    assert "BAD" not in run.out, f"resumed from a bad checkpoint\n{run}"
    match = re.search(r"^resumes (\d+)$", run.out, re.M)
    return int(match.group(1)) if match else None


def job_is_running(run):
    return "resumes" in run.out or "BAD" in run.out


def finish(place, directory, more=2):
    """One start that is left alone: it resumes from at least what is committed, and ends with 0."""
    before = committed_step(place)
    run = place.run(PYTHON, SAVER, "--pause", "0.05", "--steps", before + more, options=OFTEN, directory=directory)
    assert run.wait() == 0, run
    assert resumed_step(run) >= before, run
    return run


@pytest.mark.long
def test_killed_at_random_instants(place):
    """Every second start finds the directory as it was left, the others an empty one (another machine)."""
    chance = random.Random(KILLS)
    stays, committed, resumed = place.directory, 0, 0
    for count in range(KILLS):
        same = count % 2 == 0
        directory = stays if same else place.path / f"machine{count}"
        run = place.run(*SAVING, options=OFTEN, directory=directory, name=f"kill{count}")
        # A third of the kills come while the supervisor claims and restores, the others while the job runs and saves.
        if count % 3:
            wait_for("the job's start", lambda: job_is_running(run), process=run.process)
            time.sleep(chance.uniform(0, 1.5))
        else:
            time.sleep(chance.uniform(0, 0.2))
        run.kill()
        run.end()
        step = resumed_step(run)
        if step is not None:
            resumed += 1
            assert step >= committed, f"resumed from {step}, but {committed} was committed\n{run}"
            assert same or step == committed, f"an empty directory, and yet {step} instead of {committed}\n{run}"
        now = committed_step(place)
        assert now >= committed, f"the newest commit went from step {committed} back to {now}\n{run}"
        committed = now
        if not same:
            shutil.rmtree(directory, ignore_errors=True)
            shutil.rmtree(f"{directory}.reprieve", ignore_errors=True)
    finish(place, stays)
    finish(place, place.path / "last-machine")
    assert place.verb("verify").code == 0
    assert resumed >= KILLS // 2 and committed > 0, "the kills came so early that nothing was tested"


def test_every_fault_point_is_written_down():
    """What the code has, FORMAT.md names, and nothing else; and the search has found what there surely is."""
    written = (STORAGE / "FORMAT.md").read_text()
    assert {point for _, point in ALL_POINTS} == set(re.findall(r"`((?:before|after)_\w+)`", written))
    assert {f"{when}_{what}_put" for when in ("before", "after") for what in ("pack", "manifest", "claim")} <= set(FAULT_POINTS)
    assert {f"{when}_{what}_remove" for when in ("before", "after") for what in ("pack", "manifest")} == set(POINTS_OF_REMOVAL)


# A start claims once; the other points are passed at every checkpoint.
@pytest.mark.parametrize("point, time_passed", [(point, count) for point in FAULT_POINTS for count in (1, 3)
                                                if count == 1 or "claim" not in point])
def test_killed_at_fault_point(place, point, time_passed):
    """The program is killed as it passes the point for the first, and for the third time; the next start goes on from the last commit."""
    assert place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=OFTEN).wait() == 0
    before = committed_step(place)
    assert before == 2
    run = place.run(*SAVING, options=OFTEN, directory=place.path / "second", REPRIEVE_FAULT=f"{point}:{time_passed}")
    assert run.wait() == -signal.SIGKILL, run
    run.kill()
    run.end()
    resumed_step(run)
    after = committed_step(place)
    assert after >= before
    third = finish(place, place.path / "third")
    assert resumed_step(third) == after
    assert place.verb("verify").code == 0


@pytest.mark.parametrize("point", POINTS_OF_REMOVAL)
@pytest.mark.parametrize("time_passed", [1, 2])
def test_killed_while_forgetting(place, point, time_passed):
    """Manifests go first, then packs: what is listed is whole at every instant, and the next one finishes the work."""
    tree = place.path / "tree"
    tree.mkdir()
    for number in range(5):
        (tree / "content").write_bytes(bytes([number]) * 3 + os.urandom(100_000))
        assert place.verb("save", tree).code == 0
    for pack in place.store_path.rglob("*.pack"):
        os.utime(pack, (time.time() - 3600,) * 2)
    forget = ("--keep-last", "1", "--sweep-age", "1m")
    assert place.verb("forget", *forget, REPRIEVE_FAULT=f"{point}:{time_passed}").code == -signal.SIGKILL
    assert all(snapshot["state"] == "good" for snapshot in place.snapshots()), place.snapshots()
    assert place.verb("verify").code == 0
    assert place.verb("forget", *forget).code == 0
    # The newest, and what its attempt started from.
    assert [snapshot["newest"] for snapshot in place.snapshots()] == [True, False]
    assert len(list(place.store_path.rglob("*.pack"))) == 2
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert (place.path / "back" / "content").read_bytes() == (tree / "content").read_bytes()


def mount_small(path, size):
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.strip() or 'not root'}")


def test_disk_full_during_a_snapshot(place):
    """The store's disk is too small for the second checkpoint: the job goes on to its end, the first commit stands."""
    place.store_path = place.path / "small" / "store"
    place.store = f"file://{place.store_path}"
    mount_small(place.path / "small", "3m")
    try:
        first = place.run(PYTHON, SAVER, "--steps", 1, "--size", 2000000, options=OFTEN)
        assert first.wait() == 0, first
        assert committed_step(place) == 1
        full = place.run(PYTHON, SAVER, "--steps", 4, "--size", 2000000, "--pause", "0.4", options=OFTEN)
        assert full.wait() == 0, full
        assert "finished 4" in full.out
        assert full.events("snapshot_failed"), full
        assert "the store is full (" in full.err and "No space left" in full.err
        # There is one snapshot: to keep fewer would not help, and is not advised.
        assert "make it larger, or remove other data" in full.err and "--keep-last" not in full.err, full
        assert committed_step(place) == 1
        assert place.verb("verify").code == 0
        again = place.run(PYTHON, SAVER, "--steps", 1, options=OFTEN, directory=place.path / "other")
        assert again.wait() == 0 and resumed_step(again) == 1, again
    finally:
        place.end()
        subprocess.run(["umount", str(place.path / "small")], check=True)


def test_a_full_store_heals_by_retention(place):
    """Room for two snapshots that are kept, and for one more. What retention has removed is young: no save waits for it."""
    place.store_path = place.path / "small" / "store"
    place.store = f"file://{place.store_path}"
    mount_small(place.path / "small", "8m")
    try:
        options = (*OFTEN, "--keep-last", "2", "--snapshot-interval", "0")
        run = place.run(PYTHON, SAVER, "--steps", 10, "--size", 2000000, "--keep", 1, "--pause", "0.3",
                        options=options)
        assert run.wait() == 0, run
        assert not run.events("snapshot_failed"), run
        assert run.err.count("the store is full: ") == 1 and "saving again" in run.err, run
        assert committed_step(place) == 10
        assert len(place.snapshots()) == 2 and place.verb("verify").code == 0
        # The next attempt finds what this one has left. It keeps what it starts from as well.
        again = place.run(PYTHON, SAVER, "--steps", 16, "--size", 1500000, "--keep", 1, "--pause", "0.3",
                          options=options,
                          directory=place.path / "other")
        assert again.wait() == 0 and resumed_step(again) == 10, again
        assert not again.events("snapshot_failed") and committed_step(place) == 16, again
    finally:
        place.end()
        subprocess.run(["umount", str(place.path / "small")], check=True)


@pytest.mark.parametrize("room", ["1m", "1m,nr_inodes=2"], ids=["for less than it is", "for nothing"])
def test_disk_full_at_a_restore(place, room):
    """The next machine may have more space: this is no mistake in the configuration, which would end a job for good."""
    assert place.run(PYTHON, SAVER, "--steps", 1, "--size", 2000000, options=OFTEN).wait() == 0
    mount_small(place.path / "small", room)
    try:
        full = place.run(PYTHON, SAVER, "--steps", 2, options=OFTEN, directory=place.path / "small" / "checkpoints")
        assert full.wait() == EXIT_OURS, full
        assert "No space left" in full.err and "resumes" not in full.out, full
    finally:
        place.end()
        subprocess.run(["umount", str(place.path / "small")], check=True)


def test_an_old_machine_that_wakes_up_publishes_nothing_that_counts(place):
    """The first supervisor is frozen, a second one takes the job over; then the first goes on and saves."""
    old = place.run(*SAVING, options=OFTEN, directory=place.path / "old")
    old.wait_for_event("durable")
    old.signal(signal.SIGSTOP)
    wait_for("the supervisor is stopped", lambda: not is_running(old.pid))
    new = place.run(*SAVING, options=(*OFTEN, "--take-over"), directory=place.path / "new")
    fork = resumed_after_start(new)
    new.wait_for_event("durable")
    old.signal(signal.SIGCONT)
    saved = old.out.count("saved")
    wait_for("the old job saves again", lambda: old.out.count("saved") >= saved + 3, process=old.process)
    new.wait_for_event("durable", count=3)
    # The newest is the new machine's, whatever the old one did; what the old one committed late is listed as that.
    newest = place.newest()
    attempts = {run: run.event("claimed")["attempt"] for run in (old, new)}
    assert int(newest["id"].split("-")[0]) == attempts[new]
    for snapshot in place.snapshots():
        if int(snapshot["id"].split("-")[0]) == attempts[old] and steps_of(place, snapshot)[-1] > fork:
            assert snapshot["state"] == "late", snapshot
    assert f"attempt {attempts[new]}" in old.err, "the old one does not say that it was superseded"
    assert is_alive(old.job_pid), "the job of the old machine was harmed"
    old.kill(), new.kill()
    assert committed_step(place) >= steps_of(place, newest)[-1]
    finish(place, place.path / "third")


def is_running(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "Tt"


def resumed_after_start(run):
    wait_for("the job's start", lambda: job_is_running(run), process=run.process)
    return resumed_step(run)


def test_a_late_commit_is_listed_and_never_chosen(place):
    """What no supervisor of ours publishes, but a frozen PUT may: a record of the old attempt appears after the hand-over."""
    first = place.run(*SAVING, options=OFTEN, directory=place.path / "old")
    first.wait_for_event("durable")
    first.kill()
    kept = place.newest()
    attempt, sequence = kept["id"].split("-")
    snapshots = place.store_path / "jobs" / place.job / "snapshots"
    second = place.run(PYTHON, SAVER, "--steps", 1, options=OFTEN, directory=place.path / "empty")
    assert second.wait() == 0, second
    chosen = place.newest()
    # The same manifest once more, as the old attempt's next one.
    late = f"{attempt}-{int(sequence) + 1:06d}"
    damage.copy_snapshot(snapshots, kept["id"], late)
    states = {snapshot["id"]: snapshot["state"] for snapshot in place.snapshots()}
    assert states[late] == "late"
    assert place.newest()["id"] == chosen["id"]
    third = place.run(PYTHON, SAVER, "--steps", 1, options=OFTEN, directory=place.path / "third")
    assert third.wait() == 0, third
    assert third.event("claimed")["start"] == chosen["id"]


def test_killed_between_two_files_of_a_checkpoint(place):
    """The job dies between data and meta: that is the end of the job, and no complete checkpoint."""
    run = place.run(PYTHON, SAVER, "--pause", "0.3", options=OFTEN)
    run.wait_for_event("durable")
    run.kill()
    before = committed_step(place)
    torn = place.run(PYTHON, SAVER, "--pause", "0.3", "--between", "600", options=(), directory=place.path / "torn")
    torn.wait_for_output(f"between {before + 1}")
    os.kill(torn.job_pid, signal.SIGKILL)
    assert torn.wait() == 128 + signal.SIGKILL, torn
    assert committed_step(place) == before, "half a checkpoint was committed"
    # On the same machine, where the half still lies, and on another one.
    assert resumed_step(finish(place, place.path / "torn")) == before
    assert resumed_step(finish(place, place.path / "elsewhere")) >= before


def test_preempted_in_the_middle_of_a_checkpoint(place):
    """SIGTERM while half of a checkpoint is written and the job ignores it: the half is not what is saved."""
    run = place.run(PYTHON, SAVER, "--steps", 1, "--pause", "0.3", options=OFTEN)
    assert run.wait() == 0, run
    late = place.run(PYTHON, SAVER, "--between", "600", options=("--grace", "3", "--quiet-time", "20s"))
    late.wait_for_output("between 2")
    late.signal(signal.SIGTERM)
    code = late.wait()
    assert code != 0, late
    assert committed_step(place) == 1
    assert not is_alive(late.job_pid)
    assert resumed_step(finish(place, place.path / "next")) == 1


def test_the_notice_saves_what_the_last_step_made(place):
    """The other half of the promise: with time enough, nothing that was saved is lost."""
    notice = place.path / "notice.json"
    run = place.run(PYTHON, SAVER, "--pause", "0.3", "--on-signal",
                    options=(*OFTEN, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}"))
    run.wait_for_output("resumes 0")
    run.wait_for_event("launched")
    notice.write_text('{"kind": "stop", "in_seconds": 20}')
    assert run.wait() == EXIT_DURABLE, run
    saved = [int(step) for step in re.findall(r"saved (\d+)", run.out)]
    assert saved and committed_step(place) == saved[-1]
    assert resumed_step(finish(place, place.path / "next")) == saved[-1]
