"""A job that does not go on from what lay there is told so, once, and `reprieve report` counts what it does again as lost. A job that
goes on in a way that is hard to see is not."""
import signal

import pytest

from harness import EXIT_DURABLE, PYTHON

# Saves numbered files, and resumes as the second argument says. The first one is the last step.
JOB = """
import glob, mmap, os, subprocess, sys, time
top, how, last = os.environ["REPRIEVE_CHECKPOINT_DIR"], sys.argv[1], int(sys.argv[2])
os.makedirs(top, exist_ok=True)
numbers = sorted(int(path.split("-")[-1][:-3]) for path in glob.glob(top + "/ckpt-*.pt"))
newest = f"{top}/ckpt-{numbers[-1]}.pt" if numbers else None
step = 0
if how == "looks elsewhere":
    newest = newest and newest.replace(top, top + "-old")
    newest = newest if newest and os.path.exists(newest) else None
if newest and how == "maps":
    with open(newest, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        step = int(content[:8])
if newest and how == "by another process":
    step = int(subprocess.run(["cat", newest], check=True, capture_output=True).stdout[:8])
if newest and how == "by a process without the library":
    step = int(subprocess.run(["cat", newest], check=True, capture_output=True, env={"PATH": os.environ["PATH"]}).stdout[:8])
if newest and how == "by a link from outside":
    if not os.path.lexists(top + "-link"):
        os.symlink(top, top + "-link")
    step = int(open(f"{top}-link/{os.path.basename(newest)}", "rb").read(8))
if newest and how == "by its name alone":
    step = numbers[-1]
if newest and how == "reads and counts anew":
    open(newest, "rb").read()
print("starts from", step, flush=True)
while step < last:
    step += 10
    path = f"{top}/ckpt-{step}.pt"
    with open(path + ".tmp", "wb") as file:
        file.write(b"%08d" % step + b"x" * 5000)
    os.rename(path + ".tmp", path)
    print("saved", step, flush=True)
    time.sleep(0.3)
time.sleep(600)
"""

QUICK = ("--quiet-time", "100ms", "--snapshot-interval", "0")
REMOVED, KEPT = "on another machine", "on the same disk"


def start(place, how, last, name="run"):
    run = place.run(PYTHON, "-c", JOB, how, last, options=QUICK, name=name)
    run.wait_for_output(f"saved {last}")
    while not run.events("durable") or run.events("durable")[-1]["step"] != last:
        run.wait_for_event("durable", count=len(run.events("durable")) + 1)
    return run


def preempt(run):
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    return run


def second_start(place, how, where, last):
    preempt(start(place, how, 50))
    if where == REMOVED:
        for path in place.directory.iterdir():
            path.unlink()
    return preempt(start(place, how, last, name="again"))


@pytest.mark.parametrize("how, where", [("never", REMOVED), ("never", KEPT), ("looks elsewhere", REMOVED)])
def test_a_job_that_begins_anew_is_told_so_once(place, how, where):
    run = second_start(place, how, where, 30)
    assert run.err.count("the job began anew: it has saved step 10, although step 50 lay in") == 1, run
    assert run.event("began_anew")["step"] == 10 and run.event("began_anew")["found"] == 50
    assert "REPRIEVE_RESUMING" in run.err and "this one began anew, and so does that one unless the job loads it (exit 75)" in run.err, run
    assert "to continue from there" not in run.err, run
    job = place.verb("report", "--json").json["jobs"][0]
    first, second = job["list"]
    assert (first["redone_by"], first["kept_seconds"], second["redone_by"], second["began_anew"]) == (2, 0, None, True), job
    assert first["lost_seconds"] > 1 and second["kept_seconds"] > 0
    assert job["saved_seconds"] == pytest.approx(second["kept_seconds"], abs=0.002), "what the second one has kept may yet be gone on from"
    assert "(done again by 2)" in place.verb("report").out


@pytest.mark.parametrize("how", ["maps", "by another process", "by a process without the library", "by a link from outside", "by its name alone",
                                 "reads and counts anew"])
def test_a_job_that_may_have_gone_on_is_not(place, how):
    run = second_start(place, how, REMOVED, 30 if "anew" in how else 70)
    assert "began anew" not in run.err and run.event("began_anew") is None, run
    assert "Run the same command again to continue from there (exit 75)" in run.err, run
    first, second = place.verb("report", "--json").json["jobs"][0]["list"]
    assert first["kept_seconds"] > 0 and first["redone_by"] is None and not second["began_anew"]


def test_a_fresh_start_by_the_users_wish_is_not(place):
    preempt(start(place, "never", 50))
    place.directory.joinpath("ckpt-50.pt").unlink()
    run = place.run(PYTHON, "-c", JOB, "never", 30, options=(*QUICK, "--restore", "none"), name="again")
    run.wait_for_output("saved 30")
    preempt(run)
    assert "began anew" not in run.err, run
