"""az:// with the built binary: signatures and shared access signatures against Azurite, tokens against tests/fakes/azure_fake.py."""
import base64
import datetime

import pytest
from azure_fake import AzureFake
from azurite import ACCOUNT, KEY
from cloud_place import CloudPlace

SECRETS = ("the-client-secret", "the-identity-header", "federated-", "token-1", "token-2", KEY[:20], "sig=")


# --- Azurite ---


@pytest.fixture
def at_azurite(azurite, tmp_path):
    """at_azurite(NAME=VALUE, ...): a place in a fresh container, with these variables and the endpoint's."""
    def make(**environment):
        return CloudPlace(tmp_path, azurite.make(), SECRETS, AZURE_STORAGE_BLOB_ENDPOINT=azurite.endpoint, **environment)
    return make


def sas(place, permission):
    """A container's, as Microsoft's own client makes it."""
    from azure.storage.blob import generate_container_sas
    container = place.store.partition("://")[2].split("/")[1]
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    return generate_container_sas(ACCOUNT, container, account_key=KEY, permission=permission, expiry=until)


def test_key_from_a_connection_string(azurite, at_azurite, source):
    place = at_azurite(AZURE_STORAGE_CONNECTION_STRING=f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
                       f"BlobEndpoint={azurite.endpoint};")
    del place.environment["AZURE_STORAGE_BLOB_ENDPOINT"]
    place.round_trip(source)


def test_key_from_variables(at_azurite, source):
    place = at_azurite(AZURE_STORAGE_ACCOUNT=ACCOUNT, AZURE_STORAGE_KEY=KEY)
    place.store = "/".join(place.store.split("/")[:4])  # without a prefix
    place.round_trip(source)


def test_a_wrong_key_is_denied(at_azurite):
    said = at_azurite(AZURE_STORAGE_KEY=base64.b64encode(b"no such key").decode()).refused("list")
    assert "403" in said and "is not a Reprieve store" not in said


def test_shared_access_signature(at_azurite, source):
    place = at_azurite()
    place.environment["AZURE_STORAGE_SAS_TOKEN"] = "?" + sas(place, "rcwdl")
    place.round_trip(source)


def test_a_signature_for_reading_alone_may_not_write(at_azurite, source):
    place = at_azurite()
    place.environment["AZURE_STORAGE_SAS_TOKEN"] = sas(place, "rl")
    assert "403" in place.refused("save", source)


def test_no_such_container_is_told(at_azurite, source):
    place = at_azurite()
    place.store = f"az://{ACCOUNT}/not-there"
    for verb in (["save", source], ["list"]):
        assert "no such container" in place.refused(*verb)


# --- tokens ---

IDENTITIES = {
    "machine": lambda fake, path: {"AZURE_POD_IDENTITY_AUTHORITY_HOST": fake.url, "AZURE_CLIENT_ID": "user-assigned"},
    "app service": lambda fake, path: {"IDENTITY_ENDPOINT": fake.url + "/msi/token", "IDENTITY_HEADER": "the-identity-header"},
    "secret": lambda fake, path: {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "the-client-secret",
                                  "AZURE_AUTHORITY_HOST": fake.url},
    "workload": lambda fake, path: {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": str(path / "federated"),
                                    "AZURE_AUTHORITY_HOST": fake.url + "/"},
}


@pytest.fixture
def azure():
    fake = AzureFake()
    yield fake
    fake.close()


@pytest.fixture
def place_with(azure, tmp_path):
    """place_with(one of IDENTITIES)"""
    def make(which):
        (tmp_path / "federated").write_text("federated-1\n")
        return CloudPlace(tmp_path, "az://spotacct/snaps/team", SECRETS, AZURE_STORAGE_BLOB_ENDPOINT=azure.url,
                          **IDENTITIES[which](azure, tmp_path))
    return make


@pytest.fixture
def place(place_with):
    return place_with("machine")


@pytest.mark.parametrize("which", IDENTITIES)
def test_identities(azure, place_with, source, which):
    azure.directories = ["team", "team/jobs", "team/jobs/job/packs/000001"]
    place_with(which).round_trip(source)
    assert azure.issued == 3  # one for each process
    assert all(name.startswith("team/") for name in azure.blobs)
    if which == "machine":
        assert azure.asked[0]["client_id"] == "user-assigned"
    if which == "workload":
        assert azure.asked[0]["path"] == "/t/oauth2/v2.0/token" and azure.asked[0]["client_assertion"] == "federated-1"


def test_the_federated_token_is_read_again(azure, place_with, source, tmp_path):
    place = place_with("workload")
    place.done("save", source)
    (tmp_path / "federated").write_text("federated-2")
    place.done("list")
    assert [form["client_assertion"] for form in azure.asked] == ["federated-1", "federated-2"]


def test_a_wrong_secret_is_told_in_the_services_words(place_with):
    place = place_with("secret")
    place.environment["AZURE_CLIENT_SECRET"] = "wrong"
    assert "AADSTS7000215" in place.refused("list")


@pytest.mark.parametrize("status,code,words", [(403, "AuthorizationPermissionMismatch", "403"), (404, "ContainerNotFound", "no such container"),
                                               (404, "ResourceNotFound", "404")])
def test_a_refusal_never_reads_as_no_snapshot(azure, place, source, status, code, words):
    place.done("save", source)
    azure.faults = [("GET", "", status, code)]
    said = place.refused("list")
    assert words in said and "is not a Reprieve store" not in said


def test_passing_faults_are_outlived(azure, place, source):
    """A login page's 200 or 201 is one of them: nothing has been done."""
    azure.faults = [("PUT", ".pack", 503, "ServerBusy"), ("PUT", "snapshots/", 500, "OperationTimedOut"), ("GET", "comp=list", 429, "Busy"),
                    ("PUT", ".pack", 400, "Md5Mismatch"), ("PUT", ".pack", 200, "portal"), ("PUT", "snapshots/", 201, "portal"),
                    ("GET", "comp=list", 200, "portal"), ("GET", "snapshots/", 200, "portal"), ("GET", ".pack", 200, "portal")]
    place.round_trip(source)
    assert azure.faults == []


def test_a_list_that_goes_in_circles_is_an_error(azure, place, source):
    place.done("save", source)
    azure.PAGE, azure.circle = 1, True
    assert "does not end" in place.refused("list")
