#!/usr/bin/python3
"""Plays the layouts, and kills at many instants: which saves are mixed, and which are lost? README.md says how the table is read.
  run.py                 two seeds, against saves_table.txt: what CI runs
  run.py --write         the same, and writes the table
  run.py --long          ten seeds, many instants; only says what it finds (--seeds, --instants)
  run.py --only NAME --say   the layouts whose names have it, and each instant that is wrong"""
import argparse
import gc
import multiprocessing
import os
import pickle
import random
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "saves"))
import layouts  # noqa: E402,F401 (it fills LAYOUTS)
from job import LAYOUTS  # noqa: E402
from supervisor import GRACE_MS, Entry, Supervisor, load  # noqa: E402
from world import FOREVER, Mixture, View, World  # noqa: E402

TABLE = HERE / "saves_table.txt"
COLUMNS = ("gone", "killed", "notice", "disk", "worse", "lost")
WITNESSES = ("kernel", "poll", "lost", "stalled", "sizes", "again")
LONGEST_MS = 600000


def judge(layout, files, world):
    try:
        return layout.resume(View(files, world.rows_of)), ""
    except Mixture as mixture:
        return None, str(mixture)


def finish(layout, world, supervisor, how):
    """In a branch of its own: how it ends from here."""
    world.before = world.after = lambda *event: None
    notice = world.now
    if how == "notice":
        supervisor.notice(notice)
        while not supervisor.ends_job(world.now, notice) and world.works():
            world.run(world.now + 50)
        if world.on_term and world.works():
            supervisor.c.sim_requested(supervisor.sim, int(world.now))
            world.threads = {key: thread for key, thread in world.threads.items() if thread[2]}
            world.spawn(1, world.on_term())
            world.run(notice + GRACE_MS - 1000, stop=lambda: not world.works())
    (world.end if how == "end" else world.kill)()
    supervisor.end(world.now, 1 if how == "end" and not world.failed else 2 if how == "notice" else 3)
    return (*judge(layout, supervisor.newest(), world), world.newest())


def in_a_branch(function, *arguments):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = function(*arguments)
        except BaseException as error:  # told below
            told = error
        with os.fdopen(write, "wb") as pipe:
            pipe.write(pickle.dumps(told))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    if isinstance(told, BaseException):
        raise told
    return told


def first_attempt(library, layout, seed):
    """Its newest snapshot, as sequence, files, what was learned; and the save that it has."""
    world = World(f"{layout.name}{seed}first")
    supervisor = world.observer = Supervisor(library, world)
    layout.launch(world)
    world.run(FOREVER, lambda: not world.works() or world.failed)
    finish(layout, world, supervisor, "end")
    sequence, files, signatures = supervisor.snapshots[-1] if supervisor.snapshots else (0, {}, b"")
    loaded, _ = judge(layout, files, world)
    library.sim_free(supervisor.sim)
    return (sequence, files, signatures, loaded) if loaded else None


def play(library, layout, seed, instants, witness):
    """The rows (how, at, what is loaded, why not, what it had saved, what a bare start would load)."""
    def new():
        world = World(f"{layout.name}{seed}", 0.6 if witness == "sizes" else 0.01)
        if before_that:
            world.restore(before_that[1], before_that[3])
        layout.launch(world)
        return world

    def over(world):
        return lambda: not world.works() or world.now > LONGEST_MS or world.failed

    before_that = first_attempt(library, layout, seed) if witness == "again" else None
    dry = new()
    dry.run(FOREVER, over(dry))
    bare, why = judge(layout, {p: Entry(i) for p, i in dry.files.items()}, dry)
    if bare != dry.newest():
        raise ValueError(f"{layout.name}: its rule is wrong: at its end it loads {why or bare}, and has saved {dry.newest()}")
    world = new()
    supervisor = world.observer = Supervisor(library, world, "shim" if witness in ("sizes", "again") else witness, seed)
    if before_that:
        supervisor.go_on_from(*before_that[:3])
    chance = random.Random(f"{layout.name}{seed}instants")
    events = {int((i + chance.random()) * dry.events / instants) for i in range(instants)}
    times = sorted((i + chance.random()) * dry.now / instants for i in range(instants))
    rows = []

    def note(how, loaded, why, truth, bare=0):
        rows.append((how, int(world.now), loaded, why, truth, bare))

    def branch():
        note("gone", *judge(layout, supervisor.newest(), world), world.newest())
        for how in ("killed", "notice"):
            note(how, *in_a_branch(finish, layout, world, supervisor, how))

    def before(event):
        if world.events in events:
            bare, _ = judge(layout, {p: Entry(i) for p, i in world.files.items()}, world)
            note("disk", *judge(layout, supervisor.start_again(event), world), world.newest(), bare or 0)

    def after():
        if world.events in events:
            note("gone", *judge(layout, supervisor.newest(), world), world.newest())
            note("killed", *in_a_branch(finish, layout, world, supervisor, "killed"))

    def tick():
        while times and times[0] <= world.now:
            times.pop(0)
            branch()

    world.before, world.after = before, after
    world.run(FOREVER, over(world), tick)
    finish(layout, world, supervisor, "end")
    note("killed", *judge(layout, supervisor.newest(), world), world.newest())
    library.sim_free(supervisor.sim)
    return rows


def tally(rows):
    count = dict.fromkeys(COLUMNS, 0)
    for how, _, loaded, _, truth, bare in rows:
        count[how] += loaded is None
        count["worse"] += how == "disk" and (loaded or 0) < bare
        count["lost"] += max(0, truth - loaded) if loaded is not None else 0
    return count


def work(task):
    gc.disable()  # a branch would copy all that a collection touches
    layout, seeds, instants, witness = task
    library = load(work.build)
    rows = [row for seed in seeds for row in play(library, LAYOUTS[layout], seed, instants, witness)]
    return layout, witness, len(rows), tally(rows), [row for row in rows if row[2] is None or (row[0] == "disk" and row[2] < row[5])]


def tasks_of(options, chosen):
    seeds = range(1, options.seeds + 1)
    for i in chosen:
        yield i, seeds, options.instants, "shim"
    for i in chosen:
        for witness in WITNESSES:
            # The others are seen on a part of the layouts, which others that come and go do not change.
            if options.long or zlib.crc32(f"{LAYOUTS[i].name} {witness}".encode()) % len(WITNESSES) == 0:
                yield i, seeds[:1], options.instants, witness


def rows_of_table(results):
    table, instants = {}, 0
    for layout, witness, number, count, _ in results:
        instants += number
        row = table.setdefault(LAYOUTS[layout].name if witness == "shim" else f"({witness})", dict.fromkeys(COLUMNS, 0))
        for column in COLUMNS:
            row[column] += count[column]
    return table, instants


def read_table():
    table = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, *numbers = [part.strip() for part in line.split("|")]
            table[name] = dict(zip(COLUMNS, map(int, numbers)))
    return table


def half_of(name):
    return next((layout.half for layout in LAYOUTS if layout.name == name), "")


def format_table(table):
    yield f"# {'layout, or (how the job is seen)':46} | half  |" + " |".join(f"{column:>6}" for column in COLUMNS)
    for name in sorted(table):
        yield f"{name:48} | {half_of(name):5} |" + " |".join(f"{table[name][column]:6}" for column in COLUMNS)


def compare(table):
    known, wrong, better = read_table(), [], []
    for name, row in table.items():
        for column in COLUMNS:
            most = known.get(name, {}).get(column)
            if most is None or row[column] > most:
                wrong.append(f"{name}: {column} {row[column]}, and the table has {most}")
            elif row[column] < most:
                better.append(f"{name}: {column} {row[column]}, was {most}")
    return wrong, better


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parents[1] / "build")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--instants", type=int, help="of each seed: so many by events, and so many by time")
    parser.add_argument("--only", default="")
    for flag in ("--write", "--long", "--say"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    options.seeds = options.seeds or (5 if options.long else 2)
    options.instants = options.instants or (20 if options.long else 6)
    work.build = options.build
    chosen = [i for i, layout in enumerate(LAYOUTS) if options.only in layout.name]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        results = list(pool.imap(work, tasks_of(options, chosen), chunksize=2))
    table, instants = rows_of_table(results)
    for layout, witness, _, _, wrong in results:
        for how, at, loaded, why, truth, bare in wrong if options.say else ():
            print(f"{LAYOUTS[layout].name} ({witness}): {how} at {at}: {why or loaded}; saved {truth}; bare {bare}")
    for half in ("build", "judge"):
        names = [name for name in table if half_of(name) == half]
        print(f"{half}: {len(names)} layouts:", ", ".join(f"{c} {sum(table[n][c] for n in names)}" for c in COLUMNS))
    print(f"{instants} instants")
    ordinary = not (options.long or options.only) and (options.seeds, options.instants) == (2, 6)
    if options.write and ordinary:
        TABLE.write_text("\n".join(format_table(table)) + "\n")
    elif not ordinary:
        print(*format_table(table), sep="\n")
    else:
        wrong, better = compare(table)
        print(*[f"worse: {line}" for line in wrong], *[f"better: {line} (tests/model/run.py --write lowers it)" for line in better], sep="\n")
        return bool(wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
