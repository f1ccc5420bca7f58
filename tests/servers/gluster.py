"""A file system that several machines see: GlusterFS's server, and its own FUSE client mounted as often as there are machines. Each mount
asks the server by itself, as on machines of their own; none is told what the others write.

A kernel that has no NFS client, as most test machines', has FUSE.
"""
import os
import subprocess

from server import CannotInstall, Server, free_port, install

SERVES = """
volume disk
  type storage/posix
  option directory {path}/disk
end-volume
volume locks
  type features/locks
  subvolumes disk
end-volume
volume /disk
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address 127.0.0.1
  option transport.socket.listen-port {port}
  option auth.addr./disk.allow 127.0.0.1
  subvolumes locks
end-volume
"""
MOUNTS = """
volume remote
  type protocol/client
  option transport-type tcp
  option remote-host 127.0.0.1
  option remote-port {port}
  option remote-subvolume /disk
end-volume
"""


class Gluster(Server):
    name = "glusterfs"

    def start(self):
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise CannotInstall("mounting needs root and /dev/fuse")
        install("glusterfs")
        self.mounts = []
        port = free_port()
        (self.path / "disk").mkdir()
        (self.path / "server.vol").write_text(SERVES.format(path=self.path, port=port))
        (self.path / "client.vol").write_text(MOUNTS.format(port=port))
        self.spawn(["glusterfsd", "--no-daemon", "--volfile", self.path / "server.vol", "--log-file", self.path / "server.log"])
        self.wait_for_port(port)

    def mount(self):
        """One more machine's view: a directory."""
        place = self.path / f"machine{len(self.mounts)}"
        place.mkdir()
        self.spawn(["glusterfs", "--no-daemon", "--volfile", self.path / "client.vol", "--log-file", self.path / "client.log",
                    "--attribute-timeout=0", "--entry-timeout=0", place])
        self.mounts.append(place)
        self.wait_for(f"mount at {place}", lambda: os.path.ismount(place))
        return place

    def stop(self):
        for place in getattr(self, "mounts", []):
            subprocess.run(["umount", "--lazy", place], check=False)
        super().stop()
