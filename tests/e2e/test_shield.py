"""The shield: a SIGTERM that reaches every process at once is kept from them until the checkpoint is taken, and from nobody for longer."""
import os
import re
import signal
import subprocess
import textwrap
import time

import pytest

from harness import LIMIT, PYTHON, REPRIEVE, is_alive, kill_quietly, members_of, wait_for

QUICK = ("--quiet-time", "150ms")
PATIENT = ("--quiet-time", "2s")  # where a pause between two files must not end the save

# A trainer with helpers of every kind: one that dies of SIGTERM, one with a handler of its own. Saves on USR1, and takes its time.
TRAINER = """
    import os, signal, sys, time
    def say(*words):  # in one piece: three processes do
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())
    counts = {}
    def count(number, frame):
        counts[number] = counts.get(number, 0) + 1
        say("got", signal.Signals(number).name, counts[number])
    if "term" in sys.argv:
        signal.signal(signal.SIGTERM, count)
    wanted = []
    signal.signal(signal.SIGUSR1, lambda *_: wanted.append(1))
    helpers = []
    for kind in ("plain", "handles"):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGUSR1, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if kind == "handles":
                signal.signal(signal.SIGTERM, lambda *_: (say("helper handled"), os._exit(0)))
            say("helper", kind, os.getpid())
            time.sleep(3600)
        helpers.append(pid)
    def alive(pid):
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    say("ready", os.getpid())
    while not wanted:
        time.sleep(0.01)
    directory = os.environ["REPRIEVE_CHECKPOINT_DIR"]
    os.makedirs(directory, exist_ok=True)
    for part in range(20):
        with open(f"{directory}/part-{part}", "wb") as file:
            file.write(b"x" * 1000)
        time.sleep(0.03)
    say("alive at the end of the save", [alive(pid) for pid in helpers])
    while not os.path.exists("end"):
        time.sleep(0.05)
"""


def python(program, *arguments):
    return (PYTHON, "-u", "-c", textwrap.dedent(program), *arguments)


def ready(run, count=1):
    wait_for("the job is ready", lambda: len(re.findall("^ready", run.out, re.M)) == count, process=run.process, about=run)
    run.wait_for_event("launched")


def helpers_of(run):
    def both():
        found = {kind: int(pid) for kind, pid in re.findall(r"^helper (\w+) (\d+)", run.out, re.M)}
        return found if len(found) == 2 else None
    return wait_for("both helpers", both, process=run.process)


def signal_everybody(run, number=signal.SIGTERM):
    """As Slurm and systemd do: the supervisor, and all processes below it."""
    for pid in [*members_of(run.pid)]:
        kill_quietly(pid, number)


@pytest.mark.parametrize("wrapper", [(), ("sh", "-c", '"$@"; exit $?', "sh"), ("bash", "-c", 'trap "exit 9" TERM; "$@" & wait $!', "bash")],
                         ids=["bare", "sh", "bash with a trap"])
def test_a_signal_to_everybody_waits_for_the_checkpoint(place, wrapper):
    run = place.run(*wrapper, *python(TRAINER), options=(*PATIENT, "--checkpoint-signal", "USR1", "--grace", "60"))
    ready(run)
    helpers_of(run)
    signal_everybody(run)
    assert run.wait() == 75, run
    assert "alive at the end of the save [True, True]" in run.out
    assert "until the checkpoint is saved" in run.err
    assert place.newest()["files"] == 20


def test_without_the_shield_everybody_dies_at_once(place):
    run = place.run(*python(TRAINER), options=(*QUICK, "--checkpoint-signal", "USR1", "--grace", "5", "--shield", "off"))
    ready(run)
    signal_everybody(run)
    assert run.wait() == 74, run
    assert "end of the save" not in run.out


def ends_with_one(place, run):
    """Once it is told to end; a second SIGTERM has a moment to come."""
    run.wait_for_output("got SIGTERM 1")
    run.wait_for_event("durable")
    time.sleep(0.5)
    (place.path / "end").touch()
    assert run.wait() == 75, run
    assert re.findall("^got .*", run.out, re.M) == ["got SIGTERM 1"]


def test_a_job_that_handles_it_gets_it_once(place):
    """Asked by USR1; then it is told to end, and has what was kept from it as well."""
    run = place.run(*python(TRAINER, "term"), options=(*PATIENT, "--checkpoint-signal", "USR1", "--grace", "60"))
    ready(run)
    signal_everybody(run)
    ends_with_one(place, run)
    assert run.out.index("end of the save") < run.out.index("got SIGTERM")


def test_a_job_that_is_asked_by_sigterm_gets_it_once(place):
    program = TRAINER.replace("signal.SIGUSR1, lambda *_: wanted.append(1)", "signal.SIGUSR1, signal.SIG_DFL").replace(
        "counts[number] = counts", "wanted.append(1); counts[number] = counts")
    run = place.run(*python(program, "term"), options=(*PATIENT, "--grace", "60"))
    ready(run)
    signal_everybody(run)
    ends_with_one(place, run)
    assert "alive at the end of the save [True, True]" in run.out


@pytest.mark.parametrize("asked", ["TERM", "none"])
def test_a_job_that_could_not_take_ours_gets_the_other(place, asked):
    """Of two that are pending the kernel keeps one. The job has stood still for a moment, and what it finds is not the supervisor's."""
    program = TRAINER.replace("signal.SIGUSR1, lambda *_: wanted.append(1)", "signal.SIGUSR1, signal.SIG_DFL").replace(
        "counts[number] = counts", "wanted.append(1); counts[number] = counts")
    run = place.run(*python(program, "term"), options=(*PATIENT, "--grace", "600", "--checkpoint-signal", asked))
    ready(run)
    helpers = helpers_of(run)
    os.kill(run.job_pid, signal.SIGSTOP)
    for pid in [run.job_pid, *helpers.values(), run.pid]:
        os.kill(pid, signal.SIGTERM)
    wait_for("the job is sent ours", lambda: re.search("asked process|forwarding SIGTERM", run.err), process=run.process)
    os.kill(run.job_pid, signal.SIGCONT)
    ends_with_one(place, run)
    assert "alive at the end of the save [True, True]" in run.out


def test_what_nobody_asked_to_save_ends_at_once(place):
    """No checkpoints, no way to ask: as under any init."""
    process = subprocess.Popen([REPRIEVE, "run", "--", *python(TRAINER.replace("while not wanted", "while True"))], cwd=place.path,
                               env=place.environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    helpers = []
    for line in process.stdout:
        helpers += [int(line.split()[2])] if line.startswith("helper") else []
        if line.startswith("ready"):
            break
    for pid in [*members_of(process.pid)]:
        kill_quietly(pid, signal.SIGTERM)
    assert process.wait(LIMIT) == 128 + signal.SIGTERM
    wait_for("the helpers die", lambda: not any(is_alive(pid) for pid in helpers))
    process.stdout.close()


def test_one_process_alone_can_be_ended_from_outside(place):
    run = place.run(*python(TRAINER), options=(*QUICK, "--checkpoint-signal", "USR1"))
    ready(run)
    pids = helpers_of(run)
    os.kill(pids["plain"], signal.SIGTERM)
    wait_for("the plain helper dies", lambda: not is_alive(pids["plain"]))
    os.kill(pids["handles"], signal.SIGTERM)
    run.wait_for_output("helper handled")
    assert run.process.poll() is None


def test_processes_of_the_job_can_end_each_other(place):
    program = """
        import multiprocessing, os, signal, subprocess, time
        def work():
            time.sleep(3600)
        if __name__ == "__main__":
            first, second = multiprocessing.Process(target=work), multiprocessing.Process(target=work)
            first.start(), second.start()
            first.terminate()  # by its parent
            first.join()
            print("first", first.exitcode, flush=True)
            killer = multiprocessing.Process(target=os.kill, args=(second.pid, signal.SIGTERM))  # by its brother
            killer.start(), killer.join(), second.join()
            print("second", second.exitcode, flush=True)
            print("timeout", subprocess.run(["timeout", "0.1", "sleep", "3600"]).returncode, flush=True)
            me = os.fork()
            if me == 0:
                os.kill(os.getpid(), signal.SIGTERM)  # by itself
                time.sleep(3600)
            print("self", os.waitpid(me, 0)[1], flush=True)
    """
    run = place.run(*python(program), options=("--checkpoint-dir", str(place.directory)))
    assert run.wait() == 0, run
    assert re.findall(r"^\w+ -?\d+$", run.out, re.M) == ["first -15", "second -15", "timeout 124", "self 15"]


def test_applications_see_their_own_handlers(place):
    program = """
        import ctypes, os, signal, subprocess, sys
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(16) in (signal.SIG_DFL, None)
        def handler(*_): print("handled", flush=True)
        assert signal.signal(signal.SIGTERM, handler) is signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGTERM)
        assert signal.signal(signal.SIGTERM, signal.SIG_IGN) is handler
        os.kill(os.getpid(), signal.SIGTERM)
        # An ignored signal stays ignored through exec, and a handler does not.
        ask = "import signal; print(signal.getsignal(signal.SIGTERM).name, flush=True)"
        subprocess.run([sys.executable, "-c", ask])
        signal.signal(signal.SIGTERM, handler)
        subprocess.run([sys.executable, "-c", ask])
        libc = ctypes.CDLL(None, use_errno=True)
        libc.signal.restype = ctypes.c_void_p
        libc.sigset.restype = ctypes.c_void_p
        HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)
        mine = HANDLER(lambda number: print("by signal()", flush=True))
        assert libc.signal(15, mine) not in (0, None)
        libc.raise_(15) if hasattr(libc, "raise_") else os.kill(os.getpid(), 15)
        assert libc.signal(15, 0) == ctypes.cast(mine, ctypes.c_void_p).value
        assert libc.sigset(15, mine) in (0, None)
        assert libc.siginterrupt(15, 1) == 0
        assert libc.sigset(15, 0) == ctypes.cast(mine, ctypes.c_void_p).value
        assert libc.sysv_signal(15, mine) in (0, None)
        os.kill(os.getpid(), 15)
        assert libc.signal(15, 0) in (0, None)  # that handler was for once
        print("done", flush=True)
    """
    run = place.run(*python(program), options=("--checkpoint-dir", str(place.directory)))
    assert run.wait() == 0, run
    assert run.out.split("\n")[:-1] == ["handled", "SIG_IGN", "SIG_DFL", "by signal()", "by signal()", "done"]


def test_a_plain_process_is_not_taken_for_one_that_handles_it(place):
    """To the kernel every process has a handler now."""
    run = place.run(*python("import time; print('ready', flush=True); time.sleep(3600)"), options=(*QUICK, "--checkpoint-signal", "TERM"))
    ready(run)
    caught = int(re.search(r"SigCgt:\t(\w+)", open(f"/proc/{run.job_pid}/status").read())[1], 16)
    assert caught >> 14 & 1, "the shield is not there: this test would prove nothing"
    result = place.query("checkpoint", "--pid", run.pid)
    assert result.code != 0 and "catches SIGTERM" in result.err
    assert is_alive(run.job_pid)


def test_it_does_not_stand_when_the_supervisor_has_died(place):
    run = place.run(*python(TRAINER), options=(*QUICK, "--checkpoint-signal", "USR1"))
    ready(run)
    job, helpers = run.job_pid, helpers_of(run).values()
    run.process.kill()
    run.process.wait()
    os.kill(job, signal.SIGTERM)
    wait_for("the job dies", lambda: not is_alive(job))
    for helper in helpers:
        kill_quietly(helper)


def test_what_is_kept_is_handed_out_when_the_supervisor_dies(place):
    """It has kept the signal, and nobody will ever let go: found out within a second or so."""
    program = TRAINER.replace("while not wanted:", "while True:")
    run = place.run(*python(program), options=(*QUICK, "--checkpoint-signal", "USR1", "--grace", "600"))
    ready(run)
    job, helpers = run.job_pid, helpers_of(run).values()
    signal_everybody(run)
    wait_for("it is kept", lambda: "holding back the SIGTERM" in run.err, process=run.process)
    assert all(is_alive(pid) for pid in (job, *helpers))
    run.process.kill()
    run.process.wait()
    wait_for("all die", lambda: not any(is_alive(pid) for pid in (job, *helpers)))


def test_a_thread_that_sleeps_goes_on_sleeping(place):
    """What is kept does not disturb: calls that can be restarted are."""
    program = """
        import os, signal, threading, time
        os.mkdir(os.environ["REPRIEVE_CHECKPOINT_DIR"])
        signal.signal(signal.SIGUSR1, lambda *_: open(os.environ["REPRIEVE_CHECKPOINT_DIR"] + "/saved", "w").write("x"))
        reading, writing = os.pipe()
        print("ready", flush=True)
        import ctypes
        buffer = ctypes.create_string_buffer(1)
        got = ctypes.CDLL(None, use_errno=True).read(reading, buffer, 1)
        print("read", got, ctypes.get_errno(), flush=True)
    """
    notice = place.path / "notice"
    run = place.run(*python(program), options=(*QUICK, "--checkpoint-signal", "USR2", "--grace", "60", "--notice", f"file:{notice}"))
    ready(run)
    time.sleep(0.3)
    signal_everybody(run)
    wait_for("it is kept", lambda: "holding back the SIGTERM" in run.err, process=run.process)
    notice.write_text('{"in_seconds": 2}')
    run.wait()
    assert not re.findall("^read ", run.out, re.M)
