"""A simulated directory, and the processes that write into it. Times are in ms; a state is the number of the save that wrote it."""
import heapq
import itertools
import random
import zlib

FOREVER = 1 << 40
SAVES = 7  # of a job, unless it says otherwise


class Inode:
    """`content`: a state, a text, ("rows", so many), or None: nothing yet; `whole`: all of it was written."""
    __slots__ = ("content", "whole", "version", "kind", "size", "written", "number", "born")
    numbers = itertools.count(1)

    def __init__(self, kind="file", content=None):
        self.content, self.whole, self.version, self.kind, self.size, self.written = content, kind == "link", 0, kind, 0, 0
        self.number, self.born = next(Inode.numbers), 0


class World:
    def __init__(self, seed, sizes=0.01):
        self.random, self.sizes = random.Random(seed), sizes
        self.now, self.files, self.directories = 0, {}, set()
        self.queue, self.order, self.threads, self.open_files = [], itertools.count(), {}, {}
        self.done, self.resumed, self.rows_of, self.failed, self.on_term, self.events = [], 0, {}, False, None, 0
        self.observer, self.before, self.after = None, lambda event: None, lambda: None

    # --- threads: generators that yield how long they do something else
    def spawn(self, pid, generator, beside=False):
        """`beside`: it ends with the others."""
        thread = [pid, generator, beside]
        self.threads[id(thread)] = thread
        heapq.heappush(self.queue, (self.now, next(self.order), thread))
        return thread

    def lives(self, thread):
        return id(thread) in self.threads

    def pids(self):
        return sorted({pid for pid, *_ in self.threads.values()})

    def works(self):
        return any(not beside for *_, beside in self.threads.values())

    def run(self, until, stop=lambda: False, tick=lambda: None):
        while self.queue and self.queue[0][0] <= until and not stop():
            when, _, thread = heapq.heappop(self.queue)
            if not self.lives(thread):
                continue
            if self.observer:
                self.observer.run_until(when)
            self.now = max(self.now, when)
            tick()
            try:
                heapq.heappush(self.queue, (self.now + next(thread[1]), next(self.order), thread))
            except StopIteration:
                self.end_thread(thread)
        if not stop() and until < FOREVER:
            if self.observer:
                self.observer.run_until(until)
            self.now = max(self.now, until)

    def end_thread(self, thread):
        del self.threads[id(thread)]
        if not thread[2] and not self.works():
            for other in list(self.threads.values()):
                del self.threads[id(other)]
        if thread[0] not in self.pids():
            self.exit(thread[0])

    # --- what a process does; each step is told
    def tell(self, *event, instant=True):
        """`instant`: all may be killed right after it. Not so of a last write, which the close that follows at once brings about."""
        self.events += instant
        if instant:
            self.before(event)
        if self.observer:
            self.observer.event(self.now, *event)
        if instant:
            self.after()

    def size_of(self, path):
        base = 2000 + zlib.crc32(path.rsplit("/", 1)[-1].translate(str.maketrans("", "", "0123456789")).encode()) % 200000
        return int(base * (1 + self.random.uniform(-self.sizes, self.sizes)))

    def make_directories(self, path):
        parts = path.split("/")[:-1]
        for i in range(1, len(parts) + 1):
            if "/".join(parts[:i]) not in self.directories:
                self.directories.add("/".join(parts[:i]))
                self.tell("mkdir", "/".join(parts[:i]))

    def resolve(self, path):
        for _ in range(3):
            if path in self.files and self.files[path].kind == "link":
                path = (path.rsplit("/", 1)[0] + "/" if "/" in path else "") + self.files[path].content
        return path

    def touch(self, inode):
        inode.version += 1
        inode.written = max(inode.written + 1, int(self.now * 1e6))
        inode.born = inode.born or inode.written

    def open(self, pid, path, append=False, keep=False):
        self.make_directories(path)
        path = self.resolve(path)
        new = path not in self.files
        inode = self.files.setdefault(path, Inode())
        empty = new or inode.size == 0 or not (append or keep)
        if empty:
            inode.content, inode.whole, inode.size = None, False, 0
            self.touch(inode)
        descriptor = next(d for d in itertools.count(3) if (pid, d) not in self.open_files)
        self.open_files[pid, descriptor] = [inode, path, append]
        self.tell("open", pid, descriptor, path, new, empty, append)
        return descriptor

    def put(self, pid, descriptor, content, whole=True, share=1.0):
        inode, path, _ = self.open_files[pid, descriptor]
        inode.content, inode.whole = content, whole
        if isinstance(content, str):
            inode.size = len(content)
        else:
            inode.size = content[1] * 50 if isinstance(content, tuple) else int(self.size_of(path) * share)
        self.touch(inode)
        self.tell("write", path, instant=not whole)

    def close(self, pid, descriptor):
        inode, path, _ = self.open_files.pop((pid, descriptor))
        self.tell("close", pid, descriptor, self.name_of(inode, path))

    def name_of(self, inode, path):
        return path if self.files.get(path) is inode else next((p for p, i in self.files.items() if i is inode), path)

    def rename(self, pid, old, new):
        self.make_directories(new)
        below = [p for p in self.files if p.startswith(old + "/")]
        for path in below:
            self.files[new + path[len(old):]] = self.files.pop(path)
        if old in self.files:
            self.files[new] = self.files.pop(old)
        elif not below:
            return
        self.directories = {new + d[len(old):] if d == old or d.startswith(old + "/") else d for d in self.directories}
        self.tell("rename", pid, old, new, bool(below))

    def arrive(self, pid, path, content):
        """Renamed to here from outside of the directory."""
        self.make_directories(path)
        self.files[path] = inode = Inode(content=content)
        inode.whole, inode.size = True, self.size_of(path)
        self.touch(inode)
        self.tell("rename", pid, "", path, False)

    def unlink(self, pid, path):
        if self.files.pop(path, None):
            self.tell("unlink", pid, path)

    def remove_tree(self, pid, top):
        for path in sorted(p for p in self.files if p.startswith(top + "/")):
            self.unlink(pid, path)
            yield 1
        for directory in sorted((d for d in self.directories if d == top or d.startswith(top + "/")), reverse=True):
            self.directories.discard(directory)
            self.tell("rmdir", pid, directory)

    def link(self, pid, old, new):
        self.files[new] = self.files[old]
        self.tell("link", pid, old, new)

    def symlink(self, pid, target, path):
        self.make_directories(path)
        self.files[path] = Inode("link", target)
        self.tell("symlink", pid, path)

    def saved(self, save):
        """The job's own truth: what it would resume from, were it not for us."""
        self.done.append((self.now, save))
        self.rows_of[save] = {path: inode.content[1] for path, inode in self.files.items() if isinstance(inode.content, tuple)}

    def newest(self):
        return max((save for _, save in self.done), default=self.resumed)

    def restore(self, files, save):
        """A second attempt: what the first one left, and the save that it goes on from."""
        self.resumed = save
        for path, file in files.items():
            self.files[path] = inode = Inode(file.kind, file.content)
            inode.whole, inode.size, inode.written = file.whole, file.size, file.written
            inode.born = file.written
            self.directories |= {path[:i] for i, letter in enumerate(path) if letter == "/"}
        self.rows_of[save] = {path: inode.content[1] for path, inode in self.files.items() if isinstance(inode.content, tuple)}

    # --- ends
    def exit(self, pid):
        for key in [key for key in self.open_files if key[0] == pid]:
            self.close(*key)
        self.tell("failed" if self.failed else "exit", pid)

    def end(self):
        """The job ends by itself."""
        pids = self.pids()
        self.threads.clear()
        for pid in pids:
            self.exit(pid)

    def kill(self):
        """The kernel closes what the killed have open."""
        pids = self.pids()
        self.threads.clear()
        held = [self.name_of(inode, path) for inode, path, _ in self.open_files.values()]
        self.open_files.clear()
        for path in held:
            self.tell("cut", path)
        for pid in pids:
            self.tell("killed", pid)


class Mixture(Exception):
    """A job that starts from it fails, or goes on from two saves at once."""


class View:
    """A directory as a start finds it: by these the rules of resuming are written."""

    def __init__(self, files, rows):
        self.files, self.rows = files, rows

    def has(self, path):
        return path in self.files

    def load(self, path):
        file = self.files.get(path)
        if file is None:
            raise Mixture(f"{path} is missing")
        if file.kind == "link":
            return self.load((path.rsplit("/", 1)[0] + "/" if "/" in path else "") + file.content)
        if not file.whole or file.content is None:
            raise Mixture(f"{path} is torn")
        return file.content

    def equal(self, *paths):
        found = {path: self.load(path) for path in paths}
        if len(set(found.values())) > 1:
            raise Mixture(f"mixed: {found}")
        return next(iter(found.values()))
