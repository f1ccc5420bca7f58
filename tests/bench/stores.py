"""The servers of the bench, and what a command takes: for table.py, store_content.py and tail.py."""
import filecmp
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "servers"))
from s3_server import S3Server  # noqa: E402

BUCKET = "bench"


class Sink(S3Server):
    """sink.c: nothing but the protocol."""
    def __init__(self, path, scheme, work):
        super().__init__(path)
        self.name, self.scheme, self.work = scheme, scheme, work

    def start(self, **link):
        """`link`: rate, each and far, as sink.c has them."""
        files = [self.work / "certificate.pem", self.work / "key.pem"] if self.scheme == "https" else []
        self.process = subprocess.Popen([self.work / "sink", *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **{f"SINK_{name.upper()}": str(value) for name, value in link.items()}})
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
        self.requests = 0


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


def same(first, second):
    """Files, directories and what is in them."""
    names = sorted(os.listdir(first))
    if names != sorted(os.listdir(second)):
        return False
    below = [name for name in names if (first / name).is_dir()]
    _, wrong, odd = filecmp.cmpfiles(first, second, [name for name in names if name not in below], shallow=False)
    return not wrong and not odd and all(same(first / name, second / name) for name in below)


def size_of(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
