"""The program, beside a simulated job: its detector and its plan of a snapshot in C (driver.c), driven by what a witness hears of the job."""
import ctypes
import random
from pathlib import Path

READ_MS, CONFIRM_MS = 50, 3  # until all of a snapshot was read; until all of it is open
TRIES, RETRY_MS = 3, 100
GRACE_MS, COMMIT_MS = 30000, 40000
POINTER_MOST = 4096
VALID, ONE, ALL = 1, 2, 4
ZIPS = (".pt", ".pth", ".tar", ".npz", ".zip", ".ckpt", ".keras", ".safetensors")
PICKLES = (".pkl", ".pickle", ".joblib", ".npy")
NEVER = 1 << 60
RESTORE = "2"  # enum reconcile_action


class File(ctypes.Structure):
    _fields_ = [("exists", ctypes.c_int), ("link", ctypes.c_int), ("size", ctypes.c_uint64), ("written", ctypes.c_int64),
                ("content", ctypes.c_int)]


LOOK = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(File))
HELD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
TYPES = {"p": ctypes.c_void_p, "s": ctypes.c_char_p, "i": ctypes.c_int, "u": ctypes.c_uint, "n": ctypes.c_int64, "z": ctypes.c_size_t,
         "l": LOOK, "h": HELD, "a": ctypes.POINTER(ctypes.c_int64)}
FUNCTIONS = """sim_new:nl:p sim_free:p sim_shim:piiiussnn sim_kernel:pissiinn sim_process_ended:piin sim_job_ended:pin sim_stall:pn
sim_requested:pn sim_needs_verify:p:i sim_verify:phn sim_has_untracked:p:i sim_writer_seen:pi sim_unclosed:pn:s sim_all_closed:ps
sim_decide:pnna:i sim_plan:p:p sim_found_empty:psn sim_confirm:pi:i sim_wait:pnnnni:n sim_begun:pn sim_is_saving:pn:i sim_last_ms:p:n
sim_awaits:pnnnni:i sim_still_ms:p:n sim_under_way:p:s sim_first_position:pn:n sim_known:p:s sim_signatures:p:s sim_learned:ps
sim_existing:ps contents_holds_less:p:i contents_excludes:ps:i contents_read:pss contents_drop_pointers:p contents_is_running:ps:i
contents_carries:ps:i contents_wants:ps:i start_new:l:p start_free:p start_file:pisnnnni start_under_way:ps start_content:psi:i start_report:piiiuss
start_left:psz start_decide:puu:s"""


def load(build):
    library = ctypes.CDLL(str(Path(build) / "tests/model/libmodel_saves.so"))
    for line in FUNCTIONS.split():
        name, arguments, *result = line.split(":")
        function = getattr(library, name)
        function.argtypes = [TYPES[letter] for letter in arguments]
        function.restype = TYPES[result[0]] if result else None
    return library


def content_of(path, inode):
    """What a check of its format finds: marks of enum content_mark; -1: it is torn; 0: no format says."""
    whole = inode.whole and inode.content is not None
    if path.endswith(ZIPS):
        return VALID | ALL if whole else -1
    if path.endswith(PICKLES):
        return VALID | ONE if whole else -1 if path.endswith(".npy") else 0
    return (VALID if whole else -1) if path.endswith((".h5", ".hdf5")) else 0


class Entry:
    """A file in a snapshot, or on the disk at one instant."""
    __slots__ = ("content", "whole", "kind", "size", "written", "inode", "version", "running")

    def __init__(self, inode, running=False):
        self.content, self.whole, self.kind, self.size, self.written = inode.content, inode.whole, inode.kind, inode.size, inode.written
        self.inode, self.version, self.running = inode, inode.version, running


class Supervisor:
    """`witness`: how it learns what the job does. "shim": by the library and the kernel; "kernel": a static program; "poll": looks, and
    the library; "lost": some reports of the library are lost; "stalled": it stands still now and then."""
    quiet = 1000

    def __init__(self, library, world, witness="shim", seed=0):
        self.c, self.world, self.witness, self.random = library, world, witness, random.Random(seed)
        self.look = LOOK(self.look_at)
        self.held = HELD(lambda pid, descriptor: (pid, descriptor) in world.open_files)
        self.sim = library.sim_new(self.quiet, self.look)
        self.reports, self.listed, self.first = [], b"", 0
        self.judge_at, self.pending, self.begun, self.flight, self.tries = 0, 0, 0, None, 0
        self.snapshots, self.sequence, self.record, self.recorded = [], 0, {}, 0
        self.deadline, self.ended, self.saving_since, self.awaited = 0, False, 0, 0
        self.scan, self.scanned, self.next_scan = {}, 0 if witness == "poll" else NEVER, 0 if witness == "poll" else NEVER
        self.retries, self.due, self.settles_until = False, NEVER, 0
        self.queue, self.wakes, self.stall_at = [], 0, self.random.uniform(3000, 12000) if witness == "stalled" else NEVER
        
    def go_on_from(self, sequence, files, signatures):
        """Of a second attempt: the snapshot that it was restored from."""
        self.sequence = self.recorded = sequence
        here = {p: Entry(self.world.files[p]) for p in files}
        self.snapshots, self.record = [(sequence, here, signatures)], {p: e for p, e in here.items() if e.kind == "file"}
        self.c.sim_learned(self.sim, signatures or b"{}")
        for path in self.record:
            self.c.sim_existing(self.sim, path.encode())

    def look_at(self, path, file):
        inode = self.world.files.get(path.decode())
        if inode is not None:
            file[0] = File(1, inode.kind == "link", inode.size, inode.written, content_of(path.decode(), inode))

    # --- evidence
    @staticmethod
    def said_of(what, *a):
        """What the library ("shim") and the kernel say of an event, and what is known of ends."""
        if what == "open":
            pid, descriptor, path, new, empty, append = a
            yield "shim", 2, pid, descriptor, (2 if empty else 0) | (128 if append else 0), path, ""
            if new or empty:
                yield "kernel", 0 if new else 1, path, "", 0, 0
        elif what in ("write", "cut"):
            yield "kernel", 1 if what == "write" else 2, a[0], "", 0, 0
        elif what == "close":
            yield "kernel", 2, a[2], "", 0, 0
            yield "shim", 3, a[0], a[1], 0, a[2], ""
        elif what == "rename":
            yield "kernel", 3, a[2], a[1], a[3], 0
            yield "shim", 5, a[0], -1, 0, a[1], a[2]
        elif what == "unlink":
            yield "kernel", 4, a[1], "", 0, 0
            yield "shim", 7, a[0], -1, 0, a[1], ""
        elif what == "link":
            yield "kernel", 0, a[2], "", 0, 0
            yield "shim", 6, a[0], -1, 0, a[1], a[2]
        elif what == "symlink":
            yield "kernel", 0, a[1], "", 0, 1
        elif what in ("mkdir", "rmdir"):
            yield "kernel", 5 if what == "mkdir" else 4, a[-1], "", 1, 0
        elif what in ("exit", "failed", "killed"):
            if what != "killed":
                yield "shim", 8, a[0], -1, 8 if what == "failed" else 0, "", ""
            yield "end", a[0], ("exit", "killed", "failed").index(what)

    def hear(self, now, event):
        for what, *a in self.said_of(*event):
            if what == "kernel" and self.witness != "poll":
                change, path, old, directory, link = a
                self.c.sim_kernel(self.sim, change, path.encode(), old.encode(), directory, link, 0, now)
            elif what == "shim" and self.witness != "kernel":
                self.reports.append(a)
                lost = self.witness == "lost" and self.random.random() < 0.04
                number, pid, descriptor, flags, path, path2 = (0, 0, -1, 0, "", "") if lost else a
                self.c.sim_shim(self.sim, number, pid, descriptor, flags, path.encode(), path2.encode(), len(self.reports) - 1, now)
            elif what == "end":
                self.c.sim_process_ended(self.sim, *a, now)

    def search(self, now):
        """As tracker_writers.c, for writers without the library."""
        if not self.c.sim_has_untracked(self.sim):
            return
        for pid in {pid for pid, _ in self.world.open_files}:
            self.c.sim_writer_seen(self.sim, pid)
        held = {path for _, path, _ in self.world.open_files.values()}
        for path in self.c.sim_unclosed(self.sim, now).decode().splitlines():
            if path not in held:
                self.c.sim_all_closed(self.sim, path.encode())

    def take_look(self, now):
        """As directory_monitor.c."""
        since, found = self.scanned, {p: (i.size, i.written, i.number) for p, i in self.world.files.items() if i.kind == "file"}
        for path in sorted(found):
            if self.scan.get(path) != found[path]:
                self.c.sim_kernel(self.sim, 6, path.encode(), b"", 0, 0, since, now)
        self.scan, self.scanned, self.next_scan = found, now, now + self.quiet // 2

    # --- its time
    def event(self, now, *event):
        self.run_until(now)
        if now >= self.stall_at:
            self.wakes, self.stall_at = now + self.random.uniform(1500, 4000), NEVER
        if self.wakes:
            self.queue.append(event)
            return
        self.hear(int(now), event)
        self.poll(now)

    def wake(self):
        now, self.wakes, queue, self.queue = self.wakes, 0, self.queue, []
        self.c.sim_stall(self.sim, 1500)
        for event in queue:
            self.hear(int(now), event)
        self.stall_at = now + self.random.uniform(3000, 12000)

    def run_until(self, until):
        while True:
            if self.wakes:
                at = self.wakes
            else:
                at = min(self.judge_at, self.next_scan if not self.ended else NEVER, self.flight["next"] if self.flight else self.due)
            if at > until:
                return
            if self.wakes:
                self.wake()
            elif at >= self.next_scan:
                self.take_look(int(at))
            self.poll(at)

    def poll(self, now):
        now, at = int(now), ctypes.c_int64(0)
        if self.witness == "kernel":
            self.search(now)
        if self.witness == "lost":
            self.c.sim_verify(self.sim, self.held, now)
        if self.c.sim_decide(self.sim, now, NEVER if self.ended else self.scanned, ctypes.byref(at)):
            self.pending, self.awaited = self.pending or now, self.awaited + 1
        saving = self.c.sim_is_saving(self.sim, now)
        self.saving_since = (self.saving_since or now) if saving else 0
        self.judge_at = max(at.value, now + 20) if 0 < at.value < NEVER else NEVER
        if saving:
            self.judge_at = min(self.judge_at, now + 1000)
        self.note_listed()
        self.due = NEVER
        if self.flight and self.flight["next"] <= now:
            self.go_on(now)
        if not self.flight and self.retries:
            self.due = self.again_at
            if now >= self.again_at:
                self.begin(now)
        elif not self.flight and self.pending:
            wait = self.c.sim_wait(self.sim, now, self.pending, self.begun, self.deadline, self.ended)
            self.due = now + wait if wait >= 0 else NEVER
            if wait == 0:
                self.begin(now)

    def note_listed(self):
        self.listed = self.c.sim_under_way(self.sim)
        self.first = self.c.sim_first_position(self.sim, len(self.reports))

    # --- a snapshot
    def begin(self, now):
        plan, self.due, self.retries = self.c.sim_plan(self.sim), NEVER, False
        if self.c.contents_holds_less(plan):
            self.pending = 0  # the next that is complete begins it
            return
        self.begun, self.pending = now, 0
        self.c.sim_begun(self.sim, now)
        self.sequence += 1
        opened = {}
        for path, inode in self.world.files.items():
            if not self.c.contents_excludes(plan, path.encode()):
                opened[path] = Entry(inode)
        for path, entry in opened.items():
            if isinstance(entry.content, str) and entry.kind == "file" and entry.whole and entry.size <= POINTER_MOST:
                self.c.contents_read(plan, path.encode(), entry.content.encode())
        self.flight = {"plan": plan, "next": now + CONFIRM_MS, "opened": opened, "confirmed": False}

    def again(self, now):
        self.flight, self.tries, self.retries = None, self.tries + 1, True
        self.due = self.again_at = now + RETRY_MS

    def go_on(self, now):
        plan, opened = self.flight["plan"], self.flight["opened"]
        if not self.flight["confirmed"]:
            for path, entry in opened.items():
                if entry.inode.size == 0 and entry.kind == "file":
                    self.c.sim_found_empty(self.sim, path.encode(), now)
            if not self.c.sim_confirm(self.sim, self.tries >= TRIES):
                return self.again(now)
            self.c.contents_drop_pointers(plan)
            self.flight["opened"] = kept = {p: Entry(e.inode) for p, e in opened.items() if not self.c.contents_excludes(plan, p.encode())}
            for path, entry in kept.items():
                entry.running = bool(self.c.contents_is_running(plan, path.encode()))
            self.record = {p: e for p, e in kept.items() if e.kind == "file"}
            self.recorded = self.sequence
            self.flight.update(confirmed=True, next=now + READ_MS - CONFIRM_MS)
            return None
        for path, entry in opened.items():
            if entry.kind == "file" and not entry.running and entry.inode.version != entry.version:
                return self.again(now)
        for path, entry in self.newest().items():
            if path not in opened and self.c.contents_carries(plan, path.encode()):
                opened[path] = entry
        if not any(self.c.contents_wants(plan, path.encode()) for path in opened):
            self.flight = None
            return None
        self.snapshots.append((self.sequence, opened, self.c.sim_signatures(self.sim)))
        self.flight, self.tries = None, 0
        return None

    def newest(self):
        return self.snapshots[-1][1] if self.snapshots else {}

    # --- the end
    def end(self, now, how):
        """3: the job has crashed; 2: it was asked, and its end says nothing; 1: by itself."""
        self.run_until(now)
        if self.wakes:
            self.wakes = now
            self.wake()
        if self.witness == "poll":
            self.take_look(int(now))
        self.ended = True
        self.c.sim_job_ended(self.sim, how, int(now))
        self.poll(now)
        self.run_until(now + COMMIT_MS)

    def ends_job(self, now, notice):
        """At a notice to a job that cannot be asked, as of core/stopping.c: is it told to end now?"""
        commit, asked = notice + GRACE_MS - 2000, notice + GRACE_MS - 5000
        saving = bool(self.c.sim_is_saving(self.sim, int(now)))
        if now >= (commit if saving else asked):
            return True
        if self.settles_until == 0 and (self.awaited > 1 or (self.awaited == 1 and not saving)):
            self.settles_until = now + min(5000, (asked - now) / 4)
        if self.settles_until:
            return now >= self.settles_until or (not saving and now - self.c.sim_last_ms(self.sim) >= self.c.sim_still_ms(self.sim))
        return not self.awaited and not self.c.sim_awaits(self.sim, int(now), int(notice + GRACE_MS - now), self.saving_since,
                                                          self.begun, int(bool(self.pending)))

    def notice(self, now):
        self.run_until(now)
        self.deadline, self.awaited = int(now) + GRACE_MS, 0
        self.poll(now)

    def start_again(self, event):
        """All is killed right after this event, of which nobody has read, and the disk stays: the directory as the next start leaves it."""
        c, world = self.c, self.world
        start, files, moved = c.start_new(self.look), {p: Entry(i) for p, i in world.files.items()}, set()
        for path, entry in files.items():
            if entry.kind == "file" and c.start_content(start, path.encode(), content_of(path, entry)):
                moved.add(path)
            elif entry.kind == "file":
                c.start_file(start, 0, path.encode(), entry.size, entry.written, entry.inode.born, entry.inode.number, 0)
        for path, entry in self.newest().items():
            if entry.kind == "file":
                c.start_file(start, 1, path.encode(), entry.size, entry.written, 0, 0, entry.running)
        for path, entry in self.record.items():
            c.start_file(start, 2, path.encode(), entry.size, entry.written, 0, entry.inode.number, 0)
        for path in self.listed.decode().splitlines():
            c.start_under_way(start, path.encode())
        unread = [a for queued in [*self.queue, event] for what, *a in self.said_of(*queued) if what == "shim"]
        if unread and self.witness not in ("kernel", "lost"):
            for number, pid, descriptor, flags, path, path2 in self.reports[self.first:] + unread:
                c.start_report(start, number, pid, descriptor, flags, path.encode(), path2.encode())
            c.start_left(start, c.sim_known(self.sim), len(self.reports) - self.first)
        sequence, snapshot, signatures = self.snapshots[-1] if self.snapshots else (0, {}, b"{}")
        action, *aside = c.start_decide(start, sequence, self.recorded).decode().splitlines()
        c.start_free(start)
        if action == RESTORE:
            return dict(snapshot)
        moved |= {line[1:] for line in aside}
        names = {path.rsplit("/", 1)[-1] for path in moved}
        stays = {p: e for p, e in files.items() if p not in moved and not (e.kind == "link" and e.content.rsplit("/", 1)[-1] in names)}
        stays.update({line[1:]: snapshot[line[1:]] for line in aside if line[0] == "+" and line[1:] not in stays})
        return stays
