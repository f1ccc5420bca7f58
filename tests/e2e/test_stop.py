"""How a job is told to end that cannot be asked for a checkpoint: after the save that is under way, and with time to hear it."""
import json
import os
import re
import signal
import textwrap
import time
from pathlib import Path

import pytest
from harness import PYTHON, SAVER, wait_for

GATED = str(Path(__file__).resolve().parent / "gated.py")
HELD = "SIGTERM is forwarded when it completes"
STEPS_PER_SAVE = 20
SAVES_OFTEN = (PYTHON, SAVER, "--pause", "0.1", "--every", str(STEPS_PER_SAVE))


def begin(place, step):
    (place.path / f"begin-{step}").touch()


def go(place, step):
    (place.path / f"go-{step}").touch()


def start(place, *arguments, options=(), quiet="0.3", wrapper=()):
    """With one checkpoint that is durable."""
    begin(place, 1)
    go(place, 1)
    run = place.run(PYTHON, GATED, *arguments, options=("--quiet-time", quiet, "--grace", "60", *options), wrapper=wrapper)
    run.wait_for_event("durable")
    return run


def start_saving(place, *arguments, options=(), wrapper=()):
    """And in the midst of the second one."""
    run = start(place, *arguments, options=options, wrapper=wrapper)
    begin(place, 2)
    run.wait_for_output("saving 2\n")
    run.wait_for_event("saving", 2)
    return run


def wait_until_held(run):
    wait_for("SIGTERM is kept", lambda: HELD in run.err, process=run.process)


def start_between_saves(place, *arguments, options=()):
    """With two checkpoints that are durable, 2 s apart: the third one is due."""
    run = start(place, *arguments, options=options)
    time.sleep(2)
    begin(place, 2)
    go(place, 2)
    run.wait_for_event("durable", 2)
    return run


def last_step(run):
    return int(re.findall(r"(?m)^step (\d+)$", run.out)[-1])


def loss(place, run):
    return wait_for("what would be lost", lambda: place.query("status", "--job", place.job, "--json").json["jobs"][0]["loss"],
                    process=run.process)


@pytest.mark.parametrize("options", [(), ("--checkpoint-signal", "none")])
def test_a_save_under_way_is_waited_for(place, options):
    run = start_saving(place, "2", options=options)
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    assert "forwarding" not in run.err
    go(place, 2)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 2, run
    assert "wait for the save in progress" in run.event("plan")["text"]
    assert "forwarding SIGTERM" in run.err and run.event("stopping") is None


def test_a_save_that_is_not_yet_known_to_be_complete_is_waited_for(place):
    run = start(place, "2", quiet="3")
    begin(place, 2)
    go(place, 2)
    run.wait_for_output("saved 2\n")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 2, run


def test_a_job_that_saves_nothing_just_now_is_told_at_once(place):
    run = start(place, "1")
    time.sleep(3.5)  # more may come to the first save ever for ten quiet times
    assert "announced" not in loss(place, run)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert HELD not in run.err and "forwarding SIGTERM" in run.err
    assert run.event("plan")["text"] == "plan: rely on the newest durable checkpoint: the job cannot be asked for a fresh one"


def test_a_job_that_handles_sigterm_is_asked_at_once(place):
    run = start_saving(place, "2", "--handler")
    assert "if it came without a notice" in loss(place, run)
    run.signal(signal.SIGTERM)
    run.wait_for_output("told to end\n")
    run.wait()
    assert HELD not in run.err
    assert "plan: a fresh checkpoint" in run.event("plan")["text"]


def test_a_sigterm_a_second_later_is_passed_on_at_once(place):
    run = start_saving(place, "2")
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    time.sleep(1.2)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 1
    assert run.event("stopping") is None, run
    assert run.event("child_exited")["signal"] == "SIGTERM"


def test_timeout_signals_twice_and_means_it_once(place):
    """timeout(1) ends its child and then its own group, at the end of its time as at a SIGTERM."""
    run = start_saving(place, "2", wrapper=("timeout", "-s", "TERM", "600"))
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    go(place, 2)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 2 and len(run.events("notice")) == 1, run


def test_a_save_that_breaks_off_is_waited_for_no_longer(place):
    run = start_saving(place, "2", "--fork")
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    os.kill(int(re.search(r"(?s)writer.*writer (\d+)", run.out)[1]), signal.SIGKILL)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 1
    assert run.event("stopping") is None, run


def test_a_save_that_does_not_end_is_waited_for_as_long_as_there_is_time(place):
    run = start_saving(place, "2", options=("--grace", "5"))
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert HELD in run.err and run.event("stopping")["signal"] == "TERM"
    assert place.newest()["step"] == 1


def test_a_job_that_ends_by_itself_while_it_is_waited_for_was_told_nothing(place):
    run = start_saving(place, "2", "--exit")
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    go(place, 2)
    assert run.wait() == 0, run
    assert run.event("ended")["outcome"] == "finished"
    assert place.newest()["step"] == 2
    assert "forwarding" not in run.err


def test_who_is_told_to_end_in_the_midst_of_a_save_has_time_to_hear_it(place, tmp_path):
    notice = tmp_path / "notice"
    run = start_saving(place, "2", "--handler", options=("--checkpoint-signal", "none", "--notice", f"file:{notice}"))
    notice.write_text(json.dumps({"reason": "short", "in_seconds": 24}))
    assert run.wait() == 75, run
    assert "has cleaned up\n" in run.out, run
    assert [event["signal"] for event in run.events("stopping")] == ["TERM"]
    assert "has not exited" not in run.err


@pytest.mark.parametrize("options", [(), ("--checkpoint-signal", "none")])
def test_the_next_save_is_waited_for_if_it_is_due_in_time(place, options):
    run = start_between_saves(place, "3", options=options)
    run.signal(signal.SIGTERM)
    wait_until_held(run)
    assert "the next save is due" in run.err and "forwarding" not in run.err
    begin(place, 3)
    go(place, 3)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 3, run
    assert "plan: wait for the next save, due " in run.event("plan")["text"]
    assert "forwarding SIGTERM" in run.err and run.event("stopping") is None


def test_a_save_that_does_not_come_is_waited_for_no_longer(place):
    run = start_between_saves(place, "3")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert HELD in run.err and run.event("stopping") is None, run
    assert place.newest()["step"] == 2


@pytest.mark.parametrize("notice", ["sigterm", "file"])
def test_less_than_the_steps_between_two_saves_is_lost(place, tmp_path, notice):
    path = tmp_path / "notice"
    run = place.run(*SAVES_OFTEN, options=("--grace", "20", "--notice", f"file:{path}"))
    run.wait_for_event("durable", 3)
    if notice == "sigterm":
        run.signal(signal.SIGTERM)
    else:
        path.write_text(json.dumps({"reason": "short", "in_seconds": 10}))
    assert run.wait() == 75, run
    if notice == "file":  # as most jobs are: no reason to warn
        assert "plan: the job trains on until no further save is due in time" in run.event("plan")["text"], run
        assert "the job cannot be asked for a checkpoint: no process of the job catches SIGTERM" in run.err, run
    assert "warning" not in run.err, run
    newest = place.newest()
    assert last_step(run) - newest["step"] < STEPS_PER_SAVE, run
    said = rf"preempted; durable: {newest['id']} \(step {newest['step']}, [0-9.]+ m?s before the end\)\. Run the same command again"
    assert re.search(said, run.err.splitlines()[-1]), run


def start_pairs(place, *options):
    """Each checkpoint has two files, the second one 2.5 s after the first. Now the third checkpoint has one."""
    run = place.run(PYTHON, SAVER, "--pause", "0.5", "--between", "2.5", options=options)
    run.wait_for_output("between 3\n")
    return run


def test_half_a_checkpoint_is_waited_for(place, tmp_path):
    run = start_pairs(place, "--grace", "30")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert "saved 3\n" in run.out and place.newest()["step"] == 3, run
    again = place.run(PYTHON, SAVER, "--steps", "4", directory=tmp_path / "elsewhere")
    assert again.wait() == 0 and "resumes 3\n" in again.out, again


def test_half_a_checkpoint_is_not_waited_for_with_a_second_left(place, tmp_path):
    run = start_pairs(place, "--grace", "1")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert "saved 3\n" not in run.out and "has not exited" not in run.err, run
    again = place.run(PYTHON, SAVER, "--steps", "3", directory=tmp_path / "elsewhere")
    assert again.wait() == 0 and "resumes 2\n" in again.out, again


# --- a job that does not end ---

# Saves once, when it was told to end, and goes on: it ignores SIGTERM, or its handler comes to nothing, or it stands still.
DEAF = """
    import os, signal, sys, time, zipfile
    told = []
    way, files = sys.argv[1], sys.argv[2:]
    signal.signal(signal.SIGTERM, (lambda *_: told.append(1)) if way == "handles" else signal.SIG_IGN)
    notice, directory = os.environ["REPRIEVE_NOTICE_FILE"], os.environ["REPRIEVE_CHECKPOINT_DIR"]
    os.makedirs(directory, exist_ok=True)
    while not told and not os.path.exists(notice):
        time.sleep(0.01)
    for name in files:
        with zipfile.ZipFile(os.path.join(directory, name), "w") as file:
            file.writestr("data", "x" * 10000)
        print("saved", name, flush=True)
        time.sleep(float(os.environ.get("BETWEEN", "0")))
    if way == "frozen":
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(1)
"""


@pytest.mark.parametrize("way", ["ignores", "handles", "frozen"])
def test_a_first_save_that_is_closed_but_not_quiet_is_durable(place, way):
    """Only the quiet time is missing, and would be over after the last moment: the job's end has to prove it, with time for the upload."""
    run = place.run(PYTHON, "-u", "-c", textwrap.dedent(DEAF), way, "step_7.npz", options=("--quiet-time", "60", "--grace", "8"))
    run.job_pid
    time.sleep(1.2)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert run.event("child_exited")["signal"] == "SIGKILL" and place.newest()["step"] == 7, run


def test_what_its_format_does_not_show_to_be_whole_has_its_quiet_time(place):
    """A kill would tear it: the job has all the time there is."""
    script = textwrap.dedent(DEAF).replace("zipfile.ZipFile(", "open(").replace("file.writestr(\"data\", ", "file.write(")
    run = place.run(PYTHON, "-u", "-c", script, "ignores", "step_7.txt", options=("--quiet-time", "5s", "--grace", "8"))
    run.job_pid
    time.sleep(1.2)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 7, run


# --- an answer of a kind that was never complete before ---

# Writes the files of SAVES at once, one save after the other, and those of ASKED when it gets SIGUSR1, PAUSE seconds apart.
ANSWERS = """
import os, signal, sys, time
saves, asked, pause = eval(sys.argv[1]), eval(sys.argv[2]), float(sys.argv[3])
wish = []
signal.signal(signal.SIGUSR1, lambda *_: wish.append(1))
def write(path):
    path = os.path.join(os.environ["REPRIEVE_CHECKPOINT_DIR"], path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w") as file:
        file.write(path * 100)
    os.replace(path + ".tmp", path)
for path in saves:
    write(path)
    time.sleep(0.8)
print("ready", flush=True)
while True:
    if wish:
        wish.clear()
        for path in asked:
            write(path)
            time.sleep(pause)
    time.sleep(0.02)
"""


@pytest.mark.parametrize("saves, asked", [
    ([], ["step-9/config.json", "step-9/model.bin"]),
    (["step-1.pt", "step-2.pt", "step-3.pt"], ["best.pt", "step-9.pt"]),
], ids=["first-save", "another-kind"])
def test_time_is_left_for_the_rest_of_an_answer_of_an_unknown_kind(place, saves, asked):
    """Ten quiet times, for nobody knows what such a save has: its first file answers the request, and is not all of it."""
    run = place.run(PYTHON, "-c", ANSWERS, str(saves), str(asked), "1.5",
                    options=("--quiet-time", "0.4", "--snapshot-interval", "0", "--grace", "30", "--checkpoint-signal", "USR1"))
    run.wait_for_output("ready\n")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 9, run
    out = place.path / "look"
    assert place.verb("restore", "latest", out).code == 0
    assert (out / asked[-1]).exists(), run


# --- before the first save ---

FIRST = "the job has not saved yet, and may do so in time: " + HELD


def start_unsaved(place, *options):
    run = place.run(PYTHON, GATED, "1", options=("--quiet-time", "0.3", *options))
    run.job_pid
    time.sleep(1.2)  # in its first second a job has nothing to lose
    return run


def test_the_first_save_is_waited_for_while_there_is_time(place):
    run = start_unsaved(place, "--grace", "60")
    run.signal(signal.SIGTERM)
    wait_for("SIGTERM is kept", lambda: FIRST in run.err, process=run.process)
    assert "forwarding" not in run.err and "plan: wait for the first save" in run.event("plan")["text"]
    begin(place, 1)
    go(place, 1)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 1 and "forwarding SIGTERM" in run.err, run


@pytest.mark.parametrize("name", ["dataset.pt", "step-1.pt"])
def test_what_is_saved_elsewhere_ends_no_wait_where_the_directory_was_chosen(place, name):
    """The job caches its features before it trains."""
    script = f'mkdir -p cache/features && echo > cache/features/{name} && exec "$@"'
    run = place.run("sh", "-c", script, "sh", PYTHON, GATED, "1", options=("--quiet-time", "0.3", "--grace", "60"))
    wait_for("the other save is seen", lambda: run.event("saves_elsewhere"), process=run.process)
    time.sleep(1.2)
    run.signal(signal.SIGTERM)
    wait_for("SIGTERM is kept", lambda: FIRST in run.err, process=run.process)
    begin(place, 1)
    go(place, 1)
    assert run.wait() == 75, run
    assert place.newest()["step"] == 1, run


def test_a_first_save_that_does_not_come_is_waited_for_until_the_time_is_over(place):
    run = start_unsaved(place, "--grace", "4")
    run.signal(signal.SIGTERM)
    assert run.wait() == 74, run
    assert FIRST in run.err and "has not exited" not in run.err, run
