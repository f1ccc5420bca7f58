"""Programs that start the trainer for somebody: workflow engines, MPI launchers, sandboxes. The real ones, each with the same job.

The job is asked, not what stands before it; the end is the job's; nothing of it is left; and the next start of the same command runs.
"""
import os
import shutil
import signal
import subprocess
import sys

import pytest

from harness import EXIT_DURABLE, LIMIT, PYTHON, ROOT, SAVER, wait_for

sys.path.insert(0, str(ROOT / "tests" / "servers"))
from server import CACHE, CannotInstall, install  # noqa: E402

SNAKEFILE = 'rule all:\n    output: "result"\n    shell: "{python} {saver} {{config[words]}} && echo done > {{output}}"\n'


def need(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed: examples/install_packages.sh test")
    return program


def plain(place, words):
    return [PYTHON, SAVER, *words]


def shell(place, words):
    return ["sh", "-c", f"{PYTHON} {SAVER} {' '.join(words)}; exit $?"]


def parallel(place, words):
    return [need("parallel"), "--will-cite", "--ungroup", "--halt", "now,fail=1", PYTHON, SAVER, *words, ":::", "--keep=3"]


def openmpi(place, words):
    return [need("mpiexec.openmpi"), "--allow-run-as-root", "--oversubscribe", "-n", "1", PYTHON, SAVER, *words]


def mpich(place, words):
    return [need("mpiexec.hydra"), "-n", "1", PYTHON, SAVER, *words]


def bwrap(place, words):
    if subprocess.run([need("bwrap"), "--dev-bind", "/", "/", "true"], capture_output=True).returncode:
        pytest.skip("bwrap may make no name spaces here")
    return ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", PYTHON, SAVER, *words]


def charliecloud(place, words):
    """An image of links into the machine's own /usr: what a container sees is another tree all the same."""
    image = place.path / "image"
    folders = ["/usr", "/tmp", "/proc", "/sys", "/dev", "/etc", "/root", "/home", str(ROOT)]
    for folder in folders:
        (image / folder[1:]).mkdir(parents=True, exist_ok=True)
    for link in ("bin", "sbin", "lib", "lib64"):
        if not (image / link).is_symlink():
            (image / link).symlink_to(f"usr/{link}")
    for file in ("etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf"):
        (image / file).touch()
    run = ["env", "USER=root", need("ch-run"), "-b", "/usr:/usr", "-b", f"{ROOT}:{ROOT}", "--cd=/", str(image), "--"]
    probe = subprocess.run([*run, "true"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f"ch-run: {probe.stderr.strip()[-200:]}")
    return [*run, PYTHON, SAVER, *words]


def snakemake(place, words):
    try:
        install("snakemake")
    except CannotInstall as error:
        pytest.skip(f"snakemake: {error}")
    (place.path / "Snakefile").write_text(SNAKEFILE.format(python=PYTHON, saver=SAVER))
    return [CACHE / "snakemake" / "bin" / "snakemake", "--cores", "1", "--quiet", "all", "--config", f"words={' '.join(words)}"]


WRAPPERS = [plain, shell, parallel, openmpi, mpich, bwrap, charliecloud, snakemake]


@pytest.fixture(params=WRAPPERS, ids=lambda wrapper: wrapper.__name__)
def wrapped(request, place):
    """wrapped(WORDS): the command that has the wrapper run the saver with them."""
    place.environment["WRAPPED_BY_TEST"] = str(place.path)
    return lambda *words: request.param(place, [str(word) for word in words])


def left_of(place):
    """Processes of the job that still live, by a word in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"WRAPPED_BY_TEST={place.path}".encode() in file.read():
                    found.append(name)
        except OSError:
            pass
    return found


def test_the_end_is_the_one_that_it_would_be_without(place, wrapped):
    """The saver refuses an unknown word with 2: what the wrapper makes of that is passed on."""
    command = [str(word) for word in wrapped("--no-such-option")]
    bare = subprocess.run(command, cwd=place.path, env=place.environment, capture_output=True, timeout=LIMIT)
    run = place.run(*command)
    assert run.wait() == bare.returncode != 0, run
    assert not left_of(place), run


def test_asked_stopped_and_started_again(place, wrapped):
    first = place.run(*wrapped("--pause", "0.1", "--size", "1000", "--on-signal"), options=("--checkpoint-signal", "USR1", "--grace", "20"))
    wait_for("the job", lambda: "resumes 0" in first.out + first.err, LIMIT, first.process, first)
    first.signal(signal.SIGTERM)
    assert first.wait() == EXIT_DURABLE, first
    saved = place.newest()["step"]
    assert saved and f"saved {saved}" in first.out + first.err, first
    assert not left_of(place), first
    again = place.run(*wrapped("--pause", "0.1", "--size", "1000", "--steps", saved + 2))
    assert again.wait() == 0 and f"resumes {saved}" in again.out + again.err, again
    assert place.newest()["step"] == saved + 2, again
    assert not left_of(place), again
