"""From a request to its delivery: `reprieve run` with 8 ranks below a launcher is asked again and again, and each rank writes down when
its handler ran. Prints one line for tests/bench/run.sh: median and worst in nanoseconds, until the last rank has it.

delivery.py BINARY TIMES [PYTHON]      PYTHON: with torch, for torchrun; else a launcher that does the same
"""
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 8
RANK = """
import os, signal, sys, time
path = os.path.join(sys.argv[1], os.environ["RANK"])
def handler(number, frame):
    with open(path, "a") as file:
        file.write("%d\\n" % time.monotonic_ns())
signal.signal(signal.SIGUSR1, handler)
open(path, "w").close()
while not os.path.exists(sys.argv[1] + ".stop"):
    time.sleep(0.05)
"""
LAUNCHER = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, *sys.argv[1:]], env={**os.environ, "RANK": str(number)}) for number in range(%d)]
[rank.wait() for rank in ranks]
""" % RANKS


def lines(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else None


def wait(fact, process):
    end = time.monotonic() + 120
    while not fact():
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("delivery: the job has ended or does not answer")
        time.sleep(0.002)


def main():
    binary, times = sys.argv[1], int(sys.argv[2])
    python = sys.argv[3] if len(sys.argv) > 3 else None
    work = Path(tempfile.mkdtemp(dir=os.getcwd()))
    (work / "rank.py").write_text(RANK)
    (work / "launch.py").write_text(LAUNCHER)
    launcher = ([python, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={RANKS}"] if python
                else [sys.executable, str(work / "launch.py")])
    (work / "ranks").mkdir()
    with open(work / "log", "wb") as log:
        process = subprocess.Popen([binary, "run", "--store", f"file://{work}/store", "--job", "delivery", "--checkpoint-dir",
                                    str(work / "checkpoints"), "--checkpoint-signal", "USR1", "--", *launcher,
                                    str(work / "rank.py"), str(work / "ranks")], stdout=log, stderr=log, start_new_session=True)
    took = []
    paths = [work / "ranks" / str(number) for number in range(RANKS)]
    try:
        wait(lambda: all(lines(path) is not None for path in paths), process)
        for round_ in range(1, times + 1):
            began = time.monotonic_ns()
            process.send_signal(signal.SIGUSR1)
            wait(lambda: all(len(lines(path)) == round_ for path in paths), process)
            took.append(max(lines(path)[-1] for path in paths) - began)
            # A save answers it, so that the next one is a request of its own.
            (work / "checkpoints").mkdir(exist_ok=True)
            (work / "checkpoints" / f"step_{round_}.bin").write_bytes(b"state")
            wait(lambda: (work / "log").read_text().count("the job has saved") >= round_, process)
    finally:
        (work / "ranks.stop").touch()
        process.wait(60)
    print("torchrun" if python else "a launcher of Python", int(statistics.median(took)), max(took), sep="\t")


if __name__ == "__main__":
    main()
