"""What `reprieve drill` says of honest jobs and of jobs that cheat: one row each, by drilled.py. A pass needs proof that the second machine
went on from the checkpoint; where nothing shows it, the drill says so, and how to show it."""
import os
import shutil
import subprocess

import harness
import pytest

pytestmark = pytest.mark.long  # each is a whole drill

HONEST = ["step_lines", "bare_numbers", "epochs", "steps_of_epochs", "bar", "trainer", "only_names_count", "numbered_files", "ten_a_second", "each_two_seconds",
          "holds_a_log_open", "only_losses", "only_when_asked"]
# way: (exit code, part of the last line)
OTHERS = {
    # The state may be loaded or not: no count and no name tells.
    "says_nothing": (2, "the job opened state.bin, but nothing shows that it went on from there. Let it print its step"),
    "opens_and_ignores_and_says_nothing": (2, "the job opened state.bin, but nothing shows that it went on from there"),
    "opens_only_the_counter": (2, "it opened only step.json, and not weights.bin"),
    # Never loads.
    "never_loads": (1, "the job began again at step 1: it does not load its checkpoint"),
    "never_loads_and_says_nothing": (1, "the job did not open the restored file: it does not load its checkpoint"),
    # Loads an older one than the newest.
    "loads_an_older_one": (1, "it loads an older checkpoint"),
    "loads_an_older_one_and_says_nothing": (1, "it loads an older checkpoint"),
    # Loads, and counts from 0; opens, and ignores what is in it.
    "counts_anew": (1, "was restored and state.bin opened, but the job began again at step 1"),
    "opens_and_ignores": (1, "was restored and state.bin opened, but the job began again at step 1"),
    # A file that ends in the middle.
    "saves_torn_files": (1, "the job ended with 1 on the machine with the restored checkpoint"),
    "saves_elsewhere": (1, "nothing is durable: the job saves elsewhere"),
    "saves_elsewhere_by_a_plain_name": (1, "but it wrote output/state.json. If that is its checkpoint, set --checkpoint-dir"),
    # It does save; the reason must not be that it does not.
    "never_closes_its_checkpoint": (1, "the job wrote to its checkpoint directory (1 time, last state.bin), but no checkpoint there was known to be"),
    "exits_without_saving": (1, "nothing is durable: the job was asked (SIGTERM) and no complete checkpoint appeared"),
    "saves_at_the_end": (1, "nothing is durable: the job saved nothing, and it was not asked to"),
    # Goes on, but not by what was restored.
    "resumes_from_a_private_copy": (1, "but did not open the restored file: it loads from a place that a new machine does not have"),
    "prints_a_faked_step": (1, "but opened none of the "),
    "prints_a_faked_step_once": (1, "it does not load its checkpoint"),
}
WITHOUT_LIBRARY = "--shim", "off", "--quiet-time", "200ms", "--checkpoint-signal", "USR1"
OPTIONS = {"only_when_asked": ("--checkpoint-signal", "USR1"), "exits_without_saving": ("--checkpoint-signal", "TERM")}


@pytest.fixture
def drill(place):
    work, private = place.path / "work", place.path / "private"
    work.mkdir()
    private.mkdir()
    shutil.copy(os.path.join(os.path.dirname(__file__), "drilled.py"), work)

    def run(way, *options, run=()):
        arguments = [harness.REPRIEVE, "drill", "--directory", place.path / "scratch", "--notice-after", "2s", "--notice", "5s", *options,
                     "--", "run", *OPTIONS.get(way, ()), *run, "--", harness.PYTHON, "drilled.py", way]
        process = subprocess.Popen([str(one) for one in arguments], cwd=work, env={**place.environment, "PRIVATE": str(private)}, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=harness.die_with_parent)
        out, err = process.communicate(timeout=harness.LIMIT)
        return harness.Result(process, out, err)
    return run


def last_line(result):
    return result.out.rstrip().splitlines()[-1]


@pytest.mark.parametrize("way", HONEST)
def test_an_honest_job_passes(drill, way):
    result = drill(way)
    assert result.code == 0 and last_line(result) == "PASS", result
    assert "seen: it opened" in result.out, result
    assert ("its first lines are those" if way == "only_losses" else "its first on the next machine was") in result.out, result


@pytest.mark.parametrize("way", OTHERS)
def test_a_job_that_cheats_does_not(drill, way):
    code, said = OTHERS[way]
    result = drill(way)
    assert last_line(result).startswith({1: "FAIL: ", 2: "UNPROVEN: "}[code]), result
    assert result.code == code and said in last_line(result), result


def test_an_order_of_data_that_is_lost_shows_in_the_result_alone(drill):
    """Without a result to compare the drill says so (test_drill.py has the job that fails with one: half of its state is lost)."""
    way = "ignores_its_data_order"
    result = drill(way)
    assert result.code == 0 and "result      not compared: --compare FILE also proves the order of the data" in result.out, result


def test_a_job_without_the_preload_library_passes_by_its_count(drill):
    result = drill("only_when_asked", run=WITHOUT_LIBRARY)
    assert result.code == 0 and "seen: which files it opened is not known; saved at about step" in result.out, result


def test_without_the_preload_library_and_without_a_count_nothing_is_proven(drill):
    result = drill("only_when_asked_and_says_nothing", run=WITHOUT_LIBRARY)
    assert result.code == 2 and "nothing shows where the job went on" in last_line(result), result


def test_a_command_alone_is_drilled_without_options_of_run(place):
    shutil.copy(os.path.join(os.path.dirname(__file__), "drilled.py"), place.path)
    result = place.query("drill", "--notice-after", "2s", "--notice", "5s", "--", harness.PYTHON, "drilled.py", "step_lines")
    assert result.code == 0 and last_line(result) == "PASS", result


def test_the_page_of_verdicts_names_every_way():
    page = (harness.ROOT / "supervisor" / "drill" / "VERDICTS.md").read_text()
    missing = [way for way in [*HONEST, *OTHERS] if f"`{way}`" not in page]
    assert not missing
