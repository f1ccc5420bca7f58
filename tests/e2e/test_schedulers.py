"""What schedulers see: exit codes in their own terms, why the run ended, and whether it is well."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness import EXIT_DURABLE, EXIT_OURS, EXIT_USAGE, LIBC, PYTHON, REPRIEVE, ROOT, SAVER, one_line, wait_for

ASKED = ("--quiet-time", "200ms", "--checkpoint-signal", "USR1")
TRAINER = (PYTHON, SAVER, "--on-signal")
EXIT_UNAVAILABLE = 69


def start(place, *options, command=TRAINER, **environment):
    run = place.run(*command, options=(*ASKED, *options), **environment)
    run.wait_for_output("resumes")
    return run


def end(run):
    run.signal(signal.SIGTERM)
    return run.wait()


@pytest.fixture(autouse=True)
def a_name_of_its_own(place):
    """Others may run on this machine at the same time."""
    place.job = f"job-{os.getpid()}-{place.path.name}"


# --- exit codes ---

@pytest.mark.parametrize("policy, code", [("posix", EXIT_DURABLE), ("k8s", EXIT_DURABLE), ("kubeflow", 143), ("flyte", 247), ("sge", 99), ("oar", 99), ("htcondor", 85)])
def test_a_scheduler_is_told_in_its_own_terms(place, policy, code):
    run = start(place, "--exit-policy", policy)
    assert end(run) == code, run
    assert run.event("ended")["outcome"] == "preempted" and f"(exit {code})" in run.err


def test_what_the_job_says_itself_stays(place):
    run = place.run("sh", "-c", "exit 75", REPRIEVE_EXIT_POLICY="kubeflow")
    assert run.wait() == EXIT_DURABLE, run


def test_an_unknown_scheduler_is_refused(place):
    refused = place.query("run", "--exit-policy", "cron", "--", "true")
    assert refused.code == EXIT_USAGE and "invalid policy 'cron': write one of posix, k8s, " in one_line(refused)
    refused = place.query("explain", "exit", "--for", "cron")
    assert refused.code == EXIT_USAGE and "'cron'" in one_line(refused)


def test_explain_exit(place):
    known = place.query("explain", "exit", "--json").json
    assert {"k8s", "kubeflow", "jobset", "slurm", "sge", "oar", "pbs", "lsf", "htcondor", "skypilot", "aws-batch", "ecs", "gcp-batch", "flyte", "sagemaker", "systemd"} <= {
        row["name"] for row in known}
    for row in known:
        text = place.query("explain", "exit", "--for", row["name"])
        assert text.code == 0 and row["setup"] in text.out and f"\n  {row['preempted']:<4d}  asked to stop, and what the job saved last is durable" in text.out
    overview = place.query("explain", "exit")
    assert all(f"\n  {row['name']} " in overview.out for row in known)


def test_the_aws_batch_and_gcp_batch_snippets_are_json(place):
    for name in ("aws-batch", "gcp-batch"):
        json.loads("{" + place.query("explain", "exit", "--for", name, "--json").json["setup"] + "}")


def test_the_ecs_snippets_are_json(place):
    setup = place.query("explain", "exit", "--for", "ecs", "--json").json["setup"]
    task, machine = (part.split("\n", 1)[1] for part in setup.split("# ")[1:])
    [container] = json.loads("{" + task + "}")["containerDefinitions"]
    grace = next(int(one["value"]) for one in container["environment"] if one["name"] == "REPRIEVE_GRACE")
    assert grace < container["stopTimeout"] <= 120
    assert json.loads("{" + machine + "}")["Train"]["Retry"]


def test_a_container_has_one_name(place):
    """Whoever puts a printed rule into an example has a rule for the container that is there."""
    printed = {name for row in place.query("explain", "exit", "--json").json for name in re.findall(r"containerName: (\w+)", row["setup"])}
    files = sorted((ROOT / "examples" / "kubernetes").glob("*.yaml"))
    shown = {name for file in files for name in re.findall(r"containerName: (\w+)", file.read_text())}
    assert printed == shown == {"job"}


# --- the elements of an array ---

SLURM_ARRAY = {"SLURM_JOB_ID": "13", "SLURM_ARRAY_JOB_ID": "12"}


@pytest.mark.parametrize("elements", [[{**SLURM_ARRAY, "SLURM_ARRAY_TASK_ID": number} for number in "12"],
                                      [{"JOB_ID": "8", "SGE_TASK_ID": number} for number in "12"]], ids=["slurm", "sge"])
def test_elements_of_an_array_with_one_job_name_are_jobs_of_their_own(place, elements):
    runs = [place.run(*TRAINER, options=ASKED, directory=place.path / f"checkpoints-{number}", **element)
            for number, element in enumerate(elements, 1)]
    for number, run in enumerate(runs, 1):
        run.wait_for_output("resumes 0")
        assert f"job {place.job}_{number}, attempt 1: starting from scratch" in run.err, run
    # A third one in the first one's directory, which says what to do.
    variable = next(name for name in elements[1] if name.endswith("TASK_ID"))
    refused = place.run(*TRAINER, directory=place.path / "checkpoints-1", **{**elements[1], variable: "3"})
    assert refused.wait() == EXIT_OURS, refused
    assert f"another element of this array: give each its own directory, as --checkpoint-dir checkpoints-${variable}" in refused.err, refused
    assert [end(run) for run in runs] == [EXIT_DURABLE] * 2, runs
    assert {path.name for path in (place.store_path / "jobs").iterdir()} == {f"{place.job}_1", f"{place.job}_2"}
    again = place.run(*TRAINER, options=ASKED, directory=place.path / "checkpoints-1", **elements[0])
    again.wait_for_output("resumes")
    assert f"job {place.job}_1, attempt 2: " in again.err and "resumes 0" not in again.out, again
    # Outside of the array the whole name is the job's.
    place.job += "_2"
    assert place.newest()["step"] > 0


# --- why it ended ---

def test_the_reason_of_the_preemption_comes_first(place):
    log = place.path / "termination-log"
    log.write_text("")
    job = f"import os, sys; open({str(log)!r}, 'a').write('saved by the job itself\\n')"
    script = place.path / "train.py"
    script.write_text(f"import signal, sys, time\nprint('resumes 0', flush=True)\nasked = []\n"
                      f"signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))\n"
                      f"while not asked: time.sleep(0.02)\n{job}\nsys.exit(3)\n")
    inode = log.stat().st_ino
    run = start(place, "--termination-log", str(log), command=(PYTHON, script))
    run.signal(signal.SIGTERM)
    wait_for("the notice in the message", lambda: "preempted: SIGTERM (sigterm)" in log.read_text(), process=run.process)
    code = run.wait()
    lines = log.read_text().splitlines()
    assert lines == [f"preempted: SIGTERM (sigterm); durable: nothing; exit {code}", "saved by the job itself"], run
    assert log.stat().st_ino == inode, "a bind mount cannot be replaced"


def test_the_message_names_what_is_durable(place):
    log = place.path / "termination-log"
    run = start(place, REPRIEVE_TERMINATION_LOG=str(log))
    assert end(run) == EXIT_DURABLE, run
    newest = place.newest()
    assert log.read_text() == f"preempted: SIGTERM (sigterm); durable: {newest['id']}, step {newest['step']}; exit 75\n"


@pytest.mark.parametrize("end, reason", [("2099-01-01T00:00:00", "SIGTERM"), ("soon", "the end time that Slurm has set")])
def test_slurms_end_is_a_reason_where_it_is_the_earlier_one(place, end, reason):
    """scontrol is asked after the signal; the rest of the job's time is no news."""
    log, asked, scontrol = place.path / "termination-log", place.path / "asked", place.path / "bin" / "scontrol"
    when = "$(date -d '+9 seconds' +%FT%T)" if end == "soon" else end
    scontrol.parent.mkdir()
    scontrol.write_text(f'#!/bin/sh\necho "JobId=7 JobState=RUNNING EndTime={when} PreemptTime=None"\ntouch {asked}\n')
    scontrol.chmod(0o755)
    run = start(place, "--termination-log", str(log), "--grace", "60", "--requeue", "off", "--quiet-time", "4", SLURM_JOB_ID="7",
                PATH=f"{scontrol.parent}:{os.environ['PATH']}")
    run.signal(signal.SIGTERM)
    wait_for("scontrol's answer", asked.exists, process=run.process)
    assert run.wait() == EXIT_DURABLE, run
    assert log.read_text().startswith(f"preempted: {reason} (sigterm); durable: 000001-"), log.read_text()


def test_a_withdrawn_notice_leaves_no_message(place):
    log, notice = place.path / "termination-log", place.path / "notice"
    log.write_text("from the job\n")
    run = start(place, "--termination-log", str(log), "--notice", f"file:{notice}", command=("sh", "-c", "echo resumes; sleep 600"))
    notice.write_text('{"reason": "drain", "in_seconds": 600}')
    wait_for("the notice in the message", lambda: "drain" in log.read_text(), process=run.process)
    notice.unlink()
    wait_for("the job's own words alone", lambda: log.read_text() == "from the job\n", process=run.process)


def test_a_job_that_finished_leaves_no_message(place):
    log = place.path / "termination-log"
    assert place.run("true", options=("--termination-log", str(log))).wait() == 0
    assert not log.exists()


@pytest.mark.skipif(os.geteuid() != 0 or LIBC.unshare(0) != 0, reason="needs root, for a mount namespace")
def test_sagemaker_reads_the_failure_file(place):
    script = ('set -e; mkdir -p /opt; mount -t tmpfs none /opt; mkdir -p /opt/ml/output; "$@" || code=$?; '
              'cat /opt/ml/output/failure; exit "${code:-0}"')
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", REPRIEVE, "run", "--", "sh", "-c", "exit 3"],
                          env={**place.environment, "TRAINING_JOB_NAME": "digits"}, cwd=place.path, text=True, capture_output=True)
    assert done.returncode == 3 and done.stdout == "failed; durable: nothing; exit 3\n", done
    without = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", REPRIEVE, "run", "--termination-log", "", "--", "sh", "-c", "exit 3"],
                             env={**place.environment, "TRAINING_JOB_NAME": "digits"}, cwd=place.path, text=True, capture_output=True)
    assert without.stdout == "" and "No such file" in without.stderr, without


# --- is it well? ---

def probe(place, *options):
    return place.query("probe", "--job", place.job, *options)


def test_a_probe_knows_the_phase(place):
    nobody = probe(place)
    assert nobody.code == EXIT_UNAVAILABLE and "no such job" in one_line(nobody)
    run = start(place)
    for kind in ((), ("--live",), ("--ready",), ("--fresh", "1h")):
        answer = probe(place, *kind)
        assert answer.code == 0 and answer.out.startswith(f"ok {place.job}: training"), answer
    assert json.loads(probe(place, "--json").out)["phase"] == "training"
    end(run)
    assert probe(place).code == EXIT_UNAVAILABLE


def test_work_that_is_not_durable_for_too_long_is_not_fresh(place):
    start(place)
    wait_for("a moment of work", lambda: probe(place, "--fresh", "10ms").code == 1)
    stale = probe(place, "--fresh", "10ms", "--json")
    assert json.loads(stale.out)["ok"] is False and json.loads(stale.out)["at_risk_seconds"] > 0.01
    assert probe(place, "--fresh", "1h").code == 0


def test_probe_refuses_what_makes_no_sense(place):
    for words in (("--fresh", "soon"), ("--nope",), ("word",), ("--fresh",)):
        refused = place.query("probe", *words)
        assert refused.code == EXIT_USAGE and "probe: " in one_line(refused)


def test_a_supervisor_that_hangs_is_not_alive(place):
    run = start(place)
    os.kill(run.pid, signal.SIGSTOP)
    try:
        answer = probe(place)
    finally:
        os.kill(run.pid, signal.SIGCONT)
    assert answer.code == 1, answer


def test_the_unit_file_that_explain_prints_is_one(place, tmp_path):
    verify = "/usr/bin/systemd-analyze"
    if not Path(verify).exists():
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "digits.service"
    text = place.query("explain", "exit", "--for", "systemd", "--json").json["setup"]
    unit.write_text(text.replace("/usr/local/bin/reprieve", REPRIEVE))
    done = subprocess.run([verify, "verify", "--man=no", unit], text=True, capture_output=True)
    assert done.returncode == 0 and not done.stderr, done
