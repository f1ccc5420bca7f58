"""Profiles and content: what the framework's layout and the files themselves say about a checkpoint.

The jobs here write the layouts of frameworks, as the frameworks do, without having them: the first word of each script is the import
that makes it recognised. tests/frameworks runs the real ones.
"""
import io
import os
import signal
import textwrap
import zipfile

import pytest

from harness import EXIT_DURABLE, EXIT_USAGE, PYTHON, one_line, wait_for

# What a job of these tests can say: write(path, content, done) puts a file there, pause() outlasts the quiet time.
PROLOGUE = '''
import io, os, sys, time, zipfile
if False:
    {imports}

ROOT = os.environ["REPRIEVE_CHECKPOINT_DIR"]

def archive(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("data", text)
    return buffer.getvalue()

def write(path, content=b"{{}}"):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)

def say(*words):  # in one piece: a handler may speak between two of print()'s
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def pause():
    time.sleep(1.2)

def for_ever():
    say("waits")
    time.sleep(600)

def slurm(name):
    return os.environ.get("SL" + "URM_" + name)  # a script that says the whole word has plans of its own

def names():
    found = [os.path.relpath(os.path.join(at, name), ROOT) for at, _, files in os.walk(ROOT) for name in files]
    say("sees", *sorted(found))

'''
QUIET = ("--quiet-time", "0.3s")


def archive(text="content"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("data", text)
    return buffer.getvalue()


def lay(directory, **files):
    """Files below the directory: {"a/b": b"..."}"""
    for path, content in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)


def start(place, program, imports="pass", options=(), **more):
    script = place.path / "train.py"
    script.write_text(PROLOGUE.format(imports=imports) + textwrap.dedent(program))
    return place.run(PYTHON, script, options=[*QUIET, *options], **more)


def files_of(place, snapshot):
    result = place.verb("show", snapshot, "--json")
    assert result.code == 0, result
    return sorted(entry["path"] for entry in result.json["entries"] if entry.get("type", "file") == "file")


def newest_files(place):
    return files_of(place, place.newest()["id"])


def quarantined(place):
    beside = place.path / "checkpoints.reprieve" / "quarantine"
    return sorted(str(path.relative_to(beside)).split("/", 1)[1]
                  for path in beside.rglob("*") if path.is_file() or path.is_symlink())


def seen(run):
    """What the job found in its directory when it began."""
    assert run.wait() == 0, run
    return [line.split()[1:] for line in run.out.splitlines() if line.startswith("sees")][0]


# --- saying which ---

@pytest.mark.parametrize("imports, name, words", [
    ("from transformers import Trainer", "hf", "cannot be asked"),
    ("import lightning.pytorch as pl", "lightning", "cannot be asked"),
    ("import lightning; ModelCheckpoint(save_on_exception=True)", "lightning", "asked with SIGTERM"),
    ("import xgboost as xgb", "xgboost", "its periodic ones count"),
    ("import torch, numpy", "torch", "no handler for SIGTERM is seen"),
    ("import torch, signal; signal.signal(signal.SIGTERM, signal.SIG_DFL)", "torch", "asked with SIGTERM"),
])
def test_said_at_the_start(place, imports, name, words):
    run = start(place, "say('runs')", imports)
    assert run.wait() == 0, run
    line = next(line for line in run.err.splitlines() if "profile" in line)
    assert f"profile {name} (" in line and "train.py imports" in line and words in line, run


def test_nothing_is_said_of_a_job_that_is_not_recognised(place):
    run = start(place, "say('runs')")
    assert run.wait() == 0 and "profile" not in run.err, run


def test_chosen(place):
    run = start(place, "say('runs')", "import torch", options=["--profile", "xgboost"])
    assert run.wait() == 0 and "profile xgboost (chosen)" in run.err, run
    run = start(place, "say('runs')", "import torch", REPRIEVE_PROFILE="none")
    assert run.wait() == 0 and "profile" not in run.err, run


def test_a_signal_that_the_user_chose_wins(place):
    run = start(place, "say('runs')", "import lightning", options=["--checkpoint-signal", "USR2"])
    assert run.wait() == 0 and "asked with SIGUSR2, as --checkpoint-signal says" in run.err, run


def test_there_is_no_such_profile(place):
    result = place.query("run", "--profile", "caffe", "--", "true")
    assert result.code == EXIT_USAGE
    assert "no profile 'caffe'" in one_line(result) and "lightning, " in one_line(result)


def test_explain(place):
    result = place.query("explain", "profile", "--json")
    assert result.code == 0, result
    names = [profile["name"] for profile in result.json]
    assert {"files", "torch", "hf", "lightning", "dcp", "deepspeed", "orbax"} <= set(names)
    for name in names:
        text = place.query("explain", "profile", name)
        assert text.code == 0 and text.out.startswith(f"{name}: ") and "resuming" in text.out, text
        assert place.query("explain", "profile", name, "--json").json["name"] == name
    assert place.query("explain", "profile", "nope").code == EXIT_USAGE
    assert place.query("explain").code == EXIT_USAGE


# --- not complete before it is ---

def test_a_pause_before_the_marker_is_no_end(place):
    """A directory that is still, but whose framework has not written its last file."""
    run = start(place, """
        write("checkpoint-1/model.bin", archive("1"))
        pause()
        write("checkpoint-1/trainer_state.json")
        pause()
        for_ever()
        """, "from transformers import Trainer")
    run.wait_for_event("durable")
    assert len(place.snapshots()) == 1
    assert newest_files(place) == ["checkpoint-1/model.bin", "checkpoint-1/trainer_state.json"]
    assert "checkpoint-1 has no trainer_state.json: not saved until the rest is written" in run.err


def test_a_pause_in_the_middle_of_a_file_is_no_end(place):
    """Closed by its writer, and yet not whole: it goes on later."""
    run = start(place, """
        whole = archive("x" * 5000)
        write("model.pt", whole[:3000])
        pause()
        write("model.pt", whole)
        for_ever()
        """)
    run.wait_for_event("durable")
    assert len(place.snapshots()) == 1
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert zipfile.ZipFile(place.path / "back" / "model.pt").read("data") == b"x" * 5000
    assert "model.pt has no zip end record: not saved until the rest is written" in run.err


def test_what_has_no_commit_is_never_taken(place):
    """Still for longer than the quiet time, and then killed: nothing of it is in a snapshot, and none of it is resumed from. The others'
    layouts are rows of test_layout_rules.c and test_detector.c."""
    run = start(place, """
        write("global_step1/model.pt", archive("1")); write("latest", b"global_step1")
        pause(); say("saved")
        write("global_step2/model.pt", archive("2"))
        pause(); pause(); for_ever()
        """, "import deepspeed")
    run.wait_for_output("waits")
    run.wait_for_event("durable")
    run.kill()
    for snapshot in place.snapshots():
        assert files_of(place, snapshot["id"]) == ["global_step1/model.pt", "latest"], run
    assert seen(start(place, "names()", "import deepspeed")) == ["global_step1/model.pt", "latest"]


def test_a_set_that_was_given_up_does_not_hold_up_the_next(place):
    """The exception in the middle of a save was caught; the save after it is whole."""
    run = start(place, """
        write("checkpoint-1/model.bin", archive("1"))
        pause()
        write("checkpoint-2/model.bin", archive("2"))
        write("checkpoint-2/trainer_state.json")
        for_ever()
        """, "from transformers import Trainer")
    run.wait_for_event("durable")
    assert newest_files(place) == ["checkpoint-2/model.bin", "checkpoint-2/trainer_state.json"]
    wait_for("the line of what was given up", lambda: "checkpoint-1 has no trainer_state.json: not saved\n" in run.err, process=run.process)


def test_a_job_that_ends_leaves_what_is_whole(place):
    run = start(place, """
        write("good.pt", archive("1"))
        write("bad.pt", archive("2")[:-5])
        """)
    assert run.wait() == 0, run
    assert newest_files(place) == ["good.pt"]
    assert "bad.pt has no zip end record: not saved" in run.err


def test_the_sentinel_of_a_save_on_request(place):
    """Everything is there, but the framework still says that it is not."""
    run = start(place, """
        write("checkpoint-1/checkpoint-is-incomplete.txt", b"")
        write("checkpoint-1/model.bin", archive("1"))
        write("checkpoint-1/trainer_state.json")
        pause()
        os.unlink(os.path.join(ROOT, "checkpoint-1/checkpoint-is-incomplete.txt"))
        for_ever()
        """, "from transformers import Trainer")
    run.wait_for_event("durable")
    assert [files_of(place, snapshot["id"]) for snapshot in place.snapshots()] == \
        [["checkpoint-1/model.bin", "checkpoint-1/trainer_state.json"]]


def test_rewritten_in_place_without_a_new_marker(place):
    """The marker of the save before still lies there; it says nothing about this one."""
    run = start(place, """
        write("model/__0_0.distcp", b"1"); write("model/.metadata", b"m1")
        pause(); pause()
        write("model/__0_0.distcp", b"2")
        pause()
        write("model/.metadata", b"m2")
        for_ever()
        """, "import torch.distributed.checkpoint")
    run.wait_for_event("durable", 2)
    for number, snapshot in enumerate(reversed(place.snapshots()), 1):
        target = place.path / f"back{number}"
        assert place.verb("restore", snapshot["id"], target).code == 0
        assert (target / "model/__0_0.distcp").read_bytes() == b"%d" % number
        assert (target / "model/.metadata").read_bytes() == b"m%d" % number


def test_many_files(place):
    """More than are looked into on the spot."""
    run = start(place, """
        for number in range(300):
            write(f"step-1/part-{number:03d}.pt", archive(str(number)))
        pause()
        write("step-2/part-000.pt", archive("1")[:-1])
        for number in range(1, 300):
            write(f"step-2/part-{number:03d}.pt", archive(str(number)))
        pause()
        write("step-2/part-000.pt", archive("1"))
        for_ever()
        """)
    run.wait_for_event("durable", 2)
    assert [len(files_of(place, snapshot["id"])) for snapshot in place.snapshots()] == [600, 300]
    assert "step-2/part-000.pt has no zip end record" in run.err


# --- quarantine ---

@pytest.mark.parametrize("imports, files, kept, moved", [
    ("from transformers import Trainer",
     {"checkpoint-5/model.bin": archive(), "checkpoint-5/trainer_state.json": b"{}", "checkpoint-9/model.bin": archive(),
      "checkpoint-9/trainer_state.json": b"{}", "checkpoint-9/checkpoint-is-incomplete.txt": b""},
     ["checkpoint-5/model.bin", "checkpoint-5/trainer_state.json"],
     ["checkpoint-9/checkpoint-is-incomplete.txt", "checkpoint-9/model.bin", "checkpoint-9/trainer_state.json"]),
    ("pass", {"model-5.pt": archive(), "model-9.pt": archive()[:-1]}, ["model-5.pt"], ["model-9.pt"]),
    ("pass", {"step-5/a.pt": archive(), "step-9/a.pt": archive(), "step-9/b.pt": archive()[:-1]}, ["step-5/a.pt"],
     ["step-9/a.pt", "step-9/b.pt"]),
    ("pass", {"version_0/checkpoints/epoch=0.ckpt": archive(), "version_0/checkpoints/epoch=1.ckpt": archive()[:-1]},
     ["version_0/checkpoints/epoch=0.ckpt"], ["version_0/checkpoints/epoch=1.ckpt"]),
    ("import deepspeed", {"latest": b"global_step5", "global_step5/m.pt": archive(), "global_step9/m.pt": archive()},
     ["global_step5/m.pt", "latest"], ["global_step9/m.pt"]),
    ("import keras", {"latest.weights.h5": b"x"}, [], ["latest.weights.h5"]),
], ids=["hf", "file", "directory", "version", "deepspeed", "keras"])
def test_torn_sets_are_moved_aside_at_the_start(place, imports, files, kept, moved):
    lay(place.directory, **files)
    run = start(place, "names()", imports)
    assert seen(run) == kept
    assert quarantined(place) == moved
    assert "is not used, and was moved to" in run.err


def test_the_number_of_a_picture_is_no_step(place):
    """Beside a milestone: nothing that the job can go on from has it."""
    program = """
        names()
        if not os.path.exists(os.path.join(ROOT, "net_epoch_4.pth")):
            write("net_epoch_4.pth", archive("x"))
            write("web/images/epoch005_fake_B.png", b"png")
            pause()
            sys.exit(3)
        """
    assert start(place, program).wait() == 3
    run = start(place, program, name="again")
    assert len(seen(run)) == 2 and "whose newest step is 4" in run.err, run


@pytest.mark.parametrize("much", [True, False])
def test_what_was_moved_aside_is_never_removed_and_said_when_it_is_much(place, much):
    beside = place.path / "checkpoints.reprieve" / "quarantine"
    own = beside / "20260101T000000Z-abcdef" / "notes.txt"
    own.parent.mkdir(parents=True)
    own.touch()
    os.truncate(own, 100 << 20 if much else 1 << 20)
    lay(place.directory, **{"model-5.pt": archive(), "model-9.pt": archive()[:-1]})
    run = start(place, "names()")
    assert seen(run) == ["model-5.pt"]
    assert run.err.count(f"rm -r {beside}") == (1 if much else 0), run
    assert own.stat().st_size >= 1 << 20 and len(list(beside.iterdir())) == 2


def test_a_link_to_what_is_moved_goes_with_it(place):
    lay(place.directory, **{"epoch=0.ckpt": archive(), "epoch=1.ckpt": archive()[:-1]})
    (place.directory / "last.ckpt").symlink_to("epoch=1.ckpt")
    (place.directory / "best.ckpt").symlink_to("epoch=0.ckpt")
    assert seen(start(place, "names()", "import lightning")) == ["best.ckpt", "epoch=0.ckpt"]
    assert quarantined(place) == ["epoch=1.ckpt", "last.ckpt"]


def test_what_was_restored_is_looked_into_as_well(place):
    """A snapshot that was taken without looking."""
    run = start(place, 'write("model-1.pt", archive("1")); write("model-2.pt", archive("2")[:-1])', options=["--profile", "none"])
    assert run.wait() == 0 and newest_files(place) == ["model-1.pt", "model-2.pt"], run
    place.directory = place.path / "elsewhere" / "checkpoints"
    run = start(place, "names()", options=[])
    assert seen(run) == ["model-1.pt"]
    assert "model-2.pt has no zip end record" in run.err


def test_none_moves_nothing(place):
    lay(place.directory, **{"model-9.pt": archive()[:-1]})
    assert seen(start(place, "names()", options=["--profile", "none"])) == ["model-9.pt"]


# --- asking ---

def test_a_framework_that_would_end_without_saving_is_not_asked(place):
    notice = place.path / "notice"
    run = start(place, """
        import signal
        def handler(*_):
            say("asked"); sys.exit(143)
        signal.signal(signal.SIGTERM, handler)
        write("epoch=0.ckpt", archive("1"))
        for_ever()
        """, "import lightning", options=["--notice", f"file:{notice}", "--grace", "60"])
    run.wait_for_event("durable")
    run.wait_for_output("waits")
    assert "cannot be asked" in run.err
    run.signal(signal.SIGTERM)  # it is forwarded, as any entrypoint would
    assert run.wait() == 75, run


def test_like_slurm(place):
    """Lightning's way under Slurm: a save on SIGUSR1, then `scontrol requeue`, and no end."""
    run = start(place, """
        # default_root_dir=ROOT
        import signal, subprocess
        def handler(*_):
            write("hpc_ckpt_1.ckpt", archive("1"))
            say("scontrol", subprocess.call(["scontrol", "requeue", slurm("JOB_ID")]))
        signal.signal(10, handler)
        say("tasks", slurm("NTASKS"), slurm("PROCID"))
        for_ever()
        """, "import lightning", options=["--every", "0.5s"])
    assert "asked with SIGUSR1, as Slurm would" in wait_for("the profile", lambda: run.err, process=run.process)
    run.wait_for_event("durable")
    run.wait_for_output("scontrol 0")
    assert "tasks 1 0" in run.out and newest_files(place) == ["hpc_ckpt_1.ckpt"]


@pytest.mark.parametrize("program, environment", [
    ("# default_root_dir=ROOT, devices=2", {}),
    ("# default_root_dir=ROOT; fit(ckpt_path='last')", {}),
    ("# default_root_dir=ROOT", {"SLURM_JOB_ID": "7"}),
    ("# default_root_dir=ROOT", {"LOCAL_RANK": "0"}),
    ("# its checkpoints lie elsewhere", {}),
])
def test_like_slurm_only_where_it_is_sound(place, program, environment):
    run = start(place, program + "\nsay(slurm('NTASKS'))", "import lightning", **environment)
    assert run.wait() == 0 and run.out.split() == ["None"], run
    assert "as Slurm would" not in run.err


def test_what_ends_the_job_is_not_sent_at_an_interval(place):
    run = start(place, """
        import signal
        def handler(*_):
            say("asked")
        signal.signal(signal.SIGUSR2, handler)
        for step in range(1, 5):
            write(f"state-{step}.bin", b"x")
            pause()
        """, options=["--profile", "submitit", "--every", "0.3s"])
    assert run.wait() == 0, run
    assert "asked" not in run.out.split()


def test_a_program_that_sigterm_only_disturbs_is_killed_after_its_save(place):
    """As MrBayes, which asks its user whether it is to stop, and waits for the answer."""
    (place.path / "mb").write_text(f"""#!{PYTHON}
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, lambda *_: print("really? (y/n)", flush=True))
there = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
there.mkdir(exist_ok=True)
for save in range(10000):
    (there / "run.ckp").write_text(str(save) * 1000)
    time.sleep(2)
""")
    (place.path / "mb").chmod(0o755)
    run = place.run(place.path / "mb", options=QUIET)
    run.wait_for_event("durable")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    assert not run.events("asked") and run.event("child_exited")["signal"] == "SIGKILL", run
    assert "really" not in run.out, run


def test_a_state_that_is_never_closed_is_saved_as_it_stands(place):
    """As john's session, which is written over in place through a descriptor that stays open."""
    (place.path / "john").write_text(f"""#!{PYTHON}
import os, pathlib, time
there = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
there.mkdir(exist_ok=True)
session = os.open(there / "run.rec", os.O_RDWR | os.O_CREAT, 0o600)
step = int(os.read(session, 100) or 0)
print("resumed", step, flush=True)
for step in range(step + 1, step + 10000):
    time.sleep(0.2)
    os.pwrite(session, b"%06d" % step, 0)
""")
    (place.path / "john").chmod(0o755)
    run = place.run(place.path / "john", options=QUIET)
    run.wait_for_event("durable")
    run.kill()
    left = int((place.directory / "run.rec").read_text())
    assert left > 0
    again = place.run(place.path / "john", options=QUIET)
    again.wait_for_output(f"resumed {left}\n")
    again.kill()
    there = place.run(place.path / "john", options=QUIET, directory=place.path / "empty")
    there.wait_for_output("resumed ")
    assert int(there.out.split()[1]) > 0, there
