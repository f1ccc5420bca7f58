"""What `reprieve drill` says of honest jobs and of jobs that cheat: one row each, by drilled.py. A pass needs proof that the second machine
went on from the checkpoint; where nothing shows it, the drill says so, and how to show it."""
import os
import shutil
import subprocess

import harness
import pytest
from test_drill_gang import CHEATS

pytestmark = pytest.mark.long  # each is a whole drill

HONEST = ["step_lines", "epochs", "steps_of_epochs", "bar", "only_names_count", "ten_a_second", "only_when_asked"]
# way: (exit code, part of the last line)
OTHERS = {
    # The state may be loaded or not: no step tells.
    "says_nothing": (2, "nothing shows that the job went on from there: it prints no step on both machines. Let it print its step"),
    "never_loads_and_says_nothing": (2, "nothing shows that the job went on from there"),
    "never_loads": (1, "the job began again at step 1: it does not load its checkpoint"),
    "loads_an_older_one": (1, "it loads an older checkpoint"),
    # Loads, and counts from 0.
    "counts_anew": (1, "was restored, but the job began again at step 1"),
    # A file that ends in the middle.
    "saves_torn_files": (1, "the job ended with 1 on the machine with the restored checkpoint"),
    "saves_elsewhere": (1, "nothing is durable: the job saves elsewhere (runs/model-"),
    # It does save; the reason must not be that it does not.
    "never_closes_its_checkpoint": (1, "the job wrote to its checkpoint directory, but no checkpoint there was known to be"),
    "exits_without_saving": (1, "nothing is durable: the job was asked (SIGTERM) and no complete checkpoint appeared"),
    "crashes_after_the_notice": (1, "the job itself ended with 1 before it had saved. Its last line: ModuleNotFoundError: No module named 'no_such_module'"),
    "saves_at_the_end": (1, "nothing is durable: the job saved nothing, and it was not asked to"),
    # What lies beside the checkpoints is no part of them.
    "keeps_a_part_in_another_directory": (1, "the job began again at step 1: it does not load its checkpoint"),
}
# What a result alone tells, which has to be compared.
UNSEEN = ["ignores_its_data_order", "prints_a_faked_step"]
OPTIONS = {"only_when_asked": ("--checkpoint-signal", "USR1"), "exits_without_saving": ("--checkpoint-signal", "TERM")}


@pytest.fixture
def drill(place):
    work = place.path / "work"
    work.mkdir()
    shutil.copy(os.path.join(os.path.dirname(__file__), "drilled.py"), work)

    def run(way, *options, run=()):
        arguments = [harness.REPRIEVE, "drill", "--directory", place.path / "scratch", "--notice-after", "1s", "--notice", "3s", *options,
                     "--", "run", *OPTIONS.get(way, ()), *run, "--", harness.PYTHON, "drilled.py", way]
        process = subprocess.Popen([str(one) for one in arguments], cwd=work, env=place.environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=harness.die_with_parent)
        out, err = process.communicate(timeout=harness.LIMIT)
        result = harness.Result(process, out, err)
        result.scratch = place.path / "scratch"
        return result
    return run


def last_line(result):
    return result.out.rstrip().splitlines()[-1]


@pytest.mark.parametrize("way", HONEST)
def test_an_honest_job_passes(drill, way):
    result = drill(way, *(("--step-pattern", "([0-9]+)/[0-9]+ \\[") if way == "bar" else ()))
    assert result.code == 0 and last_line(result).startswith("PASS: "), result
    assert "seen: saved at " in result.out and "its first on the next machine was" in result.out, result


@pytest.mark.parametrize("way", OTHERS)
def test_a_job_that_cheats_does_not(drill, way):
    code, said = OTHERS[way]
    result = drill(way)
    assert last_line(result).startswith({1: "FAIL: ", 2: "UNPROVEN: "}[code]), result
    assert result.code == code and said in last_line(result), result


@pytest.mark.parametrize("way", UNSEEN)
def test_what_only_the_result_tells(drill, way):
    """test_drill.py has the job that fails with one: half of its state is lost."""
    result = drill(way)
    assert result.code == 0 and "result      not compared: --compare FILE also proves the order of the data" in result.out, result


def test_all_is_lost_by_a_job_that_begins_anew(drill):
    result = drill("never_loads", "--json")
    [one] = result.json["rounds"]
    assert result.code == 1 and one["lost_steps"] == one["last_step"] > 0, result
    assert one["lost_seconds"] > 0.5, result  # --notice-after: all that it had


def test_a_slow_save_loses_nothing(drill):
    # Of its notice, aws tells whole seconds.
    result = drill("saves_slowly_and_prints_afterwards", "--json", "--notice", "6s", run=("--checkpoint-signal", "USR1"))
    [one] = result.json["rounds"]
    assert result.code == 0 and one["lost_steps"] == 0 == one["lost_seconds"], result


@pytest.mark.parametrize("way", ["is_deaf_to_the_end", "crashes_at_the_end"])
def test_one_rule_for_what_may_be_lost(drill, way):
    """The steps since the last own save, whatever the job does when it is asked; --max-lost is the limit."""
    result = drill(way, "--notice", "3s", "--max-lost", "300")
    assert result.code == 0 and last_line(result).startswith("PASS: lost "), result
    shutil.rmtree(result.scratch)
    result = drill(way, "--notice", "3s", "--max-lost", "0", "--json")
    [one] = result.json["rounds"]
    assert result.code == (1 if one["lost_steps"] else 0), result
    assert one["lost_steps"] == 0 or "and no more than 0 may be (--max-lost)" in result.json["reason"], result


def test_a_job_that_crashes_where_it_is_asked_is_not_started_again(drill):
    result = drill("crashes_at_the_end", run=("--checkpoint-signal", "TERM"))
    assert result.code == 1 and "the job was asked (SIGTERM), and `reprieve run` ended with 1 instead of 75: nothing would start it again" in last_line(result), result


def test_a_notice_whose_time_is_not_said_waits_until_the_job_has_counted_twice(place):
    shutil.copy(os.path.join(os.path.dirname(__file__), "drilled.py"), place.path)
    result = place.query("drill", "--notice", "5s", "--", harness.PYTHON, "drilled.py", "imports_slowly")
    assert result.code == 0 and "the notice waits until the job has counted or saved twice" in result.out, result


def test_the_page_of_verdicts_names_every_way():
    page = (harness.ROOT / "supervisor" / "drill" / "VERDICTS.md").read_text()
    missing = [way for way in [*HONEST, *OTHERS, *UNSEEN, *CHEATS] if f"`{way}`" not in page]
    assert not missing
