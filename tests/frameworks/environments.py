"""Virtual environments in build/frameworks, one for each family of packages that cannot live together, filled by pip as they are needed.

REPRIEVE_FRAMEWORKS_SMALL (_TORCH, _DEEPSPEED, _TF, _JAX) names a python that has the packages already: nothing is installed into it.
"""
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / "build" / "frameworks"
LIMIT = 1800  # only ends what hangs
# What is built upon another family's packages, which it finds through a .pth file; its own setup imports them.
BASES = {"deepspeed": "torch"}

# Exit code 0 when all that is named is there in the version that is wanted; prints the first one's. Runs in the environment's python.
PROBE = """
import importlib.metadata, sys
versions = []
for requirement in sys.argv[1:]:
    name, _, wanted = requirement.partition("==")
    versions.append(importlib.metadata.version(name).split("+")[0])
    if wanted and versions[-1] != wanted:
        sys.exit(f"{name} is {versions[-1]}, not {wanted}")
print(versions[0])
"""


def _run(*words):
    """(worked, the last line that it said)"""
    try:
        done = subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return done.returncode == 0, lines[-1] if lines else ""


def pinned(family, names):
    """The requirements of these packages, as the family's file says them."""
    lines = (HERE / f"requirements-{family}.txt").read_text().split()
    known = {re.match(r"[\w.-]+", line).group().rstrip("="): line for line in lines}
    return [known[name] for name in names]


def python_of(family):
    given = os.environ.get(f"REPRIEVE_FRAMEWORKS_{family.upper()}")
    return Path(given) if given else CACHE / family / "bin" / "python"


def _create(family):
    """None, or why not."""
    base = BASES.get(family)
    if base:
        why = ensure(base, ["torch", "scikit-learn"])[2]
        if why:
            return why
    python = python_of(family)
    if not python.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        worked, why = _run("/usr/bin/python3", "-m", "venv", "--clear", python.parents[1])
        if not worked:
            return f"no virtual environment: {why}"
    if base:
        packages = next((CACHE / family / "lib").glob("python3*")) / "site-packages"
        other = _run(python_of(base), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")[1]
        (packages / "base.pth").write_text(other + "\n")
    return None


def ensure(family, names):
    """(python, its version of the first package, None), or (None, None, why not). Not for two threads at a time."""
    requirements, python = pinned(family, names), python_of(family)
    there, said = _run(python, "-c", PROBE, *requirements)
    if there:
        return python, said, None
    if f"REPRIEVE_FRAMEWORKS_{family.upper()}" in os.environ:
        return None, None, f"{python}: {said}"
    why = _create(family)
    if why:
        return None, None, why
    # A setup that imports what its family is built upon does not find it in pip's isolation.
    alone = ["--no-build-isolation"] if family in BASES else []
    worked, said = _run(python, "-m", "pip", "install", "--quiet", *alone, *requirements)
    if not worked:
        return None, None, f"pip cannot install {names[0]}: {said}"
    there, said = _run(python, "-c", PROBE, *requirements)
    return (python, said, None) if there else (None, None, said)
