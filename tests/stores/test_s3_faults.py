"""What a store may do to us, one file in faults/ for each, and what the user sees then. Its form is fault_server.py's, and besides:

	"phases"        those of PHASES that are tried; default: all
	"fails"         {phase: pattern}: it cannot succeed, and the one line that says so
	"says"          {phase: pattern}: it succeeds, but this has to be said
	"either"        [phase, ...]: it may succeed or fail
	"afresh"        true: the job may begin afresh, since nothing in the store is sound as it is read
	"credentials"   "renewed": FIRST, and then SECOND, from a credential_process
	"environment"   more of it

Whatever the phase's end: what was committed before is there and comes back byte for byte; what was called saved is there, too; what
cannot be restored does not appear; and a job that runs goes on to its own end.
"""
import filecmp
import json
import os
import random
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fault_server import FaultServer
from harness import EXIT_CONFIGURATION, EXIT_OURS, PYTHON, SAVER, Place, one_line
from s3_memory import S3Memory
from test_faults import OFTEN, committed_step, finish, resumed_step

FAULTS = Path(__file__).resolve().parent / "faults"
PHASES = ("save", "list", "restore", "run", "running")
STORE = "s3://snaps/team a/run+7=x"
FIRST = "000001-000001"
ENDS = 400  # seconds after which a run counts as hung: with a store that never answers, the last tries take minutes
AT_ONCE = 40  # nearly all of the time is waiting between tries
PATIENCE = "4s"  # where trying again is in vain
AMPLE = "2m"  # where it must succeed in the end, on a machine that is busy with all the others, too
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FAULTS.glob("*.json"))}
# Said besides: how far it is, where the store is, and what is passed over before the end.
BESIDES = re.compile(r"^reprieve: ((saving|restoring)[^\n]*: [^\n]* of |store [^\n]*, credentials: "
                     r"|warning: store [^\n]* so far: it is tried for |(warning: )?snapshot [^\n]* is damaged[:,] )[^\n]*\n", re.M)
# Its first saves, and the others when the trouble has begun.
GOES_ON = '"$0" "$1" --steps 4 --pause 0.4 && while [ ! -e go ]; do sleep 0.1; done && exec "$0" "$1" --steps 8 --pause 0.4'
PARAMETERS = [(name, phase) for name, case in CASES.items() for phase in case.get("phases", PHASES)]


class Trial:
    """One phase of one case, with a server and a store of its own."""

    def __init__(self, case, phase, memory, path):
        self.case, self.phase = case, phase
        self.server = FaultServer(memory=memory.copy())
        environment = {**self.server.environment, **case.get("environment", {})}
        if phase in case.get("fails", {}) or phase in case.get("says", {}):
            environment["REPRIEVE_STORE_PATIENCE"] = PATIENCE
        elif phase not in case.get("either", []):
            environment["REPRIEVE_STORE_PATIENCE"] = AMPLE
        if case.get("credentials") == "renewed":
            environment.update(renewed_credentials(path))
            del environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]
        self.place = Place(path, "job" if phase.startswith("run") else "files", STORE, environment)

    @property
    def must_fail(self):
        return self.case.get("fails", {}).get(self.phase)

    def check_words(self, code, text):
        """Success where there has to be one, or one line with the cause."""
        says = self.case.get("says", {}).get(self.phase)
        if code == 0:
            assert not self.must_fail, f"it should have failed:\n{text}"
            assert not says or re.search(says, text), f"{says!r} is not said in:\n{text}"
            return
        if self.phase not in self.case.get("either", []):
            assert self.must_fail, f"exit {code}:\n{text}"
        line = one_line(BESIDES.sub("", text))
        assert re.search(self.must_fail or "", line), f"{self.must_fail!r} is not in: {line}"

    def check_used(self):
        assert "ahead" in self.case or any(rule.used for rule in self.server.rules), "no request met any of the rules"

    def faults_begin(self):
        self.server.load(self.case)

    def faults_end(self):
        self.check_used()
        self.server.behave()

    def try_save(self):
        self.faults_begin()
        result = self.place.verb("save", write_files(self.place.path / "second", 2))
        self.faults_end()
        self.check_words(result.code, result.err)
        states = {snapshot["id"]: snapshot["state"] for snapshot in self.place.snapshots()}
        newest = self.place.newest()["id"]
        assert states[FIRST] == "good" and len(states) <= 2
        assert newest != FIRST or result.code != 0, "it was called saved, and is not there"
        for name in states:
            self.check_restored(name, 1 if name == FIRST else 2)
        assert self.place.verb("verify").code == 0

    def check_restored(self, name, which):
        target = self.place.path / f"check-{name}"
        assert self.place.verb("restore", name, target).code == 0
        assert same_files(target, write_files(self.place.path / f"as-{which}", which)), f"{name} is not what was saved"

    def try_list(self):
        self.faults_begin()
        result = self.place.verb("list", "--json")
        self.faults_end()
        self.check_words(result.code, result.err)
        assert (FIRST in result.out) == (result.code == 0), result

    def try_restore(self):
        self.faults_begin()
        target = self.place.path / "out"
        result = self.place.verb("restore", "latest", target)
        self.faults_end()
        self.check_words(result.code, result.err)
        assert target.exists() == (result.code == 0), "a directory that is not whole, or none at all"
        if result.code == 0:
            assert same_files(target, write_files(self.place.path / "as-1", 1))
        self.check_restored(FIRST, 1)

    def try_run(self):
        """The store is in trouble before the job starts, and stays so."""
        self.faults_begin()
        run = self.place.run(PYTHON, SAVER, "--steps", 4, "--pause", "0.4", options=OFTEN)
        code = run.wait(ENDS)
        self.faults_end()
        self.check_words(code, run.err)
        if code == 0:
            step = resumed_step(run)
            assert step == 2 or self.case.get("afresh"), f"resumes {step}, and 2 was committed\n{run}"
            assert "finished 4" in run.out
        else:
            assert run.out == "" and code in (EXIT_CONFIGURATION, EXIT_OURS), run
        if self.case.get("marked"):
            # It was found damaged, and is whole again: the next start goes on from it all the same.
            assert resumed_step(finish(self.place, self.place.path / "next", 2)) == 2
        self.check_committed(2 if code or "run" in self.case.get("says", {}) else 4)

    def try_running(self):
        """The trouble begins when the job runs: it comes to its own end, whatever becomes of its checkpoints."""
        run = self.place.run("sh", "-c", GOES_ON, PYTHON, SAVER, options=OFTEN)
        run.wait_for_event("durable")
        self.faults_begin()
        (self.place.path / "go").touch()
        before = max(event["step"] for event in run.events("durable"))
        code = run.wait(ENDS)
        self.faults_end()
        assert code == 0 and "finished 8" in run.out, run
        self.check_words(code, run.err)
        self.check_committed(before if "running" in self.case.get("says", {}) else 8)

    def check_committed(self, least):
        committed = committed_step(self.place)
        assert committed >= least, f"step {committed} is the newest in the store, and {least} should be"
        assert resumed_step(finish(self.place, self.place.path / "next", 1)) == committed

    def end(self):
        self.place.end()
        self.server.close()


def renewed_credentials(path):
    script, config = path / "credentials.sh", path / "aws-config"
    script.write_text('mkdir "$0.first" 2>/dev/null && key=FIRST || key=SECOND\n'
                      'echo "{\\"Version\\": 1, \\"AccessKeyId\\": \\"$key\\", \\"SecretAccessKey\\": \\"x\\"}"\n')
    config.write_text(f"[default]\ncredential_process = /bin/sh {script}\n")
    return {"AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": str(path / "none")}


def write_files(path, which):
    """Two versions of a directory; the larger file is not the same in them."""
    if not path.exists():
        path.mkdir()
        (path / "weights").write_bytes(random.Random(which).randbytes(9_000_000))
        (path / "state").write_text(f"version {which}\n")
        (path / "same").write_bytes(random.Random(0).randbytes(300_000))
    return path


def same_files(one, other):
    names = sorted(os.listdir(one))
    return names == sorted(os.listdir(other)) and filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


@pytest.fixture(scope="session")
def used_store(tmp_path_factory):
    """A store with one snapshot of the files, and a job's two checkpoints."""
    path = tmp_path_factory.mktemp("used")
    memory = S3Memory(page=5)
    memory.buckets["snaps"] = {}
    server = FaultServer(memory=memory)
    place = Place(path, "files", STORE, server.environment)
    assert place.verb("save", write_files(path / "first", 1)).code == 0
    place.job = "job"
    run = place.run(PYTHON, SAVER, "--steps", 2, "--pause", "0.4", options=OFTEN)
    assert run.wait() == 0 and committed_step(place) == 2, run
    server.close()
    return memory


def perform(name, phase, memory, path):
    trial = Trial(CASES[name], phase, memory, path)
    try:
        getattr(trial, f"try_{phase}")()
    finally:
        trial.end()


@pytest.fixture(scope="session")
def trials(request, used_store, tmp_path_factory):
    """All that were selected, at once: (case, phase) -> its future."""
    chosen = [item.callspec.params for item in request.session.items if item.name.startswith("test_fault[")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {(one["name"], one["phase"]): pool.submit(perform, one["name"], one["phase"], used_store,
                                                       tmp_path_factory.mktemp(f"{one['name']}-{one['phase']}"))
               for one in chosen}


@pytest.mark.parametrize("name, phase", PARAMETERS, ids=["-".join(parameter) for parameter in PARAMETERS])
def test_fault(trials, name, phase):
    trials[name, phase].result()
