"""Training scripts as people write them (idioms/), preempted in the middle and resumed on another machine, whose directory is empty.

Each is judged by what it prints: what was saved before the notice is what it resumes from, or something newer; a state that is torn or
mixed ends it with an error; the weight at its end is that of a training which nobody has interrupted. The files that a script writes all
the time (tables, logs) have no gap before the step it resumes from, and go on behind it.

The scripts marked OWN write in ways that no report of a fault has named.
"""
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, wait_for

HERE = Path(__file__).resolve().parent / "idioms"
sys.path.insert(0, str(HERE))
import toy  # noqa: E402 (it lies there)

PATIENCE = int(os.environ.get("REPRIEVE_PATIENCE", "60"))  # only ends what hangs
MORE = 25  # steps that are trained after the resume


def first_field(line):
    return int(re.split(r"[,\t]", line)[0])


def jsonl_step(line):
    return json.loads(line)["step"]


def word_after_step(line):
    return int(re.search(r"step (\d+) ", line).group(1))


class Idiom:
    """`saves`: so many, and a durable checkpoint, before the notice. `amid`: the notice comes when a checkpoint is half written, which is
    waited for. `seconds`: the notice is a file with this time; None: SIGTERM. `running`: the files that get a line in each step, how a
    line is read, and how many steps they may be behind at the end. `says`: what the resumed job prints. `saves_often`: many more
    checkpoints than snapshots. `behind`: the pointer that named the newest whole one may be lost, so that the job resumes up to so many
    steps before it. `cut_beside`: the notice may cut a write over a fixed name that has no other copy; then it is said that this one is
    not durable, and the numbered checkpoints beside it are."""

    def __init__(self, script, *arguments, saves=3, amid=False, seconds=None, running=None, says=(), saves_often=False, own=False,
                 behind=0, cut_beside=False, directory="checkpoints", name=None):
        self.script, self.arguments, self.saves, self.amid, self.seconds = script, arguments, saves, amid, seconds
        self.running, self.says, self.saves_often, self.own, self.directory = running, says, saves_often, own, directory
        self.behind, self.cut_beside = behind, cut_beside
        self.name = name or "-".join([Path(script).stem, *arguments])

    def command(self, directory):
        shell = ["bash"] if self.script.endswith(".sh") else [PYTHON, "-B"]
        return [*shell, HERE / self.script, directory, *self.arguments]


IDIOMS = [
    Idiom("ckpt_rename_jsonl.py", running=("metrics.jsonl", jsonl_step)),
    Idiom("ckpt_rename_jsonl.py", running=("metrics.jsonl", jsonl_step), seconds=10, name="ckpt_rename_jsonl-file-notice"),
    Idiom("ckpt_rename_jsonl.py", running=("metrics.jsonl", jsonl_step), directory="my dir ünïcode ☃ 'q' $x",
          name="ckpt_rename_jsonl-odd-name"),
    Idiom("ckpt_csv_reopened.py", running=("metrics.csv", first_field, 5)),
    Idiom("sqlite_study.py", "delete", saves=30),
    Idiom("sqlite_study.py", "wal", saves=30),
    Idiom("journal_storage.py", saves=30),
    Idiom("two_files_late.py", amid=True),
    Idiom("two_files_late.py", amid=True, seconds=1, name="two_files_late-no-time"),
    Idiom("sibling_directories.py", amid=True),
    Idiom("sibling_directories.py", amid=True, seconds=1, name="sibling_directories-no-time"),
    Idiom("beside_pretrained.py", saves=1, seconds=6),
    Idiom("beside_pretrained.py", amid=True, name="beside_pretrained-amid"),
    Idiom("state_beside_model.py", amid=True),
    Idiom("state_beside_model.py", amid=True, seconds=1, name="state_beside_model-no-time"),
    Idiom("in_place_always.py"),
    Idiom("numbered_directories_often.py", saves=100, saves_often=True),
    Idiom("numbered_files_often.py", saves=100, saves_often=True),
    Idiom("catboost_train_dir.py", running=("learn_error.tsv", first_field)),
    Idiom("wandb_offline.py", running=("wandb/offline-run-*/files/output.log", word_after_step)),
    Idiom("mlflow_file_store.py", running=("mlruns/0/*/metrics/loss", lambda line: int(line.split()[2]))),
    Idiom("hydra_outputs.py", running=("*/*/train.log", word_after_step)),
    Idiom("gensim_word2vec.py"),
    Idiom("joblib_in_place.py"),
    Idiom("last_and_best.py", running=("results.csv", first_field)),
    Idiom("timm_links.py"),
    Idiom("timm_recovery.py", saves=13),
    Idiom("rotation.py"),
    Idiom("hf_trainer.py"),
    Idiom("dcp_async.py"),
    Idiom("renamed_from_outside.py"),
    Idiom("orbax_directory.py"),
    Idiom("saves_at_sigterm.py", saves=2, running=("metrics.csv", first_field)),
    Idiom("keras_backup.py", running=("training.csv", first_field), own=True),
    Idiom("latest_pointer.py", own=True),
    Idiom("symlink_latest.py", own=True),
    Idiom("history_json.py", own=True),
    Idiom("async_saver.py", saves=2, cut_beside=True, own=True),
    Idiom("sharded.py", amid=True, own=True),
    Idiom("two_ranks.py", amid=True, own=True),
    Idiom("replay_buffer.py", own=True),
    Idiom("tf_checkpoint_pointer.py", own=True),
    Idiom("export_and_cache.py", says=("cached", "exported"), own=True),
    Idiom("zarr_tree.py", own=True),
    Idiom("state_directories.py", own=True),
    Idiom("early_pointer.py", amid=True, own=True),
    Idiom("early_pointer.py", amid=True, seconds=1, own=True, behind=10, name="early_pointer-no-time"),
    Idiom("replay_chunks.py", saves=4, seconds=5),
    Idiom("replay_stream.py", saves=5),
    Idiom("kaldi_parts.py"),
    Idiom("copy_and_move.sh", running=("loss.csv", first_field), own=True),
]


def numbers(run, word):
    """What it has printed so far: "saved 10" and the like. A line that is being written is left out."""
    return [int(number) for number in re.findall(rf"^{word} (\d+)\n", run.out, re.M)]


def last(run, word):
    return max(numbers(run, word), default=0)


def train(place, idiom, directory, options=(), **environment):
    return place.run(*idiom.command(directory), directory=directory, options=options, **environment)


def train_until_preempted(place, idiom):
    """The run that has ended, and the step that must not be lost."""
    notice = place.path / "notice"
    run = train(place, idiom, place.path / idiom.directory, ["--notice", f"file:{notice}"] if idiom.seconds else ())
    wait_for(f"{idiom.saves} saves", lambda: len(numbers(run, "saved")) >= idiom.saves, PATIENCE, run.process, about=run)
    run.wait_for_event("durable", limit=PATIENCE)
    if idiom.amid:
        whole = last(run, "saved")
        wait_for("half a checkpoint", lambda: last(run, "half") > whole, PATIENCE, run.process, about=run)
    wanted = last(run, "half" if idiom.amid and not idiom.seconds else "saved")
    if idiom.seconds:
        notice.with_suffix(".part").write_text(json.dumps({"in_seconds": idiom.seconds}))
        os.rename(notice.with_suffix(".part"), notice)
    else:
        run.signal(signal.SIGTERM)
    # Without time for what is half written, it may be said that this is lost; what was whole is durable either way.
    cut = idiom.amid and idiom.seconds or idiom.cut_beside
    code = run.wait()
    assert code in ([EXIT_DURABLE, EXIT_NOT_DURABLE] if cut else [EXIT_DURABLE]), str(run)
    if idiom.cut_beside and code == EXIT_NOT_DURABLE:
        assert "what it wrote last under fixed names" in run.err or "its last save was cut off" in run.err, str(run)
    notice.unlink(missing_ok=True)
    return run, wanted


def check_running_files(idiom, directory, end, run):
    pattern, step_of_line, *behind = idiom.running
    steps = set()
    for path in directory.glob(pattern):
        steps |= {step_of_line(line) for line in path.read_text().splitlines() if re.search(r"\d", line)}
    missing = sorted(set(range(1, end + 1 - sum(behind))) - steps)
    assert not missing, f"{pattern} has no line of steps {missing[:10]}\n{run}"


@pytest.mark.long
@pytest.mark.parametrize("idiom", [pytest.param(idiom, id=("OWN-" if idiom.own else "") + idiom.name) for idiom in IDIOMS])
def test_resumes_on_another_machine(place, idiom):
    first, wanted = train_until_preempted(place, idiom)
    directory = place.path / "other" / idiom.directory
    second = train(place, idiom, directory, TOY_MORE=str(MORE))
    assert second.wait() == 0, second
    resumed, said = last(second, "resumed"), f"{first}\n{second}"
    assert wanted - idiom.behind <= resumed <= last(first, "step"), f"resumed from {resumed}, and {wanted} was saved\n{said}"
    assert f"final {resumed + MORE} {toy.weight_after(resumed + MORE)}\n" in second.out, said
    if idiom.running:
        check_running_files(idiom, directory, resumed + MORE, said)
    for word in idiom.says:
        assert f"{word}\n" in second.out, said
    if idiom.saves_often:
        assert len(first.events("durable")) < len(numbers(first, "saved")) / 10, said
        assert len(first.err.splitlines()) < len(numbers(first, "saved")) / 3, said


@pytest.mark.long
def test_a_job_that_saves_when_asked_loses_nothing(place):
    idiom = Idiom("saves_at_sigterm.py", saves=1)
    first, _ = train_until_preempted(place, idiom)
    second = train(place, idiom, place.path / "other", TOY_MORE="1")
    assert second.wait() == 0, second
    assert last(second, "resumed") == last(first, "step"), f"{first}\n{second}"


@pytest.mark.long
def test_a_date_in_a_path_is_no_step(place):
    idiom = Idiom("hydra_outputs.py")
    first, _ = train_until_preempted(place, idiom)
    step = place.newest()["step"]
    second = train(place, idiom, place.path / "other", TOY_MORE="1")
    assert second.wait() == 0, second
    assert step == last(second, "resumed") == last(second, "told"), f"{first}\n{second}"


@pytest.mark.long
def test_what_a_job_writes_last_is_saved(place):
    """The final model is written at the very end, and the job exits with 0."""
    idiom = Idiom("final_model.py", own=True)
    run = train(place, idiom, place.directory, TOY_MORE="37")
    assert run.wait() == 0, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert json.loads((place.path / "back" / "results.json").read_text()) == {"step": 37, "weight": toy.weight_after(37)}
    model = toy.Model()
    model.load_state_dict(toy.load(place.path / "back" / "final_model.bin"))
    assert model.step == 37


@pytest.mark.long
def test_the_next_start_in_the_same_directory_loses_nothing(place):
    """The machine is back at once, with its disk: whole checkpoints stay where they are, whoever vouches for them."""
    idiom = Idiom("ckpt_rename_jsonl.py")
    run = train(place, idiom, place.directory)
    wait_for("saves", lambda: len(numbers(run, "saved")) >= 3, PATIENCE, run.process, about=run)
    wanted = last(run, "saved")
    run.kill()
    again = train(place, idiom, place.directory, TOY_MORE=str(MORE))
    assert again.wait() == 0, again
    assert last(again, "resumed") >= wanted, f"{run}\n{again}"
    check_running_files(Idiom("", running=("metrics.jsonl", jsonl_step)), place.directory, last(again, "final"), again)


@pytest.mark.long
@pytest.mark.parametrize("saves", [1, 2, 3])
def test_a_directory_that_was_renamed_into_place_is_whole_at_once(place, saves):
    """Its names are others each time. Neither a quiet time nor the next save comes before all are killed."""
    idiom = Idiom("orbax_directory.py")
    run = train(place, idiom, place.directory, ["--quiet-time", "60s", "--verbose"])
    wait_for("saves", lambda: len(numbers(run, "saved")) >= saves, PATIENCE, run.process, about=run)
    wanted = last(run, "saved")
    wait_for("durable", lambda: any(event["step"] >= wanted for event in run.events("durable")), PATIENCE, run.process, about=run)
    run.kill()
    assert set(re.findall(r"\d+/: complete \((\w+)\)", run.err)) == {"commit"}, run
    again = train(place, idiom, place.directory, TOY_MORE="1")
    assert again.wait() == 0, again
    assert last(again, "resumed") >= wanted and "torn" not in again.err, f"{run}\n{again}"


@pytest.mark.long
def test_a_log_that_is_open_for_appending_holds_no_pointer_up(place):
    """The machine is lost after the first checkpoint: without the pointer, the next one would train from the start."""
    idiom = Idiom("detectron2.py", running=("metrics.json", jsonl_step), own=True)
    run = train(place, idiom, place.directory)
    run.wait_for_event("durable", limit=PATIENCE / 3)
    wanted = place.newest()["step"]
    run.kill()
    again = train(place, idiom, place.path / "other", TOY_MORE=str(MORE))
    assert again.wait() == 0, again
    assert last(again, "resumed") >= wanted > 0, f"{run}\n{again}"
    check_running_files(idiom, place.path / "other", last(again, "final"), again)


@pytest.mark.long
def test_what_is_excluded_holds_nothing_up_and_is_not_saved(place):
    idiom = Idiom("wandb_offline.py")
    options = ["--exclude", "wandb"]
    run = train(place, idiom, place.directory, options)
    wait_for("saves", lambda: len(numbers(run, "saved")) >= 3, PATIENCE, run.process, about=run)
    run.wait_for_event("durable", limit=PATIENCE)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    assert sum("wandb" in line for line in run.err.splitlines()) == 1, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert not (place.path / "back" / "wandb").exists() and list((place.path / "back").glob("model-*.pkl"))
    again = train(place, idiom, place.directory, options, TOY_MORE="1")
    assert again.wait() == 0, again
    assert len(list((place.directory / "wandb").glob("offline-run-*"))) == 2


@pytest.mark.long
@pytest.mark.parametrize("everything", [False, True], ids=["the job", "all"])
def test_what_is_added_to_a_complete_checkpoint_is_torn_alone(place, everything):
    """The end comes while the results of an evaluation are written into it: only these are moved aside."""
    idiom = Idiom("evaluates_later.py")
    run = train(place, idiom, place.directory)
    wait_for("an evaluation", lambda: last(run, "half") >= 200, PATIENCE, run.process, about=run)
    evaluated = last(run, "half")
    if everything:
        run.kill()
    else:
        run.signal(signal.SIGTERM)
        time.sleep(1.2)
        run.signal(signal.SIGTERM)
        assert run.wait() == EXIT_DURABLE, run
        assert place.verb("restore", "latest", place.path / "back").code == 0
        back = place.path / "back" / f"checkpoint-{evaluated}"
        assert {"model.pt", "optimizer.pt"} <= {path.name for path in back.iterdir()} <= {"model.pt", "optimizer.pt", "eval_results.json"}
    again = train(place, idiom, place.directory, TOY_MORE="1")
    assert again.wait() == 0, again
    assert last(again, "resumed") >= evaluated, f"{run}\n{again}"
    aside = {path.name for path in (place.path / f"{place.directory.name}.reprieve" / "quarantine").rglob("*") if path.is_file()}
    assert aside == {"logits.npz"}, f"{aside}\n{run}\n{again}"


# A state that is appended to in each step, beside checkpoints; and a table that is the model itself.
APPENDS = """
for step in range(1, 1000):
    with open(directory + "/state.bin", "ab") as file:
        file.write(b"x" * 10)
    if step % 10 == 0:
        with open(directory + "/step-%d.bin" % step, "wb") as file:
            file.write(b"%06d" % step * 100)
        print("saved", step, flush=True)
    time.sleep(0.05)
"""
TABLE = """
for step in range(10, 10000, 10):
    with open(directory + "/model.csv", "w") as file:
        file.write("%d\\n" % step * 1000)
    print("saved", step, flush=True)
    time.sleep(0.5)
"""


@pytest.mark.long
@pytest.mark.parametrize("option, name, script", [("--running", "state.bin", APPENDS), ("--include", "model.csv", TABLE)],
                         ids=["running", "include"])
def test_a_pattern_changes_what_a_file_is(place, option, name, script):
    head = f"import os, time\ndirectory = {str(place.directory)!r}\nos.makedirs(directory, exist_ok=True)\n"
    run = place.run(PYTHON, "-c", head + script, options=[option, name])
    wait_for("saves", lambda: len(numbers(run, "saved")) >= 3, PATIENCE, run.process, about=run)
    run.wait_for_event("durable", limit=PATIENCE)
    wanted = last(run, "saved")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    if option == "--running":
        newest = max(toy.number(path) for path in (place.path / "back").glob("step-*.bin"))
        assert newest >= wanted and (place.path / "back" / name).stat().st_size >= newest * 10, run
    else:
        lines = (place.path / "back" / name).read_text().split()
        assert len(lines) == 1000 and len(set(lines)) == 1 and int(lines[0]) >= wanted, run
