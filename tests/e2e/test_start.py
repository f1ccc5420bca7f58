"""The start and the end of a run: what it has to itself from when on, where the job saves, what a command that detaches leaves behind,
and what a job writes last."""
import json
import shutil
import signal
import subprocess
import textwrap
import time

import pytest

from harness import EXIT_CONFIGURATION, EXIT_DURABLE, EXIT_NOT_DURABLE, EXIT_OURS, EXIT_USAGE, LIMIT, PYTHON, REPRIEVE, Run, is_alive, wait_for

# Saves files named by its arguments, each when the file "go-N" appears, and ends with the code that the last one has.
SAVER = """
import os, sys, time
def await_file(name):
    while not os.path.exists(name):
        time.sleep(0.01)
os.write(1, b"ready\\n")
for number, path in enumerate(sys.argv[1:]):
    await_file(f"go-{number}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "wb") as file:
        file.write(b"x" * 1000)
    os.replace(path + ".tmp", path)
    os.write(1, b"saved %d\\n" % number)
await_file("end")
sys.exit(int(open("end").read() or 0))
"""


class Plain(Run):
    """`reprieve run -- COMMAND` with no options, or with these."""

    def __init__(self, place, name, *command, options=(), **environment):
        self.err_path, self.out_path = place.path / f"{name}.err", place.path / f"{name}.out"
        self.events_path = place.path / f"{name}.events"
        self.ledger, self.read_up_to = [], 0
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([REPRIEVE, "run", *options, "--", *map(str, command)], cwd=place.path, stdout=out, stderr=err,
                                            stdin=subprocess.DEVNULL, start_new_session=True,
                                            env={**place.environment, "REPRIEVE_EVENTS": str(self.events_path), **environment})

    def wait_for(self, text):
        return wait_for(f"{text!r} on standard error", lambda: text in self.err, process=self.process, about=self)


@pytest.fixture
def plain(place):
    """Starts one; all of them are killed at the end of the test."""
    def start(*command, **more):
        place.runs.append(Plain(place, f"plain{len(place.runs) + 1}", *command, **more))
        return place.runs[-1]

    return start


def script(place, imports=""):
    """A training script that is recognised by its imports: torch is a module of this test's own."""
    (place.path / "torch.py").write_text("")
    path = place.path / "train.py"
    path.write_text(imports + SAVER)
    return path


def go(place, *names):
    for name in names:
        (place.path / name).touch()


def end_with(place, code):
    (place.path / "end.new").write_text(str(code))
    (place.path / "end.new").rename(place.path / "end")


def made_in(place):
    return {path.name for path in place.path.iterdir()}


# --- what a run has to itself ------------------------------------------------------------------------------------------------

def test_a_second_start_of_the_line_is_refused_before_anything_is_saved(place, plain):
    command = [PYTHON, script(place, "import torch\n"), "checkpoints/a.bin"]
    first = plain(*command)
    first.wait_for(f"checkpoints are expected in {place.directory}")
    second = plain(*command)
    assert second.wait() == EXIT_OURS and "another run here uses it" in second.err, second
    go(place, "go-0", "end")
    assert first.wait() == 0 and "durable: 000001-000001" in first.err, first


def test_of_two_unknown_commands_the_later_writer_is_told_at_once(place, plain):
    train = script(place)
    first = plain(PYTHON, train, "checkpoints/a.bin")
    second = plain(PYTHON, train, "checkpoints/b.bin", "checkpoints/c.bin")
    first.wait_for_output("ready")
    second.wait_for_output("ready")
    go(place, "go-0")
    first.wait_for_output("saved 0")
    second.wait_for_output("saved 0")
    told = wait_for("one of the two is told", lambda: next((run for run in (first, second) if "nothing of this run is saved" in run.err), None))
    assert "--checkpoint-dir" in told.err and "error:" in told.err, told
    third = plain(PYTHON, train, "checkpoints/a.bin")
    assert third.wait() == EXIT_OURS, third
    go(place, "go-1", "end")
    assert first.wait() == 0 and second.wait() == 0
    assert sum("nothing of this run is saved" in run.err for run in (first, second)) == 1
    assert sum("durable: 0" in run.err for run in (first, second)) >= 1


def test_a_run_inside_a_run_has_the_directory(place, plain):
    train = script(place, "import torch\n")
    run = plain("bash", "-c", f"{REPRIEVE} run -- {PYTHON} {train} checkpoints/a.bin; exit $?")
    run.wait_for("attempt 1")
    go(place, "go-0", "end")
    assert run.wait() == 0 and "not started" not in run.err and "nothing of this run" not in run.err, run


def test_a_command_that_the_restore_does_not_bring_fails(place):
    """What lies in the checkpoint directory may come with the restore, so it is tried after that."""
    run = place.run(place.directory / "train.sh")
    assert run.wait() == 127 and run.event("claimed") and run.event("launched") is None, run


def test_a_command_that_saves_nothing_leaves_nothing(place, plain):
    before = made_in(place)
    run = plain("ls")
    assert run.wait() == 0 and run.err == "", run
    assert made_in(place) - before == {"plain1.out", "plain1.err", "plain1.events"}


def test_nor_does_one_that_is_recognised(place, plain):
    run = plain(PYTHON, script(place, "import torch\n"))
    go(place, "end")
    assert run.wait() == 0 and "attempt 1" in run.err, run
    assert not {"checkpoints", "checkpoints.reprieve"} & made_in(place)


def test_unrelated_commands_run_side_by_side(place, plain):
    place.directory.mkdir()
    runs = [plain("sh", "-c", "echo here; while ! test -e end; do sleep 0.01; done") for _ in range(2)]
    for run in runs:
        run.wait_for_output("here")
    go(place, "end")
    assert [run.wait() for run in runs] == [0, 0] and [run.err for run in runs] == ["", ""]


@pytest.mark.parametrize("environment", [{"XDG_STATE_HOME": "/proc/none", "HOME": "/proc/none"}, {"XDG_STATE_HOME": "", "HOME": ""}])
def test_where_no_store_can_be_made_the_job_runs(place, plain, environment):
    run = plain(PYTHON, script(place, "import torch\n"), "checkpoints/a.bin", **environment)
    go(place, "go-0")
    run.wait_for_output("saved 0")
    end_with(place, 7)
    assert run.wait() == 7 and "not be saved" in run.err, run


# --- where it saves ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("with_store", [False, True])
def test_saves_elsewhere(place, plain, with_store):
    options = ["--store", place.store, "--job", place.job] if with_store else []
    run = plain(PYTHON, script(place), "output/ckpt/a.pt", "output/ckpt/b.pt", options=options)
    go(place, "go-0")
    run.wait_for(f"the job saves a.pt in {place.path}/output/ckpt, and nothing in {place.directory}")
    assert f"--checkpoint-dir {place.path}/output/ckpt" in run.err
    go(place, "go-1", "end")
    assert run.wait() == 0 and run.err.count("the job saves") == 1, run
    last = run.err.splitlines()[-1]
    assert last == (f"reprieve: warning: nothing of this run is durable: the job has saved in {place.path}/output/ckpt, and nothing in "
                    f"{place.directory}, which is watched (--checkpoint-dir {place.path}/output/ckpt)"), run


def test_what_has_finished_elsewhere_is_started_again(place, plain):
    """Its checkpoints are in no snapshot: the corrected command is no other one, and has to be able to start."""
    options = ["--store", place.store, "--job", place.job]
    command = (PYTHON, script(place), "output/step-1.pt", "output/step-2.pt")
    go(place, "go-0", "go-1", "end")
    assert plain(*command, options=options).wait() == 0 and not place.snapshots()
    again = plain(*command, options=[*options, "--checkpoint-dir", "output"])
    assert again.wait() == 0 and place.snapshots(), again


@pytest.mark.parametrize("store", ["store", "output/store", "output"])
@pytest.mark.parametrize("saves_in", ["output", "."])
def test_saves_where_the_store_is(place, plain, store, saves_in):
    """What is advised is done, by its own words, and works: the next start is not refused for the other half of the advice."""
    source = script(place)
    store, saved = place.path / store, place.path / saves_in
    run = plain(PYTHON, source, saved / "step-1.pt", options=["--store", f"file://{store}", "--job", place.job, "--quiet-time", "200ms"])
    go(place, "go-0")
    run.wait_for(f"the job saves step-1.pt in {saved.resolve()}, and nothing in {place.directory}")
    go(place, "end")
    assert run.wait() == 0, run
    advice = next(line for line in run.err.splitlines() if "the job saves" in line)
    holds_store = saved in (store, *store.parents)
    moves_store, moves_job = "keep the store outside of it, and name that with --store" in advice, "mkdir run && cd run" in advice
    assert (moves_store or moves_job) == (holds_store or saves_in == "."), run
    if moves_store:
        store = place.path / "kept" / "elsewhere"
    if moves_job:
        saved = place.path / "run"
        saved.mkdir()
    result = subprocess.run([REPRIEVE, "run", "--store", f"file://{store}", "--job", place.job, "--quiet-time", "200ms",
                             "--checkpoint-dir", "." if moves_job else saved, "--", PYTHON, "-c",
                             f"open('{saved}/step-2.pt', 'w').write('x' * 100)"],
                            cwd=saved if moves_job else place.path, env=place.environment, capture_output=True, text=True, timeout=LIMIT)
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 0 and "the job ended with 0; durable: 0000" in last and last.endswith(f", in file://{store}"), result


def test_a_later_attempt_says_only_what_is_new(place, plain):
    """The name is the same for all attempts, and the place of the store."""
    once = ("named after its directory and command", f"file://{place.store_path}: directory", "is new: nothing was there")
    errors = []
    for attempt in (1, 2):
        run = plain(PYTHON, script(place), "checkpoints/a.bin", options=["--store", place.store])
        go(place, "go-0", "end")
        assert run.wait() == 0, run
        errors.append(run.err)
    assert [[word in err for word in once] for err in errors] == [[True] * 3, [False] * 3], errors
    assert "attempt 2: " in errors[1] and errors[1].count("durable: ") >= 1


@pytest.mark.parametrize("name", ["checkpoint.pth.tar", "rl_model_100_steps.zip", "net.t7", "model.tar.gz"])
def test_saves_beside_the_script_by_an_old_name(place, plain, name):
    """What is advised is no start that is refused (78), and it works: in a directory of its own the same job has all that it saves."""
    source = script(place)
    options = ["--store", f"file://{place.path}.store", "--job", place.job, "--quiet-time", "200ms"]
    run = plain(PYTHON, source, place.path / name, options=options)
    go(place, "go-0")
    run.wait_for(f"the job saves {name} in {place.path}, and nothing in {place.directory}")
    advised = "`--checkpoint-dir .` and the script as ../NAME"
    go(place, "end")
    assert run.wait() == 0 and f"holds the program {source.resolve()}" in run.err and advised in run.err, run
    refused = place.query("run", *options, "--checkpoint-dir", place.path, "--", PYTHON, source, name)
    assert refused.code == EXIT_CONFIGURATION and advised in refused.err, refused
    (place.path / "run").mkdir()
    result = subprocess.run([REPRIEVE, "run", *options, "--checkpoint-dir", ".", "--", PYTHON, "-c", f"open({name!r}, 'w').write('x' * 100)"],
                            cwd=place.path / "run", env=place.environment, capture_output=True, text=True, timeout=LIMIT)
    assert result.returncode == 0 and "durable: 000002-" in result.stderr, result


def test_saves_elsewhere_and_is_stopped(place, plain):
    run = plain(PYTHON, script(place), "output/step-10/weights")
    go(place, "go-0")
    run.wait_for("the job saves")
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 128 + signal.SIGTERM and f"the job has saved in {place.path}/output, and" in run.err, run


@pytest.mark.parametrize("chosen", [False, True])
def test_saves_elsewhere_after_a_restore_and_is_stopped(place, plain, chosen):
    """What was restored says where an earlier start has saved, and not this one: what it does is not durable. A first save here is not
    waited for, but where the user has named the directory."""
    options = ["--store", place.store, "--job", place.job, "--quiet-time", "200ms", *(["--checkpoint-dir", "checkpoints"] if chosen else [])]
    first = plain(PYTHON, script(place), "checkpoints/step-10.pt", options=options)
    go(place, "go-0")
    first.wait_for("durable: 0")
    first.process.send_signal(signal.SIGTERM)
    assert first.wait() == EXIT_DURABLE, first
    (place.path / "go-0").unlink()
    shutil.rmtree(place.directory)
    again = plain(PYTHON, script(place), "output/step-20.pt", options=[*options, "--grace", "4" if chosen else "1000"])
    again.wait_for("restored 000001-")
    go(place, "go-0")
    again.wait_for(f"the job saves step-20.pt in {place.path}/output, and nothing in {place.directory}, which is watched")
    time.sleep(1.2)  # as long as a job has to have run for its first save to be waited for
    again.process.send_signal(signal.SIGTERM)
    assert again.wait() == EXIT_NOT_DURABLE and again.err.count(f"the job has saved in {place.path}/output, and nothing") == 1, again
    assert ("the job has not saved yet, and may do so in time" in again.err) == chosen, again


def test_what_else_is_written_is_the_jobs_business(place, plain):
    run = plain(PYTHON, script(place), "checkpoints/a.bin", "export/model.pt", "notes/a.txt", ".cache/b.pt")
    go(place, "go-0")
    run.wait_for("durable: 0")
    go(place, "go-1", "go-2", "go-3", "end")
    assert run.wait() == 0 and "which is watched" not in run.err, run


def test_a_job_that_was_to_save_and_did_not(place):
    run = place.run("true")
    assert run.wait() == 0 and f"nothing was saved in {place.directory} within" in run.err and "--checkpoint-dir" in run.err, run


# --- commands that detach ----------------------------------------------------------------------------------------------------

TRAINER = """
import os, signal, sys, time
step = 0
def save(*_):
    os.makedirs("checkpoints", exist_ok=True)
    with open("checkpoints/next.tmp", "w") as file:
        file.write(str(step))
    os.replace("checkpoints/next.tmp", f"checkpoints/step-{step}.bin")
def save_and_end(*_):
    save()
    sys.exit(0)
signal.signal(signal.SIGTERM, save_and_end)
open("pid", "w").write(str(os.getpid()))
while not os.path.exists("end"):
    time.sleep(0.01)
    step += 1
save()
sys.exit(int(open("end").read() or 0))
"""

DETACHING = {
    "nohup": lambda train: ["bash", "-c", f"nohup {PYTHON} {train} > out.txt 2>&1 &"],
    "background": lambda train: ["sh", "-c", f"{PYTHON} {train} & exit 0"],
    "setsid": lambda train: ["setsid", PYTHON, train],
    "twice": lambda train: ["sh", "-c", f"sh -c 'setsid {PYTHON} {train} &' & exit 0"],
}


def trainer(place):
    path = place.path / "train.py"
    path.write_text(TRAINER)
    return path


@pytest.mark.parametrize("idiom", DETACHING)
def test_what_a_command_leaves_running_is_the_job(place, idiom):
    command = DETACHING[idiom](trainer(place))
    run = place.run(*command)
    run.wait_for_event("detached")
    wait_for("the training runs", lambda: (place.path / "pid").exists(), process=run.process)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE and "asked process" in run.err, run
    assert not is_alive(int((place.path / "pid").read_text()))
    again = place.run(*command)
    again.wait_for_event("detached")
    go(place, "end")
    assert again.wait() == 0 and place.newest(), again


def test_its_exit_code_is_that_of_the_run(place):
    run = place.run(*DETACHING["nohup"](trainer(place)))
    run.wait_for_event("detached")
    end_with(place, 7)
    assert run.wait() == 7, run


def test_two_of_them(place):
    train = script(place)
    run = place.run("bash", "-c", f"{PYTHON} {train} checkpoints/a.bin & {PYTHON} {train} other/b.txt & exit 0")
    run.wait_for_event("detached")
    go(place, "go-0")
    wait_for("both", lambda: run.out.count("saved 0") == 2, process=run.process)
    go(place, "end")
    assert run.wait() == 0, run
    assert len(run.events("child_exited")) == 1


@pytest.mark.parametrize("left", ["sleep 1000 &", "exec -a ssh-agent sleep 1000 &"])
def test_helpers_that_outlive_the_job_are_nobodys(place, left):
    run = place.run("bash", "-c", f"{left} exit 0")
    assert run.wait() == 0 and not run.events("detached"), run


def test_under_any_other_command_it_is_an_init(place, plain):
    script = trainer(place)
    try:
        run = plain("sh", "-c", f"{PYTHON} {script} & exit 3")
        assert run.wait() == 3 and run.err == "", run
        run = plain("sh", "-c", f"{PYTHON} {script} & exit 0")
        assert run.wait() == 0 and "it is not supervised" in run.err, run
    finally:
        subprocess.run(["pkill", "-KILL", "-f", str(script)])  # nobody waits for them


@pytest.mark.parametrize("command", [["tmux", "new-session", "-d", "python train.py"], ["bash", "-c", "screen -dmS a python train.py"]])
def test_a_session_elsewhere_is_refused(plain, command):
    run = plain(*command)
    assert run.wait() == EXIT_USAGE and "run reprieve inside" in run.err, run


# --- what it writes last -----------------------------------------------------------------------------------------------------

LAST = {
    "result": ["result.json"],
    "model-and-result": ["model_final.pt", "result.json"],
    "in-a-directory": ["final/model.bin", "final/config.json", "metrics.csv"],
    "many": [f"part-{number}.bin" for number in range(20)] + ["index.json"],
}


@pytest.mark.parametrize("names", LAST)
@pytest.mark.parametrize("saved_before", [False, True])
def test_what_a_finished_job_wrote_last_is_durable(place, names, saved_before):
    """It exits as soon as the last file is closed."""
    program = textwrap.dedent("""
        import os, time, zipfile
        def save(name):
            path = os.path.join(os.environ["REPRIEVE_CHECKPOINT_DIR"], name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if name.endswith(".pt"):
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr("data.pkl", name)
            else:
                with open(path, "w") as file:
                    file.write(name)
        if %r:
            save("step-1.bin")
            while not os.path.exists("end"):
                time.sleep(0.01)
        for name in %r:
            save(name)
    """ % (saved_before, LAST[names]))
    run = place.run(PYTHON, "-c", program)
    if saved_before:
        run.wait_for_event("durable")
        go(place, "end")
    assert run.wait() == 0 and "NOT durable" not in run.err and "in no snapshot" not in run.err, run
    listing = place.verb("show", place.newest()["id"], "--json")
    assert listing.code == 0, listing
    for name in LAST[names]:
        assert json.dumps(name)[1:-1] in listing.out, listing


# --- neighbours under Slurm --------------------------------------------------------------------------------------------------

TASK = {"SLURM_JOB_ID": "21", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_NUM_NODES": "1", "SLURM_NODEID": "0"}
ELEMENT = {"SLURM_JOB_ID": "22", "SLURM_ARRAY_JOB_ID": "21"}


@pytest.mark.parametrize("first, second, way_out", [
    ({**TASK, "SLURM_PROCID": "0"}, {**TASK, "SLURM_PROCID": "1"}, "another task of this step"),
    ({**ELEMENT, "SLURM_ARRAY_TASK_ID": "1"}, {**ELEMENT, "SLURM_ARRAY_TASK_ID": "2"}, "another element of this array"),
    ({"SLURM_JOB_ID": "20"}, {"SLURM_JOB_ID": "21"}, "end that process"),
])
def test_who_else_is_in_the_directory(place, plain, first, second, way_out):
    options = ("--checkpoint-dir", place.directory)
    holder = plain(PYTHON, script(place), "checkpoints/a.bin", options=options, **first)
    holder.wait_for_output("ready")
    refused = plain("true", options=options, **second)
    assert refused.wait() == EXIT_OURS and way_out in refused.err, refused
    go(place, "go-0", "end")
    assert holder.wait() == 0, holder


def test_an_element_that_comes_after_another_one_is_warned(place, plain):
    options = ("--checkpoint-dir", place.directory)
    for element, warned in (("1", False), ("1", False), ("2", True)):
        run = plain("mkdir", "-p", place.directory, options=options, **ELEMENT, SLURM_ARRAY_TASK_ID=element)
        assert run.wait() == 0 and ("slurm-21_1, whose checkpoints may be in it: that is another element of this array" in run.err) == warned, run
