"""`reprieve mock` over real HTTP: each cloud's protocol, the ways to fire, the faults, the command line."""
import email.utils
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import harness


class Mock:
    """A running mock and a client for it, without any proxy."""

    def __init__(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REPRIEVE_")}
        self.process = subprocess.Popen([harness.REPRIEVE, "mock", *arguments], text=True, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=harness.die_with_parent)
        self.url = self.process.stdout.readline().strip()
        self.export = self.process.stdout.readline().strip()
        self.host = self.url.removeprefix("http://")

    def ask(self, method, path, headers=None, body=None, timeout=60):
        """(status, headers, body) of one request."""
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def control(self, name, document=None):
        status, _, text = self.ask("POST", f"/mock/{name}", body=json.dumps(document) if document is not None else None)
        assert status == 200, text
        return json.loads(text)

    def is_fired(self):
        return json.loads(self.ask("GET", "/mock/state")[2])["fired"]

    def end(self, signal_number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        out, err = self.process.communicate(timeout=harness.LIMIT)
        return harness.Result(self.process, out, err)


@pytest.fixture
def mock():
    running = []

    def start(*arguments):
        running.append(Mock(*arguments))
        return running[-1]

    yield start
    for one in running:
        assert one.end().code == 0


TOKEN = "/latest/api/token"
TTL = "X-aws-ec2-metadata-token-ttl-seconds"
ACTION = "/latest/meta-data/spot/instance-action"


def aws_token(mock, seconds=21600):
    status, headers, token = mock.ask("PUT", TOKEN, {TTL: str(seconds)})
    assert status == 200
    assert headers[TTL] == str(seconds)
    return {"X-aws-ec2-metadata-token": token}


def test_aws_tokens(mock):
    aws = mock("aws")
    for ttl in ["0", "21601", "-1", "x", ""]:
        assert aws.ask("PUT", TOKEN, {TTL: ttl})[0] == 400, ttl
    assert aws.ask("PUT", TOKEN)[0] == 400
    assert aws.ask("PUT", TOKEN + "/", {TTL: "60"})[0] == 403
    assert aws.ask("PUT", "/2021-01-03/api/token", {TTL: "60"})[0] == 403
    assert aws.ask("PUT", TOKEN, {TTL: "60", "X-Forwarded-For": "10.0.0.1"})[0] == 403
    assert aws.ask("GET", ACTION)[0] == 401
    assert aws.ask("GET", ACTION, {"X-aws-ec2-metadata-token": "made-up"})[0] == 401
    token = aws_token(aws)
    status, headers, _ = aws.ask("GET", "/latest/meta-data/instance-id", token)
    assert status == 200 and 0 < int(headers[TTL]) <= 21600
    assert aws.ask("POST", ACTION, token)[0] == 405
    aws.control("expire")
    assert aws.ask("GET", ACTION, token)[0] == 401


def test_aws_notice(mock):
    aws = mock("aws", "--notice", "90s", "--action", "stop")
    token = aws_token(aws)
    status, headers, page = aws.ask("GET", ACTION, token)
    assert status == 404 and page.startswith("<?xml") and "404 - Not Found" in page
    assert headers["Server"] == "EC2ws"
    for path in ["", "/", "/termination-time"]:
        assert aws.ask("GET", "/latest/meta-data/spot" + path, token)[0] == 404
    before = time.time()
    aws.control("fire")
    status, _, body = aws.ask("GET", ACTION, token)
    notice = json.loads(body)
    assert status == 200 and notice["action"] == "stop"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", notice["time"])
    assert aws.ask("GET", "/latest/meta-data/spot/termination-time", token)[0] == 404  # knows of terminations alone
    assert aws.ask("GET", "/latest/meta-data/spot/", token)[0] == 200
    # The body is constant, though the time goes on and it is fired again.
    harness.wait_for("the next second", lambda: time.time() > before + 1.1)
    aws.control("fire")
    assert aws.ask("GET", ACTION, token)[2] == body


FLAVOR = {"Metadata-Flavor": "Google"}
PREEMPTED = "/computeMetadata/v1/instance/preempted"


def test_gcp_headers(mock):
    gcp = mock("gcp")
    status, headers, page = gcp.ask("GET", PREEMPTED)
    assert status == 403 and "Metadata-Flavor" in page
    assert headers["Metadata-Flavor"] == "Google" and headers["Server"] == "Metadata Server for VM"
    assert gcp.ask("GET", PREEMPTED, {"Metadata-Flavor": "Other"})[0] == 403
    assert gcp.ask("GET", PREEMPTED, {**FLAVOR, "X-Forwarded-For": "10.0.0.1"})[0] == 403
    assert gcp.ask("GET", "/computeMetadata/v1/instance/nothing", FLAVOR)[0] == 404
    status, headers, body = gcp.ask("GET", PREEMPTED, FLAVOR)
    assert (status, body) == (200, "FALSE")
    assert re.fullmatch("[0-9a-f]{16}", headers["ETag"])
    assert gcp.ask("GET", "/", FLAVOR)[0] == 200


def test_gcp_hanging_get(mock):
    gcp = mock("gcp")
    etag = gcp.ask("GET", PREEMPTED, FLAVOR)[1]["ETag"]
    wait = f"{PREEMPTED}?wait_for_change=true&last_etag={etag}"
    # At its time-out: 200 and what is there.
    status, headers, body = gcp.ask("GET", wait + "&timeout_sec=1", FLAVOR)
    assert (status, body, headers["ETag"]) == (200, "FALSE", etag)
    # Another ETag: at once; without this the request would hang for good.
    assert gcp.ask("GET", f"{PREEMPTED}?wait_for_change=true&last_etag=0", FLAVOR)[2] == "FALSE"
    assert gcp.ask("GET", wait + "&timeout_sec=soon", FLAVOR)[0] == 400
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(gcp.ask("GET", wait, FLAVOR)))
    waiting.start()
    gcp.control("fire")
    waiting.join(harness.LIMIT)
    assert answers[0][2] == "TRUE" and answers[0][1]["ETag"] != etag
    assert gcp.ask("GET", wait, FLAVOR)[2] == "TRUE"


METADATA = {"Metadata": "true"}
EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
NAME = "/metadata/instance/compute/name?api-version=2021-02-01"


def azure_events(azure):
    status, _, body = azure.ask("GET", EVENTS, METADATA)
    assert status == 200
    return json.loads(body)


def test_azure_requests(mock):
    azure = mock("azure", "--name", "vmss_7")
    assert azure.ask("GET", EVENTS)[0] == 400
    assert azure.ask("GET", EVENTS, {**METADATA, "X-Forwarded-For": "10.0.0.1"})[0] == 400
    for version in ["", "?api-version=latest", "?api-version=1999-01-01"]:
        status, _, body = azure.ask("GET", "/metadata/scheduledevents" + version, METADATA)
        assert status == 400 and "newest-versions" in json.loads(body)
    assert azure.ask("GET", NAME, METADATA)[0] == 400  # a leaf needs format=text
    assert azure.ask("GET", NAME + "&format=text", METADATA)[2] == "vmss_7"
    whole = json.loads(azure.ask("GET", "/metadata/instance?api-version=2021-02-01", METADATA)[2])
    assert whole["compute"]["priority"] == "Spot"
    assert azure.ask("GET", "/metadata/nothing?api-version=2021-02-01", METADATA)[0] == 404
    assert azure_events(azure)["Events"] == []


def test_azure_life_of_an_event(mock):
    azure = mock("azure", "--name", "vmss_7", "--notice", "40s")
    first = azure_events(azure)["DocumentIncarnation"]
    azure.control("foreign")
    azure.control("fire")
    document = azure_events(azure)
    assert document["DocumentIncarnation"] > first
    foreign, mine = document["Events"]
    assert "vmss_7" not in foreign["Resources"] and mine["Resources"] == ["vmss_7"]
    assert (mine["EventType"], mine["EventStatus"]) == ("Preempt", "Scheduled")
    assert 20 < email.utils.parsedate_to_datetime(mine["NotBefore"]).timestamp() - time.time() <= 40
    assert azure_events(azure)["Events"][1] == mine
    for body in ["", "{", "{}", '{"StartRequests": [{}]}']:
        assert azure.ask("POST", EVENTS, METADATA, body)[0] == 400, body
    approval = json.dumps({"StartRequests": [{"EventId": mine["EventId"]}]})
    assert azure.ask("POST", EVENTS, METADATA, approval)[0] == 200
    assert azure.ask("POST", EVENTS, METADATA, approval)[0] == 200
    started = azure_events(azure)["Events"][1]
    assert (started["EventStatus"], started["NotBefore"], started["EventId"]) == ("Started", "", mine["EventId"])
    azure.control("cancel")
    assert azure_events(azure)["Events"] == [foreign]
    azure.control("fire")
    assert azure_events(azure)["Events"][1]["EventId"] != mine["EventId"]


def test_only_azure_takes_back(mock):
    for cloud in ["aws", "gcp"]:
        one = mock(cloud)
        assert one.ask("POST", "/mock/cancel")[0] == 409
        assert one.ask("POST", "/mock/foreign")[0] == 409


def test_controls_are_posts(mock):
    aws = mock("aws")
    assert aws.ask("GET", "/mock/fire")[0] == 405
    assert aws.ask("POST", "/mock/nothing")[0] == 404
    assert aws.ask("POST", "/mock/fault", body="{")[0] == 409
    assert not aws.is_fired()


def test_fires_on_a_signal(mock):
    aws = mock("aws")
    aws.process.send_signal(signal.SIGUSR1)
    harness.wait_for("the notice", aws.is_fired, process=aws.process)


def test_fires_by_itself_and_wakes_who_waits(mock):
    gcp = mock("gcp", "--notice-after", "500ms")
    etag = gcp.ask("GET", PREEMPTED, FLAVOR)[1]["ETag"]
    assert gcp.ask("GET", f"{PREEMPTED}?wait_for_change=true&last_etag={etag}", FLAVOR)[2] == "TRUE"


def test_ends_while_somebody_waits(mock):
    """A hanging GET does not hold the end up: without that the fixture's end would run into its limit."""
    gcp = mock("gcp")
    etag = gcp.ask("GET", PREEMPTED, FLAVOR)[1]["ETag"]
    connection = socket.create_connection(gcp.host.split(":"))
    connection.sendall(f"GET {PREEMPTED}?wait_for_change=true&last_etag={etag} HTTP/1.1\r\nHost: x\r\n"
                       "Metadata-Flavor: Google\r\n\r\n".encode())
    harness.wait_for("the request to arrive",
                     lambda: json.loads(gcp.ask("GET", "/mock/state")[2])["requests"] == 2)
    assert gcp.end(signal.SIGINT).code == 0
    connection.close()


def test_an_ignored_signal_stays_ignored():
    """As under nohup. The others still end it."""
    process = subprocess.Popen(["/bin/sh", "-c", 'trap "" HUP; exec "$0" mock gcp', harness.REPRIEVE], text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=harness.die_with_parent)
    try:
        host = process.stdout.readline().strip().removeprefix("http://")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.6)  # it glances every 200 ms
        assert process.poll() is None
        with socket.create_connection(host.split(":"), timeout=harness.LIMIT):
            pass
        process.terminate()
        assert process.wait(harness.LIMIT) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("arguments, word", [
    (["mars"], "mars"),
    (["aws", "--action", "explode"], "explode"),
])
def test_usage_errors_are_one_line(arguments, word):
    result = subprocess.run([harness.REPRIEVE, "mock", *arguments], capture_output=True, text=True, timeout=harness.LIMIT)
    assert result.returncode == harness.EXIT_USAGE
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and word in result.stderr


def test_port_in_use_is_one_line(mock):
    port = mock("aws").url.rsplit(":", 1)[1]
    result = subprocess.run([harness.REPRIEVE, "mock", "gcp", "--port", port], capture_output=True, text=True,
                            timeout=harness.LIMIT)
    assert result.returncode == harness.EXIT_USAGE
    assert len(result.stderr.splitlines()) == 1 and port in result.stderr
