"""A gang for the tests: the members of one start, as a launcher starts them, each a process with a checkpoint directory of its own."""
import re

import harness
from harness import PYTHON, wait_for

RANK = str(harness.ROOT / "tests" / "e2e" / "gang_rank.py")


class Gang:
    """The members of one start, as a launcher starts them."""

    def __init__(self, place, members, generation=1, options=(), directories=None, given=True, command=None, **rank):
        self.place, self.members, self.generation = place, members, generation
        self.options, self.rank = options, rank
        self.command = command  # of all, instead of a rank that trains
        self.given = given  # else --gang auto: the launcher says it in the environment; None: and there is no option
        self.each = [{} for _ in range(members)]  # more options of one rank
        self.directories = directories or [place.path / f"machine{i}" for i in range(members)]
        self.wrappers = [()] * members  # what the supervisor of one is started by
        self.runs = [None] * members

    def start(self, member, **environment):
        rank = [word for name, value in {**self.rank, **self.each[member]}.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        directory = self.directories[member]
        identity = ("--gang", str(self.members), "--member", str(member)) if self.given else () if self.given is None else ("--gang", "auto")
        command = self.command or (PYTHON, RANK, "--dir", directory, "--meet", self.place.path / "meet", "--rank", member, "--ranks", self.members, *rank)
        self.runs[member] = self.place.run(
            *command, directory=directory, name=f"start{self.generation}-member{member}",
            options=(*identity, "--snapshot-interval", "0", *self.options), wrapper=self.wrappers[member],
            **environment)
        return self.runs[member]

    def start_all(self):
        for member in range(self.members):
            self.start(member)
        return self

    def kill_all(self):
        for run in self.runs:
            if run:
                run.kill()  # also the rank of a supervisor that is dead already

    def wait_for_commits(self, count):
        for run in self.runs:
            run.wait_for_event("durable", count)

    def resumed(self):
        """The step from which each member has resumed; all have to say it."""
        def step(run):
            found = re.search(r"^resumed (\d+)$", run.out, re.M)
            return found and found.group(1)
        return [int(wait_for("a member resumes", lambda: step(run), process=run.process, about=run)) for run in self.runs]

    def __str__(self):
        return "\n".join(f"=== {run.out_path.name}\n{run.err}" for run in self.runs if run)


def committed_step(place):
    newest = place.newest()
    return newest["step"] if newest else 0


def assert_resumed(gang, step):
    """All from the newest snapshot: that of `step`, or one of which the parts of all were there, so that the start has committed it."""
    steps = gang.resumed()
    finished = "committed snapshot" in gang.runs[0].err
    assert set(steps) == {step} or (finished and len(set(steps)) == 1 and steps[0] > step), f"{steps} instead of {step}\n{gang}"


def assert_not_torn(gang):
    for run in gang.runs:
        assert "TORN" not in run.out, f"{run}"
