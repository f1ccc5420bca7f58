"""How what a store costs grows with the attempts that ever were: requests (lists by pages of 1,000), CPU and memory of a start, a save, a
retention run, a list and a report, against an S3 server in memory: growth.py BINARY [--smoke]. A tenth of the attempts has left a snapshot.
The history is written as attempts would have left it, a thousand at a time, with a retention run after each, as `run --keep-*` makes them.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakes"))
from fault_server import FaultHandler, FaultServer  # noqa: E402
from s3_memory import S3Memory  # noqa: E402

BUCKET, JOB = "bench", "growth"
BATCH = 1000  # a retention run forgets a little more


class DatedMemory(S3Memory):
    """With dates: nothing here is put twice under one name, so one date will do."""

    def list(self, objects, request):
        answer = super().list(objects, request)
        answer.body = answer.body.replace(b"</Size>", b"</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified>")
        return answer


def record(kind, body):
    text = json.dumps(body, separators=(",", ":")).encode()
    header = {"reprieve": kind, "version": 3, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + text


class Cost:
    """Of one command: what it asked of the server, and what it took."""

    def __init__(self, server, command, environment, work):
        server.log.clear()
        with open(work / "log", "ab") as log:
            began = time.monotonic()
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            self.wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command[1]}: exit {process.returncode}: {(work / 'log').read_text(errors='replace')[-500:]}")
        self.cpu, self.peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        self.removals = sum(entry[0] == "DELETE" for entry in server.log)
        self.requests = len(server.log) - self.removals


class History:
    """A job at an S3 server, and what has been written of its attempts."""

    def __init__(self, binary, work):
        self.binary, self.work, self.written, self.newest = binary, work, 0, None
        FaultHandler.disable_nagle_algorithm = True  # an answer is written in two parts
        self.server = FaultServer(memory=DatedMemory())
        self.objects = self.server.memory.buckets[BUCKET] = {}
        self.environment = {**os.environ, **self.server.environment, "REPRIEVE_NOTICE": "none"}
        (work / "one").mkdir()
        self.save()
        self.written = self.highest()
        key = next(key for key in self.objects if "/snapshots/" in key)
        self.model = json.loads(self.objects[key].split(b"\n", 1)[1])
        self.pack = self.objects[f"jobs/{JOB}/{self.model['packs'][0]['key']}"]
        self.newest = self.model["id"]

    def run(self, verb, *words, after=()):
        command = [self.binary, verb, *words, "--store", f"s3://{BUCKET}", "--job", JOB, *after]
        return Cost(self.server, command, self.environment, self.work)

    def start(self):
        return self.run("run", "-q", "--checkpoint-dir", self.work / "checkpoint", after=["--", "true"])

    def save(self):
        (self.work / "one/w").write_bytes(os.urandom(1000))
        return self.run("save", self.work / "one")

    def list(self):
        return self.run("list")

    def report(self):
        return self.run("report")

    def retention(self):
        return self.run("forget", "--keep-last", "100000")

    def highest(self):
        return max(int(key.rsplit("/", 1)[1].split(".")[0]) for key in self.objects if "/attempts/" in key)

    def write_attempt(self, number):
        claim = {"attempt": number, "nonce": f"{number:032x}", "created": "2026-01-01T00:00:00Z", "host": "spot",
                 "policy": "latest", "start": self.newest, "about": {"host": "spot", "directory": "/work/checkpoints",
                                                                     "command": ["python", "train.py", "--epochs", "90"]}}
        end = {"attempt": number, "nonce": f"{number:032x}", "created": "2026-01-01T01:00:00Z", "host": "spot", "outcome": "preempted",
               "about": {"exit_code": 75, "newest": self.newest, "checkpoint_complete": True, "ran_ms": 3600000}}
        name = f"jobs/{JOB}/attempts/{number:06}"
        self.objects[f"{name}.json"] = record("attempt", claim)
        self.objects[f"{name}.confirmed.json"] = record("confirmed", {"attempt": number})
        self.objects[f"{name}.end.json"] = record("end", end)
        self.objects[f"jobs/{JOB}/draining/{number:06}-000001.json"] = record("draining", {"attempt": number, "left_ms": 1000})
        # A part for each minute in which something happened, and the final metrics.
        for part in range(1, 7):
            lines = [{"monotonic_ms": 1000 * part, "event": event, "age": 1, "seconds": 1} for event in ("launched", "requested", "durable")]
            text = "".join(json.dumps(line) + "\n" for line in lines).encode()
            self.objects[f"jobs/{JOB}/notes/{number:06}/ledger-{part:04}"] = text
        self.objects[f"jobs/{JOB}/notes/{number:06}/metrics-0001"] = b"reprieve_up 1\n" * 40

    def write_snapshot(self, number):
        pack = f"packs/{number:06}/000001-{number:032x}-0001.pack"
        self.newest = f"{number:06}-000001"
        body = {**self.model, "id": self.newest, "attempt": number, "sequence": 1, "parent": None,
                "packs": [{**self.model["packs"][0], "key": pack}]}
        self.objects[f"jobs/{JOB}/{pack}"] = self.pack
        self.objects[f"jobs/{JOB}/snapshots/{self.newest}.json"] = record("snapshot", body)

    def grow(self, attempts):
        self.written = max(self.written, self.highest())
        while self.written < attempts:
            for _ in range(min(BATCH, attempts - self.written)):
                self.written += 1
                self.write_attempt(self.written)
                if self.written % 10 == 0:
                    self.write_snapshot(self.written)
            # What there is to forget takes several runs: a job has one after each save.
            while self.retention().removals > 1:
                pass


def main():
    binary, smoke = Path(sys.argv[1]).resolve(), "--smoke" in sys.argv
    print(f"what a store costs, by attempts that ever were; a tenth left a snapshot{' (small)' if smoke else ''}")
    print(f"  {'':10} {'attempts':>8} {'requests':>8} {'removals':>8} {'CPU':>10} {'memory':>10} {'time':>10}   aim: requests + 20")
    with tempfile.TemporaryDirectory(prefix="reprieve-growth-") as directory:
        history = History(binary, Path(directory))
        for attempts in (1, 100) if smoke else (1, 100, 1000, 10000):
            history.grow(attempts)
            for verb in (history.start, history.save, history.retention, history.list, history.report):
                cost = verb()
                print(f"  {verb.__name__:10} {attempts:8} {cost.requests:8} {cost.removals:8} {cost.cpu * 1000:7.0f} ms {cost.peak / 2**20:6.0f} MiB "
                      f"{cost.wall * 1000:7.0f} ms", flush=True)
        history.server.close()


if __name__ == "__main__":
    main()
