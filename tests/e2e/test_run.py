"""`reprieve run`: the main job, with real processes, on the embedded store."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from harness import LIMIT, PYTHON, REPRIEVE, is_alive, one_line, wait_for

TRAINER = str(Path(__file__).resolve().parent / "trainer.py")
QUICK = ("--quiet-time", "150ms")


def trainer(place, *options, directory=None):
    return (PYTHON, "-u", TRAINER, "--dir", directory or place.directory, *options)


def numbers(run, word):
    return [int(number) for number in re.findall(rf"^{word} (\d+)$", run.out, re.M)]


def command_line(pid):
    """Empty for a process that has gone meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


# --- saving and resuming ---


def test_saves_what_the_job_saves_by_itself_and_resumes_in_an_empty_directory(place):
    first = place.run(*trainer(place, "--every", "10", "--steps", "45"), options=QUICK)
    assert first.wait() == 0
    saved = numbers(first, "saved")
    assert saved == [10, 20, 30, 40]
    shutil.rmtree(place.directory)
    second = place.run(*trainer(place, "--every", "10", "--steps", "50"), options=QUICK)
    assert second.wait() == 0
    assert numbers(second, "resumed") == [40]
    assert second.event("restored")["step"] == 40
    assert second.event("claimed")["attempt"] == 2


def test_a_database_comes_back_without_what_lies_beside_it(place):
    """As a job leaves it that was killed: what was committed last is in its log alone."""
    script = """if True:
        import os, pathlib, shutil, sqlite3
        directory = pathlib.Path(os.environ["REPRIEVE_CHECKPOINT_DIR"])
        directory.mkdir()
        elsewhere = directory.parent / "study.db"
        database = sqlite3.connect(elsewhere)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE trials (n)")
        database.execute("INSERT INTO trials VALUES (7)")
        database.commit()
        for side in ("", "-wal"):
            shutil.copy(f"{elsewhere}{side}", directory)
        (directory / "checkpoint-1").mkdir()
        (directory / "checkpoint-1" / "model.pt").write_text("state")
    """
    first = place.run(PYTHON, "-c", script, options=QUICK)
    assert first.wait() == 0 and first.event("durable"), first
    assert sorted(os.listdir(place.directory)) == ["checkpoint-1", "study.db", "study.db-wal"]
    assert re.search(r"^ *running .* study\.db$", place.verb("show").out, re.M)
    shutil.rmtree(place.directory)
    assert place.run("true", options=QUICK).wait() == 0
    assert sorted(os.listdir(place.directory)) == ["checkpoint-1", "study.db"]
    with contextlib.closing(sqlite3.connect(Path(place.directory) / "study.db")) as database:
        assert database.execute("SELECT n FROM trials").fetchall() == [(7,)]


def test_the_directory_of_a_checkpoint_that_was_only_begun_is_not_restored(place):
    """A script that takes the highest number would end there on every new machine. What has no number may be needed empty."""
    script = """
        mkdir -p "$REPRIEVE_CHECKPOINT_DIR" && cd "$REPRIEVE_CHECKPOINT_DIR"
        mkdir checkpoint-1 checkpoint-2 logs
        echo state > checkpoint-1/model.pt
        while :; do sleep 0.1; done
    """
    first = place.run("sh", "-c", script, options=QUICK)
    first.wait_for_event("durable")
    first.kill()
    shutil.rmtree(place.directory)
    second = place.run("ls", place.directory, options=QUICK)
    assert second.wait() == 0, second
    assert second.event("restored") and second.out.split() == ["checkpoint-1", "logs"], second
    target = place.path / "by-hand"
    assert place.verb("restore", place.newest()["id"], target).code == 0
    assert sorted(os.listdir(target)) == ["checkpoint-1", "logs"]


def test_what_is_restored_is_byte_for_byte_what_was_saved(place):
    run = place.run(*trainer(place, "--every", "5", "--steps", "11", "--size", "9000000"), options=QUICK)
    assert run.wait() == 0
    target = place.path / "back"
    assert place.verb("restore", "latest", target).code == 0
    # So is what tar and lz4 read.
    (place.path / "tar").mkdir()
    assert place.verb("export", "latest", place.path / "out.tar.lz4").code == 0
    subprocess.run("lz4 -dc out.tar.lz4 | tar -x -C tar", shell=True, check=True, cwd=place.path)
    for copy in (target, place.path / "tar"):
        assert subprocess.run(["diff", "-r", place.directory, copy]).returncode == 0


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "there"])
def test_a_restored_pointer_with_the_path_of_another_machine(place, gone):
    """As mmengine's last_checkpoint; one whose path is here as well needs no word."""
    there = place.path / "there"
    (there / "epochs").mkdir(parents=True)
    (there / "epochs" / "epoch_5.pth").write_text("weights")
    (there / "last_checkpoint").write_text(f"{there}/epochs/epoch_5.pth\n")
    assert place.verb("save", there).code == 0
    if gone:
        shutil.rmtree(there)
    run = place.run("true")
    assert run.wait() == 0
    line = f"last_checkpoint names {there}/epochs/epoch_5.pth, which is not on this machine: it is {place.directory}/epochs/epoch_5.pth here\n"
    assert (line in run.err) == gone, run


def test_the_job_is_told_where_it_is(place):
    names = "REPRIEVE_JOB,REPRIEVE_ATTEMPT,REPRIEVE_RESUMING,REPRIEVE_STEP,REPRIEVE_CHECKPOINT_DIR"
    run = place.run(*trainer(place, "--every", "5", "--steps", "6", "--env", names), options=QUICK)
    assert run.wait() == 0
    assert "env REPRIEVE_RESUMING 0\n" in run.out and "env REPRIEVE_ATTEMPT 1\n" in run.out
    shutil.rmtree(place.directory)
    run = place.run(*trainer(place, "--steps", "6", "--env", names), options=QUICK)
    assert run.wait() == 0
    for line in ("env REPRIEVE_JOB job", "env REPRIEVE_ATTEMPT 2", "env REPRIEVE_RESUMING 1", "env REPRIEVE_STEP 5",
                 f"env REPRIEVE_CHECKPOINT_DIR {place.directory}"):
        assert line + "\n" in run.out


def test_restore_none_and_restore_id(place):
    # More may come to the first save ever for ten quiet times, until the second one is begun.
    assert place.run(*trainer(place, "--every", "5", "--steps", "10", "--step-time", "0.6"), options=QUICK).wait() == 0
    ids = {snapshot["step"]: snapshot["id"] for snapshot in place.snapshots()}
    assert set(ids) == {5, 10}
    shutil.rmtree(place.directory)
    fresh = place.run(*trainer(place, "--steps", "3"), options=(*QUICK, "--restore", "none"))
    assert fresh.wait() == 0 and numbers(fresh, "resumed") == []
    older = place.run(*trainer(place, "--steps", "6"), options=(*QUICK, "--restore", ids[5]))
    assert older.wait() == 0 and numbers(older, "resumed") == [5]
    states = {snapshot["id"]: snapshot["state"] for snapshot in place.snapshots()}
    assert states[ids[10]] == "superseded" and states[ids[5]] == "good"


@pytest.mark.parametrize("names", ["backup_1.pt backup_2.pt", "backup.pt backup.pt", "backup/model.pt backup/model.pt"])
def test_a_deletion_belongs_to_the_save_that_follows(place, names):
    """The job deletes its backups, and goes on with a table: it has no other checkpoint."""
    script = """
        mkdir -p "$REPRIEVE_CHECKPOINT_DIR" && cd "$REPRIEVE_CHECKPOINT_DIR"
        for name in $0; do
            mkdir -p $(dirname $name); head -c 1000 /dev/urandom > $name; sleep 1
        done
        while [ ! -e ../go-on ]; do sleep 0.05; done
        rm -r backup*; mkdir -p next; echo 1,2 > metrics.csv; sleep 0.5
    """
    run = place.run("sh", "-c", script, names, options=QUICK)
    run.wait_for_event("durable", count=2)
    (place.path / "go-on").touch()
    assert run.wait() == 0
    shutil.rmtree(place.directory)
    listed = place.run("sh", "-c", 'cd "$REPRIEVE_CHECKPOINT_DIR" && find . -type f', options=QUICK)
    assert listed.wait() == 0
    assert sorted(listed.out.split()) == sorted({"./" + names.split()[-1], "./metrics.csv"})


def test_a_second_snapshot_sends_only_what_is_new(place):
    script = """
        mkdir -p "$REPRIEVE_CHECKPOINT_DIR" && cd "$REPRIEVE_CHECKPOINT_DIR"
        head -c 18000000 /dev/urandom > step_1.bin
        while [ ! -e ../go-on ]; do sleep 0.05; done
        head -c 6000000 /dev/urandom > step_2.bin
    """
    run = place.run("sh", "-c", script, options=QUICK)
    run.wait_for_event("durable")
    (place.path / "go-on").touch()
    assert run.wait() == 0
    first, second = run.events("durable")
    assert (first["bytes"], second["bytes"]) == (18000000, 24000000)
    assert first["bytes_sent"] > 18000000 and second["bytes_sent"] < 7000000


# --- notices ---


def test_a_notice_asks_saves_and_leaves_with_75_and_nothing_is_lost(place, tmp_path):
    notice = tmp_path / "notice"
    first = place.run(*trainer(place, "--signal", "USR1"),
                      options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}"))
    first.wait_for_output("step 20\n")
    notice.write_text(json.dumps({"reason": "drill", "in_seconds": 60}))
    assert first.wait() == 75
    assert first.event("asked")["pids"] == [first.job_pid]
    saved = numbers(first, "saved")
    assert len(saved) == 1
    assert place.newest()["step"] == saved[0]
    shutil.rmtree(place.directory)
    notice.unlink()
    second = place.run(*trainer(place, "--steps", str(saved[0] + 3)), options=QUICK)
    assert second.wait() == 0
    assert numbers(second, "resumed") == saved


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_a_notice_on_the_metadata_endpoint_of_each_cloud(place, cloud):
    mock = subprocess.Popen([REPRIEVE, "mock", cloud, "--port", "0"], stdout=subprocess.PIPE, text=True,
                            env=place.environment, start_new_session=True)
    try:
        environment = {}
        for line in mock.stdout:
            found = re.search(r"export (\w+)=(\S+)", line)
            if found:
                environment[found[1]] = found[2].strip("'\"")
                break
        assert environment
        run = place.run(*trainer(place, "--signal", "USR1"), options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", "auto"),
                        **environment, REPRIEVE_NOTICE="")
        wait_for("armed", lambda: any(e["name"] == cloud and e["health"] == "armed" for e in run.events("source")),
                 process=run.process)
        run.wait_for_output("step 5\n")
        mock.send_signal(signal.SIGUSR1)
        assert run.wait() == 75, run
        assert run.event("notice")["source"] == cloud
        assert place.newest()["step"] == numbers(run, "saved")[-1]
    finally:
        mock.kill()
        mock.wait()


def test_a_job_that_saves_before_its_signal_has_returned_is_heard(place, tmp_path):
    """The job opens its checkpoint while the supervisor is still in kill(2): that is an answer all the same."""
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("strace is not installed")
    notice = tmp_path / "notice"
    slow_kill = (strace, "-f", "-o", os.devnull, "-e", "trace=kill", "-e", "inject=kill:delay_exit=300000")
    run = place.run(*trainer(place, "--signal", "USR1"), wrapper=slow_kill,
                    options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}"))
    run.wait_for_output("step 5\n")
    notice.write_text(json.dumps({"reason": "fast job", "in_seconds": 60}))
    assert run.wait() == 75, run
    assert len(numbers(run, "saved")) == 1
    assert run.event("durable")["reason"] == "notice"


def test_the_request_waits_for_no_disk(place, tmp_path):
    """All that the supervisor has told to be flushed takes for ever: the job is asked all the same."""
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("strace is not installed")
    notice = tmp_path / "notice"
    run = place.run(*trainer(place, "--signal", "USR1"),
                    options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}", "--metrics-file", tmp_path / "metrics"))
    run.wait_for_output("step 5\n")
    never = subprocess.Popen([strace, "-f", "-p", str(run.pid), "-o", os.devnull, "-e", "trace=fsync,fdatasync",
                              "-e", "inject=fsync,fdatasync:delay_enter=1000000000"], stderr=subprocess.PIPE, text=True)
    try:
        said = never.stderr.readline()
        if "attached" not in said:
            pytest.skip(f"strace cannot attach here: {said}")
        notice.write_text(json.dumps({"reason": "busy disk", "in_seconds": 600}))
        run.wait_for_event("asked")
    finally:
        never.kill()
        never.communicate()


def test_the_job_sees_the_notice_file(place, tmp_path):
    notice = tmp_path / "notice"
    script = 'while [ ! -e "$REPRIEVE_NOTICE_FILE" ]; do sleep 0.05; done; cat "$REPRIEVE_NOTICE_FILE"; exit 3'
    run = place.run("sh", "-c", script, options=(*QUICK, "--notice", f"file:{notice}"))
    run.wait_for_event("launched")
    notice.write_text(json.dumps({"reason": "look here", "in_seconds": 60}))
    assert run.wait() == 3 or run.process.returncode in (74, 75)
    assert "look here" in run.out


def test_sigterm_reaches_a_handler_behind_a_shell(place):
    words = " ".join(map(str, trainer(place, "--signal", "TERM", "--on-signal", "exit143")))
    run = place.run("bash", "-c", f"{words}; echo after $?", options=QUICK)
    run.wait_for_output("step 5\n")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    assert run.out.count("signal SIGTERM") == 1 and place.newest()["step"] == numbers(run, "saved")[-1]


# --- asking ---


def test_a_command_can_ask_too(place):
    command = f"touch {place.path}/please && echo asked-for-$REPRIEVE_JOB >> {place.path}/command.log"
    script = f"""
mkdir -p {place.directory}
n=0
while :; do n=$((n+1)); sleep 0.05
  if [ -e {place.path}/please ]; then rm {place.path}/please; echo $n > {place.directory}/step_$n.txt; fi
done"""
    run = place.run("sh", "-c", script, options=(*QUICK, "--checkpoint-command", command))
    run.wait_for_event("launched")
    run.signal(signal.SIGUSR1)
    assert run.wait_for_event("durable")["reason"] == "request"
    assert (place.path / "command.log").read_text() == "asked-for-job\n"


def test_the_signal_goes_through_a_shell_script_to_the_trainer(place):
    words = " ".join(map(str, trainer(place, "--signal", "USR1")))
    run = place.run("bash", "-c", f"{words}; echo after", options=(*QUICK, "--checkpoint-signal", "USR1"))
    run.wait_for_output("step 5\n")
    run.signal(signal.SIGUSR1)
    assert run.wait_for_event("durable")["reason"] == "request" and run.out.count("signal SIGUSR1") == 1
    asked = run.event("asked")["pids"]
    assert len(asked) == 1 and asked[0] != run.job_pid and is_alive(run.job_pid)


# --- completeness ---


@pytest.mark.parametrize("shim", ["auto", "off"])
def test_a_job_killed_between_two_files_of_a_checkpoint(place, shim):
    run = place.run(*trainer(place, "--every", "10", "--steps", "1000", "--step-time", "0.15", "--gap", "0.3"),
                    options=("--quiet-time", "500ms", "--shim", shim))
    run.wait_for_event("durable")
    # Into the gap of the next one: its first file is closed, the second not yet there.
    wait_for("the gap", lambda: any((path / "state.json").exists() and not (path / "weights.bin").exists()
                                    for path in place.directory.glob("step_*")), process=run.process)
    os.kill(run.job_pid, signal.SIGKILL)
    assert run.wait() == 137
    done = numbers(run, "saved")
    assert place.newest()["step"] == done[-1]
    # The same machine again: the torn one is out of the way, though the trainer would have picked it.
    again = place.run(*trainer(place, "--steps", str(done[-1] + 1)), options=QUICK)
    assert again.wait() == 0
    assert numbers(again, "resumed") == [done[-1]]


@pytest.mark.parametrize("job", ["job", "another"])
def test_a_job_killed_in_its_very_first_save_leaves_nothing_to_resume_from(place, job):
    """There is no snapshot and nothing was ever sealed: the torn file is not taken for the user's own."""
    script = "import os, signal; os.makedirs('checkpoints'); f = open('checkpoints/step_1.bin', 'wb'); f.write(b'x' * 99); f.flush(); os.kill(os.getpid(), 9)"
    store = ("--store", place.store, "--quiet-time", "150ms")
    assert place.query("run", "--job", "job", *store, "--", PYTHON, "-c", script).code == 137
    again = place.query("run", "--job", job, *store, "--", "ls", "checkpoints")
    assert again.code == 0 and again.out == ""
    assert "/step_1.bin is torn: its writer ended while it was being written; moved to" in again.err
    assert list((place.path / "checkpoints.reprieve" / "quarantine").rglob("step_1.bin"))


def test_killed_in_its_first_save_again_and_again(place):
    """What the last kill left is not the user's own at any later start either."""
    script = "import os, signal, sys; os.makedirs('checkpoints', exist_ok=True); print(os.listdir('checkpoints'), flush=True)\n" \
             "f = open(f'checkpoints/step_{sys.argv[1]}.bin', 'wb'); f.write(b'x' * 99); f.flush(); os.kill(os.getpid(), 9)"
    for start in range(1, 5):
        killed = place.query("run", "--job", "job", "--store", place.store, "--quiet-time", "150ms", "--", PYTHON, "-c", script, str(start))
        assert killed.code == 137 and killed.out == "[]\n", killed
    assert place.snapshots() == []
    assert len(list((place.path / "checkpoints.reprieve" / "quarantine").rglob("step_*.bin"))) == 3


def test_a_damaged_record_makes_nobody_the_owner_of_what_is_torn(place):
    run = place.run("sh", "-c", f"mkdir {place.directory}; exec 3> {place.directory}/step_1.bin; echo half >&3; kill -9 $$", options=QUICK)
    assert run.wait() == 137
    record = place.path / "checkpoints.reprieve" / "completion.json"
    record.write_text("{")
    again = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", "ls", place.directory)
    assert again.code == 0 and again.out == ""
    assert str(record) in again.err and "step_1.bin is torn: its writer ended" in again.err


FULL_DISK = """
import os, pickle, resource, sys, time
directory, name = sys.argv[1:]
for step in range(1, 6):
    if step == 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    try:
        with open(os.path.join(directory, name.replace("#", str(step))), "wb") as file:
            pickle.dump(bytes(5000 + step), file)
        print("saved", step, flush=True)
    except OSError:
        print("failed", step, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        while not os.path.exists(os.path.join(directory, "..", "go")):
            time.sleep(0.01)
    time.sleep(0.4)
"""


@pytest.mark.parametrize("name", ["ck-#.pkl", "last.pkl"])
def test_a_save_that_a_full_disk_cuts_off_is_in_no_snapshot(place, name):
    """The job catches the error and goes on. No format says where the file should end; a limit on its size stands for the disk."""
    place.directory.mkdir()
    run = place.run(PYTHON, "-c", FULL_DISK, place.directory, name, options=(*QUICK, "--snapshot-interval", "0"))
    run.wait_for_output("failed 4")
    wait_for("the warning", lambda: f"a write to {name.replace('#', '4')} failed in the job" in run.err, process=run.process)
    client = place.query("checkpoint", "--job", "job", "--timeout", "3s")
    assert client.code != 0, client
    for snapshot in place.snapshots():
        shown = place.verb("show", snapshot["id"], "--json").json
        assert all(entry["size"] > 5000 for entry in shown["entries"] if entry["path"].endswith(".pkl")), shown
    (place.path / "go").touch()
    assert run.wait() == 0, run
    assert place.verb("restore", "latest", place.path / "back").code == 0
    assert (place.path / "back" / name.replace("#", "5")).stat().st_size > 5000
    assert name == "last.pkl" or not (place.path / "back" / "ck-4.pkl").exists()


@pytest.mark.parametrize("death, store", [("all", "here"), ("all", "lost"), ("job", "lost")])
def test_whole_files_that_nobody_vouches_for_stay_where_they_are(place, death, store):
    """Checkpoints that no snapshot holds yet, and a file that stays open beside them."""
    script = SAVER.replace("sys.exit(1)", "print('saved', flush=True); time.sleep(1000)")
    script = script.replace("for step in", "metrics = open(f'{directory}/curve', 'a', buffering=1)\nfor step in")
    script = script.replace("time.sleep(pause)", "metrics.write(f'{step}\\n'); time.sleep(pause)")
    run = place.run(PYTHON, "-c", script, place.directory, "15", "0.05", "wait", options=(*QUICK, "--snapshot-interval", "1h"))
    run.wait_for_output("saved")
    listed = place.path / "checkpoints.reprieve" / "under-way"
    wait_for("all are complete", lambda: not listed.exists() or b"ck-" not in listed.read_bytes(), process=run.process)
    if death == "job":
        os.kill(run.job_pid, signal.SIGKILL)
        assert run.wait() == 137
    else:
        run.kill()
    if store == "lost":
        shutil.rmtree(place.store_path)
    again = place.run(PYTHON, "-c", SAVER, place.directory, "0", "0", "exit", options=QUICK)
    assert again.wait() == 1
    assert again.out.startswith("resuming 1 ") and all(f"ck-{step:06d}.pkl" in again.out for step in range(1, 16)), again
    assert "step 15" in again.err and place.newest()["step"] == 15
    assert not [path for path in (place.path / "checkpoints.reprieve").rglob("ck-*")]


def test_files_of_an_older_attempt_lose_to_the_store(place):
    """Also those that nobody had vouched for when the machine went away."""
    run = place.run(PYTHON, "-c", SAVER.replace("sys.exit(1)", "time.sleep(1000)"), place.directory, "3", "0.3", "wait", options=QUICK)
    run.wait_for_event("durable")
    run.kill()
    stranger = place.directory / "ck-000009.pkl"
    stranger.write_bytes(b"s")
    other = place.run(PYTHON, "-c", SAVER, place.path / "elsewhere", "5", "0.3", "exit", options=QUICK, directory=place.path / "elsewhere")
    assert other.wait() == 1 and place.newest()["step"] == 5
    again = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", "ls", place.directory)
    assert again.out.split() == [f"ck-{step:06d}.pkl" for step in range(1, 6)], again
    assert not stranger.exists()


SETS = """
import os, sys, time
directory, delete = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
for step in (10, 20):
    for rank in (0, 1):
        with open(f"{directory}/step-{step}.rank{rank}", "wb") as file: file.write(os.urandom(3000))
    time.sleep(0.6)
while not os.path.exists("go"): time.sleep(0.02)
os.unlink(f"{directory}/{delete}")
print("deleted", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("delete,here", [
    ("step-20.rank0", ["step-10.rank0", "step-10.rank1", "step-20.rank0", "step-20.rank1"]),  # the newest: all of it is in the store
    ("step-10.rank0", ["step-20.rank0", "step-20.rank1"]),  # an old one: what is left of it is moved aside
])
def test_killed_while_it_deleted_a_checkpoint(place, delete, here):
    run = place.run(PYTHON, "-c", SETS, place.directory, delete, options=QUICK)
    wait_for("all of it in the store", lambda: any(event["step"] == 20 and event["files"] == 4 for event in run.events("durable")),
             process=run.process)
    (place.path / "go").touch()
    run.wait_for_output("deleted")
    run.kill()
    again = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", "ls", place.directory)
    assert again.code == 0 and again.out.split() == here, again


SAVER = """
import os, sys, tempfile, time
directory, times, pause, end = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
print("resuming", os.environ["REPRIEVE_RESUMING"], sorted(os.listdir(directory)) if os.path.isdir(directory) else [], flush=True)
os.makedirs(directory, exist_ok=True)
for step in range(1, times + 1):
    path = f"{directory}/ck-{step:06d}.pkl"
    with open(path + ".tmp", "wb") as file: file.write(os.urandom(1000))
    os.replace(path + ".tmp", path)
    time.sleep(pause)
if end == "kill": os.kill(os.getpid(), 9)
sys.exit(1)
"""


@pytest.mark.parametrize("end", ["kill", "exit"])
def test_a_job_that_never_pauses_keeps_all_of_its_checkpoints(place, end):
    """Of the last one it is known by those before it that it was whole when its file was closed."""
    run = place.run(PYTHON, "-c", SAVER, place.directory, "8", "0.05", end, options=("--quiet-time", "30s"))
    assert run.wait() == (137 if end == "kill" else 1)
    assert (place.newest()["step"], place.newest()["files"]) == (8, 8), run
    assert "in no snapshot" not in run.err


def test_a_save_in_the_last_moment_of_a_failed_job_is_spoken_of(place):
    options = ("--quiet-time", "30s")
    run = place.run(PYTHON, "-c", SAVER, place.directory, "1", "0", "exit", options=options)
    assert run.wait() == 1 and place.newest() is None
    assert f"ck-000001.pkl in {place.directory} is in no snapshot" in run.err
    # It was closed: the next start finds it, as it does without Reprieve, and commits it.
    again = place.run(PYTHON, "-c", SAVER, place.directory, "0", "0", "exit", options=options)
    assert again.wait() == 1 and again.out == "resuming 1 ['ck-000001.pkl']\n", again
    assert "in no snapshot" not in again.err and (place.newest()["step"], place.newest()["files"]) == (1, 1), again


EMERGENCY = """
import os, pickle, sys
os.makedirs(sys.argv[1], exist_ok=True)
state = {"step": 120, "weights": os.urandom(100000)}
try:
    raise RuntimeError("a CUDA error")
except RuntimeError:
    with open(sys.argv[1] + "/emergency.pkl", "wb") as file:
        if sys.argv[2] == "whole": pickle.dump(state, file)
        else: file.write(pickle.dumps(state)[:-1])
    raise
"""


@pytest.mark.parametrize("saved", ["whole", "cut"])
def test_a_pickle_that_an_exception_handler_saves_is_whole_by_its_last_opcode(place, saved):
    run = place.run(PYTHON, "-c", EMERGENCY, place.directory, saved, options=("--quiet-time", "30s"))
    assert run.wait() == 1
    assert (place.newest() is not None) == (saved == "whole"), run
    assert ("emergency.pkl in" in run.err and "in no snapshot" in run.err) == (saved == "cut"), run


def test_a_save_in_the_last_moment_before_a_code_that_is_success_is_saved(place):
    run = place.run(PYTHON, "-c", SAVER, place.directory, "1", "0", "exit", options=("--quiet-time", "30s", "--success-code", "1"))
    assert run.wait() == 0
    assert place.newest()["step"] == 1 and "in no snapshot" not in run.err, run


ASKED = """
import os, signal, sys, time
directory, asking, names, again = sys.argv[1:]
def save(step, names):
    for name in names.split():
        with open(f"{directory}/step_{step}.{name}", "wb") as file: file.write(os.urandom(1000))
def asked(number, frame):
    save(3, names)
    sys.exit(1)
os.makedirs(directory, exist_ok=True)
save(1, "weights optimizer")
signal.signal(getattr(signal, asking), asked)
while not os.path.exists(again): time.sleep(0.01)
save(2, "weights optimizer")
os.write(1, b"saved 2\\n")
while True: time.sleep(0.01)
"""


def test_half_of_what_sigterm_asked_for_is_not_durable(place, tmp_path):
    run = place.run(PYTHON, "-c", ASKED, place.directory, "SIGTERM", "weights", tmp_path / "again", options=QUICK)
    run.wait_for_event("durable")
    run.signal(signal.SIGTERM)
    assert run.wait() == 74
    assert place.newest()["step"] == 1 and "step_3.weights" in run.err and "NOT durable" in run.err.splitlines()[-1], run


def test_what_sigterm_asked_for_counts_right_after_another_save(place, tmp_path):
    run = place.run(PYTHON, "-c", ASKED, place.directory, "SIGTERM", "weights optimizer", tmp_path / "again", options=("--quiet-time", "2s"))
    run.wait_for_event("durable")
    (tmp_path / "again").touch()
    run.wait_for_output("saved 2\n")
    run.signal(signal.SIGTERM)
    assert run.wait() == 75
    assert place.newest()["step"] == 3 and "in no snapshot" not in run.err, run


def test_the_last_line_names_what_is_not_durable(place, tmp_path):
    run = place.run(PYTHON, "-c", ASKED, place.directory, "SIGUSR1", "weights", tmp_path / "again", options=(*QUICK, "--checkpoint-signal", "USR1"))
    run.wait_for_event("durable")
    run.signal(signal.SIGTERM)
    assert run.wait() == 1
    assert f"but step_3.weights in {place.directory} is NOT durable" in run.err.splitlines()[-1], run


def test_temporary_names_give_no_step(place):
    script = "import os, sys, time; directory = sys.argv[1]; os.makedirs(directory, exist_ok=True)\n" \
             "for name in ('tmp8u71', 'model.pkl.99.part'):\n" \
             "    with open(f'{directory}/{name}', 'wb') as file: file.write(os.urandom(100))\n" \
             "    os.replace(f'{directory}/{name}', f'{directory}/model.pkl'); time.sleep(0.5)\n"
    run = place.run(PYTHON, "-c", script, place.directory, options=QUICK)
    assert run.wait() == 0
    assert [snapshot["step"] for snapshot in place.snapshots() if snapshot["step"] not in (None, -1)] == []
@pytest.mark.parametrize("beside", ["checkpoints.reprieve", "checkpoints/.reprieve"])
def test_a_job_that_outlives_its_supervisor_keeps_the_next_one_out(place, beside):
    if beside == "checkpoints/.reprieve":  # where nothing can be made beside it
        (place.path / "checkpoints.reprieve").symlink_to("nowhere")
    first = place.run(*trainer(place, "--every", "10", "--steps", "100000"), options=QUICK)
    first.wait_for_event("durable")
    assert (place.path / beside / "lock").exists()
    refused = place.run("true")
    code = refused.wait()
    assert code != 0 and "another run here uses it" in refused.err, refused
    first.signal(signal.SIGKILL)
    first.wait()
    before = set(place.directory.glob("step_*/*"))
    again = place.run("true")
    assert again.wait() == code, "whoever starts it again is to do the same in both cases"
    assert f"still runs in it (process {first.job_pid}, job job): end that process" in again.err and not again.events("launched"), again
    assert is_alive(first.job_pid) and not list((place.path / beside).glob("quarantine"))
    assert before <= set(place.directory.glob("step_*/*"))
    os.kill(first.job_pid, signal.SIGKILL)
    wait_for("the end of the job", lambda: not is_alive(first.job_pid))
    assert place.run("true").wait() == 0


def test_a_job_that_outlives_its_supervisor_is_spoken_of_elsewhere(place):
    """A start of the job in another directory is told of it, each time; nobody makes durable what it saves. Other jobs have to do with
    none of it."""
    first = place.run(*trainer(place, "--every", "10", "--steps", "100000"), options=QUICK)
    first.wait_for_event("durable")
    first.signal(signal.SIGKILL)
    first.wait()
    for _ in range(2):
        elsewhere = place.run("true", directory=place.path / "elsewhere", options=())
        assert elsewhere.wait() == 0 and f"still runs here (process {first.job_pid})" in elsewhere.err, elsewhere
    other = place.query("run", "--store", place.store, "--job", "other", "-c", place.path / "elsewhere", "--", "true")
    assert other.code == 0 and "still runs" not in other.err, other
    # Nor has a job of that name in another store.
    other = place.query("run", "--store", f"file://{place.path}/other", "--job", place.job, "-c", place.path / "elsewhere", "--", "true")
    assert other.code == 0 and "still runs" not in other.err, other
    os.kill(first.job_pid, signal.SIGKILL)
    wait_for("the end of the job", lambda: not is_alive(first.job_pid))
    after = place.run("true", directory=place.path / "elsewhere", options=())
    assert after.wait() == 0 and "still runs" not in after.err, after


def test_the_users_own_files_and_logs_stay_where_they_are(place):
    place.directory.mkdir()
    (place.directory / "pretrained.bin").write_bytes(b"p" * 1000)
    script = f"exec 3>>{place.directory}/train.log; echo hi >&3; echo x > {place.directory}/step_5.pt; sleep 0.5; kill -9 $$"
    assert place.run("sh", "-c", script, options=QUICK).wait() == 137
    again = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", "ls", place.directory)
    assert again.out.split() == ["pretrained.bin", "step_5.pt", "train.log"]


def test_saving_a_directory_that_is_not_there_takes_nobodys_place(place):
    run = place.run(*trainer(place, "--every", "10", "--step-time", "0.05"), options=QUICK)
    run.wait_for_event("durable")
    assert place.verb("save", place.path / "no-such-directory").code == 78
    run.wait_for_event("durable", 2)


def test_a_writer_killed_in_mid_file_is_not_complete(place):
    script = f"""
import os, signal, time
os.makedirs({str(place.directory)!r}, exist_ok=True)
with open({str(place.directory)!r} + "/step_1.bin", "wb") as f: f.write(b"x" * 5000)
time.sleep(0.6)
f = open({str(place.directory)!r} + "/step_2.bin", "wb"); f.write(b"y" * 100); f.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    run = place.run(PYTHON, "-c", script, options=QUICK)
    assert run.wait() == 137
    assert place.newest()["step"] == 1
    assert place.newest()["files"] == 1


@pytest.mark.parametrize("shim", ["auto", "off"])
def test_a_directory_that_appears_with_its_first_checkpoint(place, shim):
    run = place.query("run", "--quiet-time", "150ms", "--shim", shim, "--",
                      *trainer(place, "--every", "5", "--steps", "7", "--step-time", "0.4", directory="checkpoints"))
    assert run.code == 0
    assert "durable: 000001-000001, step 5" in run.err


# --- without anything ---


def test_with_no_options_it_leaves_nothing_behind(place):
    result = place.query("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert result.code == 7 and result.out == "out\n"
    left = sorted(str(path.relative_to(place.path)) for path in place.path.rglob("*"))
    assert left == []


def test_the_default_store_saves_and_resumes(place):
    command = ("run", "--quiet-time", "150ms", "--", *trainer(place, "--every", "5", "--steps", "11", directory="checkpoints"))
    assert place.query(*command).code == 0
    shutil.rmtree(place.path / "checkpoints")
    again = place.query(*command)
    assert again.code == 0 and "resumed 10\n" in again.out


def test_a_default_store_that_cannot_be_had_costs_only_durability(place):
    result = place.query("run", "--quiet-time", "100ms", "--", *trainer(place, "--every", "5", "--steps", "11", directory="checkpoints"),
                         XDG_STATE_HOME="", HOME="")
    assert result.code == 0
    assert "finished 11" in result.out


def test_a_limit_on_the_size_of_files_costs_only_what_it_forbids(place):
    """The channel of the shim does not fit, nor does the event ledger soon; the job takes the signal as it always would."""
    ledger = place.path / "run1.events"
    ledger.write_text('{"event": "padding"}\n' * 1540)
    run = place.run("sh", "-c", f"echo job runs; head -c 40000 /dev/zero > {place.path}/large; echo ended $?",
                    wrapper=("bash", "-c", 'ulimit -f 32; exec "$@"', "bash"))
    assert run.wait() == 0, run
    assert "job runs\n" in run.out and "ended 153\n" in run.out, run
    assert "File too large" in run.err and "cannot write the event log" in run.err, run


def test_a_dry_run_says_what_a_start_would_meet(place):
    line = ("run", "--store", place.store, "--job", place.job, "-c", place.directory)
    dry = lambda: place.query(*line, "--dry-run", "--", "true")  # noqa: E731
    first = dry()
    assert first.code == 0 and "restore         none: no good snapshot is there" in first.out and "files there" not in first.out, first
    assert place.store in first.out and not place.store_path.exists()
    run = place.run("sh", "-c", f"mkdir -p {place.directory}; echo 1 > {place.directory}/step_1; sleep 1000", options=QUICK)
    run.wait_for_event("durable")
    busy = dry()
    assert busy.code == 70 and "in use: the job would not be started" in busy.out and "another run here uses it" in one_line(busy), busy
    assert place.query(*line, "--", "true").code == 70
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    after = dry()
    assert after.code == 0 and "restore         the newest good snapshot" in after.out and "files there     judged by the start" in after.out, after


@pytest.mark.parametrize("store, code, said", [
    ("ftp://host/x", 78, "no such kind of store"),
    ("az://account", 78, "an Azure store is named"),
    ("file:///proc/no/such", 78, "/proc/no"),
    ("s3://bucket/x", 70, "connect"),
])
def test_a_dry_run_with_a_store_that_cannot_be_used_says_so_and_fails(place, store, code, said):
    """With the exit code of the start, and one line."""
    line = ("run", "--store", store, "--job", "job", "-c", place.directory)
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
    dry = place.query(*line, "--dry-run", "--", "touch", place.path / "touched", **keys)
    assert dry.code == code and said in one_line(dry), dry
    assert "nothing: the job would not be started" in dry.out
    real = place.query(*line, "--", "touch", place.path / "touched", **keys)
    assert real.code == code and not (place.path / "touched").exists(), real


@pytest.mark.parametrize("option", [("--metrics", "192.0.2.1:9090"), ("--events", "/proc/no/such/place")], ids=" ".join)
def test_strict_does_not_start_without_what_was_asked_for(place, option):
    started = place.path / "started"
    command = ("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory, *option)
    run = place.query(*command, "--strict", "--", "touch", started)
    assert run.code == 78 and not started.exists(), run
    assert "not started: --strict" in run.err and "durable" not in run.err
    assert not place.store_path.exists(), "nothing is claimed"
    assert place.query(*command, "--", "touch", started).code == 0 and started.exists()


@pytest.mark.parametrize("option, code", [(("--notice", "slurm"), 78), (("--notice", "file:notice,aws"), 78), (("--notice", "file:notice"), 0), ((), 0),
                                          (("--store", "s3://snaps/runs"), 78)], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_strict_does_not_start_without_what_was_named(place, option, code):
    """A source that was not named may be missing."""
    elsewhere = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
                 "REPRIEVE_STORE_PATIENCE": "1s"}
    run = place.run("echo", "started", options=("--strict", *option), **elsewhere)
    assert run.wait() == code and run.out == ("" if code else "started\n"), run
    assert code == 0 or option[1] in run.err or "not started: notices from" in run.err, run


def test_strict_says_what_failed_and_not_that_work_is_lost(place):
    """The store is away for a while, and everything is durable in the end."""
    away = place.path / "away"
    run = place.run("sh", "-c", f"mv {place.store_path} {away}; touch {place.store_path}; mkdir {place.directory}; echo 1 > {place.directory}/step_1;"
                    f" while ! grep -q snapshot_failed {place.path}/run1.events; do sleep 0.1; done; rm {place.store_path};"
                    f" mv {away} {place.store_path}", options=(*QUICK, "--strict"))
    assert run.wait() == 74, run
    last = run.err.splitlines()[-1]
    assert "--strict" in last and "durable: 000001-" in last and "NOT durable" not in run.err, run


SECOND = {
    "numbered directories": ("checkpoints2/checkpoint-{}/model.pt", True),
    "numbered files": ("checkpoints2/step-{}.pt", True),
    "a fixed name": ("best/last.pt", True),
    "curves": ("results/losses.npy", False),
    "a cache": ("cache/features.pt", False),
    "one final model": (None, False),
}


@pytest.mark.parametrize("store_is_there", [False, True], ids=["store-elsewhere", "store-there"])
@pytest.mark.parametrize("what", SECOND)
def test_a_second_place_in_which_a_job_saves_is_said_once(place, tmp_path_factory, what, store_is_there):
    """Its saves in the first one do not hide it. What a job writes besides its checkpoints is its own business. The directory that holds
    both is advised only where it is not refused, as it is with the store in it."""
    name, said = SECOND[what]
    if not store_is_there:
        elsewhere = tmp_path_factory.mktemp("else")
        place.environment["HOME"] = str(elsewhere)  # which is below that directory too
        place.store_path = elsewhere / "store"
        place.store = f"file://{place.store_path}"
    directory = place.path / "outputs"
    script = "\n".join(("import os, time", "def put(path):", "    os.makedirs(os.path.dirname(path), exist_ok=True)",
                        "    open(path, 'w').write('m' * 5000)",
                        "for step in range(1, 7):", f"    put(f'{directory}/step-{{step}}.pt')",
                        f"    put({name!r}.format(step))" if name else f"    step == 6 and put('{place.path}/final/model.pt')",
                        "    time.sleep(0.3)"))
    run = place.run(PYTHON, "-c", script, options=QUICK, directory=directory)
    assert run.wait() == 0, run
    lines = [line for line in run.err.splitlines() if "also saves in" in line]
    assert len(lines) == len(run.events("saves_also_elsewhere")) == int(said), run
    if said:
        second = place.path / name.split("/")[0]
        assert f"also saves in {second} (" in lines[0] and (f"{place.path} holds both" in lines[0]) != store_is_there, run
        refused = place.query("run", "--dry-run", "--store", place.store, "--checkpoint-dir", place.path, "--", PYTHON, "-c", script)
        assert (refused.code == 78) == store_is_there, refused
    assert not run.events("saves_elsewhere"), run


def test_what_is_not_durable_and_lies_here_is_said_with_the_way_to_have_it(place):
    script = (f"rm -rf {place.store_path}; touch {place.store_path}; mkdir -p {place.directory}; echo 1 > {place.directory}/step_1;"
              f" while ! grep -q snapshot_failed {place.path}/run1.events; do sleep 0.1; done")
    run = place.run("sh", "-c", script, options=(*QUICK, "--flush-time", "1s"))
    assert run.wait() == 0 and run.err.count("is not durable; the job continues") == 1, run
    last = run.err.splitlines()[-1]
    way = f"reprieve save {place.directory} --job {place.job} --store {place.store}"
    assert "NOT durable" in last and f"(step 1) lies in {place.directory}" in last and f"`{way}`" in last and "lost" not in last, run
    place.store_path.unlink()
    assert place.query(*way.split()[1:]).code == 0 and place.newest()["files"] == 1


def test_a_second_interrupt_gives_up_what_is_being_saved(place):
    """The first one, as Ctrl-C, is the job's; what a second one would do is said before it comes."""
    script = (f"rm -rf {place.store_path}; touch {place.store_path}; mkdir -p {place.directory}; echo 1 > {place.directory}/step_1;"
              " while :; do sleep 0.1; done")
    run = place.run("sh", "-c", script, options=(*QUICK, "--flush-time", "1000s"))
    run.wait_for_event("snapshot_failed")
    run.signal(signal.SIGINT)
    wait_for("the offer", lambda: "is being made durable (Ctrl-C gives that up)" in run.err, process=run.process)
    run.signal(signal.SIGINT)
    assert run.wait() == 130, run
    assert "interrupted: what is not durable by now is given up" in run.err and "NOT durable" in run.err.splitlines()[-1], run
    assert "--flush-time" not in run.err.splitlines()[-1]


def test_only_what_can_be_a_lock_is_left_out_as_one(place):
    """A directory of such a name with all in it, and the long list of a package manager, are saved; what is left out is said once."""
    script = (f"mkdir -p {place.directory}/step_1.lock && cd {place.directory}; head -c 5000 /dev/zero > uv.lock; echo 1 > run.lock; echo 1 > b.lock;"
              " ln -s nobody link.lock; echo 1 > step_1.lock/weights; echo 1 > step_1.pt; sleep 1; echo 2 > step_2.pt")
    run = place.run("sh", "-c", script, options=(*QUICK, "--snapshot-interval", "0"))
    assert run.wait() == 0, run
    back = place.path / "back"
    assert place.verb("restore", "latest", back).code == 0
    assert sorted(str(path.relative_to(back)) for path in back.rglob("*")) == [
        "step_1.lock", "step_1.lock/weights", "step_1.pt", "step_2.pt", "uv.lock"]
    said = [line for line in run.err.splitlines() if "known as a name of locks" in line]
    assert len(said) == 1 and "leaves files out of the snapshots" in said[0], run


def test_nothing_written_is_said_with_the_directory(place):
    run = place.run("sh", "-c", "trap 'exit 143' TERM; echo started; while :; do sleep 0.1; done", options=QUICK)
    run.wait_for_output("started")
    run.signal(signal.SIGTERM)
    assert run.wait() == 74, run
    last = run.err.splitlines()[-1]
    assert f"nothing was written to {place.directory}" in last and "has not saved yet" in last, run
    assert "--checkpoint-dir" not in last, "nobody has seen that it saves elsewhere"
    saved = place.verb("report", "--json").json["total"]["saved_seconds"]
    assert saved == 0


def test_a_preempted_job_leaves_no_process_behind(place, tmp_path):
    notice = tmp_path / "notice"
    run = place.run("bash", "-c", " ".join(map(str, trainer(place, "--signal", "USR1"))) + " & wait",
                    options=(*QUICK, "--checkpoint-signal", "USR1", "--notice", f"file:{notice}"))
    run.wait_for_output("step 5\n")
    group = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and TRAINER.encode() in command_line(pid)]
    notice.write_text(json.dumps({"reason": "x", "in_seconds": 60}))
    assert run.wait(LIMIT) == 75
    mine = [pid for pid in group if is_alive(pid) and str(place.path).encode() in command_line(pid)]
    assert mine == []


def test_what_a_snapshot_cannot_hold_is_said_once(place):
    place.directory.mkdir()
    (place.directory / "dataset").symlink_to("/etc")
    run = place.run("sh", "-c", "cd \"$0\"; echo loss > train.log; for i in 1 2 3; do echo $i > step_$i; sleep 0.7; done", place.directory,
                    options=QUICK)
    assert run.wait() == 0, run
    assert len(run.events("durable")) > 1, run
    assert run.err.count("dataset in ") == 1 and run.err.count("is a symbolic link that leads out of it and is NOT in the snapshot:") == 1
    assert "train.log" not in run.err and re.search(r"^ *running .* train\.log$", place.verb("show").out, re.M)


def test_what_was_put_there_by_hand_is_no_step_of_the_job(place):
    """A pretrained model: a number in its name counts something else."""
    place.directory.mkdir()
    (place.directory / "pretrained-step-50.bin").write_bytes(b"p" * 5000)
    run = place.query("run", "--store", place.store, "--job", "job", "-c", place.directory, "--", "sh", "-c", "echo step=$REPRIEVE_STEP")
    assert run.code == 0 and run.out == "step=\n" and "step 50" not in run.err, run
    assert place.newest()["step"] is None, run


def test_of_a_command_that_has_nothing_to_save_nothing_is_said(place):
    """That nobody announces the end is said once there is something to lose."""
    known = "while ! grep -q unavailable events; do sleep 0.05; done"
    for then, said in [("true", False), ("mkdir -p checkpoints; echo 1 > checkpoints/step-1.bin", True)]:
        done = subprocess.run([REPRIEVE, "run", "--notice", "slurm", "--events", "events", "--", "sh", "-c", f"{known}; {then}"],
                              cwd=place.path, env=place.environment, capture_output=True, text=True, timeout=LIMIT, check=True)
        assert ("not a Slurm job" in done.stderr) == said and (said or done.stderr == ""), done
        (place.path / "events").unlink()
