"""A copy of the sources with a build of its own, in which one mutant at a time is built and tested.

Mutants of code that removes trees or sends signals must not reach the machine: every test runs in name spaces of its own, in
which everything but /tmp is read-only, /tmp is empty, and no process of others is to be seen."""
import collections
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Its /tmp is one of memory; the copy, which may lie below /tmp, is put back into it.
ROOM = """
mount --bind "$1" /mnt && mount -t tmpfs -o mode=1777 tmp /tmp && mkdir -p "$1" && mount --move /mnt "$1" || exit 125
mount -o remount,bind,ro / && mount -o remount,bind,ro "$1" || exit 125
cd "$2" && shift 2 && exec "$@"
"""
# As the lane of the sanitizers, unless the caller says otherwise: each mutant that is not seen runs all of its tests.
EFFORT = {"REPRIEVE_HISTORIES": "2000", "REPRIEVE_TEST_EFFORT": "small"}
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TMPDIR": "/tmp",
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1",
}


# What the end-to-end tests run.
END_TO_END = ("supervisor/reprieve", "reprieve-shim", "shim_listen")


# With three times the time of the one before.
TRIES_OF_ONE_THAT_HANGS = 3


class Trouble(Exception):
    """What makes the whole run meaningless: the sources as they are do not build, or no room can be had."""


def output_of(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def properties_of(entry):
    return {item["name"]: item["value"] for item in entry.get("properties", [])}


def label_of(entry):
    """The folder of a test of ctest's."""
    return properties_of(entry).get("LABELS", [""])[0]


def copy_changed(source, target):
    """With the time of now: what is kept of an interrupted run may be newer than the source."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def without_randomisation():
    """gcc 12's sanitizers do not start where the kernel randomises addresses by more than 28 bits."""
    command = ["setarch", os.uname().machine, "-R"]
    ran = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False)
    return command if ran.returncode == 0 else []


class Workshop:
    def __init__(self, place, sources, sanitize, limit):
        self.limit = limit
        self.place, self.tree, self.build = place, place / "tree", place / "build"
        names = output_of("git", "ls-files", "-z", "-co", "--exclude-standard", cwd=sources).split("\0")
        for name in filter(None, names):
            if (sources / name).is_file():
                copy_changed(sources / name, self.tree / name)
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(place), "CCACHE_NOHASHDIR": "1"}
        self.tests, self.killers = [], {}
        self.configure(sanitize)

    def configure(self, sanitize):
        options = ["-DCMAKE_BUILD_TYPE=Debug", "-DREPRIEVE_TESTS=ON", f"-DREPRIEVE_SANITIZE={sanitize}"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        if shutil.which("ld.gold"):
            options.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold")
        self.must("cmake", "-G", "Ninja", "-S", str(self.tree), "-B", str(self.build), *options)
        self.compiled, self.objects = {}, {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            made = words[words.index("-o") + 1]
            source = Path(entry["file"])
            # What the build itself has written is no source of ours.
            if not made.startswith("tests/") and source.is_relative_to(self.tree):
                path = str(source.relative_to(self.tree))
                self.compiled[path], self.objects[path] = words, made

    def must(self, *command):
        ran = subprocess.run(command, env=self.environment, cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, check=False)
        if ran.returncode != 0:
            raise Trouble(f"{shlex.join(command)} failed:\n{ran.stdout[-3000:]}")
        return ran.stdout

    def ninja(self, *targets, jobs=1):
        """Whether they could be built."""
        command = ["ninja", f"-j{jobs}", "-C", str(self.build), *targets]
        return subprocess.run(command, env=self.environment, stdout=subprocess.DEVNULL, check=False).returncode == 0

    # --- which tests link a module ---

    def look_for_tests(self, paths, labels, jobs, known=None):
        """Builds the unit tests that the build graph links with one of these sources, and runs them once, unchanged, unless
        another copy has done that: `known` are the times of those that passed."""
        wanted = set(paths)
        for entry in self.listed_tests():
            if labels and label_of(entry) not in labels:
                continue
            target = f"test_{entry['name']}"
            commands = output_of("ninja", "-C", str(self.build), "-t", "commands", target)
            words = (word for line in commands.splitlines() if " -c " in line for word in [line.rsplit(" -c ", 1)[1].split()[0]])
            sources = {str(Path(word).relative_to(self.tree)) for word in words if word.startswith(f"{self.tree}/")}
            if sources & wanted:
                self.tests.append(Test(entry["name"], target, sources))
        objects = [self.objects[path] for path in paths]
        if not self.ninja(*objects, *[test.target for test in self.tests], jobs=jobs):
            raise Trouble("the sources as they are do not build")
        built = {entry["name"]: entry for entry in self.listed_tests() if "command" in entry}
        for test in self.tests:
            test.set_entry(built[test.name])
            test.symbols = self.symbols_of(test.command[0])
            if known is not None:
                test.seconds = known.get(test.name)
        if known is None:
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(self.run_unchanged, self.tests))
        self.tests = [test for test in self.tests if test.seconds is not None]
        return {test.name: test.seconds for test in self.tests}

    def run_unchanged(self, test):
        began = time.monotonic()
        if self.run_test(test, 300) == 0:
            test.seconds = time.monotonic() - began
        else:
            print(f"left out, fails on the sources as they are: {test.name}", file=sys.stderr)

    def listed_tests(self):
        return json.loads(output_of("ctest", "--test-dir", str(self.build), "--show-only=json-v1"))["tests"]

    def symbols_of(self, path, *options):
        """A static library gives a program only the members that it needs, and the linker makes hidden names local."""
        lines = output_of("nm", "--defined-only", *options, str(path)).splitlines()
        return {line.split()[-1] for line in lines if len(line.split()) == 3}

    def tests_of(self, path):
        """In the order in which they are likely to see something: the module's own, its folder's, the others; short ones first."""
        own, folder = Path(path).stem, Path(path).parent.name
        defined = self.symbols_of(self.build / self.objects[path], "--extern-only")
        found = [test for test in self.tests if path in test.sources and defined & test.symbols]
        seen = self.killers.get(path, {})
        found.sort(key=lambda test: (-seen.get(test.name, 0), test.name != own, test.folder != folder, test.seconds))
        return found

    # --- running one ---

    def run_in_room(self, command, directory, limit, **more):
        """The exit status; None: it ran into the limit."""
        room = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.getuid() != 0:
            room.insert(1, "--map-root-user")
        process = subprocess.Popen(
            [*room, "sh", "-c", ROOM, "room", str(self.place), str(directory), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**EFFORT, **os.environ, **ENVIRONMENT, **more})
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None

    def check_room(self):
        if self.run_in_room(["true"], "/", 60) != 0:
            raise Trouble("no name spaces can be had here (unshare --mount --pid); mutants are not run without them")

    def run_test(self, test, limit):
        return self.run_in_room([*without_randomisation(), *test.command], test.directory, limit)

    def run_end_to_end(self, files, limit=900):
        command = ["/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--basetemp", "/tmp/pytest", *files]
        return self.run_in_room(command, self.tree, limit, REPRIEVE=str(self.build / "supervisor/reprieve"))

    def check_end_to_end(self, files):
        """They have to pass on the sources as they are; else every mutant would seem to be seen."""
        if not self.ninja(*END_TO_END) or self.run_end_to_end(files) != 0:
            raise Trouble(f"these do not pass on the sources as they are: {' '.join(files)}")

    def same_code(self, path, original):
        """Whether the compiler makes the same of the mutant that lies in the tree as of the original."""
        made = []
        words = [word for word in self.compiled[path] if "sanitize" not in word and word != "-g"]
        words = words[: words.index("-o")]
        for text in ((self.tree / path).read_text(), original):
            ran = subprocess.run([*words, "-O2", "-g0", "-w", "-S", "-o", "-", "-x", "c", f"-I{(self.tree / path).parent}", "-"],
                                 input=text, stdout=subprocess.PIPE, text=True, cwd=self.build, check=False)
            made.append((ran.returncode, ran.stdout))
        return made[0] == made[1] and made[0][0] == 0

    def fails(self, test, path, original):
        """What runs into the limit may be the mutant's fault, or that of a machine that others use too: so the sources as they
        are have to pass within the same limit, at the same time. Else both are given more, and the mutant is tried again."""
        mutated, limit = path.read_text(), self.limit + 10 * test.seconds
        for _ in range(TRIES_OF_ONE_THAT_HANGS):
            status = self.run_test(test, limit)
            if status is not None:
                return status != 0
            path.write_text(original)
            passes = self.ninja(test.target) and self.run_test(test, limit) == 0
            path.write_text(mutated)
            if not self.ninja(test.target):
                raise Trouble(f"{test.target} does not build a second time")
            if passes:
                return True
            limit *= 3
        raise Trouble(f"{test.name} does not end in {limit / 3:.0f} s, on the sources as they are: is this machine too busy?")

    def judge(self, mutant, original, end_to_end):
        """(verdict, by what): killed, survived, stillborn (does not compile), same (makes no difference to the compiler)."""
        path = self.tree / mutant.path
        candidates = self.tests_of(mutant.path)
        path.write_text(mutant.apply(original))
        try:
            if not self.ninja(self.objects[mutant.path]):
                return "stillborn", ""
            # Few at first: most mutants are seen by these.
            for first, last in ((0, 1), (1, 4), (4, 12), (12, len(candidates))):
                group = candidates[first:last]
                # What the linker refuses, no test has to see.
                if group and not self.ninja(*[test.target for test in group]):
                    return "stillborn", ""
                for test in group:
                    if self.fails(test, path, original):
                        self.killers.setdefault(mutant.path, collections.Counter())[test.name] += 1
                        return "killed", test.name
            if self.same_code(mutant.path, original):
                return "same", ""
            if end_to_end and self.ninja(*END_TO_END) and self.run_end_to_end(end_to_end) != 0:
                return "killed", "end to end"
            return "survived", f"{len(candidates)} tests"
        finally:
            path.write_text(original)


class Test:
    def __init__(self, name, target, sources):
        self.name, self.target, self.sources = name, target, sources
        self.symbols, self.seconds = set(), None

    def set_entry(self, entry):
        """What ctest says once the program is there."""
        self.command, self.folder = entry["command"], label_of(entry)
        self.directory = properties_of(entry).get("WORKING_DIRECTORY", "/")
