"""What the end says of a run: finished, to be run again, or not durable; and that it is so."""
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import EXIT_CONFIGURATION, EXIT_DURABLE, EXIT_NOT_DURABLE, LIMIT, PYTHON, REPRIEVE, die_with_parent, kill_quietly, one_line, wait_for

TRAINER = str(Path(__file__).resolve().parent / "trainer.py")
QUICK = ("--quiet-time", "150ms")

# What the jobs begin with.
TOP = """
import os, pathlib, random, signal, struct, subprocess, sys, time
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
top.mkdir(parents=True, exist_ok=True)
"""

# Cannot be asked: saves once, and ends when the file `end` is there.
SAVES_ONCE = TOP + """
(top / "last.bin").write_bytes(b"x" * 1000)
while not pathlib.Path("end").exists():
    time.sleep(0.01)
(top / "final.bin").write_bytes(b"y" * 1000)
"""


def trainer(place, *arguments, options=()):
    return place.run(PYTHON, "-u", TRAINER, "--dir", place.directory, "--signal", "USR1", *arguments,
                     options=(*QUICK, "--checkpoint-signal", "USR1", *options))


def test_a_job_that_ends_by_itself_within_a_notice_has_finished(place):
    notice = place.path / "notice"
    run = place.run(PYTHON, "-c", SAVES_ONCE, options=(*QUICK, "--notice", f"file:{notice}"))
    run.wait_for_event("durable")
    notice.write_text('{"action": "terminate", "seconds": 60}')
    run.wait_for_event("request_failed")
    (place.path / "end").touch()
    assert run.wait() == 0, run
    assert run.event("ended")["outcome"] == "finished", run


# Cannot be asked. `short`: from the second save on, what it saves has less than its own header says. At the end it is killed in
# the midst of a save, as by whoever stops all processes of a machine.
SAVES_ON = TOP + """
header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1000,), }".ljust(117).encode() + b"\\n"
head = b"\\x93NUMPY\\1\\0" + struct.pack("<H", len(header)) + header
def save(step, size):
    (top / f"step-{step}.npy").write_bytes(head + b"x" * size)
save(10, 1000)
while not pathlib.Path("go").exists():
    time.sleep(0.01)
for step in range(20, 60, 10):
    save(step, 500 if "short" in sys.argv else 1000)
if "short" not in sys.argv:
    while not pathlib.Path("cut").exists():
        time.sleep(0.01)
    last = open(top / "step-60.npy", "wb", 0)
    last.write(head + b"x" * 100)
print("saved", flush=True)
while not pathlib.Path("end").exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGTERM)
"""


def saves_on(place, *arguments):
    run = place.run(PYTHON, "-c", SAVES_ON, *arguments, options=QUICK)
    run.wait_for_event("durable")
    (place.path / "go").touch()
    return run


def preempt_in_a_save(place, run):
    run.wait_for_output("saved")
    run.process.terminate()
    wait_for("the notice", lambda: "a save is in progress" in run.err)
    (place.path / "end").touch()
    return run.wait()


def test_saves_that_were_never_complete_are_not_durable(place):
    """The job took them for saved and went on; the snapshot from before them is no reason for 75."""
    run = saves_on(place, "short")
    assert preempt_in_a_save(place, run) == EXIT_NOT_DURABLE, run
    assert ".npy and 3 more in" in run.err and "are in no snapshot (of the first: its " in run.err, run
    assert "the newest work is NOT durable" in run.err and "(step 10, " in run.err, run
    assert run.err.count(": not saved\n") <= 4, run


def test_the_save_that_the_end_cuts_is_what_a_preemption_costs(place):
    run = saves_on(place)
    wait_for("step 50", lambda: place.newest()["step"] == 50)
    (place.path / "cut").touch()
    assert preempt_in_a_save(place, run) == EXIT_DURABLE, run
    assert "step-60.npy" in run.err and "is in no snapshot" in run.err and "(step 50, " in run.err, run


# Has not saved yet: what it has written is a log.
LOGS = TOP + """
with open(top / "loss.jsonl", "a") as log:
    while True:
        log.write("1\\n")
        log.flush()
        time.sleep(0.05)
"""


def test_a_curve_alone_is_nothing_to_resume_from(place):
    """It is saved, and comes back; but it is no checkpoint, and a preemption would lose all of the work."""
    run = place.run(PYTHON, "-c", LOGS, options=(*QUICK, "--snapshot-interval", "200ms"))
    run.wait_for_event("durable")
    status = place.query("status", "--json").json
    assert "durable_seconds" not in status, status
    run.process.terminate()
    assert run.wait() == EXIT_NOT_DURABLE, run
    assert "only files that are written all the time, as curves; no checkpoint was complete" in run.err, run


# Writes its settings before it trains: stopped then, or ended, or resumed.
SETTINGS = TOP + """
for name in os.environ.get("SETTINGS", "args.json").split():
    (top / name).write_text("{}")
print("settings", flush=True)
time.sleep(1.5)
if sys.argv[1] == "saves":
    (top / "step-1.bin").write_bytes(bytes(1000))
if sys.argv[1] == "waits":
    time.sleep(600)
"""


@pytest.mark.parametrize("names", ["args.json", "train_opt.txt loss_log.txt", "index.html train.py"])
def test_settings_alone_are_nothing_to_resume_from(place, names):
    run = place.run(PYTHON, "-c", SETTINGS, "waits", options=(*QUICK, "--grace", "3"), SETTINGS=names)
    wait_for("the settings", lambda: "settings" in run.out, process=run.process)
    time.sleep(1)
    run.process.terminate()
    assert run.wait() == EXIT_NOT_DURABLE, run


def test_settings_are_saved_at_the_end_of_a_job_that_has_nothing_else(place):
    run = place.run(PYTHON, "-c", SETTINGS, "ends", options=QUICK)
    assert run.wait() == 0, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert [path.name for path in (place.path / "back").iterdir()] == ["args.json"]


def test_settings_are_saved_with_what_follows(place):
    run = place.run(PYTHON, "-c", SETTINGS, "saves", options=QUICK)
    assert run.wait() == 0, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert {path.name for path in (place.path / "back").iterdir()} == {"args.json", "step-1.bin"}
    again = place.run(PYTHON, "-c", SETTINGS, "waits", directory=place.path / "other", options=(*QUICK, "--grace", "3"))
    wait_for("the settings", lambda: "settings" in again.out, process=again.process)
    time.sleep(1)
    again.process.terminate()
    assert again.wait() == EXIT_DURABLE, again


# Goes on from step-3.bin, which its first run has saved; then only its curve grows.
CURVE = TOP + """
saved = top / "step-3.bin"
curve = open(top / "loss.csv", "a")
if not saved.exists():
    saved.write_bytes(b"x" * 1000)
while True:
    curve.write("1\\n")
    curve.flush()
    print("grown", flush=True)
    time.sleep(0.05)
"""


def test_what_was_saved_before_this_attempt_does_not_look_fresh(place):
    """A snapshot of the curve alone holds the checkpoint of the start, and says so."""
    first = place.run(PYTHON, "-c", CURVE, options=QUICK)
    first.wait_for_event("durable")
    first.process.terminate()
    assert first.wait() == EXIT_DURABLE, first
    for keeps in (True, False):
        if not keeps:
            shutil.rmtree(place.directory)
        again = place.run(PYTHON, "-c", CURVE, options=QUICK)
        again.wait_for_output("grown")
        again.process.terminate()
        assert again.wait() == EXIT_DURABLE, again
        assert "step 3, as of the start, " in again.err, again
        assert all(snapshot["step"] == 3 for snapshot in place.snapshots()), place.snapshots()


def test_a_job_that_leaves_when_it_was_asked_does_not_look_finished(place):
    run = trainer(place, "--on-signal", "exit0")
    run.wait_for_output("step 5\n")
    assert place.query("checkpoint", "--pid", run.pid).code == 0, run
    assert run.wait() == EXIT_DURABLE, run
    assert "may not have finished" in run.err


# Saves and leaves with 0 at each signal that asks for it.
LEAVES = TOP + """
asked = []
for number in signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR2:
    signal.signal(number, lambda *_: asked.append(1))
print("ready", [path.name for path in top.iterdir()], flush=True)
while not asked:
    time.sleep(0.01)
(top / "step-7.bin").write_bytes(b"x" * 1000)
sys.exit(0)
"""


# Each ends with 0 before the training has: how a start ends by itself says nothing of the next one.
ENDS = {
    "saved and left at SIGINT": lambda run: run.signal(signal.SIGINT),
    "saved and left at SIGHUP": lambda run: run.signal(signal.SIGHUP),
    "saved and left at SIGQUIT": lambda run: run.signal(signal.SIGQUIT),
    "SIGTERM to the job alone": lambda run: os.kill(run.job_pid, signal.SIGTERM),
    "SIGTERM to the job alone, by a program that ends": lambda run: subprocess.run(["/bin/kill", str(run.job_pid)], check=True),
    "it left by itself": lambda run: os.kill(run.job_pid, signal.SIGUSR2),
}


@pytest.mark.parametrize("how", ENDS)
def test_an_end_with_0_stops_no_start(place, how):
    """The code is the job's own, and the next start of the same command continues."""
    command = (PYTHON, "-c", LEAVES)
    run = place.run(*command, options=QUICK)
    run.wait_for_output("ready []")
    ENDS[how](run)
    assert run.wait() == 0 and run.event("notice") is None, run
    # As a container's runtime or a step of a scheduler sends it: nobody has said that the machine goes.
    if how == "SIGTERM to the job alone":
        assert f"process {os.getpid()} has sent SIGTERM to process" in run.err and "to preempt the job, send it to process" in run.err, run
    for _ in range(2):
        again = place.run(*command, options=QUICK)
        again.wait_for_output("ready ['step-7.bin']")
        ENDS[how](again)
        assert again.wait() == 0, again


@pytest.mark.parametrize("how", ["worker.terminate()", "os.system(f'kill {worker.pid}')", "subprocess.run(['/bin/kill', str(worker.pid)])"])
def test_a_job_may_end_its_own_processes_with_sigterm(place, how):
    run = place.run(PYTHON, "-c", TOP + """
import multiprocessing
worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
worker.start()
(top / "step-7.bin").write_bytes(b"x" * 1000)
%s
worker.join()
""" % how, options=QUICK)
    assert run.wait() == 0 and "has sent SIGTERM" not in run.err, run


def test_sigterm_from_outside_to_many_processes_is_said_once(place):
    run = place.run(PYTHON, "-c", TOP + """
workers = [subprocess.Popen([sys.executable, "-c", "print('ready', flush=True); import time; time.sleep(600)"]) for _ in range(3)]
print("workers", *[worker.pid for worker in workers], flush=True)
for worker in workers:
    worker.wait()
""", options=QUICK)
    wait_for("they run", lambda: run.out.count("ready") == 3 and "workers" in run.out, process=run.process)
    for pid in re.search("workers (.*)", run.out).group(1).split():
        os.kill(int(pid), signal.SIGTERM)
    assert run.wait() == 0 and run.err.count("has sent SIGTERM to process") == 1, run


@pytest.mark.parametrize("end", ["", "/"])
def test_an_earlier_run_that_goes_on_is_named(place, end):
    """However its store is written: what it saves is in no snapshot."""
    first = place.run("sleep", "600", options=QUICK)
    pid = first.wait_for_event("launched")["pid"]
    kill_quietly(first.pid)
    first.wait()
    again = place.run("true", options=QUICK, directory=place.path / "other", store=place.store + end)
    again.wait()
    kill_quietly(pid)
    assert f"still runs here (process {pid})" in again.err, again


# Saves by a temporary name for the first time when SIGTERM comes, and ends with that code, or once more of the signal.
ENDS_WITH = TOP + """
code = sys.argv[1]
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("ready", sorted(path.name for path in top.iterdir()), flush=True)
while not asked:
    time.sleep(0.01)
(top / "tmp.cpt").write_bytes(b"x" * 1000)
(top / "tmp.cpt").rename(top / "md.cpt")
if "torn" in sys.argv:
    file = open(top / "traj.trr", "wb")
    file.write(b"y" * 100000)
if code == "signal":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
os._exit(int(code))
"""


@pytest.mark.parametrize("code", ["0", "1", "130", "signal"])
def test_a_save_at_the_signal_counts_whatever_the_code(place, code):
    """Programs end with one of their own, saved or not: GROMACS with 1."""
    run = place.run(PYTHON, "-c", ENDS_WITH, code, options=("--checkpoint-signal", "TERM"))
    run.wait_for_output("ready []")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    again = place.run(PYTHON, "-c", ENDS_WITH, code, options=("--checkpoint-signal", "TERM"))
    again.wait_for_output("ready ['md.cpt']")
    again.kill()


@pytest.mark.parametrize("code, end", [("1", 1), ("signal", EXIT_NOT_DURABLE)])
def test_what_is_open_at_the_end_does_not_count(place, code, end):
    run = place.run(PYTHON, "-c", ENDS_WITH, code, "torn", options=("--checkpoint-signal", "TERM"))
    run.wait_for_output("ready []")
    run.signal(signal.SIGTERM)
    assert run.wait() == end and run.event("durable") is None, run


def test_sigterm_is_a_notice_even_if_it_was_ignored(place):
    """A script that is to outlive SIGTERM ignores it, and so does what it starts."""
    run = place.run(PYTHON, "-c", ENDS_WITH, "0", options=("--checkpoint-signal", "TERM"), wrapper=("env", "--ignore-signal=TERM"))
    run.wait_for_output("ready []")
    assert run.err.count("SIGTERM was ignored at the start") == 1, run
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE and run.event("notice") is not None, run


# Saves and leaves with 0 when SIGTERM comes, but takes its time.
LEAVES_SLOWLY = TOP + """
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("ready", flush=True)
while not asked:
    time.sleep(0.01)
print("asked", flush=True)
while not pathlib.Path("save").exists():
    time.sleep(0.01)
(top / "step-7.bin").write_bytes(b"x" * 1000)
sys.exit(0)
"""


def test_a_job_whose_first_checkpoint_answers_a_plain_stop_does_not_look_finished(place):
    """Nothing says before that it saves any: no options, no checkpoint. So SIGTERM is forwarded, as by any init."""
    process = subprocess.Popen([REPRIEVE, "run", "--", PYTHON, "-c", LEAVES_SLOWLY], cwd=place.path, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "HOME": str(place.path), "AWS_EC2_METADATA_DISABLED": "true"})
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "asked\n"
    (place.path / "save").touch()
    assert process.wait(LIMIT) == EXIT_DURABLE


def test_a_job_that_was_asked_leaves_although_the_notice_is_withdrawn(place):
    """It has heard the request, and not the withdrawal: that is no end of its training."""
    notice = place.path / "notice"
    run = place.run(PYTHON, "-c", LEAVES_SLOWLY, options=(*QUICK, "--notice", f"file:{notice}"))
    run.wait_for_output("ready")
    notice.touch()
    run.wait_for_output("asked")
    notice.unlink()
    wait_for("the withdrawal", lambda: "the notice was withdrawn" in run.err)
    (place.path / "save").touch()
    assert run.wait() == EXIT_DURABLE, run
    again = place.run(PYTHON, "-c", LEAVES_SLOWLY, options=QUICK)
    again.wait_for_output("ready")
    again.kill()


def test_a_job_that_has_answered_twice_may_finish(place):
    run = place.run(PYTHON, "-u", "-c", TOP + """
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
print("ready", flush=True)
for step in range(1, 3):
    while not asked:
        time.sleep(0.01)
    del asked[0]
    (top / f"step_{step}").mkdir(parents=True)
    (top / f"step_{step}" / "weights.bin").write_bytes(b"x" * 1000)
while not pathlib.Path("end").exists():
    time.sleep(0.01)
""", options=(*QUICK, "--checkpoint-signal", "USR1"))
    run.wait_for_output("ready\n")
    for _ in range(2):
        assert place.query("checkpoint", "--pid", run.pid).code == 0, run
    (place.path / "end").touch()
    assert run.wait() == 0, run


def test_a_store_that_is_gone_is_no_reason_to_call_anything_durable(place):
    """Whoever answers "no such file" has not said that there is nothing to save."""
    notice = place.path / "notice"
    run = trainer(place, "--steps", "100000", options=("--notice", f"file:{notice}", "--flush-time", "1s"))
    run.wait_for_output("step 5\n")
    assert place.query("checkpoint", "--pid", run.pid).code == 0, run
    snapshots = next(place.store_path.glob("jobs/*/snapshots"))
    shutil.rmtree(snapshots)
    snapshots.symlink_to(place.path / "nowhere" / "at all")
    notice.write_text('{"action": "terminate", "seconds": 8}')
    assert run.wait() == EXIT_NOT_DURABLE, run
    assert "NOT durable" in run.err


# Reprieve around the whole script, and around the training alone.
INSIDE = """
{python} -u {trainer} --dir {directory} --signal TERM --on-signal exit0 --steps {steps} || exit $?
if [ -e "$REPRIEVE_NOTICE_FILE" ]; then exit 0; fi
echo evaluated
"""
AROUND = """
{run} -- {python} -u {trainer} --dir {directory} --signal TERM --on-signal exit0 --steps {steps} || exit $?
echo evaluated
"""


def test_the_next_line_of_a_script_does_not_run_in_a_preempted_attempt(place):
    values = {"python": PYTHON, "trainer": TRAINER, "directory": place.directory}
    notice = ("--notice", f"file:{place.path / 'notice'}")
    run = place.run("sh", "-c", INSIDE.format(steps=100000, **values), options=(*QUICK, *notice))
    run.wait_for_output("step 5\n")
    (place.path / "notice").write_text('{"action": "terminate", "seconds": 60}')
    assert run.wait() == EXIT_DURABLE and "evaluated" not in run.out, run
    (place.path / "notice").unlink()
    last = place.run("sh", "-c", INSIDE.format(steps=1, **values), options=(*QUICK, *notice))
    assert last.wait() == 0 and "evaluated" in last.out, last


def test_the_code_of_a_preempted_training_ends_its_script(place):
    """What `explain exit` prints is what is tried here."""
    said = place.query("explain", "exit").out
    assert "python3 train.py || exit $?" in said and 'if [ -e "$REPRIEVE_NOTICE_FILE" ]; then exit 0; fi' in said
    begin = f"{REPRIEVE} run --store {place.store} --job j --checkpoint-dir {place.directory} --quiet-time 150ms --notice file:notice"
    script = AROUND.format(run=begin, python=PYTHON, trainer=TRAINER, directory=place.directory, steps=100000)
    with open(place.path / "script.out", "wb") as out:
        process = subprocess.Popen(["sh", "-c", script], cwd=place.path, env=place.environment, stdout=out,
                                   stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        wait_for("step 5", lambda: "step 5\n" in (place.path / "script.out").read_text())
        (place.path / "notice").write_text('{"action": "terminate", "seconds": 60}')
        assert process.wait(LIMIT) == EXIT_DURABLE
    assert "evaluated" not in (place.path / "script.out").read_text()


def test_a_pipe_on_standard_error_that_nobody_reads_stops_nothing(place):
    """It is full from the beginning on, and the job writes nothing to it itself."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writes, b"x" * 4096)
    os.set_blocking(writes, True)
    notice, events = place.path / "notice", place.path / "events"
    command = [REPRIEVE, "run", "--store", place.store, "--job", "j", "--checkpoint-dir", place.directory, "--events", events,
               *QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}", "--",
               PYTHON, "-u", TRAINER, "--dir", place.directory, "--signal", "USR1", "--steps", "100000"]
    with open(place.path / "out", "wb") as out:
        process = subprocess.Popen(list(map(str, command)), cwd=place.path, env=place.environment, stdout=out, stderr=writes,
                                   preexec_fn=die_with_parent)
    wait_for("step 5", lambda: "step 5\n" in (place.path / "out").read_text(), process=process)
    assert place.query("checkpoint", "--pid", process.pid).code == 0
    notice.write_text('{"action": "terminate", "seconds": 60}')
    assert process.wait(LIMIT) == EXIT_DURABLE
    os.close(reads)
    os.close(writes)


# One checkpoint, which is there from one moment to the next, so that there is one snapshot of it.
TWO_FILES = TOP + """
print("files", sorted(path.name for path in top.glob("*")), flush=True)
(top / "unfinished.tmp").mkdir()
for name in ("a.bin", "b.bin"):
    (top / "unfinished.tmp" / name).write_bytes(os.urandom(5000))
(top / "unfinished.tmp").rename(top / "step-1")
"""


def test_what_is_whole_in_a_damaged_snapshot_can_be_fetched(place):
    """One byte of the only checkpoint: the job is not started, and the start says how to get at the rest."""
    place.directory.mkdir()
    assert place.run(PYTHON, "-c", TWO_FILES, options=QUICK).wait() == 0
    # One pack, or one for each file where the first was sent before the second was written.
    pack = next(path for path in place.store_path.glob("jobs/*/packs/*/*") if path.stat().st_size > 5000)
    content = bytearray(pack.read_bytes())
    content[1000] ^= 1
    pack.write_bytes(content)
    checked = place.verb("verify", "--repair")
    assert checked.code == 1 and "reprieve restore ID DIR --exclude FILE" in checked.out, checked
    [lost] = {line.split()[2].rstrip(":") for line in checked.out.splitlines() if line.startswith("damaged")}
    shutil.rmtree(place.directory)
    again = place.run(PYTHON, "-c", TWO_FILES, options=QUICK)
    assert again.wait() == EXIT_CONFIGURATION, again
    assert "not started: every snapshot of job job is damaged" in again.err and again.out == "", again
    assert "reprieve restore ID DIR --exclude FILE" in again.err and "--restore none" in again.err, again
    [damaged] = [snapshot["id"] for snapshot in place.snapshots() if snapshot["id"].startswith("000001-")]
    fetched = place.verb("restore", damaged, place.path / "rest", "--exclude", lost)
    assert fetched.code == 0, fetched
    whole = {"step-1/a.bin": "b.bin", "step-1/b.bin": "a.bin"}[lost]
    assert [path.name for path in (place.path / "rest" / "step-1").iterdir()] == [whole]


# Two checkpoints and a curve, of which each snapshot that has the second has all three. Says what it has found.
TWO_CHECKPOINTS = TOP + """
print("found", *sorted(path.name for path in top.glob("*") if not path.name.startswith(".")), flush=True)
if len(sys.argv) > 1:
    (top / "metrics.csv").write_bytes(random.Random("metrics.csv").randbytes(5000))
    for name in ("step-1", "step-2"):
        (top / "unfinished.tmp").mkdir()
        (top / "unfinished.tmp" / "model.bin").write_bytes(random.Random(name).randbytes(5000))
        (top / "unfinished.tmp").rename(top / name)
"""


def flip_a_byte_of(place, name):
    """In every pack that has the content of that checkpoint."""
    wanted = random.Random(name).randbytes(5000)
    packs = [path for path in place.store_path.glob("jobs/*/packs/*/*") if wanted in path.read_bytes()]
    assert packs
    for pack in packs:
        content = bytearray(pack.read_bytes())
        content[content.index(wanted) + 1000] ^= 1
        pack.write_bytes(content)


def save_two_checkpoints(place):
    place.directory.mkdir()
    assert place.run(PYTHON, "-c", TWO_CHECKPOINTS, "write", options=QUICK).wait() == 0
    newest = place.newest()
    shutil.rmtree(place.directory)
    return newest["id"]


@pytest.mark.parametrize("lost, left", [("step-1", "metrics.csv step-2"), ("metrics.csv", "step-1 step-2")])
def test_a_start_does_without_what_is_damaged_beside_its_newest_checkpoint(place, lost, left):
    """All snapshots share the damaged file. The job goes on from the newest checkpoint, and the store is whole again."""
    save_two_checkpoints(place)
    flip_a_byte_of(place, lost)
    again = place.run(PYTHON, "-c", TWO_CHECKPOINTS, options=QUICK)
    assert again.wait() == 0, again
    assert again.out == f"found {left}\n", again
    assert "its newest checkpoint is restored, without 1 other file" in again.err, again
    newest = place.newest()
    assert newest["state"] == "good" and newest["id"] > "000002", newest
    assert place.verb("verify", newest["id"]).code == 0
    shutil.rmtree(place.directory)
    third = place.run(PYTHON, "-c", TWO_CHECKPOINTS, options=QUICK)
    assert third.wait() == 0 and third.out == f"found {left}\n", third


def test_a_start_that_finds_all_damaged_leaves_nothing_behind(place):
    """Once the damage is mended, the next start goes on from where the one before would have."""
    newest = save_two_checkpoints(place)
    sound = {pack: pack.read_bytes() for pack in place.store_path.glob("jobs/*/packs/*/*")}
    flip_a_byte_of(place, "step-1")
    flip_a_byte_of(place, "step-2")
    refused = place.run(PYTHON, "-c", TWO_CHECKPOINTS, options=QUICK)
    assert refused.wait() == EXIT_CONFIGURATION and refused.out == "", refused
    assert "not started: every snapshot of job job is damaged" in refused.err and "newest checkpoint" in refused.err, refused
    for pack, content in sound.items():
        pack.write_bytes(content)
    assert place.verb("verify", "--repair").code == 0
    again = place.run(PYTHON, "-c", TWO_CHECKPOINTS, options=QUICK)
    assert again.wait() == 0 and again.out == "found metrics.csv step-1 step-2\n", again
    assert f"restored {newest}" in again.err, again


@pytest.mark.parametrize("known", [True, False], ids=["known-before", "found-by-the-start"])
def test_a_named_snapshot_that_is_damaged_is_refused_for_good(place, known):
    """The next start would find the same: a scheduler must not try it again. The line says what to name instead."""
    place.directory.mkdir()
    for number in "12":
        write = f"import os, pathlib; pathlib.Path(os.environ['REPRIEVE_CHECKPOINT_DIR'], 'step-{number}.bin').write_bytes(os.urandom(5000))"
        assert place.run(PYTHON, "-c", write, options=QUICK).wait() == 0
    newest = place.newest()["id"]
    good = next(item["id"] for item in place.snapshots() if item["id"] < newest and item["state"] == "good")
    [content] = [path.read_bytes() for path in place.directory.glob("step-2.bin")]
    for pack in place.store_path.glob("jobs/*/packs/*/*"):
        if content in pack.read_bytes():
            pack.write_bytes(pack.read_bytes().replace(content, bytes(5000)))
    shutil.rmtree(place.directory)
    if known:
        assert place.verb("verify").code == 1
    for _ in "twice":
        refused = place.run("true", options=(*QUICK, "--restore", newest))
        assert refused.wait() == EXIT_CONFIGURATION, refused
        [line] = [line for line in refused.err.splitlines() if "not started" in line]
        assert f"snapshot {newest} of job job is damaged" in line and f"--restore {good}, the good one before it" in line, line
    assert place.run("true", options=(*QUICK, "--restore", good)).wait() == 0


def test_restore_none_begins_from_scratch_where_all_is_damaged(place):
    save_two_checkpoints(place)
    flip_a_byte_of(place, "step-2")
    again = place.run(PYTHON, "-c", TWO_CHECKPOINTS, options=(*QUICK, "--restore", "none"))
    assert again.wait() == 0 and again.out == "found\n", again


def test_a_command_that_is_told_to_end_before_it_has_saved_says_so(place):
    """Without a store, and with nothing that says that it saves: the code is that of any init, and the line says what was saved."""
    run = place.query("run", "--", "sh", "-c", "kill -TERM $PPID; exec sleep 100")
    assert run.code == 143, run
    assert "was told to end before it had saved" in one_line(run) and "(exit 143)" in run.err, run
    interrupted = place.query("run", "--", "sh", "-c", "kill -INT $PPID; exec sleep 100")
    assert interrupted.code == 130 and interrupted.err == "", interrupted
