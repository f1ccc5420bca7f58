"""Measures and prints; stores.sh has prepared everything: stores.py [--smoke] --work DIRECTORY BINARY"""
import argparse
import filecmp
import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "servers"))
from peers import ALL, TITLES, Reprieve  # noqa: E402
from s3_server import S3Server  # noqa: E402
from server import CannotInstall  # noqa: E402

HERE = Path(__file__).resolve().parent
BUCKET = "bench"
FILES = 8  # of weights, as checkpoints have


class Sink(S3Server):
    """sink.c: nothing but the protocol."""
    def __init__(self, path, scheme, work):
        super().__init__(path)
        self.name, self.scheme, self.work = scheme, scheme, work

    def start(self, rate=0):
        """`rate`: bytes in a second that it takes of all clients together; 0: all that come."""
        files = [self.work / "certificate.pem", self.work / "key.pem"] if self.scheme == "https" else []
        self.process = subprocess.Popen([self.work / "sink", *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **({"SINK_RATE": str(rate)} if rate else {})})
        self.processes.append(self.process)
        self.port = int(self.process.stdout.readline())

    def counts(self):
        """Requests so far, and the bytes of their bodies."""
        done = subprocess.run(["curl", "-sk", f"{self.endpoint}/.counts"], capture_output=True, text=True, check=True)
        return tuple(int(word) for word in done.stdout.split())

    @property
    def endpoint(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def environment(self):
        trusted = str(self.work / "certificate.pem")
        more = {"AWS_CA_BUNDLE": trusted, "SSL_CERT_FILE": trusted} if self.scheme == "https" else {}
        return {**super().environment, **more}

    def make(self):
        return f"s3://{BUCKET}"


def start_server(kind, path, work):
    if kind in ("http", "https"):
        server = Sink(path, kind, work)
        server.start()
        return server
    from radosgw import Radosgw
    server = Radosgw(path)
    try:
        server.start(memory=4 << 30)
        server.client.create_bucket(Bucket=BUCKET)
    except BaseException:
        server.stop()
        raise
    return server


def empty(server, work):
    """Deletes all objects of a server, which keeps them in memory."""
    if isinstance(server, Sink):
        measure(["curl", "-sk", "-X", "DELETE", f"{server.endpoint}/"], dict(os.environ), work)
        return
    bucket = server.client
    for page in bucket.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        if page.get("Contents"):
            bucket.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": item["Key"]} for item in page["Contents"]]})
    # radosgw itself would keep most of what was deleted for an hour.
    server.admin("gc", "process", "--include-all")


class Failed(Exception):
    pass


class Sample:
    def __init__(self, wall, usage):
        self.wall, self.cpu, self.peak = wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        self.server = 0.0  # CPU seconds of the server meanwhile


def measure(command, environment, work):
    """Time, CPU of it and its children, and the memory of the largest of them."""
    with open(work / "log", "ab") as log:
        began = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=work)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        tail = (work / "log").read_text(errors="replace").strip().splitlines()[-1:]
        raise Failed(f"{Path(str(command[0])).name}: exit {process.returncode}: {' '.join(tail)[:200]}")
    return Sample(wall, usage)


def cpu_of(server):
    """CPU seconds so far of all processes of a server."""
    ticks = 0
    for process in server.processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def same(first, second):
    """Files, directories and what is in them."""
    names = sorted(os.listdir(first))
    if names != sorted(os.listdir(second)):
        return False
    below = [name for name in names if (first / name).is_dir()]
    _, wrong, odd = filecmp.cmpfiles(first, second, [name for name in names if name not in below], shallow=False)
    return not wrong and not odd and all(same(first / name, second / name) for name in below)


# --- what is saved ---

def exchange_half(directory, other):
    """Half of the files get other content; their time is now, for those who look at that."""
    for path in sorted(other.iterdir()):
        mine, aside = directory / path.name, other / "aside"
        mine.rename(aside)
        path.rename(mine)
        aside.rename(path)
        os.utime(mine)


def size_of(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


# --- measuring ---

class Bench:
    def __init__(self, server, kind, options):
        self.server, self.kind, self.options, self.work = server, kind, options, options.work
        self.environment = {**os.environ, **server.environment, "AWS_ENDPOINT_URL": server.endpoint,
                            # As S3's other makers want it: no trailing checksums.
                            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required", "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required"}
        os.environ["SSL_CERT_FILE"] = self.environment.get("SSL_CERT_FILE", "")
        self.samples = {}  # what -> peer -> [Sample]
        self.peers = {kind: kind(server.endpoint, BUCKET, self.work, options.binary) for kind in ALL if kind in options.peers}

    def run(self, command, without=()):
        before = cpu_of(self.server)
        sample = measure(command, {name: value for name, value in self.environment.items() if name not in without}, self.work)
        sample.server = cpu_of(self.server) - before
        return sample

    def note(self, what, peer, sample):
        self.samples.setdefault(what, {}).setdefault(peer.name, []).append(sample)

    def restored(self, what, peer, directory):
        target = self.work / "restored"
        try:
            self.note(what, peer, self.run(peer.down(str(target), str(directory)), peer.without))
            if not same(directory, peer.place(target, directory)):
                raise Failed(f"{peer.name} did not give back what was saved")
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def clear(self):
        shutil.rmtree(self.work / "restic-cache", ignore_errors=True)
        empty(self.server, self.work)

    def one(self, peer, titles, directory, other=None):
        up, down, again = titles
        if peer.prepare():
            self.run(peer.prepare(), peer.without)
        self.note(up, peer, self.run(peer.up(str(directory)), peer.without))
        self.restored(down, peer, directory)
        if other and peer.again(str(directory)):
            exchange_half(directory, other)
            try:
                self.note(again, peer, self.run(peer.again(str(directory)), peer.without))
            finally:
                exchange_half(directory, other)

    def all(self, rounds, titles, directory, other=None):
        for number in range(rounds):
            peers = list(self.peers.items())
            # The one that is first finds memory that was not touched yet; each is that in its turn.
            for kind, peer in peers[number % len(peers):] + peers[:number % len(peers)]:
                try:
                    self.one(peer, titles, directory, other)
                except Failed as error:
                    if kind is Reprieve:
                        raise
                    print(f"  skipped: {TITLES.get(peer.name, peer.name)} on {self.kind}: {error}")
                    del self.peers[kind]
                finally:
                    self.clear()

    # --- showing ---

    def median(self, what, peer, field):
        return statistics.median(getattr(sample, field) for sample in self.samples[what][peer])

    def paired(self, what, peer, other_what, other):
        """The median of the ratios round by round: both of a pair see the same noise."""
        mine, others = self.samples.get(what, {}).get(peer, []), self.samples.get(other_what, {}).get(other, [])
        ratios = [first.wall / second.wall for first, second in zip(mine, others)]
        return f"{statistics.median(ratios):.2f} x" if ratios else "-"

    def show(self, what, size, aim, hashing):
        rows = self.samples.get(what, {})
        others = {name: self.median(what, name, "wall") for name in rows if name not in ("reprieve", "plain")}
        fastest = min(others.values(), default=None)
        print(f"\n{what}")
        print(f"  {'':24} {'time':>9} {'of fastest peer':>16} {'of s5cmd':>9} {'CPU s/GB':>9} {'server':>7} {'peak MB':>8}   aim")
        for name in rows:
            wall, cpu, server = self.median(what, name, "wall"), *(self.median(what, name, field) / size * 1e9 for field in ("cpu", "server"))
            ratio = f"{wall / fastest:.2f} x" if fastest else "-"
            beside = ""
            if name == "reprieve":
                beside = aim + (f"; plain SHA-256 costs {hashing:.2f}" if hashing else "")
            print(f"  {TITLES.get(name, name):24} {wall:7.2f} s {ratio:>16} {self.paired(what, name, what, 's5cmd'):>9} {cpu:9.2f} {server:7.2f} "
                  f"{self.median(what, name, 'peak') / 1e6:8.0f}   {beside}")

    def show_floor(self, what, size, hashing):
        """What no client can be below while it shares its processors with the server: what the server spends at least on these bytes,
        whoever sends them, and what reading them for our format's SHA-256 costs. All else, as sending, costs nothing here. The last ratio
        is of processor time alone, which other load changes less than the time on a clock."""
        rows = self.samples.get(what, {})
        if "s5cmd" not in rows:
            return
        both = {name: statistics.median(sample.cpu + sample.server for sample in rows[name]) for name in ("reprieve", "s5cmd")}
        server, own = min(self.median(what, name, "server") for name in rows), hashing * size / 1e9
        print(f"  floor: the server's CPU {server:.2f} s{f' and reading for SHA-256 {own:.2f} s' if own else ''} on {os.cpu_count()} processors take "
              f"{(server + own) / os.cpu_count():.2f} s = {(server + own) / both['s5cmd']:.2f} x s5cmd and its server; "
              f"reprieve and its server {both['reprieve'] / both['s5cmd']:.2f} x")


def cost_of_hashing(directory):
    """CPU seconds per GB of reading and SHA-256, with the library that nearly all use."""
    size, digest = 0, hashlib.sha256()
    began = time.process_time()
    with open(directory / "weights-0.bin", "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            size += len(piece)
    return (time.process_time() - began) / size * 1e9


def bench(kind, options):
    work, mib = options.work, options.mib
    weights, other, quarter, small = (work / name for name in ("weights", "other", "quarter", "small"))
    hashing = cost_of_hashing(weights)
    titles = [f"{kind}: {mib} MiB of fp32 weights, {verb}" for verb in ("up", "down", "up again, half of it changed")]
    few = [f"{kind}: {options.files} small files, {verb}" for verb in ("up", "down", "-")]
    with tempfile.TemporaryDirectory(prefix="stores-") as path:
        server = start_server(kind, path, work)
        try:
            one = Bench(server, kind, options)
            # The server's memory is touched for the first time.
            one.run(one.peers[Reprieve].up(str(weights)))
            one.clear()
            one.all(options.rounds, titles, weights, other)
            aims = ("<= 0.6 x s5cmd, or its floor, 1.2 CPU s/GB", "<= 1.0 x s5cmd, which checks nothing", "<= 0.6 x the first time")
            for title, aim in zip(titles, aims):
                changed = size_of(weights)
                one.show(title, changed, aim, hashing if title == titles[0] else 0)
                if title != titles[2]:
                    one.show_floor(title, changed, hashing if title == titles[0] else 0)
            for name in one.samples.get(titles[2], {}):
                print(f"  of its own first time: {TITLES.get(name, name)} {one.paired(titles[2], name, titles[0], name)}")
            peak = one.run(one.peers[Reprieve].up(str(quarter))).peak
            print(f"  memory for a quarter of it: {peak / 1e6:.0f} MB (aim: flat)")
            one.clear()
            one.all(options.small_rounds, few, small)
            aws = one.samples.get(few[0], {}).get("aws")
            one.show(few[0], size_of(small), "<= 0.1 of aws" + (
                f": {one.median(few[0], 'reprieve', 'wall') / one.median(few[0], 'aws', 'wall'):.3f} x" if aws else ""), 0)
            one.show(few[1], size_of(small), "", 0)
        finally:
            server.stop()


def main():
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("binary")
    options = parser.parse_args()
    small = options.smoke
    options.mib = int(os.environ.get("BENCH_MIB") or (16 if small else 1024))
    options.files = int(os.environ.get("BENCH_FILES") or (200 if small else 20000))
    options.rounds = int(os.environ.get("BENCH_ROUNDS") or (1 if small else 3))
    options.small_rounds = 1
    servers = (os.environ.get("BENCH_SERVERS") or ("http https" if small else "http https radosgw")).split()
    wanted = os.environ.get("BENCH_PEERS", "").split()
    options.peers = []
    for kind in ALL:
        if kind is not Reprieve and wanted and kind.name not in wanted:
            continue
        if kind.is_there():
            options.peers.append(kind)
        else:
            print(f"skipped: {TITLES.get(kind.name, kind.name)} (not installed)")
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{os.cpu_count()} processors, shared with the server; median of {options.rounds}, of small files of {options.small_rounds}")
    print(f"memory: of the largest process; what is below {floor:.0f} MB cannot be seen")
    subprocess.run([sys.executable, HERE / "make_data.py", options.work, str(options.mib), str(FILES), str(options.files)], check=True)
    for kind in servers:
        try:
            bench(kind, options)
        except CannotInstall as error:
            print(f"skipped: {kind} ({error})")


if __name__ == "__main__":
    main()
