"""SeaweedFS, and a bucket of it mounted as often as there are machines, by its own FUSE client or by one of S3: a name that one mount gives,
another gives as well.
"""
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
        filer, grpc, self.s3 = free_port(), free_port(), free_port()
        self.filer = f"127.0.0.1:{filer}.{grpc}"
        (self.path / "disk").mkdir()
        self.spawn([WEED, "server", f"-dir={self.path}/disk", "-ip=127.0.0.1", f"-master.port={free_port()}", f"-volume.port={free_port()}",
                    "-filer", f"-filer.port={filer}", *(f"-{part}.port.grpc={free_port()}" for part in ("master", "volume")),
                    f"-filer.port.grpc={grpc}", "-master.volumeSizeLimitMB=64", "-s3", f"-s3.port={self.s3}", f"-s3.port.grpc={free_port()}"])
        self.wait_for_port(grpc)
        self.wait_for_port(self.s3)

    def weed(self, place):
        return [WEED, "mount", f"-filer={self.filer}", f"-dir={place}", f"-filer.path=/buckets/{BUCKET}/runs", "-dirAutoCreate"]

    def s3fs(self, place):
        keys = self.path / "keys"
        keys.write_text("any:any")
        keys.chmod(0o600)
        return ["s3fs", "-f", BUCKET, place, "-o", f"url=http://127.0.0.1:{self.s3},use_path_request_style,passwd_file={keys}"]

    def rclone(self, place):
        return ["rclone", "--config", "/dev/null", "mount", f":s3,provider=Other,endpoint='http://127.0.0.1:{self.s3}',env_auth=false:{BUCKET}",
                place]

    def mount(self, client="weed"):
        """One more machine's view: a directory, the bucket or a part of it."""
        place = self.path / f"machine{len(self.mounts)}"
        place.mkdir()
        if client != "weed":
            install(client)
        # rclone ends with an error where this is set.
        self.spawn(getattr(self, client)(place), env={name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"})
        self.mounts.append(place)
        self.wait_for(f"mount at {place}", lambda: os.path.ismount(place))
        return place

    def stop(self):
        for place in getattr(self, "mounts", []):
            subprocess.run(["umount", "--lazy", place], check=False)
        super().stop()
