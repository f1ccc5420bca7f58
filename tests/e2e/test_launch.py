"""Who gets the signal: launch chains x ranks x workers, with the signals counted by those who get them."""
import json
import os
import shlex
import shutil
import stat
from pathlib import Path

import pytest

from harness import PYTHON, ROOT, is_alive, wait_for

RANK = str(Path(__file__).resolve().parent / "rank.py")
TORCH_RANK = str(Path(__file__).resolve().parent / "torch_rank.py")
# With torch: what tests/frameworks/run.sh installs.
TORCH_PYTHON = Path(os.environ.get("REPRIEVE_FRAMEWORKS_TORCH") or ROOT / "build" / "frameworks" / "torch" / "bin" / "python")
WORKERS = [pytest.param(0, "fork", id="no-workers"), pytest.param(2, "fork", id="fork"), pytest.param(2, "spawn", id="spawn")]

# `conda run` as it is in conda 23: Python, that writes a script of the shell and waits for it.
CONDA = """#!%s
import subprocess, sys, tempfile
with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as script:
    import shlex
    script.write("eval true\\n. /dev/null\\n" + " ".join(map(shlex.quote, sys.argv[4:])) + "\\n")
sys.exit(subprocess.run(["/bin/bash", script.name]).returncode)
""" % PYTHON


def tool(name):
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def conda(place):
    """conda itself where it is; otherwise a script in its place."""
    if shutil.which("conda"):
        return [shutil.which("conda"), "run", "-n", "base"]
    path = place.path / "bin" / "conda"
    path.parent.mkdir(exist_ok=True)
    path.write_text(CONDA)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [PYTHON, str(path), "run", "-n", "base"]


def script(place, text):
    path = place.path / "train.sh"
    path.write_text(text)
    return ["bash", str(path)]


def launched(place, count, rank):
    return [*rank, "--launch", str(count)]


def in_background(place, count, rank):
    lines = [f"RANK={number} {shlex.join(rank)} &" for number in range(count)]
    return script(place, "\n".join(lines + ["wait", "true"]) + "\n")


def by_xargs(place, count, rank):
    command = f"seq 0 {count - 1} | xargs -P {count} -I @rank@ {shlex.join(rank)} --number @rank@; true"
    return ["sh", "-c", command]


def by_mpirun(place, count, rank):
    return [tool("mpirun"), "--oversubscribe", "--allow-run-as-root", "-n", str(count), *rank]


def below_everything(place, count, rank):
    inner = shlex.join([*conda(place), *rank, "--launch", str(count)])
    return [tool("tini"), "-s", "--", "sh", "-c", f"bash -c {shlex.quote(inner + '; true')}; true"]


# None of these ends in an exec: the shell stays.
ONE = {
    "bare": lambda place, rank: rank,
    "bash-script": lambda place, rank: script(place, shlex.join(rank) + "\ntrue\n"),
    "bash-with-a-trap": lambda place, rank: script(place, "trap : USR1 TERM\n" + shlex.join(rank) + "\ntrue\n"),
    "sh-c": lambda place, rank: ["sh", "-c", shlex.join(rank) + "; true"],
    "conda-run": lambda place, rank: [*conda(place), *rank],
    "tini": lambda place, rank: [tool("tini"), "-s", "--", *rank],
    "tini-of-the-group": lambda place, rank: [tool("tini"), "-s", "-g", "--", "sh", "-c", shlex.join(rank) + "; true"],
    "timeout": lambda place, rank: ["timeout", "1h", *rank],
    "xargs": lambda place, rank: ["sh", "-c", f"echo | xargs {shlex.join(rank)}; true"],
}
SEVERAL = {"launcher": launched, "background": in_background, "xargs": by_xargs, "mpirun": by_mpirun, "all-at-once": below_everything}


class Witness:
    """What the processes have written down."""

    def __init__(self, place):
        self.path = place.path / "log"
        self.path.mkdir()

    def lines(self, role):
        return {int(path.name.split(".")[1]): path.read_text().split() for path in self.path.glob(role + ".*")}

    def ready(self, role):
        return sum("ready" in lines for lines in self.lines(role).values())

    def got(self, role):
        return {pid: [line for line in lines if line.startswith("SIG")] for pid, lines in self.lines(role).items()}


def rank_command(place, witness, workers, start, *more, number="USR1"):
    return [PYTHON, RANK, "--log", str(witness.path), "--dir", str(place.directory), "--signal", number,
            "--workers", str(workers), "--start", start, *more]


def start(place, command, witness, ranks, workers, *options):
    run = place.run(*command, options=("--quiet-time", "150ms", *options))
    wait_for("all ranks and workers", lambda: witness.ready("rank") == ranks and witness.ready("worker") == ranks * workers,
             process=run.process)
    return run


def check(run, witness, ranks, number="USR1"):
    """Each rank once, nobody else, and nobody has died of it."""
    wait_for("every rank has it", lambda: sum(map(len, witness.got("rank").values())) >= ranks, process=run.process)
    assert list(witness.got("rank").values()) == [["SIG" + number]] * ranks, run
    assert all(signals == [] for role in ("worker", "launcher") for signals in witness.got(role).values()), run
    assert all(is_alive(pid) for role in ("rank", "worker", "launcher") for pid in witness.lines(role)), run
    assert sorted(run.event("asked")["pids"]) == sorted(witness.got("rank"))
    assert run.process.poll() is None


def ask(place, run):
    result = place.query("checkpoint", "--pid", str(run.pid), "--json")
    assert result.code == 0, result
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.parametrize("workers, how", WORKERS)
@pytest.mark.parametrize("chain", ONE)
def test_one_rank(place, chain, workers, how):
    witness = Witness(place)
    command = ONE[chain](place, rank_command(place, witness, workers, how))
    run = start(place, command, witness, 1, workers, "--checkpoint-signal", "USR1")
    ask(place, run)
    check(run, witness, 1)


@pytest.mark.parametrize("workers, how", WORKERS)
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("chain", SEVERAL)
def test_several_ranks(place, chain, ranks, workers, how):
    witness = Witness(place)
    command = SEVERAL[chain](place, ranks, rank_command(place, witness, workers, how))
    run = start(place, command, witness, ranks, workers, "--checkpoint-signal", "USR1")
    ask(place, run)
    check(run, witness, ranks)


@pytest.mark.parametrize("chain", ["launcher", "mpirun", "all-at-once"])
def test_sigterm_goes_round_those_who_would_end_their_ranks(place, chain):
    witness = Witness(place)
    command = SEVERAL[chain](place, 2, rank_command(place, witness, 2, "fork", number="TERM"))
    run = start(place, command, witness, 2, 2, "--checkpoint-signal", "TERM")
    ask(place, run)
    check(run, witness, 2, "TERM")


def test_a_rank_without_a_handler_yet_is_asked_when_it_has_one(place):
    witness = Witness(place)
    command = launched(place, 2, rank_command(place, witness, 0, "fork", "--late", "3"))
    # Rank 0 answers only after a long quiet time, so that the request is still open when rank 1 is ready.
    run = place.run(*command, options=("--quiet-time", "8s", "--checkpoint-signal", "USR1"))
    wait_for("rank 0, and rank 1 on its way",
             lambda: witness.ready("rank") == 1 and any(lines == ["starting"] for lines in witness.lines("rank").values()),
             process=run.process)
    ask(place, run)
    assert list(witness.got("rank").values()) == [["SIGUSR1"]] * 2, run
    assert len(run.events("asked")[0]["pids"]) == len(run.events("asked")[1]["pids"]) == 1
    assert [event["asked"] for event in run.events("rank_progress")][-1] == 2


@pytest.mark.parametrize("profile, number", [("submitit", "USR2"), ("megatron", "TERM")])
def test_where_one_rank_tells_the_others_only_that_one_is_asked(place, tmp_path, profile, number):
    witness = Witness(place)
    notice = tmp_path / "notice"
    command = launched(place, 3, rank_command(place, witness, 1, "fork", number=number))
    run = start(place, command, witness, 3, 1, "--profile", profile, "--checkpoint-signal", number,
                "--notice", f"file:{notice}")
    notice.write_text(json.dumps({"reason": "one", "in_seconds": 3600}))
    run.wait_for_event("asked")
    wait_for("a rank has it", lambda: any(witness.got("rank").values()), process=run.process)
    assert sorted(map(len, witness.got("rank").values())) == [0, 0, 1]
    [asked] = run.event("asked")["pids"]
    environment = Path(f"/proc/{asked}/environ")
    assert not environment.exists() or b"RANK=0" in environment.read_bytes().split(b"\0")


# --- receipts ---


def receipts_of(place, run):
    """Other jobs of this user may be running beside it."""
    jobs = {job["pid"]: job for job in place.query("status", "--json").json["jobs"]}
    return jobs[run.job_pid]["rank_progress"]


def test_the_receipts_of_four_ranks(place):
    witness = Witness(place)
    command = launched(place, 4, rank_command(place, witness, 0, "fork"))
    run = start(place, command, witness, 4, 0, "--checkpoint-signal", "USR1")
    lines = ask(place, run)
    receipts = [line for line in lines if line["event"] == "rank_progress"]
    assert receipts and receipts[0]["text"].startswith("4/4 ranks asked in "), lines
    status = receipts_of(place, run)
    assert (status["asked"], status["expected"], status["saving"], status["active"]) == (4, 4, 1, False)
    ranks = {rank["rank"]: rank for rank in status["ranks"]}
    assert sorted(ranks) == [0, 1, 2, 3]
    assert all(rank["delivered"] for rank in ranks.values())
    assert [ranks[number]["saved"] for number in range(4)] == [True, False, False, False]


def test_a_rank_that_blocks_the_signal_is_named(place):
    witness = Witness(place)
    command = launched(place, 2, rank_command(place, witness, 0, "fork", "--deaf"))
    run = start(place, command, witness, 2, 0, "--checkpoint-signal", "USR1", "--quiet-time", "9s")
    ask(place, run)
    [deaf] = [pid for pid, got in witness.got("rank").items() if not got]
    status = receipts_of(place, run)
    assert {rank["pid"]: rank["delivered"] for rank in status["ranks"]}[deaf] is False
    assert "rank 1" not in run.err or "it blocks the signal" in run.err


# --- real torch ---


def torch_python():
    if not list(TORCH_PYTHON.parents[1].glob("lib/python3*/site-packages/torch/__init__.py")):
        pytest.skip(f"no torch with {TORCH_PYTHON} (tests/frameworks/run.sh torch installs it)")
    return TORCH_PYTHON


def by_torchrun(python, count):
    return [str(python), "-m", "torch.distributed.run", f"--nproc_per_node={count}", "--master_port=0", "--standalone"]


def by_accelerate(python, count):
    if not (python.parent / "accelerate").exists():
        pytest.skip("accelerate is not installed beside torch")
    return [str(python.parent / "accelerate"), "launch", "--cpu", "--num_machines=1", "--mixed_precision=no",
            "--dynamo_backend=no", f"--num_processes={count}"]


@pytest.mark.long
@pytest.mark.parametrize("number", ["USR1", "TERM"])
@pytest.mark.parametrize("how", ["fork", "spawn"])
@pytest.mark.parametrize("launcher, ranks", [(by_torchrun, 2), (by_accelerate, 1)])
def test_torch_with_data_loaders(place, launcher, ranks, how, number):
    python = torch_python()
    witness = Witness(place)
    command = [*launcher(python, ranks), TORCH_RANK, "--witness", str(witness.path), "--dir", str(place.directory),
               "--heard", number, "--workers", "2", "--context", how]
    run = start(place, command, witness, ranks, 2, "--checkpoint-signal", number)
    ask(place, run)
    check(run, witness, ranks, number)


@pytest.mark.long
def test_torch_workers_handle_sigterm_and_are_not_asked_in_place_of_their_rank(place, tmp_path):
    python = torch_python()
    witness = Witness(place)
    notice = tmp_path / "notice"
    command = [str(python), TORCH_RANK, "--witness", str(witness.path), "--dir", str(place.directory), "--heard", "none",
               "--workers", "2", "--context", "fork"]
    run = start(place, command, witness, 1, 2, "--checkpoint-signal", "TERM", "--notice", f"file:{notice}")
    notice.write_text(json.dumps({"reason": "nobody listens", "in_seconds": 600}))
    run.wait_for_event("request_failed")
    assert run.event("asked") is None
    assert all(is_alive(pid) for role in ("rank", "worker") for pid in witness.lines(role))
