"""reprieve drill --gang: all members start on machines of their own, one machine is taken away, and all must go on from one snapshot.
drilled_member.py has the job: honest, or one member cheats."""
import json
import os
import shutil
import signal
import subprocess

import harness
import pytest
from harness import wait_for

HERE = os.path.dirname(__file__)
ASKED = "--checkpoint-signal", "USR1"
# What one member of three does: (which, options of run, exit code, part of the last line). Member 1 is the one whose machine goes.
CHEATS = {
    "an_older_step": (2, ASKED, 1, "member 2: step "),
    "begins_anew": (1, ASKED, 1, "member 1: step "),
    "torn": (2, ASKED, 1, "member 2: the job ended with 1 on the machine with the restored checkpoint"),
    "saves_at_other_steps": (2, ("--flush-time", "1s"), 1, "Let all ranks save at the same steps, as by `step % 100 == 0`"),
}
SAID_TOO = {
    "an_older_step": "it loads an older checkpoint",
    "begins_anew": "the job began again at step 1: it does not load its checkpoint",
}


class GangDrill:
    def __init__(self, place):
        self.place, self.work, self.scratch = place, place.path / "work", place.path / "scratch"
        self.work.mkdir()
        for name in ("drilled.py", "drilled_member.py"):
            shutil.copy(os.path.join(HERE, name), self.work)
        self.environment = {**place.environment, "MEET": str(place.path / "meet"),
                            "PYTHONHASHSEED": "0"}

    def start(self, way, *others, members=3, options=(), run=ASKED):
        arguments = [harness.REPRIEVE, "drill", "--gang", members, "--directory", self.scratch, "--notice-after", "1500ms", "--notice", "8s",
                     *options, "--", "run", *run, "--", harness.PYTHON, "drilled_member.py", way, *others]
        return subprocess.Popen([str(one) for one in arguments], cwd=self.work, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=harness.die_with_parent)

    def __call__(self, *arguments, **more):
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=harness.LIMIT)
        return harness.Result(process, out, err)

    def events(self, start, member, kind):
        path = self.scratch / f"start-{start}-member-{member}.events"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line["event"] == kind]


@pytest.fixture
def drill(place):
    return GangDrill(place)


def last_line(result):
    return result.out.rstrip().splitlines()[-1]


def test_four_members_go_on_from_one_snapshot(drill):
    result = drill("steps", members=4, options=("--compare", "result.txt", "--json"))
    assert result.code == 0, result
    verdict = result.json
    assert verdict["passed"] and verdict["gang"] == 4 and verdict["last_exits"] == [0] * 4
    assert verdict["comparison"]["result"] == "equal"  # of member 0, which alone writes it
    [one] = verdict["rounds"]
    assert one["passed"] and one["lost_member"] == 1
    assert [member["exit_code"] for member in one["members"]] == [harness.EXIT_DURABLE] * 4
    assert len({member["snapshot"] for member in one["members"]} | {member["resumed_from"] for member in one["members"]}) == 1
    for member in one["members"]:
        assert "saved at step " in member["seen"] and "its first on the next machine was step" in member["seen"], result
    # The notice came to one machine alone; that one, and no other, had an empty disk afterwards.
    sources = [drill.events(1, member, "notice")[0]["source"] for member in range(4)]
    assert sources == ["gang", "aws", "gang", "gang"]
    assert (drill.scratch / "start-2-member-1").is_dir() and not (drill.scratch / "start-2-member-2").exists()
    assert not (drill.scratch / "start-1-member-0" / "drilled.py").is_symlink()


@pytest.mark.long
@pytest.mark.parametrize("way", CHEATS)
def test_a_member_that_cheats_is_told(drill, way):
    member, options, code, said = CHEATS[way]
    result = drill({"saves_at_other_steps": "steps_unasked"}.get(way, "steps"), f"{member}={way}", run=options)
    assert result.code == code and last_line(result).startswith({1: "FAIL: ", 2: "UNPROVEN: "}[code]), result
    assert said in last_line(result) and SAID_TOO.get(way, "") in last_line(result), result


@pytest.mark.long
@pytest.mark.parametrize("way, code, said", [
    ("saves_nothing", 0, "PASS"),
    ("saves_nothing_and_says_nothing", 2, "nothing shows that the job went on from there")])
def test_rank_0_saves_for_all(drill, way, code, said):
    """The others load what it has saved. That one has done so and says nothing proves nothing."""
    result = drill(way, "0=steps_unasked", run=())
    assert result.code == code and said in last_line(result), result


@pytest.mark.long
def test_two_rounds_and_a_report_for_people(drill):
    """Each round takes another machine away."""
    drill.environment["PACED"] = "2"
    result = drill("steps_when_asked", options=("--rounds", "2"), members=2)
    assert result.code == 0 and last_line(result).startswith("PASS: "), result
    assert "survived    2 of 2 preemptions of one of 2 members" in result.out, result
    for line in ("member 1  `reprieve run` ended with 75; the machine is gone", "member 0  `reprieve run` ended with 75; the machine is gone"):
        assert line in result.out, result


def test_a_member_that_ends_before_the_notice(drill):
    result = drill("steps", "1=unknown", options=("--notice-after", "1h"))
    assert result.code == 1 and "member 1: the job ended by itself before the notice, with 1" in last_line(result), result
    assert "KeyError" in result.out and "of 3 members" in result.out  # the end of its log


def test_a_signal_ends_it_with_all_its_machines(drill):
    process = drill.start("steps", options=("--notice-after", "1h"))
    wait_for("all have started", lambda: all(drill.events(1, member, "launched") for member in range(3)), process=process)
    supervisors = [drill.events(1, member, "started")[0]["supervisor_pid"] for member in range(3)]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=harness.LIMIT)
    assert process.returncode == 128 + signal.SIGTERM
    for pid in supervisors:
        assert not os.path.exists(f"/proc/{pid}")


def test_the_drill_says_itself_who_is_who(place):
    for options in (("--gang", "2"), ("--member=0",)):
        refused = place.query("drill", "--", "run", *options, "--", "true")
        assert refused.code == harness.EXIT_USAGE and "reprieve drill --gang N" in harness.one_line(refused.err), refused


def test_a_setting_of_a_real_gang_does_not_reach_a_drill_of_one_machine(place):
    shutil.copy(os.path.join(HERE, "drilled.py"), place.path)
    result = place.query("drill", "--notice-after", "1s", "--notice", "5s", "--", harness.PYTHON, "drilled.py", "step_lines",
                         REPRIEVE_GANG="4", REPRIEVE_MEMBER="2", SLURM_STEP_NUM_NODES="3", SLURM_NODEID="1", SLURM_STEP_NUM_TASKS="3")
    assert "ended with 78" not in result.out and "machine 1  the job starts from scratch" in result.out, result
