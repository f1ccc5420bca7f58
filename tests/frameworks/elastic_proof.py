"""An elastic torchrun of two nodes as a gang with --on-preemption continue. One node gets a notice and leaves; torchrun forms the other
one anew, which goes on from the checkpoint of both, alone, and its snapshots are durable without the one that has gone. Then both are
started anew, in empty directories, and go on from that."""
from gang_proof import NOTICED, GangCase
from proof import REPRIEVE, Process, check, free_port

STEPS, PAUSE = 4000, 0.05
LEAVES_AT = 25  # a step
MORE = 3  # snapshots that are durable without the one that has gone


class ElasticCase(GangCase):
    def node(self, member, port, directory, pause):
        """The rendezvous is on node 0, which stays."""
        return [self.python, "-m", "torch.distributed.run", "--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "3", "--rdzv-backend", "c10d",
                "--rdzv-id", "elastic", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-conf", f"is_host={int(member == 0)},last_call_timeout=3",
                *self.command[1:], "--dir", directory, "--every", self.every, "--pause", pause, "--steps", STEPS]

    def start(self, name, pause, notice=None):
        port, processes = free_port(), []
        for member in range(self.members):
            directory = self.path / f"{name}.d{member}"
            words = [REPRIEVE, "run", "--store", f"file://{self.path}/store", "--job", "job", "--checkpoint-dir", directory, "--events",
                     self.path / f"{name}-{member}.events", "--gang", self.members, "--member", member, *self.options, "--",
                     *self.node(member, port, directory, pause)]
            processes.append(Process(self, f"{name}-{member}", words, self.environment()))
        return processes

    def prove_here(self):
        first = self.start("first", PAUSE)
        try:
            stays, leaves = first[1 - NOTICED], first[NOTICED]
            stays.wait_for("in the middle of the training", lambda: max(stays.losses, default=0) >= LEAVES_AT)
            stays.wait_for("a durable snapshot", lambda: stays.all_events("durable"))
            leaves.process.terminate()
            code = leaves.wait(120)
            check(code == 75, f"it leaves with {code} instead of 75", *first)
            answer = leaves.all_events("durable")[-1]
            stays.wait_for("the other one knows that it has gone", lambda: "has gone" in stays.err)
            stays.wait_for("torchrun forms it anew", lambda: stays.resumed_from)
            resumed = stays.resumed_from
            check(resumed >= answer["step"], f"it goes on from step {resumed}, and {answer['step']} is durable", *first)
            stays.wait_for("it is durable alone", lambda: len([event for event in stays.all_events("durable") if event["step"] > resumed]) >= MORE)
            check(stays.process.poll() is None and not stays.all_events("notice"), "the other one does not go on undisturbed", *first)
            newest = self.newest()
            check(newest["members"] == self.members and newest["members_without_checkpoint"] == 1, f"the newest snapshot is {newest}", *first)
        finally:
            for process in first:
                process.kill_everything()
        return self.start_anew(first, resumed)

    def start_anew(self, first, resumed):
        step = self.newest()["step"]
        second = self.start("second", PAUSE)
        try:
            for process in second:
                process.wait_for("both go on", lambda process=process: process.resumed_from)
                process.wait_for("they train", lambda process=process: max(process.losses, default=0) > process.resumed_from + 1)
            check({process.resumed_from for process in second} == {step}, f"not all have resumed from step {step}", *first, *second)
        finally:
            for process in second:
                process.kill_everything()
        asked = first[NOTICED].all_events("asked")
        check(asked, "it was not asked", *first)
        return [asked[0]["signal"] or asked[0]["how"], "the others go on", "75", f"0 of {resumed}", "not compared"]
