"""What a person sees on a terminal while bytes move; and that a pipe, a log and the job's own bar get nothing of it."""
import os
import re
import signal

import pytest

from harness import EXIT_DURABLE, PYTHON, REPRIEVE, Place
from screen import Terminal

PERCENT = r"\d+(?= %)"
LINE = r"^{} .*$"
SLOW_READS = {"rules": [{"on": {"method": "GET", "key": "[.]pack$"}, "answer": {"delay": 0.6}}]}
SLOW_WRITES = {"rules": [{"on": {"method": "PUT", "key": "[.]pack$"}, "answer": {"delay": 0.7}}]}
ONE_AFTER_THE_OTHER = ("--connections", "1", "--memory", "32MiB")

# A bar without a newline on standard error, as tqdm's. It saves once, at the step that is given; told to end it saves again.
BAR_JOB = """
import os, signal, sys, time
directory, steps = sys.argv[1], int(sys.argv[2])
os.makedirs(directory, exist_ok=True)
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
def save(step):
    with open(f"{directory}/.new", "wb") as file:
        file.write(os.urandom(40_000_000))
    os.rename(f"{directory}/.new", f"{directory}/step-{step}.bin")
for step in range(1, steps + 1):
    os.write(2, f"\\rtraining {step}/{steps}".encode())
    if step == min(steps, int(sys.argv[3])) or told:
        save(step)
    if told:
        break
    time.sleep(0.05)
os.write(1, b"last words")
"""


@pytest.fixture
def cloud(faults, tmp_path):
    place = Place(tmp_path, store="s3://snaps/team", environment={**faults.environment, "REPRIEVE_S3_CHECKSUM": "off"})
    place.terminals = []
    yield place
    for terminal in place.terminals:
        terminal.end()
    place.end()


@pytest.fixture
def tree(cloud):
    tree = cloud.path / "tree"
    tree.mkdir()
    for number in range(4):
        (tree / f"part-{number}").write_bytes(os.urandom(12_500_000))
    return tree


@pytest.fixture
def saved(cloud, tree, faults):
    """50 MB in the store, of which each piece takes a while."""
    assert cloud.verb("save", tree).code == 0
    faults.load(SLOW_READS)


def on_terminal(cloud, verb, *arguments, environment=None, **how):
    terminal = Terminal([REPRIEVE, verb, *arguments], cloud.path, {**cloud.environment, **(environment or {})}, **how)
    cloud.terminals.append(terminal)
    return terminal


def run_on_terminal(cloud, *command, options=(), **how):
    return on_terminal(cloud, "run", "--store", cloud.store, "--job", cloud.job, "--checkpoint-dir", cloud.directory,
                       *ONE_AFTER_THE_OTHER, *options, "--", *command, **how)


def verb_on_terminal(cloud, verb, *arguments, **how):
    return on_terminal(cloud, verb, *arguments, "--store", cloud.store, "--job", cloud.job, **how)


def values(terminal, what):
    bars = terminal.all(LINE.format(what + ":"))
    return {int(percent) for bar in bars for percent in re.findall(PERCENT, bar)}


def test_restoring_before_the_start(cloud, saved):
    run = run_on_terminal(cloud, "sh", "-c", "echo the job has started")
    assert run.wait() == 0, run.text
    assert len(values(run, "restoring")) >= 2, run.seen
    assert run.find(r"restoring: \d+ MiB of 48 MiB \(\d+ %\), [\d.]+ MiB/s, \d+ s left$"), run.seen
    # It is gone before the job starts.
    assert "restoring:" not in run.text
    assert "\nthe job has started" in run.text
    assert b"restoring:" not in run.raw[run.raw.index(b"the job has started"):]


def test_ctrl_c_while_it_restores(cloud, saved):
    run = run_on_terminal(cloud, "true")
    run.wait_for(LINE.format("restoring:"))
    run.type("\x03")
    assert run.wait() == 128 + signal.SIGINT, run.text
    assert "restoring:" not in run.text, run.text


@pytest.mark.parametrize("verb, what, least, arguments", [
    ("restore", "restoring", 2, ("latest", "back", "--connections", "1")),
    ("export", "exporting", 2, ("latest", "back.tar")),
    ("verify", "reading", 1, ()),  # both packs at once
])
def test_verbs_that_read(cloud, saved, verb, what, least, arguments):
    terminal = verb_on_terminal(cloud, verb, *arguments)
    assert terminal.wait() == 0, terminal.text
    assert len(values(terminal, what)) >= least, terminal.seen
    assert what + ":" not in terminal.text


def test_ctrl_c_and_ctrl_z_of_a_verb(cloud, saved):
    terminal = verb_on_terminal(cloud, "restore", "latest", "back", "--connections", "1")
    terminal.wait_for(LINE.format("restoring:"))
    terminal.process.send_signal(signal.SIGTSTP)
    # The one who stopped it is told, once the line is gone. (Nobody else reads this terminal: it is an orphan, and goes on.)
    terminal.wait_for(r"\A\s*\Z")
    terminal.type("\x03")
    assert terminal.wait() == -signal.SIGINT
    assert "restoring:" not in terminal.text


def test_the_countdown_of_a_notice(cloud, faults):
    faults.load(SLOW_WRITES)
    run = run_on_terminal(cloud, PYTHON, "-c", BAR_JOB, cloud.directory, 10**6, 5, options=("--grace", "45"))
    run.wait_for("^reprieve: durable: ")
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run.text
    told = run.all(r"^preempted: .*$")
    assert len(told) >= 2, run.seen
    for line in told:
        assert re.fullmatch(r"preempted: \d+ s left(, [\d.]+ \wi?B of [\d.]+ MiB sent(, \d+ s at this rate)?)?", line), line
    assert "preempted: " not in run.text


def test_no_line_is_glued_to_the_bar_of_the_job(cloud, faults):
    """Nor is anything of the job erased."""
    run = run_on_terminal(cloud, PYTHON, "-c", BAR_JOB, cloud.directory, 100, 5)
    assert run.wait() == 0, run.text
    ours = [line for line in run.text.splitlines() if "reprieve:" in line]
    assert all(line.startswith("reprieve: ") for line in ours), run.text
    assert any(line.startswith("reprieve: durable: ") for line in ours), run.text
    assert re.search(r"^training \d+/100\nreprieve: ", run.text, re.MULTILINE), run.text
    assert "training 100/100last words" in run.text


def test_no_line_is_glued_to_it_in_a_file(place):
    """Standard output and error in one file, as a batch job has them."""
    log = place.path / "log"
    with open(log, "wb") as file:
        terminal = Terminal([REPRIEVE, "run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory, "--",
                             PYTHON, "-c", BAR_JOB, place.directory, "100", "5"], place.path, place.environment, on=(0,), stdout=file, stderr=file)
    try:
        assert terminal.wait() == 0
    finally:
        terminal.end()
    text = log.read_bytes().decode()
    assert re.search(r"training \d+/100\nreprieve: durable: ", text), text
    assert not re.search(r"[^\n]reprieve: ", text), text
    assert "\x1b" not in text and "\n\n" not in text, text


def test_a_log_gets_a_line_now_and_then(cloud, tree, faults):
    """Where nobody draws, a long transfer is not silent either."""
    faults.load({"rules": [{"on": {"method": "PUT", "key": "[.]pack$", "nth": 2}, "answer": {"delay": 7}}]})
    result = cloud.verb("save", tree, *ONE_AFTER_THE_OTHER)
    assert result.code == 0, result
    # The first pack is in the store while the second waits; what lies in the second one doesn't count.
    assert re.search(r"^reprieve: saving: [\d.]+ MiB of 48 MiB \([1-9]\d? %\)", result.err, re.MULTILINE), result
    assert "\r" not in result.err and "\x1b" not in result.err
