"""Containers for the tests: a root file system made of Debian packages, and crun, which needs no daemon. The kernel's part (namespaces,
PID 1, seccomp, a read-only root) is real."""
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from harness import LIMIT, ROOT, die_with_parent, wait_for

CACHE = ROOT / "build" / "rootfs"
SECCOMP = Path("/usr/share/containers/seccomp.json")
# crun takes no mixture of both kinds of control groups; it gets a name space with one kind alone, where it uses none of it.
ALONE = ["unshare", "--mount", "sh", "-c",
         'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 97; exec "$@"', "sh"]


def crun(*arguments):
    return [*ALONE, "crun", "--root", "/run/reprieve-tests", "--cgroup-manager=disabled", *map(str, arguments)]


def skip_without_crun():
    for program in ("crun", "mmdebstrap"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed: examples/install_packages.sh test")
    if os.getuid() != 0:
        pytest.skip("not root: namespaces and a root file system need it")
    probe = subprocess.run([*ALONE, "true"], capture_output=True, text=True, timeout=LIMIT)
    if probe.returncode:
        pytest.skip(f"no mount namespace of its own here: {probe.stderr.strip()}")


def root_file_system(packages):
    """A Debian of these packages and no more, kept for the next run; shared, so only for read-only roots."""
    name = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()[:16]
    tree = CACHE / name
    if tree.exists():
        return tree
    CACHE.mkdir(parents=True, exist_ok=True)
    partial = CACHE / f"{name}.{os.getpid()}"
    try:
        made = subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(packages)}",
                               "bookworm", str(partial)], capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
        if made.returncode:
            pytest.skip(f"no root file system could be made: {made.stderr.strip()[-300:]}")
        try:
            partial.rename(tree)
        except OSError:
            pass  # somebody else was first
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return tree


def containerfile(path):
    """The final stage of a Containerfile, as far as ours go: a list of (instruction, rest)."""
    text = Path(path).read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    last = max(at for at, line in enumerate(lines) if line[0] == "FROM")
    return [(word, rest) for word, rest in lines[last:]]


def packages_of(instructions):
    """What its one apt-get line installs."""
    lines = [rest for word, rest in instructions if word == "RUN" and "apt-get install" in rest]
    assert len(lines) == 1, lines
    install = next(part for part in lines[0].split("&&") if "apt-get install" in part)
    return [word for word in install.split()[2:] if not word.startswith("-")]


def image_of(instructions):
    """What an image's configuration would hold."""
    image = {"env": {}, "user": 0, "cwd": "/", "stop": signal.SIGTERM, "entrypoint": [], "command": [], "directories": {"/tmp": "1777"}}
    for word, rest in instructions:
        if word == "ENV":
            image["env"].update(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "USER":
            image["user"] = int(rest)
        elif word == "WORKDIR":
            image["cwd"] = rest
            image["directories"].setdefault(rest, "0755")  # root's
        elif word == "RUN" and rest.startswith("mkdir "):
            _, option, mode, path = rest.split()
            assert option == "-m", rest
            image["directories"][path] = mode
        elif word == "STOPSIGNAL":
            image["stop"] = signal.Signals[rest]
        elif word == "ENTRYPOINT":
            image["entrypoint"] = json.loads(rest)
        elif word == "CMD":
            image["command"] = json.loads(rest)
        else:
            assert word in ("FROM", "RUN", "COPY"), word
    return image


def tmpfs_of(path, image):
    """What the file's own `podman run` line mounts: [(directory, mode)]. Without a mode it has that of the image's directory."""
    text = Path(path).read_text().replace("\\\n#", " ")  # it may go on in the next line
    line = next(line for line in text.splitlines() if "podman run" in line)
    words = shlex.split(line.lstrip("#"))
    assert "--read-only" in words, line
    found = []
    for word in (after for before, after in zip(words, words[1:]) if before == "--tmpfs"):
        directory, _, options = word.partition(":")
        modes = [option.split("=")[1] for option in options.split(",") if option.startswith("mode=")]
        found.append((directory, modes[0] if modes else image["directories"].get(directory, "0755")))
    return found


def seccomp_for(capabilities=()):
    """The default profile of Docker's and Podman's containers, in the runtime's form."""
    profile = json.loads(SECCOMP.read_text())

    def applies(rule):
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if "x86" in str(includes.get("arches")) + str(excludes.get("arches")) or includes.get("arches"):
            return "amd64" in (includes.get("arches") or []) and "amd64" not in (excludes.get("arches") or [])
        return set(includes.get("caps") or []) <= set(capabilities) and not set(excludes.get("caps") or []) & set(capabilities)

    rules = []
    for rule in profile["syscalls"]:
        if applies(rule):
            kept = {key: rule[key] for key in ("names", "action", "args") if rule.get(key)}
            if rule.get("errnoRet") is not None:
                kept["errnoRet"] = rule["errnoRet"]
            rules.append(kept)
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": ["SCMP_ARCH_X86_64"], "syscalls": rules}


class Container:
    """One container: PID 1 of its own namespaces, no capabilities, no new privileges, a read-only root."""

    def __init__(self, path, root, arguments, env=None, user=1234, cwd="/", mounts=(), tmpfs=(("/tmp", "1777"),), seccomp=True):
        self.name = f"reprieve-{uuid.uuid4().hex[:12]}"
        self.user = user
        self.path = Path(path) / self.name
        self.path.mkdir()
        self.out_path, self.err_path = self.path / "out", self.path / "err"
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "REPRIEVE_NOTICE": "none", **(env or {})}
        memory = [{"destination": directory, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", f"mode={mode}"]}
                  for directory, mode in (("/dev/shm", "1777"), *tmpfs)]
        document = {
            "ociVersion": "1.0.0",
            "process": {"terminal": False, "user": {"uid": user, "gid": user}, "args": list(map(str, arguments)),
                        "env": [f"{name}={value}" for name, value in env.items()], "cwd": cwd, "noNewPrivileges": True,
                        "capabilities": {}, "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 4096, "soft": 1024}]},
            "root": {"path": str(root), "readonly": True}, "hostname": "pod",
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                       *memory,
                       *[{"destination": str(inside), "type": "bind", "source": str(outside), "options": ["rbind", mode]}
                         for outside, inside, mode in mounts]],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network")],
                      "maskedPaths": ["/proc/kcore", "/proc/keys"], "readonlyPaths": ["/proc/bus", "/proc/sys"],
                      **({"seccomp": seccomp_for()} if seccomp else {})},
        }
        (self.path / "config.json").write_text(json.dumps(document))
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(crun("run", "--bundle", self.path, self.name), stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, preexec_fn=die_with_parent)

    @property
    def out(self):
        return self.out_path.read_text(errors="replace")

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    def __str__(self):
        return f"--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def wait_for_output(self, text):
        return wait_for(f"output {text!r}", lambda: text in self.out, process=self.process, about=self)

    def signal(self, number):
        """To PID 1 alone, as kubelet and `docker stop` do."""
        subprocess.run(crun("kill", self.name, int(number)), check=True, capture_output=True, timeout=LIMIT)

    def execute(self, *arguments):
        """As an exec probe: a process beside PID 1 in the same container."""
        return subprocess.run(crun("exec", "--user", f"{self.user}:{self.user}", self.name, *arguments), capture_output=True, text=True, timeout=LIMIT)

    def stop(self, grace=LIMIT, number=15):
        """The life of a pod: the stop signal, the grace period, SIGKILL to everything. Returns the exit code."""
        self.signal(number)
        try:
            return self.process.wait(grace)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            return self.process.wait(LIMIT)

    def wait(self):
        return self.process.wait(LIMIT)

    def end(self):
        if self.process.poll() is None:
            subprocess.run(crun("delete", "--force", self.name), capture_output=True, timeout=LIMIT)
            self.process.wait(LIMIT)
