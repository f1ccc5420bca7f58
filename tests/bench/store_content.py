"""How requests, CPU, memory and the manifest grow with the size of a checkpoint, against the sink: store_content.py [--smoke] --work DIRECTORY
BINARY; stores.sh has prepared everything. A sparse file in which each 4 MiB begin with a number, 1,024 of which repeat, so that it takes neither
disk nor network. BENCH_GROWTH: sizes in MiB (1 TiB is 1048576: that reads and hashes for minutes). What the weights' codec saves is a row of
table.py."""
import argparse
import os
import subprocess
import sys
from pathlib import Path

from stores import BUCKET, Sink, measure

CHUNK = 4 << 20


class Client:
    def __init__(self, options):
        self.options, self.sink = options, Sink(options.work, "http", options.work)
        self.sink.start()
        self.environment = {**os.environ, **self.sink.environment}

    def save(self, directory):
        """The sample, the requests and the bytes of a save."""
        before = self.sink.counts()
        sample = measure([self.options.binary, "save", directory, "--store", f"s3://{BUCKET}/c", "--job", "j"],
                         self.environment, self.options.work)
        after = self.sink.counts()
        return sample, after[0] - before[0], after[1] - before[1]

    def manifest_size(self):
        done = subprocess.run(["curl", "-s", f"{self.sink.endpoint}/{BUCKET}/c/jobs/j/snapshots/000001-000001.json"], capture_output=True, check=True)
        return len(done.stdout)


def make_sparse(path, mib):
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as file:
        for number in range(mib * (1 << 20) // CHUNK):
            file.seek(number * CHUNK)
            file.write((1 + number % 1024).to_bytes(8, "little"))
        file.truncate(mib << 20)


def growth(options):
    print("\nhow a save grows with the size of a checkpoint (1,024 chunks that repeat)")
    print(f"  {'size':>12} {'requests':>9} {'time':>9} {'CPU s':>8} {'CPU s/GB':>9} {'peak MB':>8} {'manifest':>10}   the same again: requests, CPU s")
    path = options.work / "sparse" / "checkpoint.bin"
    for mib in options.sizes:
        make_sparse(path, mib)
        client = Client(options)
        try:
            first, requests, _ = client.save(path.parent)
            again, more, _ = client.save(path.parent)
            size = mib << 20
            print(f"  {mib:8} MiB {requests:9} {first.wall:7.2f} s {first.cpu:8.2f} {first.cpu / size * 1e9:9.2f} {first.peak / 1e6:8.0f} "
                  f"{client.manifest_size() / 1e6:7.2f} MB   {more}, {again.cpu:.2f}")
        finally:
            client.sink.stop()
            path.unlink()


def main():
    sys.stdout.reconfigure(line_buffering=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("binary")
    options = parser.parse_args()
    default = "64 256" if options.smoke else "1024 8192 65536"
    options.sizes = [int(word) for word in (os.environ.get("BENCH_GROWTH") or default).split()]
    growth(options)


if __name__ == "__main__":
    main()
