"""Requests of each command to an S3 server, and how many trips follow each other: trips.py BINARY [--each]
The server answers all that waits at once, as soon as nothing more comes: each such round is a trip to a far store, which no link makes
shorter. tests/e2e/test_trips.py holds the table below.
"""
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakes"))
from fault_server import FaultHandler, FaultServer  # noqa: E402
from growth import BUCKET, JOB, DatedMemory, History  # noqa: E402

SIZE = 100_000
# In a row at most, by the command and the snapshots that there are. A list of a hundred reads a claim and a manifest of each.
LIMITS = {("new store", 0): 11, ("new job", 0): 9,
          ("list", 1): 3, ("run", 1): 6, ("save", 1): 10,
          ("list", 100): 9, ("run", 100): 6, ("save", 100): 10}


class RoundServer(FaultServer):
    """Answers once nothing has come for `quiet` seconds; `asked` has the round, the time, and what was asked."""

    def __init__(self, quiet):
        super().__init__(memory=DatedMemory())
        self.quiet, self.round, self.newest, self.asked, self.changed = quiet, 0, 0, [], threading.Condition()
        self.memory.buckets[BUCKET] = {}

    def rule_for(self, request):
        with self.changed:
            own, self.newest = self.round, time.monotonic()
            self.asked.append((own, time.time_ns(), request.method, request.key or request.query.get("prefix", "")))
            while own == self.round:
                left = self.newest + self.quiet - time.monotonic()
                if left > 0:
                    self.changed.wait(left)
                else:
                    self.round += 1
                    self.changed.notify_all()
        return super().rule_for(request)


def in_a_row(asked):
    return len({request[0] for request in asked})


class Trips(History):
    """A job at such a server."""

    def __init__(self, binary, work, quiet):
        FaultHandler.disable_nagle_algorithm = True  # an answer is written in two parts
        self.binary, self.work, self.server = binary, work, RoundServer(quiet)
        self.objects, self.others = self.server.memory.buckets[BUCKET], 0
        self.environment = {**os.environ, **self.server.environment, "REPRIEVE_NOTICE": "none", "XDG_CACHE_HOME": str(work / "cache")}
        self.directory = work / "saved"
        self.directory.mkdir()

    def ask(self, verb, *words, job=JOB, after=()):
        """All requests of a command, which must do what it is to do."""
        self.server.asked.clear()
        command = [self.binary, verb, *words, "--store", f"s3://{BUCKET}", "--job", job, *after]
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.environment)
        assert done.returncode == 0, f"{verb}: exit {done.returncode}: {done.stderr[-500:]}"
        return list(self.server.asked)

    def save(self):
        (self.directory / "weights").write_bytes(os.urandom(SIZE))
        return self.ask("save", self.directory)

    def list(self):
        return self.ask("list")

    def run(self):
        """What comes before the first instruction of a job that finds its checkpoint in the store alone."""
        told = self.work / "told"
        with tempfile.TemporaryDirectory(dir=self.work) as directory:
            script = f"date +%s%N >{told}; [ $(stat -c %s {directory}/weights) = {SIZE} ]"
            asked = self.ask("run", "-q", "--checkpoint-dir", directory, after=["--", "sh", "-c", script])
        return [request for request in asked if request[1] < int(told.read_text())]

    def grow(self, snapshots):
        """Writes what is missing, as saves would have left it."""
        if snapshots <= 1 or self.highest() >= snapshots:
            return
        self.learn()
        for number in range(self.written + 1, snapshots + 1):
            self.write_attempt(number)
            self.write_snapshot(number)

    def new_store(self):
        self.objects.clear()
        return self.save()

    def new_job(self):
        self.others += 1
        return self.ask("save", self.directory, job=f"other-{self.others}")

    def measure(self):
        """Yields the name, the snapshots and the requests of each row of the table. A request that a busy machine sends late takes a
        round of its own: so the fewest rounds of three count."""
        for name, snapshots in LIMITS:
            tries = []
            while not tries or (len(tries) < 3 and in_a_row(tries[-1]) > LIMITS[name, snapshots]):
                self.grow(snapshots)
                tries.append(getattr(self, name.replace(" ", "_"))())
            yield name, snapshots, min(tries, key=in_a_row)


def main():
    print(f"  {'':10} {'snapshots':>9} {'requests':>8} {'in a row':>8} {'at most':>8}")
    with tempfile.TemporaryDirectory(prefix="reprieve-trips-") as directory:
        trips = Trips(Path(sys.argv[1]).resolve(), Path(directory), 0.1)
        for name, snapshots, asked in trips.measure():
            print(f"  {name:10} {snapshots:9} {len(asked):8} {in_a_row(asked):8} {LIMITS[name, snapshots]:8}", flush=True)
            if "--each" in sys.argv:
                for number, _, method, key in sorted(asked):
                    print(f"    {number - asked[0][0] + 1:6} {method:6} {key}")
        trips.server.close()


if __name__ == "__main__":
    main()
