"""What a start finds in the checkpoint directory: only what is known to be torn is moved aside, and nothing that may be whole is lost in
silence."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import PYTHON, SAVER, wait_for

FIRST_SAVE = """
import pathlib, sys, time
directory = pathlib.Path(sys.argv[1], "step-1")
directory.mkdir(parents=True)
for name in sys.argv[2].split():
    (directory / name).write_bytes(b"1" * 5000)
    time.sleep(0.1)
if len(sys.argv) > 3:
    rest = open(directory / sys.argv[3], "wb", buffering=0)
    rest.write(b"1" * 2000)
print("saved", flush=True)
time.sleep(1000)
"""


def listing(place, *options):
    return place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, *options, "--",
                       "find", place.directory, "-type", "f", "-printf", "%P\n")


def quarantined(place):
    return sorted(path.name for path in (place.path / "checkpoints.reprieve" / "quarantine").rglob("*") if path.is_file())


ONE_FILE = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
pathlib.Path(sys.argv[1], "step-1.bin").write_bytes(b"1" * 5000)
print("saved", flush=True)
time.sleep(1000)
"""


def kill_in_the_quiet_time(place, listed_as, *command):
    """The job and its supervisor, when the list of what is being written says so."""
    run = place.run(PYTHON, "-c", *command, options=("--quiet-time", "1h"))
    run.wait_for_output("saved")
    listed = place.path / "checkpoints.reprieve" / "under-way"
    wait_for("it is listed", lambda: listed.exists() and listed_as in listed.read_bytes().split(b"\0"), process=run.process)
    run.kill()
    return listed


@pytest.mark.parametrize("order", ["mkdir -p $0/step-5/shards; echo 5 >$0/step-5/state", "mkdir -p $0/step-5; echo 5 >$0/step-5/state; mkdir $0/step-5/shards"])
@pytest.mark.parametrize("gone", [".", "step-6"])
def test_an_empty_directory_of_a_checkpoint_stays(place, order, gone):
    run = place.run("sh", "-c", order, place.directory)
    assert run.wait() == 0 and run.event("durable"), run
    (place.directory / "step-6").mkdir()
    shutil.rmtree(place.directory / gone)
    again = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", "sh", "-c", f"cd {place.directory}; find * | sort")
    assert again.out.split() == ["step-5", "step-5/shards", "step-5/state"], again


def test_a_first_save_that_was_closed_stays_if_all_are_killed(place):
    """No format says that it is whole, and nothing that it is not: its writer lived when it closed it."""
    kill_in_the_quiet_time(place, b"./step-1.bin", ONE_FILE, place.directory)
    again = listing(place)
    assert again.code == 0 and again.out.split() == ["step-1.bin"], again
    assert quarantined(place) == [] and place.newest()["step"] == 1


def test_of_a_directory_what_was_closed_stays_too(place):
    """Whether a next file was still to come nobody knows; the same start without us would find it."""
    kill_in_the_quiet_time(place, b"./step-1/model.bin", FIRST_SAVE, place.directory, "model.bin")
    again = listing(place)
    assert again.code == 0 and again.out.split() == ["step-1/model.bin"] and quarantined(place) == [], again


def test_after_a_restart_of_the_machine_only_its_format_tells(place):
    """A crash may have lost what was closed a moment before. There is no record yet: the list says in which boot it was written."""
    listed = kill_in_the_quiet_time(place, b"./step-1.bin", ONE_FILE, place.directory)
    listed.write_bytes(re.sub(rb"/boot/[^\0]*", b"/boot/another", listed.read_bytes()))
    again = listing(place)
    assert again.out == "" and quarantined(place) == ["step-1.bin"], again


def test_what_is_written_over_beside_a_file_of_the_user_stays(place):
    """It is closed, and nobody knows that the two are one set: the job has never written the other."""
    place.directory.mkdir()
    for name in ("last.bin", "optim.bin"):
        (place.directory / name).write_bytes(b"0" * 4000)
    script = "import sys, time; open(sys.argv[1] + '/last.bin', 'wb').write(b'1' * 4000); print('saved', flush=True); time.sleep(1000)"
    run = place.run("sh", "-c", 'while [ ! -e go ]; do sleep 0.05; done; exec "$@"', "sh", PYTHON, "-c", script, place.directory,
                    options=("--quiet-time", "1h"))
    run.wait_for_event("durable")
    (place.path / "go").touch()
    run.wait_for_output("saved")
    run.kill()
    again = listing(place)
    assert sorted(again.out.split()) == ["last.bin", "optim.bin"] and quarantined(place) == [], again
    assert (place.directory / "last.bin").read_bytes() == b"1" * 4000


SET = """
import io, pathlib, sys, time, zipfile
directory, names, saves = pathlib.Path(sys.argv[1]), sys.argv[2].split(), sys.argv[3].split()
directory.mkdir(parents=True, exist_ok=True)
for save in saves:
    for name in names if save != saves[-1] else sys.argv[4].split():
        with zipfile.ZipFile(directory / name, "w") as file:
            file.writestr("archive/data", save * 5000)
    time.sleep(0.5)  # what is written together is learned from the pauses, so that this one is longer than a busy machine holds anybody up
print("saved", flush=True)
time.sleep(1000)
"""


def has_learned(place):
    """What the next start will know: all of the set."""
    known = [json.loads(path.read_text()) for path in pathlib.Path(place.runtime).glob("reprieve/*/shim.known")]
    return any({"model.pt", "opt.pt", "rng.pt"} <= set(one["rest"]) for one in known)


def save_set_and_kill(place, saves, last, listed_as, store=None):
    """All saves of the three files, of the last one only `last`; then the job and its supervisor are killed, once they are listed as that,
    or have been learned ([])."""
    listed = place.path / "checkpoints.reprieve" / "under-way"
    run = place.run(PYTHON, "-c", SET, place.directory, "model.pt opt.pt rng.pt", saves, last, store=store or place.store,
                    options=("--quiet-time", "1h"))
    run.wait_for_output("saved")
    wait_for("it is listed or learned", lambda: listed.exists() and set(listed_as) <= set(listed.read_bytes().split(b"\0")) if listed_as
             else has_learned(place), process=run.process, about=run)
    run.kill()


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_set_of_which_half_is_newer_stays_if_the_store_has_nothing(place, attempts):
    """As the same start without us would find it. What the first attempt has learned of the set, the second one knows, although all were
    killed."""
    script = [("1 2 3", "model.pt", [b"/rest/opt.pt", b"/rest/rng.pt"])]
    if attempts == 2:
        script = [("1 2", "model.pt opt.pt rng.pt", []), ("3", "model.pt", script[0][2])]
    place.directory.mkdir()
    (place.directory / "pretrained.pt").write_bytes(b"of the user")
    for saves, last, listed_as in script:
        save_set_and_kill(place, saves, last, listed_as)
    shutil.rmtree(place.store_path)
    again = listing(place)
    assert again.code == 0 and sorted(again.out.split()) == ["model.pt", "opt.pt", "pretrained.pt", "rng.pt"], again
    assert quarantined(place) == [], again


def test_a_whole_first_save_stays_if_all_are_killed(place):
    """Of several fixed names, too: their writer had closed them all, and lived."""
    save_set_and_kill(place, "1", "model.pt opt.pt rng.pt", [b"./model.pt", b"./opt.pt", b"./rng.pt"])
    again = listing(place)
    assert again.code == 0 and sorted(again.out.split()) == ["model.pt", "opt.pt", "rng.pt"], again
    assert quarantined(place) == []


def test_a_first_save_with_a_file_open_is_moved_aside_as_a_whole(place):
    run = place.run(PYTHON, "-c", FIRST_SAVE, place.directory, "model.bin", "optimizer.bin", options=("--quiet-time", "1h"))
    run.wait_for_output("saved")
    listed = place.path / "checkpoints.reprieve" / "under-way"
    wait_for("it is known to be open", lambda: listed.exists() and b"\0step-1/\0" in b"\0" + listed.read_bytes().replace(b"\n", b"\0"),
             process=run.process)
    run.kill()
    again = listing(place)
    assert again.out == "" and quarantined(place) == ["model.bin", "optimizer.bin"], again
    assert "step-1/model.bin is torn (and 1 more like that): its writer ended while it was being written" in again.err


def train(place, steps, *options, job=None):
    """Without a name, the steps in the command make another job of it."""
    named = ("--job", job) if job else ()
    return place.query("run", "--store", place.store, *named, "-c", place.directory, *options, "--",
                       PYTHON, SAVER, "--steps", str(steps), "--keep", "100", "--pause", "0.05")


def job_names(place):
    return sorted(path.name for path in (place.store_path / "jobs").iterdir())


def test_going_back_to_earlier_arguments_keeps_the_newer_checkpoints(place):
    """As without Reprieve: the script goes on from the newest checkpoint that lies there."""
    assert train(place, 3).code == 0
    longer = train(place, 6)
    assert longer.code == 0 and "resumes 3\n" in longer.out, longer
    back = train(place, 3)
    assert back.code == 0 and "resumes 6\n" in back.out, back
    assert quarantined(place) == []
    first, second = re.search(r"holds newer files, of job (\S+); .*\(--restore (\S+) goes back", back.err).groups()
    assert first in longer.err and first not in back.err.replace(f"job {first};", ""), back
    assert len(list(place.directory.glob("step-*"))) == 6
    # And it can still be had.
    old = train(place, 3, "--restore", second)
    assert old.code == 0 and "resumes 3\n" in old.out, old


def test_what_a_named_job_has_left_is_none_of_a_job_without_a_name(place):
    assert train(place, 3).code == 0
    assert train(place, 6, job="experiment").code == 0
    back = train(place, 3)
    assert back.code == 0 and "resumes 3\n" in back.out, back
    assert len(quarantined(place)) == 6


def test_what_is_older_is_named_with_its_step_and_the_way_to_it_too(place):
    assert train(place, 6, job="one").code == 0
    for left in (place.directory, place.directory.with_name(place.directory.name + ".reprieve")):
        shutil.rmtree(left)
    (place.directory / "step-4").mkdir(parents=True)
    (place.directory / "step-4" / "model.bin").write_bytes(b"of somebody else")
    on = train(place, 8, job="one")
    assert on.code == 0 and "resumes 6\n" in on.out and "held files that are not in the snapshot, up to step 4; they were moved to" in on.err, on
    assert re.search(r"To go on from them, end this run, cp -a .+/\. .+/, and start it once with --restore none", on.err), on


def test_a_named_job_gets_its_own_back_and_hears_where_the_newer_ones_are(place):
    assert train(place, 3, job="one").code == 0
    assert train(place, 6, job="two").code == 0
    back = train(place, 3, job="one")
    assert back.code == 0 and "resumes 3\n" in back.out and len(quarantined(place)) == 6, back
    said, = [line for line in back.err.splitlines() if "moved to" in line]
    assert "up to step 6, which is newer" in said
    # What the line says to do.
    subprocess.run(re.search(r"end this run, (cp -a .+), and start", back.err)[1], shell=True, check=True)
    on = train(place, 8, "--restore", "none", job="one")
    assert on.code == 0 and "resumes 6\n" in on.out, on


# Writes one name over and over, and stops in the middle of the second time.
OVERWRITES = """
import os, pathlib, time
path = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"], "state.bin")
print("holds", path.stat().st_size if path.exists() else 0, flush=True)
if not path.exists():
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"1" * 40000)
    while not os.path.exists("durable"):
        time.sleep(0.01)
    with open(path, "wb", buffering=0) as file:
        file.write(b"2" * 16000)
        print("half", flush=True)
        time.sleep(600)
"""


def test_nobody_is_told_to_go_on_from_a_torn_file(place):
    first = place.run(PYTHON, "-c", OVERWRITES, options=("-q", "--quiet-time", "100ms"))
    first.wait_for_event("durable")
    (place.path / "durable").touch()
    first.wait_for_output("half")
    listed = place.path / "checkpoints.reprieve" / "under-way"
    wait_for("what is under way is on the disk", lambda: listed.exists() and "state.bin" in listed.read_text(), process=first.process)
    first.kill()
    second = place.run(PYTHON, "-c", OVERWRITES, options=("-q", "--quiet-time", "100ms"))
    assert second.wait() == 0 and second.out == "holds 40000\n", second
    assert "state.bin is torn: its writer ended while it was being written; moved to" in second.err, second
    assert "To go on from them" not in second.err, second


# A first save of each name, durable; then another one of the first name, of which the close is still to come. What it wrote is whole.
UNCLOSED = """
import os, pathlib, pickle, sys, time
directory, again, whole = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "whole"
directory.mkdir(exist_ok=True)
for name in sys.argv[4:]:
    (directory / name).write_bytes(pickle.dumps({"step": 1, "weights": b"1" * 200000}))
while not os.path.exists("go"):
    time.sleep(0.01)
file = open(directory / again, "wb", buffering=0)
state = pickle.dumps({"step": 2, "weights": b"2" * 200000})
file.write(state if whole else state[:-9])
print("written", flush=True)
time.sleep(600)
"""


def kill_before_the_close(place, again, whole, *names):
    """Supervisor and job, when the list of what is under way has the save; so it is left where a kill comes right after the close, too."""
    run = place.run(PYTHON, "-c", UNCLOSED, place.directory, again, whole, *names, options=("--quiet-time", "100ms"))
    run.wait_for_event("durable")
    (place.path / "go").touch()
    run.wait_for_output("written")
    listed = place.path / "checkpoints.reprieve" / "under-way"
    wait_for("it is listed", lambda: listed.exists() and again.encode() in listed.read_bytes(), process=run.process)
    run.kill()
    return listing(place)


@pytest.mark.parametrize("again, names", [("step-2.pkl", ["step-1.pkl"]), ("last.pkl", ["last.pkl"]), ("emergency.pkl", ["last.pkl"])])
def test_what_is_whole_by_its_format_stays_though_its_close_was_not_seen(place, again, names):
    started = kill_before_the_close(place, again, "whole", *names)
    assert sorted(started.out.split()) == sorted({again, *names}) and quarantined(place) == [], started
    assert b"2" * 200000 in (place.directory / again).read_bytes() and "torn" not in started.err, started


def test_what_is_torn_by_its_format_is_moved_aside(place):
    started = kill_before_the_close(place, "step-2.pkl", "cut", "step-1.pkl")
    assert started.out.split() == ["step-1.pkl"] and quarantined(place) == ["step-2.pkl"], started
    # The job had written it: it goes with the next durable checkpoint.
    saves = f"import pickle; pickle.dump(b'3' * 200000, open('{place.directory}/step-3.pkl', 'wb'))"
    again = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", PYTHON, "-c", saves)
    assert again.code == 0 and place.newest()["step"] == 3 and quarantined(place) == [], again


def test_a_whole_file_is_not_put_beside_the_older_rest_of_its_set(place):
    """Of two fixed names one is written anew: the snapshot replaces both, and nobody says that the new one is torn."""
    started = kill_before_the_close(place, "model.pkl", "whole", "model.pkl", "optim.pkl")
    assert sorted(started.out.split()) == ["model.pkl", "optim.pkl"] and quarantined(place) == ["model.pkl"], started
    assert b"1" * 200000 in (place.directory / "model.pkl").read_bytes(), started
    assert "model.pkl is not used: it is whole, but its writer ended before all of its save was known to be" in started.err, started
    assert "torn" not in started.err, started
    # The way back that is said leads back, also where it is taken: once, and in one start.
    [back] = re.findall(r"if all of its save is in there: end this run, (cp -a .*), and start it once with --restore none", started.err)
    subprocess.run(["sh", "-c", back], check=True)
    again = listing(place, "--restore", "none")
    assert sorted(again.out.split()) == ["model.pkl", "optim.pkl"], again
    assert b"2" * 200000 in (place.directory / "model.pkl").read_bytes(), again
