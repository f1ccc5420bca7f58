"""Ceph's S3 server: one monitor, one object store in memory and radosgw, without systemd, cephadm or a manager, as any user.

It checks signatures, dates and digests, and holds "If-None-Match: *" against racing writers: the judge of what we send.
"""
import subprocess
import uuid

from s3_server import S3Server
from server import free_port, install

# auth none, and yet crc for the monitor's connections: radosgw asks for secure ones, which there cannot be without keys, and would
# wait for 300 s. "mon data avail": disks of test machines are full.
CONFIGURATION = """
[global]
fsid = {fsid}
mon host = v2:127.0.0.1:{monitor_port}
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
run dir = {path}/run
admin socket = {path}/run/$name.asok
pid file =
log file = {path}/log/$name.log
mon cluster log file = {path}/log/cluster.log
crash dir = {path}/run
osd class load list = *
osd class default list = *
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
mon data avail warn = 2
[mon.a]
mon data = {path}/mon
[osd.0]
osd data = {path}/osd
osd objectstore = memstore
memstore device bytes = {memory}
[client.rgw]
rgw data = {path}/rgw
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw run sync thread = false
rgw gc obj min wait = 5
"""


class Radosgw(S3Server):
    name = "radosgw"

    def start(self, memory=8 << 30):
        install("radosgw")
        # A socket's name has room for 107 bytes, and pytest's directories are longer than a short path needs to be.
        if len(f"{self.path}/run/client.rgw.asok") > 100:
            raise RuntimeError(f"{self.path} is too long a path for Ceph's sockets")
        for name in ("mon", "osd", "rgw", "log", "run"):
            (self.path / name).mkdir(parents=True)
        self.port, monitor_port = free_port(), free_port()
        fsid, osd = str(uuid.uuid4()), str(uuid.uuid4())
        (self.path / "ceph.conf").write_text(CONFIGURATION.format(fsid=fsid, path=self.path, port=self.port, monitor_port=monitor_port,
                                                                  memory=memory))
        self.start_monitor(fsid, monitor_port)
        self.start_store(osd)
        self.add_user("t", self.access_key, self.secret_key)
        self.spawn(self.command("radosgw", "-n", "client.rgw", "-f"))
        self.wait_for_port(self.port)

    def start_monitor(self, fsid, port):
        self.do("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{port}]", self.path / "monmap")
        self.do("ceph-authtool", "--create-keyring", self.path / "keyring", "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.do(*self.command("ceph-mon", "-i", "a", "--mkfs", "--monmap", self.path / "monmap", "--keyring", self.path / "keyring"))
        self.spawn(self.command("ceph-mon", "-i", "a", "-f"))
        self.wait_for_port(port)

    def start_store(self, identity):
        self.ceph("osd", "new", identity)
        self.do(*self.command("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identity))
        self.spawn(self.command("ceph-osd", "-i", "0", "-f"))
        self.wait_for("object store", lambda: "1 up" in self.ceph("osd", "stat"))

    def command(self, program, *arguments):
        return [program, "-c", self.path / "ceph.conf", *arguments]

    def do(self, *command):
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def ceph(self, *arguments):
        # Debian's python, which has Ceph's modules; another one may be the first in PATH.
        return self.do("/usr/bin/python3", *self.command("/usr/bin/ceph", *arguments))

    def admin(self, *arguments):
        return self.do(*self.command("radosgw-admin", *arguments))

    def add_user(self, name, access_key, secret_key):
        self.admin("user", "create", f"--uid={name}", f"--display-name={name}", f"--access-key={access_key}", f"--secret-key={secret_key}")


