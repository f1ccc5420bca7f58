"""What is left to do at the trainer's last byte: tail.py [--smoke] --work DIRECTORY BINARY; stores.sh has prepared everything.

A job writes a checkpoint at a pace, in four ways, and its files are sent meanwhile. What that is compared with is the same data that comes at
once (a directory that is moved to its place, so that nothing can be sent before) and is sent by the same supervisor.

after a notice   the job is asked for the checkpoint, says reprieve.saved() at its end, and ends: all of the tail is ours
on its own       the job trains on, and quiet ends the checkpoint: nothing may be committed for --quiet-time after the last byte. The tail is
                 what comes after that; the quiet is beside it. All is sent at low priority, so that on a busy machine it takes its time

The pace is what a disk or a store takes, and no more than three quarters of what the server here takes: of what is written faster than it can
be sent a backlog is left, whoever sends it.

BENCH_PACE: MB/s (default 300)      BENCH_RATES: MB/s that the sink takes; 0: as much as comes (default "0 400")
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stores import BUCKET, Sink, empty, measure, size_of, start_server
from server import die_with_parent  # stores has found it

ROOT = Path(__file__).resolve().parents[2]
AIM = 15
LIMIT = 900
KINDS = {"one": "one file", "zip": "one file, headers rewritten (torch.save)", "renamed": "one file under another name, renamed",
         "shards": "8 files side by side"}
# Writes what the files of a directory hold. Prints the time of the last byte, in ms of CLOCK_MONOTONIC.
JOB = """
import mmap, os, signal, shutil, sys, time
directory, weights, kind, pace, asked, shim = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]) * 1e6, sys.argv[5] == "asked", sys.argv[6]
come = []
signal.signal(signal.SIGUSR1, lambda *_: come.append(1))
sys.dont_write_bytecode = True
sys.path.insert(0, shim)
import reprieve
PIECE, RECORD, HEADER = 1 << 20, 16, 64
pieces = []
for name in sorted(os.listdir(weights)):
    with open(os.path.join(weights, name), "rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        pieces += [whole[at:at + PIECE] for at in range(0, len(whole), PIECE)]
place = os.path.join(directory, "step_1")
if kind == "moved":
    shutil.copytree(weights, directory + ".new")
else:
    os.makedirs(place)
print("ready", flush=True)
while asked and not come:
    time.sleep(0.001)
began, done = time.monotonic(), 0
def write(file, piece):
    global done
    file.write(piece)
    done += len(piece)
    time.sleep(max(0.0, began + done / pace - time.monotonic()))
def opened(name):
    return open(os.path.join(place, name), "wb", buffering=0)
if kind == "moved":
    os.rename(directory + ".new", place)
elif kind == "shards":
    files = [opened(f"shard-{number}.bin") for number in range(8)]
    for number, piece in enumerate(pieces):
        write(files[number % 8], piece)
    for file in files:
        file.close()
elif kind == "zip":
    with opened("model.pt") as file:
        for at in range(0, len(pieces), RECORD):
            header = file.tell()
            file.write(bytes(HEADER))
            for piece in pieces[at:at + RECORD]:
                write(file, piece)
            file.seek(header)
            file.write(at.to_bytes(HEADER, "big"))
            file.seek(0, os.SEEK_END)
        file.write(os.urandom(4096))
        file.seek(0)
        file.write(b"PK" + bytes(HEADER - 2))
else:
    name = "model.bin.tmp" if kind == "renamed" else "model.bin"
    with opened(name) as file:
        for piece in pieces:
            write(file, piece)
    if kind == "renamed":
        os.rename(os.path.join(place, name), os.path.join(place, "model.bin"))
print("written", time.monotonic() * 1000, flush=True)
if asked:
    reprieve.saved(1)
while not come:
    time.sleep(0.01)
"""


class Job:
    """Seconds from the last byte of one checkpoint until it is complete, and until it is durable."""

    def __init__(self, server, options, kind, asked, pace):
        self.options, self.server = options, server
        self.place = Path(tempfile.mkdtemp(prefix="tail-", dir=options.work))
        try:
            (self.place / "job.py").write_text(JOB)
            (self.place / "checkpoints").mkdir()
            self.run(kind, asked, pace)
        finally:
            shutil.rmtree(self.place, ignore_errors=True)

    def run(self, kind, asked, pace):
        directory, events = self.place / "checkpoints", self.place / "events"
        command = [self.options.binary, "run", "-q", "--store", f"s3://{BUCKET}/tail", "--job", self.place.name, "--checkpoint-dir", directory,
                   "--events", events, "--shim", "on", "--grace", "600", "--checkpoint-signal", "USR1", "--", sys.executable,
                   self.place / "job.py", directory, self.options.work / "weights", kind, pace, "asked" if asked else "", ROOT / "shim"]
        with open(self.options.work / "log", "ab") as log:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                       env={**os.environ, **self.server.environment}, text=True, preexec_fn=die_with_parent)
        try:
            next(line for line in process.stdout if line.startswith("ready"))
            if asked:
                process.send_signal(signal.SIGTERM)
            written = next(float(line.split()[1]) for line in process.stdout if line.startswith("written"))
            self.total = (self.event(process, events, "durable")["monotonic_ms"] - written) / 1000
            self.quiet = max(0.0, self.event(process, events, "checkpoint_complete")["monotonic_ms"] - written) / 1000
            self.tail = self.total if asked else self.total - self.quiet
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT)
            self.end = time.monotonic() - began
        finally:
            process.terminate()
            process.communicate()

    @staticmethod
    def event(process, path, kind):
        end = time.monotonic() + LIMIT
        while True:
            ended = time.monotonic() > end or process.poll() is not None
            lines = path.read_text().splitlines(keepends=True) if path.exists() else []
            found = [event for event in (json.loads(line) for line in lines if line.endswith("\n")) if event["event"] == kind]
            if found:
                return found[-1]
            if ended:
                sys.exit(f"tail: no {kind}: exit {process.poll()}")
            time.sleep(0.005)


def show(name, server, options):
    environment, size = {**os.environ, **server.environment}, size_of(options.work / "weights")

    def job(*arguments):
        done = Job(server, options, *arguments)
        empty(server, options.work)
        return done

    command = [options.binary, "save", options.work / "weights", "--store", f"s3://{BUCKET}/first", "--job", f"first-{os.getpid()}"]
    pace = min(options.pace, 0.75 * size / 1e6 / min(measure(command, environment, options.work).wall, job("moved", True, 0).total))
    print(f"\n{name}: {size >> 20} MiB of fp32 weights written at {pace:.0f} MB/s (median of {options.rounds})")
    print(f"  {'':42} {'':14} {'quiet':>7} {'tail':>8} {'at once':>8} {'of that':>8}   aim")
    cases = [(kind, asked) for kind in KINDS for asked in (True, False)]
    samples = {case: [] for case in cases}
    for _ in range(options.rounds):
        for kind in KINDS:
            whole = job("moved", True, 0).total
            for asked in (True, False):
                samples[kind, asked].append((job(kind, asked, pace), whole))
    for (kind, asked), pairs in samples.items():
        quiet, tail = (statistics.median(getattr(one, field) for one, _ in pairs) for field in ("quiet", "tail"))
        share = statistics.median(one.tail / whole for one, whole in pairs)
        print(f"  {KINDS[kind]:42} {'after a notice' if asked else 'on its own':14} {quiet:5.2f} s {tail * 1000:5.0f} ms "
              f"{statistics.median(whole for _, whole in pairs) * 1000:5.0f} ms {100 * share:6.0f} %   < {AIM} %")
    end = statistics.median(one.end for (_, asked), pairs in samples.items() if not asked for one, _ in pairs)
    print(f"  from a notice to the end, when the newest checkpoint is durable already: {end * 1000:.0f} ms   < 300 ms")


def main():
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("binary")
    options = parser.parse_args()
    options.rounds = int(os.environ.get("BENCH_ROUNDS") or (1 if options.smoke else 3))
    options.pace = float(os.environ.get("BENCH_PACE") or 300)
    servers = (os.environ.get("BENCH_SERVERS") or ("http" if options.smoke else "http radosgw")).split()
    rates = [int(word) for word in (os.environ.get("BENCH_RATES") or ("0" if options.smoke else "0 400")).split()]
    if "http" in servers:
        for rate in rates:
            sink = Sink(options.work, "http", options.work)
            sink.start(rate=rate * 1_000_000)
            try:
                show(f"sink, {f'{rate} MB/s' if rate else 'no limit'}", sink, options)
            finally:
                sink.stop()
    if "radosgw" in servers:
        with tempfile.TemporaryDirectory(prefix="stores-") as path:
            server = start_server("radosgw", path, options.work)
            try:
                show("radosgw", server, options)
            finally:
                server.stop()


if __name__ == "__main__":
    main()
