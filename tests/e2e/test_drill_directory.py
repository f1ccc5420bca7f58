"""What a machine of `reprieve drill` sees of the current directory, and that nothing of the user's changes by what it writes there."""
import os
import subprocess

import harness
import pytest

pytestmark = pytest.mark.long  # each is a whole drill

# It saves, and it resumes. What it does besides is in its second argument.
JOB = '''
import json, os, subprocess, sys, time
directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
path = os.path.join(directory, "state.json")
step = json.load(open(path))["step"] if os.path.exists(path) else 0
first = os.environ["REPRIEVE_ATTEMPT"] == "1"
def save():
    with open(path + ".tmp", "w") as file:
        json.dump({"step": step}, file)
    os.rename(path + ".tmp", path)
exec(sys.argv[2])
last = 10**6 if first else step + 60
while step < last:
    if first:
        time.sleep(0.02)
    step += 1
    print("step", step, flush=True)
    if step % 15 == 0:
        save()
save()
'''


WRITES_IN_ENVIRONMENT = "try:\n    open('env/pyvenv.cfg', 'w').write('x')\nexcept OSError as error:\n    print(error, flush=True)"


@pytest.fixture
def work(place):
    work = place.path / "work"
    work.mkdir()
    (work / "job.py").write_text(JOB)
    return work


def drill(place, besides="", checkpoints="checkpoints", within=()):
    process = subprocess.Popen([*within, harness.REPRIEVE, "drill", "--directory", str(place.path / "scratch"), "--notice-after", "1500ms", "--notice", "5s",
                                "--", "run", "-c", checkpoints, "--", harness.PYTHON, "job.py", checkpoints, besides],
                               cwd=place.path / "work", env=place.environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=harness.die_with_parent)
    out, err = process.communicate(timeout=harness.LIMIT)
    return harness.Result(process, out, err)


def content(work):
    """Of all that is there, and where its links lead."""
    found = {}
    for directory, below, files in os.walk(work):
        for name in [*below, *files]:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def last_line(result):
    return result.out.rstrip().splitlines()[-1]


def passes_and_leaves_all(place, besides="", checkpoints="checkpoints"):
    before = content(place.path / "work")
    result = drill(place, besides, checkpoints)
    assert result.code == 0 and last_line(result).startswith("PASS: "), result
    assert content(place.path / "work") == before
    assert "step 1\n" in (place.path / "scratch" / "machine-1.log").read_text()
    return result


def test_a_large_file_is_the_machines_own(place, work):
    (work / "best_model.pt").write_bytes(b"of yesterday" * 500000)
    passes_and_leaves_all(place, "open('best_model.pt', 'wb').write(b'of today')")


def git(work, *arguments):
    names = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    return subprocess.run(["git", *names, *arguments], cwd=work, check=True, capture_output=True, text=True).stdout


def test_what_a_job_commits_is_not_in_the_users_repository(place, work):
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "one")
    passes_and_leaves_all(place, "print(subprocess.check_output(['git', 'log', '--format=saw %s'], text=True), flush=True)\n"
                          "open('notes', 'a').write(str(step))\n"
                          "subprocess.check_call('git add -A && git -c user.name=a -c user.email=a@b.c commit -q -m two', shell=True)")
    assert git(work, "log", "--all", "--format=%s").split() == ["one"]
    assert "saw one" in (place.path / "scratch" / "machine-1.log").read_text()
    assert git(place.path / "scratch" / "machine-1", "log", "--format=%s").split() == ["two", "one"]


def test_the_users_checkpoints_are_left_out_where_links_lead_to_them(place, work):
    ckpt = work / "data" / "outputs" / "ckpt"
    ckpt.mkdir(parents=True)
    (ckpt / "state.json").write_text('{"step": 999999}')
    (work / "outputs").symlink_to("data/outputs")
    (work / "latest").symlink_to(ckpt)  # absolute
    passes_and_leaves_all(place, "open('latest/state.json.note', 'w').write('x')", "outputs/ckpt")
    assert os.readlink(place.path / "scratch" / "machine-1" / "latest") == "data/outputs/ckpt"


def test_a_directory_that_holds_a_link_to_itself_is_copied_once(place, work):
    (work / "data").mkdir()
    for number in range(300):
        (work / "data" / str(number)).write_text("x")
    (work / "data" / "data").symlink_to(work / "data")
    passes_and_leaves_all(place, "assert os.path.exists('data/data/data/7')")
    assert sum(len(files) for _, _, files in os.walk(place.path / "scratch" / "machine-1" / "data")) == 300


def test_a_virtual_environment_is_read_only_where_the_kernel_lets_us(place, work):
    (work / "env").mkdir()
    (work / "env" / "pyvenv.cfg").write_text("home = /usr/bin")
    before = content(work)
    result = drill(place, WRITES_IN_ENVIRONMENT)
    may = subprocess.run(["unshare", "-m", "true"]).returncode == 0 or subprocess.run(["unshare", "-Urm", "true"]).returncode == 0
    if not may:
        pytest.skip("no mount namespace can be made here: what comes next is tested")
    assert result.code == 0 and content(work) == before, result
    assert "Read-only file system" in (place.path / "scratch" / "machine-1.log").read_text()


def test_a_virtual_environment_that_was_written_to_is_named(place, work):
    """Where no mount namespace can be made."""
    without = ["unshare", "-Ur", "sh", "-c", 'echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$@"', "sh"]
    if subprocess.run([*without, "true"]).returncode != 0:
        without = []  # none can be made at all
    (work / "env").mkdir()
    (work / "env" / "pyvenv.cfg").write_text("home = /usr/bin")
    result = drill(place, WRITES_IN_ENVIRONMENT, within=without)
    assert result.code == 2 and "was written to while they ran: env/pyvenv.cfg. " in last_line(result), result
    assert "which is not copied (it is a virtual environment" in last_line(result), result


def test_the_artifacts_of_mlflow_that_go_to_the_users_own_are_named_with_a_remedy(place, work):
    (work / "mlruns" / "0").mkdir(parents=True)
    (work / "mlruns" / "0" / "meta.yaml").write_text(f"artifact_location: {work}/mlruns/0\nexperiment_id: '0'\n")
    result = drill(place, "where = open('mlruns/0/meta.yaml').read().split()[1] + '/4f2a/artifacts'\n"
                   "os.makedirs(where, exist_ok=True)\nopen(where + '/model.bin', 'w').write('x')")
    assert result.code == 2 and "was written to while they ran: mlruns/0/4f2a/artifacts/model.bin" in last_line(result), result
    assert "set MLFLOW_TRACKING_URI=file:" in last_line(result), result


def test_what_finds_no_room_is_named_and_refutes_nothing(place, work):
    """A file with more bytes than the disk has, without one of them."""
    with open(work / "data.bin", "wb") as file:
        file.truncate(1 << 43)
    result = drill(place, "open('data.bin')")
    if subprocess.run(["cp", "--reflink=always", "job.py", "copy"], cwd=work, stderr=subprocess.DEVNULL).returncode == 0:
        assert result.code == 0, result  # it shares the content
    else:
        assert result.code == 2, result
        assert "do not have data.bin: a copy finds no room" in result.out, result
        assert "the machines did not have data.bin (a copy finds no room" in last_line(result), result
