"""The store goes away while a job runs: the job comes to its own end, the exit code and one sentence say what is not durable, and what
was committed before is there when the store is back.
"""
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_server import FaultServer
from harness import EXIT_DURABLE, EXIT_NOT_DURABLE, PYTHON, SAVER, Place, one_line, wait_for
from test_faults import OFTEN, committed_step, finish, resumed_step

FAKES = Path(__file__).resolve().parents[1] / "fakes"
STRICT = ("--strict",)
LONG = pytest.mark.long


def start(place, *options, steps=8, **environment):
    """A job with a commit in the store."""
    run = place.run(PYTHON, SAVER, "--steps", steps, "--pause", "0.4", options=(*OFTEN, *options), **environment)
    run.wait_for_event("durable")
    return run


def assert_unhurt(run, code):
    assert run.wait(300) == code, run
    assert "BAD" not in run.out
    assert "not durable" in run.err.lower(), run
    # What goes on for long is said once and not at every checkpoint.
    assert len(run.err.splitlines()) < 17, run.err


def remove_bucket(server, url):
    """As somebody does who thinks that nobody needs it."""
    bucket = url.partition("://")[2].partition("/")[0]
    client = server.client

    def is_gone():
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for item in page.get("Contents", []):
                client.delete_object(Bucket=bucket, Key=item["Key"])
        try:
            client.delete_bucket(Bucket=bucket)
        except client.exceptions.ClientError as error:
            # The job has saved something meanwhile.
            return error.response["Error"]["Code"] == "NoSuchBucket"
        return True
    wait_for("the bucket is gone", is_gone)


@pytest.mark.parametrize("options, code", [pytest.param((), 0, marks=LONG), (STRICT, EXIT_NOT_DURABLE)], ids=["plain", "strict"])
def test_bucket_is_removed(radosgw, place_at, options, code):
    place = place_at(radosgw)
    run = start(place, *options)
    remove_bucket(radosgw, place.store)
    assert_unhurt(run, code)
    assert "finished 8" in run.out and "NoSuchBucket" in run.err


def test_bucket_is_removed_and_then_the_machine(radosgw, place_at):
    """Preempted without a store: 74 says that the newest work is not durable."""
    place = place_at(radosgw)
    run = start(place, "--grace", "5", steps=10**6)
    remove_bucket(radosgw, place.store)
    saved = run.out.count("saved")
    wait_for("the job goes on", lambda: run.out.count("saved") >= saved + 3, process=run.process)
    run.signal(signal.SIGTERM)
    assert_unhurt(run, EXIT_NOT_DURABLE)


@pytest.fixture
def user(radosgw):
    """An identity of its own in radosgw, with buckets of its own."""
    class User(type(radosgw)):
        access_key, secret_key = f"KEY{os.getpid()}", "ANOTHERSECRET"

        def start(self):
            pass
    user = User(radosgw.path)
    user.port = radosgw.port
    radosgw.add_user("other", user.access_key, user.secret_key)
    yield user
    radosgw.admin("user", "rm", "--uid=other", "--purge-data")


@pytest.mark.parametrize("preempted", [pytest.param(False, marks=LONG), True], ids=["finished", "preempted"])
def test_credentials_are_revoked(radosgw, user, place_at, preempted):
    place = place_at(user)
    run = start(place, "--grace", "5", steps=10**6 if preempted else 12)
    committed = committed_step(place)
    radosgw.admin("user", "suspend", "--uid=other")
    try:
        if preempted:
            saved = run.out.count("saved")
            wait_for("the job goes on", lambda: run.out.count("saved") >= saved + 5, process=run.process)
            run.signal(signal.SIGTERM)
        assert_unhurt(run, EXIT_NOT_DURABLE if preempted else 0)
        assert "403" in run.err
        refused = place.verb("list")
        assert refused.code != 0 and refused.out == "" and "403" in one_line(refused)
    finally:
        radosgw.admin("user", "enable", "--uid=other")
    # The old machine's last word may have come through before the door was shut.
    stands = committed_step(place)
    assert stands >= committed
    assert resumed_step(finish(place, place.path / "next")) == stands


# --- the network is cut ---


class Island:
    """A network of its own, with nothing but a loopback device, and in it a store server; cut() takes the device down."""

    def __init__(self, path):
        enter = [] if os.geteuid() == 0 else ["--map-root-user"]
        script = "ip link set lo up && exec \"$@\""
        self.process = subprocess.Popen(["unshare", *enter, "--net", "sh", "-c", script, "sh", sys.executable, str(FAKES / "fault_server.py"),
                                         "--port", "8000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            pytest.skip(f"no network namespace is to be had: {self.process.stderr.read().strip()}")
        self.environment = dict(word.split("=", 1) for word in line.split())
        self.inside = ["nsenter", *([] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]), "--net", "--target", str(self.process.pid)]
        # Programs inside are started by a stand-in that enters first.
        self.program = path / "reprieve-inside"

    def device(self, state):
        subprocess.run([*self.inside, "ip", "link", "set", "lo", state], check=True)

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def island(tmp_path):
    if subprocess.run("command -v unshare nsenter ip", shell=True, capture_output=True).returncode != 0:
        pytest.skip("unshare, nsenter or ip is not installed")
    island = Island(tmp_path)
    yield island
    island.close()


@pytest.fixture
def islander(island, tmp_path, monkeypatch):
    """A place whose programs run on the island. The stand-in is the same process in the end, so that signals reach it."""
    import harness
    island.program.write_text(f"#!/bin/sh\nexec {' '.join(island.inside)} {harness.REPRIEVE} \"$@\"\n")
    island.program.chmod(0o755)
    monkeypatch.setattr(harness, "REPRIEVE", str(island.program))
    place = Place(tmp_path, store="s3://snaps/team", environment=island.environment)
    yield place
    place.end()


def test_network_is_cut_and_comes_back(island, islander):
    """What could not be sent is sent later, and the job notices nothing."""
    run = start(islander, steps=14)
    island.device("down")
    saved = run.out.count("saved")
    wait_for("the job goes on", lambda: run.out.count("saved") >= saved + 5, process=run.process)
    island.device("up")
    assert run.wait(300) == 0 and "finished 14" in run.out, run
    assert committed_step(islander) == 14
    assert resumed_step(finish(islander, islander.path / "next")) == 14


def test_network_is_cut_in_the_window(island, islander):
    """Between the notice and the deadline: the exit code says that the newest work is not durable, and the rest stands."""
    run = start(islander, "--grace", "6", steps=10**6)
    committed = committed_step(islander)
    island.device("down")
    saved = run.out.count("saved")
    wait_for("the job goes on", lambda: run.out.count("saved") >= saved + 2, process=run.process)
    run.signal(signal.SIGTERM)
    assert_unhurt(run, EXIT_NOT_DURABLE)
    island.device("up")
    stands = committed_step(islander)
    assert stands >= committed
    assert resumed_step(finish(islander, islander.path / "next")) == stands


def test_network_comes_back_in_the_window(island, islander):
    """Cut when the notice comes, back before the deadline: what was complete at the notice is durable after all."""
    run = start(islander, "--grace", "60", steps=10**6)
    island.device("down")
    sealed = run.wait_for_event("checkpoint_complete", count=len(run.events("checkpoint_complete")) + 2)
    run.signal(signal.SIGTERM)
    run.wait_for_event("child_exited")
    island.device("up")
    assert run.wait(300) == EXIT_DURABLE, run
    assert committed_step(islander) >= sealed["step"]


def test_a_notice_while_the_end_is_recorded(tmp_path):
    server = FaultServer({"rules": [{"on": {"method": "PUT", "key": "[.]end[.]json$"}, "answer": {"delay": 2}}]})
    server.memory.buckets["snaps"] = {}
    place = Place(tmp_path, "job", "s3://snaps/run", server.environment)
    notice = tmp_path / "notice"
    run = place.run("sh", "-c", "exit 3", options=("--notice", f"file:{notice}"))
    wait_for("the end is being recorded", lambda: server.rules[0].used, process=run.process)
    notice.touch()
    assert run.wait() == 3, run
    server.close()
