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
    "saves_elsewhere": (1, "nothing is durable: the job saves elsewhere (runs/model-"),
    "saves_elsewhere_by_a_plain_name": (1, "but it wrote output/state.json. If that is its checkpoint, set --checkpoint-dir"),
    # It does save; the reason must not be that it does not.
    "never_closes_its_checkpoint": (1, "the job wrote to its checkpoint directory (1 time, last state.bin), but no checkpoint there was known to be"),
    "exits_without_saving": (1, "nothing is durable: the job was asked (SIGTERM) and no complete checkpoint appeared"),
    "crashes_after_the_notice": (1, "the job itself ended with 1 before it had saved. Its last line: ModuleNotFoundError: No module named 'no_such_module'"),
    "saves_at_the_end": (1, "nothing is durable: the job saved nothing, and it was not asked to"),
    # Goes on, but not by what was restored.
    "resumes_from_a_private_copy": (1, "but did not open the restored file: it loads from a place that a new machine does not have"),
    # What lies beside the checkpoints is no part of them, be the directory the user's own or a new one.
    "keeps_a_part_in_another_directory": (1, "the job began again at step 1: it ignores what it loads, or does not save where it was. It also wrote "
                                             "out/part.bin, which is not saved: if it needs that, set --checkpoint-dir"),
    "keeps_a_part_in_a_new_directory": (1, "It also wrote state/part.bin, which is not saved"),
    "keeps_a_part_by_an_absolute_path": (2, "which all machines of the drill see, was written to while they ran: out/part.bin"),
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
    # What a checkout has: results of yesterday, and data.
    (work / "out").mkdir()
    (work / "out" / "notes.txt").write_text("of yesterday")
    (work / "data").mkdir()
    with open(work / "data" / "large.bin", "wb") as file:
        file.truncate(8 << 20)
    shutil.copy(os.path.join(os.path.dirname(__file__), "drilled.py"), work)

    def run(way, *options, run=()):
        arguments = [harness.REPRIEVE, "drill", "--directory", place.path / "scratch", "--notice-after", "2s", "--notice", "5s", *options,
                     "--", "run", *OPTIONS.get(way, ()), *run, "--", harness.PYTHON, "drilled.py", way]
        process = subprocess.Popen([str(one) for one in arguments], cwd=work, env={**place.environment, "PRIVATE": str(private), "USERS_OWN": str(work)}, text=True,
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
    result = drill(way)
    assert result.code == 0 and last_line(result).startswith("PASS: "), result
    assert "seen: it opened" in result.out, result
    assert ("its first lines are those" if way == "only_losses" else "its first on the next machine was") in result.out, result


@pytest.mark.parametrize("way", OTHERS)
def test_a_job_that_cheats_does_not(drill, way):
    code, said = OTHERS[way]
    result = drill(way)
    assert last_line(result).startswith({1: "FAIL: ", 2: "UNPROVEN: "}[code]), result
    assert result.code == code and said in last_line(result), result


@pytest.mark.parametrize("way", ["step_lines", "keeps_a_part_in_another_directory", "keeps_a_part_in_a_new_directory"])
def test_the_users_own_directory_stays_as_it_was(drill, place, way):
    drill(way)
    found = sorted(str(path.relative_to(place.path / "work")) for path in (place.path / "work").rglob("*"))
    assert found == ["data", "data/large.bin", "drilled.py", "out", "out/notes.txt"]
    assert (place.path / "work" / "data" / "large.bin").read_bytes() == bytes(8 << 20)


def test_a_part_in_a_large_file_is_lost_with_its_machine(drill, place):
    result = drill("keeps_a_part_in_a_large_file")
    assert result.code == 1 and "It also wrote data/large.bin" in last_line(result), result
    assert (place.path / "work" / "data" / "large.bin").read_bytes() == bytes(8 << 20)


def test_what_others_hold_open_in_the_users_directory_is_not_the_jobs(drill, place):
    """The output of the drill, mostly."""
    with open(place.path / "work" / "drill.log", "w") as log:
        log.write("so far\n")
        log.flush()
        process = subprocess.Popen(["sh", "-c", "while sleep 0.1; do echo more; done"], stdout=log, preexec_fn=harness.die_with_parent)
        result = drill("step_lines")
        process.kill()
        process.wait()
    assert result.code == 0, result


def test_all_is_lost_by_a_job_that_begins_anew(drill):
    result = drill("never_loads", "--json")
    [one] = result.json["rounds"]
    assert result.code == 1 and one["lost_steps"] == one["last_step"] > 0, result
    assert one["lost_seconds"] > 1.5, result  # --notice-after: all that it had


def test_a_slow_save_loses_nothing(drill):
    result = drill("saves_slowly_and_prints_afterwards", "--json", run=("--checkpoint-signal", "USR1"))
    [one] = result.json["rounds"]
    assert result.code == 0 and one["lost_steps"] == 0 == one["lost_seconds"], result


@pytest.mark.parametrize("way", ["is_deaf_to_the_end", "crashes_at_the_end"])
def test_one_rule_for_what_may_be_lost(drill, way):
    """The steps since the last own save, whatever the job does when it is asked; --max-lost is the limit."""
    result = drill(way, "--notice", "4s", "--max-lost", "300")
    assert result.code == 0 and last_line(result).startswith("PASS: lost "), result
    shutil.rmtree(result.scratch)
    result = drill(way, "--notice", "4s", "--max-lost", "0", "--json")
    [one] = result.json["rounds"]
    assert result.code == (1 if one["lost_steps"] else 0), result
    assert one["lost_steps"] == 0 or "and no more than 0 may be (--max-lost)" in result.json["reason"], result


def test_a_loss_that_is_known_to_an_interval_is_held_against_the_limit_by_its_upper_bound(drill):
    result = drill("prints_seldom")
    assert result.code == 0 and last_line(result).startswith("PASS: lost up to "), result
    shutil.rmtree(result.scratch)
    result = drill("prints_seldom", "--max-lost", "20", "--json")
    [one] = result.json["rounds"]
    assert result.code == 2 and one["lost_steps_least"] <= 20 < one["lost_steps"], result
    assert f"up to {one['lost_steps']} steps were lost, and no more than 20 may be (--max-lost)" in result.json["reason"], result


def test_a_job_that_crashes_where_it_is_asked_is_not_started_again(drill):
    result = drill("crashes_at_the_end", run=("--checkpoint-signal", "TERM"))
    assert result.code == 1 and "the job was asked (SIGTERM), and `reprieve run` ended with 1 instead of 75: nothing would start it again" in last_line(result), result


def test_a_number_of_lost_steps_that_is_not_known_is_no_pass_of_a_limit(drill):
    result = drill("only_losses", "--max-lost", "1000")
    assert result.code == 2 and "how many steps were lost is not known" in last_line(result), result


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
    assert result.code == 0 and last_line(result).startswith("PASS: "), result


def test_a_notice_whose_time_is_not_said_waits_until_the_job_has_counted_twice(place):
    shutil.copy(os.path.join(os.path.dirname(__file__), "drilled.py"), place.path)
    result = place.query("drill", "--notice", "5s", "--", harness.PYTHON, "drilled.py", "imports_slowly")
    assert result.code == 0 and "the notice waits until the job has counted or saved twice" in result.out, result


def test_the_page_of_verdicts_names_every_way():
    page = (harness.ROOT / "supervisor" / "drill" / "VERDICTS.md").read_text()
    missing = [way for way in [*HONEST, *OTHERS] if f"`{way}`" not in page]
    assert not missing
