"""Small jobs, one for each way in which checkpoints are laid out. They know nothing of Reprieve.

layouts.py LAYOUT DIRECTORY                          says what a start resumes from, and ends
layouts.py LAYOUT DIRECTORY SAVE INSTANT GATES       trains up to an instant of a save, says "at", and waits there

The first line is "resumed STEP", 0 from scratch, or "resumed -1": the job cannot load what lies there, or has loaded halves of two
saves. An instant is a place between two operations of a save, so that two runs are stopped in the same state. Before each save the
file GATES/SAVE has to be there; with GATES/release the job goes on from the instant to the end of that save.
"""
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path

RECORDS = 2000


class Torn(Exception):
    pass


def body(step):
    return b"%011d\n" % step * RECORDS


def read(path):
    """The step that a file holds."""
    content = path.read_bytes() if path.exists() else b""
    if len(content) != len(body(0)) or content != body(int(content[:11])):
        raise Torn(path)
    return int(content[:11])


def read_all(paths):
    steps = {read(path) for path in paths}
    if len(steps) != 1:
        raise Torn(f"of two saves: {steps}")
    return steps.pop()


def write(path, step):
    """In place, with an instant after each operation."""
    with open(path, "wb", buffering=0) as file:
        yield f"{path.name} is open"
        file.write(body(step)[:5000])
        yield f"{path.name} is half written"
        file.write(body(step)[5000:])
    yield f"{path.name} is closed"


def write_beside(path, step):
    """Under a temporary name, then renamed."""
    yield from write(path.with_name(path.name + ".tmp"), step)
    os.replace(path.with_name(path.name + ".tmp"), path)
    yield f"{path.name} is in place"


def numbered(directory, pattern):
    """The paths of a pattern, by their numbers."""
    found = [path for path in directory.iterdir() if re.fullmatch(pattern, path.name)]
    return sorted(found, key=lambda path: int(re.findall(r"\d+", path.name)[0]))


class Layout:
    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def begin(self, step):
        """After the load: what is open for as long as the job lives."""

    def train(self, step):
        pass


class NumberedFiles(Layout):
    def load(self):
        files = numbered(self.directory, r"step-\d+\.bin")
        return read(files[-1]) if files else 0

    def save(self, step):
        yield from write(self.directory / f"step-{step}.bin", step)
        for old in numbered(self.directory, r"step-\d+\.bin")[:-2]:
            old.unlink()
            yield f"{old.name} is removed"


class NumberedPairs(Layout):
    """The number counts once both files are there."""

    def load(self):
        models, optims = (numbered(self.directory, rf"{name}-\d+\.bin") for name in ("model", "optim"))
        return read_all([models[-1], optims[-1]]) if models and optims else 0

    def save(self, step):
        for name in ("model", "optim"):
            yield from write(self.directory / f"{name}-{step}.bin", step)


class NumberedDirectories(Layout):
    NAMES = ("model.bin", "optim.bin", "state.bin")

    def load(self):
        found = numbered(self.directory, r"checkpoint-\d+")
        return read_all([found[-1] / name for name in self.NAMES]) if found else 0

    def save(self, step):
        place = self.directory / f"checkpoint-{step}"
        place.mkdir(exist_ok=True)
        yield f"{place.name} is made"
        for name in self.NAMES:
            yield from write(place / name, step)
        for old in numbered(self.directory, r"checkpoint-\d+")[:-2]:
            shutil.rmtree(old)
            yield f"{old.name} is removed"


class FixedByRename(Layout):
    def load(self):
        path = self.directory / "last.bin"
        return read(path) if path.exists() else 0

    def save(self, step):
        yield from write_beside(self.directory / "last.bin", step)


class FixedInPlace(FixedByRename):
    def save(self, step):
        yield from write(self.directory / "last.bin", step)


class FixedPair(Layout):
    NAMES = ("model.bin", "optim.bin")

    def load(self):
        paths = [self.directory / name for name in self.NAMES]
        return read_all(paths) if any(path.exists() for path in paths) else 0

    def save(self, step):
        for name in self.NAMES:
            yield from write(self.directory / name, step)


class TwoInTurn(Layout):
    """Two restart files, of which the older one is written over: the job takes the newest that is whole."""

    def load(self):
        steps = [0]
        for path in self.directory.glob("restart.?"):
            try:
                steps.append(read(path))
            except Torn:
                pass
        return max(steps)

    def save(self, step):
        yield from write(self.directory / f"restart.{'ab'[step % 2]}", step)


class ArchivesInTurn(Layout):
    """The same, of a format that says where it ends."""

    def load(self):
        steps = [0]
        for path in self.directory.glob("?.npz"):
            try:
                with zipfile.ZipFile(path) as archive:
                    steps.append(int(archive.read("step")))
            except zipfile.BadZipFile:
                pass
        return max(steps)

    def save(self, step):
        path, content = self.directory / f"{'ab'[step % 2]}.npz", io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("step", b"%011d" % step)
            archive.writestr("weights", body(step))
        with open(path, "wb", buffering=0) as file:
            yield f"{path.name} is open"
            file.write(content.getvalue()[:5000])
            yield f"{path.name} is half written"
            file.write(content.getvalue()[5000:])
        yield f"{path.name} is closed"


class FewerLater(Layout):
    """The first directory alone has a third file; the job takes the newest directory that has the two."""

    def load(self):
        for place in reversed(numbered(self.directory, r"step-\d+")):
            try:
                return read_all([place / "a.bin", place / "b.bin"])
            except Torn:
                pass
        return 0

    def save(self, step):
        place = self.directory / f"step-{step}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for name in "abc" if step == 1 else "ab":
            yield from write(place / f"{name}.bin", step)


class DirectoryAndPointer(Layout):
    """A directory that is renamed into place, and then a pointer that names it."""

    def load(self):
        pointer = self.directory / "latest"
        if not pointer.exists():
            return 0
        place = self.directory / pointer.read_text()
        return read_all([place / "model.bin", place / "optim.bin"])

    def save(self, step):
        beside, place = self.directory / f"tmp-step-{step}", self.directory / f"step-{step}"
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        beside.mkdir()
        for name in ("model.bin", "optim.bin"):
            yield from write(beside / name, step)
        beside.rename(place)
        yield f"{place.name} is in place"
        (self.directory / "latest.tmp").write_text(place.name)
        os.replace(self.directory / "latest.tmp", self.directory / "latest")
        yield "the pointer names it"


class LinkedDirectory(NumberedFiles):
    """The job makes its directory as a link to where there is room."""

    def __init__(self, directory):
        room = directory.with_name(directory.name + "-room")
        room.mkdir(parents=True, exist_ok=True)
        if not directory.exists():
            directory.symlink_to(room)
        super().__init__(directory)


class ReplacedDirectory(FixedPair):
    """The whole directory is written anew beside the old one, and takes its place."""

    def load(self):
        old = self.directory.with_name(self.directory.name + ".old")
        if not (self.directory / "optim.bin").exists() and old.exists():
            return read_all([old / name for name in self.NAMES])
        return super().load()

    def save(self, step):
        beside, old = (self.directory.with_name(self.directory.name + end) for end in (".new", ".old"))
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
        beside.mkdir()
        for name in self.NAMES:
            yield from write(beside / name, step)
        self.directory.rename(old)
        yield "the old one is moved away"
        beside.rename(self.directory)
        yield "the new one is in place"


class WithOutputs(Layout):
    """A simulation: outputs that are open from the start and only grow, and checkpoints that hold their sizes."""
    OUTPUTS = ("traj.dat", "energy.dat", "run.log")

    def load(self):
        files = numbered(self.directory, r"state-\d+\.bin")
        if not files:
            return 0
        step = read(files[-1])
        for name in self.OUTPUTS:
            path = self.directory / name
            if not path.exists() or path.stat().st_size < step * 1000:
                raise Torn(path)
        return step

    def begin(self, step):
        self.files = []
        for name in self.OUTPUTS:
            path = self.directory / name
            self.files.append(open(path, "r+b" if step and path.exists() else "w+b", buffering=0))
            self.files[-1].truncate(step * 1000)
            self.files[-1].seek(step * 1000)
        time.sleep(1.5)  # a file is known as an output if it was open for the quiet time before the save began

    def train(self, step):
        for file in self.files:
            file.write(b"%d" % (step % 10) * 1000)

    def save(self, step):
        yield from write_beside(self.directory / f"state-{step}.bin", step)


class Journal(Layout):
    """One file, open for as long as the job lives, is all that there is; half a line at its end is passed over, as Optuna does."""
    NAME = "journal.log"

    def load(self):
        path = self.directory / self.NAME
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return sum(line == b"%011d\n" % step for step, line in enumerate(lines, 1))

    def begin(self, step):
        self.file = open(self.directory / self.NAME, "r+b" if step else "w+b", buffering=0)
        self.file.truncate(12 * step)
        self.file.seek(12 * step)

    def save(self, step):
        self.file.write(b"%05d" % 0)
        yield "half of a line is written"
        self.file.write(b"%06d\n" % step)
        yield "the line is whole"


class Trajectory(Journal):
    """The same under a name that says nothing, as of a molecule's path."""
    NAME = "md.traj"

    def begin(self, step):
        super().begin(step)
        time.sleep(1.1)  # what grows for less than a second may be half of a save


class AsynchronousLink(Layout):
    """Lightning with AsyncCheckpointIO and save_last="link": the link is set and the old checkpoint removed before the new one is written."""

    def load(self):
        link = self.directory / "last.ckpt"
        return read(link) if link.exists() else 0

    def save(self, step):
        link, path = self.directory / "last.ckpt", self.directory / f"step={step}.ckpt"
        link.unlink(missing_ok=True)
        link.symlink_to(path.name)
        yield "the link names it"
        for old in numbered(self.directory, r"step=\d+\.ckpt"):
            old.unlink()
            yield f"{old.name} is removed"
        yield from write_beside(path, step)


class SparseArrays(Layout):
    """zarr: chunks of zeros are left out, so that a save has fewer and fewer files."""

    def load(self):
        found = numbered(self.directory, r"step-\d+\.zarr")
        if not found:
            return 0
        step = read(found[-1] / "zarr.json")
        read_all([found[-1] / f"c{chunk}" for chunk in range(5 - step)])
        return step

    def save(self, step):
        place = self.directory / f"step-{step}.zarr"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        yield from write(place / "zarr.json", step)
        for chunk in range(5 - step):
            yield from write(place / f"c{chunk}", step)


class ManagerFile(Layout):
    """Ray Train: a directory for each report, and then the manager's file, which alone names the newest."""

    def load(self):
        manager = self.directory / "checkpoint_manager_snapshot.json"
        if not manager.exists():
            return 0
        return read(self.directory / json.loads(manager.read_text())["newest"] / "model.bin")

    def save(self, step):
        place = self.directory / f"checkpoint_2026-11-29_14-00-{step:02}.{step:06}"
        place.mkdir(exist_ok=True)
        yield from write(place / "model.bin", step)
        with open(self.directory / "checkpoint_manager_snapshot.json", "w") as file:
            yield "the manager's file is empty"
            json.dump({"newest": place.name}, file)
        yield "the pointer names it"


LAYOUTS = {
    "numbered-files": NumberedFiles, "numbered-pairs": NumberedPairs, "numbered-directories": NumberedDirectories,
    "fixed-by-rename": FixedByRename, "fixed-in-place": FixedInPlace, "fixed-pair": FixedPair, "two-in-turn": TwoInTurn,
    "directory-and-pointer": DirectoryAndPointer, "linked-directory": LinkedDirectory,
    "replaced-directory": ReplacedDirectory, "with-outputs": WithOutputs, "journal": Journal,
    "trajectory": Trajectory, "archives-in-turn": ArchivesInTurn, "fewer-later": FewerLater,
    "asynchronous-link": AsynchronousLink, "sparse-arrays": SparseArrays, "manager-file": ManagerFile,
}


def resumed(name, directory):
    """-1: nothing that it can load, or halves of two saves."""
    try:
        return LAYOUTS[name](Path(directory)).load()
    except (Torn, ValueError, OSError):
        return -1


def instants(name, save):
    """What has just been done at each instant of a save; 0 is before it."""
    with tempfile.TemporaryDirectory() as directory:
        layout, done = LAYOUTS[name](Path(directory) / "checkpoints"), []
        layout.begin(0)
        for step in range(1, save + 1):
            layout.train(step)
            done = ["nothing of it is written", *layout.save(step)]
        return done


def wait_for_file(path):
    while not os.path.exists(path):
        time.sleep(0.005)


def main(name, directory, save=None, instant=None, gates=None):
    step = resumed(name, directory)
    print("resumed", step, flush=True)
    if save is None or step < 0:
        return
    layout = LAYOUTS[name](Path(directory))
    layout.begin(step)
    for step in range(step + 1, int(save) + 1):
        wait_for_file(f"{gates}/{step}")
        layout.train(step)
        operations = layout.save(step)
        if step == int(save):
            for _ in range(int(instant)):
                next(operations)
            print("at", flush=True)
            wait_for_file(f"{gates}/release")
        for _ in operations:
            pass
        print("saved", step, flush=True)
    time.sleep(1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
