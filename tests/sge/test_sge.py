"""Jobs under a real Grid Engine, on the loopback: announced their end, queued again by exit code 99, resumed; and left alone where that is right."""
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from harness import PYTHON, REPRIEVE, ROOT, SAVER


class Work:
    """What one test's job leaves: its store, its checkpoints, its log."""

    def __init__(self, sge, path):
        self.sge, self.path, self.jobs = sge, path, []

    def run(self, *options, saver="--on-signal", each=""):
        """A `reprieve run` for a script. The first start trains on and on; the next ones end at once, with what they resumed."""
        words = [REPRIEVE, "run", "--notice", "none", "--grace", "15", "--quiet-time", "0.2", "--store", f"file://{self.path}/store",
                 *(("--checkpoint-signal", "USR1") if saver else ()), "--exit-policy", "sge", *options]
        return (f"exec {shlex.join(map(str, words))} --checkpoint-dir {self.path}/checkpoints{each} -- {PYTHON} {SAVER} --pause 0.05 {saver} "
                '--steps "$([ "$RESTARTED" = 0 ] && echo 1000000 || echo 1)"')

    def submit(self, script, *options, notify=("-notify",), **more):
        if more:  # as another user
            self.path.chmod(0o777)
            script = f"export HOME={self.path}\n{script}"
        self.jobs.append(self.sge.submit(script + "\n", *notify, "-o", self.path / "log", "-wd", self.path, *options, **more))
        return self.jobs[-1]

    def log(self, name="log"):
        return (self.path / name).read_text() if (self.path / name).exists() else ""

    def wait_log(self, pattern, name="log"):
        return self.sge.wait(f"{pattern} in the log", lambda: re.findall(pattern, self.log(name), re.M))

    def started(self, name="log"):
        """Training, and with something to save."""
        self.wait_log(r"^resumes 0$", name)

    def resumed(self, name="log"):
        """It went on from exactly what was saved, once, and the log has both starts. The last save's own line may be missing."""
        text = self.log(name)
        saved, resumes = re.findall(r"^saved (\d+)$", text, re.M), re.findall(r"^resumes (\d+)$", text, re.M)
        assert "BAD" not in text
        assert resumes[0] == "0" and len(resumes) == 2, text
        assert int(resumes[1]) > 0 and {resumes[1], str(int(resumes[1]) - 1)} & set(saved), text
        assert len(re.findall(r"finished \d", text)) == 1, text

    def snapshots(self, job):
        found = self.sge.call(REPRIEVE, "list", "--job", job, "--store", f"file://{self.path}/store", "--json", check=False)
        return found and json.loads(found)["snapshots"]


@pytest.fixture
def work(sge, tmp_path):
    work = Work(sge, tmp_path)
    yield work
    for job in work.jobs:
        sge.call("qmod", "-usq", "work", check=False)
        sge.call("qdel", "-f", job, check=False)
    sge.wait("the test's jobs to be gone", lambda: not any(sge.states(job) for job in work.jobs))


def is_queued(sge, job):
    states = sge.states(job)
    return states and all("q" in state for state in states)


def ends_with(sge, work, job, *codes):
    """Nothing is left of the job, and the account has these codes, one for each start; it is written a little later."""
    sge.wait(f"job {job} to be gone\n{work.log()}", lambda: not sge.states(job))
    sge.wait(f"{codes} in the account: {sge.account(job)}\n{work.log()}", lambda: sorted(sge.account(job)) == sorted(codes))


# --- the notice, and what it does to a process that does not know it ---

@pytest.mark.parametrize("saver", ["--on-signal", ""], ids=["asked", "without_a_handler"])
def test_a_queue_that_is_suspended_moves_the_job(sge, work, saver):
    """SIGUSR1 goes to every process of the job, `notify` seconds before SIGSTOP."""
    job = work.submit(work.run(saver=saver))
    work.started()
    work.wait_log(r"^saved") if not saver else None
    sge.call("qmod", "-sq", "work")
    work.wait_log(r"SIGUSR1 \(-notify\)")
    sge.wait("the job to be queued again", lambda: is_queued(sge, job))
    sge.call("qmod", "-usq", "work")
    ends_with(sge, work, job, 99, 0)
    work.resumed()
    assert work.snapshots(f"sge-{job}")


def test_a_job_that_is_deleted_saves_and_is_not_queued_again(sge, work):
    """SIGUSR2 goes to every process of the job, `notify` seconds before SIGKILL. The next one is told the name."""
    job = work.submit(work.run())
    work.started()
    sge.call("qdel", job)
    ends_with(sge, work, job, 99)
    assert "SIGUSR2 (-notify)" in work.log() and f"--job sge-{job}" in work.log() and "by exec" not in work.log()
    work.submit("RESTARTED=1\n" + work.run("--job", f"sge-{job}"))
    ends_with(sge, work, work.jobs[-1], 0)
    work.resumed()


def test_a_soft_limit_of_its_time(sge, work):
    job = work.submit(work.run(), "-l", "s_rt=0:0:5,h_rt=0:5:0")
    ends_with(sge, work, job, 99, 0)
    assert "SIGUSR1 (-notify)" in work.log()
    work.resumed()


@pytest.mark.parametrize("trap, told", [("", True), ("trap : USR1 USR2\n", False)])
def test_a_script_that_does_not_exec_is_told(sge, work, trap, told):
    """Its shell hears the signal as well; where that dies, Grid Engine ends the job."""
    work.submit(f"{trap}{work.run().removeprefix('exec ')} || exit $?")
    work.started()
    assert ("start reprieve by exec" in work.log()) == told, work.log()


APART = "import os, time\nprint('apart', flush=True)\nwhile not os.path.exists('over'): time.sleep(0.1)\nprint('alive', flush=True)"
OWN_SESSION = ["setsid"]
# As container runtimes do, with signals as they are by default.
OWN_PIDS = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c", 'env --default-signal "$@"; exit $?', "sh"]


@pytest.mark.parametrize("apart, shield", [(OWN_SESSION, "on"), (OWN_PIDS, "on"), (OWN_SESSION, "off"), (OWN_PIDS, "off")],
                         ids=["session", "pid_namespace", "session_unshielded", "pid_namespace_unshielded"])
def test_every_process_is_shielded(sge, work, apart, shield):
    """A user's jobs are signalled by the group that Grid Engine gives each; of root's, 8.1.9 signals the process group alone."""
    probe = ["setpriv", "--reuid=nobody", "--init-groups", *apart, "true"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip(f"not possible here: {shlex.join(probe)}")
    words = [REPRIEVE, "run", "--notice", "none", "--grace", "15", "--store", f"file://{work.path}/store", "--shield", shield,
             "--exit-policy", "sge", "--checkpoint-dir", f"{work.path}/checkpoints", "--", "bash", "-c",
             f"{shlex.join([*apart, PYTHON, '-c', APART])} & while [ ! -e over ]; do sleep 0.2; done; wait"]
    job = work.submit("exec " + shlex.join(map(str, words)), user="nobody")
    work.wait_log("^apart$")
    sge.call("qdel", job)
    work.wait_log(r"SIGUSR2 \(-notify\)")
    (work.path / "over").touch()
    sge.wait(f"job {job} to be gone\n{work.log()}", lambda: not sge.states(job))
    assert ("alive" in work.log()) == (shield == "on"), work.log()


def test_a_job_that_is_moved_is_not_told(sge, work):
    """`-ckpt` with `when x`: a suspension is SIGKILL at once, whatever -notify says. The next start has what was durable."""
    job = work.submit(work.run("--snapshot-interval", "0", saver=""), "-ckpt", "move", user="nobody")
    work.started()
    sge.wait("a snapshot", lambda: work.snapshots(f"sge-{job}"))
    sge.call("qmod", "-sq", "work")
    sge.wait("the job to be queued again", lambda: is_queued(sge, job))
    assert "SIGUSR" not in work.log() and "preempted" not in work.log(), work.log()
    sge.call("qmod", "-usq", "work")
    sge.wait(f"job {job} to be gone\n{work.log()}", lambda: not sge.states(job))
    work.resumed()


# --- arrays ---

def test_elements_of_an_array_are_queued_again_alone(sge, work):
    job = work.submit(work.run(each="-$SGE_TASK_ID"), "-t", "1-2", "-o", work.path / "log-$TASK_ID")
    for element in "12":
        work.started(f"log-{element}")
    sge.call("qmod", "-sq", "work")
    sge.wait("both to be queued again", lambda: is_queued(sge, job))
    sge.call("qmod", "-usq", "work")
    ends_with(sge, work, job, 0, 0, 99, 99)
    for element in "12":
        work.resumed(f"log-{element}")
        assert work.snapshots(f"sge-{job}_{element}")


# --- moved by hand ---

def test_reschedule_starts_it_again(sge, work):
    """qmod -rj needs -r y."""
    job = work.submit(work.run(), "-r", "y")
    work.started()
    sge.call("qmod", "-rj", job)
    sge.wait(f"job {job} to be gone\n{work.log()}", lambda: not sge.states(job))
    work.resumed()


# --- the examples, and what doctor says ---

@pytest.mark.parametrize("notify", [True, False])
def test_doctor_says_what_is_missing(sge, work, notify):
    job = work.submit(f"export PATH=$PATH:/usr/lib/gridengine\nexec {REPRIEVE} doctor --notice none --json --store file://{work.path}/store",
                      *(() if notify else ("-ckpt", "move")), notify=("-notify",) if notify else ())
    sge.wait("the end of doctor", lambda: not sge.states(job))
    assert work.log(), work.log()
    rows = {row["check"]: row["level"] for row in json.loads(work.log())["batch"]}
    assert rows.pop("notice") == ("ok" if notify else "fail")
    assert rows.pop("moved", None) == (None if notify else "warn")
    assert rows == {"grace": "warn", "exit code": "warn"}


@pytest.mark.parametrize("name", ["single", "array"])
def test_the_examples(sge, work, name):
    options = ("-t", "1-1") if name == "array" else ()
    variables = f"PATH={Path(REPRIEVE).parent}:/usr/bin:/bin,REPRIEVE_STORE=file://{work.path}/store,REPRIEVE_NOTICE=none,REPRIEVE_QUIET_TIME=0.2"
    work.jobs.append(sge.call("qsub", "-terse", "-o", work.path / "log", "-wd", work.path, "-v", variables, *options,
                              ROOT / "examples" / "sge" / f"{name}.sh", PYTHON, SAVER, "--pause", "0.05", "--steps", "300").strip().split(".")[0])
    work.started()
    work.wait_log(r"^saved")
    sge.call("qmod", "-sq", "work")
    work.wait_log(r"\(-notify\)")
    # It saves by itself, and has finished within its grace.
    sge.call("qmod", "-usq", "work")
    ends_with(sge, work, work.jobs[-1], 0)
    assert "BAD" not in work.log() and "finished 300" in work.log()
