"""The daemons of a batch scheduler on this machine, for the tests of it: they end with who has started them."""
import os
import signal
import socket
import subprocess
import time

import pytest
from harness import REPRIEVE, die_with_parent


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def serve(clusters, tmp_path_factory):
    """For a fixture: a Cluster of that module, or a skip with the reason."""
    if not os.access(REPRIEVE, os.X_OK):
        pytest.exit(f"{REPRIEVE} is not there: build it, or say REPRIEVE=PATH", returncode=2)
    why = clusters.missing()
    if why:
        pytest.skip(why)
    cluster = clusters.Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


class Daemons:
    """Who inherits says in close() what ends how, and has logs() and an environment."""

    def __init__(self, place):
        self.place, self.daemons = place, {}

    def start(self, name, *command):
        with open(self.place / f"{name}.out", "ab") as out:
            self.daemons[name] = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                  preexec_fn=die_with_parent, start_new_session=True)

    def wait(self, what, ready, limit=100):
        end = time.monotonic() + limit
        while not (found := ready()):
            for name, daemon in self.daemons.items():
                assert daemon.poll() is None, f"{name} ended: {self.logs()}"
            assert time.monotonic() < end, f"waited in vain for {what}\n{self.logs()}"
            time.sleep(0.1)
        return found

    def stop(self, name, signum=signal.SIGTERM):
        daemon = self.daemons.pop(name)
        daemon.send_signal(signum)
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def left(self, command, variable, inside=""):
        """Its processes of that command, with `inside` in it; they know their cluster by a variable."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as line, open(f"/proc/{entry}/environ", "rb") as environment:
                    words, about = line.read().decode(errors="replace"), environment.read()
            except OSError:
                continue
            if words.startswith(command) and inside in words and f"{variable}={self.environment[variable]}".encode() in about:
                found.append(int(entry))
        return found
