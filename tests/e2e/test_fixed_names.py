"""Fixed names that are written back to back: no moment is left in which the set is whole."""
import os
import re
import shutil
import signal

import pytest

from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, kill_quietly, wait_for

JOB = """
import os, sys, time
directory, how = sys.argv[1], sys.argv[2]
os.makedirs(directory, exist_ok=True)
def write(path):
    with open(path, "wb") as file:
        file.write(b"%06d" % step * 1000)
        file.flush()
        time.sleep(0.1)
        file.write(b"end")
step = 0
while True:
    step += 1
    names = [f"{directory}/last.bin", f"{directory}/opt.bin"]
    for name in names:
        write(name if how == "place" else name + ".tmp")
        if how == "each":
            os.rename(name + ".tmp", name)
    if how == "end":
        for name in names:
            os.rename(name + ".tmp", name)
    if step == 12:
        print("often", flush=True)
"""


@pytest.mark.parametrize("how", ["place", "each", "end"])
def test_no_snapshot_holds_a_part_of_the_set(place, how):
    run = place.run(PYTHON, "-c", JOB, place.directory, how, options=["--grace", "8"])
    run.wait_for_output("often")
    run.signal(signal.SIGTERM)
    code = run.wait()
    assert code in (EXIT_DURABLE, EXIT_NOT_DURABLE), run
    if code == EXIT_NOT_DURABLE:  # or the job had gone on after the last whole set, more than once
        assert "its files were written again before" in run.err or "are in no snapshot (of the first: its writer died" in run.err, run
    if code == EXIT_DURABLE:
        assert place.newest(), run
    for snapshot in place.snapshots():
        look = place.path / f"look-{snapshot['id']}"
        place.verb("restore", snapshot["id"], look)
        contents = [(look / name).read_bytes() for name in ("last.bin", "opt.bin")]
        assert contents[0] == contents[1] and contents[0].endswith(b"end"), (snapshot["id"], run)


# One directory of fixed names, as spaCy's model-last: it is removed, or put aside, and written anew, with a pause before its last file.
ANEW = """
import os, shutil, sys, time
directory, how = os.path.join(sys.argv[1], "model-last"), sys.argv[2]
names = ("meta", "ner", "vocab")
for step in range(1, 9):
    if os.path.exists(directory):
        if how == "aside":
            shutil.rmtree(directory + ".old", ignore_errors=True)
            os.rename(directory, directory + ".old")
        elif how == "unlinked":
            for name in names:
                os.unlink(os.path.join(directory, name))
        else:
            shutil.rmtree(directory)
    os.makedirs(directory, exist_ok=True)
    for name in names:
        if name == "vocab":
            time.sleep(0.2)
        with open(os.path.join(directory, name), "w") as file:
            file.write("%d" % step)
    time.sleep(1.5)
"""


@pytest.mark.parametrize("how", ["removed", "unlinked", "aside"])
def test_a_set_that_is_removed_and_written_anew_is_awaited_whole(place, how):
    options = ("--quiet-time", "500ms", "--snapshot-interval", "0")
    run = place.run(PYTHON, "-c", ANEW, place.directory, how, options=options)
    assert run.wait() == 0, run
    snapshots = place.snapshots()
    for snapshot in snapshots:
        look = place.path / f"look-{snapshot['id']}"
        place.verb("restore", snapshot["id"], look)
        contents = {(look / "model-last" / name).read_text() for name in ("meta", "ner", "vocab")}
        assert len(contents) == 1, (snapshot["id"], contents, run)
    # All but those of which nothing is known yet.
    assert len(snapshots) >= 4, (len(snapshots), run)


# Saves last.bin and opt.bin once, `count` of them, and waits to be killed.
ONCE = """
import os, sys, time
directory, count = sys.argv[1], int(sys.argv[2])
os.makedirs(directory, exist_ok=True)
names = [f"{directory}/last.bin", f"{directory}/opt.bin"]
step = 1 + (int(open(names[0]).read()[:6]) if os.path.exists(names[0]) else 0)
for name in names[:count]:
    with open(name, "w") as file:
        file.write("%06d" % step * 1000)
    time.sleep(0.05)
print("saved", step, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_save_after_a_restart_has_the_names_of_the_one_before(place, count):
    run = place.run(PYTHON, "-c", ONCE, place.directory, 2)
    run.wait_for_event("durable")
    kill_quietly(run.job_pid, signal.SIGKILL)
    assert run.wait() == 128 + signal.SIGKILL
    # No pause on a slow machine is taken for the end of a save.
    run = place.run(PYTHON, "-c", ONCE, place.directory, count, options=["--quiet-time", "60"])
    run.wait_for_output("saved 2")
    kill_quietly(run.job_pid, signal.SIGKILL)
    assert run.wait() == 128 + signal.SIGKILL
    run = place.run(PYTHON, "-c", "pass")
    assert run.wait() == 0
    # A half of the second one is gone: there is a way back to the first.
    expected = b"%06d" % count * 1000
    assert [(place.directory / name).read_bytes() for name in ("last.bin", "opt.bin")] == [expected] * 2, run


# Saves last.bin and opt.bin. Once that is durable, its supervisor learns of nothing any more: not of the second save, nor that the third
# has opened last.bin.
EMPTIES = """
import os, pathlib, signal, sys, time
top = pathlib.Path(sys.argv[1])
top.mkdir(parents=True, exist_ok=True)
names = [top / "last.bin", top / "opt.bin"]
print("resumed at", *[name.read_text()[:6] for name in names if name.exists()], flush=True)
for step in (1, 2):
    for name in names:
        name.write_text("%06d" % step * 1000)
    print("saved", step, flush=True)
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGSTOP)
open(names[0], "wb")
print("emptied", flush=True)
time.sleep(1000)
"""


def test_a_set_of_which_one_is_emptied_is_had_back_as_a_whole(place):
    """All are killed before the list of what is being written has it. The empty file is never committed."""
    run = place.run(PYTHON, "-u", "-c", EMPTIES, place.directory, options=("--quiet-time", "150ms"))
    run.wait_for_event("durable")
    listed = place.path / "checkpoints.reprieve" / "under-way"
    wait_for("nothing is listed", lambda: not listed.exists(), process=run.process)
    (place.path / "go").touch()
    run.wait_for_output("emptied\n")
    run.kill()
    assert not listed.exists() and (place.directory / "last.bin").stat().st_size == 0, run
    (place.path / "go").unlink()
    again = place.run(PYTHON, "-u", "-c", EMPTIES, place.directory, options=("--quiet-time", "150ms"))
    again.wait_for_output("resumed at")
    assert "resumed at 000001 000001\n" in again.out and "last.bin is torn: " in again.err and "opt.bin is not used: " in again.err, again
    assert "cp -a" not in again.err, "nobody goes on from half of a set"
    aside = sorted((path.name, path.stat().st_size) for path in (listed.parent / "quarantine").rglob("*.bin"))
    assert aside == [("last.bin", 0), ("opt.bin", 6000)], again
    again.kill()
    for snapshot in place.snapshots():
        look = place.path / f"look-{snapshot['id']}"
        place.verb("restore", snapshot["id"], look)
        assert (look / "last.bin").read_bytes() == (look / "opt.bin").read_bytes() != b"", (snapshot["id"], again)


# It resumes from last.bin, which it writes over in place, and keeps all steps under numbered names. The third save stays half.
KEEPS_LAST = """
import os, pathlib, time
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
top.mkdir(parents=True, exist_ok=True)
last = top / "last.bin"
step = int(last.read_text().split()[0]) if last.exists() else 0
print("resumed at", step, flush=True)
for step in range(step + 1, 4):
    (top / f"epoch_{step}.bin").write_text(str(step))
    with open(last, "w", buffering=1) as file:
        file.write(f"{step} \\n")
        if step == 3:
            print("half", flush=True)
            time.sleep(1000)
        file.write("whole\\n")
    print("saved", step, flush=True)
    while not pathlib.Path(f"go{step}").exists():
        time.sleep(0.01)
"""


@pytest.mark.parametrize("machine", ["the same", "another"])
def test_a_fixed_name_that_is_torn_is_had_back_as_it_was(place, machine):
    run = place.run(PYTHON, "-u", "-c", KEEPS_LAST, options=("--quiet-time", "150ms", "--snapshot-interval", "0"))
    for step in (1, 2):
        run.wait_for_output(f"saved {step}\n")
        wait_for(f"step {step} is durable", lambda: any(event["event"] == "durable" and event["step"] == step for event in run.events()), about=run)
        (place.path / f"go{step}").touch()
    run.wait_for_output("half\n")
    os.kill(run.event("launched")["pid"], signal.SIGKILL)
    run.wait()
    if machine == "another":
        shutil.rmtree(place.directory)
    again = place.run(PYTHON, "-u", "-c", KEEPS_LAST, options=("--quiet-time", "150ms",))
    again.wait_for_output("resumed at")
    assert "resumed at 2\n" in again.out, again
    assert ("last.bin is put back from snapshot" in again.err) == (machine == "the same"), again


# Keeps the newest step alone, and a pointer to it, which is being written over when the third one is there.
POINTS = """
import os, pathlib, sys, time
top = pathlib.Path(sys.argv[1])
top.mkdir(parents=True, exist_ok=True)
for step in range(1, 4):
    (top / f"epoch_{step}.bin").write_text(str(step))
    if step > 1:
        (top / f"epoch_{step - 1}.bin").unlink()
    with open(top / "newest.txt", "w", buffering=1) as file:
        if step == 3:
            print("half", flush=True)
            time.sleep(1000)
        file.write(f"epoch_{step}.bin")
    print("saved", step, flush=True)
    while not pathlib.Path(f"go{step}").exists():
        time.sleep(0.01)
"""


def test_a_pointer_that_is_put_back_points_at_something(place):
    run = place.run(PYTHON, "-u", "-c", POINTS, place.directory, options=("--quiet-time", "150ms", "--snapshot-interval", "0"))

    def wait_for_durable(step):
        wait_for(f"step {step} is durable", lambda: any(event["step"] == step for event in run.events("durable")), about=run)

    for step in (1, 2):
        run.wait_for_output(f"saved {step}\n")
        wait_for_durable(step)
        (place.path / f"go{step}").touch()
    run.wait_for_output("half\n")
    wait_for_durable(3)
    look = place.path / "look"
    place.verb("restore", "latest", look)
    assert (look / "epoch_3.bin").read_text() == "3"
    assert (look / (look / "newest.txt").read_text()).exists(), sorted(path.name for path in look.iterdir())


# Fixed names that belong to a number, some time after it, or before it. SIGTERM ends it at once.
PARTNERS = """
import os, pathlib, shutil, sys, time
how, gap, amid = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
top.mkdir(parents=True, exist_ok=True)
numbered = sorted(top.glob("model_*.bin"))
other = top / {"pointer": "last_checkpoint", "copy": "checkpoint_last.bin", "renamed": "checkpoint_last.bin", "before": "optimizer.bin"}[how]

def step_of(path):
    return int(path.read_text().split()[0])

step = 0
if other.exists():
    step = step_of(top / other.read_text() if how == "pointer" else other)
    if how == "before":
        assert step == step_of(numbered[-1]), (step, numbered)
print("resumed at", step, "of", max(map(step_of, numbered), default=0), flush=True)
while True:
    time.sleep(0.6)
    step += 10
    print("before", step, flush=True)
    time.sleep(0.6)
    model = top / f"model_{step:04d}.bin"
    (other if how == "before" else model).write_text(f"{step} first")
    print("half of", step, flush=True)
    time.sleep(1000 if step == amid else gap)
    if how == "pointer":
        other.write_text(model.name)
    elif how == "copy":
        shutil.copyfile(model, other)
    elif how == "renamed":
        shutil.copyfile(model, top / "last.tmp")
        (top / "last.tmp").rename(other)
    else:
        model.write_text(f"{step} second")
    print("saved", step, flush=True)
"""


def resumed_whole(run):
    """The step that it resumed at, which is its newest number."""
    run.wait_for_output("before")
    step, newest = map(int, re.search(r"resumed at (\d+) of (\d+)\n", run.out).groups())
    assert step == newest, run
    return step


@pytest.mark.parametrize("how", ["pointer", "copy", "renamed", "before"])
def test_at_a_notice_a_save_has_what_it_writes_beside_its_number(place, how):
    command = (PYTHON, "-c", PARTNERS, how, "0.4", "-1")
    run = place.run(*command)
    run.wait_for_output("before 60\n")  # how often it saves is known by then
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    shutil.rmtree(place.directory)
    # The next attempt knows it from its first save on.
    again = place.run(*command)
    step = resumed_whole(again)
    assert step >= 60 and step == place.newest()["step"], f"{run}\n{again}"
    again.wait_for_output(f"half of {step + 10}\n")
    again.signal(signal.SIGTERM)
    assert again.wait() == EXIT_DURABLE, again
    last = place.run(*command)
    assert resumed_whole(last) > step, f"{again}\n{last}"
    last.kill()


def test_the_step_that_is_said_is_the_one_that_the_job_resumes_from(place):
    """Killed after its third number, before the pointer names it."""
    run = place.run(PYTHON, "-c", PARTNERS, "pointer", "0.1", "30", options=("--quiet-time", "300ms", "--snapshot-interval", "0"))
    run.wait_for_output("saved 20\n")
    wait_for("step 20 is durable", lambda: any(event["step"] == 20 for event in run.events("durable")), process=run.process)
    count = len(run.events("durable"))
    run.wait_for_output("half of 30\n")
    run.wait_for_event("durable", count + 1)
    os.kill(run.event("launched")["pid"], signal.SIGKILL)
    run.wait()
    assert place.newest()["step"] == 20, run
    shutil.rmtree(place.directory)
    again = place.run(PYTHON, "-c", PARTNERS, "pointer", "0.1", "30")
    again.wait_for_output("before")
    assert "resumed at 20 of 30\n" in again.out and "step 20" in again.err, again
    again.kill()


# As the programs for pairs of networks (CycleGAN) save: two fixed names in turn, and beside them its options, a log, and a page with pictures
# that is written all the time. It is done with a part of a save once its word is printed. Never asks for a signal.
PAGES = """
import os, pathlib, pickle, sys, time, zipfile
top = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
(top / "web").mkdir(parents=True, exist_ok=True)
names = [top / f"latest_net_{name}.pth" for name in "GD"]

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def wait(seconds):
    for _ in range(int(seconds / 0.05)):
        time.sleep(0.05)
        with open(top / "loss_log.txt", "a") as file:
            file.write("loss\\n")

def show():
    (top / "web/epoch001_fake.png").write_bytes(os.urandom(4000))
    (top / "web/index.html").write_text("<html>" + "x" * 2000)

def load(path):
    with zipfile.ZipFile(path) as archive:
        return pickle.loads(archive.read("data.pkl"))

if any(name.exists() for name in names):
    steps = {load(name) for name in names}
    assert len(steps) == 1, steps
    say("resumed at", steps.pop())
else:
    say("resumed at", 0)
(top / "train_opt.txt").write_text("lr: 0.1")
for _ in range(int(sys.argv[1])):
    show()
    wait(0.5)
for step in range(1, 1000):
    for name in names:
        say("begins", name.name, step)
        with open(name, "wb", buffering=0) as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr("data.pkl", pickle.dumps(step))
            time.sleep(0.2)
        say("closed", name.name, step)
    for _ in range(3):
        wait(0.4)
        show()
    wait(0.5)
"""


@pytest.mark.parametrize("said", ["resumed", "begins latest_net_D.pth 1", "closed latest_net_D.pth 1", "begins latest_net_D.pth 3"])
def test_at_a_notice_what_lies_beside_a_set_is_no_checkpoint_and_holds_none_up(place, said):
    run = place.run(PYTHON, "-c", PAGES, 4, options=["--grace", "20"])
    run.wait_for_output(said)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    whole = max(int(step) for step in re.findall(r"closed latest_net_D.pth (\d+)\n", run.out))
    shutil.rmtree(place.directory)
    again = place.run(PYTHON, "-c", PAGES, 0)
    again.wait_for_output("begins")
    assert f"resumed at {whole}\n" in again.out, (run, again)
    again.kill()
