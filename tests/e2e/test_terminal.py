"""What a terminal must not obey: control characters in what somebody else has put into the store, or said to us."""
import hashlib
import json
import re

import pytest

from harness import Place

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b31m\x7f"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "model.bin").write_bytes(b"x" * 100)
    for _ in range(2):
        assert place.verb("save", tmp_path / "source").code == 0
    yield place
    place.end()


def put_words_into(path):
    """Into each text of a record that is none of its own ids."""
    header, body = path.read_bytes().split(b"\n", 1)
    record = json.loads(body)

    def spoil(value, key=""):
        if isinstance(value, dict):
            return {name: spoil(inner, name) for name, inner in value.items()}
        return value + EVIL if isinstance(value, str) and key in ("created", "host", "reason", "tag", "outcome", "state", "source") else value

    text = json.dumps(spoil(record)).encode()
    header = {**json.loads(header), "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    path.write_bytes(json.dumps(header, separators=(",", ":")).encode() + b"\n" + text)


def test_a_hostile_store(place):
    for path in place.store_path.glob("jobs/job/*/*.json"):
        put_words_into(path)
    (place.store_path / "jobs" / ("other" + EVIL) / "attempts").mkdir(parents=True)
    said = ""
    for verb, *arguments in (["list"], ["show", "latest"], ["forget", "--keep-last", "1", "--dry-run"], ["verify"], ["report"], ["run", "-n", "--", "true"],
                             ["restore", "latest", place.path / "back"]):
        if verb == "run":
            result = place.query(verb, "--store", place.store, "--job", place.job, *arguments)
        else:
            result = place.verb(verb, *arguments)
        assert not CONTROL.search(result.out + result.err), (verb, result)
        said += result.out
    assert "owned" in said, "the words are shown, and do nothing"
    jobs = place.query("list", "--store", place.store)
    assert not CONTROL.search(jobs.out + jobs.err), jobs


def test_a_notice(place):
    notice = place.path / "notice"
    notice.write_text(json.dumps({"reason": "maintenance" + EVIL, "seconds": 30}))
    run = place.run("sh", "-c", "sleep 60", options=("--notice", f"file:{notice}", "--grace", "1"))
    run.wait()
    assert "maintenance" in run.err, run
    assert not CONTROL.search(run.err + run.out), run
