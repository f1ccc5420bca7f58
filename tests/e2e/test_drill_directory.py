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


@pytest.fixture
def work(place):
    work = place.path / "work"
    work.mkdir()
    (work / "job.py").write_text(JOB)
    return work


def drill(place, besides="", checkpoints="checkpoints", within=(), options=()):
    process = subprocess.Popen([*within, harness.REPRIEVE, "drill", "--directory", str(place.path / "scratch"), "--notice-after", "1s", "--notice", "3s", *options,
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
    assert os.readlink(place.path / "scratch" / "machine-1" / "latest") == str(place.path / "scratch" / "machine-1" / "data" / "outputs" / "ckpt")


def test_a_directory_that_holds_a_link_to_itself_is_copied_once(place, work):
    (work / "data").mkdir()
    for number in range(300):
        (work / "data" / str(number)).write_text("x")
    (work / "data" / "data").symlink_to(work / "data")
    passes_and_leaves_all(place, "assert os.path.exists('data/data/data/7')")
    assert sum(len(files) for _, _, files in os.walk(place.path / "scratch" / "machine-1" / "data")) == 300


def test_what_is_excluded_no_machine_has(place, work):
    (work / "data").mkdir()
    (work / "data" / "large.bin").write_text("x")
    (work / "data" / "small.bin").write_text("x")
    result = drill(place, "assert os.listdir('data') == ['small.bin']", options=("--exclude", "data/large.bin", "--exclude", str(work / "no-such")))
    assert result.code == 0, result


def test_a_relative_link_out_of_the_directory_leads_there_still(place, work):
    (place.path / "datasets").mkdir()
    (place.path / "datasets" / "a").write_text("x")
    (work / "data").symlink_to("../datasets")
    passes_and_leaves_all(place, "assert open('data/a').read() == 'x'")


def test_a_directory_that_is_too_large_proves_nothing(place, work):
    (place.path / "scratch").mkdir()
    small = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=4m none {place.path}/scratch && exec "$@"', "sh"]
    if subprocess.run([*small, "true"]).returncode != 0:
        pytest.skip("no file system can be mounted here")
    (work / "data.bin").write_bytes(os.urandom(3 << 20))
    result = drill(place, within=small)
    assert result.code == 2 and "UNPROVEN: the current directory is too large: 3.0 MiB" in last_line(result), result
    assert "--exclude what the job does not need" in last_line(result), result
    assert "machine 1" not in result.out
    assert drill(place, within=small, options=("--exclude", "data.bin")).code == 0
