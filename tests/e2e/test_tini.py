"""`reprieve run -- COMMAND` with no options stands in for tini: signals, orphans, exit codes, the terminal, and nothing of ours in between."""
import ctypes
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import textwrap
import time

import pytest

from harness import LIMIT, PYTHON, REPRIEVE, die_with_parent, stat_fields, wait_for

STOPPING = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}

# Says which signals come, a line each; ends with the code that it reads.
LISTENER = r"""
import os, select, signal, sys
def told(number, frame):
    os.write(1, b"got %d\n" % number)
# A signal that comes just before a call that waits would be told of only when the next one comes.
woken, waker = os.pipe()
os.set_blocking(waker, False)
signal.set_wakeup_fd(waker)
for number in map(int, sys.argv[2].split(",")):
    signal.signal(number, told if sys.argv[1] == "handle" else signal.SIG_IGN)
os.write(1, b"ready %d\n" % os.getpid())
while 0 not in select.select([0, woken], [], [])[0]:
    os.read(woken, 100)
line = sys.stdin.readline()
sys.exit(int(line or 99))
"""


class Supervised:
    """One run in a place of its own: a job that finished once would not be run again there."""

    count = 0

    def __init__(self, tmp_path, command, prefix=(), environment=None, **more):
        Supervised.count += 1
        self.path = tmp_path / f"run{Supervised.count}"
        self.path.mkdir()
        self.environment = bare_environment(self.path, environment)
        more.setdefault("stdin", subprocess.PIPE)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("preexec_fn", die_with_parent)
        self.process = subprocess.Popen([*prefix, REPRIEVE, "run", "--", *command], cwd=self.path, env=self.environment, **more)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        # Not until the end of its output: an orphan that nobody adopted may hold that open.
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def line(self):
        """The next line of stdout, unbuffered, so that select() tells the truth."""
        text = b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
            assert ready, f"no line within {LIMIT} s, only {text!r}"
            byte = os.read(self.process.stdout.fileno(), 1)
            assert byte, f"end of output after {text!r}: {self.process.stderr.read()!r}"
            text += byte
        return text.decode().rstrip("\n")

    def end(self, input=b""):
        out, err = self.process.communicate(input, timeout=LIMIT)
        return self.process.returncode, out, err


def bare_environment(path, more=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("REPRIEVE_", "SLURM", "LD_PRELOAD"))}
    environment.update(REPRIEVE_NOTICE="none", XDG_STATE_HOME=str(path / "state"), HOME=str(path), LC_ALL="C", **(more or {}))
    return environment


def run(tmp_path, *command, input=b"", **more):
    with Supervised(tmp_path, command, **more) as supervised:
        return supervised.end(input)


def children_of(pid):
    """(pid, state) of each."""
    found = [(int(name), stat_fields(name)) for name in os.listdir("/proc") if name.isdigit()]
    return [(child, fields[0]) for child, fields in found if fields and int(fields[1]) == pid]


def child_of(pid, process):
    return wait_for("a child", lambda: [child for child, state in children_of(pid) if state != "Z"], process=process)[0]


# --- as what ----------------------------------------------------------------------------------------------------------------

def can_unshare():
    try:
        return subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, timeout=LIMIT).returncode == 0
    except OSError:
        return False


class As:
    """The supervisor as PID 1 of its own namespace, or as an ordinary process (then a subreaper)."""

    def __init__(self, first):
        self.first = first
        self.prefix = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] if first else []

    def pid(self, supervised):
        return child_of(supervised.process.pid, supervised.process) if self.first else supervised.process.pid


@pytest.fixture(params=["subreaper", "pid1"])
def role(request):
    if request.param == "pid1" and not can_unshare():
        pytest.skip("no PID namespaces here (unshare --pid is not permitted)")
    return As(request.param == "pid1")


# --- signals ----------------------------------------------------------------------------------------------------------------

def listen(tmp_path, role, mode, numbers):
    return Supervised(tmp_path, [PYTHON, "-c", LISTENER, mode, ",".join(map(str, numbers))], prefix=role.prefix)


def test_forwards_each_sigterm_where_nothing_is_saved(tmp_path, role):
    """Only for a job with checkpoints are two within a second one."""
    with listen(tmp_path, role, "handle", [signal.SIGTERM]) as supervised:
        assert supervised.line().startswith("ready")
        for _ in range(2):
            os.kill(role.pid(supervised), signal.SIGTERM)
            assert supervised.line() == f"got {signal.SIGTERM:d}"


@pytest.mark.parametrize("number", sorted(STOPPING))
def test_stops_and_continues_the_job_without_stopping_itself(tmp_path, number):
    with listen(tmp_path, As(False), "ignore", [signal.SIGHUP]) as supervised:
        child = int(supervised.line().split()[1])
        os.kill(supervised.process.pid, number)
        wait_for("the job stops", lambda: stat_fields(child)[0] == "T", process=supervised.process)
        assert stat_fields(supervised.process.pid)[0] != "T"
        os.kill(supervised.process.pid, signal.SIGCONT)
        assert supervised.end(b"5\n")[0] == 5


def test_carries_the_value_of_a_queued_signal(tmp_path):
    program = ("import signal,sys; s={signal.SIGRTMIN}; signal.pthread_sigmask(signal.SIG_BLOCK, s); print('ready', flush=True);"
               "i=signal.sigwaitinfo(s); print(i.si_code, flush=True)")
    with Supervised(tmp_path, [PYTHON, "-c", program]) as supervised:
        supervised.line()
        assert ctypes.CDLL(None).sigqueue(supervised.process.pid, int(signal.SIGRTMIN), ctypes.c_void_p(77)) == 0
        assert supervised.line() == "-1"  # SI_QUEUE
        supervised.end()


def test_a_signal_before_the_job_has_started_is_not_lost(tmp_path):
    """Runtimes send the stop signal once; sent as early as can be, it must end the run in the end."""
    for delay in range(20):
        with Supervised(tmp_path, ["sleep", "1000"]) as supervised:
            # Before its exec the process is still Python's, which would die of it.
            wait_for("the exec", lambda: os.readlink(f"/proc/{supervised.process.pid}/exe") == os.path.realpath(REPRIEVE),
                     process=supervised.process)
            wait_for("the mask", lambda: blocks(supervised.process.pid, signal.SIGINT), process=supervised.process)
            time.sleep(delay * 0.0005)
            os.kill(supervised.process.pid, signal.SIGINT)
            assert supervised.end()[0] != 0


def blocks(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        mask = re.search(r"^SigBlk:\s*(\w+)", status.read(), re.M).group(1)
    return int(mask, 16) >> (number - 1) & 1


# --- orphans ----------------------------------------------------------------------------------------------------------------

ORPHANS = r"""
import os, sys
for i in range(%d):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
os.write(1, b"made\n")
sys.stdin.readline()
sys.exit(6)
"""


def test_reaps_zombies_by_the_thousand(tmp_path, role):
    with Supervised(tmp_path, [PYTHON, "-c", ORPHANS % 3000], prefix=role.prefix) as supervised:
        assert supervised.line() == "made"
        pid = role.pid(supervised)
        # The last ones may not even have run yet.
        wait_for("the job alone is left", lambda: len(children_of(pid)) == 1, process=supervised.process)
        assert supervised.end(b"\n")[0] == 6


def test_adopts_and_reaps_an_orphan_that_outlives_its_parent(tmp_path, role):
    script = "(sh -c 'echo orphan; read x < fifo' &) ; read y; exit 7"
    with Supervised(tmp_path, ["sh", "-c", f"mkfifo fifo; {script}"], prefix=role.prefix) as supervised:
        assert supervised.line() == "orphan"
        pid = role.pid(supervised)
        wait_for("it is ours", lambda: len(children_of(pid)) == 2, process=supervised.process)
        with open(supervised.path / "fifo", "w", encoding="utf-8"):
            pass
        wait_for("it is reaped", lambda: len(children_of(pid)) == 1, process=supervised.process)
        assert supervised.end(b"\n")[0] == 7


# --- nothing in between -----------------------------------------------------------------------------------------------------

def test_streams_pass_byte_for_byte(tmp_path):
    data = bytes(range(256)) * 4096 + os.urandom(100001)
    code, out, err = run(tmp_path, "sh", "-c", "tee /dev/stderr", input=data)
    assert code == 0
    assert out == data
    # Our lines stand before or behind the job's bytes, which are in one piece.
    assert data in err


def inherit_oddly():
    die_with_parent()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGALRM})


@pytest.mark.parametrize("inherit", [die_with_parent, inherit_oddly])
def test_signals_are_inherited_as_by_a_bare_exec(tmp_path, inherit):
    command = ["grep", "-E", "^(Sig(Blk|Ign|Cgt|Pnd)|ShdPnd)", "/proc/self/status"]
    bare = subprocess.run(command, capture_output=True, preexec_fn=inherit, check=True).stdout
    assert run(tmp_path, *command, preexec_fn=inherit, environment={"REPRIEVE_SHIELD": "off"})[:2] == (0, bare)
    # With the shield, the kernel has a handler of its own for two signals that the application does not see.
    code, shielded = run(tmp_path, *command, preexec_fn=inherit)[:2]
    caught = re.compile(rb"(?<=SigCgt:\t)\w+")
    without = int(caught.search(shielded)[0], 16) & ~(1 << signal.SIGTERM - 1 | 1 << 16 - 1)
    assert (code, caught.sub(b"%016x" % without, shielded)) == (0, bare)


def close_standard():
    die_with_parent()
    os.close(0)


@pytest.mark.parametrize("before", [die_with_parent, close_standard])
def test_descriptors_are_inherited_as_by_a_bare_exec(tmp_path, before):
    command = ["sh", "-c", "ls /proc/$$/fd; exit 0"]
    with open(tmp_path / "extra", "w+", encoding="utf-8") as extra:
        more = {"preexec_fn": before, "pass_fds": [extra.fileno()]}
        bare = subprocess.run(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, **more).stdout
        assert run(tmp_path, *command, **more)[1] == bare


def test_limits_and_environment_are_the_job_s_own(tmp_path):
    def limit():
        import resource
        die_with_parent()
        resource.setrlimit(resource.RLIMIT_NOFILE, (123, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    code, out, _ = run(tmp_path, "sh", "-c", "ulimit -Sn; pwd; env", preexec_fn=limit, environment={"MINE": "a=b c"})
    lines = out.decode().splitlines()
    assert code == 0 and lines[0] == "123"
    assert "MINE=a=b c" in lines
    assert f"HOME={lines[1]}" in lines


# --- the terminal -----------------------------------------------------------------------------------------------------------

# Says whether its group is in the foreground; then a line for each line and each signal.
TALKER = r"""
import os, signal, sys, threading
wanted = {signal.SIGINT, signal.SIGWINCH}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
def tell():  # a handler would wait for the end of a read that has just begun
    while True:
        os.write(1, b"<got %d>\n" % signal.sigwait(wanted))
threading.Thread(target=tell, daemon=True).start()
if sys.argv[1] == "front":
    os.write(1, b"<front %d own %d>\n" % (os.getpgrp() == os.tcgetpgrp(0), os.getpgrp() == os.getpid()))
else:
    os.write(1, b"<started>\n")
while True:
    line = sys.stdin.readline()
    if not line or line == "end\n":
        sys.exit(9)
    os.write(1, b"<line %s>\n" % line.strip().encode())
"""


class Terminal:
    """A command that leads a session on a new pseudo-terminal."""

    def __init__(self, tmp_path, command):
        Supervised.count += 1
        self.path = tmp_path / f"terminal{Supervised.count}"
        self.path.mkdir()
        (self.path / "talker.py").write_text(TALKER)
        environment = bare_environment(self.path, {"PS1": "[prompt]", "TERM": "dumb", "REPRIEVE": REPRIEVE,
                                                   "TALK": f"{REPRIEVE} run -- {PYTHON} talker.py"})
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(self.path)
                os.execvpe(command[0], command, environment)
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def hang_up(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def __exit__(self, *exception):
        self.hang_up()
        for process in [self.pid, *self.everybody()]:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass
        os.waitpid(self.pid, 0)

    def everybody(self):
        found, look = [], [self.pid]
        while look:
            below = [pid for pid, _ in children_of(look.pop())]
            found += below
            look += below
        return found

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text, count=1):
        """Waits until `text` was seen `count` times since the last expectation; returns what was seen up to there."""
        end = time.monotonic() + LIMIT
        while self.seen.count(text) < count:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                got = os.read(self.fd, 4096) if ready else b""
            except OSError:  # the last one on the other side has closed it
                got = b""
            assert got, f"{text!r} did not come; seen: {self.seen!r}"
            self.seen += got.decode(errors="replace")
        at = -1
        for _ in range(count):
            at = self.seen.index(text, at + 1)
        before, self.seen = self.seen[:at + len(text)], self.seen[at + len(text):]
        return before

    def has_noticed(self, state):
        """The shell has it so in its list of jobs: /proc may say it a moment before the shell is told."""
        def says():
            self.type("jobs; echo lis'te'd\n")
            return state in self.expect("\nlisted")
        wait_for(f"the shell has noticed that it is {state}", says)

    def shell_answers(self):
        """The shell has the terminal: it can read from it."""
        self.type("echo he'r'e\n")
        self.expect("\nhere")


@pytest.fixture
def shell(tmp_path):
    with Terminal(tmp_path, ["bash", "--norc", "--noprofile", "-i"]) as terminal:
        terminal.expect("[prompt]")
        yield terminal


def test_terminal_belongs_to_the_job_in_a_group_of_its_own(shell):
    shell.type("$TALK front\n")
    shell.expect("<front 1 own 1>")
    shell.type("hello\n")
    shell.expect("<line hello>")
    shell.type("end\n")
    shell.type("echo code=$?\n")
    shell.expect("\ncode=9")
    shell.shell_answers()


def test_ctrl_c_and_resizing_reach_the_job_once(shell):
    shell.type("$TALK front\n")
    shell.expect("<front 1")
    shell.type("\x03")
    shell.expect(f"<got {signal.SIGINT:d}>")
    shell.type("hello\n")
    assert f"<got {signal.SIGINT:d}>" not in shell.expect("<line hello>")
    fcntl.ioctl(shell.fd, termios.TIOCSWINSZ, b"\x20\x00\x40\x00\x00\x00\x00\x00")
    shell.expect(f"<got {signal.SIGWINCH:d}>")
    shell.type("end\n")
    shell.shell_answers()


def test_ctrl_z_suspends_both_and_fg_resumes(shell):
    shell.type("$TALK front\n")
    shell.expect("<front 1")
    for word in ("one", "two"):
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.shell_answers()
        shell.type("fg\n")
        shell.expect("$TALK front")
        shell.type(f"{word}\n")
        shell.expect(f"<line {word}>")
    shell.type("\x03")
    shell.expect(f"<got {signal.SIGINT:d}>")
    shell.type("end\n")
    shell.type("echo code=$?\n")
    shell.expect("\ncode=9")


def test_bg_lets_it_go_on_until_it_wants_the_terminal(shell):
    # Not a shell script that waits with sleep: dash starts that by vfork, and a Ctrl-Z between the two hangs it even when run bare.
    waiter = ("import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\n"
              "print('went', flush=True)\nprint('line=' + input(), flush=True)\n")
    (shell.path / "waiter.py").write_text(waiter)
    shell.type(f"$REPRIEVE run -- {PYTHON} waiter.py\n")
    shell.expect("\nup")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("bg\n")
    shell.type("touch go\n")
    shell.expect("went\r\n")
    shell.shell_answers()
    # Its read() in the background stops it, and the shell must see that.
    wait_for("the shell sees it stopped", lambda: [1 for _, state in children_of(shell.pid) if state == "T"])
    shell.type("fg\n")
    shell.type("word\n")
    shell.expect("\nline=word")
    shell.shell_answers()


def test_started_in_the_background_it_leaves_the_terminal_alone(shell):
    shell.type("$TALK later &\n")
    shell.expect("<started>")
    # A `fg` between the kernel's signal and the stop is lost to any program: the shell takes it for running and sends no SIGCONT.
    wait_for("the shell sees it stopped", lambda: [state for _, state in children_of(shell.pid)] == ["T"])
    shell.has_noticed("Stopped")
    shell.shell_answers()
    shell.type("fg\n")
    shell.expect("$TALK later")
    shell.type("hello\n")
    shell.expect("<line hello>")
    shell.type("\x03")
    shell.expect(f"<got {signal.SIGINT:d}>")
    shell.type("end\n")
    shell.shell_answers()


@pytest.mark.parametrize("how", ["kill %1", "kill -HUP %1"])
def test_stopped_for_its_input_it_can_be_ended(shell, how):
    """The shell sends that once, and a SIGCONT; nobody reads the terminal meanwhile."""
    shell.type("$TALK later &\n")
    shell.expect("<started>")
    wait_for("it is stopped", lambda: [state for _, state in children_of(shell.pid)] == ["T"])
    shell.has_noticed("Stopped")
    shell.type(how + "\n")
    wait_for("it has ended", lambda: not shell.everybody())


def test_stopped_for_its_input_it_ends_with_the_terminal(tmp_path):
    """Also where the shell lives on, so that the kernel does not take us for orphans, which it would not stop."""
    script = textwrap.dedent("""
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGHUP, lambda *_: None)
        job = subprocess.Popen([os.environ["REPRIEVE"], "run", "--", sys.executable, "talker.py", "later"], preexec_fn=lambda: os.setpgid(0, 0))
        os.waitpid(job.pid, os.WUNTRACED)
        os.write(1, b"it is stopped")
        while os.isatty(0):
            time.sleep(0.01)
        os.killpg(job.pid, signal.SIGCONT)  # once, as shells do
        job.wait()
        open("code", "w").write(str(job.returncode))
    """)
    with Terminal(tmp_path, [PYTHON, "-c", script]) as terminal:
        terminal.expect("it is stopped")
        code = terminal.path / "code"
        terminal.hang_up()
        wait_for("the job has read that its input has ended", lambda: code.exists() and code.read_text() == "9")


def test_brought_to_the_foreground_while_it_runs_it_may_read(shell):
    """`fg` sends no SIGCONT to what is not stopped: nobody tells us that the terminal is ours."""
    waiter = ("import os, time\nprint('up', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\n"
              "print('line=' + input(), flush=True)\n")
    (shell.path / "waiter.py").write_text(waiter)
    shell.type(f"$REPRIEVE run -- {PYTHON} waiter.py &\n")
    shell.expect("up\r\n")
    shell.type("fg\n")
    shell.expect("waiter.py\r\n")
    (shell.path / "go").touch()
    shell.type("word\n")
    assert "Stopped" not in shell.expect("line=word")
    shell.shell_answers()


def test_in_a_pipeline_the_others_keep_the_terminal_too(shell):
    """`| less` reads keys from the terminal: it must stay in the foreground together with the job."""
    pager = "import sys; print(*sys.stdin, end=''); print('<key %s>' % open('/dev/tty').readline().strip(), flush=True)"
    (shell.path / "pager.py").write_text(pager)
    shell.type(f"$TALK front | {PYTHON} pager.py\n")
    shell.type("end\n")
    shell.expect("<front 1 own 0>")
    shell.type("q\n")
    shell.expect("<key q>")
    shell.shell_answers()


def test_ctrl_c_reaches_a_job_in_a_pipeline_once(shell):
    shell.type("$TALK front | sh -c 'trap \"\" INT; exec cat'\n")
    shell.expect("<front 1")
    shell.type("\x03")
    shell.expect(f"<got {signal.SIGINT:d}>")
    shell.type("hello\n")
    assert f"<got {signal.SIGINT:d}>" not in shell.expect("<line hello>")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("fg\n")
    shell.type("again\n")
    shell.expect("<line again>")
    shell.type("end\n")
    shell.shell_answers()


def test_ctrl_c_is_forwarded_where_stdin_is_not_the_terminal(shell):
    shell.type("$REPRIEVE run -- sh -c 'trap \"echo tr''apped; exit 11\" INT; echo up''; while :; do sleep 0.05; done' < /dev/null\n")
    shell.expect("\nup")
    shell.type("\x03")
    shell.expect("trapped")
    shell.type("echo code=$?\n")
    shell.expect("\ncode=11")


def test_a_script_gets_its_terminal_back(tmp_path):
    script = "$REPRIEVE run -- true; read x; echo script=$x; $REPRIEVE run -- no-such-command; read x; echo script=$x"
    with Terminal(tmp_path, ["bash", "-c", script]) as terminal:
        terminal.type("one\n")
        terminal.expect("script=one")
        terminal.type("two\n")
        terminal.expect("script=two")


def test_ctrl_z_where_nobody_could_resume_it_changes_nothing(tmp_path):
    """As the first process of a container with a terminal: a bare command would not stop there either."""
    with Terminal(tmp_path, [REPRIEVE, "run", "--", PYTHON, "talker.py", "front"]) as terminal:
        terminal.expect("<front 1")
        terminal.type("\x1a")
        terminal.type("hello\n")
        terminal.expect("<line hello>")
        terminal.type("end\n")
