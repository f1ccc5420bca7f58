"""What --json prints, held against supervisor/cli/JSON.md: each member is named there, and is printed; numbers are short, and -1 is null."""
import json
import re
import signal

import pytest
from harness import PYTHON, ROOT
from test_drill_trace import JOB

PAGE = (ROOT / "supervisor" / "cli" / "JSON.md").read_text()
OF_NO_TABLE = ("show about", "show entries", "show packs", "status jobs[].sources", "drill comparison")


def rows():
    """(verb, object) -> what is always there, and what sometimes."""
    found = {}
    for line in re.findall(r"^\| (`.*)\|$", PAGE, re.M):
        verbs, objects, always, sometimes = line.split("|")
        for verb in re.findall(r"`(.*?)`", verbs):
            for place in re.findall(r"`(.*?)`", objects.split(", as")[0]) or [""]:
                named = [set(re.findall(r"`(\w+)`", text)) for text in (always, sometimes)]
                found[verb + (" of all jobs" if "of all" in verbs else ""), place] = named
    return found


def objects(value, place=""):
    """(place, members) of each object."""
    if isinstance(value, dict):
        yield place, set(value) - {"schema"}
        for name, member in value.items():
            yield from objects(member, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for member in value:
            yield from objects(member, place + "[]")


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [number for member in value for number in numbers(member)] if isinstance(value, list) else [value] if isinstance(value, (int, float)) else []


@pytest.fixture
def printed(place):
    place.job = "printed"  # of which no other test has a job in the same place
    (place.path / "job.py").write_text(JOB)
    (place.path / "trace").write_text("9 1\n")
    run = place.run(PYTHON, "job.py", "500", directory=place.path / "checkpoints", options=("--quiet-time", "100ms"))
    run.wait_for_event("durable")
    found = {"status": place.query("status", "--job", place.job, "--json"), "probe": place.query("probe", "--live", "--job", place.job, "--json"),
             "checkpoint": place.query("checkpoint", "--job", place.job, "--timeout", "1s", "--json")}
    run.signal(signal.SIGTERM)
    run.wait()
    for verb, *words in (["list"], ["show", "latest"], ["verify"], ["restore", "latest", "back"], ["save", "back"], ["pin", "latest"], ["unpin", "latest"],
                         ["forget", "--keep-last", "1"], ["report"]):
        found[verb] = place.verb(verb, *words, "--json")
    place.query("save", "back", "--store", place.store, "--job", "another")
    found["list of all jobs"] = place.query("list", "--store", place.store, "--json")
    found["doctor"] = place.query("doctor", "--store", place.store, "--json")
    found["explain exit"] = place.query("explain", "exit", "--json")
    found["drill"] = place.query("drill", "--notice", "2s", "--notice-after", "1s", "--json", "--", PYTHON, "job.py", "500")
    found["drill --trace"] = place.query("drill", "--trace", "trace", "--json", "--", "true")
    return found


def test_the_page_and_the_program(printed):
    seen = set()
    for verb, result in printed.items():
        document = json.loads(result.out)
        assert isinstance(document, list) or document["schema"] == 1, result
        assert all(number != -1 and round(number, 3) == number for number in numbers(document)), result
        for place, members in objects(document):
            if f"{verb} {place}".startswith(OF_NO_TABLE) or place.endswith("labels"):
                continue
            always, sometimes = rows()[verb, place]
            assert always <= members <= always | sometimes, (verb, place, members ^ always)
            seen.add((verb, place))
    assert set(rows()) - seen <= {("verify", "damages[]"), ("status", "jobs[].training"), ("status", "jobs[].saving"), ("doctor", "slurm[]")}
