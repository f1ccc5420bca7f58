#!/usr/bin/python3
"""A gang is killed again and again, at random instants of joining, restoring, saving and committing, as seeds say.

	tests/gang_kills.py [--kills N] [--seed S] [--members N] [--store file|radosgw] [--cut] [--leave] [--keep]

Each story is a job in a store of its own, with KILLS_A_STORY starts of all members. After each kill the launcher ends all of them and starts them
again. Before each start the store is asked what was committed last (reprieve list); after it, all members must resume from just that, and
from what one start of all has saved. What one of them has called durable is never lost. Each exit code is true to the store.
--cut: it is also cut off from one member, for a while (an S3 server behind a proxy).
--leave: with --on-preemption continue. Some members leave, and the others go on without them, before and while something is killed.
A story that fails is said with its seed: --seed S --kills 1 plays it again. Exit code 0 only if nothing failed.
"""
import argparse
import os
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "e2e"))
import harness  # noqa: E402
from gang import Gang, assert_not_torn  # noqa: E402
from harness import EXIT_CONFIGURATION, EXIT_DURABLE, EXIT_NOT_DURABLE, EXIT_OURS, Place, kill_quietly, wait_for  # noqa: E402

KILLS_A_STORY = 12
# Of two of one member that began within 2 s of each other, the age does not say which one is the newer.
STOPPED = 2.2
# Where a member ends by itself, at a point of its own in what it does.
POINTS = ("before_part_put", "after_part_put", "before_manifest_put", "after_manifest_put", "before_pack_put", "after_pack_put",
          "before_claim_put", "after_claim_put")


class Proxy:
    """Between one member and the store: what comes is passed on, unless it is cut. A connection that is cut stays open, and is silent."""

    def __init__(self, port):
        self.port, self.cut = port, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(source, target), daemon=True).start()

    def copy(self, source, target):
        try:
            while data := source.recv(65536):
                while self.cut:
                    time.sleep(0.02)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.cut = False
        self.listener.close()


def saved_steps(run):
    return [int(step) for step in re.findall(r"^saved (\d+)$", run.out, re.M)]


class Story:
    def __init__(self, place, seed, members, proxy=None, leaves=False):
        self.place, self.seed, self.members, self.proxy, self.leaves = place, seed, members, proxy, leaves
        self.draw = random.Random(seed)
        self.generation = 0
        self.directories = [place.path / f"machine{i}" for i in range(members)]
        self.stale = []
        self.newest = ""  # the highest id that was ever committed
        self.counts = {}
        self.saved_before = {}  # of each run: its newest checkpoint when it was told to end

    # --- what is known of the store ---

    def committed(self):
        newest = self.place.newest()
        identity = newest["id"] if newest else ""
        assert identity >= self.newest, f"{self.newest} was committed, and now {identity or 'nothing'} is the newest"
        self.newest = identity
        return newest["step"] if newest else 0

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    # --- one start of all ---

    def start(self, steps=100000, **at):
        """All members; `at` {"member": m, "point": p}: where that one ends."""
        self.generation += 1
        options = ("--checkpoint-signal", "USR1", "--grace", "5", *(("--on-preemption", "continue") if self.leaves else ()))
        gang = Gang(self.place, self.members, self.generation, directories=self.directories, every=10, size=300000, steps=steps,
                    mark=f"start{self.generation}", signal="USR1", options=options, **({"layout": "dcp", "elastic": 1} if self.leaves else {}))
        for member in range(self.members):
            more = {}
            if at.get("member") == member:
                more["REPRIEVE_FAULT"] = at["point"]
            if self.proxy and member == 1:
                more["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{self.proxy.own}"
            gang.start(member, **more)
        return gang

    def check_resumed(self, gang, step):
        """`step` was committed before it. If all had given their parts of a newer one, this start has committed that first."""
        try:
            steps = set(gang.resumed())
            assert len(steps) == 1 and min(steps) >= step, f"{steps}, and not {step}"
            if steps != {step}:
                self.count("committed by the next start")
                assert steps <= {snapshot["step"] for snapshot in self.place.snapshots()}, f"{steps} was never committed"
        except AssertionError as error:
            raise AssertionError(f"start {self.generation}: {error}\n{gang}") from None
        marks = {tuple(re.findall(r"^marked (\S+)$", run.out, re.M)) for run in gang.runs}
        assert len(marks) == 1, f"start {self.generation}: the files are of several starts: {marks}\n{gang}"

    def check_end(self, gang):
        """What they have said is true. All of them have ended."""
        assert_not_torn(gang)
        step = self.committed()
        for run in gang.runs:
            for event in run.events("durable"):
                assert event["id"] <= self.newest, f"{event['id']} was durable, and {self.newest} is the newest\n{run}"
            code = run.process.returncode
            # What it has saved since the notice it need not wait for, once its answer is durable.
            if code == EXIT_DURABLE:
                before = self.saved_before.get(run, 0)
                assert step >= before, f"it has saved {before} and says that it is durable, and {step} is committed\n{run}"
            saved = saved_steps(run)
            # Of one that left alone, the others may have saved that step later.
            assert code != EXIT_NOT_DURABLE or self.leaves or not saved or step < saved[-1], f"it says 74, and {saved[-1]} is committed\n{run}\n{gang}"
            # SIGTERM: before it looked out for it, so nothing has begun.
            assert code in (-signal.SIGKILL, -signal.SIGTERM, EXIT_DURABLE, EXIT_NOT_DURABLE, EXIT_OURS, EXIT_CONFIGURATION, 128 + signal.SIGTERM, 137,
                            0), f"{code}\n{run}"

    # --- what goes wrong ---

    def kill_something(self, gang):
        run = self.draw.choice(gang.runs)
        what = self.draw.choice(["supervisor", "job", "member", "member"])
        self.count(f"kill {what}")
        if what == "supervisor":
            kill_quietly(run.pid)
        elif what == "job":
            launched = run.event("launched")
            kill_quietly(launched["pid"] if launched else run.pid)
        else:
            run.kill()

    def tell_to_end(self, gang, runs):
        for run in gang.runs:
            self.saved_before.setdefault(run, max(saved_steps(run), default=0))
        for run in runs:
            if run.process.poll() is None:
                run.signal(signal.SIGTERM)

    def notice(self, gang):
        self.count("notice")
        self.tell_to_end(gang, [self.draw.choice(gang.runs)])

    def leave(self, gang):
        """Some are taken away after a notice. Mostly the others become durable without them before anything else happens."""
        leavers = self.draw.sample(gang.runs, self.draw.randint(1, self.members - 1))
        self.count("leave")
        self.tell_to_end(gang, leavers)
        if self.draw.random() < 0.4:
            time.sleep(self.draw.uniform(0, 1.5))
            return
        for run in leavers:
            assert run.wait() in (EXIT_DURABLE, EXIT_NOT_DURABLE), f"{run}"
            self.count(f"left with {run.process.returncode}")
        # It has said so: of what the others save nothing is durable then, until the launcher starts all.
        if any("do not know that this one has gone" in run.err for run in leavers):
            self.count("gone without a word")
            return
        if self.draw.random() < 0.3:
            return
        step, rest = self.committed(), [run for run in gang.runs if run not in leavers]

        def goes_on():
            newest = self.place.newest()
            return newest and newest["step"] > step and newest["members"] - newest["members_without_checkpoint"] == len(rest)

        wait_for("a snapshot without those that have gone", goes_on, about=gang)
        self.count("snapshot without them")

    def freeze(self, gang):
        """The machine stands still, and is replaced; later it goes on. Another directory: the old one is locked."""
        self.count("stop")
        member = self.draw.randrange(self.members)
        run = gang.runs[member]
        run.signal(signal.SIGSTOP)
        self.stale.append(run)
        time.sleep(STOPPED)
        gang.runs = [other for other in gang.runs if other is not run]
        self.directories[member] = self.place.path / f"machine{member}-{self.generation}"

    def thaw(self):
        for run in self.stale:
            launched = run.event("launched")
            if launched:
                kill_quietly(launched["pid"])  # it hangs in a collective until that gives up
            run.signal(signal.SIGCONT)
        for run in self.stale:
            run.wait()
            assert run.process.returncode != 0, f"{run}"
        self.stale = []

    def cut(self):
        self.count("cut")
        self.proxy.cut = True
        time.sleep(self.draw.uniform(0.1, 2.5))
        if self.draw.random() < 0.5:
            self.proxy.cut = False

    def end_all(self, gang):
        """As a launcher does once one has ended: asks all of them, and waits for a while, or does not."""
        if self.draw.random() < 0.3:
            self.tell_to_end(gang, gang.runs)
            until = time.monotonic() + self.draw.uniform(0, 3)
            while time.monotonic() < until and any(run.process.poll() is None for run in gang.runs):
                time.sleep(0.02)
        else:
            time.sleep(self.draw.uniform(0, 0.3))
        gang.kill_all()
        if self.proxy:
            self.proxy.cut = False

    def spoil(self, gang, in_start):
        """Once all go on, or (`in_start`) on the way there."""
        time.sleep(self.draw.uniform(0, 0.9 if in_start else 0.6))
        # Who ends before it has come is not known to the others: the launcher ends them.
        if not in_start and not self.leaves and self.draw.random() < 0.15:
            self.notice(gang)
            if self.draw.random() < 0.5:
                for run in gang.runs:
                    wait_for("all end by the notice", lambda run=run: run.process.poll() is not None, about=gang)
                return
            time.sleep(self.draw.uniform(0, 0.5))
        if self.leaves and not in_start and self.draw.random() < 0.7:
            self.leave(gang)
        if self.draw.random() < 0.12 and not self.stale:
            self.freeze(gang)
            return
        if self.proxy and self.draw.random() < 0.5:
            self.cut()
        self.kill_something(gang)

    # --- all of it ---

    def play(self, kills):
        gang = self.start()
        gang.wait_for_commits(1)
        on_the_way = False
        for _ in range(kills):
            self.spoil(gang, on_the_way)
            self.end_all(gang)
            self.check_end(gang)
            step = self.committed()
            at = {"member": self.draw.randrange(self.members), "point": self.draw.choice(POINTS)} if self.draw.random() < 0.2 else {}
            gang = self.start(**at)
            on_the_way = bool(at) or self.draw.random() < 0.4
            if at:
                self.count("fault point")
                until = time.monotonic() + 3
                while time.monotonic() < until and gang.runs[at["member"]].process.poll() is None:
                    time.sleep(0.02)
            if not on_the_way:
                self.check_resumed(gang, step)
                self.thaw()
        self.end_all(gang)
        self.check_end(gang)
        step = self.committed()
        end = (step // 10 + 2) * 10  # the job saves there, and all may have given the one before
        last = self.start(steps=end)
        self.check_resumed(last, step)
        self.thaw()
        assert [run.wait() for run in last.runs] == [0] * self.members, f"{last}"
        self.check_end(last)
        step = self.committed()
        assert step == end, f"{step} was committed last, and {end} has been saved"
        assert self.place.verb("verify").code == 0
        return self.counts


def play(place, seed, members, kills=KILLS_A_STORY, proxy=None, leaves=False):
    return Story(place, seed, members, proxy, leaves).play(kills)


# --- the long form ---


def play_in_directory(seed, options, server):
    path = Path(tempfile.mkdtemp(prefix=f"gang-kills-{seed}."))
    proxy = Proxy(server.port) if server and options.cut else None
    place = Place(path, store=server.make() if server else None, environment=server.environment if server else None)
    failed = None
    try:
        counts = play(place, seed, options.members, min(options.kills, KILLS_A_STORY), proxy, options.leave)
    except AssertionError:  # the story is over, and the next one is told
        failed = traceback.format_exc()
        counts = {}
    finally:
        place.end()
        if proxy:
            proxy.close()
    if failed:
        (path / "failed").write_text(failed)
        print(f"seed {seed}: FAILED, in {path}: {failed.strip().splitlines()[-1][:300] if not options.keep else failed}", flush=True)
    else:
        shutil.rmtree(path)
    return counts, failed is not None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--store", choices=["file", "radosgw"], default="file")
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("--leave", action="store_true")
    parser.add_argument("--keep", action="store_true", help="print all of a failure")
    options = parser.parse_args()
    server = None
    if options.store == "radosgw":
        sys.path.insert(0, str(harness.ROOT / "tests" / "servers"))
        from radosgw import Radosgw
        server = Radosgw(tempfile.mkdtemp(prefix="rgw."))
        server.start(memory=2 << 30)
    elif options.cut:
        parser.error("--cut needs --store radosgw")
    total, failures, kills, seed = {}, 0, 0, options.seed
    began = time.monotonic()
    try:
        while kills < options.kills:
            counts, failed = play_in_directory(seed, options, server)
            kills += min(options.kills, KILLS_A_STORY)
            seed += 1
            failures += failed
            for what, number in counts.items():
                total[what] = total.get(what, 0) + number
            print(f"{kills} kills, {failures} stories failed, {time.monotonic() - began:.0f} s: {total}", flush=True)
    finally:
        if server:
            server.stop()
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
