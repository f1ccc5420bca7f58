"""What a member appends to the log is known to the others at once: by a datagram, which only says that there is something to read."""
import json
import signal
import socket
import subprocess

import harness
import pytest
from gang import Gang
from harness import wait_for


# Nobody would read of it in this time by himself.
NEVER = {"REPRIEVE_GANG_READ_EVERY": "1h"}
SAVES_WHEN_ASKED = {"every": 0, "signal": "USR1", "options": ("--checkpoint-signal", "USR1", "--grace", "20")}
APART = ["unshare", "--map-root-user", "--user", "--net"]


def claimed(place):
    """What the newest claim says of the gang."""
    path = max((place.store_path / "jobs/job/attempts").glob("*.json"))
    return json.loads(path.read_text().splitlines()[1])["about"]["gang"]


def end_by_notice(gang):
    for run in gang.runs:
        run.wait_for_output("step 20")
    gang.runs[1].signal(signal.SIGTERM)
    assert [run.wait() for run in gang.runs] == [harness.EXIT_DURABLE] * gang.members, f"{gang}"
    for run in gang.runs:
        if run is not gang.runs[1]:
            assert run.event("notice")["source"] == "gang", f"{run}"


def test_a_notice_is_known_at_once(place):
    place.environment.update(NEVER)
    gang = Gang(place, 3, **SAVES_WHEN_ASKED).start_all()
    end_by_notice(gang)
    assert all(claimed(place)["addresses"])


def test_strangers_are_not_heard(place):
    """They send what they like to each member: all of it is read, and nothing comes of it."""
    gang = Gang(place, 2, **SAVES_WHEN_ASKED).start_all()
    for run in gang.runs:
        run.wait_for_output("step 10")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for address in claimed(place)["addresses"]:
            place_of_member = socket.inet_ntoa(bytes.fromhex(address[:8])), int(address[8:], 16)
            for _ in range(1000):
                stranger.sendto(b"RPK1\0\0\0\1" + b"0" * 32, place_of_member)
                stranger.sendto(b"?" * 1400, place_of_member)
    end_by_notice(gang)


def test_without_datagrams_a_notice_comes_by_the_store(place):
    gang = Gang(place, 2, **SAVES_WHEN_ASKED)
    gang.options += ("--gang-poke", "off")
    gang.start_all()
    end_by_notice(gang)
    assert not any(claimed(place)["addresses"])


def test_a_member_that_has_no_way_to_the_others(place):
    """Each in a network of its own, where it can send nothing."""
    if subprocess.run([*APART, "true"], capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    gang = Gang(place, 2, **SAVES_WHEN_ASKED)
    gang.wrappers = [APART] * 2
    gang.start_all()
    end_by_notice(gang)


def test_a_machine_that_comes_anew_is_known_at_once(place, tmp_path):
    """The attempt is over, which the others hear as a notice."""
    place.environment.update(NEVER)
    gang = Gang(place, 2, **SAVES_WHEN_ASKED).start_all()
    for run in gang.runs:
        run.wait_for_output("step 10")
    anew = Gang(place, 2, 2, directories=[tmp_path / "a", tmp_path / "b"], **SAVES_WHEN_ASKED)
    anew.start(1)
    for run in gang.runs:
        wait_for("it ends", lambda run=run: run.process.poll() is not None, about=run)
        assert "has come anew" in run.event("notice")["reason"], f"{run}"
