"""The PID 1 table: every signal x (handler, default, ignored) x (PID 1, subreaper, neither), with the answers of tini, dumb-init and
catatonit to the same cases in the same run. What `reprieve run` answers differently must be written down here, with the reason."""
import ctypes
import os
import pty
import select
import signal
import struct
import subprocess
import time

import pytest

from harness import EXIT_DURABLE, LIBC, LIMIT, PYTHON, REPRIEVE, SAVER, die_with_parent, stat_fields, wait_for
from test_tini import LISTENER, bare_environment, can_unshare, child_of, children_of

# What stops a process, or does nothing to it, without a handler (signal(7)). The C library keeps 32 and 33.
STOPPING = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
HARMLESS = {signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
# The kernel raises them where a program goes wrong: they must end that program there, so none is passed on when it is sent.
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
SENT = [n for n in range(1, signal.SIGRTMAX + 1) if n not in {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33} | FAULTS]

PROGRAMS = {
    "reprieve": {role: [REPRIEVE, "run", "--"] for role in ("pid1", "subreaper", "neither")},
    "tini": {"pid1": ["tini", "--"], "subreaper": ["tini", "-s", "--"], "neither": ["tini", "--"]},
    # It is never a subreaper; like this it has one child, as the others have.
    "dumb-init": {"pid1": ["dumb-init", "--single-child", "--"], "neither": ["dumb-init", "--single-child", "--"]},
    "catatonit": {"pid1": ["catatonit", "--"], "subreaper": ["catatonit", "--"]},
}
ROLES = ("pid1", "subreaper", "neither")
UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 22, 38, 36


def lead_a_group():
    """In a child: its process group has a parent outside, as below a shell. In an orphaned one the kernel drops SIGTSTP, SIGTTIN and
    SIGTTOU (setpgid(2)), and the group of a test run is orphaned once the shell that started it is gone."""
    die_with_parent()
    os.setpgid(0, 0)


def deny_subreaper():
    """In a child: from here on the kernel refuses to make it a subreaper, as an old one or a sandbox does."""
    lead_a_group()
    number = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
    program = [(0x20, 0, 0, 0),  # load the number of the call
               (0x15, 0, 3, number),
               (0x20, 0, 0, 16),  # load its first argument
               (0x15, 0, 1, PR_SET_CHILD_SUBREAPER),
               (0x06, 0, 0, 0x00050000 | 1),  # EPERM
               (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(PR_SET_SECCOMP, 2, ctypes.create_string_buffer(head), 0, 0):
        os._exit(99)


def answers_of(program):
    return program == "reprieve" or subprocess.run(["which", program], capture_output=True).returncode == 0


def skip_without(role, program="reprieve"):
    if role == "pid1" and not can_unshare():
        pytest.skip("no PID namespaces here (unshare --pid is not permitted)")
    if role not in PROGRAMS[program]:
        pytest.skip(f"{program} has no such role")
    if not answers_of(program):
        pytest.skip(f"{program} is not installed: examples/install_packages.sh test")


class Init:
    """A program as init of one command, in a place of its own."""

    count = 0

    def __init__(self, tmp_path, program, role, command, options=(), **more):
        Init.count += 1
        self.path = tmp_path / f"init{Init.count}"
        self.path.mkdir()
        start = PROGRAMS[program][role]
        if options:
            start = [*start[:-1], *options, "--"]
        self.first = role == "pid1"
        more.setdefault("stdin", subprocess.PIPE)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [*(UNSHARE if self.first else []), *start, *command], cwd=self.path, env=bare_environment(self.path),
            preexec_fn=deny_subreaper if role == "neither" else lead_a_group, bufsize=0, **more)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            for pid in [pid for pid, _ in descendants(self.process.pid)]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()

    def pid(self):
        return child_of(self.process.pid, self.process) if self.first else self.process.pid

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        assert ready, f"no line within {LIMIT} s"
        return self.process.stdout.readline().decode().rstrip("\n")

    def end(self, text=b""):
        if self.process.stdin:
            self.process.stdin.write(text)
            self.process.stdin.close()
        return self.process.wait(timeout=LIMIT)


def descendants(pid):
    found = []
    for child, state in children_of(pid):
        found += [(child, state), *descendants(child)]
    return found


# --- signals: what a job with a handler, without one, and one that ignores them makes of it ------------------------------------

def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@pytest.mark.parametrize("role", ROLES)
def test_every_signal_reaches_a_handler(tmp_path, role):
    skip_without(role)
    with Init(tmp_path, "reprieve", role, [PYTHON, "-c", LISTENER, "handle", ",".join(map(str, SENT))]) as init:
        assert init.line().startswith("ready")
        pid = init.pid()
        for number in SENT:
            os.kill(pid, number)
            assert int(init.line().split()[1]) == number, signal_name(number)


def default_fate(tmp_path, program, role, number, looks=LIMIT * 100):
    """What becomes of a job without handlers: "ends CODE", "stops", "lives"."""
    with Init(tmp_path, program, role, ["sh", "-c", "echo ready; exec cat"]) as init:
        assert init.line() == "ready"
        pid = init.pid()
        job = child_of(pid, init.process)
        os.kill(pid, number)
        if number in STOPPING:
            for _ in range(looks):
                if stat_fields(job)[0] == "T":
                    return "stops"
                time.sleep(0.01)
            return "lives"
        if number in HARMLESS:
            init.process.stdin.write(b"still here\n")
            assert init.line() == "still here"
            return "lives" if init.end() == 0 else "ends"
        # Whoever does not pass it on leaves the job to its end of input.
        for _ in range(looks):
            if init.process.poll() is not None:
                break
            time.sleep(0.01)
        code = init.end()
        return f"ends {128 - code if code < 0 else code}" if code else "lives"


def expected_fate(number):
    if number in HARMLESS:
        return "lives"
    return "stops" if number in STOPPING else f"ends {128 + number}"


def peers(role=None):
    """The inits that are installed, each in each of its roles."""
    return [(program, its) for program in PROGRAMS if program != "reprieve" and answers_of(program)
            for its in PROGRAMS[program] if role in (None, its) and (its != "pid1" or can_unshare())]


@pytest.mark.parametrize("role", ROLES)
def test_every_signal_does_with_the_job_what_it_does_without_us(tmp_path, role):
    skip_without(role)
    for number in SENT:
        assert default_fate(tmp_path, "reprieve", role, number) == expected_fate(number), signal_name(number)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_job_that_ignores_a_signal_lives(tmp_path, program, role):
    skip_without(role, program)
    # Not passed on by some, and they die of the one or stop at the other.
    numbers = [n for n in SENT if program == "reprieve" or n not in STOPPING | {signal.SIGABRT}]
    with Init(tmp_path, program, role, [PYTHON, "-c", LISTENER, "ignore", ",".join(map(str, SENT))]) as init:
        assert init.line().startswith("ready")
        pid = init.pid()
        for number in numbers:
            os.kill(pid, number)
        assert init.end(b"4\n") == 4


@pytest.mark.parametrize("number", sorted(FAULTS))
def test_a_fault_that_is_sent_to_pid_1_changes_nothing(tmp_path, monkeypatch, number):
    skip_without("pid1")
    # Where it is built with AddressSanitizer, that would have handlers of its own.
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0")
    for program in ["reprieve", *[program for program, _ in peers("pid1") if program == "tini"]]:
        with Init(tmp_path, program, "pid1", [PYTHON, "-c", LISTENER, "handle", str(int(signal.SIGHUP))]) as init:
            assert init.line().startswith("ready")
            subprocess.run(["nsenter", "--target", str(init.pid()), "--pid", "--mount", "kill", f"-{number}", "1"], check=True)
            assert init.end(b"4\n") == 4, program


# --- orphans and exit codes, beside the others -------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_exit_codes_are_those_of_the_others(tmp_path, role):
    skip_without(role)
    cases = [["sh", "-c", f"exit {code}"] for code in (0, 1, 42, 127, 143, 255)]
    cases += [["sh", "-c", "kill -KILL $$"], ["sh", "-c", "ulimit -c 0; kill -SEGV $$"]]

    def codes(program):
        found = []
        for case in cases:
            with Init(tmp_path, program, role, case) as init:
                found.append(init.end())
        return found

    ours = codes("reprieve")
    assert ours == [0, 1, 42, 127, 143, 255, 137, 139]
    for program, _ in peers(role):
        assert codes(program) == ours, program


def test_an_orphan_stays_with_its_adopter_where_the_kernel_refuses(tmp_path):
    """Neither PID 1 nor subreaper: said once, and the job runs."""
    process = subprocess.run([REPRIEVE, "run", "--", "sh", "-c", "(sleep 0.1 &); exit 5"], cwd=tmp_path, env=bare_environment(tmp_path),
                             preexec_fn=deny_subreaper, capture_output=True, text=True, timeout=LIMIT)
    assert process.returncode == 5
    assert process.stderr.count("orphans of the job will not come to us") == 1


# --- the terminal ------------------------------------------------------------------------------------------------------------

TTY_JOB = """
import os, signal, sys
def told(number, frame):
    os.write(1, b"got %d\\n" % number)
signal.signal(signal.SIGINT, told)
signal.signal(signal.SIGQUIT, told)
os.write(1, b"foreground %d\\n" % (os.tcgetpgrp(0) == os.getpgrp()))
os._exit(int(sys.stdin.readline()))
"""


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("role", ["pid1", "neither"])
def test_job_control_under_a_pty(tmp_path, program, role):
    """Foreground of the terminal, Ctrl-C and Ctrl-\\ once each, and input, as with the others."""
    skip_without(role, program)
    if (program, role) == ("dumb-init", "pid1"):
        pytest.skip("with --single-child it stays in the group of unshare, which Ctrl-\\ then ends")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        start = [*(UNSHARE if role == "pid1" else []), *PROGRAMS[program][role]]
        start = ["tini", "-g", *start[start.index("tini") + 1:]] if program == "tini" and role != "pid1" else start
        os.execvpe(start[0], [*start, PYTHON, "-c", TTY_JOB], bare_environment(tmp_path))
    seen = b""

    def until(text):
        nonlocal seen
        while text not in seen:
            assert select.select([terminal], [], [], LIMIT)[0], seen
            try:
                more = os.read(terminal, 4096)
            except OSError:
                more = b""
            assert more, seen
            seen += more

    try:
        until(b"foreground 1")
        os.write(terminal, b"\x03")
        until(b"got 2")
        os.write(terminal, b"\x1c")
        until(b"got 3")
        os.write(terminal, b"9\n")
        _, status = os.waitpid(pid, 0)
        pid = None
        assert os.waitstatus_to_exitcode(status) == 9
        if program == "reprieve":
            assert (seen.count(b"got 2"), seen.count(b"got 3")) == (1, 1)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)


# --- the options of the others -----------------------------------------------------------------------------------------------

CATCHER = ["sh", "-c", "trap 'echo usr1; exit 3' USR1; trap 'echo hup' HUP; echo ready; while :; do sleep 0.05; done"]


@pytest.mark.parametrize("program, options", [("reprieve", ["--rewrite", "TERM=USR1"]), ("reprieve", ["--rewrite=HUP=none,15=10"]),
                                              ("dumb-init", ["--rewrite", "15:10"])])
def test_rewrites_a_signal(tmp_path, program, options):
    skip_without("neither", program)
    with Init(tmp_path, program, "neither", CATCHER, options=options) as init:
        assert init.line() == "ready"
        if "HUP=none" in options[0]:
            os.kill(init.pid(), signal.SIGHUP)
        os.kill(init.pid(), signal.SIGTERM)
        assert init.line() == "usr1"
        assert init.end() == 3


# The middle one is asleep in wait(), and does not pass anything on.
FAMILY = """
import os, signal, sys, time
def told(number, frame):
    os.write(1, b"%s\\n" % who)
    os._exit(3)
who = b"main"
signal.signal(signal.SIGUSR2, told)
if os.fork() == 0:
    who = b"child"
    os.write(1, b"ready\\n")
    while True:
        time.sleep(0.02)
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
os.wait()
sys.exit(5)
"""


@pytest.mark.parametrize("program, options, reaches", [
    ("reprieve", ["--forward", "group"], True), ("reprieve", ["--forward", "job"], False), ("reprieve", [], False),
    ("tini", ["-g"], True), ("tini", [], False), ("catatonit", ["-g"], True)])
def test_passes_signals_on_to_the_group(tmp_path, program, options, reaches):
    skip_without("pid1", program)
    with Init(tmp_path, program, "pid1", [PYTHON, "-c", FAMILY], options=options) as init:
        assert init.line() == "ready"
        # The child writes before its parent ignores the signal: either answer of the parent would be a race.
        pid = init.pid()
        parent = child_of(pid, init.process)
        wait_for("the parent ignores it", lambda: ignores(parent, signal.SIGUSR2), process=init.process)
        os.kill(pid, signal.SIGUSR2)
        if reaches:
            assert init.line() == "child"
            assert init.end() == 5
        else:
            assert not select.select([init.process.stdout], [], [], 0.2)[0]


def ignores(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        mask = next(line for line in status if line.startswith("SigIgn:")).split()[1]
    return int(mask, 16) >> (number - 1) & 1


@pytest.mark.parametrize("program, options", [("reprieve", ["--success-code", "143"]), ("reprieve", ["--success-code=3,143"]), ("tini", ["-e", "143"])])
def test_an_exit_code_that_is_success(tmp_path, program, options):
    skip_without("neither", program)
    with Init(tmp_path, program, "neither", ["sh", "-c", "echo ready; exec cat"], options=options) as init:
        assert init.line() == "ready"
        os.kill(init.pid(), signal.SIGTERM)
        assert init.end() == 0


@pytest.mark.parametrize("program, options", [("reprieve", ["--parent-death", "TERM"]), ("tini", ["-p", "SIGTERM"])])
def test_the_death_of_its_parent(tmp_path, program, options):
    skip_without("neither", program)
    start = [*PROGRAMS[program]["neither"][:-1], *options, "--"]
    parent = subprocess.Popen(["sh", "-c", '"$@" & echo $!; read x', "sh", *start, "sh", "-c", "trap 'echo term; exit' TERM; echo ready; while :; do sleep 0.05; done"],
                              cwd=tmp_path, env=bare_environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, preexec_fn=die_with_parent, text=True)
    assert "ready\n" in (parent.stdout.readline(), parent.stdout.readline())  # the other one is the pid, before or after
    parent.kill()
    parent.wait()
    assert select.select([parent.stdout], [], [], LIMIT)[0]
    assert parent.stdout.readline() == "term\n"
    parent.stdin.close()
    parent.stdout.close()


# --- STOPSIGNAL of any kind --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("stop", ["INT", "QUIT", "RTMIN+3", "USR2", "37", "PWR"])
def test_a_stop_signal_of_another_kind_is_a_notice(place, stop):
    """`STOPSIGNAL SIGRTMIN+3` in an image: with --rewrite it saves as SIGTERM does."""
    run = place.run(PYTHON, SAVER, "--on-signal", "--pause", "0.005",
                    options=["--rewrite", f"{stop}=TERM", "--checkpoint-signal", "USR1", "--quiet-time", "0.2"])
    run.wait_for_output("resumes 0")
    number = {"RTMIN+3": signal.SIGRTMIN + 3, "37": 37}.get(stop) or signal.Signals[f"SIG{stop}"]
    run.signal(number)
    assert run.wait() == EXIT_DURABLE, run
    assert place.newest()
