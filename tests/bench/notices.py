"""From the flip of a cloud's metadata to the job's request: p50 and p99 per cloud, and what a watcher costs while nothing happens. The metadata
is `reprieve mock` on this machine; nothing is asserted, the aims stand beside the numbers.

notices.py BINARY [--smoke]
"""
import http.client
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# cloud | what points at it | is that a URL | its poll interval in ms | the aim
CLOUDS = [("aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", True, 1000, "< 1000 + 20 ms"),
          ("gcp", "GCE_METADATA_HOST", False, 0, "< 20 ms"),
          ("azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", True, 1000, "< 1000 + 20 ms"),
          ("alibaba", "REPRIEVE_ALIBABA_METADATA_ENDPOINT", True, 5000, "< 5000 + 20 ms"),
          ("tencent", "REPRIEVE_TENCENT_METADATA_ENDPOINT", True, 5000, "< 5000 + 20 ms")]
JOB = """
import signal, sys, time
def asked(number, frame):
    open(sys.argv[1], "w").write("%d" % time.monotonic_ns())
    sys.exit(0)
signal.signal(signal.SIGUSR1, asked)
open(sys.argv[1] + ".ready", "w").close()
while True:
    signal.pause()
"""


def settings(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REPRIEVE_", "AWS_", "GCE_", "SLURM"))}
    return {**kept, **more}


def start_mock(binary, cloud):
    mock = subprocess.Popen([binary, "mock", cloud], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings())
    host = mock.stdout.readline().strip().removeprefix("http://")
    return mock, host


def wait(fact, what):
    end = time.monotonic() + 60
    while not fact():
        if time.monotonic() > end:
            sys.exit(f"notices: {what}: not within a minute")
        time.sleep(0.001)


def one(binary, work, cloud, variable, is_url, poll_ms):
    """Milliseconds from the flip to the signal handler of the job."""
    mock, host = start_mock(binary, cloud)
    place = Path(tempfile.mkdtemp(dir=work))
    (place / "job.py").write_text(JOB)
    seen, events = place / "seen", place / "events"
    try:
        run = subprocess.Popen([binary, "run", "-q", "--store", f"file://{place}/store", "--job", "notices", "--checkpoint-dir",
                                str(place / "checkpoints"), "--checkpoint-signal", "USR1", "--notice", cloud, "--events", str(events), "--",
                                sys.executable, str(place / "job.py"), str(seen)],
                               env=settings(**{variable: f"http://{host}" if is_url else host}), stderr=subprocess.DEVNULL)
        wait(lambda: Path(str(seen) + ".ready").exists() and '"armed"' in events.read_text(), "the job and an armed source")
        time.sleep(random.uniform(0.05, 0.05 + poll_ms / 1000))
        connection = http.client.HTTPConnection(host)
        connection.connect()
        began = time.monotonic_ns()
        connection.request("POST", "/mock/fire")
        wait(lambda: seen.exists() and seen.read_text(), f"{cloud}'s notice")
        run.wait()
        return (int(seen.read_text()) - began) / 1e6
    finally:
        mock.terminate()
        mock.wait()


def ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def idle(binary, cloud, variable, is_url, seconds):
    """CPU time of `reprieve watch` in ms per minute."""
    mock, host = start_mock(binary, cloud)
    watch = subprocess.Popen([binary, "watch", "--notice", cloud], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=settings(**{variable: f"http://{host}" if is_url else host}))
    try:
        time.sleep(1)
        before = ticks(watch.pid)
        time.sleep(seconds)
        return (ticks(watch.pid) - before) * 1000 / os.sysconf("SC_CLK_TCK") * 60 / seconds
    finally:
        watch.send_signal(signal.SIGTERM)
        watch.wait()
        mock.terminate()
        mock.wait()


def main():
    binary, smoke = os.path.abspath(sys.argv[1]), "--smoke" in sys.argv
    rounds, seconds = (1, 2) if smoke else (25, 30)
    print(f"notices: from the flip to the job's signal handler ({rounds} each), and the idle watcher ({seconds} s)")
    print(f"  {'cloud':<10} {'p50':>10} {'p99':>10} {'idle CPU':>18}   aim")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR", "/dev/shm" if os.path.isdir("/dev/shm") else None)) as work:
        for cloud, variable, is_url, poll_ms, aim in CLOUDS:
            count = max(1, rounds // 5) if poll_ms > 1000 else rounds
            took = sorted(one(binary, work, cloud, variable, is_url, poll_ms) for _ in range(count))
            cost = idle(binary, cloud, variable, is_url, seconds)
            p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
            print(f"  {cloud:<10} {took[len(took) // 2]:>7.1f} ms {p99:>7.1f} ms {cost:>10.0f} ms/min   {aim}", flush=True)


main()
