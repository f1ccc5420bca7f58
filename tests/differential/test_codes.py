"""Simulation codes, unmodified, as their manuals run them: asked to stop, killed at once, and started again.

What a start resumes from is what the program itself says. In the same directory that is no less than what the bare command makes of a
copy of it; in an empty one, no less than what it would have resumed from at the notice. What cannot be had is skipped, and said.
"""
import fcntl
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "frameworks"), str(ROOT / "tests" / "e2e")]
import environments  # noqa: E402
from harness import EXIT_DURABLE, die_with_parent, kill_quietly, wait_for  # noqa: E402

INPUTS = HERE / "codes"


class Code:
    """`command`: a shell's, in the checkpoint directory; INPUTS, MADE and PYTHON stand for what their names say. `resumed`: how it
    says the step that it resumes from, or that it begins anew (then without the group). `made`: makes its input in MADE. `until`:
    what it prints once it is worth to be interrupted. `ends`: its exit code then, or the signal that ends it. `asked`: by that signal.
    `requirements`: PyPI's packages; else Debian's of its name."""

    def __init__(self, name, command, resumed, until, ends, asked=None, made="true", requirements=()):
        self.name, self.command, self.made = name, command, made
        self.resumed, self.until = re.compile(resumed, re.M), re.compile(until, re.M)
        self.ends, self.asked, self.requirements = ends, asked, requirements


CODES = [
    Code("gromacs", "exec gmx -nobackup mdrun -nt 1 -nb cpu -s MADE/water.tpr -cpi state.cpt -cpt 0.03",
         r"steps, .* ps(?: \(continuing from step ([\d,]+),.*)?\.$", r"steps, ", 1, "SIGTERM",
         made="gmx grompp -f INPUTS/water.mdp -c /usr/share/gromacs/top/spc216.gro -p INPUTS/water.top -o water.tpr"),
    Code("lammps", "exec lmp -in INPUTS/melt.lmp -log log.lammps -var from $(ls -t a.rst b.rst 2>/dev/null | grep . -m 1 || echo none) ",
         r"^resumed (\d+)", r"^ +1200 ", "SIGTERM"),
    Code("mrbayes", "sed s/APPEND/$([ -e primates.ckp ] && echo yes || echo no)/ INPUTS/primates.mb >MADE/primates.mb; exec mb MADE/primates.mb",
         r"samples up to generation (\d+) from|Chain results \(\d+ gen", r"^ +5000 --", "SIGKILL"),
    Code("iqtree", "echo resumed $(zcat run.ckp.gz | sed -n 's/.*curIteration: //p'); "
         "exec iqtree2 -s /usr/share/doc/iqtree/examples/example.phy -nt 1 -m GTR+G -bb 1000 -nstop 100000 -cptime 1 -pre run",
         r"^resumed ?(\d*)", r"^Iteration 30", "SIGTERM"),
    Code("john", "echo resumed $(john --status=run 2>&1); if [ -e run.rec ]; then exec john --restore=run; fi; exec john --incremental --session=run MADE/password",
         r"^resumed (?:\d+g (\S+))?", r"^resumed", 1, "SIGTERM",
         made="echo 'somebody:$1$URW7UONt$NDRMsFOH2XgilNNKaEmeF0' >password"),
    Code("openmm", "exec PYTHON INPUTS/openmm_job.py .", r"^resumed (\d+)", r"^resumed", "SIGTERM", requirements=["openmm", "numpy"]),
    Code("emcee", "exec PYTHON INPUTS/emcee_job.py .", r"^resumed (\d+)", r"^step 3", "SIGTERM", requirements=["emcee", "h5py", "numpy"]),
]


def install(code):
    """What stands for PYTHON. One test at a time: neither apt nor pip shares what it writes."""
    environments.CACHE.mkdir(parents=True, exist_ok=True)
    with open(environments.CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python, why = "python3", None
        if code.requirements:
            python, _, why = environments.ensure("codes", code.requirements)
        else:
            done = subprocess.run(["bash", ROOT / "examples" / "install_packages.sh", code.name], capture_output=True, text=True)
            why = done.stderr.strip() if done.returncode else None
    if why:
        pytest.skip(f"{code.name} cannot be had: {why}")
    return python


class Played:
    """A code in one place."""

    def __init__(self, code, place):
        self.code, self.place, self.python = code, place, install(code)
        self.made = place.path / "made"
        self.made.mkdir()
        place.environment.update(OMP_NUM_THREADS="1", PATH=place.environment["PATH"] + ":/usr/sbin")
        done = subprocess.run(["sh", "-c", self.filled(code.made)], cwd=self.made, env=place.environment, capture_output=True, text=True)
        assert done.returncode == 0, done

    def filled(self, text):
        for word, what in (("INPUTS", INPUTS), ("MADE", self.made), ("PYTHON", self.python)):
            text = re.sub(rf"\b{word}\b", str(what), text)
        return text

    def words(self, directory):
        return ["sh", "-c", f"mkdir -p {shlex.quote(str(directory))} && cd {shlex.quote(str(directory))} && {self.filled(self.code.command)}"]

    def step(self, out):
        """None: it has not said it yet."""
        found = self.code.resumed.search(out)
        return int(re.sub(r"\D", "", found.group(1) or "0") or 0) if found else None

    def start(self, directory, **settings):
        """What a start under `reprieve run` resumes from, and that start, which goes on."""
        run = self.place.run(*self.words(directory), directory=directory, options=("--grace", "10"), **settings)
        wait_for("a start", lambda: self.step(run.out + run.err) is not None, process=run.process, about=run)
        return self.step(run.out + run.err), run

    def bare(self, directory):
        """What the bare command resumes from in a copy of the directory; -1 if it does not go on."""
        copy = self.place.path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", directory, copy], check=True)
        out = self.place.path / "bare.out"
        with open(out, "wb") as file:
            job = subprocess.Popen(self.words(copy), cwd=self.place.path, env=self.place.environment, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        try:
            wait_for("a bare start", lambda: self.step(out.read_text(errors="replace")) is not None or job.poll() is not None)
            step = self.step(out.read_text(errors="replace"))
            return -1 if step is None else step
        finally:
            kill_quietly(job.pid)
            job.wait()


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_code(place, code):
    played = Played(code, place)
    directory, empty, third = place.directory, place.path / "empty", place.path / "third"

    step, run = played.start(directory)
    assert step == 0, run
    run.wait_for_event("durable")
    wait_for("something worth to be interrupted", lambda: code.until.search(run.out + run.err), process=run.process, about=run)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    assert [event["signal"] for event in run.events("asked")] == ([code.asked] if code.asked else []), run
    end = run.event("child_exited")
    assert code.ends in (end["code"], end["signal"]), run
    wanted = played.bare(directory)
    assert wanted > 0, run

    # The machine is gone, and so is what lay on it.
    step, run = played.start(empty)
    assert step >= wanted, f"{step} instead of {wanted}\n{run}"
    run.wait_for_event("durable")
    run.kill()
    run.end()
    left = played.bare(empty)
    store = place.path / "store-2"
    shutil.copytree(place.store_path, store)

    # The same directory, and once more an empty one.
    step, run = played.start(empty)
    assert step >= max(left, wanted), f"{step}, bare {left}, before {wanted}\n{run}"
    run.kill()
    run.end()
    step, run = played.start(third, store=f"file://{store}")
    assert step >= wanted, f"{step} instead of {wanted}\n{run}"
