"""A job that lives on this machine is not taken over by a second start of it, unless that is said."""
import signal
import subprocess

from harness import EXIT_OURS, PYTHON, REPRIEVE, SAVER, die_with_parent, is_alive, one_line, wait_for

OFTEN = ("--snapshot-interval", "0", "--quiet-time", "100ms")


def start(place, name, *options, job=(PYTHON, SAVER, "--pause", "0.2")):
    return place.run(*job, options=(*OFTEN, *options), directory=place.path / name, name=name)


def test_a_second_start_elsewhere_is_refused_and_harms_nothing(place):
    first = start(place, "one")
    first.wait_for_event("durable")
    for options in ((), ("--restore", "none"), ("--max-no-progress", "1")):
        second = start(place, "two", *options)
        assert second.wait() == EXIT_OURS, second
        line = one_line(second.err)
        assert "not started: " in line and f"process {first.pid}, in {first.directory})" in line and "--take-over" in line
        assert not second.events("claimed") and not second.events("launched")
        assert not (place.path / "two.reprieve").exists()
    dry = place.query("run", "--store", place.store, "--job", place.job, "-c", place.path / "two", "--dry-run", "--", "true")
    assert f"process {first.pid}, in {first.directory})" in dry.out, dry
    # The first stays in force.
    count = len(first.events("durable"))
    newest = first.wait_for_event("durable", count=count + 2)
    assert "superseded" not in first.err and is_alive(first.job_pid)
    states = {snapshot["id"]: snapshot["state"] for snapshot in place.snapshots()}
    assert states[newest["id"]] in ("good", "superseded") and all(id.startswith("000001-") for id in states), states
    assert place.newest()["id"].startswith("000001-")


def test_what_was_said_takes_over_and_what_is_dead_does_not_count(place):
    first = start(place, "one")
    first.wait_for_event("durable")
    second = start(place, "two", "--take-over")
    second.wait_for_event("durable")
    wait_for("word at the first", lambda: "superseded" in first.err, process=first.process)
    assert "this start takes it over" in second.err and second.event("claimed")["attempt"] == 2
    # The first one still lives; it is no more the newest attempt.
    second.kill()
    third = start(place, "three", job=("true",))
    assert third.wait() == 0 and third.event("claimed")["attempt"] == 3, third
    assert "takes it over" not in third.err, third


def test_a_variable_says_it_as_well(place):
    first = start(place, "one")
    first.wait_for_event("durable")
    second = place.run("true", directory=place.path / "two", REPRIEVE_TAKE_OVER="1")
    assert second.wait() == 0 and "this start takes it over" in second.err, second


def test_one_that_is_stopped_lives(place):
    first = start(place, "one")
    first.wait_for_event("durable")
    first.signal(signal.SIGSTOP)
    second = start(place, "two")
    assert second.wait() == EXIT_OURS, second
    first.signal(signal.SIGCONT)
    count = len(first.events("durable"))
    first.wait_for_event("durable", count=count + 1)


def test_of_two_starts_in_one_instant_one_is_refused(place):
    """Both may look before either has claimed; a claim of the second would have the first train on for nothing."""
    for times in range(6):
        both = [start(place, f"{times}-{name}", job=("sleep", "600")) for name in ("one", "two")]
        refused = wait_for("the refusal of one", lambda: [run for run in both if run.process.poll() is not None], process=None, about=both)
        left, = [run for run in both if run not in refused]
        assert [run.wait() for run in refused] == [EXIT_OURS] and f"process {left.pid}" in refused[0].err, refused
        left.wait_for_event("launched")
        assert "superseded" not in left.err and is_alive(left.job_pid), left
        left.kill()


def test_one_that_is_just_ending_is_waited_for(place):
    """A start in the moment of the other's SIGTERM is neither refused nor takes its last save away."""
    first = start(place, "one", "--checkpoint-signal", "TERM", job=("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"))
    first.wait_for_event("launched")
    first.signal(signal.SIGTERM)
    second = start(place, "two", job=("true",))
    assert second.wait() == 0, second
    assert first.wait() in (0, 74, 75), first
    assert "takes it over" not in second.err, second


def test_a_command_of_which_nothing_is_known_is_told_and_runs_on(place):
    """It takes an attempt at its first save only, and nobody ends it for a refusal then."""
    script = "import os, sys, time; print('up', flush=True)\n" \
             "while not os.path.exists('go'): time.sleep(0.05)\n" \
             "os.makedirs('checkpoints', exist_ok=True)\n" \
             "for step in range(1, 100000):\n" \
             "    with open(f'checkpoints/step_{step}.bin', 'wb') as file: file.write(b'x' * 1000)\n" \
             "    print('saved', step, flush=True)\n" \
             "    time.sleep(0.3)\n" \
             "    if os.path.exists('end'): sys.exit()\n"

    def plain(name):
        """Without an option, with the name that a scheduler gives."""
        directory = place.path / name
        directory.mkdir()
        with open(place.path / f"{name}.log", "w") as log:
            return subprocess.Popen([REPRIEVE, "run", "--", PYTHON, "-c", script], cwd=directory, stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, env={**place.environment, "SKYPILOT_TASK_ID": "sky-17", "REPRIEVE_SNAPSHOT_INTERVAL": "0"},
                                    preexec_fn=die_with_parent)

    def log(name):
        return (place.path / f"{name}.log").read_text()

    first, second = plain("one"), plain("two")
    wait_for("both jobs", lambda: "up" in log("one") and "up" in log("two"), process=second)
    (place.path / "one" / "go").touch()
    wait_for("a save", lambda: "attempt 1: " in log("one") and "saved 3" in log("one"), process=first)
    (place.path / "two" / "go").touch()
    wait_for("word at the second", lambda: "nothing of this run is saved" in log("two"), 20, process=second, about=log("one") + log("two"))
    assert f"process {first.pid}, in {place.path}/one/checkpoints)" in log("two"), log("two")
    wait_for("more of its saves", lambda saved=log("two").count("saved "): log("two").count("saved ") > saved + 2, process=second)
    for name in ("one", "two"):
        (place.path / name / "end").touch()
    assert first.wait(60) == 0 and second.wait(60) == 0, log("two")
    assert "durable: 000001-" in log("one") and "superseded" not in log("one"), log("one")
