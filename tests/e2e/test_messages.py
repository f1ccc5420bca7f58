"""Mistakes that new users make: each is one line that names what is wrong and what to do, and an exit code that reprieve(1) lists."""
import importlib.util
import json
import os
import re
import socket
import subprocess
import threading

import pytest
from harness import EXIT_CONFIGURATION, EXIT_USAGE, LIMIT, PYTHON, REPRIEVE, ROOT, SAVER, one_line

OFTEN = ("--quiet-time", "100ms")
UNDECODABLE = os.fsdecode(b"\xff")
LOOKS = {"list": [], "show": ["latest"], "verify": [], "restore": ["latest", "back"], "export": ["latest", "-"], "forget": ["--keep-last", "1"],
         "pin": ["latest"]}


@pytest.fixture
def saved(place):
    tree = place.path / "tree"
    tree.mkdir()
    (tree / "content").write_text("content")
    assert place.verb("save", tree).code == 0
    return place


@pytest.mark.parametrize("verb", LOOKS)
@pytest.mark.parametrize("job", [["--job", "job"], []], ids=["job", "no-job"])
def test_a_store_that_is_not_there(place, verb, job):
    result = place.query(verb, *LOOKS[verb], "--store", place.store, *job)
    assert result.code == EXIT_CONFIGURATION, result
    assert place.store in one_line(result)


@pytest.mark.parametrize("verb", ["show", "verify", "restore", "export", "pin"])
def test_a_snapshot_that_is_not_there(saved, verb):
    result = saved.verb(verb, "99-1", *LOOKS[verb][1:])
    assert result.code == 1, result
    line = one_line(result)
    assert "000099-000001" in line and ".json" not in line


@pytest.mark.parametrize("verb", [*LOOKS, "report"])
@pytest.mark.parametrize("json", [[], ["--json"]], ids=["people", "json"])
def test_a_job_that_is_not_there(saved, verb, json):
    json = [] if verb == "export" else json
    result = saved.query(verb, *LOOKS.get(verb, []), "--store", saved.store, "--job", "jbo", *json)
    assert result.code == EXIT_CONFIGURATION and result.out == "", result
    assert "has no job jbo: it has job" in one_line(result)


def test_a_job_without_snapshots_is_no_mistake(place):
    assert place.query("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory, *OFTEN, "--", "true").code == 0
    assert "nothing to verify" in place.verb("verify").out
    for verb in ("list", "verify", "report"):
        assert place.verb(verb).code == 0
    assert place.verb("forget", "--keep-last", "1").code == 0
    assert place.verb("report", "--json").json["total"]["attempts"] == 1


@pytest.mark.parametrize("words, says", [
    (["export", "latest", "tree/content"], "tree/content is there already: name a file that is not, or remove it"),
    (["export", "latest", "no/where"], "cannot make no/where: No such file or directory: name another place for it"),
    (["show", "--job", ""], "--job: invalid job name"),
    (["show", "--job", "a/b"], "--job: invalid job name"),
    (["status", "--job", ""], "--job: the value is empty"),
    (["doctor", "--job", "job"], "unknown option '--job'"),
    (["restore", "latest", "--to", "elsewhere"], "it is `reprieve restore ID|latest DIR`"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_an_error_says_what_to_do(saved, words, says):
    store = [] if words[0] == "status" else ["--store", saved.store]
    result = saved.query(*words, *store)
    assert result.code == (EXIT_CONFIGURATION if words[0] == "export" else EXIT_USAGE), result
    assert says in one_line(result), result


@pytest.mark.parametrize("written", ["{here}/store", "store", "./store", "../{name}/store"])
def test_a_store_that_is_written_as_a_path_is_named_as_it_would_do(saved, written):
    """Where the advice is followed, the store is found."""
    def ask(url):
        return subprocess.run([REPRIEVE, "list", "--store", url], cwd=saved.path, env=saved.environment, capture_output=True, text=True, timeout=LIMIT)

    refused = ask(written.format(here=saved.path, name=saved.path.name))
    assert refused.returncode == EXIT_CONFIGURATION, refused
    advised = re.search(r"file:///\S+", one_line(refused.stderr)).group()
    assert advised == f"file://{saved.path}/store" and ask(advised).returncode == 0, refused


def test_no_job_is_named(place):
    (place.path / "tree").mkdir()
    result = place.query("save", place.path / "tree", "--store", place.store)
    assert result.code == EXIT_USAGE and one_line(result).endswith("save: no job given: write --job NAME"), result


def test_without_a_home_there_is_no_default_store(place):
    result = place.query("list", HOME="", XDG_STATE_HOME="")
    assert result.code == EXIT_CONFIGURATION and "choose a place with --store" in one_line(result), result


def test_a_directory_that_is_not_utf8(place):
    """It is in one line, and takes no record along."""
    directory = f"{place.path}/ck {UNDECODABLE}\n"
    arguments = ("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", directory, "--", "sh", "-c",
                 'echo ran; mkdir -p "$REPRIEVE_CHECKPOINT_DIR"; echo 1 > "$REPRIEVE_CHECKPOINT_DIR/step_1.bin"')
    first, again = place.query(*arguments), place.query(*arguments)
    assert first.code == 0 and first.out == "ran\n" and "ended with 0; durable: 0000" in first.err, first
    assert again.code == 0 and again.out == "ran\n" and "job job, attempt 2: resuming from" in again.err, again
    assert place.verb("report", "--json").json["jobs"][0]["list"][0]["host"] != ""
    restored = place.verb("restore", "latest", f"{place.path}/back {UNDECODABLE}\n")
    assert restored.code == 0 and restored.out.count("\n") == 1 and "/back ??: 1 file" in restored.out, restored
    restored = place.verb("restore", "latest", f"{place.path}/more {UNDECODABLE}\n", "--json")
    assert restored.json["files"] == 1, restored


def test_a_store_that_cannot_be_read_says_what_to_do(saved):
    for name, says in (("nowhere", "nothing was saved there yet, or it is not mounted: see --store"), ("tree", "--store has to be as")):
        assert says in one_line(saved.query("list", "--store", f"file://{saved.path}/{name}"))
    marker = saved.store_path / "format.json"
    whole = marker.read_bytes()
    marker.write_text("garbage\n")
    assert "Remove that file" in one_line(saved.verb("list"))
    marker.unlink()
    # What the line says to do.
    assert saved.verb("save", saved.path / "tree").code == 0 and saved.verb("list").code == 0
    assert json.loads(marker.read_text().splitlines()[1]).keys() == json.loads(whole.decode().splitlines()[1]).keys()


def test_a_directory_that_cannot_be_made_is_not_called_a_snapshot(saved):
    result = saved.verb("restore", "latest", "/proc/no/such/place")
    assert result.code != 0 and "/proc/no" in one_line(result) and "has no snapshot" not in result.err


def to_output(saved, output, *words):
    """The verb's result, with that standard output."""
    return subprocess.run(["sh", "-c", f'exec {REPRIEVE} "$@" {output}', "sh", *words], cwd=saved.path, capture_output=True, text=True, timeout=LIMIT,
                          env={**saved.environment, "REPRIEVE_STORE": saved.store, "REPRIEVE_JOB": saved.job})


@pytest.mark.parametrize("verb", [["save", "{files}"], ["pin", "latest"], ["restore", "latest", "{new}"]], ids=lambda verb: verb[0])
@pytest.mark.parametrize("output", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_what_is_done_is_done_though_it_cannot_be_said(saved, verb, output):
    names = {"{files}": str(saved.path / "tree"), "{new}": str(saved.path / "new")}
    result = to_output(saved, output, *(names.get(word, word) for word in verb))
    assert result.returncode == 0 and (output != ">&-" or result.stderr == ""), result


@pytest.mark.parametrize("words", [["list"], ["show"], ["run", "--help"], ["run", "--dry-run", "--", "true"], ["save", "--help"], ["help"], ["--version"]],
                         ids=" ".join)
@pytest.mark.parametrize("output", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_what_was_asked_for_and_cannot_be_written(saved, words, output):
    result = to_output(saved, output, *words)
    assert result.returncode == 1 and "standard output" in one_line(result.stderr), result


@pytest.mark.parametrize("output", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_a_job_whose_output_cannot_be_written_is_the_jobs_affair(saved, output):
    result = subprocess.run(["sh", "-c", f"exec {REPRIEVE} run -- true {output}"], cwd=saved.path, capture_output=True, text=True,
                            env=saved.environment, timeout=LIMIT)
    assert result.returncode == 0 and result.stderr == "", result


def test_help_of_a_verb(place):
    for verb in ("run", "save", "mock"):
        assert place.query("help", verb).out == place.query(verb, "--help").out != ""
    general = place.query("help")
    assert "\n  help " in general.out and general.out == place.query("--help").out == place.query("help", "help").out
    assert place.query("help", "nothing").code == EXIT_USAGE


@pytest.mark.parametrize("words, says", [
    (["lst"], "unknown verb 'lst' (is list meant?)"),
    (["verfy", "latest"], "(is verify meant?)"),
    (["rnu", "--", "true"], "(is run meant?)"),
    (["help", "statsu"], "(is status meant?)"),
    (["nothing-like-it"], "unknown verb 'nothing-like-it': see `reprieve --help`"),
    ([PYTHON, "train.py"], f"to run it as the job: `reprieve run -- {PYTHON} ...`"),
    (["true"], "to run it as the job: `reprieve run -- true`"),
    (["train.py"], "to run it as the job: `reprieve run -- train.py`"),
    (["LR=3", "python3", "train.py"], "to run it as the job: `reprieve run -- env LR=3 ...`"),
    (["ls"], "that is `reprieve list`"),
    (["ps"], "that is `reprieve status`"),
    (["logs"], "that is `reprieve report --log`"),
    (["resume"], "the same command as before"),
    (["--store", "file:///x", "list"], "as in `reprieve list --store ...`"),
    (["--stor"], "as in `reprieve VERB --stor ...`"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_word_that_is_no_verb(place, words, says):
    result = place.query(*words)
    assert result.code == EXIT_USAGE and result.out == "", result
    assert says in one_line(result) and ("(is" in says) == ("(is" in result.err), result


def test_each_message_is_short():
    """At most 120 characters, as CONTRIBUTING.md says, but for what is left of the longer ones: their number only falls."""
    spec = importlib.util.spec_from_file_location("list_messages", ROOT / "tests" / "list_messages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.messages(ROOT)
    assert len(found) > 500 and "unknown verb '%s': that is `%s`" in found
    assert sum(len(text) > 120 for text in found) == 0, [text for text in found if len(text) > 120]


@pytest.mark.parametrize("words", [["LR=3", PYTHON, "job.py"], ["job.py"]], ids=["variable", "script"])
def test_a_command_that_lacks_its_first_word(place, words):
    """With the word that the line names, it runs."""
    (place.path / "job.py").write_text("import numpy; print('ran')")
    run = ["run", "--notice", "none", "--store", place.store, "--job", "job", "--"]
    line = one_line(place.query(*run, *words))
    again = place.query(*run, re.search(r"`reprieve run -- (\S+) ", line)[1], *words)
    assert again.code == 0 and again.out == "ran\n", again


@pytest.mark.parametrize("scheme, answer, says", [
    ("https", "HTTP/1.1 400 Bad Request\r\n\r\n", "that server speaks http: write http:// in its endpoint"),
    ("http", "", "if that server speaks https, write https:// in its endpoint"),
    ("http", "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "400: Client sent an HTTP request to an HTTPS server."),
], ids=["https", "http", "http-that-is-told"])
def test_an_endpoint_of_the_other_scheme(place, scheme, answer, says):
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            while True:
                with server.accept()[0] as client:
                    client.recv(65536)
                    client.sendall(answer.encode())
        threading.Thread(target=serve, daemon=True).start()
        result = place.query("list", "--store", "s3://bucket/prefix", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", REPRIEVE_STORE_PATIENCE="1s",
                             AWS_ENDPOINT_URL_S3=f"{scheme}://127.0.0.1:{server.getsockname()[1]}")
    assert result.code != 0 and result.err.rstrip().endswith(says), result


def test_the_help_of_run_is_one_screen(place):
    """The options that a newcomer may need, one line each; the rest is behind --help-all."""
    brief, whole = place.query("run", "--help").out, place.query("run", "--help-all").out
    option = re.compile(r"^  (?:-\w,|   ) --([a-z-]+)", re.M)
    few, all = option.findall(brief), option.findall(whole)
    assert set(few) < set(all) and 20 <= len(few) <= 30 and len(all) > 55
    assert {"store", "job", "checkpoint-dir", "checkpoint-signal", "grace", "keep-last", "help-all"} <= set(few)
    assert len(brief.splitlines()) <= 60, brief
    assert brief.index("Examples:") < brief.index("\nStore:") and "reprieve run --help-all, and `man reprieve-run`" in brief
    assert place.query("list", "--help-all").out == place.query("list", "--help").out


def test_help_has_one_form(place):
    """What it is for, examples, usage, options in groups, exit status; at most 80 columns wide."""
    verbs = re.findall(r"^  ([a-z]+)  +\S", place.query("--help").out.split("Verbs:\n")[1], re.M)
    assert len(verbs) > 20
    for verb in verbs[:verbs.index("help")]:
        shown = place.query(verb, "--help").out
        assert shown == place.query(verb, "-h").out
        places = [shown.index(part) for part in ("\n\nExamples:\n  ", f"\n\nUsage: reprieve {verb}", "  -h, --help  ", "\n\nExit status:\n")]
        assert places == sorted(places) and "\n  64 " in shown, shown
        assert max(map(len, shown.splitlines())) <= 80, shown
    assert max(map(len, place.query("--help").out.splitlines())) <= 80


def test_who_reads_no_further_has_what_he_wants(saved):
    command = f"trap '' PIPE; {REPRIEVE} list --store {saved.store} --job {saved.job} | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], env=saved.environment, capture_output=True, text=True, timeout=LIMIT)
    assert result.returncode == 0 and result.stderr == "", result


def test_the_whole_machine_is_no_checkpoint_directory(place):
    for name in ("/", "//", "/tmp/.."):
        # Without a profile: what is looked for one is there on some machines, and is one more line.
        result = place.query("run", "--store", place.store, "--profile", "none", "--checkpoint-dir", name, "--", "touch", place.path / "started")
        assert result.code == EXIT_CONFIGURATION, result
        assert "--checkpoint-dir" in one_line(result) and "everything" in result.err
    assert not (place.path / "started").exists()


def refused(place, *arguments, **environment):
    """The line; the job was not started."""
    result = place.query("run", *arguments, "--", "touch", place.path / "started", **environment)
    assert result.code == EXIT_CONFIGURATION, result
    assert not (place.path / "started").exists()
    line = one_line(result)
    assert "--checkpoint-dir" in line
    return line


def test_a_store_among_the_checkpoints(place):
    """Its own files would be taken for torn ones."""
    place.directory.mkdir()
    (place.path / "link").symlink_to("checkpoints")
    within = f"file://{place.directory}/a/store"
    for store, directory in ((within, "checkpoints"), (within, place.path / "link"), (f"file://{place.path}/link/a/store", "checkpoints"),
                             (f"file://{place.directory}", place.directory)):
        assert "holds the store" in refused(place, "--store", store, "-c", directory)
        assert "holds the store" in refused(place, "--store", store, REPRIEVE_CHECKPOINT_DIR=str(directory))
        assert "holds the store" in refused(place, "--dry-run", "--store", store, "-c", directory)
    assert "holds the store" in refused(place, "-c", place.directory, XDG_STATE_HOME=str(place.directory / "state"))
    assert "holds the store" in refused(place, "--store", within), "where nobody chose the directory"
    assert not list(place.directory.iterdir())
    for kept in ("jobs", "tmp/x"):
        assert "inside the content of the store" in refused(place, "--store", f"file://{place.path}", "-c", place.path / kept)
    assert "runtime directory" in refused(place, "--store", place.store, "-c", place.runtime)


def test_saving_or_restoring_over_the_store(saved):
    (saved.path / "tree" / "store").mkdir()
    for verb in ("save",):
        result = saved.query(verb, saved.path / "tree", "--store", f"file://{saved.path}/tree/store", "--job", "job")
        assert result.code == EXIT_CONFIGURATION and "holds the store" in one_line(result), result
    for directory, why in ((saved.path, "holds the store"), (saved.store_path, "holds the store"), (saved.store_path / "jobs" / "x", "inside the content of the store")):
        result = saved.verb("restore", "latest", directory)
        assert result.code == EXIT_CONFIGURATION and why in one_line(result), result
    assert saved.verb("verify").code == 0


def test_a_drill_refuses_what_the_run_would(place):
    result = place.query("drill", "--", "run", "-c", "ck", "--store", f"file://{place.path}/ck/store", "--", "true")
    assert result.code == EXIT_USAGE and "holds the store" in one_line(result), result


def test_checkpoints_below_the_store_are_safe_there(place):
    """Neither takes what the other has for its own."""
    place.store_path, place.store = place.path, f"file://{place.path}"
    for steps in (1, 2, 3):
        run = place.run(PYTHON, SAVER, "--steps", steps, options=OFTEN)
        assert run.wait() == 0 and ("moved" not in run.err) and f"resumes {steps - 1}" in run.out, run
    assert place.verb("forget", "--keep-last", "1", "--sweep-age", "1s").code == 0
    assert place.verb("verify").code == 0 and place.newest()["step"] == 3
    assert (place.directory / "step-000003").is_dir()
    run = place.run(PYTHON, SAVER, "--steps", 4, options=OFTEN, directory=place.path / "elsewhere")
    assert run.wait() == 0 and "resumes 3" in run.out, run


def test_directories_that_hold_more_than_checkpoints(place):
    work = place.path / "work"
    (work / "src").mkdir(parents=True)
    (work / "train.py").write_text("print('never')")
    (place.path / "home").mkdir()
    elsewhere = {"HOME": str(place.path / "home")}

    def line(directory, *command, where=work):
        result = subprocess.run([REPRIEVE, "run", "--store", "file:///nonexistent/store", "-c", directory, "--", *command], cwd=where,
                                env={**place.environment, **elsewhere}, capture_output=True, text=True, timeout=LIMIT)
        assert result.returncode == EXIT_CONFIGURATION and "never" not in result.stdout, result
        assert "--checkpoint-dir" in one_line(result.stderr)
        return result.stderr

    assert "the program" in line(".", PYTHON, "train.py")
    assert "the program" in line(work, "sh", "-c", f"exec {PYTHON} train.py")
    assert "the program" in line(work, PYTHON, work / "train.py", where=place.path)
    assert "working directory" in line("..", "true", where=work / "src")
    assert "home directory" in line(place.path / "home", "true")
    (work / ".git").mkdir()
    assert "repository" in line(".", "true")


def test_a_script_that_saves_where_it_runs(place):
    """In a directory that holds nothing else it may, and hears what that means."""
    directory = place.path / "work"
    directory.mkdir()
    arguments = [REPRIEVE, "run", *OFTEN, "--store", place.store, "--job", place.job, "-c", ".", "--", PYTHON, SAVER, "--steps"]
    for steps in ("1", "2"):
        result = subprocess.run([*arguments, steps], cwd=directory, env=place.environment, capture_output=True, text=True, timeout=LIMIT)
        assert result.returncode == 0 and f"resumes {int(steps) - 1}" in result.stdout, result
        assert result.stderr.count("is the working directory") == 1, result
    assert place.newest()["step"] == 2


@pytest.mark.parametrize("what, why", [("link", "is a link to nothing"), ("file", "is no directory"), ("full", "is not empty"),
                                       ("loop", "is a link to nothing")])
def test_a_place_to_restore_into_is_called_what_it_is(saved, what, why):
    (saved.path / "link").symlink_to("nowhere")
    (saved.path / "loop").symlink_to("loop")
    (saved.path / "file").write_text("")
    (saved.path / "full").mkdir()
    (saved.path / "full" / "file").write_text("")
    result = saved.verb("restore", "latest", saved.path / what)
    assert result.code == EXIT_CONFIGURATION and f"{what} {why}: " in one_line(result), result


@pytest.mark.parametrize("what, why", [("link", "is a link to nothing"), ("file", "is no directory"), ("empty", "is empty"), ("no", "is not there")])
def test_a_directory_to_save_is_called_what_it_is(place, what, why):
    (place.path / "link").symlink_to("nowhere")
    (place.path / "file").write_text("")
    (place.path / "empty").mkdir()
    result = place.verb("save", place.path / what)
    assert result.code == EXIT_CONFIGURATION and f"{what} {why}: " in one_line(result), result


def test_restore_none_leaves_what_lies_here_and_says_so(place):
    assert place.run(PYTHON, SAVER, "--steps", 2, options=OFTEN).wait() == 0
    again = place.run(PYTHON, SAVER, "--steps", 3, options=(*OFTEN, "--restore", "none"))
    assert again.wait() == 0 and "resumes 2" in again.out, again
    assert "--restore none" in again.err and "step 2 (empty it" in again.err, again


def test_without_a_home_the_loss_is_said_once(place):
    """And not at all where there is nothing to lose."""
    arguments = ("run", *OFTEN, "--checkpoint-dir", place.directory, "--")
    result = place.query(*arguments, PYTHON, SAVER, "--steps", 3, "--pause", "0.4", HOME="", XDG_STATE_HOME="")
    assert result.code == 0, result
    assert result.err.count("will not be saved") == 1 and "HOME" in result.err and "--store" in result.err, result
    assert "lies in" in result.err and "(null)" not in result.err, result
    nothing = place.query("run", "--", "true", HOME="", XDG_STATE_HOME="")
    assert nothing.code == 0 and nothing.err == "", nothing


def test_a_drill_of_what_lies_above(place):
    (place.path / "train.py").write_text("print('never')")
    result = place.query("drill", "--", "run", "--", PYTHON, "../" + place.path.name + "/train.py")
    assert result.code == EXIT_USAGE, result
    line = one_line(result)
    assert "../" in line and str(place.path / "train.py") in line


def test_a_terminal_does_not_obey_a_files_name(saved):
    name = "a\033[2J\nb\u009b2J\x7f"
    (saved.path / "tree" / name).symlink_to("to\033[31m")
    assert saved.verb("save", saved.path / "tree", "--tag", "second").code == 0
    shown = saved.verb("show", "latest")
    assert shown.code == 0 and "a?[2J?b??2J? -> to?[31m\n" in shown.out, shown
    exact = saved.verb("show", "latest", "--json")
    assert name in [entry["path"] for entry in json.loads(exact.out)["entries"]]
    # A name in an error, and one in a log line.
    refused = saved.verb("restore", "latest", saved.path / "tree" / f"{name}/x\033[1m")
    assert refused.code != 0 and "?[2J" in one_line(refused) and not set("\033\u009b\x7f") & set(refused.err), refused


@pytest.mark.parametrize("words, says", [
    (["explain", "python", "extra"], "unexpected argument: 'extra'"), (["explain"], "`c` or `python`"), (["mock"], "mock aws|gcp|azure|alibaba|tencent"),
    (["probe", "--live", "--fresh", "1s"], "one of them at a time"),
], ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_what_is_missing_or_too_much_is_named(place, words, says):
    result = place.query(*words)
    assert result.code == EXIT_USAGE and says in one_line(result), result


def test_an_age_of_nothing_frees_at_once(saved):
    for content in (b"1" * 5000, b"2" * 5000, b"3" * 5000):
        (saved.path / "tree" / "more").write_bytes(content)
        assert saved.verb("save", saved.path / "tree").code == 0
    later = saved.verb("forget", "--keep-last", "1", "--dry-run")
    assert later.code == 0 and "free 0 B" in later.out and "too young (--sweep-age)" in later.out, later
    at_once = saved.verb("forget", "--keep-last", "1", "--sweep-age", "0")
    assert at_once.code == 0 and "freed 0 B" not in at_once.out and "too young" not in at_once.out, at_once
    assert saved.verb("verify").code == 0


def test_what_would_go_is_said_so(saved):
    for _ in range(3):
        assert saved.verb("save", saved.path / "tree").code == 0
    would, does = saved.verb("forget", "--keep-last", "1", "--dry-run"), saved.verb("forget", "--keep-last", "1")
    assert "\nwould go " in would.out and "no rule keeps it\n" in would.out, would
    assert "\nforget " in does.out and "would" not in does.out, does


def test_an_empty_command(place):
    result = place.query("run", "--", "")
    assert result.code == 127 and "empty" in one_line(result), result


@pytest.mark.parametrize("command, code", [("no-such-command-anywhere", 127), ("./no/such/file", 127), ("./text", 126), ("DIRECTORY", 126)])
def test_a_command_that_cannot_be_run_leaves_no_job(place, command, code):
    (place.path / "text").write_text("true")
    command = str(place.path) if command == "DIRECTORY" else command
    result = place.query("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory, "--", command)
    assert result.code == code and command in one_line(result), result
    assert not place.store_path.exists(), "nothing is claimed"


@pytest.mark.parametrize("command, as_it_would", [
    (["LR=3", PYTHON, "train.py"], "env LR=3 ..."), (["train.py"], "python3 train.py ..."), (["./job.sh"], "sh ./job.sh ..."),
], ids=["variable", "script", "no-right"])
def test_a_command_that_lacks_a_word_is_named_as_it_would_do(place, command, as_it_would):
    (place.path / "train.py").write_text("")
    (place.path / "job.sh").write_text("")
    result = subprocess.run([REPRIEVE, "run", "--job", place.job, "--", *command], cwd=place.path, env=place.environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    last = result.stderr.splitlines()[-1]
    assert result.returncode in (126, 127) and f"is `reprieve run -- {as_it_would}` meant?" in result.stderr, result
    assert command[0] in last, result


def test_a_script_without_its_interpreter(place):
    (place.path / "script").write_text("#!/no/such/interpreter\n")
    (place.path / "script").chmod(0o755)
    result = place.query("run", "--", "./script")
    assert result.code == 127 and "cannot run ./script: the interpreter that it names does not exist" in result.err, result


def test_a_command_that_comes_with_its_checkpoints_is_looked_for_behind_the_restore(place):
    script = place.directory / "go.sh"
    place.directory.mkdir()
    script.write_text("#!/bin/sh\necho went\n")
    script.chmod(0o755)
    assert place.verb("save", place.directory).code == 0
    subprocess.run(["rm", "-r", str(place.directory)], check=True)
    result = place.query("run", "--store", place.store, "--job", place.job, "--checkpoint-dir", place.directory, "--", "./checkpoints/go.sh")
    assert result.code == 0 and result.out == "went\n", result


def test_where_a_name_comes_from(place):
    assert "job             here (from REPRIEVE_JOB)\n" in place.query("run", "-n", "--", "true", REPRIEVE_JOB="here").out
    assert "job             here (from --job)\n" in place.query("run", "-n", "--job", "here", "--", "true", REPRIEVE_JOB="there").out


def test_a_name_that_was_made_is_said_first(place):
    """In another directory the same command is another job, which begins afresh. Where nothing is saved there is nothing to say."""
    assert place.query("run", "--", "true").err == ""
    arguments = ("run", *OFTEN, "--checkpoint-dir", place.directory, "--store", place.store)
    made = place.query(*arguments, "--", PYTHON, SAVER, "--steps", 1)
    [line] = [line for line in made.err.splitlines() if "--job NAME" in line]
    assert "directory and command" in line and made.err.index(line) < made.err.index("attempt 1"), made
    for more in (("--job", "given"), ("--quiet", "--job", "other")):
        assert "--job NAME" not in place.query(*arguments, *more, "--", PYTHON, SAVER, "--steps", 1).err


TYPO = {"REPRIEVE_STOER": "file:///elsewhere"}
IMAGE = {"REPRIEVE_VERSION": "1.2", "REPRIEVE_IMAGE": "i", "REPRIEVE_HOME": "/opt"}


def saved_in_vain(line):
    return "REPRIEVE_STOER (is REPRIEVE_STORE meant?)" in line and "REPRIEVE_VERSION" not in line


def test_a_mistyped_variable_is_named_once(place):
    run = place.run("true", **TYPO, **IMAGE)
    assert run.wait() == 0
    lines = [line for line in run.err.splitlines() if "STOER" in line]
    assert len(lines) == 1 and "warning" in lines[0] and saved_in_vain(lines[0]), run
    listed = place.verb("list", **TYPO)
    assert listed.code == 0 and saved_in_vain(one_line(listed))


@pytest.mark.parametrize("strict", ["option", "variable"])
def test_a_mistyped_variable_is_refused_if_strict(place, strict):
    """One that is near to a setting of ours, and no other."""
    options = ["--strict"] if strict == "option" else []
    environment = {"REPRIEVE_STRICT": "1"} if strict == "variable" else {}
    mark = place.path / "ran"
    result = place.query("run", *options, "--", "touch", mark, **environment, **TYPO, **IMAGE)
    assert result.code == EXIT_CONFIGURATION and saved_in_vain(one_line(result)) and not mark.exists(), result
    if strict == "variable":
        result = place.verb("list", **environment, **TYPO)
        assert result.code == EXIT_CONFIGURATION and saved_in_vain(one_line(result)), result
    result = place.query("run", *options, "--", "touch", mark, **environment, **IMAGE)
    assert result.code == 0 and mark.exists() and "warning" not in result.err, result
    assert all(name in result.err for name in IMAGE), result


def variables_of_this_tree():
    """What anything here reads from its environment, or sets for the job."""
    reads = re.compile(r"""(?:getenv\(|text_from_environment\(|environ(?:\.get\(|\[)\s*|add_variable\(job,\s*|#define SHIM_ENV_\w+\s+)["'](REPRIEVE_[A-Z0-9_]+)["']"""
                       r"""|\$\{?(REPRIEVE_[A-Z0-9_]+)""")
    files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.py", "*.sh"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    return {a or b for file in files.split() for a, b in reads.findall((ROOT / file).read_text(errors="replace"))}


def test_what_is_read_here_is_known(place):
    variables = variables_of_this_tree()
    assert {"REPRIEVE_STORE_PATIENCE", "REPRIEVE_RESUMING", "REPRIEVE_SHIM_CHANNEL", "REPRIEVE_TEST_EFFORT"} <= variables
    result = place.query("explain", "exit", **{name: "1" for name in variables})
    assert result.code == 0 and result.err == "", result


def test_a_store_that_is_new_says_so_once(place):
    """It looks like the first start: of a place that is mistyped, or whose share is not mounted."""
    (place.path / "share").mkdir()
    (place.path / "share" / "other").mkdir()
    for path, word in (("share/runs", "note"), ("nowhere/at/all", "warning"), ("share/other/runs", "warning")):
        place.store = f"file://{place.path / path}"
        said = [line for line in run_true(place).splitlines() if " is new: nothing was there" in line]
        assert len(said) == 1 and "--store is right" in said[0] and ("warning" in said[0]) == (word == "warning"), said
        assert " is new" not in run_true(place)


def run_true(place):
    run = place.run("true", options=())
    assert run.wait() == 0, run
    return run.err


def test_the_record_of_a_snapshot_is_damaged(saved):
    """No save mends it, and nothing in it can be fetched: advice for content that is damaged would be a lie."""
    record, = saved.store_path.glob(f"jobs/{saved.job}/snapshots/*.json")
    whole = record.read_bytes()
    record.write_bytes(whole.replace(b"content", b"contemt", 1))
    for options in ((), ("--repair",)):
        verified = saved.verb("verify", *options)
        assert verified.code == 1 and "no save mends the record of a snapshot" in verified.out, verified
        assert "sends" not in verified.out and "nothing was written down" not in verified.out, verified
    assert saved.verb("verify", "--json").json["unreadable"] == 1
    refused = saved.run("true")
    assert refused.wait() == EXIT_CONFIGURATION and "the record of the newest one cannot be read" in refused.err, refused
    assert "reprieve restore" not in refused.err and "--restore none" in refused.err, refused
    record.write_bytes(whole)
    assert saved.verb("verify").code == 0
    again = saved.run("true")
    assert again.wait() == 0 and "damaged" not in again.err, again


NOBODY = "127.0.0.1:9"


@pytest.mark.parametrize("store, fixes", [("s3://bucket/runs", ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "a role")),
                                          ("gs://bucket/runs", ("GOOGLE_APPLICATION_CREDENTIALS", "gcloud auth", "a service account")),
                                          ("az://account/container/runs", ("AZURE_STORAGE_KEY", "AZURE_CLIENT_ID", "an identity"))])
def test_without_credentials_the_fix_is_named(place, store, fixes):
    """Outside a cloud nobody answers as its metadata service: that is no reason to keep silent of what would help."""
    result = place.query("list", "--store", store, "--job", "job", HOME=str(place.path), REPRIEVE_STORE_PATIENCE="1s",
                         AWS_EC2_METADATA_SERVICE_ENDPOINT=f"http://{NOBODY}", GCE_METADATA_HOST=NOBODY,
                         REPRIEVE_AZURE_METADATA_ENDPOINT=f"http://{NOBODY}")
    said = one_line(result)
    assert result.code != 0 and all(fix in said for fix in fixes), result


def test_a_handler_that_is_not_used_is_named(place):
    """SIGUSR1 is what many scripts save at; a job that is asked by it already needs no word of it."""
    script = ("import os, signal, sys, time\nsignal.signal(signal.SIGUSR1, lambda *_: None)\nd = os.environ['REPRIEVE_CHECKPOINT_DIR']\n"
              "os.makedirs(d, exist_ok=True)\nopen(f'{d}/step-{sys.argv[1]}.pt', 'w').write('x' * 999)\n"
              "while not os.path.exists(sys.argv[2]):\n    time.sleep(0.05)\n")
    for number, (options, said) in enumerate([([], 1), (["--checkpoint-signal", "USR1"], 0), (["--checkpoint-signal", "none"], 0)]):
        end = place.path / f"end-{number}"
        run = place.run(PYTHON, "-c", script, str(number), str(end), options=[*OFTEN, *options], name=f"run-{number}")
        run.wait_for_event("durable")
        end.touch()
        assert run.wait() == 0, run
        assert run.err.count("the job handles SIGUSR1, but is not asked by it: if it saves then, set --checkpoint-signal USR1") == said, run


@pytest.mark.parametrize("path, place_of", [
    ("lightning_logs/version_0/checkpoints/epoch=0-step=9.ckpt", "lightning_logs"), ("outputs/2026-11-30/08-48-22/model-1.pt", "outputs"),
    ("out/checkpoint-500/pytorch_model/weights-1.bin", "out"),
])
def test_the_directory_that_is_named_is_that_of_all_attempts(place, path, place_of):
    """Where the advice is followed, the next attempt finds what the first has saved."""
    script = f"import os, time\nos.makedirs(os.path.dirname('{path}'), exist_ok=True)\nopen('{path}', 'w').write('x' * 999)\ntime.sleep(1.5)\n"

    def start(*options):
        return subprocess.run([REPRIEVE, "run", "--store", place.store, "--job", place.job, *options, "--", PYTHON, "-c", script],
                              cwd=place.path, env=place.environment, capture_output=True, text=True, timeout=LIMIT)
    first = start()
    named = re.search(r"--checkpoint-dir ([^)\s]+)", first.stderr)
    assert first.returncode == 0 and named and named.group(1) == str(place.path / place_of), first
    assert "durable: 000" in start("--checkpoint-dir", named.group(1)).stderr
    subprocess.run(["rm", "-r", place_of], cwd=place.path, check=True)
    assert "restored" in start("--checkpoint-dir", named.group(1)).stderr
