"""A small training job for the tests: counts steps, saves numbered checkpoints, resumes from the newest one.

It knows nothing of Reprieve. Every line it prints is one fact: "resumed 12", "step 13", "saved 13", "env NAME VALUE".
"""
import argparse
import hashlib
import json
import os
import signal
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--dir", default="checkpoints")
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--step-time", type=float, default=0.02)
parser.add_argument("--every", type=int, default=0, help="save each N steps")
parser.add_argument("--signal", default="", help="save when it comes, e.g. USR1")
parser.add_argument("--on-signal", choices=["go-on", "exit0", "exit143", "ignore", "hang"], default="go-on")
parser.add_argument("--size", type=int, default=1000, help="bytes of a checkpoint's second file")
parser.add_argument("--gap", type=float, default=0.0, help="seconds between the two files of a checkpoint")
parser.add_argument("--late-handler", type=float, default=0.0, help="install the handler only after so many seconds")
parser.add_argument("--env", default="", help="print these variables at the start")
parser.add_argument("--exit", type=int, default=0)
options = parser.parse_args()


def say(*words):  # in one piece: a handler may speak between two of print()'s
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


asked = False


def handler(number, frame):
    global asked
    asked = True
    say("signal", signal.Signals(number).name)


def install():
    if options.signal:
        signal.signal(getattr(signal, "SIG" + options.signal), handler)


def content(step):
    seed = hashlib.sha256(str(step).encode()).digest()
    return (seed * (options.size // len(seed) + 1))[: options.size]


def save(step):
    path = os.path.join(options.dir, "step_%d" % step)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "state.json"), "w") as file:
        json.dump({"step": step}, file)
    time.sleep(options.gap)
    with open(os.path.join(path, "weights.bin"), "wb") as file:
        file.write(content(step))
    say("saved", step)


def resume():
    if not os.path.isdir(options.dir):
        return 0
    steps = [int(name[5:]) for name in os.listdir(options.dir) if name.startswith("step_")]
    if not steps:
        return 0
    step = max(steps)
    path = os.path.join(options.dir, "step_%d" % step)
    with open(os.path.join(path, "weights.bin"), "rb") as file:
        data = file.read()
    with open(os.path.join(path, "state.json")) as file:
        assert json.load(file)["step"] == step
    if data != content(step):
        say("TORN", step)
        sys.exit(99)
    say("resumed", step)
    return step


for name in filter(None, options.env.split(",")):
    say("env", name, os.environ.get(name, "(unset)"))
start = resume()
began = time.monotonic()
if options.late_handler == 0:
    install()
for step in range(start + 1, options.steps + 1):
    time.sleep(options.step_time)
    if options.late_handler and time.monotonic() - began > options.late_handler:
        install()
        options.late_handler = 0
    say("step", step)
    if asked:
        asked = False
        if options.on_signal == "hang":
            time.sleep(3600)
        if options.on_signal != "ignore":
            save(step)
        if options.on_signal == "exit0":
            sys.exit(0)
        if options.on_signal == "exit143":
            sys.exit(143)
    elif options.every and step % options.every == 0:
        save(step)
say("finished", options.steps)
sys.exit(options.exit)
