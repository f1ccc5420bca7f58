#!/usr/bin/env python3
"""What many small files cost beside their content: bytes written, requests, processor time and peak memory.

	metadata.py [--smoke] BINARY [FILES...]        FILES: how many (default 20000 and 100000), of 100 bytes each

On file:// in BENCH_DIR (default /dev/shm). The requests are counted once more against an S3 in memory, with the first of these numbers.
Nothing is asserted: a shared machine is no place to assert a time on.
"""
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakes"))
from fault_server import FaultServer  # noqa: E402

SNAPSHOTS = 8  # so many manifests a start may have to look at
ENVIRONMENT = {"PATH": os.environ["PATH"], "REPRIEVE_NOTICE": "none"}


def make_tree(tree, files):
    for number in range(files):
        directory = tree / f"part-{number // 1000:03}"
        if number % 1000 == 0:
            directory.mkdir(parents=True)
        (directory / f"sample-{number:06}.bin").write_bytes(os.urandom(100))


class Measured:
    def __init__(self, binary, arguments, environment):
        began = time.monotonic()
        process = os.posix_spawn(binary, [binary, *map(str, arguments)], {**ENVIRONMENT, **environment},
                                 file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
        _, status, usage = os.wait4(process, 0)
        if status != 0:
            sys.exit(f"failed with {os.waitstatus_to_exitcode(status)}: {' '.join(map(str, arguments))}")
        self.wall, self.user, self.system, self.peak = time.monotonic() - began, usage.ru_utime, usage.ru_stime, usage.ru_maxrss


class Bench:
    def __init__(self, binary, work, files, url, environment):
        self.binary, self.work, self.files, self.url, self.environment = binary, work, files, url, environment

    def run(self, verb, *arguments, **environment):
        return Measured(self.binary, [verb, *arguments], {**self.environment, "HOME": str(self.work), "REPRIEVE_STORE": self.url,
                                                          "REPRIEVE_JOB": "bench", **environment})

    def save(self):
        return self.run("save", self.work / "tree")


def stored(store):
    return sum(path.stat().st_size for path in store.rglob("*") if path.is_file() and "tmp" not in path.relative_to(store).parts[:1])


def newest_manifest(store):
    return max((store / "jobs/bench/snapshots").iterdir()).stat().st_size


def row(what, measured, more=""):
    print(f"  {what:<38} {measured.user:7.2f} s user {measured.system:7.2f} s sys {measured.peak / 1024:8.0f} MB peak {measured.wall:7.2f} s   {more}")


def on_files(binary, work, files):
    store = work / "store"
    bench = Bench(binary, work, files, f"file://{store}", {})
    print(f"{files} files of 100 bytes, file://")
    before = 0

    def saved(what):
        nonlocal before
        measured = bench.save()
        now = stored(store)
        row(what, measured, f"{now - before:>10} bytes written, manifest {newest_manifest(store)}")
        before = now

    saved("save, the first")
    saved("save, nothing has changed")
    (work / "tree/part-000/sample-000000x.bin").write_bytes(os.urandom(100))
    saved("save, one file more")
    for _ in range(SNAPSHOTS - 3):
        bench.save()
    row(f"list, {SNAPSHOTS} snapshots", bench.run("list"))
    row("save of one file, 8 snapshots", bench.run("save", work / "one"))
    bench.run("forget", "--keep-last", SNAPSHOTS)
    row("forget (nothing)", bench.run("forget", "--keep-last", 100))
    row("start, restores", bench.run("run", "-q", "--checkpoint-dir", work / "checkpoints", "--restore", "2-1", "--", "true"))
    shutil.rmtree(work / "checkpoints")
    row("restore", bench.run("restore", "2-1", work / "restored"))
    row("verify", bench.run("verify", "2-1"))
    print()


def on_s3(binary, work, files):
    server = FaultServer()
    server.memory.buckets["bench"] = {}
    bench = Bench(binary, work, files, "s3://bench/store", server.environment)
    print(f"{files} files of 100 bytes, requests to s3://")
    for what, verb in [("save, the first", bench.save), ("save, nothing has changed", bench.save),
                       ("list", lambda: bench.run("list")),
                       ("restore", lambda: bench.run("restore", "latest", work / "s3-restored"))]:
        server.log.clear()
        verb()
        methods = [entry[0] for entry in server.log]
        print(f"  {what:<38} {len(methods):4} requests: " + ", ".join(f"{methods.count(name)} {name}" for name in sorted(set(methods))))
    server.close()
    print()


def main():
    arguments = sys.argv[1:]
    smoke = "--smoke" in arguments
    arguments = [argument for argument in arguments if argument != "--smoke"]
    binary = os.path.realpath(arguments[0])
    counts = [int(text) for text in arguments[1:]] or ([2000] if smoke else [20000, 100000])
    for number, files in enumerate(counts):
        work = Path(tempfile.mkdtemp(prefix="reprieve-metadata.", dir=os.environ.get("BENCH_DIR", "/dev/shm")))
        try:
            make_tree(work / "tree", files)
            (work / "one").mkdir()
            (work / "one/file").write_bytes(b"ok")
            on_files(binary, work, files)
            if number == 0:
                on_s3(binary, work, files)
        finally:
            shutil.rmtree(work)


main()
