"""One framework's proof: a training is preempted in the middle, everything is killed, and it goes on in an empty directory.

    alone         the script by itself, to its end: the loss of each step
    preempted     the same under `reprieve run`, which finds the profile by itself; in the middle of a step a notice comes; at its
                  deadline at the latest, everything is killed
    resumed       `reprieve run` once more, in an empty directory: the losses go on as if nothing had happened

Nothing depends on how long anything takes: what is waited for is a fact, and limits only end what hangs. So the preempted job stands
still in the middle of a step: one that can be asked until the notice is there, and it cannot have trained to its end before; the others
until they are ended, which then never hits a save. (A save that is cut off is for tests/faults: it rightly ends with 74.)
"""
import fnmatch
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import environments

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from harness import REPRIEVE, SETTINGS, die_with_parent, kill_quietly  # noqa: E402 (it lies there)

LIMIT = 600
# From the notice to the end of the machine. An asked job is long gone by then, however slow this machine is; one that cannot be asked
# is only waited for.
DEADLINE_ASKED, DEADLINE_NOT_ASKED = 120, 15
NOTICE_AT = 25  # steps, of which the first checkpoints took some
STAND_AT = 35  # behind the checkpoint of step 30, or 32
STEP = re.compile(r"^step (\d+) (\S+)$", re.M)
RESUMED = re.compile(r"^resumed (\d+)$", re.M)


class Failed(Exception):
    """What was expected, in a clause."""


class CannotRun(Exception):
    """What is not there, in a clause."""


def check(fact, text, *details):
    if not fact:
        raise Failed("\n".join([text, *map(str, details)]))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A command with its output in a file, and everything that it has started."""

    def __init__(self, case, name, command, environment):
        self.path = case.path / name
        self.mark = f"REPRIEVE_TEST_OF={self.path}"
        with open(self.path.with_suffix(".out"), "wb") as out, open(self.path.with_suffix(".err"), "wb") as err:
            self.process = subprocess.Popen(
                [str(word) for word in command], cwd=case.path, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env={**environment, **dict([self.mark.split("=", 1)])}, preexec_fn=die_with_parent)

    def text(self, ending):
        """What was printed, by the command or, where a launcher keeps that, by its tasks."""
        logs = sorted(self.path.with_suffix(".d.submitit").glob("*_log.out"))
        return "".join(path.read_text(errors="replace") for path in [self.path.with_suffix(ending), *logs])

    @property
    def out(self):
        return self.text(".out")

    @property
    def err(self):
        return self.text(".err")

    @property
    def events(self):
        path = self.path.with_suffix(".events")
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def all_events(self, kind):
        return [event for event in self.events if event["event"] == kind]

    @property
    def losses(self):
        return {int(step): loss for step, loss in STEP.findall(self.out)}

    @property
    def resumed_from(self):
        found = RESUMED.findall(self.out)
        return int(found[-1]) if found else 0

    def members(self):
        """All processes that carry our mark, wherever they have got to."""
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and self.mark.encode() in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    yield int(entry)
            except OSError:
                pass

    def kill_everything(self):
        """As a machine that is taken away. Returns how many there were."""
        killed = set()
        while True:
            left = set(self.members())
            if not left - killed:
                break
            for pid in left - killed:
                kill_quietly(pid, signal.SIGKILL)
            killed |= left
        self.process.wait()
        return len(killed)

    def wait(self, limit=LIMIT):
        """The exit code; None at the limit."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            return None

    def wait_for(self, what, fact):
        end = time.monotonic() + LIMIT
        while not fact():
            if self.process.poll() is not None and not fact():
                raise Failed(f"{what}: it ended first, with {self.process.returncode}\n{self}")
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {LIMIT} s\n{self}")
            time.sleep(0.02)

    def __str__(self):
        return f"--- {self.path.name}: stderr\n{self.err[-6000:]}\n--- {self.path.name}: the end of stdout\n{self.out[-400:]}"


class Case:
    """`command` is what a user would type, where DIR stands for the checkpoint directory. `profile`: what has to be found; None:
    nothing. `asked`: SIGTERM, SIGUSR1, SIGUSR2, flag, or None where it cannot be asked. `most_lost`: steps that a checkpoint on request
    may be behind; None: the job trains on after it, until it is ended. `near`: how close the losses are; 0: equal, bit for bit.
    `stands`: the script has the options by which it stands still; one that has not must be long enough to be preempted in time."""

    on_page = True

    def __init__(self, name, title, family, command, packages, profile, asked=None, most_lost=0, near=0.0, every=10, quick=False,
                 environment=None, inside=False, note="", stands=True):
        self.name, self.title, self.family, self.command, self.packages = name, title, family, command, packages
        self.profile, self.asked, self.most_lost, self.near, self.every = profile, asked, most_lost, near, every
        self.quick, self.more, self.inside, self.note, self.stands = quick, environment or {}, inside, note, stands
        self.path = self.python = self.version = self.missing = None

    # --- starting it ---

    def install(self):
        names = [*self.packages, "scikit-learn"] if self.family != "deepspeed" else self.packages
        self.python, self.version, self.missing = environments.ensure(self.family, names)

    def environment(self):
        found = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        places = [str(HERE / "jobs"), str(self.path / "lib")]
        found.update(HOME=str(self.path), XDG_STATE_HOME=str(self.path / "state"), REPRIEVE_NOTICE="none", PYTHONPATH=":".join(places),
                     AWS_EC2_METADATA_DISABLED="true", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1",
                     TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1",
                     TORCH_EXTENSIONS_DIR=str(ROOT / "build" / "frameworks" / "extensions"),
                     MASTER_ADDR="127.0.0.1", COORDINATOR=f"127.0.0.1:{free_port()}", PATH=f"{self.python.parent}:{os.environ['PATH']}")
        found.update(self.more)
        return found

    def words(self, directory, pause):
        words = [str(word).replace("DIR", str(directory)) for word in self.command]
        stand = ["--stand", STAND_AT, *(["--until", self.path / "notice"] if self.asked else [])] if pause and self.stands else []
        return [*words, "--dir", directory, "--every", self.every, "--pause", pause, *stand]

    def run(self, name, directory, pause, *options):
        reprieve = [REPRIEVE, "run", "--store", f"file://{self.path}/store", "--job", "job", "--checkpoint-dir", directory,
                    "--events", self.path / f"{name}.events", *options, "--"]
        environment = self.environment()
        if self.inside:  # the script starts its tasks with these words in front
            environment["PYTHON"] = " ".join(map(str, [*reprieve, self.python]))
            reprieve = []
        return Process(self, name, [*reprieve, *self.words(directory, pause)], environment)

    # --- the proof ---

    def prove(self, path):
        """The row of the table; raises Failed."""
        self.path = path
        path.mkdir(parents=True)
        (path / "lib").mkdir()
        if any("_reprieve" in str(word) for word in self.command):
            text = subprocess.run([REPRIEVE, "explain", "python"], check=True, stdout=subprocess.PIPE).stdout
            (path / "lib" / "reprieve.py").write_bytes(text)

        environment = self.environment()
        environment["PYTHON"] = str(self.python)
        alone = Process(self, "alone", self.words(path / "alone.d", 0), environment)
        check(alone.wait() == 0, "by itself it does not end well", alone)
        curve = alone.losses
        steps = max(curve, default=0)
        check(steps > NOTICE_AT * 2 and len(curve) == steps and len(set(curve.values())) > steps // 2, "by itself it does not train", alone)

        first = self.preempt(path / "preempted.d")
        second = self.run("resumed", path / "resumed.d", 0)
        check(second.wait() == 0, "it does not resume and end well", first, second)
        return self.judge(curve, first, second)

    def preempt(self, directory):
        notice = self.path / "notice"
        first = self.run("preempted", directory, 0.2, "--notice", f"file:{notice}")
        try:
            enough = NOTICE_AT if self.asked else STAND_AT
            first.wait_for("in the middle of the training", lambda: max(first.losses, default=0) >= enough)
            if self.periodic():
                first.wait_for("a first durable checkpoint", lambda: first.all_events("durable"))
            seconds = DEADLINE_ASKED if self.asked else DEADLINE_NOT_ASKED
            notice.with_suffix(".part").write_text(json.dumps({"reason": "the machine is taken away", "in_seconds": seconds}))
            os.rename(notice.with_suffix(".part"), notice)
            first.code = first.wait(seconds + 1)
            if self.inside:  # the launcher that it runs in says nothing of it
                first.code = next((event["exit_code"] for event in first.all_events("ended")), None)
        finally:
            first.killed = first.kill_everything()
            notice.unlink(missing_ok=True)
        return first

    def periodic(self):
        return self.every and not self.asked

    def judge(self, curve, first, second):
        steps, last, resumed = max(curve), max(first.losses), second.resumed_from
        how = self.check_asked(first)
        check(first.code == 75, f"exit code {first.code} instead of 75", first)
        check(last < steps, "it had trained to its end before the notice", first)
        # A job may be ended between its save and the line that says so.
        check(0 < resumed <= last + 1, f"it resumed from step {resumed} of {last}", first, second)
        check(second.all_events("restored"), "nothing was restored", second)
        check(min(second.losses) == resumed + 1 and max(second.losses) == steps, "steps are missing after the resume", second)
        wrong = [step for process in (first, second) for step, loss in process.losses.items() if not self.same(curve[step], loss)]
        check(not wrong, f"the losses differ at steps {sorted(wrong)[:5]}", {step: curve[step] for step in wrong[:5]}, second)
        lost = max(last - resumed, 0)
        check(not self.asked or self.most_lost is None or lost <= self.most_lost, f"{lost} steps are lost", first, second)
        equal = "yes, bit for bit" if not self.near else f"yes, within {self.near:g}"
        return [how, self.seen(first), str(first.code), f"{lost} of {last}", equal]

    def same(self, wanted, loss):
        return wanted == loss if not self.near else abs(float(wanted) - float(loss)) <= self.near

    def check_asked(self, first):
        """Was the profile found, and the job asked as it says?"""
        said = re.search(r"profile (\S+) \((.*?)\)", first.err)
        found = said.group(1) if said else None
        check(found == self.profile, f"the profile {found} was found instead of {self.profile}", first)
        asked = first.all_events("asked")
        # At the start, from what the script imports and names; or once it turned out that no process handles the signal.
        cannot = "cannot be asked" in first.err or "cannot ask the job" in first.err
        check(bool(self.asked) != cannot, "what it says of asking is wrong", first)
        if not self.asked:
            check(not asked, "it was asked", first)
            return "not: periodic"
        check(len(asked) > 0, "it was not asked", first)
        how = asked[0]["signal"] or asked[0]["how"]
        check(how in (self.asked, self.asked.removeprefix("SIG")), f"it was asked with {how}", first)
        count = len(asked[0]["pids"])
        return how if how == "flag" or count == 1 else f"{how} to {count}"

    def seen(self, first):
        """What the last snapshot's checkpoint was known to be complete by: the job's word, the name that its framework writes last, or
        the files themselves, closed and still, or their writer ended."""
        sealed, ended = first.all_events("checkpoint_complete")[-1:], first.all_events("child_exited")[-1:]
        names = [Path(entry["path"]).name for entry in self.ask_reprieve("show", first.all_events("durable")[-1]["id"])["entries"]
                 if entry.get("type", "file") == "file"]
        known = self.ask_reprieve("explain", "profile", self.profile)["complete"]["commits"] if self.profile else []
        marks = [mark for mark in known if any(fnmatch.fnmatch(name, mark) for name in names)]
        what = " ".join(marks or sorted({f"*{Path(name).suffix}" for name in names})[:3])
        if self.asked == "flag":
            return f"its word, {what}"
        return f"{what}, {'at its end' if ended and sealed and ended[0]['monotonic_ms'] <= sealed[0]['monotonic_ms'] else 'while it ran'}"

    def ask_reprieve(self, verb, *arguments):
        place = [] if verb == "explain" else ["--store", f"file://{self.path}/store", "--job", "job"]
        return json.loads(subprocess.run([REPRIEVE, verb, *arguments, "--json", *place], check=True, stdout=subprocess.PIPE).stdout)
