"""A real Slurm on this machine's loopback: munged, slurmctld and two slurmd, as root, all of it in one directory.

Two nodes of this one host (slurmd -N), three partitions: `low` and `endless` (no time limit) are preempted by `high`, with a grace time. No cgroups: proctrack/linuxproc.
"""
import os
import shutil
import signal
import socket
import subprocess
import time

from daemons import Daemons, free_ports

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel")
GRACE = 10
KILL_WAIT = 5


def missing():
    """Why there can be no cluster here; None if there can."""
    if os.geteuid() != 0:
        return "needs root, to run Slurm's daemons"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    return f"{', '.join(absent)} not installed (examples/install_packages.sh slurm)" if absent else None


def configuration(place, more=""):
    controller, one, two = free_ports(3)
    host = socket.gethostname().split(".")[0]
    return f"""
ClusterName=reprieve
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=100000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
SlurmdParameters=config_overrides
KillWait={KILL_WAIT}
MinJobAge=600
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=10
ReturnToService=2
{more}
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=16 RealMemory=1
NodeName=two NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=16 RealMemory=1
PartitionName=low Nodes=one,two Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime={GRACE} MaxTime=60 DefaultTime=10
PartitionName=endless Nodes=one,two PriorityTier=1 PreemptMode=REQUEUE GraceTime={GRACE} MaxTime=UNLIMITED
PartitionName=still Nodes=one,two PriorityTier=10 PreemptMode=OFF MaxTime=60 DefaultTime=10
PartitionName=high Nodes=one,two PriorityTier=10 PreemptMode=OFF MaxTime=60 DefaultTime=10
"""


class Cluster(Daemons):
    """Starts on construction; close() ends every process and leaves nothing but the directory."""

    def __init__(self, place, more=""):
        super().__init__(place)
        self.environment = {**os.environ, "SLURM_CONF": str(place / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        for name in [name for name in self.environment if name.startswith("SLURM_") and name != "SLURM_CONF"]:
            del self.environment[name]
        for name in ("state", "munge", "spool-one", "spool-two"):
            (place / name).mkdir(mode=0o755)
        (place / "slurm.conf").write_text(configuration(place, more))
        self.munge_key = place / "munge" / "key"
        self.munge_key.write_bytes(os.urandom(64))
        self.munge_key.chmod(0o400)
        try:
            self.start_all()
        except BaseException:
            self.close()
            raise

    def start_node(self, node):
        self.start(node, "slurmd", "-D", "-N", node)

    def start_all(self):
        munge = self.place / "munge"
        # --force: a test's directory is not as private as munge wants it.
        self.start("munged", "munged", "--foreground", "--force", f"--socket={munge}/socket", f"--key-file={munge}/key",
                   f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.wait("munge to listen", (munge / "socket").exists)
        self.start("slurmctld", "slurmctld", "-D", "-i")
        self.start_node("one")
        self.start_node("two")
        self.wait("both nodes to be idle", lambda: self.nodes() == {"one": "idle", "two": "idle"})

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in sorted(self.place.glob("*.log")))

    def call(self, *command, check=True, **more):
        done = subprocess.run([str(word) for word in command], env={**self.environment, **more}, text=True, capture_output=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def nodes(self):
        lines = self.call("sinfo", "--noheader", "--Node", "--format=%N %T", check=False).splitlines()
        return dict(line.split() for line in lines)

    def show(self, job):
        """scontrol's fields of a job."""
        text = self.call("scontrol", "--oneliner", "show", "job", job)
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def state(self, job):
        return self.show(job)["JobState"]

    def wait_state(self, job, *states, limit=90):
        def there():
            shown = self.show(job)
            # Slurm lets a requeued job wait for two minutes, until its old credentials have run out. They are revoked by the second:
            # what starts within the same one is ended again ("Job credential revoked").
            requeued = time.mktime(time.strptime(shown["SubmitTime"], "%Y-%m-%dT%H:%M:%S"))
            if shown["JobState"] == "PENDING" and shown["Reason"] == "BeginTime" and time.time() > requeued + 3:
                self.call("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
            return shown["JobState"] in states and shown
        return self.wait(f"job {job} to be {states}", there, limit)

    def sbatch(self, script, *options, **more):
        """Submits a script; returns the job's number."""
        path = self.place / f"script-{time.monotonic_ns()}.sh"
        path.write_text("#!/bin/bash\n" + script)
        return self.call("sbatch", "--parsable", *options, path, **more).strip().split(";")[0]

    def clear(self):
        """Cancels what a test has left, so that the next one finds both nodes idle."""
        self.call("scancel", "--full", "--user=root", check=False)
        self.call("scancel", "--user=root", check=False)
        self.wait("an empty queue", lambda: not self.call("squeue", "--noheader", check=False).strip())

    def close(self):
        if "slurmctld" in self.daemons and self.daemons["slurmctld"].poll() is None:
            try:
                self.clear()
            except (AssertionError, subprocess.TimeoutExpired):
                pass
        for name in ("slurmctld", "one", "two", "munged"):
            if name in self.daemons:
                self.stop(name)
        # slurmstepd leaves its parent's session.
        for step in self.step_daemons():
            os.kill(step, signal.SIGKILL)

    def step_daemons(self, job=""):
        """slurmstepd's processes of one job, or of all."""
        return self.left("slurmstepd", "SLURM_CONF", f"[{job}." if job else "")
