"""supervisor/core/TRANSITIONS.md says what the tables say, and names tests that there are."""
import re

from harness import ROOT

CORE, UNIT = ROOT / "supervisor" / "core", ROOT / "tests" / "unit" / "core"


def rows(title):
    """The rows below a heading, each a list of cells."""
    text = (CORE / "TRANSITIONS.md").read_text().split(f"## {title} ")[1].split("\n## ")[0]
    lines = [line.strip("|\n").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def assert_tests_are_there(found, unit):
    end_to_end = "".join(path.read_text() for path in (ROOT / "tests" / "e2e").glob("test_*.py"))
    examples = (UNIT / unit).read_text()
    for row in found:
        assert re.search(rf"\b{row[-2]}(\(|\[)", examples), row
        assert row[-1] == "-" or f"def {row[-1]}(" in end_to_end, row


def test_the_life_of_a_job():
    table, state = [], None
    for line in (CORE / "lifecycle.c").read_text().splitlines():
        if found := re.match(r"\s*\[JOB_(\w+)\] = \{$", line):
            state = found[1]
        elif found := re.search(r"ON\(EV_(\w+),\s*DO_(\w+),\s*JOB_(\w+)\)", line):
            table.append([state, *found.groups()])
    assert [row[:4] for row in rows("Life")] == table and len(table) > 10
    assert_tests_are_there(rows("Life"), "test_lifecycle.c")


def test_requests():
    header = (CORE / "request_table.h").read_text()
    events = [event for event in re.findall(r"REQUEST_EV_(\w+)", header)]
    effects = re.findall(r"^\tREQUEST_DO_(\w+)", header, re.M)
    assert [row[0] for row in rows("Requests")] == events and len(events) > 10
    named = {effect for row in rows("Requests") for effect in row[2].split(", ") if effect}
    assert named == set(effects)
    assert_tests_are_there(rows("Requests"), "test_request_table.c")


def test_events():
    events = re.findall(r"^\tJOB_EV_(\w+),", (CORE / "event.h").read_text(), re.M)
    effects = set(re.findall(r"^\tJOB_DO_(\w+),", (CORE / "effect.h").read_text(), re.M))
    table = rows("Events")
    assert [row[0] for row in table] == events and len(events) > 20
    assert {effect for row in table for effect in row[2].split(", ") if effect} == effects - {"SAY"}
    for row in table:
        for file, function in re.findall(r"(\w+\.c) (\w+)\(\)", row[1]):
            assert re.search(rf"\b{function}\(const struct step", (CORE / file).read_text()), row
