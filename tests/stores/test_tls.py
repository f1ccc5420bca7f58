"""Stores behind a certificate of a private CA: what has to be named, and what is said where it is not."""
import socket
import ssl
import subprocess
import threading

import pytest
from cloud_place import CloudPlace
from fault_server import FaultServer
from google_fake import GoogleFake
from harness import Place, one_line

EXTENSIONS = "basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """The directory of a CA (ca.pem) and of what it has signed (server.pem, server.key)."""
    path = tmp_path_factory.mktemp("ca")
    (path / "extensions").write_text(EXTENSIONS)
    for arguments in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=house",
                      "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost",
                      "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem"):
        subprocess.run(["openssl", *arguments.split()], cwd=path, check=True, capture_output=True)
    return path


def put_tls_before(server, authority):
    """`server` has been listening in the clear until now."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    # The handshake is for the connection's own thread, so that a client that hangs up hurts nobody else.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)


@pytest.fixture
def s3(authority):
    yield from serve(authority, "127.0.0.1")


@pytest.fixture
def misnamed(authority):
    """Where the certificate does not lead."""
    yield from serve(authority, "127.0.0.2")


def serve(authority, host):
    server = FaultServer(host=host)
    server.memory.buckets["snaps"] = {}
    put_tls_before(server.server, authority)
    yield server
    server.close()


@pytest.fixture
def place(s3, tmp_path):
    return place_before(s3, tmp_path)


def place_before(server, path):
    environment = {**server.environment, "AWS_ENDPOINT_URL_S3": server.url.replace("http:", "https:")}
    return CloudPlace(path, "s3://snaps/team", (server.secret_key,), **environment)


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "ca_bundle"])
def test_a_private_authority(authority, place, source, tmp_path, variable):
    if variable == "ca_bundle":
        (tmp_path / "config").write_text(f"[default]\nca_bundle = {authority / 'ca.pem'}\n")
        place.environment["AWS_CONFIG_FILE"] = str(tmp_path / "config")
    else:
        place.environment[variable] = str(authority / "ca.pem")
    place.round_trip(source)


def test_a_directory_of_authorities(authority, place, source, tmp_path):
    authorities = tmp_path / "authorities"
    authorities.mkdir()
    place.environment["SSL_CERT_DIR"] = str(authorities)
    assert "certificate" in one_line(place.refused("list"))
    (authorities / "house.pem").write_bytes((authority / "ca.pem").read_bytes())
    subprocess.run(["openssl", "rehash", authorities], check=True, capture_output=True)
    place.round_trip(source)


def test_the_authoritys_own_variable_goes_first(authority, place, source, tmp_path):
    (tmp_path / "empty").write_text("")
    place.environment.update(AWS_CA_BUNDLE=str(authority / "ca.pem"), CURL_CA_BUNDLE=str(tmp_path / "empty"), SSL_CERT_FILE="/nonexistent")
    place.round_trip(source)


def test_without_it_one_line_says_what_to_set(s3, place, source):
    for verb in (["save", source], ["list"]):
        said = one_line(place.refused(*verb))
        assert "certificate" in said and "AWS_CA_BUNDLE" in said and "SSL_CERT_FILE" in said, said
    assert s3.log == []


def test_a_file_that_is_not_there_is_named(s3, place):
    place.environment["AWS_CA_BUNDLE"] = "/nonexistent/ca.pem"
    said = one_line(place.refused("list"))
    assert "/nonexistent/ca.pem" in said and "AWS_CA_BUNDLE" in said
    assert s3.log == []


def test_a_wrong_name_is_not_mended_with_a_file(authority, misnamed, tmp_path):
    place = place_before(misnamed, tmp_path)
    place.environment["AWS_CA_BUNDLE"] = str(authority / "ca.pem")
    said = one_line(place.refused("list"))
    assert "127.0.0.2" in said and "SSL" in said and "name its file" not in said, said


@pytest.mark.parametrize("most", ["TLSv1_1", "TLSv1_2"])
def test_no_tls_before_1_2(authority, tmp_path, most):
    """Also where the system's configuration allows it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion[most]
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    (tmp_path / "openssl.cnf").write_text("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = weak\n"
                                          "[weak]\nMinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n")
    spoken = []

    def serve_one(listener):
        with listener.accept()[0] as connection:
            try:
                spoken.append(context.wrap_socket(connection, server_side=True).version())
            except OSError:
                spoken.append(None)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_one, args=(listener,))
        thread.start()
        environment = {"AWS_ENDPOINT_URL_S3": f"https://127.0.0.1:{listener.getsockname()[1]}", "AWS_ACCESS_KEY_ID": "A",
                       "AWS_SECRET_ACCESS_KEY": "TESTSECRET", "AWS_CA_BUNDLE": str(authority / "ca.pem"),
                       "OPENSSL_CONF": str(tmp_path / "openssl.cnf"), "REPRIEVE_STORE_PATIENCE": "1ms"}
        CloudPlace(tmp_path, "s3://snaps/team", ("TESTSECRET",), **environment).refused("list")
        thread.join()
    assert spoken == [None if most == "TLSv1_1" else "TLSv1.2"]


def test_a_webhook_that_fails_by_certificate_says_so(s3, tmp_path):
    place = Place(tmp_path)
    try:
        run = place.run("sh", "-c", "exit 3", options=("--notify", s3.url.replace("http://", "https://user:TESTSECRET@") + "/T0P5ECRET"))
        assert run.wait() == 3
        said = next(line for line in run.err.splitlines() if "--notify" in line)
        assert "https://127.0.0.1:" in said and "certificate is not trusted" in said and "SSL_CERT_FILE" in said
        assert "SECRET" not in run.err
    finally:
        place.end()


def test_google(authority, source, tmp_path):
    """No variable of AWS's is minded there."""
    storage, metadata = GoogleFake(), GoogleFake()
    storage.tokens = metadata.tokens = set()
    put_tls_before(storage.server, authority)
    place = CloudPlace(tmp_path, "gs://snaps/team", ("token-1",), GCE_METADATA_HOST=metadata.host, AWS_CA_BUNDLE=str(authority / "ca.pem"),
                       CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=storage.url.replace("http:", "https:"))
    try:
        said = one_line(place.refused("list"))
        assert "SSL_CERT_FILE" in said and "AWS" not in said
        place.environment["SSL_CERT_FILE"] = str(authority / "ca.pem")
        place.round_trip(source)
        assert storage.objects
    finally:
        storage.close()
        metadata.close()
