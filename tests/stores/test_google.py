"""gs:// with the built binary: the store's faults, and where credentials come from, against tests/fakes/google_fake.py."""
import filecmp
import json
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from cloud_place import CloudPlace
from google_fake import GoogleFake
from harness import die_with_parent, one_line, wait_for

SECRETS = ("the-refresh-token", "the-client-secret", "PRIVATE KEY", "token-1", "token-2")


@pytest.fixture
def google():
    fake = GoogleFake()
    yield fake
    fake.close()


def make_place(path, **environment):
    return CloudPlace(path, "gs://snaps/team/run 7", SECRETS, **environment)


@pytest.fixture
def emulated(google, tmp_path):
    return make_place(tmp_path, STORAGE_EMULATOR_HOST=google.url)


@pytest.fixture(params=["emulator", "service"])
def either(request, google, tmp_path):
    """An emulator takes no token."""
    return request.getfixturevalue("emulated" if request.param == "emulator" else "place")


@pytest.fixture
def place(google, tmp_path):
    """The real endpoint's manners, at the fake's address: here tokens are asked for."""
    google.tokens = set()
    return make_place(tmp_path, CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=google.url, GCE_METADATA_HOST=google.host)


def credentials_file(tmp_path, value):
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(value))
    return str(path)


def test_round_trip_with_an_emulator_asks_for_no_token(google, emulated, source):
    emulated.round_trip(source)
    assert not any("Authorization" in headers for _, _, headers in google.requests)
    assert all(key.startswith("team/run 7/") for key in google.objects)


def test_an_emulator_that_ignores_conditions_is_refused(google, emulated, source):
    """Two machines could take one place there."""
    google.conditions = False
    result = emulated.verb("save", source)
    assert result.code == 78 and 'ignores "ifGenerationMatch=0"' in one_line(result.err), result
    run = emulated.run("true")
    assert run.wait() == 78 and "ifGenerationMatch" in run.err, run


def test_passing_faults_are_outlived(google, either, source):
    """A login page's 200 is one of them: nothing has been done."""
    google.faults = [("POST", ".pack", 503, "backendError"), ("POST", ".pack", 500, "internalError"), ("POST", "snapshots%2F", 429, "rateLimitExceeded"),
                     ("GET", "o?prefix", 502, "Bad"), ("GET", "format.json", 408, "requestTimeout"), ("POST", "snapshots%2F", 400, "invalid"),
                     ("POST", ".pack", 200, "portal"), ("POST", "snapshots%2F", 200, "portal"), ("GET", "o?prefix", 200, "portal"),
                     ("GET", "snapshots%2F", 200, "portal"), ("GET", ".pack", 200, "portal")]
    either.round_trip(source)
    assert google.faults == []


def test_a_list_that_goes_in_circles_is_an_error(google, either, source):
    either.done("save", source)
    google.PAGE, google.circle = 1, True
    assert "does not end" in either.refused("list")


def test_a_bucket_that_is_not_there_never_reads_as_no_snapshot(google, place, source):
    place.store = place.store.replace("snaps", "other")
    said = place.refused("list")
    assert "no such bucket" in said and "is not a Reprieve store" not in said


def test_metadata_server(google, place, source):
    place.round_trip(source)
    assert google.issued == 3  # one for each of the three processes


def test_authorized_user_of_gcloud(google, place, source, tmp_path):
    config = tmp_path / ".config" / "gcloud"
    config.mkdir(parents=True)
    (config / "application_default_credentials.json").write_text(json.dumps({
        "type": "authorized_user", "client_id": "id", "client_secret": "the-client-secret", "refresh_token": "the-refresh-token",
        "token_uri": google.url + "/token"}))
    place.round_trip(source)
    assert google.forms[0]["client_id"] == "id"


def test_a_revoked_login_is_told_in_the_services_words(google, place, tmp_path):
    path = credentials_file(tmp_path, {"type": "authorized_user", "client_id": "id", "client_secret": "the-client-secret",
                                       "refresh_token": "revoked", "token_uri": google.url + "/token"})
    place.environment["GOOGLE_APPLICATION_CREDENTIALS"] = path
    said = place.refused("list")
    assert "expired or revoked" in said and path in said


def test_a_secret_in_a_bad_file_is_not_quoted(place, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----the-refresh-token", ]')
    place.environment["GOOGLE_APPLICATION_CREDENTIALS"] = str(path)
    said = place.refused("list")
    assert str(path) in said


def test_no_token_goes_out_over_plain_http(google, place):
    place.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = "http://storage.example.com"
    said = place.refused("list")
    assert "plain http" in said and google.issued == 0


# --- an emulator that others have made ---


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    """PyPI's gcp-storage-emulator: it speaks the JSON API, and knows no conditions."""
    program = Path(sys.executable).with_name("gcp-storage-emulator")
    if not program.exists():
        pytest.skip("no gcp-storage-emulator: run tests/stores/run.sh, whose python has it")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("emulator") / "log"
    with log.open("w") as out:
        process = subprocess.Popen([program, "start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", "snaps"],
                                   stdout=out, stderr=out, preexec_fn=die_with_parent)
    url = f"http://127.0.0.1:{port}"
    wait_for("the emulator", lambda: can_connect(port), process=process)
    yield url
    process.terminate()
    process.wait()


def can_connect(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def upload(url, key, content):
    """As its makers describe it, and not as we do it."""
    query = urllib.parse.urlencode({"uploadType": "media", "name": key})
    urllib.request.urlopen(urllib.request.Request(f"{url}/upload/storage/v1/b/snaps/o?{query}", data=content, method="POST",
                                                  headers={"Content-Type": "application/octet-stream"})).read()


def test_what_lies_in_somebody_elses_emulator_is_read(emulator, tmp_path, source):
    written = CloudPlace(tmp_path / "written", None, ())
    written.path.mkdir()
    written.done("save", source)
    for file in written.store_path.rglob("*"):
        if file.is_file():
            upload(emulator, f"team/run 7/{file.relative_to(written.store_path)}", file.read_bytes())
    (tmp_path / "read").mkdir()
    place = make_place(tmp_path / "read", STORAGE_EMULATOR_HOST=emulator)
    assert "000001-000001" in place.done("list")
    place.done("verify")
    place.done("restore", "latest", place.path / "back")
    assert filecmp.cmp(source / "weights.bin", place.path / "back" / "weights.bin", shallow=False)
