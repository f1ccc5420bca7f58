"""A job that writes thousands of files: how long it takes to its end, beside the same job bare, and what the supervisor computes a file.

many_files.py BINARY [--smoke]
"""
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Writes, and saves a few times after that.
JOB = """
import os, sys, time
directory, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
names = {"checkpoints": "model_{:06}.bin", "pictures": "figure_{:06}.png", "small files": "cache/{:02}/{:06}.txt"}
def write(name):
    with open(os.path.join(directory, name), "wb") as out:
        out.write(b"x" * 500)
for number in range(100):
    os.makedirs(os.path.join(directory, "cache", "%02d" % number), exist_ok=True)
for number in range(1, count + 1):
    write(names[kind].format(number) if kind != "small files" else names[kind].format(number % 100, number))
for number in range(count + 1, count + 6):
    write("model_%06d.bin" % number)
    time.sleep(0.5)
"""
ROWS = [("checkpoints", 10000, ""), ("pictures", 5000, ""), ("small files", 100000, "1.3 x")]


def timed(command, environment):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    binary, smoke = os.path.abspath(sys.argv[1]), "--smoke" in sys.argv
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("REPRIEVE_", "AWS_", "SLURM"))}
    print("a job that writes many files, and saves five times after that: from its start to the end of the command")
    print(f"  {'':<14} {'files':>8} {'bare':>9} {'run':>9} {'ratio':>8} {'CPU a file':>12}   aim")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as work:
        for number, (kind, count, aim) in enumerate(ROWS):
            count, place = count // 50 if smoke else count, Path(work) / str(number)
            job = lambda where: [sys.executable, "-c", JOB, str(place / where), kind, str(count)]
            bare, bare_cpu = timed(job("bare"), environment)
            run, run_cpu = timed([binary, "run", "-q", "--notice", "none", "--store", f"file://{place}/store", "--job", kind.replace(" ", "-"),
                                  "--checkpoint-dir", str(place / "run"), "--", *job("run")], environment)
            print(f"  {kind:<14} {count:>8} {bare:>7.1f} s {run:>7.1f} s {run / bare:>6.2f} x {(run_cpu - bare_cpu) / count * 1000:>9.3f} ms   {aim}",
                  flush=True)


main()
