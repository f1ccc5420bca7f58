"""A real Grid Engine on this machine's loopback: sge_qmaster and sge_execd, as root, all of it in one directory.

One host with one queue of four slots, `work`, whose jobs have NOTIFY seconds from the notice to the end; and a checkpointing environment,
`move`, whose jobs are moved when they are suspended.
"""
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from daemons import Daemons, free_ports

NOTIFY = 20
HOME = Path("/usr/lib/gridengine")
DEFAULTS = Path("/usr/share/gridengine")


def missing():
    """Why there can be no cluster here; None if there can."""
    if os.geteuid() != 0:
        return "needs root, to run Grid Engine's daemons"
    absent = [name for name in ("sge_qmaster", "sge_execd", "qsub") if not (HOME / name).exists()]
    if absent:
        return f"{', '.join(absent)} not installed (examples/install_packages.sh sge)"
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        return "this machine's name has no address, and Grid Engine's daemons talk to each other by it"
    return None


def changed(text, **values):
    """A configuration of Grid Engine's, with these lines instead of its own."""
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^{name}\s.*$", f"{name} {value}", text)
        assert count == 1, (name, text)
    return text


class Cluster(Daemons):
    """Starts on construction; close() ends every process and leaves nothing but the directory."""

    def __init__(self, place):
        for each in [place, *place.parents][:3]:  # pytest's: jobs of other users pass
            each.chmod(0o755)
        super().__init__(place)
        self.host = socket.gethostname()
        master, execd = free_ports(2)
        self.environment = {**os.environ, "SGE_ROOT": str(place / "root"), "SGE_CELL": "default", "SGE_ND": "1",
                            "SGE_QMASTER_PORT": str(master), "SGE_EXECD_PORT": str(execd), "PATH": f"{HOME}:{os.environ['PATH']}"}
        for name in ("JOB_ID", "SGE_TASK_ID", "RESTARTED"):
            self.environment.pop(name, None)
        try:
            self.make_cell()
            self.start("sge_qmaster", HOME / "sge_qmaster")
            self.wait("the master to answer", lambda: self.call("qconf", "-sh", check=False).strip())
            self.start("sge_execd", HOME / "sge_execd")
            self.make_queue()
        except BaseException:
            self.close()
            raise

    def make_cell(self):
        common = self.place / "root" / "default" / "common"
        for directory in (common, self.place / "master" / "job_scripts", self.place / "execd", self.place / "database"):
            directory.mkdir(parents=True)
        for name in ("bin", "lib", "utilbin", "util"):
            (self.place / "root" / name).symlink_to(Path("/var/lib/gridengine") / name)
        (common / "act_qmaster").write_text(self.host + "\n")
        # Where the loopback's first name is another one, it is this host all the same.
        names = {"localhost", socket.gethostbyaddr(socket.gethostbyname(self.host))[0]} - {self.host}
        (common / "host_aliases").write_text(f"{self.host} {' '.join(sorted(names))}\n")
        (common / "bootstrap").write_text(changed((DEFAULTS / "default-bootstrap").read_text(), admin_user="none", binary_path=HOME,
                                                  spooling_params=self.place / "database", qmaster_spool_dir=self.place / "master"))
        configuration = self.place / "configuration"
        configuration.write_text(changed((DEFAULTS / "default-configuration").read_text(), execd_spool_dir=self.place / "execd",
                                         min_uid=0, min_gid=0, mailer="/bin/true", load_report_time="00:00:01",
                                         shell_start_mode="unix_behavior", login_shells="none"))
        self.call("spoolinit", "berkeleydb", "libspoolb", self.place / "database", "init")
        resources = DEFAULTS / "util" / "resources"
        for what, where in (("configuration", configuration), ("complexes", resources / "centry"), ("usersets", resources / "usersets"),
                            ("managers", "root")):
            self.call("spooldefaults", what, where)

    def make_queue(self):
        self.call("qconf", "-as", self.host)
        self.wait("the host", lambda: self.host in self.call("qconf", "-sel", check=False) or
                  self.configure("-Ae", f"hostname {self.host}\nload_scaling NONE\ncomplex_values NONE\nuser_lists NONE\n"
                                        "xuser_lists NONE\nprojects NONE\nxprojects NONE\nusage_scaling NONE\nreport_variables NONE\n"))
        self.configure("-Ackpt", f"ckpt_name move\ninterface userdefined\nckpt_command none\nmigr_command none\nrestart_command none\n"
                                 f"clean_command none\nckpt_dir {self.place}\nsignal usr1\nwhen xs\n")
        self.configure("-Msconf", changed(self.call("qconf", "-ssconf"), schedule_interval="0:0:1",
                                          flush_submit_sec=1, flush_finish_sec=1))
        # qconf has an editor change its defaults.
        values = {"hostlist": self.host, "slots": 4, "load_thresholds": "NONE", "shell": "/bin/bash", "notify": f"0:0:{NOTIFY}",
                  "pe_list": "NONE", "ckpt_list": "move"}
        changes = " ".join(f"-e 's|^{name} .*|{name} {value}|'" for name, value in values.items())
        editor = self.place / "editor"
        editor.write_text(f"#!/bin/sh\nexec sed -i {changes} \"$1\"\n")
        editor.chmod(0o755)
        self.call("qconf", "-aq", "work", EDITOR=str(editor))
        self.wait("the queue", lambda: re.search(r"lx-amd64\s*$", self.call("qstat", "-f", check=False), re.M))

    def configure(self, option, text):
        path = self.place / f"configure{option}"
        path.write_text(text)
        return self.call("qconf", option, path)

    def logs(self):
        paths = [*self.place.glob("*.out"), *self.place.glob("master/messages"), *self.place.glob("execd/*/messages")]
        return "\n".join(f"--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in paths)

    def call(self, *command, check=True, **more):
        done = subprocess.run([str(word) for word in command], env={**self.environment, **more}, text=True, capture_output=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}{self.logs()}"
        return done.stdout

    def submit(self, script, *options, user="root"):
        """Submits a script; returns the job's number."""
        path = self.place / f"script-{time.monotonic_ns()}.sh"
        path.write_text("#!/bin/bash\n" + script)
        return self.call("setpriv", f"--reuid={user}", "--init-groups", "--", "qsub", "-terse", "-j", "y", *options, path).strip().split(".")[0]

    def states(self, job):
        """The state letters of what the scheduler still has of a job, one for each line of its list: ["r"], ["r", "hqw"]."""
        lines = [line.split() for line in self.call("qstat", "-u", "*", check=False).splitlines()]
        return [words[4] for words in lines if words and words[0] == job]

    def account(self, job):
        """The exit codes of a job's starts that are over."""
        path = self.place / "root" / "default" / "common" / "accounting"
        lines = [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []
        return [int(line[12]) for line in lines if len(line) > 12 and line[5] == job]

    def close(self):
        if "sge_execd" in self.daemons and self.daemons["sge_execd"].poll() is None:
            self.call("qdel", "-f", "-u", "*", check=False)
        for name in ("sge_execd", "sge_qmaster"):
            if name in self.daemons:
                self.stop(name)
        for each in self.shepherds():
            os.kill(each, signal.SIGKILL)

    def shepherds(self):
        """The processes that watch a job for execd, and outlive it."""
        return self.left("sge_shepherd", "SGE_ROOT")
