"""gs:// with the built binary: the store, and each kind of credentials, against tests/fakes/google_fake.py; what was written is looked
at with Google's own client library where that is installed."""
import base64
import filecmp
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fakes"))
from google_fake import GoogleFake  # noqa: E402

REPRIEVE = os.environ.get("REPRIEVE", str(HERE.parents[1] / "build" / "supervisor" / "reprieve"))
STORE = "gs://snaps/team/run 7"
SECRETS = ("the-refresh-token", "the-client-secret", "PRIVATE KEY", "token-1", "token-2", "subject-of")


@pytest.fixture
def google():
    fake = GoogleFake()
    yield fake
    fake.close()


@pytest.fixture
def source(tmp_path):
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "weights.bin").write_bytes(os.urandom(3_000_000))
    (source / "deep" / "state.txt").write_text("step 7\n")
    return source


def clean_environment(tmp_path, **more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("GOOGLE_", "GCE_", "CLOUDSDK_", "STORAGE_", "AZURE_", "AWS_"))}
    return {**kept, "HOME": str(tmp_path), **more}


def reprieve(environment, *arguments, ok=True):
    done = subprocess.run([REPRIEVE, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120)
    for secret in SECRETS:
        assert secret not in done.stdout + done.stderr
    if ok:
        assert done.returncode == 0, done.stderr
    return done


def round_trip(environment, source, tmp_path):
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    listed = reprieve(environment, "list", "--store", STORE, "--job", "train").stdout
    assert "000001-000001" in listed
    reprieve(environment, "restore", "--store", STORE, "--job", "train", "000001-000001", tmp_path / "back")
    assert filecmp.cmp(source / "weights.bin", tmp_path / "back" / "weights.bin", shallow=False)
    assert (tmp_path / "back" / "deep" / "state.txt").read_text() == "step 7\n"


def authenticated(google, tmp_path, **more):
    """The real endpoint's manners, at the fake's address: here tokens are asked for."""
    google.tokens = set()
    return clean_environment(tmp_path, CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=google.url, GCE_METADATA_HOST=google.host, **more)


def credentials_file(tmp_path, value):
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(value))
    return str(path)


def test_round_trip_with_an_emulator_asks_for_no_token(google, source, tmp_path):
    environment = clean_environment(tmp_path, STORAGE_EMULATOR_HOST=google.url)
    round_trip(environment, source, tmp_path)
    assert not any("Authorization" in headers for _, _, headers in google.requests)
    assert all(key.startswith("team/run 7/") for key in google.objects)


def test_googles_own_client_sees_what_was_written(google, source, tmp_path, monkeypatch):
    storage = pytest.importorskip("google.cloud.storage")
    credentials = pytest.importorskip("google.auth.credentials")
    reprieve(clean_environment(tmp_path, STORAGE_EMULATOR_HOST=google.url), "save", source, "--store", STORE, "--job", "train")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", google.url)
    client = storage.Client(project="p", credentials=credentials.AnonymousCredentials())
    blobs = {blob.name: blob for blob in client.list_blobs("snaps", prefix="team/run 7/")}
    assert set(blobs) == set(google.objects)
    first = blobs["team/run 7/format.json"].download_as_bytes().splitlines()[0]
    assert json.loads(first)["reprieve"] == "format"
    packs = [blob for name, blob in blobs.items() if name.endswith(".pack")]
    assert sum(blob.size for blob in packs) > 3_000_000


def test_an_if_absent_that_is_taken_is_not_an_error_of_the_store(google, source, tmp_path):
    environment = clean_environment(tmp_path, STORAGE_EMULATOR_HOST=google.url)
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    assert "000002-000001" in reprieve(environment, "list", "--store", STORE, "--job", "train").stdout
    conditional = [path for method, path, headers in google.requests
                   if method == "PUT" and headers.get("x-goog-if-generation-match") == "0"]
    assert any("snapshots/" in path for path in conditional) and any("format.json" in path for path in conditional)


def test_passing_faults_are_outlived(google, source, tmp_path):
    google.faults = [("PUT", ".pack", 503, "SlowDown"), ("PUT", ".pack", 500, "InternalError"), ("PUT", "snapshots/", 429, "SlowDown"),
                     ("GET", "list-type", 502, "Bad"), ("GET", "format.json", 408, "RequestTimeout"), ("PUT", ".pack", 400, "BadDigest")]
    round_trip(clean_environment(tmp_path, STORAGE_EMULATOR_HOST=google.url), source, tmp_path)
    assert google.faults == []


@pytest.mark.parametrize("status,code,said", [(403, "AccessDenied", "403 AccessDenied"), (404, "NoSuchBucket", "no such bucket"),
                                              (404, "SomethingElse", "404 SomethingElse")])
def test_a_refusal_never_reads_as_no_snapshot(google, source, tmp_path, status, code, said):
    environment = clean_environment(tmp_path, STORAGE_EMULATOR_HOST=google.url)
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    google.faults = [("GET", "", status, code)]
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and said in done.stderr and "there is no store" not in done.stderr


def test_metadata_server(google, source, tmp_path):
    round_trip(authenticated(google, tmp_path), source, tmp_path)
    assert google.issued == 3  # one for each of the three processes


def test_an_expired_token_is_replaced_once_and_the_work_goes_on(google, source, tmp_path):
    environment = authenticated(google, tmp_path)
    google.faults = [("PUT", ".pack", 401, "AuthenticationRequired")]
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    assert google.issued == 2


def test_a_token_about_to_expire_is_not_asked_for_at_every_request(google, source, tmp_path):
    environment = authenticated(google, tmp_path)
    google.life = 60
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    assert google.issued == 1


def test_no_metadata_server_and_no_file_says_what_to_do(google, tmp_path):
    environment = authenticated(google, tmp_path)
    environment["GCE_METADATA_HOST"] = "127.0.0.1:9"
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "GOOGLE_APPLICATION_CREDENTIALS" in done.stderr


def test_another_service_at_the_metadata_address_is_not_believed(google, tmp_path):
    environment = authenticated(google, tmp_path)
    environment["GCE_METADATA_HOST"] = google.host + "/token?"
    assert reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False).returncode != 0
    assert not any("Authorization" in headers for _, _, headers in google.requests)


def test_authorized_user_of_gcloud(google, source, tmp_path):
    config = tmp_path / ".config" / "gcloud"
    config.mkdir(parents=True)
    (config / "application_default_credentials.json").write_text(json.dumps({
        "type": "authorized_user", "client_id": "id", "client_secret": "the-client-secret", "refresh_token": "the-refresh-token",
        "token_uri": google.url + "/token"}))
    round_trip(authenticated(google, tmp_path), source, tmp_path)
    assert google.forms[0]["client_id"] == "id"


def test_a_revoked_login_is_told_in_the_services_words(google, tmp_path):
    path = credentials_file(tmp_path, {"type": "authorized_user", "client_id": "id", "client_secret": "the-client-secret",
                                       "refresh_token": "revoked", "token_uri": google.url + "/token"})
    done = reprieve(authenticated(google, tmp_path, GOOGLE_APPLICATION_CREDENTIALS=path), "list", "--store", STORE, "--job", "train",
                    ok=False)
    assert done.returncode != 0 and "expired or revoked" in done.stderr and path in done.stderr


@pytest.mark.parametrize("where", ["file", "url"])
def test_external_account_with_impersonation(google, source, tmp_path, where):
    subject = tmp_path / "subject"
    subject.write_text("subject-of-file\n")
    place = {"file": str(subject)} if where == "file" else {
        "url": google.url + "/subject", "headers": {"X-Asked": "yes"}, "format": {"type": "json", "subject_token_field_name": "id_token"}}
    path = credentials_file(tmp_path, {
        "type": "external_account", "audience": "//iam.googleapis.com/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": google.url + "/token", "credential_source": place, "service_account_impersonation_url": google.url + "/impersonate"})
    round_trip(authenticated(google, tmp_path, GOOGLE_APPLICATION_CREDENTIALS=path), source, tmp_path)
    assert google.forms[0]["subject_token"] == "subject-of-" + where
    assert google.forms[1]["lifetime"] == "3600s"
    used = {headers["Authorization"] for _, path, headers in google.requests if path.startswith("/snaps/")}
    assert all("acting-token" in value for value in used)


def test_service_account_signs_for_itself(google, source, tmp_path):
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

    environment = authenticated(google, tmp_path, GOOGLE_APPLICATION_CREDENTIALS=path)
    google.verify = is_signed
    round_trip(environment, source, tmp_path)
    head, claims = seen[0]
    assert head == {"alg": "RS256", "typ": "JWT", "kid": "key-7"}
    assert claims["iss"] == claims["sub"] == "robot@p.iam.gserviceaccount.com" and claims["exp"] == claims["iat"] + 3600
    assert abs(claims["iat"] - time.time()) < 300 and claims["scope"].startswith("https://www.googleapis.com/auth/")


def test_a_secret_in_a_bad_file_is_not_quoted(google, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----the-refresh-token", ]')
    done = reprieve(authenticated(google, tmp_path, GOOGLE_APPLICATION_CREDENTIALS=str(path)), "list", "--store", STORE, "--job",
                    "train", ok=False)
    assert done.returncode != 0 and str(path) in done.stderr


def test_no_token_goes_out_over_plain_http(google, tmp_path):
    environment = authenticated(google, tmp_path)
    environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = "http://storage.example.com"
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "plain http" in done.stderr and google.issued == 0


def test_run_goes_on_from_the_store(google, tmp_path):
    environment = clean_environment(tmp_path, STORAGE_EMULATOR_HOST=google.url)
    work = tmp_path / "work"
    work.mkdir()
    script = "mkdir -p checkpoints; cat checkpoints/step 2>/dev/null; echo one >checkpoints/step; sync; echo done"
    for expected in ("done\n", "one\ndone\n"):
        done = subprocess.run([REPRIEVE, "run", "--store", STORE, "--job", "train", "--checkpoint-dir", "checkpoints", "--", "sh", "-c", script],
                              env=environment, cwd=work, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stdout == expected, done.stderr
        subprocess.run(["rm", "-rf", "checkpoints"], cwd=work, check=True)
