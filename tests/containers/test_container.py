"""examples/container/Containerfile as a real container: its packages, its environment, its entrypoint as PID 1, under crun."""
import os
import signal
import stat
import subprocess

import pytest

from containers import Container, containerfile, image_of, packages_of, root_file_system, skip_without_crun, tmpfs_of, SECCOMP
from harness import EXIT_DURABLE, LIMIT, PYTHON, REPRIEVE, ROOT, SAVER, wait_for

PATH = ROOT / "examples" / "container" / "Containerfile"
FILE = containerfile(PATH)
IMAGE = image_of(FILE)
TMPFS = tmpfs_of(PATH, IMAGE)
# The job of most tests needs nothing but Python; the whole image is tried once.
HEAVY = {"python3-numpy", "python3-sklearn"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """/usr/local of the build stage."""
    skip_without_crun()
    stage = tmp_path_factory.mktemp("usr-local")
    build = os.path.dirname(os.path.dirname(REPRIEVE))
    subprocess.run(["cmake", "--install", build, "--prefix", str(stage)], check=True, capture_output=True, timeout=LIMIT)
    for directory, names, files in os.walk(stage):
        os.chmod(directory, 0o755)
    path = stage
    while path != path.parent:  # for the user of the container
        if not os.stat(path).st_mode & stat.S_IXOTH:
            os.chmod(path, os.stat(path).st_mode | stat.S_IXOTH)
        path = path.parent
    return stage


@pytest.fixture
def image(tmp_path, installed):
    """Starts the image's entrypoint with a job of the tests, and the mounts of the line in the file; the store alone outlives the container."""
    started = []
    (tmp_path / "store").mkdir()
    os.chmod(tmp_path / "store", 0o777)

    def start(*command, heavy=False, env=None, entrypoint=None, mounts=(), tmpfs=TMPFS, **more):
        packages = [name for name in packages_of(FILE) if heavy or name not in HEAVY]
        root = root_file_system(packages)
        container = Container(
            tmp_path, root, [*(IMAGE["entrypoint"] if entrypoint is None else entrypoint), *(command or IMAGE["command"])],
            env={**IMAGE["env"], "REPRIEVE_STORE": "file:///store", "REPRIEVE_QUIET_TIME": "0.2", **(env or {})},
            cwd=IMAGE["cwd"], user=more.pop("user", IMAGE["user"]), tmpfs=tmpfs,
            mounts=[(installed, "/usr/local", "ro"), (os.path.dirname(SAVER), "/app", "ro"), (tmp_path / "store", "/store", "rw"),
                    *mounts], **more)
        started.append(container)
        return container

    yield start
    for container in started:
        container.end()


JOB = ["python3", "-B", "/app/saver.py", "--on-signal", "--pause", "0.01"]


def test_the_users_own_directory_is_one_where_any_user_may_write():
    """Also where nothing is mounted there, and where a volume takes its mode over."""
    directory = os.path.dirname(IMAGE["env"]["REPRIEVE_CHECKPOINT_DIR"])
    assert IMAGE["directories"][directory] == "1777" and dict(TMPFS)[directory] == "1777"


@pytest.mark.parametrize("without", [None, "/tmp"])
def test_stop_saves_and_the_next_container_resumes(image, without):
    """No HOME, a user without a name, a read-only root, no capability, the default seccomp profile; without a /tmp as well."""
    tmpfs = [(directory, mode) for directory, mode in TMPFS if directory != without]
    first = image(*JOB, tmpfs=tmpfs)
    first.wait_for_output("resumes 0")
    assert first.stop() == EXIT_DURABLE, first
    assert "without the shim" not in first.err, first
    assert "orphans" not in first.err, first
    saved = int(first.out.split("saved ")[-1].split()[0])
    # As on another machine: nothing but the store is left.
    second = image(*JOB, "--steps", str(saved + 3), tmpfs=tmpfs)
    assert second.wait() == 0, second
    assert f"resumes {saved}" in second.out, second
    assert "BAD" not in second.out


def test_it_is_pid_1_and_as_bare_as_it_says(image):
    shell = ("echo pid $$ parent $PPID home ${HOME-none}; id -u; getent passwd $(id -u) || echo nameless; touch /x 2>/dev/null || echo read-only;"
             "grep -E 'Seccomp:|CapEff' /proc/1/status; tr '\\0' ' ' < /proc/1/cmdline")
    container = image("sh", "-c", shell)
    assert container.wait() == 0, container
    lines = container.out.splitlines()
    assert lines[0].split()[2:] == ["parent", "1", "home", "none"], container
    assert lines[1:4] == [str(IMAGE["user"]), "nameless", "read-only"], container
    assert "CapEff:\t0000000000000000" in lines and "Seccomp:\t2" in lines, container
    assert lines[-1].startswith("reprieve run -- sh"), container


def test_a_job_that_does_not_answer_is_killed_and_its_newest_checkpoint_kept(image):
    """SIGTERM, the grace, SIGKILL: what was durable before stays so."""
    job = "trap '' TERM USR1; mkdir -p /work/checkpoints; echo one > /work/checkpoints/step-1; echo ready; while :; do sleep 1; done"
    first = image("sh", "-c", job, env={"REPRIEVE_GRACE": "5"})
    first.wait_for_output("ready")
    wait_for("a snapshot", lambda: "good" in first.execute("reprieve", "list").stdout, process=first.process, about=first)
    assert first.stop(grace=0.5) == 128 + signal.SIGKILL, first
    second = image("sh", "-c", "cat /work/checkpoints/step-1")
    assert second.wait() == 0 and second.out == "one\n", second


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGRTMIN+3"])
def test_another_stopsignal(image, name):
    number = signal.SIGRTMIN + 3 if "+" in name else signal.Signals[name]
    container = image(*JOB, env={"REPRIEVE_REWRITE": f"{name}=TERM"})
    container.wait_for_output("resumes 0")
    assert container.stop(number=number) == EXIT_DURABLE, container


def test_the_default_seccomp_profile_denies_it_nothing(image):
    """A profile in force that would be noticed: a denied call fails with EPERM, and what then is missing would be said on stderr."""
    if not SECCOMP.exists():
        pytest.skip("no default seccomp profile: examples/install_packages.sh test")
    container = image(*JOB, "--steps", "50", env={"REPRIEVE_STRICT": "1", "REPRIEVE_SHIM": "on", "REPRIEVE_VERBOSE": "1"})
    assert container.wait() == 0, container
    for word in ("not permitted", "unshare", "seccomp"):
        assert word not in container.err, container


@pytest.mark.long
def test_the_whole_image(image):
    """Its own command, with its own packages."""
    mounts = [(ROOT / "examples", "/app", "ro")]
    container = image(heavy=True, mounts=mounts)
    assert container.wait() == 0, container
    assert "test accuracy" in container.out, container
