"""The manual pages say of the program what is there: each option of each verb, no other, and each variable."""
import re
import shutil
import subprocess

import pytest
from harness import ROOT

PAGES = {path.name: path.read_text() for path in sorted((ROOT / "supervisor" / "man").iterdir())}
# The verbs whose options have a page of their own. All others stand in reprieve(1), and what they share in reprieve-store(7).
PAGE_OF = {"run": "reprieve-run.1", "drill": "reprieve-drill.1", "mock": "reprieve-drill.1", "watch": "reprieve-notices.7"}
SECTIONS = {"run": ("run.1", ".Sh OPTIONS", ".Ss Values"), "drill": ("drill.1", ".Ss Options of drill", ".Ss Options of mock"),
            "mock": ("drill.1", ".Ss Options of mock", ".Sh EXIT STATUS")}


def help_of(program, *words):
    return subprocess.run([program, *words, "--help-all"], capture_output=True, text=True, check=True).stdout


def verbs_of(program):
    return re.findall(r"^  ([a-z]+)  +\S", help_of(program), re.M)


def options_of(program, verb):
    """All of them but --help and --help-all, which reprieve(1) describes for every verb."""
    if verb == "help":
        return set()
    return set(re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", help_of(program, verb), re.M)) - {"help", "help-all"}


def named(text):
    """The long options that a page names: `.Fl -once`, `.Fl s , -store`, `.Op Fl -live | -ready`, in any macro."""
    found = set()
    for line in re.findall(r"^\..*\bFl .*$", text, re.M):
        for words in re.split(r"\b(?:Ar|Cm|No|Ns|Op|Pa|Li|Dl)\b", line[1:].replace("|", " ")):
            if " Fl " in f" {words}":
                found |= set(re.findall(r"(?<!\S)-([a-z][a-z-]+)", words))
    return found


def part(text, begin, end):
    return text.split(begin + "\n", 1)[1].split(end, 1)[0]


def paragraph(verb):
    """What reprieve(1) says of a verb: its synopsis, and its paragraph."""
    page = PAGES["reprieve.1"]
    synopsis = part(page, ".Sh SYNOPSIS", ".Sh DESCRIPTION")
    said = [text for text in synopsis.split(".Nm\n") if re.match(rf"\.Cm (?:\w+ \| )?{verb}\b", text)]
    said += [text for text in part(page, ".Sh DESCRIPTION", ".Sh ENVIRONMENT").split(".It Cm ")
             if verb in text.split("\n", 1)[0].split(" , ")]
    return "\n".join(said)


def test_no_page_has_words_for_options():
    """A macro that goes on too long makes an option of every word behind it."""
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    for name in PAGES:
        page = subprocess.run(["mandoc", "-Tutf8", ROOT / "supervisor" / "man" / name], capture_output=True, text=True, check=True).stdout
        page = re.sub(".\b", "", page)
        assert "DESCRIPTION" in page and re.findall(r"\s(-(?!dc\b)\w\w+)", page) == [], name


@pytest.mark.parametrize("name", PAGES)
def test_each_page_names_only_what_is_there(program, name):
    known = set.union(*(options_of(program, verb) for verb in verbs_of(program))) | {"help", "help-all", "version"}
    other = {"signal", "api-key", "token", "password", "auth"} if name == "reprieve-run.1" else set()  # of sbatch, of jobs
    assert named(PAGES[name]) - known - other == set()
    for page, section in re.findall(r"\.Xr (reprieve[a-z-]*) (\d)", PAGES[name]):
        assert f"{page}.{section}" in PAGES


@pytest.mark.parametrize("verb", SECTIONS)
def test_a_verb_with_a_page_has_each_option_there_once(program, verb):
    name, begin, end = SECTIONS[verb]
    items = re.findall(r"^\.It Fl (?:\w , )?-([a-z-]+)", part(PAGES[f"reprieve-{name}"], begin, end), re.M)
    assert sorted(set(items) - {"help"}) == sorted(options_of(program, verb)) and len(items) == len(set(items))


def test_every_other_verb_has_each_option_in_its_paragraph(program):
    store = PAGES["reprieve-store.7"]
    shared = named(part(store, ".Sh OPTIONS", ".Sh ENVIRONMENT"))
    assert {"store", "job", "json", "memory", "keep-last", "sweep-age"} <= shared
    for verb in verbs_of(program):
        if verb in SECTIONS:
            continue
        page = PAGES[PAGE_OF[verb]] if verb in PAGE_OF else paragraph(verb)
        options = options_of(program, verb)
        assert page, verb
        assert options - named(page) - (shared if "store" in options else set()) == set(), verb


def test_the_synopsis_has_every_verb_and_all_that_is_explained(program):
    synopsis = part(PAGES["reprieve.1"], ".Sh SYNOPSIS", ".Sh DESCRIPTION")
    found = set()
    for line in re.findall(r"^\.Nm\n\.Cm (.*)$", synopsis, re.M):
        before = "explain " if line.startswith("explain ") else ""
        found |= {before + word for word in line.removeprefix(before).split(" | ")}
    shown = help_of(program, "explain")
    explained = {f"explain {word}" for words in re.findall(r"reprieve explain ([a-z]+(?: \| [a-z]+)*)", shown.split("Usage:")[1])
                 for word in words.split(" | ")}
    assert {"explain exit", "explain python"} < explained
    assert found == set(verbs_of(program)) - {"explain"} | explained


def test_every_verb_has_a_paragraph(program):
    verbs = part(PAGES["reprieve.1"], ".Sh DESCRIPTION", ".Sh ENVIRONMENT")
    found = [word for line in re.findall(r"^\.It Cm ([a-z][a-z ,]*)$", verbs, re.M) for word in line.split(" , ")]
    assert sorted(word for word in found if word in verbs_of(program)) == sorted(verbs_of(program))


def test_every_option_of_run_has_its_variable(program):
    for name in options_of(program, "run") - {"dry-run"}:
        assert "REPRIEVE_" + name.upper().replace("-", "_") in PAGES["reprieve-run.1"]


def test_the_manual_has_every_variable():
    """What is read from the environment, and is meant for users."""
    # Of the tests, of the shim's own, of a scheduler.
    inner = {"REPRIEVE_FAULT", "REPRIEVE_VERSION", "AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX"}
    pattern = r'"((?:AWS|AZURE|GOOGLE|GCE|CLOUDSDK|STORAGE|REPRIEVE|IDENTITY|SSL|CURL)_[A-Z0-9_]+)"'
    found = {name for room in ("storage", "supervisor", "cloud") for source in (ROOT / room).rglob("*.c")
             for name in re.findall(pattern, source.read_text()) if not name.startswith("REPRIEVE_SHIM_")}
    said = set(re.findall(r"[A-Z][A-Z0-9_]+", "\n".join(PAGES.values())))
    assert found - inner and found - inner <= said, found - inner - said


def test_every_page_is_installed():
    rules = (ROOT / "supervisor" / "CMakeLists.txt").read_text()
    for name in PAGES:
        assert re.search(rf"install\(FILES [^)]*man/{re.escape(name)}\b[^)]*/man{name[-1]}\)", rules), name
