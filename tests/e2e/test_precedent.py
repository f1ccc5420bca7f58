"""What earlier attempts mean for the next start: the done marker, the limit without progress, one step back."""
import json
import shutil
from pathlib import Path

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


def test_a_command_that_is_missing_is_refused_before_a_claim(place):
    program = place.path / "train"
    program.write_text("#!/bin/sh\nmkdir -p checkpoints\n")
    program.chmod(0o755)
    assert place.run(program, options=QUICK).wait() == 0
    program.unlink()
    for options in ((), ("--job", "another")):
        missing = place.run(program, options=(*QUICK, *options))
        assert missing.wait() == 127 and str(program) in one_line(missing.err), f"{missing}"
    assert list(records(place, ".json")) == [1] and {path.name for path in (place.store_path / "jobs").iterdir()} == {place.job}


def test_a_dry_run_of_a_job_that_ended_with_0(place):
    command = trainer(place, "--every", "5", "--steps", "6")
    line = ("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory)
    before = place.query(*line, "--dry-run", "--", *command)
    assert before.code == 0 and "restore         none: no good snapshot is there" in before.out, before
    assert place.run(*command, options=QUICK).wait() == 0
    again = place.query(*line, "--dry-run", "--", *command)
    assert again.code == 0 and "the newest good snapshot" in again.out, again


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
    shown = place.query("run", "--dry-run", "--store", place.store, "--job", place.job, "--", *of_a_shell("ARGSECRET"))
    assert shown.code == 0 and "***" in shown.out and "ARGSECRET" not in shown.out


def test_without_a_name_the_same_line_runs_again(place):
    line = ("run", "--store", place.store, "--checkpoint-dir", place.directory, *QUICK, "--", *trainer(place, "--every", "2", "--steps", "3"))
    assert place.query(*line).code == 0
    again = place.query(*line)
    assert again.code == 0 and "resumed 2" in again.out


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
    assert "the last 2 attempts saved nothing beyond what was durable before (attempt 2 failed with exit 5)" in line and "--max-no-progress 0" in line
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
    assert "crashed right after resuming from 000001-000002" in run.err and "--restore 000001-000002" in run.err
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


def test_a_chosen_snapshot_counts_once(place):
    """A scheduler starts the same command again: what it has saved since is not trained again, here and on another machine."""
    command = picky(place, "", f"open({str(place.directory)!r} + '/step_%d' % (1 + int((names or ['step_0'])[-1][5:])), 'w').write('fine')")
    place.directory.mkdir()
    for step in (1, 2):
        assert place.run(*command, options=QUICK).wait() == 0
    chosen = (*QUICK, "--restore", "000001-000001")
    back = place.run(*command, options=chosen)
    assert back.wait() == 0 and back.out == "from step_1\n", back
    again = place.run(*command, options=chosen)
    assert again.wait() == 0 and again.out == "from step_2\n" and "counts once" in again.err, again
    shutil.rmtree(place.directory)
    there = place.run(*command, options=chosen)
    assert there.wait() == 0 and there.out == "from step_3\n", there
    other = place.run(*command, "other", options=chosen)
    assert other.wait() == 0 and other.out == "from step_1\n", other
