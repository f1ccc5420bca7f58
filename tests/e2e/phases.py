"""A training job that can be met in each phase of its life. It knows nothing of Reprieve.

It saves at SIGUSR1, and before that once by itself at step 3. A phase lasts until the file RELEASE is there. Lines: "resumed N",
"step N", "signal", "in PHASE", "saved N", "NESTED" (the handler ran in the midst of a save that it had begun itself).

phases.py --dir DIR --release FILE [--phase NAME] [--then WHAT] [--first N]
"""
import argparse
import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--dir", required=True)
parser.add_argument("--release", required=True)
parser.add_argument("--phase", default="", choices=["", "compile", "call", "evaluate", "save", "handler", "ignore", "crash", "start"])
parser.add_argument("--then", default="go-on", help="after a save on request: go-on, hang, or an exit code")
parser.add_argument("--first", type=int, default=3, help="saves by itself at this step")
parser.add_argument("--end", type=int, default=10**9)
options = parser.parse_args()
asked = saving = False
step = 0


def say(*words):
    """In one piece: print() writes several, and the handler may speak between them."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def phase():
    say("in", options.phase)
    while not os.path.exists(options.release):
        time.sleep(0.02)


def save(slowly=False):
    global saving
    if saving:
        say("NESTED")
    saving = True
    path = os.path.join(options.dir, "step_%d" % step)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "optimizer.bin"), "wb") as file:
        file.write(b"optimizer %d" % step)
        if slowly:
            phase()
    if options.phase == "crash" and asked:
        raise RuntimeError("out of memory")
    with open(os.path.join(path, "weights.bin"), "wb") as file:
        file.write(b"weights %d" % step)
    saving = False
    say("saved", step)


def leave():
    if options.then == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        atexit.register(time.sleep, 3600)
        sys.exit(0)
    if options.then != "go-on":
        sys.exit(int(options.then))


def handler(number, frame):
    global asked
    say("signal")
    asked = True
    if options.phase == "handler":
        save(slowly=True)
        asked = False


def call():
    """One call into a library that no signal interrupts."""
    library = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(256)
    library.pthread_mutex_lock(mutex)

    def release():
        phase()
        library.pthread_mutex_unlock(mutex)

    threading.Thread(target=release).start()
    library.pthread_mutex_lock(mutex)


def compile_():
    script = 'echo in compile; while [ ! -e "$0" ]; do sleep 0.05; done'
    say("compiled", subprocess.run(["sh", "-c", script, options.release]).returncode)


def resume():
    steps = sorted(int(name[5:]) for name in os.listdir(options.dir)) if os.path.isdir(options.dir) else []
    if not steps:
        return 0
    for name in ("optimizer", "weights"):
        with open(os.path.join(options.dir, "step_%d" % steps[-1], name + ".bin"), "rb") as file:
            assert file.read() == b"%s %d" % (name.encode(), steps[-1])
    say("resumed", steps[-1])
    return steps[-1]


step = resume()
if options.phase == "start":
    phase()
signal.signal(signal.SIGUSR1, handler)
phases = {"compile": compile_, "call": call, "evaluate": phase}
while step < options.end:
    step += 1
    time.sleep(0.02)
    say("step", step)
    if step == options.first:
        save(slowly=options.phase == "save")
    if step == options.first + 3 and options.phase in phases:
        phases[options.phase]()
    if asked and options.phase != "ignore":
        save()
        asked = False
        leave()
say("finished")
