"""A file system that several machines see late: OpenSSH's sftp-server below Debian's sshfs, mounted as often as there are machines. Each
mount lists a directory for 20 s as it was when it looked last, whatever the others have put there since.
"""
import os
import subprocess

from server import CannotInstall, Server, install



class Sshfs(Server):
    name = "sshfs"
    refuses = ""  # of what a client may want

    def start(self):
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise CannotInstall("mounting needs root and /dev/fuse")
        install("sshfs")
        self.mounts = []
        (self.path / "disk").mkdir()
        (self.path / "ssh").write_text(f"#!/bin/sh\nexec /usr/lib/openssh/sftp-server {self.refuses}\n")
        (self.path / "ssh").chmod(0o755)

    def mount(self):
        """One more machine's view: a directory."""
        place = self.path / f"machine{len(self.mounts)}"
        place.mkdir()
        self.spawn(["sshfs", "-f", "-o", f"ssh_command={self.path}/ssh", f"any:{self.path}/disk", place])
        self.mounts.append(place)
        self.wait_for(f"mount at {place}", lambda: os.path.ismount(place))
        return place

    def stop(self):
        for place in getattr(self, "mounts", []):
            subprocess.run(["umount", "--lazy", place], check=False)
        super().stop()


class SshfsWithoutTimes(Sshfs):
    """A directory's times cannot be set there, as on SFTP servers that keep objects: nothing makes its mount look again before its time."""
    name = "sshfs-without-times"
    refuses = "-P setstat,fsetstat"
