"""What the end-to-end tests share: running the program, reading its events, waiting for a fact instead of for a time.

REPRIEVE names the binary (default: build/supervisor/reprieve). No test asserts how long anything takes; LIMIT only ends what hangs.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPRIEVE = os.path.abspath(os.environ.get("REPRIEVE") or ROOT / "build" / "supervisor" / "reprieve")
PYTHON = "/usr/bin/python3"
SAVER = str(Path(__file__).resolve().parent / "saver.py")
LIMIT = 120
LIBC = ctypes.CDLL(None)  # loaded here: a child of a process with threads may not wait for the loader's lock
# Of whoever runs the tests; none may reach them.
SETTINGS = ("REPRIEVE_", "SLURM", "AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "STORAGE_", "AZURE_", "IDENTITY_", "CURL_CA_", "SSL_CERT_")

STARTED_WITH = dict(os.environ)  # pytest changes it for each test, also while another thread reads it

EXIT_USAGE, EXIT_OURS, EXIT_NOT_DURABLE, EXIT_DURABLE, EXIT_CONFIGURATION = 64, 70, 74, 75, 78


def wait_for(what, fact, limit=LIMIT, process=None, about=None):
    """Waits until fact() is true and returns its value; fails with `what` when `process` ends or the limit passes first.

    The failure shows `about` as it is by then. A text made beforehand would show it as it was when the wait began."""
    end, pause = time.monotonic() + limit, 0.01

    def failure(why):
        return AssertionError(f"{what}: {why}" + ("" if about is None else f"\n{about}"))
    while True:
        value = fact()
        if value:
            return value
        if process is not None and process.poll() is not None:
            value = fact()
            if value:
                return value
            raise failure(f"the process ended with {process.returncode} first")
        if time.monotonic() > end:
            raise failure(f"not within {limit} s")
        time.sleep(pause)
        pause = min(1.1 * pause, 0.05)  # some facts cost a process to ask for


def die_with_parent():
    """In a child: no test leaves processes behind, even when pytest itself is killed; and Ctrl-C is not ignored, as in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    LIBC.prctl(1, signal.SIGKILL)


class Result:
    def __init__(self, process, out, err):
        self.code, self.out, self.err = process.returncode, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Place:
    """One store, one job, one checkpoint directory, in a directory of their own. A store elsewhere is given by its URL, and by the
    environment that leads there."""

    def __init__(self, path, job="job", store=None, environment=None):
        self.path, self.job = Path(path), job
        self.store_path, self.directory = self.path / "store", self.path / "checkpoints"
        self.store = store or f"file://{self.store_path}"
        self.runs = []
        self.environment = {name: value for name, value in STARTED_WITH.items() if not name.startswith(SETTINGS)}
        self.environment.update(environment or {})
        # No test may talk to a real metadata service, nor write into the home directory of whoever runs it.
        self.environment.update(REPRIEVE_NOTICE="none", XDG_STATE_HOME=str(self.path / "state"), HOME=str(self.path))
        # Nor may it see the jobs of another one that runs at the same time. Short, because sockets lie in it.
        self.runtime = tempfile.mkdtemp(prefix="reprieve-rt.")
        self.environment.update(XDG_RUNTIME_DIR=self.runtime)

    def query(self, *arguments, input=None, **environment):
        """Runs `reprieve ARGUMENTS` to its end."""
        process = subprocess.Popen([REPRIEVE, *map(str, arguments)], cwd=self.path, text=True, errors="replace",
                                   env={**self.environment, **environment}, preexec_fn=die_with_parent,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Result(process, out, err)

    def verb(self, verb, *arguments, **environment):
        """A verb on this place's store and job."""
        return self.query(verb, *arguments, "--store", self.store, "--job", self.job, **environment)

    def snapshots(self):
        """What `reprieve list --json` says, newest first; [] while there is no store."""
        if self.store.startswith("file:") and not (self.store_path / "format.json").exists():
            return []
        result = self.verb("list", "--json")
        # No start has come so far, as one that is killed at once.
        if result.code == EXIT_CONFIGURATION and (" has no job " in result.err or "(no format.json)" in result.err):
            return []
        assert result.code == 0, result
        document = result.json
        return document["snapshots"] if isinstance(document, dict) else document

    def newest(self):
        for snapshot in self.snapshots():
            if snapshot.get("newest"):
                return snapshot
        return None

    def run(self, *command, options=(), directory=None, name=None, store=None, wrapper=(), **environment):
        """Starts `reprieve run`, under `wrapper` if there is one. The Run is killed at the end of the test if it still lives."""
        run = Run(self, command, options, directory or self.directory, name or f"run{len(self.runs) + 1}",
                  store or self.store, environment, wrapper)
        self.runs.append(run)
        return run

    def end(self):
        for run in self.runs:
            run.end()
        shutil.rmtree(self.runtime, ignore_errors=True)


class Run:
    """One `reprieve run` with its event ledger and its output in files."""

    def __init__(self, place, command, options, directory, name, store, environment, wrapper=()):
        self.events_path = place.path / f"{name}.events"
        self.out_path, self.err_path = place.path / f"{name}.out", place.path / f"{name}.err"
        self.directory = Path(directory)
        self.ledger, self.read_up_to = [], 0
        arguments = [*wrapper, REPRIEVE, "run", "--store", store, "--job", place.job, "--checkpoint-dir", str(directory),
                     "--events", str(self.events_path), *options, "--", *map(str, command)]
        if wrapper:  # LeakSanitizer is itself a tracer, and cannot be one under strace
            environment = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0", **environment}
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(arguments, cwd=place.path, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env={**place.environment, **environment}, start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    @property
    def out(self):
        return self.out_path.read_text(errors="replace")

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    def events(self, kind=None):
        """The ledger so far; a last line that is still being written is left out."""
        if self.events_path.exists():
            with open(self.events_path, "rb") as file:
                file.seek(self.read_up_to)
                lines = file.read().splitlines(keepends=True)
            whole = [line for line in lines if line.endswith(b"\n")]
            self.ledger += map(json.loads, whole)
            self.read_up_to += sum(map(len, whole))
        return [event for event in self.ledger if kind in (None, event["event"])]

    def event(self, kind):
        """The first event of that kind, or None."""
        return next(iter(self.events(kind)), None)

    def wait_for_event(self, kind, count=1, limit=LIMIT):
        def enough():
            found = self.events(kind)
            return found[count - 1] if len(found) >= count else None
        return wait_for(f"event {kind!r} number {count}", enough, limit, self.process, about=self)

    def wait_for_output(self, text, limit=LIMIT):
        return wait_for(f"output {text!r}", lambda: text in self.out, limit, self.process, about=self)

    @property
    def job_pid(self):
        return self.wait_for_event("launched")["pid"]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, limit=LIMIT):
        """Waits for the end; returns the exit code as subprocess gives it (-9 for SIGKILL)."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit} s\n{self}") from None

    def kill(self):
        """The machine is gone: the supervisor and the job, with SIGKILL."""
        launched = self.event("launched")
        self.process.kill()
        self.process.wait()
        if launched:
            kill_quietly(launched["pid"])

    def end(self):
        if self.process.poll() is None:
            kill_quietly(self.pid, signal.SIGCONT)
            self.kill()
        for left in members_of(self.pid):
            kill_quietly(left)

    def __repr__(self):
        events = "\n".join(json.dumps(event) for event in self.events())
        return f"--- events\n{events}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def kill_quietly(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def stat_fields(pid):
    """The fields of /proc/PID/stat from the state on; None for a process that is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def members_of(session):
    """Processes of a session that we started, the supervisor's orphans among them."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            fields = stat_fields(entry)
            if fields and int(fields[3]) == session:
                yield int(entry)


def is_alive(pid):
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in "ZX"


def one_line(result_or_text):
    """Asserts that stderr is one line with our prefix, and returns it."""
    text = result_or_text if isinstance(result_or_text, str) else result_or_text.err
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("reprieve: "), text
    return lines[0]


if __name__ == "__main__":
    sys.exit("this is a module of the tests")
