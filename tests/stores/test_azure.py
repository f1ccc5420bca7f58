"""az:// with the built binary: signatures and shared access signatures against Azurite, tokens against tests/fakes/azure_fake.py.

AZURITE names the program azurite-blob; without it those tests are skipped, and say so."""
import base64
import datetime
import filecmp
import hashlib
import hmac
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import uuid
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fakes"))
from azure_fake import AzureFake  # noqa: E402

REPRIEVE = os.environ.get("REPRIEVE", str(HERE.parents[1] / "build" / "supervisor" / "reprieve"))
AZURITE = os.environ.get("AZURITE") or shutil.which("azurite-blob")
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
SECRETS = ("the-client-secret", "the-identity-header", "federated-", "token-1", "token-2", KEY[:20], "sig=")


@pytest.fixture(scope="module")
def azurite():
    if not AZURITE:
        pytest.skip("no azurite-blob: name it in AZURITE (npm install azurite@3.35.0)")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([AZURITE, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence",
                                "--skipApiVersionCheck", "--disableTelemetry"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            assert process.poll() is None and time.monotonic() < end, "Azurite does not start"
            time.sleep(0.1)
    yield "http://127.0.0.1:%d/%s" % (port, ACCOUNT)
    process.kill()
    process.wait()


def sas(permissions, name):
    """A service SAS for a container, by Microsoft's "Create a service SAS", version 2020-12-06."""
    expiry = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = [permissions, "", expiry, "/blob/%s/%s" % (ACCOUNT, name), "", "", "", "2020-12-06", "c", "", "", "", "", "", "", ""]
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), "\n".join(fields).encode(), hashlib.sha256).digest()).decode()
    return urllib.parse.urlencode({"sp": permissions, "se": expiry, "sv": "2020-12-06", "sr": "c", "sig": signature})


@pytest.fixture
def container(azurite):
    """Made with an account SAS, so that no client library is needed."""
    import urllib.request
    name = "c" + uuid.uuid4().hex[:12]
    expiry = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = [ACCOUNT, "rwdlac", "b", "sco", "", expiry, "", "https,http", "2020-12-06", "", ""]
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), "\n".join(fields).encode(), hashlib.sha256).digest()).decode()
    query = urllib.parse.urlencode({"sv": "2020-12-06", "ss": "b", "srt": "sco", "sp": "rwdlac", "se": expiry, "spr": "https,http", "sig": signature})
    request = urllib.request.Request("%s/%s?restype=container&%s" % (azurite, name, query), method="PUT", data=b"")
    urllib.request.urlopen(request).close()
    return name


@pytest.fixture
def azure():
    fake = AzureFake()
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
            if not name.startswith(("GOOGLE_", "GCE_", "AZURE_", "AWS_", "IDENTITY_"))}
    return {**kept, "HOME": str(tmp_path), **more}


def reprieve(environment, *arguments, ok=True):
    done = subprocess.run([REPRIEVE, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120)
    for secret in SECRETS:
        assert secret not in done.stdout + done.stderr
    if ok:
        assert done.returncode == 0, done.stderr
    return done


def round_trip(environment, store, source, tmp_path):
    for number in "12":
        reprieve(environment, "save", source, "--store", store, "--job", "train")
        assert "00000%s-000001" % number in reprieve(environment, "list", "--store", store, "--job", "train").stdout
    reprieve(environment, "restore", "--store", store, "--job", "train", "000002-000001", tmp_path / "back")
    assert filecmp.cmp(source / "weights.bin", tmp_path / "back" / "weights.bin", shallow=False)
    assert (tmp_path / "back" / "deep" / "state.txt").read_text() == "step 7\n"


# --- Azurite ---


def test_key_from_a_connection_string(azurite, container, source, tmp_path):
    text = "DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;" % (ACCOUNT, KEY, azurite)
    environment = clean_environment(tmp_path, AZURE_STORAGE_CONNECTION_STRING=text)
    round_trip(environment, "az://%s/%s/a b/run+7=x" % (ACCOUNT, container), source, tmp_path)


def test_key_from_variables(azurite, container, source, tmp_path):
    environment = clean_environment(tmp_path, AZURE_STORAGE_ACCOUNT=ACCOUNT, AZURE_STORAGE_KEY=KEY, AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    round_trip(environment, "az://%s/%s" % (ACCOUNT, container), source, tmp_path)


def test_a_wrong_key_is_denied(azurite, container, tmp_path):
    wrong = base64.b64encode(b"no such key").decode()
    environment = clean_environment(tmp_path, AZURE_STORAGE_KEY=wrong, AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    done = reprieve(environment, "list", "--store", "az://%s/%s" % (ACCOUNT, container), "--job", "train", ok=False)
    assert done.returncode != 0 and "403" in done.stderr and "there is no store" not in done.stderr


def test_shared_access_signature(azurite, container, source, tmp_path):
    environment = clean_environment(tmp_path, AZURE_STORAGE_SAS_TOKEN="?" + sas("rcwdl", container), AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    round_trip(environment, "az://%s/%s/team" % (ACCOUNT, container), source, tmp_path)


def test_a_signature_for_reading_alone_may_not_write(azurite, container, source, tmp_path):
    environment = clean_environment(tmp_path, AZURE_STORAGE_SAS_TOKEN=sas("rl", container), AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    done = reprieve(environment, "save", source, "--store", "az://%s/%s" % (ACCOUNT, container), "--job", "train", ok=False)
    assert done.returncode != 0 and "403" in done.stderr


def test_no_such_container_is_told(azurite, source, tmp_path):
    environment = clean_environment(tmp_path, AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    for verb in (["save", source], ["list"]):
        done = reprieve(environment, *verb, "--store", "az://%s/not-there" % ACCOUNT, "--job", "train", ok=False)
        assert done.returncode != 0 and "no such container" in done.stderr


def test_microsofts_own_client_sees_what_was_written(azurite, container, source, tmp_path):
    blob = pytest.importorskip("azure.storage.blob")
    environment = clean_environment(tmp_path, AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    reprieve(environment, "save", source, "--store", "az://%s/%s/p" % (ACCOUNT, container), "--job", "train")
    client = blob.ContainerClient(azurite, container, credential=KEY)
    sizes = {found.name: found.size for found in client.list_blobs()}
    assert sizes["p/format.json"] > 0 and sum(size for name, size in sizes.items() if name.endswith(".pack")) > 3_000_000
    with pytest.raises(Exception, match="BlobAlreadyExists"):
        client.upload_blob("p/format.json", b"x")


def test_run_goes_on_from_the_store(azurite, container, tmp_path):
    environment = clean_environment(tmp_path, AZURE_STORAGE_BLOB_ENDPOINT=azurite)
    work = tmp_path / "work"
    work.mkdir()
    script = "mkdir -p checkpoints; cat checkpoints/step 2>/dev/null; echo one >checkpoints/step; sync; echo done"
    for expected in ("done\n", "one\ndone\n"):
        done = subprocess.run([REPRIEVE, "run", "--store", "az://%s/%s" % (ACCOUNT, container), "--job", "train", "--checkpoint-dir", "checkpoints",
                               "--", "sh", "-c", script], env=environment, cwd=work, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stdout == expected, done.stderr
        shutil.rmtree(work / "checkpoints")


# --- tokens ---

STORE = "az://spotacct/snaps/team"
IDENTITIES = {
    "machine": lambda fake, path: {"AZURE_POD_IDENTITY_AUTHORITY_HOST": fake.url, "AZURE_CLIENT_ID": "user-assigned"},
    "app service": lambda fake, path: {"IDENTITY_ENDPOINT": fake.url + "/msi/token", "IDENTITY_HEADER": "the-identity-header"},
    "secret": lambda fake, path: {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "the-client-secret",
                                  "AZURE_AUTHORITY_HOST": fake.url},
    "workload": lambda fake, path: {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": str(path / "federated"),
                                    "AZURE_AUTHORITY_HOST": fake.url + "/"},
}


def with_identity(fake, tmp_path, which="machine", **more):
    (tmp_path / "federated").write_text("federated-1\n")
    return clean_environment(tmp_path, AZURE_STORAGE_BLOB_ENDPOINT=fake.url, **IDENTITIES[which](fake, tmp_path), **more)


@pytest.mark.parametrize("which", IDENTITIES)
def test_identities(azure, source, tmp_path, which):
    azure.directories = ["team", "team/jobs", "team/jobs/train/packs/000001"]
    round_trip(with_identity(azure, tmp_path, which), STORE, source, tmp_path)
    assert azure.issued == 5  # one for each process
    assert all(name.startswith("team/") for name in azure.blobs)
    if which == "machine":
        assert azure.asked[0]["client_id"] == "user-assigned"
    if which == "workload":
        assert azure.asked[0]["path"] == "/t/oauth2/v2.0/token" and azure.asked[0]["client_assertion"] == "federated-1"


def test_the_federated_token_is_read_again(azure, source, tmp_path):
    environment = with_identity(azure, tmp_path, "workload")
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    (tmp_path / "federated").write_text("federated-2")
    reprieve(environment, "list", "--store", STORE, "--job", "train")
    assert [form["client_assertion"] for form in azure.asked] == ["federated-1", "federated-2"]


def test_an_expired_token_is_replaced_once(azure, source, tmp_path):
    azure.faults = [("PUT", ".pack", 401, "InvalidAuthenticationInfo")]
    reprieve(with_identity(azure, tmp_path), "save", source, "--store", STORE, "--job", "train")
    assert azure.issued == 2


def test_a_token_that_is_refused_again_is_an_error(azure, source, tmp_path):
    azure.faults = [("PUT", "format.json", 401, "InvalidAuthenticationInfo")] * 3
    done = reprieve(with_identity(azure, tmp_path), "save", source, "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "401" in done.stderr and len(azure.faults) == 1


def test_a_wrong_secret_is_told_in_the_services_words(azure, tmp_path):
    environment = with_identity(azure, tmp_path, "secret")
    environment["AZURE_CLIENT_SECRET"] = "wrong"
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "AADSTS7000215" in done.stderr


def test_no_identity_says_what_to_set(azure, tmp_path):
    environment = with_identity(azure, tmp_path)
    environment["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = "http://127.0.0.1:9"
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "AZURE_STORAGE_KEY" in done.stderr


@pytest.mark.parametrize("status,code,said", [(403, "AuthorizationPermissionMismatch", "403"), (404, "ContainerNotFound", "no such container"),
                                              (404, "ResourceNotFound", "404")])
def test_a_refusal_never_reads_as_no_snapshot(azure, source, tmp_path, status, code, said):
    environment = with_identity(azure, tmp_path)
    reprieve(environment, "save", source, "--store", STORE, "--job", "train")
    azure.faults = [("GET", "", status, code)]
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and said in done.stderr and "there is no store" not in done.stderr


def test_passing_faults_are_outlived(azure, source, tmp_path):
    azure.faults = [("PUT", ".pack", 503, "ServerBusy"), ("PUT", "snapshots/", 500, "OperationTimedOut"), ("GET", "comp=list", 429, "Busy"),
                    ("PUT", ".pack", 400, "Md5Mismatch")]
    round_trip(with_identity(azure, tmp_path), STORE, source, tmp_path)
    assert azure.faults == []


def test_no_token_goes_out_over_plain_http(azure, tmp_path):
    environment = with_identity(azure, tmp_path)
    environment["AZURE_STORAGE_BLOB_ENDPOINT"] = "http://spotacct.blob.example.com"
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "plain http" in done.stderr and azure.issued == 0


def test_a_key_of_another_account_is_not_tried(tmp_path):
    environment = clean_environment(tmp_path, AZURE_STORAGE_ACCOUNT="another", AZURE_STORAGE_KEY=KEY)
    done = reprieve(environment, "list", "--store", STORE, "--job", "train", ok=False)
    assert done.returncode != 0 and "another" in done.stderr and "spotacct" in done.stderr
