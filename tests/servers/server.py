"""What all servers of the tests have in common: they listen on loopback only, on ports of their own, end with the process that
started them, and tell which environment a client needs and what a fresh bucket of theirs is called as a store.
"""
import ctypes
import itertools
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "servers"
INSTALL = Path(__file__).resolve().parent / "install.sh"
START_LIMIT = 120
LIBC = ctypes.CDLL(None)


class CannotInstall(Exception):
    """Not to be had on this machine, with the reason in one line."""


def install(what):
    """Installs a group of install.sh unless it is there."""
    done = subprocess.run(["bash", str(INSTALL), what], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise CannotInstall(lines[-1] if lines else f"install.sh {what}: exit {done.returncode}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def die_with_parent():
    LIBC.prctl(1, signal.SIGKILL)


class Server:
    """start() raises CannotInstall; stop() ends what start() has started, by pid."""
    name = "server"
    counter = itertools.count(1)  # of all: two users of one server must not want the same bucket

    def __init__(self, path):
        self.path = Path(path)
        self.processes = []

    def start(self):
        raise NotImplementedError

    @property
    def environment(self):
        """What reprieve, or any other client, needs to get at this server."""
        raise NotImplementedError

    def make(self):
        """Makes a fresh bucket and returns its store's URL, with a prefix that has to be encoded on the wire."""
        raise NotImplementedError

    def objects(self, url):
        """{key below the prefix: size} of a store, as another client than ours lists it."""
        raise NotImplementedError

    def read(self, url, key):
        """The bytes of one object, as another client than ours gets them."""
        raise NotImplementedError

    def spawn(self, arguments, **more):
        log = open(self.path / f"{self.name}.log", "ab")
        process = subprocess.Popen([str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   preexec_fn=die_with_parent, **more)
        log.close()
        self.processes.append(process)
        return process

    def wait_for(self, what, fact):
        end = time.monotonic() + START_LIMIT
        while not fact():
            for process in self.processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{self.name}: {process.args[0]} ended with {process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name}: no {what} within {START_LIMIT} s:\n{self.log_tail()}")
            time.sleep(0.05)

    def wait_for_port(self, port):
        def listens():
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return True
            except OSError:
                return False
        self.wait_for(f"port {port}", listens)

    def log_tail(self):
        log = self.path / f"{self.name}.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-20:]) if log.exists() else ""

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.processes = []

    def bucket_name(self):
        return f"snaps-{os.getpid()}-{next(self.counter)}"


def split(url):
    """s3://bucket/pre fix -> ("bucket", "pre fix/")."""
    bucket, _, prefix = url.partition("://")[2].partition("/")
    return bucket, f"{prefix}/" if prefix else ""
