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


# The name of the job that was called "job" on the command line.
ONE_NODE = {
    "srun": (step_of(1, 0), "job"),
    "torchrun's rank": ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none"}, "job-3"),
    "nodes, and --gang off": ({**step_of(4, 2), "REPRIEVE_GANG": "off"}, "job"),
    "tasks, and --gang off": ({**step_of(1, 0, 4, 3), "REPRIEVE_GANG": "off"}, "job"),
}


@pytest.mark.parametrize("launcher", ONE_NODE)
def test_one_machine_is_none(place, launcher):
    """Nothing in the store tells that gangs exist."""
    environment, name = ONE_NODE[launcher]
    run = place.run(PYTHON, RANK, "--dir", place.directory, "--meet", place.path / "meet", "--rank", "0", "--ranks", "1", "--steps", "20",
                    **environment)
    assert run.wait() == 0, f"{run}"
    top = place.store_path / "jobs" / name
    assert {path.name for path in top.iterdir()}.isdisjoint({"gang", "parts"})
    assert next((top / "snapshots").iterdir()).read_text().startswith('{"reprieve":"snapshot","version":3,')
    claim = json.loads((top / "attempts/000001.json").read_text().splitlines()[1])
    assert "gang" not in claim["about"]
    said = f"this goes on as job {name} (--gang auto: one training; --gang off: the name as it is)"
    assert (said in run.err) == ("no gang: " in run.err) == (name == "job-3"), f"{run}"


TOGETHER = {
    "tasks of two nodes": ["true"],
    "a training on each of two": ["torchrun", "--nnodes=1"],
    "tasks of one node": ["true"],
    "a launcher on each": ["ray", "start"],
}


@pytest.mark.parametrize("what", TOGETHER)
def test_what_one_launcher_starts_never_has_one_name(place, what):
    """All at once, under one --job: each has its own work in the store."""
    count = 4 if "tasks" in what else 2
    wrapper = place.path / TOGETHER[what][0]
    wrapper.write_text('#!/bin/sh\nmkdir -p "$DIR/step-1" && echo "$OWN" > "$DIR/step-1/w"\n')
    wrapper.chmod(0o755)

    runs = []
    for i in range(count):
        environment = step_of(1 if "one node" in what else 2, i * 2 // count, count, i)
        if "launcher" in what:
            environment = {"SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_RANK": str(i), "SKYPILOT_TASK_ID": "sky"}
        directory = place.path / f"dir{i}"
        runs.append(place.run(wrapper, *TOGETHER[what][1:], directory=directory, DIR=str(directory), OWN=str(i), **environment))
    assert [run.wait() for run in runs] == [0] * count, "\n".join(map(str, runs))
    names = [f"job-{i}" for i in range(count)]
    names[0] = "job" if "launcher" in what else names[0]
    assert {path.name for path in (place.store_path / "jobs").iterdir()} == set(names)
    for i, name in enumerate(names):
        back = place.query("restore", "--store", place.store, "--job", name, "latest", place.path / f"back{i}")
        assert back.code == 0, back
        assert (place.path / f"back{i}/step-1/w").read_text() == f"{i}\n"
        assert not list((place.store_path / "jobs" / name / "attempts").glob("000002*"))


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
        assert run.wait() == harness.EXIT_DURABLE
        for said in (f"waiting for member {1 - node} (", f"member {1 - node} has not ("):
            assert said in run.err and "with --gang off each machine is a job of its own" in run.err.split(said)[1], f"{run}"


def joins(place, member):
    return list(place.store_path.glob(f"jobs/job/gang/000000/join-{member:05}-*"))


def refused_joins(store):
    return list(store.glob("jobs/*/gang/*/join-*-refused*"))


WRONG = {**step_of(3, 2), "PET_NNODES": "4", "PET_NODE_RANK": "2"}
CONTRADICTION = "SLURM_STEP_NUM_NODES says that the job has 3 machines, and PET_NNODES says 4"


def ask_in_vain(place, *options, **environment):
    command = () if "--" in options else ("--", "true")
    return place.query("run", "--job", "job", "--store", place.store, "--checkpoint-dir", place.path / "wrong", *options, *command,
                       **environment)


@pytest.mark.parametrize("first", [True, False])
def test_one_that_was_asked_and_cannot_know_its_number_is_an_error_of_all(place, first):
    """Of those of its own launch, whoever of them has come first."""
    gang = Gang(place, 3, given=False, steps=20, every=10)
    if first:
        gang.start(2, **WRONG)
    for member in range(2):
        gang.start(member, **step_of(3, member))
        if not first:
            wait_for("it has joined", lambda member=member: joins(place, member), process=gang.runs[member].process)
    wrong = gang.runs[2] or gang.start(2, **WRONG)
    assert wrong.wait() == harness.EXIT_CONFIGURATION and CONTRADICTION in wrong.err, f"{wrong}"
    for run in gang.runs[:2]:
        assert run.wait() == harness.EXIT_CONFIGURATION, f"{gang}"
        assert f"not started: {HOST} cannot take part: {CONTRADICTION}" in run.err, f"{run}"
    # It is put right, and all are started again.
    again = Gang(place, 3, 2, given=False, steps=20, every=10)
    for member in range(3):
        again.start(member, **step_of(3, member), SLURM_RESTART_COUNT="1")
    assert [run.wait() for run in again.runs] == [0, 0, 0], f"{again}"
    assert_not_torn(again)


@pytest.mark.parametrize("what", ["by hand", "another launch", "nobody there"])
def test_a_mistake_ends_no_other_start_and_puts_nothing_into_a_store(place, what):
    by_hand = what == "by hand"
    gang = Gang(place, 2, given=by_hand, steps=20, every=10)
    environment = {} if by_hand else {**WRONG, "SLURM_JOB_ID": "8"}
    options = ("--gang", "2", "--member", "5") if by_hand else ("--gang", "auto")
    if what != "nobody there":
        gang.start(0, **({} if by_hand else step_of(2, 0)))
        wait_for("it has joined", lambda: joins(place, 0), process=gang.runs[0].process)
    wrong = ask_in_vain(place, *options, **environment)
    assert wrong.code == harness.EXIT_CONFIGURATION, wrong
    assert ("there are only 2" if by_hand else CONTRADICTION) in wrong.err, wrong
    assert refused_joins(place.store_path) == []
    if what == "nobody there":
        assert not place.store_path.exists()
        return
    # Nor has it said of its launch that it has begun.
    assert len(list(place.store_path.glob("jobs/job/gang/launch-*"))) == (0 if by_hand else 1)
    gang.start(1, **({} if by_hand else step_of(2, 1)))
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"


def test_a_contradiction_at_one_member_is_an_error_of_all(place):
    """Of a launcher, and nobody has asked for a gang: a rank that is the same on all."""
    gang = Gang(place, 2, given=None, steps=20, every=10)
    gang.start(0, **step_of(2, 0))
    wait_for("it has joined", lambda: joins(place, 0), process=gang.runs[0].process)
    wrong = ask_in_vain(place, "--", "torchrun", "--nnodes=2", "--node-rank=0", **step_of(2, 1))
    said = "SLURM_NODEID says that this is machine 1, and --node-rank says 0"
    assert wrong.code == harness.EXIT_CONFIGURATION and said in wrong.err, wrong
    assert gang.runs[0].wait() == harness.EXIT_CONFIGURATION
    assert f"not started: {HOST} cannot take part: {said}" in gang.runs[0].err, f"{gang}"


def test_without_an_index_nothing_is_started(place):
    """Two of them would have one name."""
    refused = ask_in_vain(place, "--", "torchrun", "--nnodes=2", "--rdzv-backend=c10d", "train.py")
    assert refused.code == harness.EXIT_CONFIGURATION and "--nnodes says that the job has 2 machines, but not which one this is" in refused.err
    assert "--gang off" in refused.err and not place.store_path.exists(), refused


@pytest.mark.parametrize("what", ["tasks", "launcher"])
def test_what_is_not_certain_is_no_gang_by_default(place, what):
    """The job runs, at once, and one line says what it is."""
    command, environment, said = ["true"], step_of(2, 1, 4, 3), "the 4 of SLURM_STEP_NUM_TASKS are machines of one job is not certain"
    instead = "this goes on as job job-3 (--gang auto"
    if what == "launcher":
        command, environment = [place.path / "mpirun"], {"AWS_BATCH_JOB_NUM_NODES": "2", "AWS_BATCH_JOB_NODE_INDEX": "0"}
        command[0].write_text("#!/bin/sh\nexit 0\n")
        command[0].chmod(0o755)
        said, instead = "mpirun starts the job on all machines", "one supervisor stands for all of them"
    run = place.run(*command, **environment)
    assert run.wait() == 0, f"{run}"
    assert run.err.count("no gang: ") == 1 and said in run.err and instead in run.err, f"{run}"
    # Who asks for it waits for the others, or hears what is wrong.
    asked = place.run(*command, options=("--gang", "auto", "--join-time", "1s"), **environment)
    assert asked.wait() == harness.EXIT_DURABLE and "has not (" in asked.err, f"{asked}"


SUBMIT = """
for task in 1 2; do
    cd "$INNER" && SLURM_JOB_ID=1$task SLURM_ARRAY_JOB_ID=10 SLURM_ARRAY_TASK_ID=$task "$BINARY" run --checkpoint-dir "c$task" -- sh -c '
        mkdir -p "$REPRIEVE_CHECKPOINT_DIR/step-1" && echo > "$REPRIEVE_CHECKPOINT_DIR/step-1/w"' || exit
done
REPRIEVE_JOB=case-a "$BINARY" run --checkpoint-dir c3 -- true
"""


def test_a_batch_job_that_a_job_submits_is_not_inside(place):
    """sbatch hands the environment on: the new job is the scheduler's own, and so is a name that was set anew."""
    (place.path / "inner").mkdir()
    run = place.run("sh", "-c", SUBMIT, SLURM_JOB_ID="7", INNER=str(place.path / "inner"), BINARY=harness.REPRIEVE, REPRIEVE_STORE=place.store)
    assert run.wait() == 0, f"{run}"
    assert {path.name for path in (place.store_path / "jobs").iterdir()} >= {"slurm-10_1", "slurm-10_2", "case-a"}, f"{run}"
    assert "submitted by attempt 1 of job job: this is job slurm-10_1, by itself" in run.err, f"{run}"
    assert "of job case-a" not in run.err, f"{run}"


INNER = """
printf 'outer %s %s of %s\\n' "$REPRIEVE_JOB" "$REPRIEVE_MACHINE" "$REPRIEVE_MACHINES"
(cd "$INNER" && "$BINARY" run -- sh -c '
    mkdir -p checkpoints/step-1 && echo > checkpoints/step-1/w
    printf "inner %s %s of %s in %s\\n" "$REPRIEVE_JOB" "$REPRIEVE_MACHINE" "$REPRIEVE_MACHINES" "$REPRIEVE_CHECKPOINT_DIR"') || exit
exec "$@"
"""


def test_a_run_inside_the_job_of_a_member_is_by_itself(place):
    """Whatever its environment says of the outer one."""
    gang = Gang(place, 2, given=None)
    for member in range(2):
        inner = place.path / f"inner{member}"
        inner.mkdir()
        gang.command = ("sh", "-c", INNER, "sh", PYTHON, RANK, "--dir", gang.directories[member], "--meet", place.path / "meet", "--rank", member,
                        "--ranks", 2, "--steps", 20, "--every", 10)
        gang.start(member, INNER=str(inner), BINARY=harness.REPRIEVE, REPRIEVE_GANG="auto", REPRIEVE_STORE=place.store, REPRIEVE_JOB="job",
                   **step_of(2, member))
    assert [run.wait() for run in gang.runs] == [0, 0], f"{gang}"
    assert committed_step(place) == 20 and place.newest()["members"] == 2
    names = set()
    for member, run in enumerate(gang.runs):
        assert f"outer job {member} of 2\n" in run.out, f"{run}"
        inner = [line.split() for line in run.out.splitlines() if line.startswith("inner ")]
        assert len(inner) == 1 and inner[0][2:5] == ["0", "of", "1"], f"{run}"
        assert inner[0][6] == str(place.path / f"inner{member}" / "checkpoints")
        names.add(inner[0][1])
        assert "no gang: this run is inside attempt 1 of another one" in run.err, f"{run}"
        assert f"inside attempt 1 of job job: this is job {inner[0][1]}, by itself" in run.err, f"{run}"
    assert len(names) == 2 and "job" not in names
    assert {path.name for path in (place.store_path / "jobs").iterdir()} == {"job", *names}
    assert len(list((place.store_path / "jobs/job/attempts").glob("000002*"))) == 0


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
        assert f"the gang has {3 if member == 2 else 4} members here; at member " in run.err and f"({HOST})" in run.err, f"{run}"


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
        assert HOST in run.err and "elsewhere" in run.err and "are both member 1 of this gang" in run.err, f"{run}"
    again = Gang(place, 3, 3, steps=20, every=10).start_all()
    assert [run.wait() for run in again.runs] == [0, 0, 0], f"{again}"
