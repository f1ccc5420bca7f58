"""Writers x ways to die x how much of it is seen: what is torn is in no snapshot, and what is whole is in one, byte for byte.

writers.py and writers.c are the jobs. Each saves number 1 whole, and dies in number 2 or does not. The rows run side by side, because most
of a row's time is the quiet time that it waits for.
"""
import os
import re
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import writers
from harness import LIMIT, PYTHON, Place

KERNEL = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
HERE = Path(__file__).resolve().parent
QUIET = "500ms"
SIDE_BY_SIDE = 10
VIEWS = ("shim", "off", "blind")
# In a PID namespace of its own, where its number is one that nobody has outside.
ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
             'echo $(($(cat /proc/sys/kernel/pid_max) - 2000)) > /proc/sys/kernel/ns_last_pid && "$@"; exit $?', "sh")

# Writers of one file: there each state between is another file's, or none.
FILES = {
    "plain": "mid:kill mid:late mid:abort mid:exit mid:space",
    "buffered": "mid:kill mid:late mid:exit",
    "renamed": "mid:kill rename:kill rename:late",
    "tmpfile": "mid:kill rename:kill",
    "linked_early": "mid:kill",
    "mapped": "mid:kill mid:late",
    "duplicated": "mid:kill mid:late",
    "inherited": "mid:late",
    "overwritten": "mid:kill mid:exit",
    "overwritten_in_place": "mid:kill mid:late",
    "sparse": "mid:kill",
    "shortened": "mid:kill",
    "raw": "mid:kill rename:kill",
    "zip": "mid:kill mid:space-swallowed",
}
# Of several: a pause longer than the quiet time cannot be told from the end.
SETS = {
    "pair": "mid:kill between:kill between:exit",
    "directory_renamed": "mid:kill between:kill rename:kill",
    "nested": "between:kill",
    "many": "mid:kill between:kill between:abort",
    "appended": "between:kill",
    "pointed": "mid:kill rename:kill",
}
# Somebody else saves, and the job lives on.
CHILDREN = {
    "plain": "mid:kill mid:late mid:exit mid:space",
    "buffered": "mid:exit",
    "renamed": "rename:kill",
    "mapped": "mid:late",
    "pair": "between:kill",
    "directory_renamed": "rename:late",
    "overwritten": "mid:kill",
}
# By the C program. Who builds it, what, and how it dies.
PROGRAMS = {
    "glibc": {"plain": "mid:kill", "buffered": "mid:kill mid:exit", "renamed": "rename:kill", "raw": "mid:kill rename:kill",
              "uring": "mid:kill rename:kill"},
    "glibc-static": {"plain": "mid:kill mid:late", "renamed": "mid:kill rename:kill"},
    "musl": {"plain": "mid:kill", "renamed": "rename:kill"},
    "musl-static": {"plain": "mid:kill", "renamed": "mid:kill"},
}
SPACED = {("plain", "whole"), ("plain", "mid:kill"), ("plain", "mid:late"), ("renamed", "whole"), ("renamed", "rename:kill"), ("mapped", "mid:late"),
          ("pair", "whole"), ("pair", "between:kill")}
COMPILERS = {"glibc": ["gcc"], "glibc-static": ["gcc", "-static"], "musl": ["musl-gcc"], "musl-static": ["musl-gcc", "-static"]}


class Row:
    """One of the table, seen one way."""

    def __init__(self, kind, ways, road="self", compiler=None, view="shim"):
        self.kind, self.ways, self.road, self.compiler, self.view = kind, ways, road, compiler, view

    @property
    def id(self):
        return "-".join(filter(None, (self.compiler, self.kind, self.ways.replace(":", "."), self.road, self.view)))

    @property
    def whole(self):
        return self.ways == "whole"

    @property
    def closed(self):
        """All of the save was written and closed before the death: its likeness to the save before may show that."""
        return self.kind == "pointed" and self.ways.startswith("rename")

    @property
    def unseen(self):
        """The one who saves is nobody's child that is waited for by us, and says nothing. Only who holds a file while it is looked for is
        found then, and only newer kernels tell how it ended."""
        speechless = self.view != "shim" or self.kind in ("raw", "uring") or "static" in (self.compiler or "")
        return self.road != "self" and speechless


def rows():
    table = [Row(kind, ways) for kinds in (FILES, SETS) for kind, deaths in kinds.items() for ways in ("whole", *deaths.split())]
    table += [Row(kind, ways, "child") for kind, deaths in CHILDREN.items() for ways in ("whole", *deaths.split())]
    table += [Row("plain", "mid:kill", "fork"), Row("renamed", "rename:kill", "fork")]
    table += [Row(kind, ways, road, compiler) for compiler, kinds in PROGRAMS.items() for kind, deaths in kinds.items()
              for road in ("self", "child") for ways in ("whole", *deaths.split())]
    for row in table:
        for view in (*VIEWS, *(["elsewhere"] if (row.kind, row.ways) in SPACED and row.road != "fork" and not row.compiler else [])):
            yield Row(row.kind, row.ways, row.road, row.compiler, view)


ROWS = list(rows())
SMALL = {"plain", "renamed", "mapped", "pair", "overwritten"}  # where a slow build shows what another does


def is_long(row):
    return row.kind not in SMALL or row.compiler or row.view == "off"


# --- one row ---

def found(directory):
    return {str(path.relative_to(directory)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            for path in Path(directory).rglob("*") if path.is_symlink() or path.is_file()}


def judge(row, directory):
    """The numbers of the saves that lie there whole, and the paths that belong to none of them."""
    files = found(directory)
    saves = {number: writers.parts(row.kind, number) for number in (1, 2, 3)}
    whole = [number for number, save in saves.items()
             if all(files.get(path) == data for path, data in save.items() if path != "latest")]
    if "latest" in files:  # names one of those
        whole_names = {saves[number]["latest"] for number in whole}
        assert files["latest"] in whole_names, "latest names what is not there"
    explained = {path for number in whole for path in saves[number]}
    return whole, sorted(path for path in set(files) - explained if not is_waiting(row, path, files))


def is_waiting(row, path, files):
    """Whole under its temporary name: that is nobody's checkpoint, and not torn either. Nor is a link that was to be renamed."""
    final = path.replace("tmp-", "step-") if path.startswith("tmp-") else path.removesuffix(".tmp")
    if final == path:
        return False
    return final == "latest" or any(writers.parts(row.kind, number).get(final) == files[path] for number in (1, 2, 3))


class Story:
    """A row that is being run."""

    def __init__(self, path, row, program):
        self.row, self.program = row, program
        self.place = Place(path)
        self.talk = path / "talk"
        self.talk.mkdir(parents=True)
        self.looked = {}

    def start(self):
        row = self.row
        road = "blind" if row.road == "child" and row.view == "blind" else row.road
        command = [PYTHON, HERE / "writers.py", "job", row.kind, row.ways, self.place.directory, self.talk, road]
        command += [self.program] if self.program else []
        if row.view == "blind" and row.road != "child":
            command = ["env", "-u", "LD_PRELOAD", *command]
        if row.view == "elsewhere":
            command = [*ELSEWHERE, *command]
        # Who is nobody's child of ours has to be found while it lives, also where everything is slow.
        environment = {"WRITERS_PAUSE": "0.8"} if row.unseen else {}
        return self.place.run(*command, **environment, options=("--quiet-time", "1s" if row.unseen else QUIET, *(("--shim", "off") if row.view == "off" else ())))

    def snapshots(self):
        """{id: judge()} of all so far."""
        for snapshot in self.place.snapshots():
            if snapshot["id"] not in self.looked:
                target = self.place.path / f"look{len(self.looked)}"
                result = self.place.verb("restore", snapshot["id"], target)
                assert result.code == 0, result
                self.looked[snapshot["id"]] = judge(self.row, target)
                shutil.rmtree(target)
        return self.looked

    def wait_until_kept(self, run, number):
        """Until a snapshot has that save whole, and nothing that belongs to no save."""
        seen = -1
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            durable = len(run.events("durable"))
            if durable != seen:
                seen = durable
                if any(number in whole and not rest for whole, rest in self.snapshots().values()):
                    return
            elif run.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"save {number} is in no snapshot: {self.looked}\n{run}")

    def next_attempt(self):
        """What the next start shows to the job."""
        seen = self.place.path / "seen"
        run = self.place.run("cp", "-a", self.place.directory, seen)
        assert run.wait() == 0, run
        return judge(self.row, seen)

    def go(self, number):
        (self.talk / str(number)).touch()

    def play(self):
        run = self.start()
        self.wait_until_kept(run, 1)
        self.go(2)
        if self.row.whole:
            self.play_whole(run)
        else:
            self.play_torn(run)

    def play_whole(self, run):
        if self.program and self.row.road == "self":
            assert run.wait() == 0, run
        self.wait_until_kept(run, 2)
        self.go(3)
        assert run.wait() == 0, run
        if self.row.kind in FILES:
            assert all(not rest for whole, rest in self.snapshots().values()), self.looked
        shutil.rmtree(self.place.directory)
        whole, rest = self.next_attempt()
        assert 2 in whole and not rest

    def play_torn(self, run):
        lives_on = self.row.road != "self" or self.row.ways.endswith("swallowed")
        if lives_on:
            self.wait_until_kept(run, 3)
            self.go(3)
        assert (run.wait() == 0) == lives_on, run
        for whole, rest in self.snapshots().values():
            assert (2 not in whole or self.row.closed) and not rest, f"torn: {whole} {rest}\n{run}"
        whole, rest = self.next_attempt()
        # Without the library nobody tells that it was open. What is as long as the save before stays, as a bare start would find it.
        unknown = self.row.view != "shim" and self.row.kind in ("mapped", "overwritten_in_place", "sparse")
        # What it overwrites is gone, so that the save before is what the store has.
        there = (3 if lives_on else 1) in whole or (unknown and self.row.kind == "overwritten_in_place")
        assert there and (2 not in whole or self.row.closed) and len(rest) <= unknown, f"next attempt: {whole} {rest}\n{run}"


# --- all rows ---

@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The C program by who built it, or why it is not there."""
    directory = tmp_path_factory.mktemp("writers")
    made = {}
    for name, command in COMPILERS.items():
        target = str(directory / name)
        if not shutil.which(command[0]):
            made[name] = (None, f"{command[0]} is not installed")
            continue
        # musl's compiler has no headers of the kernel.
        headers = ["-idirafter", "/usr/include", "-idirafter", f"/usr/include/{os.uname().machine}-linux-gnu"]
        result = subprocess.run([*command, "-O1", "-o", target, HERE / "writers.c", *(headers if "musl" in name else [])],
                                capture_output=True, text=True)
        made[name] = (target, None) if result.returncode == 0 else (None, result.stderr.strip()[-300:])
    return made


def run_row(path, row, programs):
    program, missing = programs[row.compiler] if row.compiler else (None, None)
    if row.compiler and not program:
        pytest.skip(missing)
    if row.kind == "uring" and subprocess.run([program, "uring", "whole", str(path.parent), "probe"]).returncode == 77:
        pytest.skip("the kernel refuses io_uring")
    if row.view == "elsewhere" and subprocess.run([*ELSEWHERE, "true"], capture_output=True).returncode != 0:
        pytest.skip("no PID namespaces here")
    if row.unseen and KERNEL < (6, 15):
        pytest.skip("this kernel does not tell how a process ended that is not our child")
    if row.kind == "raw" and not writers.SYS_OPENAT:
        pytest.skip("the numbers of this machine's system calls are not known here")
    story = Story(path, row, program)
    try:
        story.play()
    finally:
        story.place.end()
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def results(request, tmp_path_factory, programs):
    """What becomes of each row, by its name."""
    directory = tmp_path_factory.mktemp("rows")
    chosen = [item.callspec.params["row"] for item in request.session.items if "row" in getattr(item, "fixturenames", ())
              and hasattr(item, "callspec") and item.module.__name__ == __name__]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        futures = {row.id: pool.submit(run_row, directory / row.id, row, programs) for row in chosen}
        yield futures
        for future in futures.values():
            future.cancel()


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id, marks=[pytest.mark.long] if is_long(row) else []) for row in ROWS])
def test_what_is_torn_is_in_no_snapshot_and_what_is_whole_is(results, row):
    results[row.id].result()


@pytest.mark.parametrize("ways", ["mid:kill", "mid:exit", "mid:space"])
def test_what_was_torn_while_the_supervisor_was_not_running(tmp_path, ways):
    """How the child ended, the kernel tells nobody any more by then."""
    story = Story(tmp_path, Row("plain", ways, "child"), None)
    try:
        run = story.start()
        story.wait_until_kept(run, 1)
        run.signal(signal.SIGSTOP)
        story.go(2)
        run.wait_for_output("died")
        run.signal(signal.SIGCONT)
        story.wait_until_kept(run, 3)
        story.go(3)
        assert run.wait() == 0, run
        assert all(2 not in whole and not rest for whole, rest in story.snapshots().values()), run
    finally:
        story.place.end()
