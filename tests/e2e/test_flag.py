"""Asking by the flag that a job polls (shim/reprieve.h, shim/reprieve.py), and what the job reports through the same page."""
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import LIMIT, PYTHON, ROOT, wait_for

FLAGGED = (PYTHON, "-u", str(Path(__file__).with_name("flagged.py")))
QUICK = ("--quiet-time", "150ms")
# Far longer than any test may take: then only "saved" can have completed a checkpoint.
NEVER_QUIET = ("--quiet-time", "600s")


def ready(run, count=1):
    return wait_for("the job polls", lambda: len(re.findall("^ready", run.out, re.M)) == count, process=run.process, about=run)


def saved(run):
    return re.findall(r"^saved (\d+) (\d+)$", run.out, re.M)


def ask(place, run):
    return place.query("checkpoint", "--pid", run.pid)


@pytest.mark.parametrize("options", [(), ("--checkpoint-signal", "flag")])
def test_a_job_that_polls_is_asked_by_the_flag(place, options):
    run = place.run(*FLAGGED, options=(*NEVER_QUIET, *options))
    ready(run)
    wait_for("the first report", lambda: "ready" in run.out)
    result = ask(place, run)
    assert result.code == 0, (result, run)
    assert [event["how"] for event in run.events("asked")] == ["flag"]
    assert len(saved(run)) == 1
    # Its word was enough, and it knew the step.
    assert run.event("checkpoint_complete")["step"] == int(saved(run)[0][0])
    assert place.newest()["step"] == int(saved(run)[0][0])
    assert ask(place, run).code == 0
    assert len(saved(run)) == 2


def test_a_notice_raises_the_flag_and_the_job_resumes(place):
    run = place.run(*FLAGGED, options=("--grace", "60", *NEVER_QUIET))
    ready(run)
    wait_for("its page", lambda: run.event("launched"))
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    [(step, _)] = saved(run)
    assert re.search(rf"preempted; durable: \S+ \(step {step}, .* before the end; (no step|\d+ steps? later) (is|are) lost\)", run.err), run
    shutil.rmtree(place.directory)
    again = place.run(*FLAGGED, "--steps", "1", options=QUICK)
    assert again.wait() == 0
    assert f"model-{step}-0" in again.out


def test_after_its_own_word_the_job_is_ended_and_not_watched_for_more(place):
    """A step takes 10 ms. Waiting for quiet would cost hundreds of them."""
    run = place.run(*FLAGGED, options=("--grace", "600", *NEVER_QUIET))
    ready(run)
    wait_for("its page", lambda: run.event("launched"))
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run
    lost = re.search(r"before the end; (no step|(\d+) steps? later)", run.err)
    assert lost and int(lost[2] or 0) < 100, run


def test_status_says_how_far_the_job_is(place):
    run = place.run(*FLAGGED, options=QUICK)
    ready(run)

    def training():
        answer = place.query("status", "--job", place.job, "--json").json["jobs"][0].get("training", {})
        return answer if answer.get("step_seconds") else None

    first = wait_for("two looks at its steps", training, process=run.process)
    assert first["step"] >= 0 and first["step_seconds"] > 0, first
    assert re.search(r"^  training  step \d+, .* each, .* ago$", place.query("status", "--job", place.job).out, re.M)
    run.signal(signal.SIGTERM)
    assert run.wait() == 75, run


def test_without_its_word_the_files_decide(place):
    run = place.run(*FLAGGED, "--silent", options=(*QUICK, "--checkpoint-signal", "flag"))
    ready(run)
    assert ask(place, run).code == 0, run
    assert len(saved(run)) == 1


def test_the_word_of_a_job_whose_file_is_still_open_completes_nothing(place):
    notice = place.path / "notice"
    run = place.run(*FLAGGED, "--open", options=(*QUICK, "--grace", "60", "--notice", f"file:{notice}", "--checkpoint-signal", "flag"))
    ready(run)
    run.signal(signal.SIGTERM)
    wait_for("its word", lambda: saved(run), process=run.process)
    notice.write_text('{"in_seconds": 2}')
    assert run.wait() == 74, run
    assert not run.events("checkpoint_complete")
    assert place.snapshots() == []


def test_ranks_made_by_fork_answer_each_for_itself(place):
    run = place.run(*FLAGGED, "--fork", "3", options=NEVER_QUIET)
    ready(run, 3)
    assert ask(place, run).code == 0, run
    assert sorted(rank for _, rank in saved(run)) == ["0", "1", "2"]
    assert place.newest()["files"] == 3


def test_a_signal_that_the_user_chose_goes_before_the_flag(place):
    trapping = f"import signal; signal.signal(signal.SIGUSR1, lambda *_: print('signal', flush=True)); exec(open({FLAGGED[-1]!r}).read())"
    run = place.run(PYTHON, "-u", "-c", trapping.replace("exec(", f"__file__ = {FLAGGED[-1]!r}; exec("),
                    options=(*QUICK, "--checkpoint-signal", "USR1"))
    ready(run)
    run.signal(signal.SIGUSR1)
    run.wait_for_output("signal")
    assert saved(run) == []


def test_the_flag_works_without_the_shim(place):
    run = place.run(*FLAGGED, options=(*NEVER_QUIET, "--shim", "off"))
    ready(run)
    assert ask(place, run).code == 0, run
    assert len(saved(run)) == 1


def test_without_reprieve_nothing_happens(tmp_path):
    result = subprocess.run([*FLAGGED, "--steps", "3"], env={"REPRIEVE_CHECKPOINT_DIR": str(tmp_path)}, capture_output=True,
                            text=True, timeout=LIMIT)
    assert result.returncode == 0 and "saved" not in result.stdout


def test_without_reprieve_no_function_names_a_place(tmp_path):
    """Not even the current directory: the script says where it saves then."""
    (tmp_path / "model-1").touch()
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import reprieve as r; r.saved(1); r.progress(1)\n"
              "print(r.requested(), r.agreed(), r.resuming(), r.checkpoint_dir(), r.newest('model-*'))\n"
              "print(r.checkpoint_dir() or 'checkpoints', r.checkpoint_dir('out'), r.newest('model-*', '.'))")
    result = subprocess.run([PYTHON, "-B", "-c", script, ROOT / "shim"], env={}, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert result.stdout == "False False False None None\ncheckpoints out ./model-1\n", result


# --- the header ---

C_JOB = r"""
#include "shim/reprieve.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	mkdir(getenv("REPRIEVE_CHECKPOINT_DIR"), 0777);
	reprieve_requested();
	printf("ready\n");
	fflush(stdout);
	for (int step = 0; step < 100000; step++) {
		usleep(1000);
		reprieve_progress(step);
		if (!reprieve_requested())
			continue;
		char path[4096];
		snprintf(path, sizeof(path), "%s/model-%d", getenv("REPRIEVE_CHECKPOINT_DIR"), step);
		FILE *file = fopen(path, "w");
		fputs("weights", file);
		fclose(file);
		reprieve_saved(step);
		printf("saved %d 0\n", step);
		fflush(stdout);
	}
	return 0;
}
"""


@pytest.mark.parametrize("language", [("cc", "-xc", "-std=gnu99"), ("cc", "-xc", "-std=c99"), ("c++", "-xc++", "-std=c++11"),
                                      ("musl-gcc", "-xc", "-std=c99")], ids=lambda words: f"{words[0]} {words[-1]}")
def test_the_header_asks_and_answers(place, language):
    compiler, *flags = language
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    source, program = place.path / "job.source", place.path / "job"
    source.write_text("#define _DEFAULT_SOURCE\n" + C_JOB if "gnu" in flags[-1] or "++" in flags[-1] else C_JOB.replace(
        "#include <stdio.h>", "#include <stdio.h>\nint usleep(unsigned);"))
    subprocess.run([compiler, *flags, "-Wall", "-Werror", f"-I{ROOT}", "-o", program, source], check=True, timeout=LIMIT)
    run = place.run(program, options=NEVER_QUIET)
    ready(run)
    result = ask(place, run)
    assert result.code == 0, (result, run)
    assert run.event("checkpoint_complete")["step"] == int(saved(run)[0][0])


CURVE = """
import os, sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import reprieve
directory = reprieve.checkpoint_dir()
os.makedirs(directory, exist_ok=True)
with open(f"{directory}/metrics.csv", "a") as curve:
    curve.write("1\\n")
if not reprieve.resuming():
    with open(f"{directory}/last.bin", "wb") as file:
        file.write(b"x" * 1000)
    reprieve.saved(7)
"""


def test_a_snapshot_with_a_longer_curve_has_the_step_of_the_checkpoint_in_it(place):
    """Its name has none; the job had said it. The next starts find it here, and then in an empty directory."""
    for start in range(3):
        run = place.run(PYTHON, "-c", CURVE, ROOT / "shim", options=QUICK)
        assert run.wait() == 0, run
        assert [snapshot["step"] for snapshot in place.snapshots()] == [7] * (start + 1), run
        if start == 1:
            shutil.rmtree(place.directory)
