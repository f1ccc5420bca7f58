"""gs:// with the built binary: the store's faults, and each kind of credentials, against tests/fakes/google_fake.py."""
import base64
import filecmp
import json
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from cloud_place import CloudPlace
from google_fake import GoogleFake
from harness import die_with_parent, one_line, wait_for

SECRETS = ("the-refresh-token", "the-client-secret", "PRIVATE KEY", "token-1", "token-2", "subject-of")


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


def test_an_if_absent_that_is_taken_is_not_an_error_of_the_store(google, either, source):
    either.done("save", source)
    either.done("save", source)
    assert "000002-000001" in either.done("list")
    conditional = [urllib.parse.unquote(path) for method, path, headers in google.requests
                   if method == "POST" and "ifGenerationMatch=0" in path]
    assert any("snapshots/" in path for path in conditional) and any("format.json" in path for path in conditional)


def test_an_emulator_that_ignores_conditions_is_refused(google, emulated, source):
    """Two machines could take one place there."""
    google.conditions = False
    result = emulated.verb("save", source)
    assert result.code == 78 and 'it ignores "ifGenerationMatch=0"' in one_line(result.err), result
    run = emulated.run("true")
    assert run.wait() == 78 and "ifGenerationMatch" in run.err, run


def test_an_emulator_without_the_json_api_is_told_in_one_sentence(google, emulated, source):
    google.is_another_server = True
    result = emulated.verb("save", source)
    assert result.code == 78 and "must speak the JSON API" in one_line(result.err), result


@pytest.mark.parametrize("project", ["payer-1", ""])
def test_the_project_that_pays_is_named_with_each_request(google, emulated, source, project):
    emulated.environment["GOOGLE_CLOUD_QUOTA_PROJECT"] = project
    emulated.round_trip(source)
    named = [{name.lower(): value for name, value in headers.items()}.get("x-goog-user-project") for _, _, headers in google.requests]
    assert named and set(named) == {project or None}


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


@pytest.mark.parametrize("status,code,words", [(403, "forbidden", "403 forbidden"), (404, "somethingElse", "404")])
def test_a_refusal_never_reads_as_no_snapshot(google, place, source, status, code, words):
    place.done("save", source)
    google.faults = [("GET", "", status, code)]
    place.environment.pop("GCE_METADATA_HOST")
    place.environment["GOOGLE_APPLICATION_CREDENTIALS"] = credentials_file(place.path, {
        "type": "authorized_user", "client_id": "c", "client_secret": "the-client-secret", "refresh_token": "the-refresh-token",
        "token_uri": google.url + "/token"})
    said = place.refused("list")
    assert words in said and "is not a Reprieve store" not in said


def test_a_bucket_that_is_not_there_never_reads_as_no_snapshot(google, place, source):
    place.store = place.store.replace("snaps", "other")
    said = place.refused("list")
    assert "no such bucket" in said and "is not a Reprieve store" not in said


def test_metadata_server(google, place, source):
    place.round_trip(source)
    assert google.issued == 3  # one for each of the three processes


def test_an_expired_token_is_replaced_once_and_the_work_goes_on(google, place, source):
    google.faults = [("POST", ".pack", 401, "authError")]
    place.done("save", source)
    assert google.issued == 2


def test_a_token_about_to_expire_is_not_asked_for_at_every_request(google, place, source):
    google.life = 60
    place.done("save", source)
    assert google.issued == 1


def test_no_metadata_server_and_no_file_says_what_to_do(place):
    place.environment["GCE_METADATA_HOST"] = "127.0.0.1:9"
    said = place.refused("list")
    assert "GOOGLE_APPLICATION_CREDENTIALS" in said


def test_another_service_at_the_metadata_address_is_not_believed(google, place):
    place.environment["GCE_METADATA_HOST"] = google.host + "/token?"
    place.refused("list")
    assert not any("Authorization" in headers for _, _, headers in google.requests)


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


@pytest.mark.parametrize("where", ["file", "url"])
def test_external_account_with_impersonation(google, place, source, tmp_path, where):
    subject = tmp_path / "subject"
    subject.write_text("subject-of-file\n")
    origin = {"file": str(subject)} if where == "file" else {
        "url": google.url + "/subject", "headers": {"X-Asked": "yes"}, "format": {"type": "json", "subject_token_field_name": "id_token"}}
    path = credentials_file(tmp_path, {
        "type": "external_account", "audience": "//iam.googleapis.com/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": google.url + "/token", "credential_source": origin, "service_account_impersonation_url": google.url + "/impersonate"})
    place.environment["GOOGLE_APPLICATION_CREDENTIALS"] = path
    place.round_trip(source)
    assert google.forms[0]["subject_token"] == "subject-of-" + where
    assert google.forms[1]["lifetime"] == "3600s"
    used = {headers["Authorization"] for _, path, headers in google.requests if path.startswith("/snaps/")}
    assert all("acting-token" in value for value in used)


def test_service_account_signs_for_itself(google, place, source, tmp_path):
    key = tmp_path / "key.pem"
    for command in (["genrsa", "-out", key, "2048"], ["rsa", "-in", key, "-pubout", "-out", tmp_path / "public.pem"]):
        subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
    path = credentials_file(tmp_path, {"type": "service_account", "client_email": "robot@p.iam.gserviceaccount.com",
                                       "private_key": key.read_text(), "private_key_id": "key-7"})
    seen = []

    def is_signed(token):
        head, claims, signature = token.split(".")
        (tmp_path / "signature").write_bytes(base64.urlsafe_b64decode(signature + "=="))
        (tmp_path / "signed").write_text(head + "." + claims)
        verified = subprocess.run(["openssl", "dgst", "-sha256", "-verify", tmp_path / "public.pem", "-signature",
                                   tmp_path / "signature", tmp_path / "signed"], capture_output=True)
        seen.append([json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, claims)])
        return verified.returncode == 0

    place.environment["GOOGLE_APPLICATION_CREDENTIALS"] = path
    google.verify = is_signed
    place.round_trip(source)
    head, claims = seen[0]
    assert head == {"alg": "RS256", "typ": "JWT", "kid": "key-7"}
    assert claims["iss"] == claims["sub"] == "robot@p.iam.gserviceaccount.com" and claims["exp"] == claims["iat"] + 3600
    assert abs(claims["iat"] - time.time()) < 300 and claims["scope"].startswith("https://www.googleapis.com/auth/")


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


def test_somebody_elses_emulator_without_conditions_is_refused(emulator, tmp_path, source):
    place = make_place(tmp_path, STORAGE_EMULATOR_HOST=emulator)
    result = place.verb("save", source)
    assert result.code == 78 and 'it ignores "ifGenerationMatch=0"' in one_line(result.err), result
    told = place.query("doctor", "--store", place.store, "--measure", "0")
    assert told.code == 1 and "ifGenerationMatch" in told.out, told


def test_the_fake_is_as_googles_own_client_expects(google):
    """Our emulator's writing half, written to by others: conditions, checksums and pages."""
    storage = pytest.importorskip("google.cloud.storage")
    from google.api_core.exceptions import PreconditionFailed
    from google.auth.credentials import AnonymousCredentials
    client = storage.Client(project="p", credentials=AnonymousCredentials(), client_options={"api_endpoint": google.url})
    bucket = client.bucket("snaps")
    for name in ("a/1", "a/2", "a/b/3", "a/b/4", "c"):
        bucket.blob(name).upload_from_string(b"\r\n--" + name.encode(), if_generation_match=0, checksum="crc32c")
    with pytest.raises(PreconditionFailed):
        bucket.blob("a/1").upload_from_string(b"other", if_generation_match=0)
    assert bucket.blob("a/1").download_as_bytes() == b"\r\n--a/1"
    listed = client.list_blobs("snaps", prefix="a/", delimiter="/")
    assert [blob.name for blob in listed] == ["a/1", "a/2"] and listed.prefixes == {"a/b/"}
    bucket.blob("c").delete()
    assert [blob.name for blob in client.list_blobs("snaps")] == ["a/1", "a/2", "a/b/3", "a/b/4"]
