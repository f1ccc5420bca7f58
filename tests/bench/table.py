"""What saving and restoring costs beside other programs: table.py [--smoke] --work DIRECTORY BINARY [ROW...]; stores.sh has prepared everything.

Each row has its peers in the same run, in turn, in an order that is rotated; shown are medians, and ratios of those. The sink carries
what the row says: so far away, so fast in all, so fast for each connection. BENCH_ROUNDS: 3. A row is named by its first word.
"""
import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from peers import Borg, Cp, Crt, Rclone, Reprieve, Restic, Rsync, S5cmd
from stores import Failed, Sink, measure, same


def rewrite(paths, share):
    """New bytes for that share of each file, and its time is now."""
    for path in paths:
        left = max(1, int(path.stat().st_size * share))
        with open(path, "r+b") as file:
            while left:
                left -= file.write(os.urandom(min(left, 1 << 20)))


def files_of(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file())


class Row:
    """`change`: done to a copy of what was saved before it is saved again; `verb`: what is measured."""

    def __init__(self, title, data, aim, peers, verb="save", change=None, **link):
        self.title, self.data, self.aim, self.peers, self.verb, self.change = title, data, aim, peers, verb, change
        self.scheme, self.link = link.pop("scheme", "http" if link else None), link


TENTH = 10
ROWS = [
    Row("unchanged: 1 GiB again, by a new process, file://", "weights", "0.3 x borg", (Borg, Rsync), change=lambda paths: None),
    Row("tenth: of ten files one is written anew", "weights", "0.6 x borg", (Borg, Rsync), change=lambda paths: rewrite(paths[::TENTH], 1)),
    Row("part: of each file a tenth", "weights", "", (Borg, Rsync), change=lambda paths: rewrite(paths, 1 / TENTH)),
    Row("small: many small files, 25 ms", "small", "0.6 x restic", (Restic, Rclone), far=25),
    Row("again: a tenth of the small files changed, 25 ms", "small", "0.6 x restic", (Restic,), far=25,
        change=lambda paths: rewrite(paths[::TENTH], 1)),
    Row("up: 512 MiB, 25 ms, 60 MB/s a connection", "half", "0.8 x crt, 0.8 x its CPU, 256 MiB", (Crt, S5cmd), far=25, each=60_000_000),
    Row("bf16: weights, 100 MB/s", "bf16", "0.75 x crt", (Crt,), rate=100_000_000),
    Row("tls: 1 GiB down, no limit", "weights", "1.1 x s5cmd", (S5cmd,), verb="restore", scheme="https"),
    Row("run: with 1 GiB to restore, 20 ms, 1 GB/s", "weights", "0.85 x s5cmd", (S5cmd, Crt), verb="run", far=20, rate=1_000_000_000),
    Row("file: save 1 GiB on tmpfs", "weights", "2.2 x cp in CPU", (Cp,)),
]


class Bench:
    def __init__(self, row, options):
        self.row, self.options, self.work = row, options, options.work
        self.data = options.work / row.data
        self.samples = {}

    def one(self, kind, store, environment, sink=None):
        """A sample of what the row measures."""
        row, copy, target = self.row, self.data, self.work / "restored"
        peer = kind(store, self.work, self.options.binary)
        if row.change:
            copy = self.work / "changing"
            shutil.copytree(self.data, copy)

        def run(command):
            before = sink.counts()[0] if sink else 0
            sample = measure(command, environment, self.work)
            sample.requests = sink.counts()[0] - before - 1 if sink else 0
            return sample

        try:
            if peer.prepare():
                run(peer.prepare())
            if row.change or row.verb != "save":
                run(peer.save(copy))
            if row.change:
                row.change(files_of(copy))
            if row.verb == "save":
                return run(peer.save(copy))
            sample = run(getattr(peer, row.verb)(copy, target))
            if not same(copy, target):
                raise Failed(f"{kind.name} did not give back what was saved")
            return sample
        finally:
            for path in (self.work / "changing", target, self.work / "cache", self.work / "home"):
                shutil.rmtree(path, ignore_errors=True)

    def with_store(self, kind):
        if not self.row.scheme:
            with tempfile.TemporaryDirectory(prefix="store-", dir=self.work) as store:
                return self.one(kind, Path(store), dict(os.environ))
        sink = Sink(self.work, self.row.scheme, self.work)
        sink.start(**self.row.link)
        try:
            return self.one(kind, sink.endpoint, {**os.environ, **sink.environment}, sink)
        finally:
            sink.stop()

    def measure(self):
        kinds = [Reprieve, *(kind for kind in self.row.peers if kind.is_there())]
        for number in range(self.options.rounds):
            turn = number % len(kinds)
            for kind in kinds[turn:] + kinds[:turn]:
                try:
                    self.samples.setdefault(kind.name, []).append(self.with_store(kind))
                except Failed as error:
                    if kind is Reprieve:
                        raise
                    print(f"  skipped: {kind.name}: {error}")
                    kinds.remove(kind)
                    self.samples.pop(kind.name, None)

    def median(self, name, field):
        return statistics.median(getattr(sample, field) for sample in self.samples[name])

    def show(self):
        print(f"\n{self.row.title}{f'   (aim: {self.row.aim})' if self.row.aim else ''}")
        print(f"  {'':10} {'time':>9} {'of peer':>8} {'CPU':>9} {'of peer':>8} {'peak':>8} {'requests':>9}")
        for name in self.samples:
            wall, cpu = (self.median("reprieve", field) / self.median(name, field) for field in ("wall", "cpu"))
            print(f"  {name:10} {self.median(name, 'wall'):7.2f} s {f'{wall:.2f} x':>8} {self.median(name, 'cpu'):7.2f} s {f'{cpu:.2f} x':>8} "
                  f"{self.median(name, 'peak') / 2**20:4.0f} MiB {self.median(name, 'requests'):9.0f}")


def main():
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("binary", type=Path)
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    options.rounds = int(os.environ.get("BENCH_ROUNDS") or (1 if options.smoke else 3))
    print(f"{os.cpu_count()} processors, shared with the server; medians of {options.rounds}; \"of peer\": what reprieve takes of that")
    for row in ROWS:
        if not options.rows or row.title.split(":")[0] in options.rows:
            bench = Bench(row, options)
            bench.measure()
            bench.show()


if __name__ == "__main__":
    main()
