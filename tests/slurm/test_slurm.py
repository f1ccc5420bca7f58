"""Jobs under a real Slurm, on the loopback: preempted, requeued once, resumed, finished; and left alone where that is right."""
import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from cluster import GRACE, KILL_WAIT
from harness import REPRIEVE, ROOT

SAVER = ROOT / "tests" / "e2e" / "saver.py"
SLOW = ("--quiet-time", "2")  # so that scontrol answers before the save is through
BUSY = ("--nodelist=one", "--cpus-per-task=9")  # so much of a node that two such jobs do not fit


class Work:
    """What one test's job leaves: its store, its checkpoints, its log."""

    def __init__(self, slurm, path):
        self.slurm, self.path, self.log_path, self.jobs = slurm, path, path / "log", []

    def run(self, *options, steps="", saver="--on-signal", each=""):
        """A `reprieve run` for a script. The first start trains on and on; the next ones end at once, with what they resumed."""
        words = [REPRIEVE, "run", "--notice", "none", "--grace", "20", "--quiet-time", "0.2", "--checkpoint-signal", "USR1",
                 "--store", f"file://{self.path}/store", *options]
        finish = '--steps "$([ "${SLURM_RESTART_COUNT:-0}" = 0 ] && echo 1000000 || echo 1)"'
        return (f"{shlex.join(map(str, words))} --checkpoint-dir {self.path}/checkpoints{each} "
                f"-- {sys.executable} {SAVER} --pause 0.05 {saver} {steps or finish}")

    def submit(self, script, *options):
        self.jobs.append(self.slurm.sbatch(script + "\n", "--output", self.log_path, "--open-mode=append", "--chdir", self.path,
                                           *options))
        return self.jobs[-1]

    def end(self):
        """So that the next test finds its place free. Again and again, because a script may requeue itself when it is cancelled."""
        queued = ["squeue", "--noheader", f"--jobs={','.join(self.jobs)}"]

        def gone():
            self.slurm.call("scancel", *self.jobs, check=False)
            return not self.slurm.call(*queued, check=False).strip()
        self.slurm.wait("the test's jobs to be gone", gone)

    @property
    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    def wait_log(self, pattern, count=1):
        return self.slurm.wait(f"{pattern} in the log", lambda: len(found := re.findall(pattern, self.log, re.M)) >= count and found)

    def started(self, count=1):
        """Training, and with something to save."""
        self.wait_log(r"^resumes 0$", count)

    def resumed(self):
        """It went on from exactly what was saved, once, and the log has both starts."""
        saved, resumes = re.findall(r"^saved (\d+)$", self.log, re.M), re.findall(r"^resumes (\d+)$", self.log, re.M)
        assert "BAD" not in self.log
        assert resumes[0] == "0" and len(resumes) == 2, self.log
        assert saved and int(resumes[1]) > 0 and resumes[1] == saved[-1], self.log
        assert len(re.findall(r"finished \d", self.log)) == 1, self.log


@pytest.fixture
def work(slurm, tmp_path):
    work = Work(slurm, tmp_path)
    yield work
    work.end()


def restarts(slurm, job):
    return int(slurm.show(job)["Restarts"])


def finishes_after_one_restart(slurm, work, job):
    slurm.wait_state(job, "COMPLETED")
    assert restarts(slurm, job) == 1, work.log
    assert len(re.findall("requeueing Slurm's job", work.log)) == 1, work.log
    work.resumed()


def preempt(slurm):
    """A job of the better partition that needs what the other has."""
    return slurm.sbatch("sleep 1\n", "--partition=high", "--output=/dev/null", *BUSY)


# --- preemption by the partition's priority, with a grace time ---

@pytest.mark.parametrize("partition", ["low", "endless"])
def test_srun_gets_a_grace_time_that_is_shorter_than_we_are_told(slurm, work, partition):
    """--grace promises five minutes; Slurm, asked when SIGTERM comes, gives ten seconds. It shows no EndTime where there is no time limit."""
    job = work.submit("srun " + work.run("--grace", "300", *SLOW), f"--partition={partition}", *BUSY)
    work.started()
    assert (slurm.show(job)["EndTime"] == "Unknown") == (partition == "endless")
    other = preempt(slurm)
    left, = work.wait_log(r"the end of Slurm's grace time\): ([\d.]+) s left")
    assert float(left) <= GRACE
    finishes_after_one_restart(slurm, work, job)
    assert slurm.state(other) == "COMPLETED"


@pytest.mark.parametrize("end", ["requeue", "cancel"])
def test_who_is_ended_by_slurm_has_kill_wait(slurm, work, end):
    """--grace promises five minutes; but nobody has asked for a grace time."""
    job = work.submit("exec " + work.run("--grace", "300", *SLOW), "--partition=still")
    work.started()
    slurm.call(*(["scontrol", "requeue"] if end == "requeue" else ["scancel"]), job)
    left, = work.wait_log(r"KillWait after SIGTERM\): ([\d.]+) s left")
    assert float(left) <= KILL_WAIT
    if end == "requeue":
        slurm.wait_state(job, "COMPLETED")
        work.resumed()
    assert "requeueing" not in work.log, work.log


def test_the_batch_script_gets_it_through_the_signal(slurm, work):
    job = work.submit("exec " + work.run(), "--signal=B:USR1@5", *BUSY)
    work.started()
    preempt(slurm)
    finishes_after_one_restart(slurm, work, job)


def test_the_batch_script_without_a_signal_is_requeued_by_slurm_alone(slurm, work):
    """It hears nothing until the grace time is over; then Slurm kills and requeues it."""
    job = work.submit("exec " + work.run(), *BUSY)
    work.started()
    preempt(slurm)
    slurm.wait_state(job, "COMPLETED")
    assert restarts(slurm, job) == 1
    # Which of the two it says depends on how far Slurm is.
    assert "requeueing" not in work.log and re.search("Slurm has (requeued|ended) this job", work.log), work.log
    work.resumed()


# --- a script that goes on behind the training ---

BEHIND = "{run} || exit $?\necho evaluates\n"


def signal_to_script(slurm, job):
    """As --signal=B:TERM sends it: to the batch shell alone, which does not exec."""
    slurm.call("scancel", "--batch", "--signal=TERM", job)


def evaluated_once_and_at_the_end(work):
    assert work.log.count("evaluates") == 1 and work.log.index("evaluates") > work.log.index("finished"), work.log


def test_a_signal_that_ends_the_script_alone_is_a_notice(slurm, work):
    """The shell dies of it, and with it the job: the training must not go on outside of the allocation, but save and be requeued."""
    job = work.submit(BEHIND.format(run=work.run()), "--partition=still")
    work.started()
    signal_to_script(slurm, job)
    work.wait_log("the script that started reprieve has ended")
    work.wait_log("requeueing Slurm's job")
    slurm.wait("the orphans to be gone", lambda: not processes_of(work.path))
    finishes_after_one_restart(slurm, work, job)
    evaluated_once_and_at_the_end(work)


def test_a_script_that_ends_by_itself_is_not_requeued(slurm, work):
    job = work.submit(work.run() + " &\nuntil grep -q '^resumes' log; do sleep 0.2; done\nexit 3", "--partition=still")
    work.wait_log("the script that started reprieve has ended")
    work.wait_log("not requeued: Slurm has ended this job")
    slurm.wait("the orphans to be gone", lambda: not processes_of(work.path))
    assert slurm.state(job) == "FAILED" and restarts(slurm, job) == 0, work.log


def test_a_cancelled_script_is_not_requeued(slurm, work):
    job = work.submit(BEHIND.format(run=work.run()), "--partition=still")
    work.started()
    slurm.call("scancel", job)
    slurm.wait("every process to be gone", lambda: not slurm.step_daemons(job) and not processes_of(work.path))
    assert slurm.state(job) == "CANCELLED" and restarts(slurm, job) == 0 and "requeueing" not in work.log, work.log
    assert re.search(r"^saved \d+$", work.log, re.M), work.log


def test_the_advised_form_goes_on_behind(slurm, work):
    """srun in the script, and --signal without B:, which the script itself does not get."""
    job = work.submit(BEHIND.format(run="srun " + work.run()), "--partition=still")
    work.started()
    slurm.call("scancel", "--signal=TERM", job)
    finishes_after_one_restart(slurm, work, job)
    evaluated_once_and_at_the_end(work)


# --- scancel ---

@pytest.mark.parametrize("prefix", ["srun ", "exec "])
def test_what_was_cancelled_stays_so(slurm, work, prefix):
    job = work.submit(prefix + work.run())
    work.started()
    slurm.call("scancel", job)
    slurm.wait_state(job, "CANCELLED")
    slurm.wait("every process to be gone", lambda: not slurm.step_daemons(job))
    assert restarts(slurm, job) == 0 and slurm.state(job) == "CANCELLED"
    work.wait_log("not requeued: Slurm has ended this job")
    assert "requeueing" not in work.log
    # And the work is there for whoever submits it again: by its name, because the next job has another one.
    assert f"and so does the same command with --job slurm-{job} (exit 75)" in work.log, work.log
    assert re.search(r"^saved \d+$", work.log, re.M), work.log


def test_cancelled_while_it_saves(slurm, work):
    """First the signal ahead of the end, then, before the save is through, scancel."""
    job = work.submit("exec " + work.run("--grace", "20", saver="--on-signal --between 2"))
    work.started()
    slurm.call("scancel", "--batch", "--signal=TERM", job)
    work.wait_log("^between")
    slurm.call("scancel", job)
    slurm.wait_state(job, "CANCELLED")
    slurm.wait("every process to be gone", lambda: not slurm.step_daemons(job))
    assert restarts(slurm, job) == 0 and slurm.state(job) == "CANCELLED"
    assert "requeueing" not in work.log, work.log


# --- once per job ---

def test_only_that_element_of_an_array(slurm, work):
    script = "exec " + work.run(each="-$SLURM_ARRAY_TASK_ID")
    array = work.submit(script, "--array=0-2", "--partition=still")
    work.started(3)
    # The element whose own number is the array's: the one that a requeue of $SLURM_JOB_ID would take the others along for.
    chosen = next(task for task in range(3) if slurm.show(f"{array}_{task}")["JobId"] == array)
    slurm.call("scancel", "--batch", "--signal=TERM", f"{array}_{chosen}")
    slurm.wait_state(f"{array}_{chosen}", "COMPLETED")
    for task in range(3):
        assert restarts(slurm, f"{array}_{task}") == (1 if task == chosen else 0)
        assert task == chosen or slurm.state(f"{array}_{task}") == "RUNNING"
    assert len(re.findall(r"^resumes 0$", work.log, re.M)) == 3
    assert f"requeueing Slurm's job {array}_{chosen}" in work.log


def test_four_tasks_on_two_nodes(slurm, work):
    """Each a job of its own. The first is through at once, the last needs longer than Slurm leaves it after a requeue (KillWait)."""
    each = '-"$SLURM_PROCID"'
    inner = "exec " + work.run("--gang", "off", "--job", "JOB", "--grace", "60", "--quiet-time", "QUIET", each=each)
    inner = inner.replace("JOB", '"four-$SLURM_PROCID"').replace("QUIET", '"$([ "$SLURM_PROCID" = 3 ] && echo 8 || echo 0.2)"')
    job = work.submit(f"srun bash -c {shlex.quote(inner)}", "--ntasks=4", "--nodes=2", "--ntasks-per-node=2",
                      "--partition=still")
    work.started(4)
    slurm.call("scancel", "--signal=TERM", job)
    slurm.wait_state(job, "COMPLETED")
    assert restarts(slurm, job) == 1, work.log
    assert len(re.findall("requeueing Slurm's job", work.log)) == 1, work.log
    assert len(re.findall("the other tasks of this job may save", work.log)) == 1, work.log
    later = [int(step) for step in re.findall(r"^resumes ([1-9]\d*)$", work.log, re.M)]
    saved = [int(step) for step in re.findall(r"^saved (\d+)$", work.log, re.M)]
    assert len(later) == 4 and sorted(later) == sorted(saved), work.log


@pytest.mark.parametrize("options, submitted", [(("--requeue", "off"), ()), ((), ("--no-requeue",))], ids=["off", "may not"])
def test_a_job_that_is_not_to_come_back(slurm, work, options, submitted):
    job = work.submit("exec " + work.run(*options), *submitted, "--partition=still")
    work.started()
    signal_to_script(slurm, job)
    shown = slurm.wait_state(job, "FAILED")
    assert shown["ExitCode"] == "75:0" and shown["Restarts"] == "0"
    assert "submit it with sbatch --requeue" in work.log if submitted else "requeue" not in work.log


def test_a_finished_job_is_not_requeued_and_if_slurm_starts_it_again_resumes_and_ends(slurm, work):
    """As an administrator's requeue, or a node that is lost while the epilogue runs."""
    job = work.submit("exec " + work.run(steps="--steps 3"))
    assert slurm.wait_state(job, "COMPLETED")["Restarts"] == "0"
    assert "requeue" not in work.log
    slurm.call("scontrol", "requeue", job)
    slurm.wait("its second start", lambda: restarts(slurm, job) == 1)
    slurm.wait_state(job, "COMPLETED")
    assert work.log.count("finished 3") == 2 and "resum" in work.log, work.log


# --- the time limit: all at once, because Slurm knows no limit below a minute, and looks for it every half minute ---

OLD_SCRIPT = """{run} &
trap 'kill -TERM %1' TERM
wait %1 || wait %1
code=$?
[ "$code" -eq 75 ] && scontrol requeue "$SLURM_JOB_ID"
exit "$code"
"""
ASKED = "no signal, but asked ahead"  # whatever Slurm's version: before 23.02 scontrol knows the end
TIMED = {ASKED: "exec {run}", "B:TERM@59": "exec {run}", "B:USR1@59": "exec {run}", "TERM@59": "srun {run}", "": "exec {run}",
         "B:TERM@58": OLD_SCRIPT}


@pytest.fixture(scope="module", autouse=True)
def timed(slurm, tmp_path_factory):
    """By the --signal: the work and the job."""
    jobs = {}
    for option, script in TIMED.items():
        work = Work(slurm, tmp_path_factory.mktemp("timed"))
        signal_option = [f"--signal={option}"] if option and option != ASKED else []
        run = work.run(*["--notice", "slurm"] if option == ASKED else [])
        jobs[option] = work, work.submit(script.replace("{run}", run), *signal_option, "--time=1", "--partition=still",
                                         "--nodelist=one")
    yield jobs
    for work, _ in jobs.values():
        work.end()


@pytest.mark.parametrize("signal_option", ["B:TERM@59", "B:USR1@59", "TERM@59"])
def test_the_signal_before_the_time_limit_requeues(slurm, timed, signal_option):
    work, job = timed[signal_option]
    finishes_after_one_restart(slurm, work, job)


def test_a_script_that_requeues_as_well(slurm, timed):
    """As scripts did that were written before: Slurm ends them before they come to it, or refuses."""
    work, job = timed["B:TERM@58"]
    finishes_after_one_restart(slurm, work, job)


def test_the_time_limit_without_a_signal_is_meant(slurm, timed):
    work, job = timed[""]
    slurm.wait_state(job, "TIMEOUT", limit=180)
    assert restarts(slurm, job) == 0
    assert "not requeued: Slurm has ended this job" in work.log, work.log


def test_without_a_signal_it_is_asked_ahead_of_the_time_limit(slurm, timed):
    work, job = timed[ASKED]
    assert slurm.wait_state(job, "FAILED", limit=180)["ExitCode"] == "75:0"
    assert restarts(slurm, job) == 0 and "not requeued: this is the job's own time limit" in work.log, work.log
    assert "notices from slurm: armed" in work.log and re.search(r"^saved \d+$", work.log, re.M), work.log


def test_its_own_time_limit_is_no_reason_to_requeue(slurm, work):
    """Newer ones say when it ends; it saves ahead of that, and is done."""
    job = work.submit("export SLURM_JOB_END_TIME=$(($(date +%s) + 12))\nexec " + work.run("--notice", "slurm"))
    assert slurm.wait_state(job, "FAILED")["Restarts"] == "0"
    assert "the job's own time limit" in work.log and re.search(r"^saved \d+$", work.log, re.M), work.log


def test_a_signal_that_would_come_after_its_notice_requeues_it_too(slurm, work):
    """The end is known earlier than the script asks to be told of it: it saves, and has ended before the signal. Both are one notice."""
    job = work.submit("#SBATCH --signal=B:TERM@60\nexport SLURM_JOB_END_TIME=$(($(date +%s) + 12))\nexec " + work.run("--notice", "slurm"))
    finishes_after_one_restart(slurm, work, job)
    assert "notice from slurm (the job's time limit" in work.log and "(SIGTERM)" not in work.log.split("requeueing")[0].replace(
        "stopping the job (SIGTERM)", ""), work.log


# --- without scontrol ---

@pytest.fixture
def requeue_exit(slurm):
    path = slurm.place / "slurm.conf"
    before = path.read_text()
    path.write_text(before + "RequeueExit=75\n")
    slurm.call("scontrol", "reconfigure")
    yield
    path.write_text(before)
    slurm.call("scontrol", "reconfigure")


def test_the_exit_code_requeues_where_there_is_no_scontrol(slurm, work, requeue_exit):
    job = work.submit("PATH=/nowhere\nexec " + work.run(), "--partition=still")
    work.started()
    slurm.call("scancel", "--batch", "--signal=TERM", job)
    slurm.wait_state(job, "COMPLETED")
    assert restarts(slurm, job) == 1
    assert "scontrol is not installed here; with RequeueExit=75" in work.log and "requeueing" not in work.log
    work.resumed()


def test_with_both_it_is_still_once(slurm, work, requeue_exit):
    job = work.submit("exec " + work.run(), "--partition=still")
    work.started()
    slurm.call("scancel", "--batch", "--signal=TERM", job)
    finishes_after_one_restart(slurm, work, job)


def test_at_its_own_time_limit_slurm_may_requeue_it_for_its_code(slurm, work, requeue_exit):
    """Then nobody is told to submit it again."""
    job = work.submit("[ -z \"$SLURM_RESTART_COUNT\" ] && export SLURM_JOB_END_TIME=$(($(date +%s) + 12))\n"
                      "exec " + work.run("--notice", "slurm"), "--partition=still")
    slurm.wait_state(job, "COMPLETED")
    assert restarts(slurm, job) == 1
    assert "where slurm.conf has 75 in RequeueExit, Slurm requeues it all the same: look at squeue" in work.log, work.log


# --- a node is lost ---

def test_node_failure(slurm, work):
    """Nobody is asked, and nobody can requeue: Slurm does, and what was durable is gone on from."""
    job = work.submit("exec " + work.run(saver="--pause 0.6"), "--partition=still")
    work.wait_log(r"^saved \d+$", 2)
    work.wait_log("reprieve: durable:")
    node = slurm.show(job)["BatchHost"]
    slurm.stop(node, signal.SIGKILL)
    # One host stands for two, so they do not die with it. Slurm's first, that nobody may report the job's end.
    assert slurm.step_daemons(job)
    for pid in slurm.step_daemons(job) + processes_of(work.path):
        os.kill(pid, signal.SIGKILL)
    try:
        slurm.wait("the node to be down", lambda: slurm.nodes().get(node, "").startswith("down"), 120)
    finally:
        slurm.start_node(node)
    slurm.wait_state(job, "COMPLETED")
    assert restarts(slurm, job) == 1
    later = re.findall(r"^resumes ([1-9]\d*)$", work.log, re.M)
    assert len(later) == 1 and "BAD" not in work.log and "requeueing" not in work.log, work.log


def processes_of(path):
    """Which work there."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(path):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


# --- doctor, and the scripts of examples/ ---

@pytest.mark.parametrize("bad", ["", "the signal would end the shell"])
def test_doctor_reads_this_cluster(slurm, work, bad):
    store = f"--store file://{work.path}/store"
    script = f"#SBATCH --signal=B:TERM@60\n{bad and f'{REPRIEVE} run {store} -- true || exit 1'}\n{REPRIEVE} doctor --notice none {store} --measure 0 --json >doctor.json"
    job = work.submit(script, "--no-requeue")
    slurm.wait_state(job, "COMPLETED", "FAILED")
    rows = {row["check"]: row for row in json.loads((work.path / "doctor.json").read_text())["slurm"]}
    levels = {check: row["level"] for check, row in rows.items()}
    assert levels == {"requeue": "fail", "signal": "fail" if bad else "ok"}, rows


@pytest.mark.parametrize("name, options, starts", [("single", [], 1), ("then", [], 1), ("array", ["--array=4-5"], 2),
                                                   ("multi-task", ["--nodes=2", "--ntasks=4", "--ntasks-per-node=2"], 4)])
def test_the_examples(slurm, work, name, options, starts):
    """With their own options, and SIGTERM as --signal sends it; only the job's own way to be asked comes from the environment."""
    environment = {"REPRIEVE_STORE": f"file://{work.path}/store", "REPRIEVE_NOTICE": "none", "REPRIEVE_CHECKPOINT_SIGNAL": "USR1",
                   "PATH": f"{os.path.dirname(REPRIEVE)}:{slurm.environment['PATH']}"}
    restart = 'if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then steps=1000000; else steps=1; fi\n'
    command = work.path / "train.sh"
    command.write_text(f'#!/bin/bash\n{restart}exec {sys.executable} {SAVER} --pause 0.05 --on-signal --steps $steps\n')
    command.chmod(0o755)
    job = slurm.call("sbatch", "--parsable", f"--output={work.log_path}", f"--chdir={work.path}", "--partition=still", *options,
                     ROOT / "examples" / "slurm" / f"{name}.sh", *(["echo evaluates"] if name == "then" else []), command, **environment).strip()
    work.jobs.append(job)
    work.started(starts)
    if name in ("multi-task", "then"):
        slurm.call("scancel", "--signal=TERM", job)
        slurm.wait_state(job, "COMPLETED")
        assert name != "then" or work.log.count("evaluates") == 1, work.log
    else:
        elements = [f"{job}_4", f"{job}_5"] if name == "array" else [job]
        for element in elements:
            slurm.call("scancel", "--batch", "--signal=TERM", element)
        for element in elements:
            slurm.wait_state(element, "COMPLETED")
            assert restarts(slurm, element) == 1, work.log
    assert len(re.findall(r"^resumes [1-9]\d*$", work.log, re.M)) == starts, work.log
    assert len(re.findall("requeueing Slurm's job", work.log)) == (2 if name == "array" else 1)


# --- a gang: one checkpoint of all nodes ---

RANK = ROOT / "tests" / "e2e" / "gang_rank.py"


@pytest.mark.parametrize("end", ["preempted", "one node"])
def test_the_example_of_a_gang_is_requeued_and_goes_on_from_one_snapshot(slurm, work, end):
    """Two nodes, a supervisor on each. Slurm preempts the job, or only one of them gets the signal; all save at one step, all are requeued
    together, and all go on from that step. The checkpoints of the first start are gone then."""
    environment = {"REPRIEVE_STORE": f"file://{work.path}/store", "REPRIEVE_NOTICE": "none", "REPRIEVE_CHECKPOINT_SIGNAL": "USR1",
                   "PATH": f"{os.path.dirname(REPRIEVE)}:{slurm.environment['PATH']}"}
    command = work.path / "train.sh"
    command.write_text(f'''#!/bin/bash
echo "torchrun is told $PET_NNODES $PET_NODE_RANK $PET_MASTER_ADDR"
exec {sys.executable} {RANK} --dir "$REPRIEVE_CHECKPOINT_DIR" --meet {work.path}/meet --rank "$REPRIEVE_MACHINE" --ranks "$REPRIEVE_MACHINES" \\
	--every 0 --signal USR1 --step-time 0.02 --steps "$([ "$REPRIEVE_RESUMING" = 1 ] && echo $((REPRIEVE_STEP + 3)) || echo 1000000)"
''')
    command.chmod(0o755)
    partition, busy = ("low", ["--cpus-per-task=9"]) if end == "preempted" else ("still", [])
    job = slurm.call("sbatch", "--parsable", f"--output={work.log_path}", f"--chdir={work.path}", f"--partition={partition}", "--nodes=2",
                     *busy, ROOT / "examples" / "slurm" / "gang.sh", command, **environment).strip()
    work.jobs.append(job)
    work.wait_log(r"^step 20$", 2)
    if end == "preempted":
        preempt(slurm)
    else:
        supervisors = [pid for pid in processes_of(work.path) if Path(f"/proc/{pid}/exe").resolve() == Path(REPRIEVE).resolve()]
        assert len(supervisors) == 2
        os.kill(supervisors[0], signal.SIGTERM)
    slurm.wait(f"job {job} to be requeued", lambda: restarts(slurm, job) == 1)
    for checkpoints in ("checkpoints-0", "checkpoints-1"):
        (work.path / checkpoints).rename(work.path / f"gone-{checkpoints}")
    slurm.wait_state(job, "COMPLETED")
    durable = re.findall(r"preempted; durable: \S+ \(step (\d+)", work.log)
    assert len(durable) == 2 and durable[0] == durable[1] and int(durable[0]) > 0, work.log
    assert re.findall(r"^resumed (\d+)$", work.log, re.M) == ["0", "0", *durable], work.log
    told = re.findall(r"^torchrun is told 2 ([01]) (\S+)$", work.log, re.M)
    assert sorted(rank for rank, _ in told) == ["0", "0", "1", "1"] and len({host for _, host in told[:2]}) == 1, work.log
    assert "TORN" not in work.log and len(re.findall(r"^finished \d+$", work.log, re.M)) == 2, work.log
    assert restarts(slurm, job) == 1 and len(re.findall("requeueing Slurm's job", work.log)) == 1, work.log
