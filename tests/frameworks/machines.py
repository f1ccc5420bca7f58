"""Machines that only a network joins: network namespaces with an address each, behind one switch, as cloud instances are in a subnet.

They share this machine's disks and processes; no packet leaves them.
"""
import os
import shutil
import subprocess

from proof import CannotRun, die_with_parent

TOOLS = ("unshare", "nsenter", "ip")


class Machines:
    """`count` of them, until stop()."""

    def __init__(self, count):
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            raise CannotRun(f"there is no {missing[0]}")
        self.holders = []
        # Whoever is not root owns the namespaces by a user namespace, which all of them share.
        self.user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        try:
            switch = self.hold(["unshare", *self.user, "--net"])
            self.inside(switch, "ip", "link", "add", "switch", "type", "bridge")
            self.inside(switch, "ip", "link", "set", "switch", "up")
            for number in range(count):
                self.plug_in(switch, number)
        except BaseException:
            self.stop()
            raise

    def hold(self, words):
        """A process that keeps a namespace there. It says so by a line: before, it is not in it yet."""
        process = subprocess.Popen([*words, "sh", "-c", "echo ready; exec sleep infinity"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        self.holders.append(process)
        if process.stdout.readline() != "ready\n":
            raise CannotRun(f"there may be no network namespaces here: {process.stderr.read().strip()}")
        return process

    def entry(self, holder):
        return ["nsenter", "--target", str(holder.pid), *(["--user", "--preserve-credentials"] if self.user else []), "--net"]

    def inside(self, holder, *words):
        done = subprocess.run([*self.entry(holder), *words], capture_output=True, text=True)
        if done.returncode:
            raise CannotRun(f"{' '.join(words)}: {done.stderr.strip()}")

    def plug_in(self, switch, number):
        machine = self.hold([*self.entry(switch), "unshare", "--net"])
        self.inside(switch, "ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", str(machine.pid))
        self.inside(switch, "ip", "link", "set", f"port{number}", "master", "switch", "up")
        for words in (["link", "set", "lo", "up"], ["address", "add", f"{self.address(number)}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            self.inside(machine, "ip", *words)

    @staticmethod
    def address(number):
        return f"10.77.0.{number + 1}"

    def on(self, number, words):
        """The command on that machine, which has a name of its own too."""
        return [*self.entry(self.holders[number + 1]), "unshare", "--uts", "sh", "-c", f'hostname node-{number} && exec "$@"', "sh", *words]

    def stop(self):
        for process in reversed(self.holders):
            process.kill()
            process.wait()
