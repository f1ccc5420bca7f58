"""The table of ends, played with real processes: how a run ended, what was durable by then, and what the next start does.

The rule: Reprieve adds no meaning to the job's exit code, and an earlier end never stops a later start. 75 is "asked to stop, and what
the job saved last is durable", and nothing else."""
import os
import pty
import re
import shutil
import signal
from pathlib import Path

import pytest
from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, REPRIEVE, ROOT, kill_quietly, wait_for

QUICK = ("--quiet-time", "100ms", "--snapshot-interval", "0")

# A job in shell: says where it begins, saves as often as it is told, and ends as it is told. `go` lets it end.
JOB = r"""
save() { echo "$1" > "$REPRIEVE_CHECKPOINT_DIR/tmp" && mv "$REPRIEVE_CHECKPOINT_DIR/tmp" "$REPRIEVE_CHECKPOINT_DIR/step-$1.bin"; }
mkdir -p "$REPRIEVE_CHECKPOINT_DIR"
at=$(ls "$REPRIEVE_CHECKPOINT_DIR" | sed -n 's/^step-\([0-9]*\).bin$/\1/p' | sort -n | tail -1)
at=${at:-0}
echo "from $at"
i=0; while [ $i -lt "$SAVES" ]; do i=$((i + 1)); save $((at + i)); sleep 0.2; done
echo "ready $$"
while [ ! -e go ]; do sleep 0.02; done
eval "$END"
"""


class Cell:
    """One way to end. `end`: what the job itself does. `how`: who ends it. `code`: of the run, without a signal's minus."""

    def __init__(self, code, end="exit 0", how=None, wrap=None, options=(), last=None):
        self.code, self.end, self.how, self.wrap, self.options, self.last = code, end, how, wrap, options, last


def notice(run):
    (run.directory.parent / "notice").write_text('{"seconds": 20}')


def pid_of_job(run):
    return int(re.search(r"ready (\d+)", run.out).group(1))


def go(run):
    (run.directory.parent / "go").touch()


def kill_all(run):
    for pid in (run.pid, run.job_pid, pid_of_job(run)):
        kill_quietly(pid)


HERE = ("--notice", "file:notice")
BY_ITSELF = {
    "0": Cell(0),
    "1": Cell(1, "exit 1"),
    "130": Cell(130, "exit 130"),
    "143": Cell(143, "exit 143"),
    "by a signal": Cell(137, "kill -KILL $$"),
    "it becomes another program": Cell(5, "exec sh -c 'exit 5'"),
    "SIGTERM to the job alone": Cell(143, how=lambda run: os.kill(pid_of_job(run), signal.SIGTERM)),
    "SIGKILL to the job alone": Cell(137, how=lambda run: os.kill(pid_of_job(run), signal.SIGKILL)),
    "SIGKILL within a pipeline": Cell(0, how=lambda run: os.kill(pid_of_job(run), signal.SIGKILL), wrap='sh -c "$JOB" | cat'),
    "SIGKILL before the next line": Cell(0, how=lambda run: os.kill(pid_of_job(run), signal.SIGKILL), wrap='sh -c "$JOB"; true'),
    "SIGKILL of all": Cell(9, how=kill_all),
}
ASKED = {
    "a notice": Cell(None, how=notice, options=HERE),
    "SIGTERM to us": Cell(None, how=lambda run: run.signal(signal.SIGTERM)),
}


def start(place, cell, saves, directory=None, name=None, more=""):
    (place.path / "go").unlink(missing_ok=True)
    (place.path / "notice").unlink(missing_ok=True)
    command = ("sh", "-c", cell.wrap) if cell.wrap else ("sh", "-c", JOB + more)
    place.environment["JOB"] = JOB
    return place.run(*command, options=(*QUICK, "--grace", "5s", *cell.options), directory=directory, SAVES=str(saves), END=cell.end)


def end(cell, run):
    (cell.how or go)(run)
    code = run.wait()
    return -code if code < 0 else code


def trains_on(place, expected, directory=None, more=""):
    """The next start is never refused, and begins at the newest that there is."""
    run = start(place, Cell(0), 1, directory, more=more)
    run.wait_for_output("ready")
    assert run.out.startswith(f"from {expected}\n"), run
    go(run)
    assert run.wait() == 0, run
    return run


@pytest.mark.parametrize("how", BY_ITSELF)
@pytest.mark.parametrize("who", ["the same command", "a corrected command", "an empty directory"])
def test_a_job_that_ends_by_itself_has_its_own_code_and_is_continued(place, how, who):
    cell = BY_ITSELF[how]
    run = start(place, cell, 1)
    run.wait_for_output("ready")
    run.wait_for_event("durable")
    assert end(cell, run) == cell.code, run
    assert "not started" not in run.err and "NOT durable" not in run.err, run
    if "all" not in how:
        assert "durable: 000001-" in run.err.splitlines()[-1], run
    if who == "an empty directory":
        shutil.rmtree(place.directory)
    trains_on(place, 1, more="# corrected" if who == "a corrected command" else "")


@pytest.mark.parametrize("how", BY_ITSELF)
def test_nothing_saved_and_ended_by_itself(place, how):
    """There is nothing to continue from, and that is no reason not to start."""
    cell = BY_ITSELF[how]
    run = start(place, cell, 0)
    run.wait_for_output("ready")
    assert end(cell, run) == cell.code, run
    trains_on(place, 0)


@pytest.mark.parametrize("how", ASKED)
@pytest.mark.parametrize("durable, code", [("nothing", EXIT_NOT_DURABLE), ("older", EXIT_NOT_DURABLE), ("newest", EXIT_DURABLE)])
def test_75_is_asked_to_stop_and_what_was_saved_last_is_durable(place, how, durable, code):
    cell = ASKED[how]
    run = start(place, cell, 0 if durable == "nothing" else 1)
    run.wait_for_output("ready")
    if durable != "nothing":
        run.wait_for_event("durable")
    if durable == "older":  # the store goes before the next save
        store = next(place.store_path.glob("jobs/*/snapshots"))
        store.rename(place.path / "away")
        store.write_text("no directory")
        (place.directory / "step-2.bin").write_text("2\n")
        wait_for("seen", lambda: "not durable" in run.err, process=run.process, about=run)
    assert end(cell, run) == code, run
    last = run.err.splitlines()[-1]
    assert f"(exit {code})" in last and ("NOT durable" in last) == (code == EXIT_NOT_DURABLE), run
    if durable == "older":
        store.unlink()
        (place.path / "away").rename(store)
    expected = {"nothing": 0, "older": 2, "newest": 1}[durable]
    trains_on(place, expected)
    if durable == "newest":
        shutil.rmtree(place.directory)
        trains_on(place, 2)


@pytest.mark.parametrize("how", [*ASKED, "SIGINT"])
def test_asked_to_stop_before_the_store_was_reached_is_never_75(place, how):
    """Nobody has seen what the job saved last."""
    cell = ASKED.get(how, Cell(None, how=lambda run: run.signal(signal.SIGINT)))
    place.store = "s3://snaps/team"
    environment = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    run = place.run("sh", "-c", "echo started", options=(*QUICK, *cell.options), **environment)
    wait_for("its log", lambda: run.event("started"), process=run.process, about=run)
    cell.how(run)
    code = run.wait()
    assert code == (128 + signal.SIGINT if how == "SIGINT" else EXIT_NOT_DURABLE), run
    assert "started" not in run.out and run.event("launched") is None, run


def test_ctrl_c_in_a_terminal(place):
    """It reaches all, and is the job's own end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.path)
        os.execve(REPRIEVE, [REPRIEVE, "run", "--store", place.store, "--job", place.job, "-c", str(place.directory), *QUICK, "--", "sh", "-c", JOB],
                  {**place.environment, "SAVES": "1", "END": "exit 0"})
    said = b""
    while b"durable: 000001-" not in said or b"ready" not in said:
        said += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGINT, said
    trains_on(place, 1)


SAVES_AND_FAILS = """
import os, signal, sys
directory, layout, end = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
numbers = [int(name.partition("-")[2].partition(".")[0]) for name in os.listdir(directory) if name.startswith("step-")]
newest = int(open(f"{directory}/last.ckpt").read()) if os.path.exists(f"{directory}/last.ckpt") else max(numbers, default=0)
print("from", newest, flush=True)
paths = {"fixed": ["last.ckpt"], "number": ["step-%d.bin"], "directory": ["step-%d/model", "step-%d/optimizer"]}[layout]
for path in [f"{directory}/{path}".replace("%d", str(newest + 1)) for path in paths]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w") as file:
        file.write(str(newest + 1))
    os.rename(path + ".tmp", path)
os.kill(os.getpid(), signal.SIGKILL) if end == "kill" else sys.exit(5)
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
@pytest.mark.parametrize("layout", ["fixed", "number", "directory"])
def test_a_first_save_counts_that_the_job_fails_right_after(place, layout, how):
    """Each start saves once, and fails: the next one finds that save, as it does without Reprieve, whatever it was known to be."""
    for start in range(3):
        run = place.run(PYTHON, "-c", SAVES_AND_FAILS, place.directory, layout, how)
        assert run.wait() == (5 if how == "exit" else 137) and run.out == f"from {start}\n", run
        assert "torn" not in run.err, run


def test_the_page_has_the_rows_that_explain_prints(place):
    said = " ".join(place.query("explain", "exit").out.replace("-> ", "").split())
    page = (Path(ROOT) / "supervisor" / "restore" / "RESTARTS.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.split("## Exit codes")[1].split("\n## ")[0].splitlines()
            if line.startswith("| ")][2:]
    assert 10 < len(rows) <= 20 and len(page.splitlines()) <= 150
    at = said.index("does: ") + len("does: ")
    for row in rows:
        text = " ".join(row)
        assert said[at:].startswith(text), (text, said[at:at + 200])
        at += len(text) + 1
    assert said[at:].startswith("In a script"), said[at:at + 200]
