"""A framework's proof on several machines: each member of a gang is `reprieve run` with a node of torchrun below it, and has a directory
of its own. With `apart` each is on a machine of its own (machines.py), which only the network and the store join to the others.

    alone         the nodes by themselves, to their end: the loss of each step
    preempted     each under `reprieve run --gang`; in the middle of a step a notice comes to one of them. All end with 75, and all
                  that they have is gone
    resumed       once more, in empty directories: all go on from the same snapshot, and the losses as if nothing had happened
"""
import json
import os
import subprocess

from machines import Machines
from proof import DEADLINE_ASKED, NOTICE_AT, REPRIEVE, Case, Process, check, free_port

NOTICED = 1  # the member whose machine is taken away


class GangCase(Case):
    """`members` nodes with one rank each. The page of the frameworks has no row for it. `options`: of `run`, behind --gang auto; None: neither. What rank 0 prints is the curve."""

    on_page = False

    def __init__(self, name, title, script, members, options=(), apart=False, **more):
        super().__init__(name, title, "torch", script, ["torch"], "torchrun", "SIGTERM", **more)
        self.members, self.options, self.apart, self.machines = members, options, apart, None

    def node(self, member, port, directory, pause):
        return [self.python, "-m", "torch.distributed.run", "--nnodes", self.members, "--node-rank", member, "--master-addr",
                self.machines.address(0) if self.machines else "127.0.0.1", "--master-port", port, "--nproc-per-node", "1", *self.words(directory, pause)[1:]]

    def start(self, name, pause, notice=None):
        port, processes = free_port(), []
        for member in range(self.members):
            directory = self.path / f"{name}.d{member}"
            words, environment = self.node(member, port, directory, pause), self.environment()
            if self.machines:
                environment["GLOO_SOCKET_IFNAME"] = "eth0"  # else by the machine's name, which is in no directory
            if name != "alone":
                events = self.path / f"{name}-{member}.events"
                words = [REPRIEVE, "run", "--store", f"file://{self.path}/store", "--job", "job", "--checkpoint-dir", directory,
                         "--events", events, *(["--gang", "auto", *self.options] if self.options is not None else []),
                         *(["--notice", f"file:{notice}"] if notice and member == NOTICED else []), "--", *words]
            if self.machines:
                words = self.machines.on(member, words)
            processes.append(Process(self, f"{name}-{member}", words, environment))
        return processes

    def wait_all(self, processes):
        try:
            return [process.wait() for process in processes]
        finally:
            for process in processes:
                process.kill_everything()

    def prove(self, path):
        self.path = path
        path.mkdir(parents=True)
        if not self.apart:
            return self.prove_here()
        self.machines = Machines(self.members)
        try:
            return self.prove_here()
        finally:
            self.machines.stop()

    def prove_here(self):
        alone = self.start("alone", 0)
        check(self.wait_all(alone) == [0] * self.members, "by itself it does not end well", *alone)
        curve = alone[0].losses
        check(max(curve, default=0) > NOTICE_AT * 2 and len(curve) == max(curve), "by itself it does not train", *alone)
        first = self.preempt_one()
        second = self.start("resumed", 0)
        check(self.wait_all(second) == [0] * self.members, "they do not all resume and end well", *first, *second)
        return self.judge_all(curve, first, second)

    def preempt_one(self):
        notice = self.path / "notice"
        first = self.start("preempted", 0.2, notice)
        try:
            first[0].wait_for("in the middle of the training", lambda: max(first[0].losses, default=0) >= NOTICE_AT)
            first[0].wait_for("a durable snapshot", lambda: first[0].all_events("durable"))
            notice.with_suffix(".part").write_text(json.dumps({"reason": "the machine is taken away", "in_seconds": DEADLINE_ASKED}))
            os.rename(notice.with_suffix(".part"), notice)
            for process in first:
                process.code = process.wait(DEADLINE_ASKED + 30)
        finally:
            for process in first:
                process.kill_everything()
            notice.unlink(missing_ok=True)
        return first

    def newest(self):
        listed = subprocess.run([REPRIEVE, "list", "--json", "--store", f"file://{self.path}/store", "--job", "job"], check=True,
                                stdout=subprocess.PIPE).stdout
        return next(snapshot for snapshot in json.loads(listed)["snapshots"] if snapshot.get("newest"))

    def judge_all(self, curve, first, second):
        codes, last = [process.code for process in first], max(first[0].losses)
        check(codes == [75] * self.members, f"exit codes {codes} instead of 75 of all", *first)
        durable = {process.all_events("durable")[-1]["id"] for process in first if process.all_events("durable")}
        restored = {event["id"] for process in second for event in process.all_events("restored")}
        check(len(restored) == 1 and all(process.all_events("restored") for process in second), f"not all have restored one: {restored}", *second)
        check(durable == restored, f"{durable} were durable, and {restored} restored", *first, *second)
        resumed, steps = second[0].resumed_from, max(curve)
        check(0 < resumed <= last, f"they resumed from step {resumed} of {last}", *first, *second)
        check(min(second[0].losses) == resumed + 1 and max(second[0].losses) == steps, "steps are missing after the resume", *second)
        wrong = [step for process in (first[0], second[0]) for step, loss in process.losses.items() if not self.same(curve[step], loss)]
        check(not wrong, f"the losses differ at steps {sorted(wrong)[:5]}", {step: curve[step] for step in wrong[:5]}, *second)
        lost = last - resumed
        check(lost <= self.most_lost, f"{lost} steps are lost", *first, *second)
        asked = next((process.all_events("asked")[0] for process in first if process.all_events("asked")), None)
        check(asked, "none was asked", *first)
        equal = "yes, bit for bit" if not self.near else f"yes, within {self.near:g}"
        return [asked["signal"] or asked["how"], f"all of {self.members} members", "75", f"{lost} of {last}", equal]
