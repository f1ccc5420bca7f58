"""A preemption in each phase of a job's life: asked once, never killed by it, and what counts as saved is whole."""
import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from harness import PYTHON, is_alive, wait_for

PHASES = str(Path(__file__).resolve().parent / "phases.py")
QUICK = ("--quiet-time", "150ms")
NEVER_QUIET = ("--quiet-time", "10m")


class Scene:
    """One job with its notice and the file that lets it leave its phase."""

    def __init__(self, place, tmp_path):
        self.place, self.notice_path, self.release_path = place, tmp_path / "notice", tmp_path / "release"

    def command(self, *options):
        return (PYTHON, "-u", PHASES, "--dir", self.place.directory, "--release", self.release_path, *options)

    def run(self, *options, quiet=QUICK, more=("--checkpoint-signal", "USR1")):
        return self.place.run(*self.command(*options), options=(*quiet, "--notice", f"file:{self.notice_path}", *more))

    def notice(self, seconds=600, reason="drill"):
        fresh = self.notice_path.with_suffix(".new")
        fresh.write_text(json.dumps({"reason": reason, "in_seconds": seconds}))
        fresh.rename(self.notice_path)

    def release(self):
        self.release_path.touch()

    def receipts(self, run):
        """Of this job: others of this user may be running beside it."""
        jobs = {job["pid"]: job for job in self.place.query("status", "--json").json["jobs"]}
        return jobs[run.job_pid].get("rank_progress", {})

    def resumed(self):
        """From which step the next attempt goes on, in an empty directory."""
        shutil.rmtree(self.place.directory, ignore_errors=True)
        self.notice_path.unlink(missing_ok=True)
        run = self.place.run(*self.command("--end", "1"), options=QUICK)
        assert run.wait() == 0, run
        return numbers(run, "resumed")


@pytest.fixture
def scene(place, tmp_path):
    return Scene(place, tmp_path)


def numbers(run, word):
    return [int(number) for number in re.findall(rf"^{word} (\d+)$", run.out, re.M)]


def signals(run):
    return run.out.splitlines().count("signal")


def ends_preempted(scene, run, count=1):
    """Durable is what the job saved last, and the next attempt has it."""
    assert run.wait() == 75, run
    assert signals(run) == count and "NESTED" not in run.out, run
    last = numbers(run, "saved")[-1]
    assert scene.place.newest()["step"] == last
    assert scene.resumed() == [last]


def test_while_a_child_compiles(scene):
    run = scene.run("--phase", "compile")
    run.wait_for_output("in compile\n")
    scene.notice()
    run.wait_for_event("asked")
    scene.release()
    ends_preempted(scene, run)
    assert "compiled 0\n" in run.out  # nobody has signalled the compiler


def test_in_one_long_call_it_is_said_and_nothing_is_sent_again(scene):
    run = scene.run("--phase", "call")
    run.wait_for_output("in call\n")
    scene.notice()
    told = run.wait_for_event("rank_progress")
    assert re.search(r"process \d+ has not begun to save for \d+ s \(it waits in one long call\)", told["text"]), told
    receipts = scene.receipts(run)
    assert receipts["active"] and receipts["ranks"][0]["delivered"] and not receipts["ranks"][0]["saving"]
    assert receipts["ranks"][0]["late"] == "it waits in one long call"
    assert "has not begun to save" in scene.place.query("status", "--job", scene.place.job).out
    assert signals(run) == 0
    scene.release()
    ends_preempted(scene, run)


def test_in_a_save_of_its_own(scene):
    run = scene.run("--phase", "save")
    run.wait_for_output("in save\n")
    scene.notice()
    run.wait_for_event("asked")
    scene.release()
    assert run.wait() == 75, run
    assert signals(run) <= 1 and "NESTED" not in run.out
    newest = scene.place.newest()["step"]
    assert newest in numbers(run, "saved")
    assert scene.resumed() == [newest]


def test_in_a_save_that_was_asked_for_before(scene):
    run = scene.run("--phase", "handler")
    run.wait_for_event("durable")
    run.signal(signal.SIGUSR1)
    run.wait_for_output("in handler\n")
    scene.notice()
    run.wait_for_event("notice")
    scene.release()
    ends_preempted(scene, run)


def test_while_a_snapshot_is_on_its_way_into_the_store(scene):
    run = scene.run("--first", "5")
    run.wait_for_event("saving")
    scene.notice()  # the checkpoint of step 5 is being taken, or has just been
    ends_preempted(scene, run)


def test_while_its_checkpoint_is_being_restored(scene, place):
    scene.resumed()  # the first attempt
    (place.directory / "step_1").mkdir(parents=True, exist_ok=True)
    big = b"weights" * 20_000_000
    (place.directory / "step_1" / "big.bin").write_bytes(big)
    (place.directory / "step_1" / "optimizer.bin").write_bytes(b"optimizer 1")
    (place.directory / "step_1" / "weights.bin").write_bytes(b"weights 1")
    assert place.verb("save", place.directory).code == 0
    shutil.rmtree(place.directory)
    scene.notice()
    run = scene.run()
    assert run.wait() in (74, 75), run  # it was asked in its first steps, where the restore was faster than the notice
    if not run.event("launched"):
        # 75 once the snapshot was seen in the store; the notice may come before that.
        assert not list(place.directory.glob("*"))
    run = place.run(*scene.command("--end", "1"), options=QUICK)
    scene.notice_path.unlink()
    assert run.wait() == 0, run
    assert (place.directory / "step_1" / "big.bin").read_bytes() == big


def test_before_it_has_a_handler(scene):
    run = scene.run("--phase", "start")
    run.wait_for_output("in start\n")
    scene.notice()
    run.wait_for_event("request_failed")
    assert is_alive(run.job_pid)
    scene.release()
    ends_preempted(scene, run)


def test_a_second_notice_is_no_second_request(scene):
    run = scene.run("--phase", "evaluate")
    run.wait_for_output("in evaluate\n")
    scene.notice(600)
    run.wait_for_event("asked")
    scene.notice(300, "sooner")
    run.wait_for_event("notice", 2)
    run.signal(signal.SIGTERM)  # and a third from elsewhere
    scene.release()
    ends_preempted(scene, run)
    assert len(run.events("asked")) == 1


def test_a_withdrawn_one_lets_the_job_go_on_and_keeps_the_snapshot(scene):
    run = scene.run("--phase", "evaluate")
    run.wait_for_output("in evaluate\n")
    scene.notice()
    run.wait_for_event("asked")
    scene.notice_path.unlink()
    wait_for("withdrawn", lambda: any(e["kind"] == "cancelled" for e in run.events("notice")), process=run.process)
    before = len(run.events("durable"))
    scene.release()
    durable = run.wait_for_event("durable", before + 1)
    assert durable["step"] == numbers(run, "saved")[-1]
    last = len(numbers(run, "step"))
    wait_for("the job goes on", lambda: len(numbers(run, "step")) > last + 10, process=run.process)
    assert run.event("stopping") is None
    scene.notice(600, "in earnest")
    ends_preempted(scene, run, count=2)


def test_a_new_notice_in_the_save_that_a_withdrawn_one_had_asked_for(scene):
    run = scene.run("--phase", "handler")
    run.wait_for_event("durable")
    scene.notice()
    run.wait_for_output("in handler\n")
    # The receipt of that save: only then it is known to be under way.
    wait_for("the receipt", lambda: scene.receipts(run).get("saving") == 1)
    scene.notice_path.unlink()
    wait_for("withdrawn", lambda: any(e["kind"] == "cancelled" for e in run.events("notice")), process=run.process)
    scene.notice(600, "again")
    run.wait_for_event("notice", 3)
    scene.release()
    ends_preempted(scene, run)
    assert "that save is used" in run.err


def test_a_job_that_never_reacts_keeps_its_newest_own_checkpoint(scene):
    run = scene.run("--phase", "ignore")
    run.wait_for_event("durable")
    scene.notice(8)
    assert run.wait() == 74, run
    assert signals(run) == 1
    assert run.event("stopping")
    assert scene.resumed() == [3]


def test_one_that_hangs_in_its_exit_is_killed_and_durable(scene):
    run = scene.run("--then", "hang")
    run.wait_for_event("durable")
    scene.notice(12)
    ends_preempted(scene, run)
    assert any(event["signal"] == "KILL" for event in run.events("stopping"))


@pytest.mark.parametrize("code", [1, 42, 75, 143, 255])
def test_it_saves_and_leaves_with(scene, code):
    run = scene.run("--then", str(code))
    run.wait_for_event("durable")
    scene.notice()
    ends_preempted(scene, run)


@pytest.mark.parametrize("code", [42, 75, 143, 255])
def test_it_saves_and_leaves_long_before_the_directory_was_quiet(scene, code):
    run = scene.run("--then", str(code), "--first", "-1", quiet=NEVER_QUIET)
    run.wait_for_output("step 5\n")
    scene.notice()
    ends_preempted(scene, run)


def test_it_saves_as_before_and_leaves_with_1_long_before_the_directory_was_quiet(scene):
    """1 is also what an exception gives; that the save looks like the one before tells them apart."""
    run = scene.run("--then", "1", quiet=("--quiet-time", "1500ms"))
    run.wait_for_event("durable")
    scene.notice()
    ends_preempted(scene, run)


def test_a_crash_in_the_save_that_was_asked_for_is_a_crash(scene):
    run = scene.run("--phase", "crash", quiet=("--quiet-time", "1500ms"))
    run.wait_for_event("durable")
    scene.notice()
    assert run.wait() == 1, run
    assert signals(run) == 1 and "out of memory" in run.err
    assert run.event("ended")["outcome"] == "failed"
    assert scene.resumed() == [3]


def test_it_leaves_with_75_of_its_own_accord_right_after_a_save(scene):
    """A time limit of the job's own, perhaps. Its last save counts, though nobody has asked."""
    script = 'mkdir -p "$1"; echo 7 > "$1/step_7.txt"; exit 75'
    run = scene.place.run("sh", "-c", script, "sh", scene.place.directory, options=NEVER_QUIET)
    assert run.wait() == 75
    assert scene.place.newest()["step"] == 7


LAUNCHER = """
import os, subprocess, sys
ranks = [subprocess.Popen(sys.argv[1:], env={**os.environ, "RANK": str(n), "LOCAL_RANK": str(n)}) for n in range(1)]
sys.exit(1 if any([rank.wait() for rank in ranks]) else 0)
"""


def test_a_launcher_that_makes_1_of_its_ranks_143(scene):
    command = (PYTHON, "-c", LAUNCHER, *scene.command("--then", "143", "--first", "-1"))
    run = scene.place.run(*command, options=(*NEVER_QUIET, "--checkpoint-signal", "USR1", "--profile", "torchrun",
                                             "--notice", f"file:{scene.notice_path}"))
    run.wait_for_output("step 5\n")
    scene.notice()
    ends_preempted(scene, run)
