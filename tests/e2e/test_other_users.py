"""Other users of the machine, who may write to the directory above the checkpoint directory; and a job with fewer rights than its
supervisor. What they do is done by processes of theirs."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import harness
from harness import EXIT_CONFIGURATION, PYTHON, Place, die_with_parent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become other users")
HERE = Path(__file__).resolve().parent
USER, OTHER = 64001, 64002
MODEL, EVIL = b"good" * 1000, b"evil" * 1000


def as_user(user):
    def become():
        die_with_parent()
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    return become


class Machine(Place):
    """A directory that all users may enter; `shared` in it has the checkpoint directory. Commands run as `user`."""

    def __init__(self, path, user, mode, owner=0):
        super().__init__(path)
        self.user, self.shared = user, self.path / "shared"
        self.shared.mkdir()
        os.chown(self.shared, owner, owner)
        self.shared.chmod(mode)
        self.directory = self.shared / "ck"
        self.others = []
        home = self.path / "home"
        for directory in home, self.store_path, Path(self.runtime):
            directory.mkdir(exist_ok=True)
            os.chown(directory, user, user)
        self.environment.update(HOME=str(home), XDG_STATE_HOME=str(home))
        self.prefix = []

    def query(self, *arguments, **environment):
        process = subprocess.Popen([*self.prefix, harness.REPRIEVE, *map(str, arguments)], cwd=self.path, text=True, errors="replace",
                                   env={**self.environment, **environment}, preexec_fn=as_user(self.user),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=harness.LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return harness.Result(process, out, err)

    def run_job(self, *command):
        return self.query("run", "--store", self.store, "--job", self.job, "-c", self.directory, "--", *command)

    def as_other(self, script, user=OTHER):
        subprocess.run(["sh", "-ec", script], cwd=self.shared, preexec_fn=as_user(user), check=True)

    def meddle(self, *arguments):
        count = self.path / f"count{len(self.others)}"
        count.touch()
        count.chmod(0o666)
        process = subprocess.Popen([PYTHON, HERE / "other_user.py", *map(str, arguments)], cwd=self.shared, text=True,
                                   env={"COUNT": str(count)}, preexec_fn=as_user(OTHER), stdout=subprocess.PIPE)
        self.others.append(process)
        assert process.stdout.readline() == "ready\n"
        return lambda: int(count.read_text() or 0)

    def save_model(self, user=None):
        """A snapshot with one model; the directory is gone then."""
        source = self.path / "source"
        source.mkdir()
        (source / "model-1.bin").write_bytes(MODEL)
        assert self.verb("save", source).code == 0
        shutil.rmtree(source)

    def end(self):
        for process in self.others:
            process.kill()
            process.wait()
        super().end()


@pytest.fixture
def machine(request):
    path = Path(tempfile.mkdtemp(prefix="reprieve-others."))
    path.chmod(0o755)
    made = []

    def make(*arguments, **named):
        made.append(Machine(path, *arguments, **named))
        return made[0]
    yield make
    for one in made:
        one.end()
    shutil.rmtree(path)


def tree(path):
    return sorted(str(found.relative_to(path)) for found in path.rglob("*"))


# --- another user, who may write to the directory above ---

def test_a_folder_that_another_user_has_put_there_first_is_not_used(machine):
    here = machine(USER, 0o1777)
    here.save_model()
    here.as_other("mkdir -m 0777 ck.reprieve")
    evil = here.path / "evil"
    evil.mkdir()
    (evil / "model-1.bin").write_bytes(EVIL)
    here.meddle("pretend", here.shared / "ck.reprieve", evil)
    result = here.run_job("cat", here.directory / "model-1.bin")
    assert result.code == 0 and result.out.encode() == MODEL
    assert "ck.reprieve is another user's, and is not used" in result.err
    assert tree(here.shared / "ck.reprieve") == []
    assert (here.directory / ".reprieve" / "completion.json").exists()


def test_a_link_in_the_place_of_our_folder_leads_nowhere(machine):
    here = machine(USER, 0o777)
    here.save_model()
    documents = here.path / "home" / "documents"
    (documents / "staging-0123456789ab").mkdir(parents=True)
    (documents / "staging-0123456789ab" / "thesis.tex").write_text("years of work")
    subprocess.run(["chown", "-R", f"{USER}", documents], check=True)
    here.as_other(f"ln -s {documents} ck.reprieve")
    before = tree(documents)
    result = here.run_job("cat", here.directory / "model-1.bin")
    assert result.code == 0 and result.out.encode() == MODEL
    assert tree(documents) == before
    assert "ck.reprieve is a link or a file, and is not used" in result.err


def test_both_places_taken_is_a_refusal_that_says_what_to_do(machine):
    here = machine(USER, 0o777)
    here.save_model()
    here.as_other("mkdir -m 0777 ck.reprieve ck ck/.reprieve; chmod 0777 ck")
    os.chown(here.directory, USER, USER)
    (here.directory / "leftover").write_text("x")
    result = here.run_job("true")
    assert result.code == EXIT_CONFIGURATION, result
    assert "ck/.reprieve is another user's, and is not used: remove it" in result.err


@pytest.mark.parametrize("store", ["named", "default"])
def test_both_places_taken_is_a_refusal_also_with_nothing_to_restore(machine, store):
    here = machine(USER, 0o777)
    here.as_other("mkdir -m 0777 ck.reprieve ck ck/.reprieve; chmod 0777 ck")
    os.chown(here.directory, USER, USER)
    named = ["--store", here.store] if store == "named" else []
    result = here.query("run", *named, "--job", here.job, "-c", here.directory, "--", "touch", here.path / "home" / "ran")
    assert result.code == EXIT_CONFIGURATION, result
    assert "ck/.reprieve is another user's, and is not used: remove it" in result.err
    assert "is used in its place" not in result.err
    assert not (here.path / "home" / "ran").exists()


def test_a_working_directory_that_is_closed_to_us_is_no_hindrance(machine):
    here = machine(USER, 0o777)
    here.save_model()
    closed = here.path / "closed"
    closed.mkdir(mode=0o700)
    here.path = closed
    result = here.run_job("cat", here.directory / "model-1.bin")
    here.path = closed.parent
    assert result.code == 0 and result.out.encode() == MODEL, result


def may_make_user_namespaces():
    return subprocess.run(["unshare", "-Ur", "true"], preexec_fn=as_user(USER), stderr=subprocess.DEVNULL).returncode == 0


def test_standard_files_are_written_where_root_has_no_number(machine):
    """As in a container without privileges: there the links of /dev and /proc/self belong to nobody's number."""
    if not may_make_user_namespaces():
        pytest.skip("needs user namespaces for users without rights")
    here = machine(USER, 0o777)
    # The pipe is made there, because one of this process could not be opened anew.
    script = 'test "$(stat -c %u /proc/self)" -ne 0 && { "$@" 3>&1 >/dev/null; echo "exit $?"; } 2>&1 | cat'
    here.prefix = ["unshare", "-Ur", "sh", "-c", script, "sh"]
    for events, message in (("/dev/fd/3", "/proc/self/fd/3"), ("/proc/self/fd/3", "/dev/fd/3"), ("/dev/stderr", "/dev/stderr")):
        result = here.query("run", "--store", here.store, "--job", "job", "-c", here.directory, "--events", events, "--termination-log",
                            message, "--", "sh", "-c", "exit 3")
        assert "exit 3\n" in result.out and '"started"' in result.out, result
        assert '"exit_code":3' in result.out.replace('": ', '":'), result
        assert "not followed" not in result.out and "cannot write" not in result.out, result


def test_a_folder_that_is_exchanged_all_the_time_brings_nothing_in(machine):
    here = machine(USER, 0o777)
    here.save_model()
    here.as_other("mkdir -m 0777 mine")
    (here.shared / "ck.reprieve").mkdir(mode=0o700)
    os.chown(here.shared / "ck.reprieve", USER, USER)
    exchanges = here.meddle("exchange", here.shared / "ck.reprieve", here.shared / "mine")
    restored = rounds = 0
    while restored < 5 or exchanges() < 1000:
        rounds += 1
        assert rounds < 60, (result, exchanges())
        shutil.rmtree(here.directory, ignore_errors=True)
        result = here.run_job("cat", here.directory / "model-1.bin")
        if result.code == 0 and result.out:
            assert result.out.encode() == MODEL
            restored += 1
    mine = [name for name in ("ck.reprieve", "mine") if (here.shared / name).stat().st_uid == OTHER]
    for other in here.others:
        other.kill()
        other.wait()
    mine = [name for name in ("ck.reprieve", "mine") if (here.shared / name).stat().st_uid == OTHER]
    assert len(mine) == 1 and tree(here.shared / mine[0]) == []


# --- a job with fewer rights than its supervisor ---

@pytest.fixture
def as_root(machine):
    return machine(0, 0o755, owner=OTHER)


def test_what_is_restored_and_removed_stays_in_the_directory(as_root):
    here = as_root
    protected = here.path / "protected"
    protected.mkdir()
    (protected / "existing").write_text("of root")
    here.save_model()
    # Many, so that moving them aside takes a while.
    here.as_other(f"mkdir ck ck.reprieve; for i in $(seq 3000); do : > ck/evil-$i; done; ln -s {protected} trap")
    exchanges = here.meddle("exchange-at", here.shared / "ck.reprieve" / "quarantine", here.directory, here.shared / "trap")
    result = here.run_job("true")
    here.others[0].wait()
    assert exchanges() == 1
    assert tree(protected) == ["existing"] and (protected / "existing").read_text() == "of root"
    assert "another directory has been put in the place of" in result.err, result
    assert (here.shared / "trap" / "model-1.bin").read_bytes() == MODEL
    assert len(list((here.shared / "ck.reprieve" / "quarantine").glob("*/evil-*"))) == 3000


def test_what_is_saved_is_of_the_directory(as_root):
    here = as_root
    protected = here.path / "protected"
    protected.mkdir(mode=0o700)
    (protected / "secret").write_bytes(b"of root alone")
    here.as_other(f"mkdir -p ck/a ck/e ck/other; echo public > ck/e/secret; for i in $(seq 300); do echo $i > ck/a/f$i; done; "
                  f"rmdir ck/other; ln -s {protected} ck/other")
    exchanges = here.meddle("exchange", here.directory / "e", here.directory / "other")
    saved = refused = 0
    while saved < 6 or refused < 6:
        result = here.verb("save", here.directory, "--take-over")
        saved, refused = saved + (result.code == 0), refused + (result.code != 0)
        assert saved + refused < 200
    assert exchanges() > 0
    contents = set()
    for number, snapshot in enumerate(here.snapshots()):
        target = here.path / f"target{number}"
        assert here.verb("restore", snapshot["id"], target).code == 0
        contents.update(found.read_bytes() for found in target.rglob("secret"))
    assert contents <= {b"public\n"}


def test_files_for_others_are_not_written_through_a_link_of_the_job(as_root):
    here = as_root
    target = here.path / "of root"
    target.write_text("untouched")
    here.as_other(f"ln -s '{target}' events; ln -s '{target}' message; ln -s '{target}' log")
    result = here.query("run", "--store", here.store, "--job", "job", "-c", here.directory, "--events", here.shared / "events",
                        "--termination-log", here.shared / "message", "--log", here.shared / "log", "--", "sh", "-c", "exit 3")
    assert result.code == 3
    assert target.read_text() == "untouched"
    assert result.err.count("is a link of another user, and is not followed") >= 2, result
    assert b"untouched" not in b"".join(found.read_bytes() for found in here.store_path.rglob("*") if found.is_file())


def test_a_checkpoint_directory_behind_a_link_of_the_job_is_refused(as_root):
    here = as_root
    protected = here.path / "protected"
    protected.mkdir()
    here.save_model()
    here.as_other(f"ln -s {protected} there")
    here.directory = here.shared / "there" / "ck"
    result = here.run_job("true")
    assert tree(protected) == [], result


def test_links_that_the_user_gave_are_followed(machine):
    here = machine(USER, 0o777)
    here.save_model()
    real = here.path / "home" / "disk"
    here.as_other(f"mkdir {real}; ln -s {real} ck", user=USER)
    result = here.run_job("sh", "-c", f"cat {here.directory}/model-1.bin; cd {here.directory} && ln -s model-1.bin last && "
                          "echo x > model-2.bin")
    assert result.code == 0 and result.out.encode() == MODEL
    again = here.query("run", "--store", here.store, "--job", here.job, "-c", real, "--", "readlink", f"{here.directory}/last")
    assert again.code == 0 and again.out == "model-1.bin\n", again
