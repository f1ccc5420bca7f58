"""A file system that several machines see, as the store and as the checkpoint directory: two mounts of one server stand for two machines.
What one has written the other learns of only by asking the server; names are taken, and locks are held, by the server alone.
"""
import json

import pytest
from fixtures import serve
from gang import Gang, assert_not_torn
from gluster import Gluster
from harness import PYTHON, SAVER, Place
from test_faults import resumed_step
from test_two_starts import start_two_at_once


@pytest.fixture(scope="module")
def network():
    yield from serve(Gluster)


@pytest.fixture(scope="module")
def machines(network):
    return network.mount(), network.mount()


class Shared(Place):
    """A place whose store is on the first machine's mount. `store_on` says how another machine calls it."""

    def __init__(self, path, mounts, name):
        super().__init__(path, store=f"file://{mounts[0]}/{name}")
        self.name, self.store_path = name, mounts[0] / name

    def store_on(self, mount):
        return f"file://{mount}/{self.name}"


@pytest.fixture
def shared(tmp_path, machines, request):
    place = Shared(tmp_path, machines, request.node.name)
    yield place
    place.end()


def test_the_next_machine_goes_on(shared, machines, tmp_path):
    """The first one is lost without a word. What was durable there is what the other starts from."""
    first = shared.run(PYTHON, SAVER, "--every", "5", options=("--snapshot-interval", "0"))
    first.wait_for_event("durable", 3)
    first.kill()
    newest = shared.newest()
    second = shared.run(PYTHON, SAVER, "--steps", str(newest["step"] + 20), directory=tmp_path / "other", store=shared.store_on(machines[1]))
    assert second.wait() == 0, second
    assert resumed_step(second) == newest["step"], f"{newest}\n{second}"
    assert shared.verb("verify").code == 0


def test_a_name_is_for_one_of_them(shared, machines):
    """Both start the job at once, from the two mounts, again and again: no attempt is had by two, and none is lost."""
    start_two_at_once(shared, [shared.store_on(mount) for mount in machines], rounds=5)


def test_a_directory_that_two_members_see(shared, machines):
    """It is found to be one directory although it is called by two names: one of them restores and saves it, for both."""
    gang = Gang(shared, 2, directories=[mount / "checkpoints-of-both" for mount in machines], every=10, keep=100000, steps=60).start_all()
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert_not_torn(gang)
    assert "this one restores and saves it for all" in gang.runs[0].err, f"{gang}"
    newest = sorted(shared.store_path.glob("jobs/job/snapshots/*.json"))[-1]
    parts = json.loads(newest.read_text().splitlines()[1])["parts"]
    assert parts[1]["keeper"] == 0 and parts[1]["files"] == 0, parts
    assert shared.newest()["step"] == 60


def test_a_run_on_another_machine_holds_the_directory(shared, machines):
    """The lock on a checkpoint directory is the server's: a second run from another machine is refused."""
    directory = machines[0] / "held"
    first = shared.run(PYTHON, SAVER, "--pause", "1", "--keep", "100", directory=directory)
    first.wait_for_event("durable", 1)
    second = shared.run(PYTHON, SAVER, directory=machines[1] / "held", store=f"file://{shared.path}/store", options=("--take-over",))
    assert second.wait() == 70, second
    assert "in use" in second.err or "held" in second.err, second
    first.wait_for_event("durable", 2)


@pytest.mark.long
def test_what_lives_for_a_moment(shared, machines):
    """A job that saves 25 times a second and keeps three: each is gone before the directory would be looked through again."""
    run = shared.run(PYTHON, SAVER, directory=machines[0] / "often", options=("--snapshot-interval", "0"))
    run.wait_for_event("durable", 5)
