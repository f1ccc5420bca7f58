"""What earlier attempts mean for the next start: the done marker, the limit without progress, one step back."""
import json
import shutil
from pathlib import Path

import pytest

from harness import PYTHON, one_line

TRAINER = str(Path(__file__).resolve().parent / "trainer.py")
QUICK = ("--quiet-time", "150ms")

# Dies at the start, before it saves, of any checkpoint that holds the word.
PICKY = """
import os, sys
names = sorted(n for n in os.listdir(%r) if n.startswith("step_"))
print("from", names[-1] if names else "nothing", flush=True)
if %r and names and %r in open(os.path.join(%r, names[-1])).read():
    sys.exit(7)
%s
"""


def trainer(place, *options):
    return (PYTHON, "-u", TRAINER, "--dir", place.directory, *options)


def records(place, ending):
    """Bodies of the attempts' records, by number; each file is one line of header and then JSON."""
    found = {}
    for path in sorted(Path(place.store_path).glob(f"jobs/*/attempts/*{ending}")):
        name = path.name[: -len(ending)]
        if name.isdigit():
            found[int(name)] = json.loads(path.read_bytes().split(b"\n", 1)[1])
    return found


# --- the done marker ---


def test_a_finished_job_is_not_run_again(place):
    command = trainer(place, "--every", "5", "--steps", "6")
    first = place.run(*command, options=QUICK)
    assert first.wait() == 0
    assert records(place, ".end.json")[1]["about"]["done"] is True
    shutil.rmtree(place.directory)
    second = place.run(*command, options=QUICK)
    assert second.wait() == 0
    assert second.out == "" and second.event("launched") is None
    line = one_line(second.err)
    assert f"job {place.job} finished (attempt 1, 2" in line and "nothing to do" in line
    assert second.event("nothing_to_do")["attempt"] == 1
    assert second.event("ended")["outcome"] == "finished"
    assert list(records(place, ".json")) == [1]


def test_a_finished_job_needs_no_program(place):
    """The next start is on a machine, or from an image, that has it no more."""
    program = place.path / "train"
    program.write_text("#!/bin/sh\nmkdir -p checkpoints\n")
    program.chmod(0o755)
    assert place.run(program, options=QUICK).wait() == 0
    program.unlink()
    again = place.run(program, options=QUICK)
    assert again.wait() == 0 and "nothing to do" in one_line(again.err), f"{again}"
    # It is missing where there is something to do.
    for options in (("--rerun",), ("--job", "another")):
        missing = place.run(program, options=(*QUICK, *options))
        assert missing.wait() == 127 and "nothing to do" not in missing.err and str(program) in one_line(missing.err), f"{missing}"
    assert list(records(place, ".json")) == [1] and {path.name for path in (place.store_path / "jobs").iterdir()} == {place.job}


def test_a_dry_run_says_that_a_finished_job_is_not_started(place):
    command = trainer(place, "--every", "5", "--steps", "6")
    line = ("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory)
    before = place.query(*line, "--dry-run", "--", *command)
    assert before.code == 0 and "restore         none: no good snapshot is there" in before.out, before
    assert place.run(*command, options=QUICK).wait() == 0
    said = one_line(place.query(*line, "--", *command)).removeprefix("reprieve: ")
    foreseen = place.query(*line, "--dry-run", "--", *command)
    assert foreseen.code == 0 and "nothing to do" in said and f"none: {said}\n" in foreseen.out, foreseen
    again = place.query(*line, "--dry-run", "--rerun", "--", *command)
    assert again.code == 0 and "the newest good snapshot" in again.out and "nothing to do" not in again.out, again


def test_rerun_starts_it_all_the_same(place):
    command = trainer(place, "--every", "5", "--steps", "6")
    assert place.run(*command, options=QUICK).wait() == 0
    again = place.run(*command, options=(*QUICK, "--rerun"))
    assert again.wait() == 0 and "resumed 5" in again.out
    by_environment = place.run(*command, options=QUICK, REPRIEVE_RERUN="1")
    assert by_environment.wait() == 0 and "resumed 5" in by_environment.out


def test_more_steps_are_another_command(place):
    assert place.run(*trainer(place, "--every", "5", "--steps", "6"), options=QUICK).wait() == 0
    more = place.run(*trainer(place, "--every", "5", "--steps", "8"), options=QUICK)
    assert more.wait() == 0 and "resumed 5" in more.out and "finished 8" in more.out


def test_secrets_of_the_command_stay_here(place):
    command = trainer(place, "--every", "5", "--steps", "6")

    def of_a_shell(secret):
        return ("env", f"DB_PASSWORD={secret}", "sh", "-c", f"export SOME_TOKEN={secret}; shift 3; exec \"$@\"",
                "sh", f"--password={secret}", "--api-key", secret, *command)

    first = place.run(*of_a_shell("ARGSECRET"), options=QUICK)
    assert first.wait() == 0, first
    kept = records(place, ".json")[1]["about"]["command"]
    assert kept == [str(word) for word in of_a_shell("***")]
    stored = [path for path in Path(place.store_path).rglob("*") if path.is_file() and b"ARGSECRET" in path.read_bytes()]
    assert not stored and "ARGSECRET" not in first.err
    changed = place.run(*of_a_shell("ANOTHER"), options=QUICK)
    assert changed.wait() == 0 and "nothing to do" in one_line(changed.err)
    shown = place.query("run", "--dry-run", "--store", place.store, "--job", place.job, "--", *of_a_shell("ARGSECRET"))
    assert shown.code == 0 and "***" in shown.out and "ARGSECRET" not in shown.out


def test_the_same_command_is_one_with_the_same_arguments(place):
    """A variable of the environment makes no other command, and the line says so; as an argument of env it does."""
    command = trainer(place, "--every", "5", "--steps", "6")
    assert place.run(*command, options=QUICK).wait() == 0
    other = place.run(*command, options=QUICK, LR="0.1")
    assert other.wait() == 0 and other.out == "" and "environment variables make no other command" in one_line(other.err), other
    argument = place.run("env", "LR=0.1", *command, options=QUICK)
    assert argument.wait() == 0 and "resumed 5" in argument.out, argument


def test_without_a_name_the_same_line_runs_again(place):
    line = ("run", "--store", place.store, "--checkpoint-dir", place.directory, *QUICK, "--", *trainer(place, "--every", "2", "--steps", "3"))
    assert place.query(*line).code == 0
    again = place.query(*line)
    assert again.code == 0 and "resumed 2" in again.out


def test_a_schedulers_job_is_not_run_again(place):
    line = ("run", "--store", place.store, "--checkpoint-dir", place.directory, *QUICK, "--", *trainer(place, "--every", "2", "--steps", "3"))
    assert place.query(*line, SLURM_JOB_ID="77").code == 0
    again = place.query(*line, SLURM_JOB_ID="77")
    assert again.code == 0 and again.out == "" and "nothing to do" in one_line(again)


def test_neither_preempted_nor_failed_is_finished(place, tmp_path):
    notice = tmp_path / "notice"
    command = trainer(place, "--signal", "USR1", "--on-signal", "exit0", "--steps", "60", "--exit", "3")
    first = place.run(*command, options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}"))
    first.wait_for_output("step 5\n")
    notice.write_text("now")
    assert first.wait() == 75  # the job itself left with 0
    notice.unlink()
    second = place.run(*command, options=(*QUICK, "--checkpoint-signal", "USR1"))
    assert second.wait() == 3 and "resumed" in second.out
    third = place.run(*command, options=(*QUICK, "--checkpoint-signal", "USR1"))
    assert third.wait() == 3 and "finished 60" in third.out
    assert [end["about"]["done"] for end in records(place, ".end.json").values()] == [False, False, False]


def test_who_leaves_when_asked_without_a_notice_has_not_finished(place, tmp_path):
    advice = tmp_path / "advice"
    command = trainer(place, "--signal", "USR1", "--on-signal", "exit0", "--steps", "60")
    options = (*QUICK, "--checkpoint-signal", "USR1")
    first = place.run(*command, options=(*options, "--notice", f"file:{advice}"))
    first.wait_for_output("step 5\n")
    advice.write_text(json.dumps({"kind": "advice"}))
    assert first.wait() == 75
    assert "it may not have finished" in first.err.splitlines()[-1], first
    assert place.newest()["step"] < 60
    shutil.rmtree(place.directory)
    # Nobody asks this time.
    second = place.run(*command, options=options)
    assert second.wait() == 0 and "resumed" in second.out and "finished 60" in second.out
    assert "starts it again" not in second.err
    assert [end["about"]["done"] for end in records(place, ".end.json").values()] == [False, True]
    assert place.run(*command, options=options).wait() == 0 and len(records(place, ".json")) == 2


PART = """
import os, signal, sys
directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
if os.fork() == 0:
    with open(f"{directory}/part", "wb") as file:
        file.write(b"half"); file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
os.wait()
if sys.argv[2] == "remove": os.unlink(f"{directory}/part")
"""


@pytest.mark.parametrize("then, done", [("leave", False), ("remove", True)])
def test_a_job_whose_last_files_are_in_no_snapshot_has_not_finished(place, then, done):
    run = place.run(PYTHON, "-c", PART, place.directory, then, options=("--quiet-time", "30s"))
    assert run.wait() == 0
    assert (f"part in {place.directory} is in no snapshot" in run.err) == (not done), run
    assert ("the same command starts it again" in run.err) == (not done), run
    assert records(place, ".end.json")[1]["about"]["done"] is done


# --- no progress ---


def test_no_progress_stops_with_93_before_the_start(place):
    command = ("sh", "-c", "exit 5")
    limit = ("--max-no-progress", "2")
    for _ in range(2):
        assert place.run(*command, options=(*QUICK, *limit)).wait() == 5
    stuck = place.run(*command, options=(*QUICK, *limit))
    assert stuck.wait() == 93
    assert stuck.event("launched") is None and stuck.event("no_progress")["attempts"] == 2
    line = one_line(stuck.err)
    assert "the last 2 attempts added no durable snapshot (attempt 2 failed with exit 5)" in line and "--max-no-progress 0" in line
    assert list(records(place, ".json")) == [1, 2]
    # As the line says: once without the limit. With progress the count begins anew.
    saved = place.run(*trainer(place, "--every", "9", "--steps", "20", "--step-time", "0.05", "--exit", "4"), options=(*QUICK, "--max-no-progress", "0"))
    assert saved.wait() == 4
    assert place.run(*command, options=(*QUICK, *limit)).wait() == 5


def test_killed_machines_count_too(place):
    command = trainer(place, "--steps", "100000")
    for _ in range(2):
        run = place.run(*command, options=QUICK)
        run.wait_for_output("step 2\n")
        run.kill()
    stuck = place.run(*command, options=QUICK, REPRIEVE_MAX_NO_PROGRESS="2")
    assert stuck.wait() == 93
    assert "attempt 2 left no end record" in one_line(stuck.err)


def test_the_limit_is_a_number(place):
    result = place.query("run", "--max-no-progress", "few", "--", "true")
    assert result.code == 64 and "invalid number" in one_line(result)


# --- one step back ---


def poisoned(place):
    """Two generations, the second of which the job dies of."""
    make = "mkdir -p {0}; echo good > {0}/step_1; sleep 1; echo poison > {0}/step_2".format(place.directory)
    run = place.run("sh", "-c", make, options=QUICK)
    assert run.wait() == 0
    assert [s["id"] for s in place.snapshots()] == ["000001-000002", "000001-000001"]


def picky(place, word, then=""):
    directory = str(place.directory)
    return (PYTHON, "-c", PICKY % (directory, word, word, directory, then))


def states(place):
    return {snapshot["id"]: snapshot["state"] for snapshot in place.snapshots()}


def test_one_step_back_from_what_the_job_dies_of(place):
    poisoned(place)
    command = picky(place, "poison", f"open({str(place.directory / 'step_3')!r}, 'w').write('better')")
    for _ in range(2):
        run = place.run(*command, options=QUICK)
        assert run.wait() == 7 and run.out == "from step_2\n"
    run = place.run(*command, options=QUICK)
    assert run.wait() == 0, run
    assert run.out == "from step_1\n"
    assert "crashed twice right after resuming from 000001-000002" in run.err and "--restore 000001-000002" in run.err
    assert run.event("rolled_back")["from"] == "000001-000001"
    assert records(place, ".json")[4]["suspect"] == "000001-000002"
    assert states(place)["000001-000002"] == "suspect" and states(place)["000001-000001"] == "good"
    # It is kept, and whoever wants it has it.
    back = place.run(*picky(place, ""), options=(*QUICK, "--restore", "000001-000002"))
    assert back.wait() == 0 and back.out == "from step_2\n", back


def test_a_job_that_dies_of_every_checkpoint_gets_the_newest_back(place):
    poisoned(place)
    command = picky(place, "o")  # "good" as well as "poison"
    runs = [place.run(*command, options=QUICK)]
    for _ in range(6):
        runs[-1].wait()
        runs.append(place.run(*command, options=QUICK))
    runs[-1].wait()
    assert [run.out.split()[1] for run in runs] == ["step_2", "step_2", "step_1", "step_1", "step_2", "step_2", "step_2"]
    assert "crashes also occur from older checkpoints" in runs[4].err and runs[4].event("reverted")["id"] == "000001-000002"
    assert states(place)["000001-000002"] == "good"


def test_another_command_gets_the_newest(place):
    poisoned(place)
    for _ in range(2):
        assert place.run(*picky(place, "poison"), options=QUICK).wait() == 7
    mended = place.run(*picky(place, ""), options=QUICK)
    assert mended.wait() == 0 and mended.out == "from step_2\n"
