"""The completions of bash, zsh and fish: each shell reads what `reprieve completion` prints, and asks the program."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from harness import EXIT_USAGE, LIMIT, REPRIEVE, ROOT, die_with_parent, one_line

PATH = os.path.dirname(os.path.abspath(REPRIEVE)) + ":" + os.environ["PATH"]  # the shells ask the program itself

CASES = [
    (["reprieve", "ru"], {"run"}),
    (["reprieve", "run", "--sto"], {"--store"}),
    (["reprieve", "run", "--shim", ""], {"auto", "on", "off"}),
    (["reprieve", "mock", "a"], {"aws", "azure", "alibaba"}),
    (["reprieve", "explain", "py"], {"python"}),
    (["reprieve", "drill", "--", ""], {"run"}),
    (["reprieve", "run", "--job", "list", "--profile", "light"], {"lightning"}),
    (["reprieve", "restore", "latest", "che"], {"checkpoints/"}),
    (["reprieve", "run", "--log", "che"], {"checked.txt", "checkpoints/"}),
    (["reprieve", "run", "-c", "che"], {"checkpoints/"}),
    (["reprieve", "run", "--", "mkfif"], {"mkfifo"}),
]


def names(case):
    return " ".join(case) if isinstance(case, list) else ""


@pytest.fixture
def script(tmp_path):
    """The file of a shell's completions, in a directory where there is something to complete."""
    def write(shell):
        if not shutil.which(shell):
            pytest.skip(f"{shell} is not installed")
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checked.txt").write_text("")
        (tmp_path / "functions").mkdir()
        path = tmp_path / "functions" / "_reprieve"
        path.write_text(subprocess.run([REPRIEVE, "completion", shell], capture_output=True, text=True, check=True, timeout=LIMIT).stdout)
        subprocess.run([shell, "-n", path], check=True, timeout=LIMIT)
        return path
    return write


def lines_of(arguments, script, tmp_path, **environment):
    result = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT,
                            env={**os.environ, "HOME": str(tmp_path), "PATH": PATH, **environment})
    assert result.returncode == 0 and result.stderr == "", result
    return result.stdout.splitlines()


@pytest.mark.parametrize("words, wanted", CASES, ids=names)
def test_bash(script, tmp_path, words, wanted):
    code = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reprieve; printf "%s\\n" "${COMPREPLY[@]}"; complete -p reprieve'
    *found, registered = lines_of(["bash", "-c", code, script("bash"), *words], script, tmp_path)
    assert registered == "complete -F _reprieve reprieve"
    assert {word + "/" * (tmp_path / word).is_dir() if word else "" for word in found} - {""} == wanted


def test_bash_splits_at_the_equals_sign(script, tmp_path):
    path = script("bash")
    for words, wanted in ((["--shim", "="], {"auto", "on", "off"}), (["--shim", "=", "o"], {"on", "off"})):
        code = 'source "$0"; COMP_WORDS=(reprieve run "$@"); COMP_CWORD=$(($# + 1)); _reprieve; printf "%s\\n" "${COMPREPLY[@]}"'
        assert set(lines_of(["bash", "-c", code, path, *words], script, tmp_path)) == wanted


@pytest.mark.parametrize("words, wanted", CASES, ids=names)
def test_fish(script, tmp_path, words, wanted):
    code = f"source $argv[1]; complete -C '{' '.join(words)}'"
    found = lines_of(["fish", "--no-config", "-c", code, str(script("fish"))], script, tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    assert {line.split("\t")[0] for line in found} == wanted


class Terminal:
    """A shell that believes that somebody types."""

    def __init__(self, arguments, directory):
        self.screen, follower = pty.openpty()
        self.process = subprocess.Popen(arguments, cwd=directory, stdin=follower, stdout=follower, stderr=follower, start_new_session=True,
                                        env={**os.environ, "TERM": "dumb", "HOME": str(directory), "PATH": PATH}, preexec_fn=die_with_parent)
        os.close(follower)

    def type(self, text, until, limit=LIMIT):
        """What is on the screen once `until` is."""
        os.write(self.screen, text.encode())
        shown, end = "", time.monotonic() + limit
        while not re.search(until, shown) and time.monotonic() < end:
            if select.select([self.screen], [], [], 0.1)[0]:
                shown += os.read(self.screen, 4096).decode(errors="replace")
        assert re.search(until, shown), shown
        return shown

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.screen)


@pytest.fixture
def zsh(script, tmp_path):
    path = script("zsh")
    terminal = Terminal(["zsh", "-f", "-i"], tmp_path)
    terminal.type(f"PS1='% '; fpath=({path.parent} $fpath); autoload -Uz compinit; compinit -u -D; echo re''ady\n", "\nready")
    yield terminal
    terminal.close()


@pytest.mark.parametrize("typed, completed", [
    ("reprieve dril", "reprieve drill "),
    ("reprieve run --checkpoint-di", "--checkpoint-dir "),
    ("reprieve run --profile light", "lightning"),
    ("reprieve run --checkpoint-dir che", "checkpoints/"),
    ("reprieve drill -- ", "-- run "),
    ("reprieve drill -- run --shie", "--shield "),
    ("reprieve run -- mkfif", "mkfifo "),
])
def test_zsh(zsh, typed, completed):
    zsh.type(typed + "\t", re.escape(completed))


@pytest.mark.parametrize("words, says", [([], "completion bash|zsh|fish"), (["tcsh"], "'tcsh'"), (["bash", "zsh"], "unexpected argument: 'zsh'")],
                         ids=str)
def test_usage(place, words, says):
    result = place.query("completion", *words)
    assert result.code == EXIT_USAGE and says in one_line(result), result


def test_the_files_that_are_installed_are_what_is_printed():
    rules = (ROOT / "supervisor" / "CMakeLists.txt").read_text()
    for shell in ("bash", "zsh", "fish"):
        printed = subprocess.run([REPRIEVE, "completion", shell], capture_output=True, check=True, timeout=LIMIT).stdout
        assert (ROOT / "supervisor" / "cli" / "completions" / f"reprieve.{shell}").read_bytes() == printed
        assert f"install(FILES cli/completions/reprieve.{shell} " in rules
