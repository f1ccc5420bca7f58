"""A real OAR on a loopback of its own: PostgreSQL, sshd and OAR's server in namespaces that end with one process; root submits the jobs.

The namespaces hide it from everything else: OAR's files and ports have fixed names.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from daemons import Daemons


def missing():
    """Why there can be no cluster here; None if there can."""
    if os.geteuid() != 0:
        return "needs root, to run OAR's server"
    absent = [name for name in ("oarsub", "Almighty", "sshd", "psql")
              if not shutil.which(name, path="/usr/bin:/usr/sbin:/usr/lib/oar")]
    if absent:
        return f"{', '.join(absent)} not installed (examples/install_packages.sh oar)"
    if subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        return "there are no namespaces here"
    return None


class Cluster(Daemons):
    """Starts on construction; close() ends every process and leaves nothing but the directory."""

    def __init__(self, place):
        super().__init__(place)
        for each in [place, *place.parents]:
            if each.stat().st_uid == os.geteuid() and each != Path("/"):
                each.chmod(each.stat().st_mode | 0o055)
        self.keeper = subprocess.Popen(["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child", "sleep", "infinity"])
        try:
            self.init = self.wait("the namespaces", self.find_init)
            self.call("bash", Path(__file__).with_name("up.sh"), place)
            self.wait("the node to be alive", lambda: "Alive" in self.call("oarnodes", "-s", check=False))
        except BaseException:
            self.close()
            raise

    def find_init(self):
        """Process 1 in there."""
        children = Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children").read_text().split()
        return children and Path(f"/proc/{children[0]}/comm").read_text() == "sleep\n" and children[0]

    def logs(self):
        path = self.place / "lib" / "oar.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def call(self, *command, check=True):
        with open(self.place / "said", "w+") as said:
            inside = ["nsenter", "-t", self.init, "--mount", "--net", "--pid", *map(str, command)]
            code = subprocess.run(inside, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=120).returncode
            said.seek(0)
            text = said.read()
        assert not check or code == 0, f"{command}: {text}{self.logs()}"
        return text

    def submit(self, path, command, *options):
        """Submits a command; returns its number, or those of the elements."""
        said = self.call("oarsub", "-d", path, "-O", path / "log.%jobid%", "-E", path / "log.%jobid%", *options, command)
        return re.findall(r"OAR_JOB_ID=(\d+)", said)

    def jobs(self):
        """Each job that there ever was: its state and its array's number."""
        text = self.call("psql", "-h", "127.0.0.1", "-U", "postgres", "-At", "-F", " ", "oar", "-c",
                         "select job_id, state, array_id from jobs order by job_id")
        return {words[0]: words[1] for words in map(str.split, text.splitlines()) if len(words) == 3}

    def close(self):
        self.keeper.kill()
        self.keeper.wait()
