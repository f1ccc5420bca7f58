"""From the last close of a checkpoint to the event checkpoint_complete, by the evidence that completes it; and from the request of
`reprieve checkpoint` to durable. p50 and p99, and as a ratio to what quiet alone takes; nothing is asserted, the aims stand beside.

completion.py BINARY [--smoke]
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ("REPRIEVE_", "AWS_", "GCE_", "SLURM")
# Checkpoints of two files; so many are made and kept first. Prints the step and the time of each last close, in ms of CLOCK_MONOTONIC.
JOB = """
import os, shutil, sys, time
directory, kind, saves, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
kept = int(sys.argv[6])
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[5])
import reprieve
first, last, name = {"commit": ("weights.bin", "trainer_state.json", "checkpoint-%d")}.get(kind, ("weights.bin", "optimizer.bin", "step_%d"))
for step in range(1, kept + saves + 1):
    path = os.path.join(directory, name % step)
    os.makedirs(path)
    for file in (first, last):
        with open(os.path.join(path, file), "wb") as out:
            out.write(b"{}" if file.endswith("json") else os.urandom(4000))
    if step <= kept:
        continue
    print(step, time.monotonic_ns() / 1e6, flush=True)
    if kind == "word":
        reprieve.saved(step)
    time.sleep(kept / 100 if step == kept + 1 and kept else pause)
    if step > kept + 3:
        shutil.rmtree(os.path.join(directory, name % (step - 3)))
"""
ASKED = """
import os, signal, sys, time
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
open(sys.argv[2], "w").close()
step = 0
while True:
    if not asked:
        signal.sigtimedwait([], 0.001)
        continue
    asked.clear()
    step += 1
    path = os.path.join(sys.argv[1], "step_%d.bin" % step)
    with open(path + ".tmp", "wb") as out:
        out.write(os.urandom(100000))
        time.sleep(0.05)
    os.rename(path + ".tmp", path)
"""
# what completes it | more options | saves | pause between them | aim | kept before them
KINDS = [("quiet alone", "quiet", ("--shim", "off"), 10, 2.5, "", 0),
         ("signature", "signature", ("--shim", "on"), 300, 0.05, "p99 < 20 ms", 0),
         ("signature", "kept", ("--shim", "on"), 300, 0.05, "p99 < 20 ms", 3000),
         ("a profile's commit", "commit", ("--shim", "on", "--profile", "hf"), 300, 0.05, "p99 < 20 ms", 0),
         ("the job's own word", "word", ("--shim", "on"), 300, 0.05, "p99 < 20 ms", 0)]


def settings():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    return {**kept, "REPRIEVE_NOTICE": "none"}


def begin(binary, place, options, code, *arguments):
    (place / "job.py").write_text(code)
    (place / "checkpoints").mkdir()
    return subprocess.Popen([binary, "run", "-q", "--store", f"file://{place}/store", "--job", place.name, "--checkpoint-dir",
                             str(place / "checkpoints"), "--events", str(place / "events"), *options, "--", sys.executable,
                             str(place / "job.py"), str(place / "checkpoints"), *map(str, arguments)],
                            env=settings(), stdout=subprocess.PIPE, text=True)


def completions(binary, place, kind, options, saves, pause, kept):
    """Milliseconds of each save, and how many saves there were. The first ones are left out: their names teach the signature."""
    run = begin(binary, place, options, JOB, kind, saves, pause, ROOT / "shim", kept)
    closed = {int(step): float(at) for step, at in map(str.split, run.communicate()[0].splitlines())}
    took = {}
    for line in (place / "events").read_text().splitlines():
        event = json.loads(line)
        step = event.get("step")
        # The event has whole milliseconds.
        if event["event"] == "checkpoint_complete" and step in closed and event["monotonic_ms"] + 1 > closed[step]:
            took.setdefault(step, max(0.0, event["monotonic_ms"] - closed[step]))
    known = [step for step in closed if step > kept + min(3, saves // 2)]
    return [took[step] for step in known if step in took], len(known)


def requests(binary, place, rounds):
    """Milliseconds from the start of `reprieve checkpoint` to its end: the checkpoint is durable. The first one is left out: no
    signature is known for it."""
    ready = place / "ready"
    run = begin(binary, place, ("--checkpoint-signal", "USR1"), ASKED, ready)
    took = []
    try:
        while not ready.exists():
            time.sleep(0.01)
        for _ in range(rounds + 1):
            began = time.monotonic_ns()
            subprocess.run([binary, "checkpoint", "--job", place.name], env=settings(), check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=60)
            took.append((time.monotonic_ns() - began) / 1e6)
            # Two snapshots a second are the most that requests are given (planning/planning.c).
            time.sleep(0.5)
    finally:
        run.terminate()
        run.communicate()
    return took[1:]


def middle_and_worst(took):
    took = sorted(took)
    return took[len(took) // 2], took[min(len(took) - 1, int(len(took) * 0.99))]


def main():
    binary, smoke = os.path.abspath(sys.argv[1]), "--smoke" in sys.argv
    print("from the last close of a checkpoint to its completeness")
    print(f"  {'by':<24} {'p50':>10} {'p99':>10} {'of quiet':>10} {'saves':>10}   aim")
    quiet = None
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR", "/dev/shm" if os.path.isdir("/dev/shm") else None)) as work:
        for title, kind, options, saves, pause, aim, kept in KINDS:
            kept = kept // 10 if smoke else kept
            title = f"{title}, {kept} kept" if kept else title
            place = Path(work) / kind
            place.mkdir()
            took, of = completions(binary, place, kind, options, max(2, saves // 10) if smoke else saves, pause, kept)
            if not took:
                sys.exit(f"completion: {title}: no checkpoint was complete")
            p50, p99 = middle_and_worst(took)
            quiet = quiet or p50
            print(f"  {title:<24} {p50:>7.1f} ms {p99:>7.1f} ms {p50 / quiet:>8.4f} x {len(took):>4} of {of:<4}  {aim}", flush=True)
        place = Path(work) / f"requests-{os.getpid()}"  # no other job here has that name
        place.mkdir()
        rounds = 3 if smoke else 60
        p50, p99 = middle_and_worst(requests(binary, place, rounds))
        print(f"from `reprieve checkpoint` to durable, a save of 50 ms, file://, a request each half second ({rounds})")
        print(f"  {'':<24} {p50:>7.1f} ms {p99:>7.1f} ms {p50 / 50:>6.1f} saves                p50 < 300 ms")


main()
