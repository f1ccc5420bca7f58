"""What a start, a fork and an exec cost, in what no machine changes: libraries and system calls. These numbers only fall."""
import os
import re
import shutil
import subprocess

import pytest

from harness import PYTHON, REPRIEVE

# Opened when they are first needed (supervisor/base/library.h), and some of what they bring.
LATE = ("libcurl", "libarchive", "libmicrohttpd", "libsqlite3", "libssl", "libgnutls", "libxml2", "libkrb5")
LIBRARIES_MOST = 10
# Files that are opened, memory that is mapped and threads that are begun, to the end, with a new store; the job's own are with them.
START_MOST = 225
# What the library that is loaded into the job adds to a fork that ends, and to one that becomes another program.
FORK_MOST, EXEC_MOST = 3, 46
FORKS = "import os\nfor _ in range({}):\n    pid = os.fork()\n    pid or os._exit(0)\n    os.waitpid(pid, 0)\n"
FEW, MANY = 5, 25


@pytest.fixture
def strace():
    found = shutil.which("strace")
    if not found:
        pytest.skip("strace is not installed")
    if "libasan" in subprocess.run(["ldd", REPRIEVE], capture_output=True, text=True).stdout:
        pytest.skip("a sanitizer makes system calls of its own")
    return found


def test_a_start_maps_no_library_that_it_does_not_use(place):
    run = place.run("sh", "-c", r"grep -o '/[^/]*\.so[^/]*$' /proc/$PPID/maps | sort -u")
    assert run.wait() == 0, run
    mapped = run.out.split()
    assert "/libc.so.6" in mapped and not [name for name in mapped if name.startswith(tuple(f"/{late}" for late in LATE))]
    assert len(mapped) <= LIBRARIES_MOST or any("libasan" in name or "libtsan" in name for name in mapped)


def test_the_system_calls_of_a_start(place, strace, tmp_path):
    calls = tmp_path / "calls"
    run = place.run("true", wrapper=(strace, "-f", "-qq", "-e", "trace=open,openat,openat2,mmap,clone,clone3", "-o", calls))
    assert run.wait() == 0, run
    # Whoever else runs jobs here has sessions, which are looked at.
    others = re.compile(rf"/(tmp|dev/shm)/reprieve-{os.getuid()}/|/proc/\d+/|resumed>")
    asked = [line for line in calls.read_text().splitlines() if not others.search(line)]
    assert 0 < len(asked) <= START_MOST


@pytest.mark.parametrize("what, most", [("fork", FORK_MOST), ("exec", EXEC_MOST)])
def test_the_system_calls_that_the_library_adds(place, strace, tmp_path, what, most):
    def each(run):
        counts = []
        for number in (FEW, MANY):
            calls = tmp_path / "calls"
            command = (PYTHON, "-c", FORKS.format(number)) if what == "fork" else ("sh", "-c", "/bin/true; " * number)
            run([strace, "-f", "-qq", "-o", calls, *command])
            # One that is interrupted by another takes two lines.
            counts.append(sum("resumed>" not in line and "---" not in line for line in calls.read_text().splitlines()))
        return (counts[1] - counts[0]) / (MANY - FEW)

    def supervised(command):
        run = place.run(*command, options=("--shim", "on"), name=f"{what}{len(place.runs)}")
        assert run.wait() == 0, run

    bare = each(lambda command: subprocess.run([str(word) for word in command], check=True, env=place.environment))
    added = each(supervised) - bare
    assert 0 < added <= most, added
