"""Requests to an S3 server, and how many of them follow each other: trips.py BINARY [--each]
The server answers each request after a moment, so what was asked at once is seen. Trips in a row are the longest chain of requests of
which each begins when the one before has its answer: over a far link nothing makes them shorter. tests/e2e/test_trips.py holds MOST.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakes"))
from fault_server import FaultHandler, FaultServer  # noqa: E402
from growth import BUCKET, DatedMemory  # noqa: E402

SIZE, JOB = 100_000, "trips"
# In a row at most: these numbers only fall. `save` is the whole command; of a running job it is what follows the last byte of its file,
# up to the look that follows the commit; of a start, what comes before the job's first instruction.
MOST = {"save, new store": 9, "save, new job": 7, "save again": 8, "start, new job": 5, "start, restores": 6,
        "first save of a run": 5, "next save of a run": 4}
# Writes a checkpoint whenever it is told to, and says when it was there.
WRITER = """
import os, sys, time
directory, told = sys.argv[1:]
for number in range(1, 3):
    while not os.path.exists(f"{told}/go-{number}"):
        time.sleep(0.02)
    with open(f"{directory}/.new", "wb") as file:
        file.write(os.urandom(SIZE))
    os.rename(f"{directory}/.new", f"{directory}/weights-{number}.pt")
    with open(f"{told}/written.new", "w") as file:
        file.write(str(time.monotonic()))
    os.rename(f"{told}/written.new", f"{told}/written-{number}")
while not os.path.exists(f"{told}/end"):
    time.sleep(0.02)
"""


class FarServer(FaultServer):
    """Answers after `far` seconds; `asked` has the begin and the end of each request, and what it was."""

    def __init__(self, far):
        super().__init__(memory=DatedMemory())
        self.far, self.asked = far, []
        self.memory.buckets[BUCKET] = {}

    def rule_for(self, request):
        began = time.monotonic()
        time.sleep(self.far)
        self.asked.append((began, time.monotonic(), request.method, request.key or request.query.get("prefix", "")))
        return super().rule_for(request)


def chain_of(asked):
    """The longest chain: always the next one that ends first."""
    chain = []
    for request in sorted(asked, key=lambda request: request[1]):
        if not chain or request[0] >= chain[-1][1]:
            chain.append(request)
    return chain


def wait_for(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "nothing comes"
        time.sleep(0.02)


class Trips:
    def __init__(self, binary, work, far):
        FaultHandler.disable_nagle_algorithm = True  # an answer is written in two parts
        self.binary, self.work, self.server, self.jobs = binary, work, FarServer(far), 0
        self.objects = self.server.memory.buckets[BUCKET]
        self.environment = {**os.environ, **self.server.environment, "REPRIEVE_NOTICE": "none", "XDG_CACHE_HOME": str(work / "cache"),
                            "XDG_STATE_HOME": str(work / "state")}
        self.directory = work / "saved"
        self.directory.mkdir()

    def start(self, verb, *words, job, after=()):
        self.server.asked.clear()
        command = [self.binary, verb, *words, "--store", f"s3://{BUCKET}", "--job", job, *after]
        return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, env=self.environment)

    def ask(self, verb, *words, **options):
        """All requests of a command, which must do what it is to do."""
        process = self.start(verb, *words, **options)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, f"{verb}: exit {process.returncode}: {said[-500:]}"
        return list(self.server.asked)

    def new_name(self):
        self.jobs += 1
        return f"{JOB}-{self.jobs}"

    def save(self, job):
        (self.directory / "weights.pt").write_bytes(os.urandom(SIZE))
        return self.ask("save", self.directory, job=job)

    def run(self, job, size):
        told = self.work / "told"
        with tempfile.TemporaryDirectory(dir=self.work) as directory:
            script = f"cut -d' ' -f1 /proc/uptime >{told}; [ $(cat {directory}/* 2>/dev/null | wc -c) = {size} ]"
            asked = self.ask("run", "-q", "--checkpoint-dir", directory, job=job, after=["--", "sh", "-c", script])
        # What begins behind that is no matter, and /proc/uptime has hundredths.
        return [request for request in asked if request[1] < float(told.read_text()) + 0.01]

    def looked_after(self, job, number):
        """When the look after that commit had its answer; or 0."""
        manifests = [request for request in self.server.asked if request[2] == "PUT" and request[3].startswith(f"jobs/{job}/snapshots/")]
        looks = [request[1] for request in self.server.asked
                 if len(manifests) >= number and request[0] >= manifests[number - 1][1] and request[3] == f"jobs/{job}/attempts/"]
        return min(looks, default=0)

    def saves_of_a_run(self):
        """Up to the commit of each of two saves, from when its file was there."""
        job = self.new_name()
        found = []
        with tempfile.TemporaryDirectory(dir=self.work) as place:
            place = Path(place)
            (place / "told").mkdir()
            (place / "checkpoint").mkdir()
            after = ["--", sys.executable, "-c", WRITER.replace("SIZE", str(SIZE)), place / "checkpoint", place / "told"]
            process = self.start("run", "-q", "--quiet-time", "200ms", "--checkpoint-dir", place / "checkpoint", job=job, after=after)
            for number in range(1, 3):
                # Nothing of the start, or of the save before, is under way any more.
                wait_for(lambda: self.server.asked and time.monotonic() - self.server.asked[-1][1] > 1)
                (place / f"told/go-{number}").touch()
                wait_for(lambda: self.looked_after(job, number))
                written, until = float((place / f"told/written-{number}").read_text()), self.looked_after(job, number)
                found.append([request for request in self.server.asked if written <= request[0] and request[1] <= until and
                              "/notes/" not in request[3]])
            (place / "told/end").touch()
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, f"run: exit {process.returncode}: {said[-500:]}"
        return found

    def measure_once(self):
        """Yields the name and the requests of each row."""
        self.objects.clear()
        job = self.new_name()
        yield "save, new store", self.save(job)
        yield "save, new job", self.save(self.new_name())
        yield "save again", self.save(job)
        yield "start, new job", self.run(self.new_name(), 0)
        yield "start, restores", self.run(job, SIZE)
        yield from zip(("first save of a run", "next save of a run"), self.saves_of_a_run())

    def measure(self):
        """The requests of each row. What a busy machine sends late is a trip of its own: so the fewest of up to three tries count."""
        best = {}
        for _ in range(3):
            for name, asked in self.measure_once():
                best[name] = min(asked, best.get(name, asked), key=lambda asked: len(chain_of(asked)))
            if all(len(chain_of(asked)) <= MOST[name] for name, asked in best.items()):
                break
        return best


def main():
    print("trips to a far store in a row")
    print(f"  {'100 kB':22} {'requests':>8} {'in a row':>8} {'at most':>8}")
    with tempfile.TemporaryDirectory(prefix="reprieve-trips-") as directory:
        trips = Trips(Path(sys.argv[1]).resolve(), Path(directory), 0.05)
        for name, asked in trips.measure().items():
            chain = chain_of(asked)
            print(f"  {name:22} {len(asked):8} {len(chain):8} {MOST[name]:8}", flush=True)
            for request in sorted(asked) if "--each" in sys.argv else []:
                row = sum(link[0] <= request[0] for link in chain)
                print(f"    {row:4} {1000 * (request[0] - min(asked)[0]):7.0f} ms {request[2]:6} {request[3]}")
        trips.server.close()


if __name__ == "__main__":
    main()
