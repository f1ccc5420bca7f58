"""A rank that only waits, for the tests of who gets a signal. It knows nothing of Reprieve.

Every process of it writes the signals that it gets into a file of its own, LOG/ROLE.PID, a line each. At the first one the rank with
the lowest number writes a checkpoint. The handler is installed at the top of the module, so that spawned workers have it as well.

rank.py --log DIR --dir DIR --signal NAME [--workers N] [--start fork|spawn] [--number N] [--late SECONDS]
rank.py --launch N ...: starts N ranks as launchers do (RANK, LOCAL_RANK), and would take a signal for the end.
"""
import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--log", required=True)
parser.add_argument("--dir", required=True)
parser.add_argument("--signal", default="USR1")
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--start", default="fork", choices=["fork", "spawn"])
parser.add_argument("--number", type=int, default=-1)
parser.add_argument("--late", type=float, default=0, help="seconds until rank 1 has its handler")
parser.add_argument("--deaf", action="store_true", help="blocks the signal in rank 1")
parser.add_argument("--launch", type=int, default=0)
options = parser.parse_args()
NUMBER = getattr(signal, "SIG" + options.signal)
RANK = options.number if options.number >= 0 else int(
    os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or 0)
# A spawned worker imports this under another name; a forked one is told apart by its pid.
MAIN = os.getpid() if __name__ == "__main__" else 0
ROLE = "launcher" if options.launch else "rank"
asked = False


def write(text):
    role = ROLE if os.getpid() == MAIN else "worker"
    with open(os.path.join(options.log, "%s.%d" % (role, os.getpid())), "a") as file:
        file.write(text + "\n")


def handler(number, frame):
    global asked
    asked = True
    write(signal.Signals(number).name)


def work():
    write("ready")
    while True:
        time.sleep(0.02)


def save():
    os.makedirs(options.dir, exist_ok=True)
    with open(os.path.join(options.dir, "step_1.bin"), "wb") as file:
        file.write(b"state" * 1000)


def train():
    global asked
    context = multiprocessing.get_context(options.start)
    for _ in range(options.workers):
        context.Process(target=work, daemon=True).start()
    write("ready")
    while True:
        time.sleep(0.02)
        if asked and RANK == 0:
            save()
        asked = False


def launch():
    arguments = [argument for argument in sys.argv[1:]]
    at = arguments.index("--launch")
    del arguments[at:at + 2]
    ranks = [subprocess.Popen([sys.executable, sys.argv[0], *arguments],
                              env={**os.environ, "RANK": str(number), "LOCAL_RANK": str(number)})
             for number in range(options.launch)]
    write("ready")
    for rank in ranks:
        rank.wait()


if options.deaf and RANK == 1:
    signal.pthread_sigmask(signal.SIG_BLOCK, [NUMBER])
if not (options.late and RANK == 1 and MAIN and not options.launch):
    signal.signal(NUMBER, handler)
if __name__ == "__main__":
    if options.launch:
        launch()
    else:
        if options.late and RANK == 1:
            write("starting")
            time.sleep(options.late)
            signal.signal(NUMBER, handler)
        train()
