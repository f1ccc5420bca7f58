#!/usr/bin/python3
"""A job of several writers that know nothing of each other, drawn by a seed: interleaving.py DIRECTORY LEDGER PLAN

The plan (JSON) is a list of writers; make_plan() draws it. Each writer is a process that saves again and again, in one of these layouts:

    files         ckpt-N.bin, one file each time, or several: ckpt-N.a.bin, ckpt-N.b.bin
    directories   step-N/, with one file or several
    siblings      part_a/ckpt-N.bin, and part_b/ckpt-N.bin: one save in several directories
    fixed         last.bin, or last.a.bin and last.b.bin: the same names each time
    table         metrics.csv, a line every 30 ms: no checkpoint, but what runs beside them

The first writer does so in DIRECTORY itself, the others in run-W/, because files of one directory and one number are one checkpoint,
whoever writes them; and as all fixed names are, one writer at most has those. They write in place or by a temporary name and a rename,
from beside the file or from outside of the directory, and some keep only the newest. Some kill themselves in the middle of a file, between two, or while nothing is written.

Every file says which save of which writer it is, how many files that has, and how long it is; so a copy of the directory tells by itself
whether it holds a part of a checkpoint. The ledger has what each writer has done, and when.
"""
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from pathlib import Path

PIECES = 4  # in which a file is written
FIRST = "w0"


def make_plan(seed):
    draw = random.Random(seed)
    writers = []
    for number in range(draw.randint(1, 4)):
        layout = draw.choice(["files", "files", "directories", "directories", "siblings", "fixed"])
        if layout == "fixed" and any(writer["layout"] == layout for writer in writers):
            layout = "files"
        saves = draw.randint(3, 12)
        writer = {
            "name": f"w{number}", "layout": layout, "files": draw.choice([1, 1, 2, 3]),
            "renames": draw.choice(["", "", "", "beside", "beside", "outside"]),
            "saves": saves, "size": draw.choice([100, 5000, 200000]), "begins": draw.uniform(0, 0.5),
            "piece": draw.choice([0, 0, 0.01, 0.05]),  # seconds for each piece of a file
            "pause": draw.choice([0.02, 0.1, 0.4, 0.4, 1.5]),  # seconds between two saves
            "keeps": draw.choice([0, 0, 2, 3]) if layout != "fixed" else 0, "code": draw.choice([0, 0, 0, 1]), "dies": None,
        }
        if draw.random() < 0.4:  # not in its first two, from which it is known what belongs to a save
            writer["dies"] = [draw.randint(3, saves), draw.randrange(writer["files"]), draw.choice(["middle", "before", "idle"])]
        writers.append(writer)
    if draw.random() < 0.6:
        writers.append({"name": "table", "layout": "table", "begins": 0, "reopens": draw.random() < 0.5})
    return {"writers": writers, "code": draw.choice([0, 0, 0, 7]), "lingers": draw.choice([0, 0, 0.5, 3])}


class Ledger:
    def __init__(self, path, writer):
        self.file, self.writer = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), writer

    def add(self, what, **more):
        entry = {"writer": self.writer, "what": what, "at": time.monotonic(), **more}
        os.write(self.file, (json.dumps(entry) + "\n").encode())


def content(writer, save, index):
    head = f"{writer['name']} save {save} file {index} of {writer['files']} size {writer['size']}\n"
    return (head + "x" * (writer["size"] - len(head) - 4)).encode()[:writer["size"] - 4] + b"\nend"


def paths(directory, writer, save):
    name, count = writer["name"], writer["files"]
    home = directory if name == FIRST else directory / f"run-{name}"
    if writer["layout"] == "directories":
        return [home / f"step-{save}" / f"part_{'abc'[index]}.bin" for index in range(count)]
    if writer["layout"] == "siblings":
        return [home / f"part_{'abc'[index]}" / f"ckpt-{save}.bin" for index in range(count)]
    stem = "last" if writer["layout"] == "fixed" else f"ckpt-{save}"
    return [home / (f"{stem}.bin" if count == 1 else f"{stem}.{'abc'[index]}.bin") for index in range(count)]


def write_file(path, data, writer, opened, dies):
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.with_name(path.name + ".tmp") if writer["renames"] == "beside" else path
    if writer["renames"] == "outside":
        target = Path(os.environ["REPRIEVE_CHECKPOINT_DIR"] + f".{writer['name']}-{os.getpid()}")
    with open(target, "wb", buffering=0) as file:
        opened()
        for piece in range(PIECES):
            file.write(data[len(data) * piece // PIECES:len(data) * (piece + 1) // PIECES])
            time.sleep(writer["piece"])
            if dies and piece == PIECES // 2 - 1:
                dies()
    if writer["renames"]:
        os.replace(target, path)


def forget_old(directory, writer, save):
    old = save - writer["keeps"]
    if writer["keeps"] and old > 0:
        for path in paths(directory, writer, old):
            path.unlink()
        if writer["layout"] == "directories":
            shutil.rmtree(path.parent)


def save_again_and_again(directory, writer, ledger):
    for save in range(1, writer["saves"] + 1):
        dies_at, dies_in, way = writer["dies"] or (0, 0, "")

        def die():
            ledger.add("dies", save=save)
            os.kill(os.getpid(), signal.SIGKILL)

        def opened():
            ledger.add("opened", save=save)

        for index, path in enumerate(paths(directory, writer, save)):
            here = save == dies_at and index == dies_in
            if here and way == "before":
                die()
            write_file(path, content(writer, save, index), writer, opened, die if here and way == "middle" else None)
            ledger.add("closed", save=save)
        ledger.add("whole", save=save)
        forget_old(directory, writer, save)
        time.sleep(writer["pause"])
        if save == dies_at and way == "idle":
            die()
    return writer["code"]


def append_lines(directory, writer, ledger):
    path, line = directory / "metrics.csv", 0
    directory.mkdir(parents=True, exist_ok=True)
    file = open(path, "ab", buffering=0)
    while True:
        line += 1
        if writer["reopens"] and line % 8 == 0:
            file.close()
            file = open(path, "ab", buffering=0)
        file.write(b"%d,0.5\n" % line)
        if line == 1:
            ledger.add("closed", save=1)
        time.sleep(0.03)


def start(directory, ledger_path, writer):
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        ledger = Ledger(ledger_path, writer["name"])
        time.sleep(writer["begins"])
        code = append_lines(directory, writer, ledger) if writer["layout"] == "table" else save_again_and_again(directory, writer, ledger)
        ledger.add("ends")
    finally:
        os._exit(code)


def main():
    directory, ledger_path, plan = Path(sys.argv[1]), sys.argv[2], json.loads(Path(sys.argv[3]).read_text())
    tables = [start(directory, ledger_path, writer) for writer in plan["writers"] if writer["layout"] == "table"]
    savers = [start(directory, ledger_path, writer) for writer in plan["writers"] if writer["layout"] != "table"]
    for pid in savers:
        os.waitpid(pid, 0)
    time.sleep(plan["lingers"])
    for pid in tables:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    sys.exit(plan["code"])


# --- judging a copy of the directory ---

FILE = re.compile(rb"(\w+) save (\d+) file (\d+) of (\d+) size (\d+)\n")


def read_file(path):
    """(writer, save, index, count), or why it is no whole file."""
    data = path.read_bytes()
    found = FILE.match(data)
    if not found or len(data) != int(found.group(5)) or not data.endswith(b"\nend"):
        return f"{path.name} is torn: {len(data)} bytes, {data[:60]!r}"
    return (found.group(1).decode(), *map(int, found.groups()[1:4]))


def read_copy(directory, plan):
    """({writer: newest whole save}, {(writer, save): why it is a part}, lines of the table). Temporary names are nobody's checkpoint."""
    layouts = {writer["name"]: writer for writer in plan["writers"]}
    groups, wrong, lines = {}, {}, 0
    for path in sorted(Path(directory).rglob("*")):
        if path.suffix == ".csv":
            numbers = path.read_bytes().split(b"\n")
            lines = len(numbers) - 1
            if numbers != [*(b"%d,0.5" % line for line in range(1, lines + 1)), b""]:
                wrong["table", 1] = f"{path.name} has {numbers[:2]}...{numbers[-3:]}"
        elif path.suffix == ".bin":
            relative = str(path.relative_to(directory))
            name, number = re.match(r"run-(w\d+)", relative), re.search(r"(?:step|ckpt)-(\d+)", relative)
            name = name.group(1) if name else FIRST
            groups.setdefault((name, int(number.group(1)) if number else 0), []).append(read_file(path))
    newest = {}
    for (name, number), files in groups.items():
        torn = [file for file in files if isinstance(file, str)]
        saves = {file[1] for file in files if not isinstance(file, str)}
        save = max(saves, default=number)
        if torn or len(saves) != 1 or len(files) != layouts[name]["files"] or (number and save != number):
            wrong[name, save] = f"{name}, {number or 'fixed names'}: {files}"
        else:
            newest[name] = max(save, newest.get(name, 0))
    return newest, wrong, lines


if __name__ == "__main__":
    main()
