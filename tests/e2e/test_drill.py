"""reprieve drill: real processes, the real supervisor and metadata servers; good jobs pass, and each kind of bad one is found out."""
import json
import os
import signal
import socket
import subprocess
import xml.etree.ElementTree

import harness
import pytest

# Its result depends on every step before: whoever loses a step, or does one twice, ends with another digest. On a machine that will be
# taken away it has far more to do than there is time, however slow this computer is; on the others it hurries.
JOB = '''
import hashlib, json, os, signal, sys, time
mode, steps, directory, slow_attempts = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
undisturbed = os.environ["REPRIEVE_JOB"].endswith("-undisturbed")
pause = 0 if undisturbed or int(os.environ["REPRIEVE_ATTEMPT"]) > slow_attempts else 0.02
asked = False
def ask(*_):
    global asked
    asked = True
signal.signal(signal.SIGUSR1, ask)
state = {"step": 0, "digest": ""}
found = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
if found:
    state.update(json.load(open(os.path.join(directory, found[-1]))))
    if mode == "half":
        state["digest"] = ""
    print("resumed from step", state["step"], flush=True)
while state["step"] < steps:
    time.sleep(pause)
    state["step"] += 1
    state["digest"] = hashlib.sha256((state["digest"] + str(state["step"])).encode()).hexdigest()
    print("step", state["step"], flush=True)
    if asked or (mode == "each" and state["step"] % 15 == 0):
        asked = False
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "step-%06d.json" % state["step"])
        with open(path + ".tmp", "w") as file:
            json.dump(state, file)
        os.rename(path + ".tmp", path)
with open("final.txt", "w") as file:
    file.write(state["digest"])
sys.exit(int(sys.argv[5]))
'''


@pytest.fixture
def work(place):
    """A user's directory, with results of yesterday in it."""
    work = place.path / "work"
    (work / "out" / "ckpt").mkdir(parents=True)
    (work / "out" / "ckpt" / "step-999999.json").write_text('{"step": 999999, "digest": "yesterday"}')
    (work / "final.txt").write_text("yesterday")
    (work / "job.py").write_text(JOB)
    return work


class Drill:
    def __init__(self, place, work):
        self.place, self.work, self.scratch = place, work, place.path / "scratch"

    def arguments(self, *options, mode="good", steps=5000, slow_attempts=1, run=("--checkpoint-signal", "USR1"), exit=0):
        return [harness.REPRIEVE, "drill", "--directory", str(self.scratch), *map(str, options), "--", "run",
                "--checkpoint-dir", "out/ckpt", "--quiet-time", "200ms", *run, "--",
                harness.PYTHON, "job.py", mode, str(steps), "out/ckpt", str(slow_attempts), str(exit)]

    def start(self, *options, **more):
        return subprocess.Popen(self.arguments(*options, **more), cwd=self.work, env=self.place.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=harness.die_with_parent)

    def __call__(self, *options, **more):
        process = self.start(*options, **more)
        out, err = process.communicate(timeout=harness.LIMIT)
        return harness.Result(process, out, err)

    def events(self, machine):
        path = self.scratch / f"machine-{machine}.events"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def drill(place, work):
    return Drill(place, work)


def verdict_of(result):
    assert result.out.strip(), result
    return result.json


@pytest.mark.parametrize("cloud", ["gcp", "azure", "alibaba", "tencent"])
def test_good_job_survives_on_every_cloud(drill, work, cloud):
    result = drill("--cloud", cloud, "--notice-after", "1", "--compare", "final.txt", "--json")
    verdict = verdict_of(result)
    assert result.code == 0, result
    assert verdict["passed"] and verdict["cloud"] == cloud and verdict["last_exit"] == 0
    assert verdict["comparison"]["result"] == "equal" and verdict["comparison"]["bytes"] == 64
    [one] = verdict["rounds"]
    assert one["passed"] and one["exit_code"] == 75 and one["snapshot"] == one["resumed_from"]
    assert 0 <= one["noticed_seconds"] <= one["saved_seconds"] <= one["durable_seconds"]
    assert one["margin_seconds"] > 0 and one["lost_seconds"] >= 0
    assert 0 <= one["lost_steps"] <= one["last_step"] - one["snapshot_step"]
    # The machines had none of yesterday's results, and the user's own are as they were.
    assert (drill.scratch / "machine-2" / "job.py").read_text() == JOB and not (drill.scratch / "machine-2" / "job.py").is_symlink()
    assert not (drill.scratch / "machine-1" / "out" / "ckpt" / "step-999999.json").exists()
    assert (work / "final.txt").read_text() == "yesterday"
    assert os.listdir(work / "out" / "ckpt") == ["step-999999.json"]
    assert (drill.scratch / "machine-2" / "final.txt").read_text() == (drill.scratch / "machine-0" / "final.txt").read_text()


@pytest.mark.parametrize("way", ["environment", "linked"])
def test_checkpoints_named_by_an_absolute_path_below_the_current_directory(drill, place, work, way):
    """Each machine has its own all the same, and the job hears of it."""
    named = work / "out" / "ckpt"
    if way == "linked":
        (place.path / "link").symlink_to(work)
        named = place.path / "link" / "out" / "ckpt"
    arguments = drill.arguments("--notice-after", "1", "--json")
    at = arguments.index("--checkpoint-dir")
    if way == "environment":
        del arguments[at:at + 2]
        place.environment["REPRIEVE_CHECKPOINT_DIR"] = str(named)
    else:
        arguments[at + 1] = str(named)
    result = subprocess.run(arguments, cwd=work, env=place.environment, capture_output=True, text=True, timeout=harness.LIMIT)
    assert result.returncode == 0, result
    assert json.loads(result.stdout)["passed"]
    assert list((drill.scratch / "machine-1" / "out" / "ckpt").glob("step-*.json"))
    assert os.listdir(work / "out" / "ckpt") == ["step-999999.json"]


def test_two_rounds_and_a_report_for_people(drill):
    result = drill("--rounds", "2", "--notice-after", "800ms", "--compare", "final.txt", slow_attempts=2)
    assert result.code == 0, result
    assert "NOTICE" in result.out and "2 of 2 preemptions" in result.out
    assert "byte for byte" in result.out and result.out.rstrip().splitlines()[-1].startswith("PASS: lost ")
    assert str(drill.scratch) in result.out and "\033" not in result.out
    # What the store knows agrees: each machine's attempt goes on from the one before.
    claims = [next(event for event in drill.events(machine) if event["event"] == "claimed") for machine in (1, 2, 3)]
    assert [claim["attempt"] for claim in claims] == [1, 2, 3]
    commits = [[event["id"] for event in drill.events(machine) if event["event"] == "durable"][-1] for machine in (1, 2)]
    assert [claim["start"] for claim in claims] == [None, *commits]


def test_job_that_restores_half_of_its_state_fails(drill):
    result = drill("--notice-after", "500ms", "--compare", "final.txt", "--json", mode="half")
    verdict = verdict_of(result)
    assert result.code == 1, result
    assert verdict["rounds_passed"] == 1 and verdict["comparison"]["result"] == "different", result
    assert verdict["comparison"]["bytes"] == verdict["comparison"]["undisturbed_bytes"] == 64
    assert "differs" in verdict["reason"]


def test_notice_that_nobody_listens_for_fails(drill):
    result = drill("--notice-after", "300ms", "--notice", "1", "--json", run=("--notice", "none"))
    verdict = verdict_of(result)
    assert result.code == 1, result
    assert verdict["rounds"][0]["noticed_seconds"] is None and verdict["rounds"][0]["killed_at_deadline"]
    assert "did not see the notice" in verdict["rounds"][0]["reason"]


@pytest.mark.parametrize("command, code, said, options", [
    (["./no-such-command"], 127, "there is no such command", ("--gang", "2")), (["./job.py"], 126, "it is no program that may be executed", ()),
    (["sh", "-c", "no-such-interpreter train.py"], 127, "there is no such command", ("--compare", "final.txt"))])
def test_a_command_that_cannot_be_run_is_no_failed_training(place, work, command, code, said, options):
    temporary = place.path / "temporary"
    temporary.mkdir()
    place.environment["TMPDIR"] = str(temporary)
    result = subprocess.run([harness.REPRIEVE, "drill", *options, "--", "run", "--", *command], cwd=work, text=True,
                            env=place.environment, capture_output=True, timeout=harness.LIMIT)
    assert result.returncode == code, result
    assert result.stdout.rstrip().splitlines()[-1] == f"NOT RUN: the command cannot be run: {said} ({code})", result
    assert list(temporary.iterdir()) == []


def test_a_command_in_quotes_is_one_word(place, work):
    result = subprocess.run([harness.REPRIEVE, "drill", "--", "python train.py"], cwd=work, text=True, env=place.environment, capture_output=True, timeout=harness.LIMIT)
    assert result.returncode == 127 and "'python train.py' (127): write it without the quotes" in result.stdout.splitlines()[-1], result


@pytest.mark.parametrize("gang", [(), ("--gang", "2")])
def test_a_timeout_ends_the_drill(drill, place, gang):
    """With a verdict, and with what the machine that was running had said."""
    result = drill(*gang, "--timeout", "1500ms", "--notice-after", "10m", "--junit", place.path / "verdict.xml", steps=100000)
    assert result.code == 2 and "the drill did not end within --timeout" in result.out.splitlines()[-1], result
    suite = xml.etree.ElementTree.parse(place.path / "verdict.xml").getroot()
    assert int(suite.get("failures")) == 3 and suite.find("testcase[last()]/failure").get("type") == "UNPROVEN"


@pytest.mark.parametrize("gang", [(), ("--gang", "2")])
def test_what_a_timeout_cuts_on_the_next_machine_is_no_failure(drill, place, gang):
    """That it has started the job or not says nothing. The first machine loses its work in a moment; the second one never ends."""
    result = drill(*gang, "--timeout", "12s", "--notice-after", "1s", "--junit", place.path / "verdict.xml", steps=1000000, slow_attempts=2)
    assert result.code == 2 and result.out.splitlines()[-1].startswith("UNPROVEN: ") and "--timeout" in result.out.splitlines()[-1], result
    suite = xml.etree.ElementTree.parse(place.path / "verdict.xml").getroot()
    assert all(case.get("type") == "UNPROVEN" and "--timeout" in case.get("message") for case in suite.iter("failure")), result


def test_the_verdict_as_junit(drill, place):
    result = drill("--notice-after", "500ms", "--compare", "final.txt", "--junit", place.path / "verdict.xml")
    assert result.code == 0, result
    suite = xml.etree.ElementTree.parse(place.path / "verdict.xml").getroot()
    names = [case.get("name") for case in suite]
    assert names == ["preemption 1", "last run, to the end of the job", "result final.txt", "the drill as a whole"]
    assert suite.get("tests") == "4" and suite.get("failures") == "0" and not suite.findall(".//failure")
    assert suite.find("testcase[last()]/system-out").text.startswith("lost ")


def test_a_pass_whose_junit_is_lost_is_none(drill, place):
    directory = place.path / "results"
    directory.mkdir()
    process = drill.start("--notice-after", "500ms", "--junit", directory / "verdict.xml")
    harness.wait_for("the drill began", lambda: (directory / "verdict.xml").exists(), process=process)
    assert "cut off before its verdict" in (directory / "verdict.xml").read_text()
    directory.rename(place.path / "elsewhere")
    out, err = process.communicate(timeout=harness.LIMIT)
    assert process.returncode == 70 and "verdict.xml cannot be written" in harness.one_line(err), (out, err)


def test_the_users_own_store_is_used_under_another_name(drill, place):
    result = drill("--notice-after", "500ms", "--json", run=("--checkpoint-signal", "USR1", "--store", place.store, "--job", "precious"))
    verdict = verdict_of(result)
    assert result.code == 0, result
    assert verdict["store"] == place.store and verdict["job"] != "precious"
    drill.scratch = place.path / "again"
    shown = drill("--notice-after", "500ms", run=("--checkpoint-signal", "USR1", "--store", place.store))
    assert f"stay in {place.store}, as job drill-" in shown.out, shown
    assert place.query("list", "--store", place.store, "--job", verdict["job"], "--json").json["snapshots"]
    untouched = place.query("list", "--store", place.store, "--job", "precious")
    assert untouched.code == 78 and "has no job precious" in untouched.err


def test_the_store_of_the_environment_is_spared(drill, place):
    """It is meant for real runs, and what a drill leaves there nothing removes."""
    place.environment["REPRIEVE_STORE"] = place.store
    result = drill("--notice-after", "500ms", run=("--checkpoint-signal", "USR1"))
    assert result.code == 0, result
    assert not place.store_path.exists() and "and not to REPRIEVE_STORE" in result.out, result
    assert "stay in" not in result.out


def test_a_drill_in_a_batch_job_or_a_pod_does_not_pass_for_its_end(drill, place):
    """It asks Slurm for no requeue, and leaves the pod's termination message, the webhook, the deadline and the exit codes alone."""
    asked, message = place.path / "asked", place.path / "termination-log"
    scontrol = place.path / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text(f"#!/bin/sh\necho $* >>{asked}\necho JobId=4242 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1\n")
    scontrol.chmod(0o755)
    message.write_text("")
    webhook = socket.create_server(("127.0.0.1", 0))
    webhook.setblocking(False)
    place.environment.update(PATH=f"{scontrol.parent}:{os.environ['PATH']}", SLURM_JOB_ID="4242",
                             SLURM_ARRAY_JOB_ID="4242", SLURM_ARRAY_TASK_ID="3", REPRIEVE_TERMINATION_LOG=str(message),
                             REPRIEVE_NOTIFY=f"http://127.0.0.1:{webhook.getsockname()[1]}/", REPRIEVE_DEADLINE="1s", REPRIEVE_EXIT_POLICY="sagemaker")
    result = drill("--notice-after", "800ms", "--json")
    assert result.code == 0 and verdict_of(result)["passed"], result
    assert message.read_text() == "" and "requeue" not in (asked.read_text() if asked.exists() else ""), result
    with pytest.raises(BlockingIOError):
        webhook.accept()
    webhook.close()


@pytest.mark.parametrize("passes", [True, False])
def test_a_temporary_directory_goes_with_a_pass_alone(drill, place, passes):
    """Else it is said what is left, and why."""
    temporary = place.path / "temporary"
    temporary.mkdir()
    place.environment["TMPDIR"] = str(temporary)
    arguments = drill.arguments("--notice-after", "500ms" if passes else "60", steps=5000 if passes else 10)
    arguments = arguments[:2] + arguments[4:]
    assert "--directory" not in arguments
    result = subprocess.run(arguments, cwd=drill.work, env=place.environment, capture_output=True, text=True, timeout=harness.LIMIT)
    assert result.returncode == (0 if passes else 2), result
    kept = [line.split()[1].rstrip(",") for line in result.stdout.splitlines() if line.startswith("  kept ")]
    assert kept == [str(path) for path in temporary.iterdir()] and len(kept) == (0 if passes else 1), result
    assert passes or "since the drill has not passed" in result.stdout, result


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_drill_and_all_its_machines(drill, place, number):
    process = drill.start("--notice-after", "600", "--junit", place.path / "verdict.xml", steps=100000)
    log = drill.scratch / "machine-1.log"
    harness.wait_for("the job runs", lambda: log.exists() and "step 3\n" in log.read_text(), process=process)
    assert "is new: nothing was there" not in log.read_text(), "the store is the drill's own"
    launched = next(event for event in drill.events(1) if event["event"] == "launched")
    process.send_signal(number)
    out, err = process.communicate(timeout=harness.LIMIT)
    assert process.returncode == 128 + number, (out, err)
    assert not harness.is_alive(launched["pid"])
    suite = xml.etree.ElementTree.parse(place.path / "verdict.xml").getroot()
    assert suite.find("testcase/failure").get("message") == "ended by a signal"


@pytest.mark.parametrize("arguments, said", [
    ([], "comes the command, or `run` with options"),
    (["--notise", "5s", "--", "run", "--", "true"], "is --notice meant?"),
    (["-c", "out", "--", "true"], "'-c' is an option of `run`: write it behind `--`, as in `reprieve drill -- run -c ... -- COMMAND`"),
    (["--checkpoint-signal=USR1", "--", "true"], "'--checkpoint-signal' is an option of `run`"),
    (["--compare", "/tmp/x", "--", "run", "--", "true"], "--compare"),
    (["--", "walk", "--", "true"], "comes the command, or `run` with options"),
    (["--", "run", "--checkpoint-dir", "/abs", "--", "true"], "below the current directory"),
    (["--", "run", "--checkpoint-dir", "a/../../b", "--", "true"], "below the current directory"),
    (["--directory", ".", "--", "run", "--", "true"], "not an empty directory"),
    (["--junit", "no/such/x.xml", "--", "run", "--", "true"], "--junit no/such/x.xml cannot be written"),
    (["--step-pattern", "step [0-9]+", "--", "run", "--", "true"], "no group that holds the number"),
    (["--step-pattern", "step ([0-9]+", "--", "run", "--", "true"], "no extended regular expression"),
    (["--exclude", "/tmp", "--", "run", "--", "true"], "not below the current directory"),
])
def test_usage(place, work, arguments, said):
    result = subprocess.run([harness.REPRIEVE, "drill", *arguments], cwd=work, env=place.environment, text=True,
                            capture_output=True, timeout=harness.LIMIT)
    assert result.returncode == 64, result
    assert said in harness.one_line(result.stderr)


def test_an_ignored_signal_stays_ignored(drill):
    """As under nohup."""
    arguments = drill.arguments("--notice-after", "1", "--json")
    process = subprocess.Popen(["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *arguments], cwd=drill.work, text=True,
                               env=drill.place.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=harness.die_with_parent)
    log = drill.scratch / "machine-1.log"
    harness.wait_for("the job runs", lambda: log.exists() and "step 3\n" in log.read_text(), process=process)
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(timeout=harness.LIMIT)
    assert process.returncode == 0, (out, err)


def test_verbose_shows_the_machines(drill):
    result = drill("--verbose", "--json", "--notice-after", "300ms")
    assert result.code == 0, result
    assert "step 1\n" in result.err and "reprieve: " in result.err
    assert verdict_of(result)["passed"]
