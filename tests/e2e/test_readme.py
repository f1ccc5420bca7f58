"""What README and the pages beside their subjects show: each block is run as it stands there, each name that they name exists.

A block has a name behind its language (```sh drill); the test of that name runs it. README's transcript is taken anew."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import xml.etree.ElementTree

import pytest
from harness import LIMIT, REPRIEVE, ROOT, die_with_parent, wait_for
from test_drill import JOB

README = ROOT / "README.md"
PAGES = [README, ROOT / "cloud" / "NOTICES.md", ROOT / "storage" / "STORES.md",
         *(ROOT / "supervisor" / page for page in ("completion/COMPLETENESS.md", "frameworks/FRAMEWORKS.md", "process/CONTAINERS.md",
                                                   "restore/RESTARTS.md", "scheduler/SCHEDULERS.md", "telemetry/OBSERVING.md",
                                                   "drill/VERDICTS.md", "drill/TRACES.md", "gang/GANGS.md"))]
BLOCK = re.compile(r"^```(\w*) ?(\w*)\n(.*?)^```$", re.S | re.M)
# Options of other programs, as torchrun, scancel and oarsub, and of tests/frameworks/run.sh, that a page names.
OF_OTHERS = {"init", "single-child", "checkpoint", "batch", "stop-timeout", "time", "signal", "open-mode", "write", "api-key",
             "nnodes", "node-rank", "num", "machine", "env-host"}


def blocks():
    return {name: (language, text) for page in PAGES for language, name, text in BLOCK.findall(page.read_text()) if name}


def example(name):
    return blocks()[name][1]


@pytest.fixture
def shell(place):
    """Runs an example in a copy of examples/, as HOME and working directory, with the built program first in PATH."""
    shutil.copytree(ROOT / "examples", place.path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    binaries = place.path / "bin"
    binaries.mkdir()
    (binaries / "reprieve").symlink_to(REPRIEVE)
    (binaries / "python3").symlink_to("/usr/bin/python3")
    environment = {**place.environment, "PATH": f"{binaries}:{os.environ['PATH']}"}

    def start(script, *flags, **more):
        return subprocess.Popen(["bash", *flags, "-c", script], cwd=place.path, env={**environment, **more}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT if "REPRIEVE_TOGETHER" in more else subprocess.PIPE,
                                preexec_fn=die_with_parent)

    def run(script, **more):
        process = start(script, "-eu", **more)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    run.start, run.binaries, run.path = start, binaries, place.path
    return run


# --- the transcript ---

def transcript():
    """The exports, the command in the background, its kill, and what each of the two runs prints: texts between lines of dots."""
    commands = re.split(r"^\$ ", example("preemption"), flags=re.M)[1:]
    exports, job, kill, lose, again, kill_again = commands
    kills, shown = zip(*(text.split("\n", 1) for text in (kill, kill_again)))
    assert exports.startswith("export ") and job == again and kills[0] == kills[1] and lose == "rm -r checkpoints\n"
    return exports, job.rstrip(), kills[0], [re.split(r"^\.\.\.\n", text, flags=re.M) for text in shown]


def bare(text, home):
    """Without what differs from run to run: numbers with their units, the directory, and where a line was folded."""
    text = re.sub(r"\s", "", text.replace(str(home), "/home/ada"))
    return re.sub(r"\d[\d.]*(?:ms|s|[KMG]iB|B)?", "#", text)


def check_shown(shown, printed, home):
    rest = bare(printed, home)
    for part in shown:
        found = rest.find(bare(part, home))
        assert found >= 0, f"README shows\n{part}\nand this was printed:\n{printed}"
        rest = rest[found + len(bare(part, home)):]


def read_until(process, word):
    lines = []

    def seen():
        lines.append(process.stdout.readline())
        return word in lines[-1]

    wait_for(word, seen, process=process)
    return "".join(lines)


def preempt(shell, commands, until):
    """Runs them as they stand, but waits for a word instead of six seconds. Returns what they print."""
    fifo = shell.path / "seen"
    if not fifo.exists():
        os.mkfifo(fifo)
    assert "sleep 6;" in commands
    process = shell.start(commands.replace("sleep 6;", f"read <{fifo};"), REPRIEVE_TOGETHER="1", PYTHONUNBUFFERED="1")
    printed = read_until(process, until)
    fifo.write_text("\n")
    return printed + process.communicate(timeout=LIMIT)[0], process.returncode


@pytest.mark.long
def test_the_transcript_and_what_is_kept_then(shell):
    exports, job, kill, (first_shown, second_shown) = transcript()
    exports += 'export REPRIEVE_STORE="file://$HOME/runs"\n'  # which the pages' blocks look into
    printed, code = preempt(shell, f"{exports}{job}\n{kill}", "step 20 ")
    assert code == 75, printed
    check_shown(first_shown, printed, shell.path)
    saved = re.search(r"preempted; durable: \S+ \(step (\d+)", printed).group(1)
    # The machine is lost, the store is not.
    printed, code = preempt(shell, f"rm -r checkpoints\n{exports}{job}\n{kill}", "resumed from step")
    check_shown(second_shown, printed, shell.path)
    assert f"step {saved}," in printed and f"resumed from step {saved}\n" in printed

    fast = exports + job.replace(" --step-time 0.02 &", "")
    code, out, err = shell(fast)
    assert code == 0 and "resumed from step" in out and "test accuracy" in out, err
    code, out, err = shell(fast)
    assert code == 0 and "resumed from step" in out and "test accuracy" in out, err
    code, out, err = shell(example("queries"))
    assert code == 0, err
    assert re.search(r"^\* ", out, re.M), "list shows no newest snapshot"
    assert "step-002000.npz" in out, out
    code, out, err = shell(example("forget"))
    assert code == 0 and "would" in out, out + err


# --- the other blocks ---

def test_s3(shell):
    """README's own server, moto; tests/stores has real ones."""
    server = shutil.which("moto_server") or pytest.skip("needs moto_server: pip install 'moto[server]'")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    process = subprocess.Popen([server, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
    try:
        wait_for("the server", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, process=process)
        code, out, err = shell(example("s3").replace("9000", str(port)))
        assert code == 0 and "ok    if-absent" in out and re.search(r"^\* 000001-\d+ +good +500 ", out, re.M), out + err
    finally:
        process.kill()
        process.wait()


# Two preemptions and an end, as README shows them: one with a notice of four seconds, one without.
PICTURE = """export REPRIEVE_CHECKPOINT_SIGNAL=USR1
run() { exec reprieve run --job digits --grace 4 -- python3 examples/train_digits.py --step-time 0.02 "$@"; }
"""


@pytest.mark.long
def test_picture(shell):
    """The picture is what `report --svg` draws of such a run. WRITE_PICTURE=1 puts a new one into its place."""
    printed, code = preempt(shell, PICTURE + "run & sleep 6; kill $!; wait $!", "step 150 ")
    assert code == 75, printed
    killed = shell.start(PICTURE + "exec reprieve run --job digits -- python3 examples/train_digits.py --step-time 0.02 --save-every 100",
                         REPRIEVE_TOGETHER="1", PYTHONUNBUFFERED="1")
    read_until(killed, "durable: 000002-000001")
    read_until(killed, "50 loss")
    killed.kill()
    killed.communicate(timeout=LIMIT)
    code, out, err = shell(PICTURE + "(run --steps 600); reprieve report --job digits --svg picture.svg")
    assert code == 0, out + err
    made, shown = (shell.path / "picture.svg").read_text(), ROOT / "examples" / "preemptions.svg"
    if os.environ.get("WRITE_PICTURE"):
        shown.write_text(made)

    def parts(text):
        return re.search("<style>.*?</style>", text, re.S).group(), re.findall(r'<rect class="(training|restoring|notice)"', text), \
            re.findall(r">(\d): ran [^,]*, ([a-z ]+)", text)
    assert parts(made) == parts(shown.read_text())


def test_entrypoint(shell):
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root, to make a PID namespace")
    code, out, err = shell(example("entrypoint"))
    assert code == 3, err
    assert re.fullmatch(r"process \d+, started by process 1\n", out)


@pytest.mark.long
def test_requeue(shell):
    """With a scontrol that knows one running job, and writes down how it was called; tests/slurm has Slurm itself."""
    called = shell.path / "called"
    scontrol = shell.binaries / "scontrol"
    scontrol.write_text("#!/bin/sh\ncase $* in *show*) echo JobId=77 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 ;; "
                        f"*) echo \"$@\" >>'{called}' ;; esac\n")
    scontrol.chmod(0o755)
    batch = shell.start(example("requeue"), SLURM_JOB_ID="77", PYTHONUNBUFFERED="1")
    wait_for("the training to begin", lambda: "step 20 " in batch.stdout.readline(), process=batch)
    batch.send_signal(signal.SIGTERM)
    out, err = batch.communicate(timeout=LIMIT)
    assert batch.returncode == 75, err
    assert called.read_text() == "requeue Incomplete 77\n"
    again = shell.start(example("requeue"), SLURM_JOB_ID="77")
    wait_for("the training to go on", lambda: "resumed from step" in again.stdout.readline(), process=again)
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=LIMIT)


@pytest.mark.long
def test_drill(shell):
    code, out, err = shell(example("drill"))
    assert code == 0, f"{out}\n{err}"
    assert "PASS" in out and "FAIL" not in out


@pytest.mark.long
def test_trace(shell):
    code, out, err = shell(example("trace"))
    assert code == 0 and re.search(r"^reprieve +\d+ .*the job finished$", out, re.M), f"{out}\n{err}"


@pytest.mark.long
def test_gangdrill(shell):
    code, out, err = shell(example("gangdrill"))
    assert code == 0 and out.rstrip().splitlines()[-1].startswith("PASS: "), f"{out}\n{err}"


@pytest.mark.long
@pytest.mark.parametrize("name, find", [("github", lambda page: [step["run"] for step in page["jobs"]["preemption"]["steps"] if "run" in step]),
                                        ("gitlab", lambda page: page["preemption"]["script"])])
def test_a_drill_in_ci(shell, name, find):
    """What the page shows is YAML, and its command passes and writes the file that is uploaded."""
    yaml = pytest.importorskip("yaml", reason="python3-yaml: examples/install_packages.sh test")
    steps = find(yaml.safe_load(example(name)))
    [command] = [line for line in steps if line.startswith("reprieve drill")]
    # A tag of this version is installed, with the script that is here, and what the job needs.
    before = "\n".join(steps[:steps.index(command)])
    [tag, script] = re.search(r"--branch v(\S+) .*\n/tmp/reprieve/(\S+) build static\npip install /tmp/reprieve\npip install -r requirements.txt", before).groups()
    assert f"project(reprieve VERSION {tag}" in (ROOT / "CMakeLists.txt").read_text() and os.access(ROOT / script, os.X_OK)
    (shell.path / "train.py").write_text("import sys\nsys.argv[1:] = 'each', '5000', 'checkpoints', '1', '0'\n" + JOB.replace("final.txt", "final.pt"))
    code, out, err = shell(command)
    assert code == 0 and out.splitlines()[-1].endswith("; final.pt equals that of an undisturbed run"), f"{out}\n{err}"
    suite = xml.etree.ElementTree.parse(shell.path / "drill.xml").getroot()
    assert suite.get("failures") == "0" and suite.get("tests") == "4"


def test_watch(shell):
    code, out, err = shell(example("watch"))
    assert code == 0 and "stop: drain\n" in out, out + err


def test_script(shell):
    code, out, err = shell(example("script"))
    assert code == 0 and out.endswith("evaluate\n") and "warning" not in err, out + err


def test_observe(shell):
    code, out, err = shell(example("observe"))
    assert code == 0 and 'team="nlp"' in out and "warning" not in err, out + err
    assert all(json.loads(line)["event"] for line in (shell.path / "events.jsonl").read_text().splitlines())


def test_explain(shell):
    code, out, err = shell(example("explain"))
    assert code == 0 and "podFailurePolicy" in out, err
    code, out, err = shell(example("profile"))
    assert code == 0 and "Hugging Face Trainer" in out and "resuming" in out, err
    code, out, err = shell(example("flag"))
    assert code == 0 and (shell.path / "reprieve.py").read_text() == (ROOT / "shim" / "reprieve.py").read_text()
    assert (shell.path / "reprieve.h").read_text() == (ROOT / "shim" / "reprieve.h").read_text()


# tests/fresh.sh runs "build" on a bare system.
RUN_HERE = {"preemption", "s3", "queries", "forget", "entrypoint", "requeue", "drill", "gangdrill", "trace", "watch", "script", "observe", "explain", "profile", "flag", "github", "gitlab"}


def test_every_block_is_run():
    assert set(blocks()) == RUN_HERE | {"build"}
    assert "sh build" in (ROOT / "tests" / "fresh.sh").read_text()
    unnamed = [(page.name, language) for page in PAGES for language, name, _ in BLOCK.findall(page.read_text()) if not name]
    assert unnamed == [("CONTAINERS.md", "dockerfile")]


def test_what_belongs_into_an_image_is_what_the_tested_image_has():
    image = (ROOT / "examples" / "container" / "Containerfile").read_text().splitlines()
    for page in PAGES:
        for language, _, text in BLOCK.findall(page.read_text()):
            if language == "dockerfile":
                assert text.splitlines() and set(text.splitlines()) <= set(image)


# --- what they name ---

def help_of(program, *words):
    return subprocess.run([program, *words, "--help-all"], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def options():
    verbs = re.findall(r"^  ([a-z]+)  +\S", help_of(REPRIEVE), re.M)
    return {verb: set(re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", help_of(REPRIEVE, verb) if verb != "help" else "", re.M))
            for verb in verbs}


def commands_in(text):
    """What is set as code: in a line, indented, or in a block that is run."""
    lines = re.findall(r"`[^`\n]+`|^    .*|^\$ .*", text, re.M)
    return "\n".join(lines + [block for language, _, block in BLOCK.findall(text) if language == "sh"])


def test_every_verb_and_option_is_there(options):
    known = set.union(*options.values()) | {"version"}
    calls = 0
    for page in PAGES:
        text = re.sub(r"\\\n *", "", page.read_text())
        for verb, rest in re.findall(r"\breprieve ([a-z]+)\b([^`\n#|]*)", commands_in(text)):
            assert verb in options, f"{page.name}: reprieve {verb}"
            named = set(re.findall(r"(?<!\S)--([a-z-]+)", rest.split(" -- ")[0]))
            assert named <= options[verb], f"{page.name}: {verb} {named - options[verb]}"
            calls += 1
        for name in re.findall(r"`--([a-z-]+)", text):
            assert name in known | OF_OTHERS, f"{page.name}: --{name}"
    assert calls > 30


def anchors(page):
    return {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-") for line in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        name, _, anchor = target.partition("#")
        if name.startswith("http"):
            continue
        led = (page.parent / name).resolve() if name else page
        assert led.exists(), target
        assert not anchor or anchor in anchors(led), target
    for name in re.findall(r"`(?:\./)?((?:tests|examples|storage|supervisor|cloud|shim)/[\w./-]*\w)(?=[` ])", page.read_text()):
        assert (ROOT / name).exists(), name


def test_readme_is_read_to_the_end():
    lines = README.read_text().splitlines()
    assert len(lines) <= 130
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []


def test_contributing_lists_every_page():
    listed = (ROOT / "CONTRIBUTING.md").read_text()
    for page in PAGES[1:]:
        assert str(page.relative_to(ROOT)) in listed, page


def test_the_tables_of_frameworks_have_each_case_in_its_order():
    """tests/frameworks/run.sh --write makes it: what has not run keeps its row."""
    script = ("import table; text = table.PAGE.read_text(); assert table.page_with(text, []) == text; "
              "print(*(case.title for case in table.CASES if case.on_page), sep='\\n')")
    cases = subprocess.run(["/usr/bin/python3", "-c", script], cwd=ROOT / "tests" / "frameworks", capture_output=True, text=True)
    assert cases.returncode == 0, cases.stderr
    page = (ROOT / "supervisor" / "frameworks" / "FRAMEWORKS.md").read_text()
    codes, table = [re.findall(r"^\| (.*?) \|", part, re.M) for part in page.split("| --- |\n")[1:]]
    assert table == cases.stdout.splitlines()
    played = re.findall(r'^    Code\("(\w+)"', (ROOT / "tests" / "differential" / "test_codes.py").read_text(), re.M)
    assert [name.lower().replace("-", "") for name in codes[:len(played)]] == played
