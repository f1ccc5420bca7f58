"""Who is a member of a gang: by the launcher alone, or by options; and what becomes of one that cannot know it."""
import json
import shutil
import socket
import subprocess

import harness
import pytest
from gang import RANK, Gang, assert_not_torn, committed_step
from harness import PYTHON, wait_for

HOST = socket.gethostname()


def step_of(nodes, node, tasks=None, task=None):
    return {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": str(nodes), "SLURM_STEP_NUM_TASKS": str(tasks or nodes),
            "SLURM_NODEID": str(node), "SLURM_PROCID": str(node if task is None else task)}


def test_the_launcher_makes_a_gang_without_options(place):
    gang = Gang(place, 2, given=None, steps=20, every=10)
    for node in range(2):
        gang.start(node, **step_of(2, node))
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert place.newest()["members"] == 2 and committed_step(place) == 20
    for node, run in enumerate(gang.runs):
        said = f"member {node} of a gang of 2 (SLURM_STEP_NUM_NODES and SLURM_NODEID): one checkpoint of all; with --gang off"
        assert said in run.err, f"{run}"


ONE_NODE = {
    "srun": step_of(1, 0),
    "srun with tasks": step_of(1, 0, 4, 3),
    "torchrun's rank": {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none"},
    "mpirun": {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"},
    "PyTorchJob": {"PET_NNODES": "1", "PET_NODE_RANK": "0", "WORLD_SIZE": "1", "RANK": "0"},
    "an indexed Job": {"JOB_COMPLETION_INDEX": "3"},
    "nodes, and --gang off": {**step_of(4, 2), "REPRIEVE_GANG": "off"},
}


@pytest.mark.parametrize("launcher", ONE_NODE)
def test_one_machine_is_none(place, launcher):
    """Nothing in the store tells that gangs exist."""
    run = place.run(PYTHON, RANK, "--dir", place.directory, "--meet", place.path / "meet", "--rank", "0", "--ranks", "1", "--steps", "20",
                    **ONE_NODE[launcher])
    assert run.wait() == 0, f"{run}"
    top = place.store_path / "jobs/job"
    assert {path.name for path in top.iterdir()}.isdisjoint({"gang", "parts"})
    assert next((top / "snapshots").iterdir()).read_text().startswith('{"reprieve":"snapshot","version":3,')
    claim = json.loads((top / "attempts/000001.json").read_text().splitlines()[1])
    assert "gang" not in claim["about"]
    assert ("no gang: JOB_COMPLETION_INDEX says which machine this is" in run.err) == (launcher == "an indexed Job"), f"{run}"
    assert "member" not in run.err or launcher == "an indexed Job", f"{run}"


def test_without_a_store_that_all_reach_each_machine_is_a_job_of_its_own(place):
    alone = place.query("run", "--job", "j", "--checkpoint-dir", place.directory, "--", "true",
                        XDG_STATE_HOME=str(place.path / "state"), **step_of(2, 1))
    assert alone.code == 0 and "no gang: a gang of 2 machines needs a store that all reach: give --store URL" in alone.err, alone


def test_members_that_look_for_each_other_elsewhere_are_told(place):
    """A script that gives each task a job of its own, from before there were gangs."""
    gang = Gang(place, 2, given=None, options=("--join-time", "9s"))
    for node in range(2):
        gang.options = ("--join-time", "9s", "--job", f"task-{node}")
        gang.start(node, **step_of(2, node))
    for node, run in enumerate(gang.runs):
        assert run.wait() == harness.EXIT_OURS
        for said in (f"waiting for member {1 - node} (", f"member {1 - node} has not ("):
            assert said in run.err and "with --gang off each machine is a job of its own" in run.err.split(said)[1], f"{run}"


def joins(place, member):
    return list(place.store_path.glob(f"jobs/job/gang/000000/join-{member:05}-*"))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("what", ["beyond", "contradicted"])
def test_one_that_cannot_know_its_number_is_an_error_of_all(place, first, what):
    gang = Gang(place, 3, steps=20, every=10)

    def start_wrong():
        options, environment, said = (("--gang", "3", "--member", "5"), {}, "--member says that this is machine 5, but there are only 3")
        if what == "contradicted":
            options, said = (), "SLURM_STEP_NUM_NODES says that the job has 3 machines, and PET_NNODES says 4"
            environment = {**step_of(3, 2), "PET_NNODES": "4", "PET_NODE_RANK": "2"}
        wrong = place.query("run", "--job", "job", "--store", place.store, "--checkpoint-dir", place.path / "wrong", *options, "--", "true",
                            **environment)
        assert wrong.code == harness.EXIT_USAGE and said in wrong.err, wrong
        return said

    if first:
        said = start_wrong()
    for member in range(2):
        gang.start(member)
        wait_for("it has joined", lambda member=member: joins(place, member), process=gang.runs[member].process)
    if not first:
        said = start_wrong()
    for run in gang.runs[:2]:
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{gang}"
        assert f"not started: {HOST} cannot take part: {said}" in run.err, f"{run}"
    # It is put right.
    again = Gang(place, 3, 2, steps=20, every=10).start_all()
    assert [run.wait() for run in again.runs] == [0, 0, 0], f"{again}"
    assert_not_torn(again)


@pytest.mark.parametrize("late", [0, 3])
def test_another_number_of_members_is_an_error_of_all(place, late):
    """Whoever of them has come first."""
    gang = Gang(place, 4)
    order = [member for member in range(4) if member != 2]
    order.insert(late, 2)
    for member in order:
        if member == 2:
            gang.runs[2] = Gang(place, 3, 2).start(2)
        else:
            gang.start(member)
        wait_for("it has joined", lambda member=member: joins(place, member), process=gang.runs[member].process)
    for member, run in enumerate(gang.runs):
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{gang}"
        assert f"here the gang has {3 if member == 2 else 4} members, and at member " in run.err and f"on {HOST}" in run.err, f"{run}"


def test_two_machines_with_one_number_are_an_error_of_all(place):
    """Given by hand: neither has taken the place of the other, since both live and began together."""
    wrapper = ("unshare", "--uts", "--map-root-user", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh")
    if not shutil.which("unshare") or subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("no name can be given to a machine here")
    gang = Gang(place, 3)
    other = Gang(place, 3, 2, directories=[place.path / f"other{i}" for i in range(3)])
    other.wrappers[1] = wrapper
    gang.start(0)
    gang.start(1)
    wait_for("it has joined", lambda: joins(place, 1), process=gang.runs[1].process)
    other.start(1)
    for run in (gang.runs[0], gang.runs[1], other.runs[1]):
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{run}"
        assert HOST in run.err and "elsewhere" in run.err and "both say that they are member 1 of this gang" in run.err, f"{run}"
    again = Gang(place, 3, 3, steps=20, every=10).start_all()
    assert [run.wait() for run in again.runs] == [0, 0, 0], f"{again}"
