"""SeaweedFS and its own FUSE client, mounted as often as there are machines: a name that one mount gives, another gives as well."""
import os
import subprocess

from server import CACHE, CannotInstall, Server, free_port, install

WEED = CACHE / "seaweedfs" / "bin" / "weed"
BUCKET = "shared"


class Seaweedfs(Server):
    name = "seaweedfs"

    def start(self):
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise CannotInstall("mounting needs root and /dev/fuse")
        install("seaweedfs")
        self.mounts = []
        filer, grpc = free_port(), free_port()
        self.filer = f"127.0.0.1:{filer}.{grpc}"
        (self.path / "disk").mkdir()
        self.spawn([WEED, "server", f"-dir={self.path}/disk", "-ip=127.0.0.1", f"-master.port={free_port()}", f"-volume.port={free_port()}",
                    "-filer", f"-filer.port={filer}", *(f"-{part}.port.grpc={free_port()}" for part in ("master", "volume")),
                    f"-filer.port.grpc={grpc}", "-master.volumeSizeLimitMB=64"])
        self.wait_for_port(grpc)

    def mount(self):
        """One more machine's view: a directory, a part of the bucket."""
        place = self.path / f"machine{len(self.mounts)}"
        place.mkdir()
        self.spawn([WEED, "mount", f"-filer={self.filer}", f"-dir={place}", f"-filer.path=/buckets/{BUCKET}/runs", "-dirAutoCreate"])
        self.mounts.append(place)
        self.wait_for(f"mount at {place}", lambda: os.path.ismount(place))
        return place

    def stop(self):
        for place in getattr(self, "mounts", []):
            subprocess.run(["umount", "--lazy", place], check=False)
        super().stop()
