#!/usr/bin/env python3
"""A job that saves as real programs save, and that can be made to die at a given place of a save. test_writers.py has the table.

writers.py job KIND WAYS DIRECTORY TALK ROAD [PROGRAM]
    Saves number 1 whole, waits until TALK/2 exists, saves number 2 and dies in it as WAYS says ("whole": not at all), waits for TALK/3.
    ROAD says who saves: "self" the job; "child" a child of it, "blind" a child without LD_PRELOAD, "fork" a forked one, while the job
    itself lives, and saves number 3 whole. PROGRAM: the C program that saves in the job's stead.
writers.py save KIND WAYS DIRECTORY NUMBER
    One save.

WAYS is PLACE:HOW, the place "mid" (half of a file is written), "between" (two files) or "rename" (just before the name is given), how "kill",
"late" (killed after twice the quiet time), "abort", "exit" (code 3, nothing is closed or flushed) or "space" (the file may not grow). WRITERS_PAUSE: seconds that each "mid" takes.
"""
import ctypes
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

SIZE = 200_000
LATE = 1.2 + 2 * float(os.environ.get("WRITERS_PAUSE", 0))  # more than twice the quiet time
SYS_OPENAT, SYS_RENAMEAT2, SYS_WRITE = {"x86_64": (257, 316, 1), "aarch64": (56, 276, 64)}.get(os.uname().machine, (None,) * 3)


def content(name, number):
    line = f"{name} of save {number}, and nothing of any other\n".encode()
    return (line * (SIZE // len(line) + 1))[:SIZE]


def zipped(number):
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(zipfile.ZipInfo("weights"), content("weights", number))
        file.seek(0)
        return file.read()


def link_descriptor(file, name):
    """Follows the link only if told where it is relative to."""
    root = os.open("/", os.O_RDONLY)
    os.link(f"/proc/self/fd/{file}", name, src_dir_fd=root, follow_symlinks=True)
    os.close(root)


class Writer:
    """One save into `directory`; `at` is called at each place where it may die."""

    def __init__(self, directory, number, at=lambda place: None):
        self.directory, self.number, self.at = Path(directory), number, at

    def name(self, form):
        return self.directory / form.format(self.number)

    def put(self, path, data, mode="wb"):
        """Open, write, close."""
        with open(path, mode, buffering=0) as file:
            self.halves(file, data)

    def halves(self, file, data):
        file.write(data[:SIZE // 2])
        self.at("mid")
        file.write(data[SIZE // 2:])

    def data(self, name="data"):
        return content(name, self.number)

    # --- what they write is what `parts` says ---

    def plain(self):
        self.put(self.name("step-{}.bin"), self.data())

    def buffered(self):
        """What the buffer holds at the end is written by close, or never."""
        file = open(self.name("step-{}.bin"), "wb", buffering=SIZE * 2)
        self.halves(file, self.data())
        file.close()

    def renamed(self):
        self.put(self.name("step-{}.bin.tmp"), self.data())
        self.at("rename")
        os.replace(self.name("step-{}.bin.tmp"), self.name("step-{}.bin"))

    def tmpfile(self):
        file = os.open(self.directory, os.O_TMPFILE | os.O_WRONLY, 0o644)
        os.write(file, self.data()[:SIZE // 2])
        self.at("mid")
        os.write(file, self.data()[SIZE // 2:])
        self.at("rename")
        link_descriptor(file, self.name("step-{}.bin"))
        os.close(file)

    def linked_early(self):
        """The name is there before the content is."""
        file = os.open(self.directory, os.O_TMPFILE | os.O_WRONLY, 0o644)
        os.write(file, self.data()[:SIZE // 2])
        link_descriptor(file, self.name("step-{}.bin"))
        self.at("mid")
        os.write(file, self.data()[SIZE // 2:])
        os.close(file)

    def mapped(self):
        """Stores after the descriptor is closed: no system call tells of them."""
        data = self.data()
        file = os.open(self.name("step-{}.bin"), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.ftruncate(file, SIZE)
        view = mmap.mmap(file, SIZE)
        os.close(file)
        view[:SIZE // 2] = data[:SIZE // 2]
        view.flush()
        self.at("mid")
        view[SIZE // 2:] = data[SIZE // 2:]
        view.close()

    def duplicated(self):
        file = os.open(self.name("step-{}.bin"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        other = os.dup(file)
        os.write(file, self.data()[:SIZE // 2])
        os.close(file)
        self.at("mid")
        os.write(other, self.data()[SIZE // 2:])
        os.close(other)

    def inherited(self):
        """A forked child writes what is left through what it inherited, when its parent has closed it."""
        file = os.open(self.name("step-{}.bin"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(file, self.data()[:SIZE // 4])
        child = os.fork()
        if child == 0:
            time.sleep(0.1)
            os.write(file, self.data()[SIZE // 4:SIZE // 2])
            self.at("mid")
            time.sleep(LATE)
            os.write(file, self.data()[SIZE // 2:])
            os.close(file)
            os._exit(0)
        os.close(file)
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError("the child died")

    def directory_renamed(self):
        os.mkdir(self.name("tmp-{}"))
        for name in ("data", "index"):
            self.put(self.name("tmp-{}") / name, self.data(name))
            if name == "data":
                self.at("between")
        self.at("rename")
        os.rename(self.name("tmp-{}"), self.name("step-{}"))

    def overwritten(self):
        self.put(self.directory / "last.bin", self.data())

    def overwritten_in_place(self):
        """Not even cut off first."""
        path = self.directory / "last.bin"
        self.put(path, self.data(), "r+b" if path.exists() else "wb")

    def shortened(self):
        """By name, for which the kernel tells of no close."""
        self.put(self.name("step-{}.bin"), self.data() + b"too much")
        os.truncate(self.name("step-{}.bin"), SIZE)

    def pair(self):
        self.put(self.name("step-{}.data"), self.data())
        self.at("between")
        self.put(self.name("step-{}.index"), self.data("index"))

    def nested(self):
        for name in ("a/b/c/data", "a/b/d/data", "e/data"):
            path = self.name("step-{}") / name
            path.parent.mkdir(parents=True)
            self.put(path, self.data(name))
            if name[0] == "a":
                self.at("between")

    def sparse(self):
        data = self.data()
        file = os.open(self.name("step-{}.bin"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.ftruncate(file, SIZE)
        os.pwrite(file, data[SIZE // 2:], SIZE // 2)
        self.at("mid")
        os.pwrite(file, data[:SIZE // 2], 0)
        os.close(file)

    def appended(self):
        path = self.name("step-{}.bin")
        for part in range(4):
            with open(path, "ab", buffering=0) as file:
                file.write(self.data()[part * SIZE // 4:(part + 1) * SIZE // 4])
            time.sleep(0.02)
            if part == 2:
                self.at("between")

    def pointed(self):
        self.put(self.name("step-{}.bin"), self.data())
        os.symlink(f"step-{self.number}.bin", self.directory / "latest.tmp")
        self.at("rename")
        os.replace(self.directory / "latest.tmp", self.directory / "latest")

    def many(self):
        os.mkdir(self.name("step-{}"))
        for shard in range(5):
            self.put(self.name("step-{}") / f"shard-{shard}", self.data(f"shard {shard}"))
            time.sleep(0.02)
            if shard == 3:
                self.at("between")

    def zip(self):
        """Cut off by a full disk, and the job goes on."""
        data = zipped(self.number)
        with open(self.name("step-{}.pt"), "wb", buffering=0) as file:
            self.halves(file, data)

    def raw(self):
        """By system calls that no library sees."""
        libc = ctypes.CDLL(None, use_errno=True)
        final, temporary = (os.fsencode(self.name(f"step-{{}}.bin{end}")) for end in ("", ".tmp"))
        file = libc.syscall(SYS_OPENAT, -100, temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        data = self.data()
        libc.syscall(SYS_WRITE, file, data, SIZE // 2)
        self.at("mid")
        libc.syscall(SYS_WRITE, file, data[SIZE // 2:], SIZE - SIZE // 2)
        os.close(file)
        self.at("rename")
        libc.syscall(SYS_RENAMEAT2, -100, temporary, -100, final, 0)


def parts(kind, number):
    """What a whole save consists of: {path: bytes}."""
    one = content("data", number)
    if kind in ("overwritten", "overwritten_in_place"):
        return {"last.bin": one}
    if kind == "directory_renamed":
        return {f"step-{number}/data": one, f"step-{number}/index": content("index", number)}
    if kind == "pair":
        return {f"step-{number}.data": one, f"step-{number}.index": content("index", number)}
    if kind == "nested":
        return {f"step-{number}/{name}": content(name, number) for name in ("a/b/c/data", "a/b/d/data", "e/data")}
    if kind == "many":
        return {f"step-{number}/shard-{shard}": content(f"shard {shard}", number) for shard in range(5)}
    if kind == "pointed":
        return {f"step-{number}.bin": one, "latest": f"step-{number}.bin".encode()}
    if kind == "zip":
        return {f"step-{number}.pt": zipped(number)}
    return {f"step-{number}.bin": one}


# --- dying ---

def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def die(how):
    sys.stdout.flush()
    if how == "late":
        time.sleep(LATE)
    if how in ("kill", "late"):
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    os._exit(3)


def save(kind, ways, directory, number):
    place, _, how = ways.partition(":")
    pause = float(os.environ.get("WRITERS_PAUSE", 0))

    def at(here):
        if here == "mid":
            time.sleep(pause)
        if here == place and how != "space":
            die(how)

    if how == "space":
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, resource.RLIM_INFINITY))
    getattr(Writer(directory, number, at), kind)()


# --- the job ---

def save_by(road, kind, ways, directory, number, program):
    if road == "fork":
        child = os.fork()
        if child == 0:
            save(kind, ways, directory, number)
            os._exit(0)
        return os.waitpid(child, 0)[1]
    command = [program] if program else [sys.executable, __file__, "save"]
    environment = {name: value for name, value in os.environ.items() if road != "blind" or name != "LD_PRELOAD"}
    return subprocess.run([*command, kind, ways, directory, str(number)], env=environment).returncode


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)


def job(kind, ways, directory, talk, road, program=None):
    if road == "self" and not program:
        save(kind, "whole", directory, 1)
    else:
        assert save_by("child" if road == "self" else road, kind, "whole", directory, 1, program) == 0
    print("saved 1", flush=True)
    wait_for(f"{talk}/2")
    if road == "self" and program:
        os.execv(program, [program, kind, ways, directory, "2"])
    if road == "self" and ways.endswith("swallowed"):
        try:
            save(kind, ways.replace("-swallowed", ""), directory, 2)
        except OSError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    elif road == "self":
        save(kind, ways, directory, 2)
    else:
        code = save_by(road, kind, ways, directory, 2, program)
        assert (code == 0) == (ways == "whole"), code
    print("saved 2" if ways == "whole" else "died", flush=True)
    if ways != "whole":
        time.sleep(LATE)  # time to take what is left for a checkpoint
        if road == "self":
            save(kind, "whole", directory, 3)
        else:
            assert save_by(road, kind, "whole", directory, 3, program) == 0
    wait_for(f"{talk}/3")


if __name__ == "__main__":
    no_core()
    Path(sys.argv[4]).mkdir(exist_ok=True)
    if sys.argv[1] == "job":
        job(*sys.argv[2:])
    else:
        save(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
