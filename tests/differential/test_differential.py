"""Never worse than without: the same job bare and under `reprieve run`, killed at the same instant, and started again.

In the same directory a start resumes at least from where the bare command does, and from the newest save that was durable; in an empty
one from the latter. "At least" is of steps: 0 is from scratch, -1 a job that cannot go on, or halves of two saves.
"""
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import layouts  # noqa: E402
from harness import PYTHON, kill_quietly, wait_for  # noqa: E402

PACE = 0.3  # seconds from one save to the next: a job saves at regular intervals, and is known by them
JOB = str(Path(layouts.__file__).resolve())
FIRST, LAST = 1, 4


def kill_job(run, gates):
    kill_quietly(run.job_pid)
    run.wait()


def give_notice(run, gates):
    """The save that is under way has all the time that it needs."""
    run.signal(signal.SIGTERM)
    run.wait_for_event("notice")
    (gates / "release").touch()
    run.wait()


def at_once(process, gates):
    process.kill()


ENDS = {"all": (at_once, at_once), "job": (kill_job, at_once), "notice": (give_notice, lambda job, gates: job.terminate())}


def open_gates(place, name, up_to):
    gates = place.path / name
    gates.mkdir()
    for save in range(1, up_to + 1):
        (gates / str(save)).touch()
    return gates


def resume_bare(layout, save, instant, place, end):
    """What the bare command resumes from."""
    directory, gates = place.path / "bare", open_gates(place, "bare-gates", save)
    job = subprocess.Popen([PYTHON, JOB, layout, directory, str(save), str(instant), gates], stdout=subprocess.PIPE, text=True)
    try:
        while (line := job.stdout.readline()) != "at\n":
            assert line, "the job has ended"
        end(job, gates)
    finally:
        job.kill()
        job.wait()
        job.stdout.close()
    return layouts.resumed(layout, directory)


def resume(place, layout, directory, store):
    """What the command under `reprieve run` resumes from, and what was said."""
    done = place.query("run", "--store", f"file://{store}", "--job", place.job, "-c", directory, "--", PYTHON, JOB, layout, directory)
    lines = [line for line in done.out.splitlines() if line.startswith("resumed ")]
    assert done.code == 0 and lines, done
    return int(lines[0].split()[1]), done.err


def durable_step(place, layout):
    """What lies in the newest snapshot."""
    out = place.path / "look"
    shutil.rmtree(out, ignore_errors=True)
    if place.newest() is None:
        return 0
    done = place.verb("restore", "latest", out)
    assert done.code == 0, done
    return layouts.resumed(layout, out)


def differ(place, layout, save, instant, paced, ends, options=(), durable=0, pace=PACE):
    """`paced`: each save is durable before the next one is begun. Else they follow each other without a pause; or, with `durable`, only
    those up to this one are, and the others come too soon after it for a snapshot."""
    end, end_bare = ENDS[ends]
    bare = resume_bare(layout, save, instant, place, end_bare)
    gates = open_gates(place, "gates", 1 if paced or durable else save)
    interval = ("--snapshot-interval", "0") if paced else ()
    run = place.run(PYTHON, JOB, layout, place.directory, save, instant, gates,
                    options=(*options, *(("--quiet-time", "100ms", *interval) if paced or durable else ())))
    for before in range(1, save if paced or durable else 1):
        begun = time.monotonic()
        run.wait_for_output(f"saved {before}\n")
        if paced or before <= durable:
            wait_for(f"save {before} is durable", lambda: durable_step(place, layout) == before, process=run.process, about=run)
        time.sleep(max(0, begun + pace - time.monotonic()))
        (gates / str(before + 1)).touch()
    run.wait_for_output("at\n")
    until = time.monotonic() + (0.09 if options else 0)  # Where nobody reports, the kernel's word is read first: less than --quiet-time.
    while time.monotonic() < until and not (place.path / f"{place.directory.name}.reprieve" / "under-way").exists():
        time.sleep(0.002)
    end(run, gates)
    run.end()
    durable = save - 1 if paced else durable or -1
    shutil.copytree(place.store_path, place.path / "store-2")
    same, said = resume(place, layout, place.directory, place.store_path)
    empty, said_there = resume(place, layout, place.path / "empty", place.path / "store-2")
    what = f"bare {bare}, durable {durable}; in the same directory {same}, in an empty one {empty}\n{said}---\n{said_there}---\n{run}"
    assert same >= max(bare, durable), what
    assert empty >= max(durable, 0), what


# Of these, what is durable when the others come too fast: three snapshots may follow each other at once. They have rows of their own: paced,
# or in the first save, they are as two in turn and as a first save that is cut off, of which the gaps below tell.
BETWEEN = {"archives-in-turn": (LAST + 1, 3), "fewer-later": (LAST, 1)}


def every_instant(save, paced=False, of=layouts.LAYOUTS.keys() - BETWEEN.keys()):
    return [pytest.param(layout, instant, id=f"{layout}: {done}".replace(" ", "_"))
            for layout in sorted(of)
            for instant, done in enumerate(layouts.instants(layout, save))]


# What is known to go wrong of a layout, or of one of its instants, in those tests below that name it.
LINK, FEWER, DATES, IN_TURN = "asynchronous-link", "sparse-arrays", "manager-file:_the_pointer_names_it", "two-in-turn:_restart.a_is_closed"
GAPS = {LINK: "a link that leads nowhere is not put back", FEWER: "a save with fewer chunks than the one before is taken for a half",
        DATES: "a pointer to the newest of two dates goes with neither", IN_TURN: "on a busy machine one of two in turn is at times taken for half of a pair"}


def with_gaps(instants, *gaps):
    return [pytest.param(*one.values, id=one.id, marks=[pytest.mark.xfail(reason=GAPS[gap]) for gap in gaps if gap in (one.values[0], one.id)])
            for one in instants]


@pytest.mark.parametrize("layout, instant", with_gaps(every_instant(LAST, paced=True), LINK, FEWER, DATES, IN_TURN))
def test_all_are_killed(place, layout, instant):
    differ(place, layout, LAST, instant, True, "all")


@pytest.mark.parametrize("layout, instant", with_gaps(every_instant(LAST), FEWER))
def test_all_are_killed_and_no_save_had_time_to_be_durable(place, layout, instant):
    differ(place, layout, LAST, instant, False, "all")


@pytest.mark.parametrize("layout, instant", [one for layout, (save, _) in BETWEEN.items() for one in every_instant(save, of=[layout])])
def test_all_are_killed_between_two_snapshots(place, layout, instant):
    save, durable = BETWEEN[layout]
    differ(place, layout, save, instant, False, "all", durable=durable, pace=1)  # On a busy machine a shorter one is not kept.


@pytest.mark.parametrize("layout, instant", every_instant(FIRST))
def test_all_are_killed_in_the_first_save(place, layout, instant):
    differ(place, layout, FIRST, instant, False, "all")


def last_instants(save):
    """The middle of the save and its end."""
    return [one for one in every_instant(save, paced=True) if one.id.endswith(("half_written", "is_closed", "is_in_place", "names_it"))]


@pytest.mark.parametrize("ends", ["job", "notice"])
@pytest.mark.parametrize("layout, instant", with_gaps(last_instants(LAST), LINK, FEWER, DATES, IN_TURN))
def test_the_job_alone_is_ended(place, layout, instant, ends):
    differ(place, layout, LAST, instant, True, ends)


@pytest.mark.parametrize("layout, instant", with_gaps(last_instants(LAST), LINK, FEWER, IN_TURN))
def test_nobody_reports_what_the_job_does(place, layout, instant):
    """As with a static program: the kernel alone tells of its files, and not who has them open."""
    differ(place, layout, LAST, instant, True, "all", ("--shim", "off"))
