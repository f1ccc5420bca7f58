"""When a job has ended: its main process has, and nothing that it has started still writes a checkpoint. What is stopped is stopped as a terminal or a
scheduler would: its main process first, then the rest, SIGKILL last."""
import os
import pty
import re
import shutil
import signal
import subprocess
import textwrap

import pytest
from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, REPRIEVE, ROOT, wait_for

WHOLE = 200000
# Hands each checkpoint to a process of its own, as flash checkpoints do, and leaves without waiting for the last one.
TRAINER = """
import os, re, signal, subprocess, sys, time
from pathlib import Path
SIGNALS = {signals!r}
for name in SIGNALS:
    signal.signal(getattr(signal, name), lambda *_: told.append(1))
told = []
directory = Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
directory.mkdir(exist_ok=True)
saved = [int(path.stem[5:]) for path in directory.glob("ckpt-*.bin") if path.stat().st_size == {whole}]
step = max(saved, default=0)
print("resumes", step, flush=True)
def save(step):
    return subprocess.Popen([sys.executable, "-c", {writer!r}, str(directory / f"ckpt-{{step}}.bin")], start_new_session={session})
while step < {steps} and not told:
    step += 1
    time.sleep(0.1)
    if step % 10 == 0:
        writer = save(step)
        if step % 20 == 0:
            writer.wait()
        print("saved", step, flush=True)
if told:
    save(step)
print("leaves", flush=True)
sys.exit({code})
"""
WRITER = """
import sys, time
time.sleep({begins})
with open(sys.argv[1], "wb") as out:
    for _ in range(10):
        out.write(b"x" * 20000)
        out.flush()
        time.sleep({pause})
"""
ENDLESS = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "wb") as out:
    while "-20." not in sys.argv[1]:
        out.write(b"x")
        out.flush()
        time.sleep(0.1)
    out.write(b"x" * 200000)
"""


def train(place, steps=30, code=0, begins=0.3, pause=0.2, session=False, writer=None, signals=(), options=(), **more):
    script = TRAINER.format(steps=steps, code=code, signals=signals, whole=WHOLE, session=session,
                            writer=writer or WRITER.format(begins=begins, pause=pause))
    return place.run(PYTHON, "-c", script, options=("--quiet-time", "0.3", *options), **more)


def newest_files(place):
    target = place.path / "by-hand"
    shutil.rmtree(target, ignore_errors=True)
    assert place.verb("restore", "latest", target).code == 0
    return {path.name: path.stat().st_size for path in target.iterdir()}


@pytest.mark.parametrize("session", [False, True])
@pytest.mark.parametrize("code", [0, 3])
def test_the_last_checkpoint_is_waited_for(place, code, session):
    run = train(place, code=code, session=session)
    assert run.wait() == code, run
    assert newest_files(place) == {f"ckpt-{step}.bin": WHOLE for step in (10, 20, 30)}, run


@pytest.mark.parametrize("code", [0, 3])
def test_what_is_left_and_does_not_write_holds_nothing_up(place, code):
    """A daemon that has a file open there, and writes nothing."""
    script = f"""
        mkdir -p $REPRIEVE_CHECKPOINT_DIR; cd $REPRIEVE_CHECKPOINT_DIR
        echo state > model-1.pt
        sleep 1
        ({PYTHON} -c 'import time; file = open("model-2.pt", "w"); file.write("half"); file.flush(); open("../began", "w"); time.sleep(600)') &
        while ! [ -e ../began ]; do sleep 0.05; done
        exit {code}
    """
    run = place.run("bash", "-c", script, options=("--quiet-time", "0.3"))
    assert run.wait() == code, run
    assert re.search(r"process \d+ \(\S*python3 .*model-2.pt open for writing", run.err), f"{run}"
    assert run.event("cut")["path"].endswith("model-2.pt")
    assert re.search(rf"NOT durable.*\(exit {code}\)", run.err.splitlines()[-1]), run
    assert "model-1.pt" in newest_files(place)


def test_a_log_that_is_written_on_holds_nothing_up(place):
    script = f"""
        mkdir -p $REPRIEVE_CHECKPOINT_DIR; cd $REPRIEVE_CHECKPOINT_DIR
        {PYTHON} -uc 'import time
        for _ in range(6000): print("line"); time.sleep(0.1)' > train.log &
        while ! [ -s train.log ]; do sleep 0.05; done
        echo state > model-1.pt
    """
    run = place.run("bash", "-c", textwrap.dedent(script), options=("--quiet-time", "0.3"))
    assert run.wait() == 0, run
    assert "model-1.pt" in newest_files(place)


def test_a_job_that_saves_nothing_ends_with_its_main_process(place):
    run = place.run("sh", "-c", f"{PYTHON} -c 'import time; time.sleep(600)' & exit 4", directory=place.path / "none")
    assert run.wait() == 4, run


def test_ctrl_c_ends_the_wait(place):
    run = train(place, writer=ENDLESS)
    wait_for("the wait", lambda: "and is waited for" in run.err, process=run.process, about=run)
    run.signal(signal.SIGINT)
    assert run.wait() == 0, run
    assert "NOT durable" in run.err.splitlines()[-1], run


def test_what_must_be_cut_is_named(place):
    run = train(place, steps=10**6, writer=ENDLESS, signals=("SIGTERM",), options=("--grace", "5"))
    run.wait_for_event("durable")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_NOT_DURABLE, run
    assert "leaves" in run.out
    assert re.search(r"process \d+ \(\S*python3 .*/ckpt-\d+.bin open for writing when the job was ended", run.err), f"{run}"
    assert f"(exit {EXIT_NOT_DURABLE})" in run.err.splitlines()[-1], run
    assert run.event("killing") or "SIGKILL" in run.err, run


def test_a_save_that_follows_sigterm_is_waited_for(place):
    run = train(place, steps=10**6, signals=("SIGTERM",), options=("--grace", "60"))
    run.wait_for_event("durable")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    files = newest_files(place)
    assert set(files.values()) == {WHOLE} and len(files) == len(list(place.directory.glob("ckpt-*"))), (files, run)


# --- the user's own ends ---


def start_in_terminal(place, name):
    """In the foreground of a terminal of its own: its control characters are signals there."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(place.path)
        script = TRAINER.format(steps=10**6, code=7, signals=("SIGINT", "SIGTERM"), whole=WHOLE, session=False,
                                writer=WRITER.format(begins=0.3, pause=0.05))
        os.execve(REPRIEVE, [REPRIEVE, "run", "--store", place.store, "--job", place.job, "--checkpoint-dir", str(place.directory),
                             "--events", str(place.path / name), "--quiet-time", "0.3", "--", PYTHON, "-c", script], place.environment)
    return pid, master


def read_until(master, text, seen=""):
    while text not in seen:
        try:
            seen += os.read(master, 4096).decode(errors="replace")
        except OSError:
            break
    assert text in seen, seen
    return seen


@pytest.mark.parametrize("ends", ["Ctrl-C", "kill"])
def test_an_end_that_the_job_alone_hears(place, ends):
    """It has the job's own code, and what it saved then is where the next start goes on."""
    pid, master = start_in_terminal(place, "first.events")
    seen = read_until(master, "saved 20")
    if ends == "Ctrl-C":
        os.write(master, b"\x03")
    else:
        launched = re.search(r'"launched".*', (place.path / "first.events").read_text())[0]
        os.kill(int(re.search(r'"pid": ?(\d+)', launched)[1]), signal.SIGTERM)
    seen = read_until(master, "the job", read_until(master, "leaves", seen))
    status = os.waitpid(pid, 0)[1]
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 7, seen
    [last] = [step for step in map(int, re.findall(r"ckpt-(\d+)", " ".join(newest_files(place)))) if step > 20 or step == 20][-1:]
    shutil.rmtree(place.directory)
    run = train(place, steps=last + 1)
    assert run.wait() == 0, run
    resumed = int(re.search(r"resumes (\d+)", run.out)[1])
    assert resumed >= 20 and resumed == max(int(step) for step in re.findall(r"ckpt-(\d+)", " ".join(os.listdir(place.directory))))


# --- the main process waits for others ---

WAITS = """
import os, signal, subprocess, sys
lock = sys.argv[1]
if os.path.exists(lock):
    sys.exit("locked")
open(lock, "w").close()
rule = subprocess.Popen([sys.executable, "-c", sys.argv[2]])
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
rule.wait()
os.remove(lock)
sys.exit(rule.returncode != 0)
"""
RULE = TRAINER.format(steps=10**6, code=0, signals=(), whole=WHOLE, session=False, writer=WRITER.format(begins=0, pause=0))


def test_the_rest_hears_sigterm_too(place, tmp_path):
    for _ in range(2):
        run = place.run(PYTHON, "-c", WAITS, tmp_path / "lock", RULE, options=("--quiet-time", "0.3", "--grace", "8"))
        run.wait_for_event("durable")
        run.signal(signal.SIGTERM)
        assert run.wait() == EXIT_DURABLE, run
        assert "told\n" in run.out and not (tmp_path / "lock").exists(), run


@pytest.fixture(scope="module")
def snakemake():
    """PyPI's; made once for this tree."""
    home = ROOT / "build" / "snakemake"
    program = home / "bin" / "snakemake"
    if not program.exists():
        made = subprocess.run(f"{PYTHON} -m venv {home} && {home}/bin/pip install -q snakemake", shell=True, capture_output=True, text=True)
        if made.returncode != 0 or not program.exists():
            pytest.skip(f"no snakemake can be had from PyPI: {made.stderr.strip().splitlines()[-1:]}")
    return program


@pytest.mark.long
def test_snakemake_leaves_no_lock(place, snakemake):
    """It waits for its rule, and to end by SIGKILL leaves a lock that stops each later start."""
    (place.path / "rule.py").write_text(RULE)
    (place.path / "Snakefile").write_text(textwrap.dedent(f"""
        rule train:
            output: "done"
            shell: "{PYTHON} rule.py && touch {{output}}"
    """))
    steps = []
    for number in (1, 2):
        run = place.run(snakemake, "--cores", "1", "done", options=("--quiet-time", "0.3", "--grace", "15"),
                        PATH=f"{snakemake.parent}:{os.environ['PATH']}")
        run.wait_for_event("durable", 2)
        run.signal(signal.SIGTERM)
        assert run.wait() == EXIT_DURABLE, run
        steps.append(int(re.search(r"resumes (\d+)", run.out)[1]))
    assert steps[0] == 0 < steps[1], steps
