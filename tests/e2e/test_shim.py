"""The shim in real processes: what it reports, and that a job with it behaves as a job without it.

shim_listen (built beside the unit tests) makes the channel and prints what arrives; shim_actor.c and short Python programs are
the jobs.
"""
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from harness import LIMIT, PYTHON, REPRIEVE, die_with_parent

BUILD = Path(REPRIEVE).parents[1]
SHIM = str(BUILD / "shim" / "libreprieve-shim.so")
LISTEN = str(BUILD / "tests" / "unit" / "shim_listen")
ACTOR = Path(__file__).with_name("shim_actor.c")
CC = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")

EMPTY, FAILED, UNFLUSHED = 2, 8, 16


class Desk:
    """A channel with its reader, and a checkpoint directory."""

    def __init__(self, path, alias=None):
        self.path = path
        self.directory, self.session = path / "checkpoints", path / "session"
        self.directory.mkdir()
        self.session.mkdir(mode=0o700)
        self.channel = str(self.session / "shim.channel")
        arguments = [LISTEN, str(self.session), str(self.directory)] + ([str(alias)] if alias else [])
        self.listener = subprocess.Popen(arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         preexec_fn=die_with_parent)
        assert self.read()["event"] == "ready"

    def read(self):
        line = self.listener.stdout.readline()
        assert line, "shim_listen ended"
        return json.loads(line)

    def environment(self, **changes):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REPRIEVE_")}
        environment.update(LD_PRELOAD=SHIM, REPRIEVE_SHIM_CHANNEL=self.channel, D=str(self.directory))
        environment.update(changes)
        return environment

    def start(self, *command, **changes):
        options = changes.pop("options", {})
        return subprocess.Popen(list(map(str, command)), cwd=self.directory, env=self.environment(**changes), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=die_with_parent, **options)

    def run(self, *command, code=0, **changes):
        job = self.start(*command, **changes)
        try:
            out, err = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
        assert job.returncode == code, err
        assert "cannot be preloaded" not in err
        job.out, job.err = out, err
        return job

    def python(self, program, **changes):
        return self.run(PYTHON, "-I", "-c", textwrap.dedent(program), **changes)

    def events(self):
        """All that has been reported until now, since the last call."""
        self.listener.stdin.write("\n")
        self.listener.stdin.flush()
        events = []
        while (event := self.read())["event"] != "synced":
            events.append(event)
        return events

    def story(self, pid=None):
        """The same in short, as (event, path) or (event, path, path2), without greetings."""
        return [tuple(filter(None, (e["event"], e["path"], e["path2"]))) for e in self.events()
                if e["event"] not in ("hello", "exiting") and (pid is None or e["pid"] == pid)]

    def close(self):
        self.listener.stdin.close()
        self.listener.wait(timeout=LIMIT)


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    yield desk
    desk.close()


def compiled(tmp_path_factory, name, *flags, compiler=CC, source=ACTOR):
    if not compiler:
        pytest.skip("no C compiler")
    target = tmp_path_factory.mktemp("compiled") / name
    command = [compiler, "-o", str(target), str(source), *flags]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    if result.returncode != 0:
        pytest.skip(f"{' '.join(command)}: {result.stderr.strip().splitlines()[-1]}")
    return target


VARIANTS = {
    "plain": ["-O1"],
    "64 bit offsets": ["-O1", "-D_FILE_OFFSET_BITS=64"],
    "fortified": ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-D_FILE_OFFSET_BITS=64"],
    "fortified, old offsets": ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"],
}


@pytest.fixture(scope="session", params=VARIANTS)
def every_actor(request, tmp_path_factory):
    return compiled(tmp_path_factory, "actor", *VARIANTS[request.param], "-pthread")


@pytest.fixture(scope="session")
def actor(tmp_path_factory):
    return compiled(tmp_path_factory, "actor", "-O1", "-pthread")


# --- what is reported ---

def written(name):
    return [("opened", name), ("closed", name)]


WRITERS = {
    "open": ("open('a', 'w').write('x')", written("a")),
    "append": ("open('a', 'ab').write(b'x')", written("a")),
    "update": ("open('a', 'w').close(); open('a', 'r+').close()", written("a") * 2),
    "subdirectory": ("import os; os.mkdir('s'); os.chdir('s'); open('a', 'w').close(); open('.././b', 'w').close()",
                     written("s/a") + written("b")),
    "through a link": ("import os; os.symlink(os.environ['D'], '../other'); open('../other/a', 'w').close()", written("a")),
    "a neighbour whose name begins alike": ("import os; os.mkdir(os.environ['D'] + '2'); open(os.environ['D'] + '2/a', 'w').close()", []),
    "a link that leads outside, then a file": ("import os; os.symlink('../x', 'l'); open('l', 'w').close(); open('a', 'w').close()",
                                               written("a")),
    "a name that ends like a deleted file's": ("open('a (deleted)', 'w').close()", written("a (deleted)")),
    "replace": ("import os; open('t', 'w').close(); os.replace('t', 'a')", written("t") + [("renamed", "t", "a")]),
    "directory renamed while open": ("import os; os.mkdir('t'); f = open('t/x', 'w'); os.rename('t', 's'); f.close()",
                                     [("opened", "t/x"), ("renamed", "t", "s"), ("closed", "s/x")]),
    "copy": ("import shutil; open('a', 'w').close(); shutil.copy('a', 'b')", written("a") + written("b")),
    "copy from outside": ("import shutil; shutil.copyfile('/etc/passwd', 'b')", written("b")),
    "move within": ("import shutil; open('a', 'w').close(); shutil.move('a', 'b')", written("a") + [("renamed", "a", "b")]),
    "pickle": ("import pickle\nwith open('a', 'wb') as f: pickle.dump([1], f)", written("a")),
    "zip": ("import zipfile\nwith zipfile.ZipFile('a', 'w') as z: z.writestr('x', 'y')", written("a")),
    "np.save": ("import numpy; numpy.save('a.npy', numpy.zeros(9999))",
                [("opened", "a.npy"), ("duplicated", "a.npy"), ("closed", "a.npy"), ("closed", "a.npy")]),
    "np.savez": ("import numpy; numpy.savez('a.npz', x=numpy.zeros(99), y=numpy.ones(9))", written("a.npz")),
    "sqlite": ("import sqlite3; c = sqlite3.connect('a'); c.execute('create table t(x)'); c.commit(); c.close()", None),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_python_writes(desk, writer):
    program, expected = WRITERS[writer]
    if "numpy" in program and subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode:
        pytest.skip("no numpy")
    job = desk.python(program)
    story = desk.story(job.pid)
    if expected is None:
        assert ("opened", "a") in story and story.count(("opened", "a")) == story.count(("closed", "a"))
    else:
        assert story == expected


def test_temporary_file_renamed_into_place(desk):
    job = desk.python("""
        import os, tempfile
        with tempfile.NamedTemporaryFile(dir=os.environ['D'], delete=False) as f: f.write(b'x')
        os.replace(f.name, os.environ['D'] + '/a')""")
    opened, closed, renamed = desk.story(job.pid)
    assert opened[0] == "opened" and closed == ("closed", opened[1]) and renamed == ("renamed", opened[1], "a")


def test_alias_is_resolved(tmp_path):
    (tmp_path / "link").symlink_to("checkpoints")
    desk = Desk(tmp_path, alias=tmp_path / "link")
    desk.python("import os; open('../link/a', 'w').close(); os.rename(os.environ['D'] + '/../link/a', '../link/b')",
                D=str(tmp_path / "checkpoints"))
    # A rename is resolved by its words alone.
    desk.python(f"import os; os.rename('{tmp_path}/link/b', '{tmp_path}/link/c')")
    assert desk.story() == written("a") + [("renamed", "a", "b"), ("renamed", "b", "c")]
    desk.close()


def test_new_content_is_told_from_old(desk):
    desk.python("open('a', 'w').write('x')\nopen('a', 'r+').write('y')\nopen('a', 'w').write('z')\nopen('a', 'a').close()")
    assert [e["flags"] & EMPTY for e in desk.events() if e["event"] == "opened"] == [EMPTY, 0, EMPTY, 0]


def test_long_name_is_cut_and_said(desk):
    desk.python("""
        import os
        for i in range(3): os.mkdir('d' * 200); os.chdir('d' * 200)
        open('a', 'w').close()""")
    events = desk.events()
    assert [e["event"] for e in events] == ["hello", "opened", "lost", "closed", "lost", "exiting"]
    assert len(events[1]["path"]) == 488


STREAMS = written("a")[:1] + [("closed", "a")] + written("b") + written("c") + written("d")
C_WRITES = {
    "streams": STREAMS,
    "opens": written("a") + written("b") + written("c") + written("a") + written("b"),
    "errors": [("opened", "a"), ("duplicated", "a"), ("closed", "a"), ("closed", "a"), ("renamed", "a", "b"), ("linked", "b", "c"),
               ("unlinked", "c")],
}


MAPPED = [("opened", "a"), ("duplicated", "a"), ("closed", "a"), ("closed",),
          ("opened", "b"), ("duplicated", "b"), ("closed", "b"), ("closed",), ("opened", "c"), ("duplicated", "c"), ("closed", "c")]


def test_writable_mapping_counts_as_a_descriptor(desk, every_actor):
    desk.run(every_actor, "mappings", desk.directory)
    events = desk.events()
    assert [tuple(filter(None, (e["event"], e["path"]))) for e in events[1:-1]] == MAPPED
    numbers = {e["path"]: e["fd"] for e in events if e["event"] == "duplicated"}
    assert all(number >= 1 << 20 for number in numbers.values())
    assert [e["fd"] for e in events if e["event"] == "closed" and not e["path"]] == [numbers["a"], numbers["b"]]


def test_second_mapping_of_the_same_pages(desk, actor):
    desk.run(actor, "mapped twice", desk.directory)
    assert desk.story() == [("opened", "a"), ("duplicated", "a"), ("closed", "a"), *written("b"), ("closed",), *written("c")]


def test_np_memmap(desk):
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode:
        pytest.skip("no numpy")
    job = desk.python("""
        import numpy
        array = numpy.memmap('a', 'float64', 'w+', shape=1000)
        array[:] = 1
        array.flush()
        del array
        open('b', 'w').close()""")
    story = desk.story(job.pid)
    # Python keeps a descriptor as long as the mapping; both are gone before the next file.
    assert story[0] == ("opened", "a") and story[-2:] == written("b")
    assert Counter(event for event, *_ in story[:-2]) == {"opened": 1, "duplicated": 2, "closed": 3}


@pytest.mark.parametrize("mode", C_WRITES)
def test_c_writes(desk, every_actor, mode):
    desk.run(every_actor, mode, desk.directory)
    assert desk.story() == C_WRITES[mode]


# Each catches the error and closes the file, as a job does that goes on without this checkpoint.
FAILED_WRITES = {
    "write": "f = open('a', 'wb')\ntry: f.write(bytes(9000)); f.close()\nexcept OSError: pass",
    "unbuffered": "f = open('a', 'wb', 0); f.write(bytes(9000))\ntry: f.write(b'x')\nexcept OSError: f.close()",
    "writev": "f = os.open('a', os.O_WRONLY | os.O_CREAT); os.writev(f, [bytes(9000)])\ntry: os.writev(f, [b'x'])\nexcept OSError: os.close(f)",
    "pwrite": "f = os.open('a', os.O_WRONLY | os.O_CREAT)\ntry: os.pwrite(f, b'x', 9000)\nexcept OSError: os.close(f)",
    "copy": "import shutil; open('../b', 'wb').write(bytes(1)); os.truncate('../b', 4096)\n"
            "limit(4000)\ntry: shutil.copyfile('../b', 'a')\nexcept OSError: pass",
    "zip": "import zipfile\ntry:\n  with zipfile.ZipFile('a', 'w') as z: z.writestr('x', bytes(9000))\nexcept OSError: pass",
    "np.save": "import numpy\ntry: numpy.save(open('a', 'wb'), numpy.zeros(9999))\nexcept OSError: pass",
}


@pytest.mark.parametrize("writer", FAILED_WRITES)
def test_failed_write_is_said(desk, writer):
    """A limit on the size of files stands for a full disk."""
    program = FAILED_WRITES[writer]
    if "numpy" in program and subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode:
        pytest.skip("no numpy")
    desk.python("import os, resource\ndef limit(n): resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))\nlimit(5000)\n" + program)
    closed = [e for e in desk.events() if e["event"] == "closed"]
    assert any(e["flags"] & FAILED and e["path"] == "a" for e in closed), closed


def test_a_descriptor_that_is_used_again_is_a_new_one(desk):
    desk.python("import os, resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
                "f = os.open('a', os.O_WRONLY | os.O_CREAT)\ntry: os.pwrite(f, b'x', 9000)\nexcept OSError: os.close(f)\n"
                "g = os.open('b', os.O_WRONLY | os.O_CREAT); assert g == f; os.write(g, b'x'); os.close(g)")
    assert [(e["path"], e["flags"] & FAILED) for e in desk.events() if e["event"] == "closed"] == [("a", FAILED), ("b", 0)]


def test_cpp_stream(desk, tmp_path_factory):
    source = desk.path / "stream.cpp"
    source.write_text('#include <fstream>\nint main() { std::ofstream s("a", std::ios::binary); s << 42; s.close(); return !s; }\n')
    desk.run(compiled(tmp_path_factory, "stream", compiler=shutil.which("g++") or shutil.which("c++"), source=source))
    assert desk.story() == written("a")


# --- beginnings and ends of processes ---

def test_greeting_and_leave(desk):
    job = desk.python("pass")
    hello, exiting = desk.events()
    assert (hello["event"], hello["pid"], hello["path"]) == ("hello", job.pid, os.path.realpath(PYTHON))
    assert (exiting["event"], exiting["pid"], exiting["flags"]) == ("exiting", job.pid, 0)


def test_killed_writer_says_nothing_more(desk):
    job = desk.start(PYTHON, "-I", "-c", "f = open('a', 'w'); f.write('x'); f.flush(); print(flush=True); input()",
                     options={"stdin": subprocess.PIPE})
    job.stdout.readline()
    job.kill()
    job.wait(timeout=LIMIT)
    assert [e["event"] for e in desk.events()] == ["hello", "opened"]
    job.communicate()


@pytest.mark.parametrize("program,flags", [
    ("import os; os._exit(0)", 0),
    ("import os; f = open('a', 'w'); f.write('x'); os._exit(0)", UNFLUSHED),
    ("import os; f = os.open('a', os.O_WRONLY | os.O_CREAT); import sys; sys.exit(0)", 0),
    ("import os\nif os.fork() == 0: os._exit(0)\nos.wait(); os._exit(0)", 0),
    ("import os; os._exit(3)", FAILED),
    ("import os; f = open('a', 'w'); f.write('x'); os._exit(3)", FAILED | UNFLUSHED),
    ("import sys; sys.exit(3)", FAILED),
    ("f = open('a', 'w'); f.write('x'); raise SystemExit(3)", FAILED),
    ("import os, sys\nif os.fork() == 0: sys.exit(0)\nos.wait(); sys.exit(256 + 3)", FAILED),
    ("import os; os._exit(256)", 0),
])
def test_end_by_exit(desk, program, flags):
    job = desk.python(program, code=3 if flags & FAILED else 0)
    ends = [e for e in desk.events() if e["event"] == "exiting"]
    assert [e["flags"] for e in ends if e["pid"] == job.pid] == [flags]
    assert max(Counter(e["pid"] for e in ends).values()) == 1


def test_forked_child_reports_its_own_files_only(desk):
    job = desk.python("""
        import os
        f = open('parent', 'w')
        if os.fork() == 0:
            f.close()
            open('child', 'w').close()
            os._exit(0)
        os.wait()
        f.write('x'); f.close()""")
    events = desk.events()
    assert [(e["event"], e["path"]) for e in events if e["pid"] == job.pid][1:-1] == written("parent")
    assert [(e["event"], e["path"]) for e in events if e["pid"] != job.pid] == written("child") + [("exiting", "")]


def test_forks_in_threads(desk, actor):
    job = desk.run(actor, "forks", desk.directory)
    events = [e for e in desk.events() if e["event"] != "exiting" and e["event"] != "hello"]
    assert {e["pid"] for e in events} == {job.pid}
    names = {f"t{thread}.{i}" for thread in range(4) for i in range(200)}
    assert Counter((e["event"], e["path"]) for e in events) == Counter(
        {(event, name): 1 for event in ("opened", "closed") for name in names})


def test_vfork_child_does_not_change_its_parent(desk, actor):
    job = desk.run(actor, "vforks", desk.directory)
    assert [(e["pid"], e["event"], e["path"]) for e in desk.events()] == [
        (job.pid, *what) for what in [("hello", str(actor))] + written("held") + [("exiting", "")]]


def test_subprocesses_while_a_file_is_open(desk):
    job = desk.python("""
        import subprocess
        f = open('held', 'w')
        for i in range(20): subprocess.run(['/bin/true'], close_fds=i % 2 == 0, check=True)
        for i in range(5): subprocess.run('true; true', shell=True, check=True)
        f.close()""")
    assert desk.story(job.pid) == written("held")
    assert desk.story() == []


def test_shell_redirection_is_followed_through_exec(desk):
    desk.run("/bin/sh", "-c", "exec cat /etc/passwd > a")
    events = desk.events()
    assert {e["path"] for e in events if e["event"] in ("opened", "closed", "duplicated")} == {"a"}
    # The image that writes says that it holds the file, by the number of its output.
    assert [(e["event"], e["fd"]) for e in events][-3:] == [("hello", -1), ("opened", 1), ("exiting", -1)] or \
        [(e["event"], e["fd"]) for e in events][-4:] == [("hello", -1), ("opened", 1), ("closed", 1), ("exiting", -1)]


def test_emptied_environment(desk):
    job = desk.python("import os, subprocess; subprocess.run(['/bin/sh', '-c', 'echo x > a'], env={}, check=True); open('b', 'w').close()")
    assert desk.story(job.pid) == written("b")
    assert (desk.directory / "a").read_text() == "x\n"


def test_static_program_runs_unseen(desk, tmp_path_factory):
    desk.run(compiled(tmp_path_factory, "static", "-static", "-pthread"), "opens", desk.directory)
    assert desk.events() == []
    assert (desk.directory / "c").exists()


# --- never harms the job ---

def test_no_descriptor_is_left_in_the_job(desk):
    program = "import os; open('a', 'w').close(); print(sorted(os.listdir('/proc/self/fd')))"
    assert desk.python(program).out == desk.python(program, LD_PRELOAD="").out


def test_many_opens(desk, actor):
    desk.run(actor, "many", desk.directory)
    events = desk.events()
    closed = [e for e in events if e["event"] == "closed"]
    assert {e["path"] for e in closed} == {f"f{i}" for i in range(10)}
    assert len(closed) == 20000 or any(e["event"] == "lost" for e in events)
    assert not any("null" in e.get("path", "") for e in events)


def test_a_million_opens(desk, actor):
    desk.run(actor, "million", desk.directory)
    assert desk.story() == written("a")


def test_full_ring_drops_and_says_so(desk, actor):
    desk.listener.send_signal(signal.SIGSTOP)
    try:
        desk.run(actor, "many", desk.directory)
    finally:
        desk.listener.send_signal(signal.SIGCONT)
    events = desk.events()
    # What found room is there in order; nothing was written over.
    assert [(e["event"], e["path"]) for e in events[1:2048]] == [
        (("opened", "closed")[i % 2], f"f{i // 2 % 10}") for i in range(2047)]
    assert [e["event"] for e in events].count("lost") == 1
    desk.python("open('after', 'w').close()")
    assert desk.story()[-2:] == written("after")


def test_job_outlives_its_supervisor(desk):
    job = desk.start(PYTHON, "-I", "-c", "open('a', 'w').close(); print(flush=True); input(); open('b', 'w').close()",
                     options={"stdin": subprocess.PIPE})
    job.stdout.readline()
    desk.listener.kill()
    desk.listener.wait(timeout=LIMIT)
    out, err = job.communicate("\n", timeout=LIMIT)
    assert (job.returncode, out, err) == (0, "", "")
    assert (desk.directory / "b").exists()


def test_memory_per_process(desk, actor):
    assert 0 < int(desk.run(actor, "memory", desk.directory).out) < 64


def library(tmp_path_factory, name, text):
    source = tmp_path_factory.mktemp("library") / f"{name}.c"
    source.write_text("#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n" + text)
    return compiled(tmp_path_factory, f"lib{name}.so", "-shared", "-fPIC", "-O1", source=source)


def test_other_constructor_comes_first(desk, actor, tmp_path_factory):
    early = library(tmp_path_factory, "early", """
        static void __attribute__((constructor)) begin(void) { close(open("early", O_WRONLY | O_CREAT, 0600)); }""")
    desk.run(actor, "opens", desk.directory, LD_PRELOAD=f"{SHIM}:{early}")
    assert desk.story() == written("early") + C_WRITES["opens"]


@pytest.mark.parametrize("first", [True, False])
def test_allocator_that_opens_files(desk, actor, tmp_path_factory, first):
    """dlsym allocates; the allocator opens; our open must not look itself up again."""
    allocator = library(tmp_path_factory, "allocator", """
        static char pool[1 << 26]; static size_t used;
        void *malloc(size_t size)
        {
            close(open("/dev/null", O_RDWR));
            size_t at = __atomic_fetch_add(&used, (size + 31) & ~15ul, __ATOMIC_RELAXED);
            memcpy(pool + at, &size, sizeof(size));
            return pool + at + 16;
        }
        void *calloc(size_t count, size_t size) { return malloc(count * size); }
        void *realloc(void *old, size_t size)
        {
            void *made = malloc(size);
            size_t had = 0;
            if (old) { memcpy(&had, (char *)old - 16, sizeof(had)); memcpy(made, old, had < size ? had : size); }
            return made;
        }
        void free(void *pointer) { (void)pointer; }""")
    order = [SHIM, str(allocator)] if first else [str(allocator), SHIM]
    desk.run(actor, "streams", desk.directory, LD_PRELOAD=":".join(order))
    assert desk.story() == C_WRITES["streams"]


def allocator_library(name):
    for directory in ("/usr/lib", *Path("/usr/lib").glob("*-linux-gnu")):
        if (found := Path(directory) / name).exists():
            return str(found)
    return None


@pytest.mark.parametrize("first", [True, False], ids=["shim first", "allocator first"])
@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_preloaded_allocators(desk, actor, name, first):
    allocator = allocator_library(name)
    if not allocator:
        pytest.skip(f"no {name}")
    order = [SHIM, allocator] if first else [allocator, SHIM]
    # tcmalloc has an mmap of its own, which makes the system call.
    own_mmap = not first and "tcmalloc" in name
    for mode in ("streams", "forks") if own_mmap else ("streams", "mappings", "forks"):
        desk.run(actor, mode, desk.directory, LD_PRELOAD=":".join(order))
    desk.python("import json, threading; [threading.Thread(target=bytearray, args=(1 << 24,)).start() for _ in range(9)]",
                LD_PRELOAD=":".join(order))
    story = [what for what in desk.story() if not what[1:] or what[1][0] != "t"]
    assert story == C_WRITES["streams"] + ([] if own_mmap else MAPPED)


def test_without_proc(desk, actor, tmp_path_factory):
    """Names are then those that the application gave, and errno is still its own."""
    blind = library(tmp_path_factory, "blind", """
        #include <errno.h>
        #include <stdarg.h>
        #include <sys/syscall.h>
        #include <dlfcn.h>
        long syscall(long number, ...)
        {
            static long (*next)(long, ...);
            long a[6];
            va_list arguments;
            va_start(arguments, number);
            for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
            va_end(arguments);
            if (number == SYS_readlinkat) { errno = ENOENT; return -1; }
            if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
            return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        }""")
    preload = f"{blind}:{SHIM}"
    desk.run(actor, "opens", desk.directory, LD_PRELOAD=preload)
    # Relative to a descriptor there is nothing to go by.
    assert desk.story() == [("opened", "a"), ("closed",), ("opened", "c"), ("closed",), ("opened", "a"), ("closed",)]
    for name in desk.directory.iterdir():
        name.unlink()
    desk.run(actor, "errors", desk.directory, LD_PRELOAD=preload)
    assert desk.story()[0] == ("opened", "a")


@pytest.mark.parametrize("how", ["option", "runtime first"])
def test_address_sanitizer(desk, tmp_path_factory, how):
    program = compiled(tmp_path_factory, "asan", "-g", "-fsanitize=address", "-pthread")
    # As the supervisor composes them.
    environment = {"ASAN_OPTIONS": "verify_asan_link_order=0"}
    if how == "runtime first":
        runtime = subprocess.run([CC, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        if not os.path.isabs(runtime):
            pytest.skip("no shared libasan")
        environment = {"LD_PRELOAD": f"{runtime}:{SHIM}", "ASAN_OPTIONS": ""}
    for mode in ("opens", "streams"):
        desk.run(program, mode, desk.directory, **environment)
        assert desk.story() == C_WRITES[mode]
        for name in desk.directory.iterdir():
            name.unlink()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter has the numbers of x86-64")
def test_a_filter_that_kills_for_sockets_kills_nobody(desk):
    """seccomp: what may write files may report them."""
    desk.python("""
        import ctypes, os, struct
        instructions = [(0x20, 0, 0, 0), (0x15, 0, 1, 41), (6, 0, 0, 0x80000000), (0x15, 0, 1, 44), (6, 0, 0, 0x80000000), (6, 0, 0, 0x7fff0000)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in instructions))
        filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code)))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
        open(os.environ["D"] + "/file", "w").write("x")
    """)
    assert ("closed", "file") in desk.story()


def test_musl(desk, tmp_path_factory):
    source = desk.path / "musl.c"
    source.write_text("""
        #include <fcntl.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(void)
        {
            FILE *stream = fopen("a", "w");
            if (!stream || fputs("x", stream) < 0 || fclose(stream)) return 1;
            return close(open("b", O_WRONLY | O_CREAT, 0600));
        }""")
    compiler = shutil.which("musl-gcc")
    if not compiler:
        pytest.skip("no musl-gcc")
    desk.run(compiled(tmp_path_factory, "musl", "-O1", compiler=compiler, source=source))
    assert desk.story() == written("a") + written("b")


def test_missing_library_is_only_a_line_on_stderr(desk):
    job = desk.start(PYTHON, "-I", "-c", "print(1)", LD_PRELOAD=str(desk.path / "none.so"))
    out, err = job.communicate(timeout=LIMIT)
    assert (job.returncode, out) == (0, "1\n") and "cannot be preloaded" in err


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
