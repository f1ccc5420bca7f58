"""Stores that are asked over plain http: what is said of it, and where that is refused."""
import pytest

from harness import EXIT_CONFIGURATION, Place

# RFC 5737: nobody has it. The patience is for the time that the network takes to say so.
ELSEWHERE = {"AWS_ENDPOINT_URL_S3": "http://192.0.2.1:9", "REPRIEVE_STORE_PATIENCE": "100ms"}
HERE = {**ELSEWHERE, "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}
AZURE = {"AZURE_STORAGE_BLOB_ENDPOINT": "http://192.0.2.1:9", "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=S3CRET", "REPRIEVE_STORE_PATIENCE": "100ms"}


@pytest.fixture
def place(tmp_path):
    environment = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "S3CRET", "AWS_EC2_METADATA_DISABLED": "true"}
    place = Place(tmp_path, store="s3://bucket/runs", environment=environment)
    yield place
    place.end()


@pytest.mark.parametrize("store, environment", [("s3://bucket/runs", ELSEWHERE), ("az://account/container/runs", AZURE)])
def test_another_machine_over_http_is_warned_of_and_refused_under_strict(place, store, environment):
    run = place.run("true", store=store, **environment)
    run.wait()
    assert "warning: store " + store in run.err and "plain http" in run.err, run
    strict = place.run("true", store=store, options=("--strict",), **environment)
    assert strict.wait() == EXIT_CONFIGURATION, strict
    assert "--strict refuses it" in strict.err and "S3CRET" not in strict.err, strict


def test_doctor_warns_of_it(place):
    rows = place.query("doctor", "--store", place.store, "--measure", "0", "--json", **ELSEWHERE).json["checks"]
    # The store does not answer; this is known without asking.
    assert [row["level"] for row in rows if row["check"] == "transport"] == ["warn"], rows


def test_this_machine_over_http_is_fine(place):
    run = place.run("true", options=("--strict",), **HERE)
    run.wait()
    assert "plain http" not in run.err, run
    rows = place.query("doctor", "--store", place.store, "--measure", "0", "--json", **HERE).json["checks"]
    assert [row for row in rows if row["check"] == "transport"] == []
