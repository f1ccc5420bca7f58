"""How a layout is written: what a job does at each save, a line a step, and the rule by which its own start resumes. README.md explains it."""
import re
import zlib

from world import SAVES, Mixture

LAYOUTS = []


class Layout:
    def __init__(self, name, source, resume, save, train=20, step=10, saves=SAVES, start="", beside=(), term="", other=None):
        """`train`: seconds between two saves, or the least and the most; `step`: from one number to the next; `beside`: what is written
        all the time; `term`: what it does at SIGTERM; `other`: a second job in the directory: its steps, its seconds, its saves."""
        self.name, self.source, self.resume, self.save, self.train, self.step = name, source, resume, save, train, step
        self.saves, self.start, self.beside, self.term, self.other = saves, start, beside, term, other

    @property
    def half(self):
        return "build" if zlib.crc32(self.name.encode()) % 2 else "judge"

    def launch(self, world):
        first = world.resumed + 1
        world.spawn(1, self.main(world, self.save, self.train, range(first, first + self.saves)))
        for line in self.beside:
            world.spawn(1, beside(world, *line.split()), beside=True)
        if self.other:
            world.spawn(50, self.main(world, *self.other[:2], range(first, first + self.other[2]), pid=50))
        if self.term:
            world.on_term = lambda: self.play(world, self.term, 1, self.names(world, world.newest() + 1))

    def names(self, world, k):
        return {"k": k, "n": k * self.step, "o": lambda back: (k - back) * self.step, "best": world.random.random() < 0.4,
                "r": world.random, "gap": world.random.uniform(300, 12000), "h": lambda: f"{world.random.getrandbits(128):032x}"}

    def main(self, world, save, train, saves, pid=1):
        low, high = train if isinstance(train, tuple) else (train * 0.9, train * 1.1)
        if saves[0] == 1 and pid == 1:
            yield from self.play(world, self.start, pid, self.names(world, 0))
        for k in saves:
            yield max(1, world.random.uniform(low, high) * 1000)
            yield from self.play(world, save, pid, self.names(world, k))

    def play(self, world, text, pid, names):
        threads = []
        for line in filter(None, (line.strip() for line in re.split(r"[;\n]", text))):
            if line.startswith("?"):
                condition, line = line[1:].split(" ", 1)
                if not eval(condition, names):
                    continue
            if line == "join":
                while any(world.lives(thread) for thread in threads):
                    yield 5
            elif line.startswith("& "):
                threads.append(world.spawn(pid, self.play_all(world, line[2:], pid, names)))
            else:
                yield from self.play_all(world, line, pid, names)

    def play_all(self, world, line, pid, names):
        for part in line.split(","):
            words = part.split()
            if words[0].endswith(":"):
                pid, words = int(words[0][:-1]), words[1:]
            words = [eval(f"f'''{word}'''", names) if "{" in word else word for word in words]
            yield from act(world, pid, names["k"], *words)


def layout(name, source, resume, save, **more):
    LAYOUTS.append(Layout(name, source, resume, save, **more))


def write(world, pid, path, content, ms=0, pieces=3):
    descriptor = world.open(pid, path)
    for i in range(pieces if ms else 1):
        if ms:
            yield float(ms) / pieces
        last = not ms or i == pieces - 1
        world.put(pid, descriptor, content, last, 1 if last else (i + 1) / (pieces + 1))
    world.close(pid, descriptor)


def act(world, pid, k, verb, *a):
    """One step: README.md lists them."""
    if verb == "w":
        yield from write(world, pid, a[0], k, *a[1:2])
    elif verb == "t":
        temporary = a[2] if len(a) > 2 else a[0] + ".tmp"
        yield from write(world, pid, temporary, k, *a[1:2])
        world.rename(pid, temporary, a[0])
    elif verb == "text":
        yield from write(world, pid, a[0], a[1])
    elif verb == "textt":
        yield from write(world, pid, a[0] + ".tmp", a[1])
        world.rename(pid, a[0] + ".tmp", a[0])
    elif verb == "row":
        descriptor = world.open(pid, a[0], append=True)
        inode = world.open_files[pid, descriptor][0]
        world.put(pid, descriptor, ("rows", (inode.content or ("rows", 0))[1] + 1))
        world.close(pid, descriptor)
    elif verb == "in":  # into the file as it is: r+
        descriptor = world.open(pid, a[0], keep=True)
        world.put(pid, descriptor, k, False)
        yield float(a[1])
        world.put(pid, descriptor, k)
        world.close(pid, descriptor)
    elif verb == "half":  # a save that fails in its middle, and is caught
        descriptor = world.open(pid, a[0])
        world.put(pid, descriptor, k, False, 0.3)
        world.close(pid, descriptor)
    elif verb == "cp":
        inode = world.files[world.resolve(a[0])]
        yield from write(world, pid, a[1], inode.content, *a[2:3])
    elif verb == "mv":
        world.rename(pid, *a)
    elif verb == "into":
        yield float(a[1])
        world.arrive(pid, a[0], k)
    elif verb == "ln":
        world.link(pid, *a)
    elif verb == "sym":  # anew, under another name, and renamed
        world.symlink(pid, a[0], a[1] + ".tmp")
        world.rename(pid, a[1] + ".tmp", a[1])
    elif verb == "resym":  # removed, and made
        world.unlink(pid, a[1])
        yield 1
        world.symlink(pid, *a)
    elif verb == "rm":
        if a[0] in world.files:
            world.unlink(pid, a[0])
        else:
            yield from world.remove_tree(pid, a[0])
    elif verb == "mkdir":
        world.make_directories(a[0] + "/x")
    elif verb == "z":
        yield max(1.0, float(a[0]) * (1 if len(a) > 1 else world.random.uniform(0.95, 1.05)))
    elif verb == "done":
        world.saved(k)
    elif verb == "fail":
        world.failed = True
    else:
        raise ValueError(f"no such step: {verb}")
    yield 1


def beside(world, verb, path, ms):
    """open: kept open from the start; log: the same, for appending; row: opened, appended to and closed; over: written over."""
    descriptor, first = None, 1
    if verb in ("open", "log"):
        descriptor = world.open(1, path, append=verb == "log", keep=True)
        first += (world.open_files[1, descriptor][0].content or ("rows", 0))[1]
    for i in range(first, 1 << 30):
        if descriptor is not None:
            world.put(1, descriptor, ("rows", i))
        elif verb == "row":
            yield from act(world, 1, 0, "row", path)
        else:
            yield from write(world, 1, path, f"at {i}")
        yield float(ms)


# --- how a start resumes: each takes a View, and gives the save; 0: from scratch

def numbered(view, pattern):
    """All (number, the text of it) under which the pattern, with # for the number, is there: a file, or something in a directory."""
    regex = re.compile(re.escape(pattern).replace(r"\#", r"(\d+)") + r"(?=/|\Z)")
    return sorted({(int(m.group(1)), m.group(1)) for path in view.files if (m := regex.match(path))})


def newest(pattern, *others, tolerant=False, needs=None):
    """The highest number of the pattern, and the others of that number with it. `tolerant`: of those that can be loaded. `needs`: only
    those that have this."""
    def resume(view):
        found = numbered(view, pattern)
        found = [f for f in found if not needs or view.has(needs.replace("#", f[1]))]
        for _, text in reversed(found):
            try:
                return view.equal(*[name.replace("#", text) for name in (pattern, *others)])
            except Mixture:
                if not tolerant:
                    raise
        return 0
    return resume


def directory(pattern, *names, **more):
    found = newest(f"{pattern}/{names[0]}", *[f"{pattern}/{name}" for name in names[1:]], **more)

    def resume(view):
        if numbered(view, pattern) and not more and not numbered(view, f"{pattern}/{names[0]}"):
            raise Mixture("the directory has nothing of it")
        if not more and numbered(view, pattern)[-1:] != numbered(view, f"{pattern}/{names[0]}")[-1:]:
            raise Mixture("the newest directory is not whole")
        return found(view)
    return resume


def fixed(*names):
    return lambda view: view.equal(*names) if any(view.has(name) for name in names) else 0


def latest_of(*names):
    """The newest of those that can be loaded; fails if something is there, and nothing can be."""
    def resume(view):
        states = []
        for name in names:
            try:
                states += [view.load(name)] if view.has(name) else []
            except Mixture:
                pass
        if not states and any(view.has(name) for name in names):
            raise Mixture("none can be loaded")
        return max(states, default=0)
    return resume


def pointer(name, *targets):
    """The text, or the link, says which; # in the targets is what it says."""
    def resume(view):
        if not view.has(name):
            return 0
        file = view.files[name]
        text = file.content if file.kind == "link" else view.load(name)
        return view.equal(*[target.replace("#", text) for target in targets])
    return resume


def first_of(*rules):
    """The first that finds something."""
    def resume(view):
        for rule in rules:
            if save := rule(view):
                return save
        return 0
    return resume


def either(*rules):
    """The first that can be loaded."""
    def resume(view):
        for rule in rules[:-1]:
            try:
                return rule(view)
            except Mixture:
                pass
        return rules[-1](view)
    return resume


def most_of(*rules):
    return lambda view: max(rule(view) for rule in rules)


def with_outputs(rule, *outputs):
    """It refuses to go on without its outputs, as long as they were."""
    def resume(view):
        save = rule(view)
        for name in outputs if save else ():
            if not view.has(name) or view.files[name].content[1] < view.rows.get(save, {}).get(name, 0):
                raise Mixture(f"{name} is missing, or shorter than it was")
        return save
    return resume
