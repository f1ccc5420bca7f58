"""`reprieve doctor` on file://."""
import os
import random

import pytest

from harness import EXIT_USAGE, one_line


def doctor(place, *options, store=None):
    return place.query("doctor", "--store", store or place.store, "--measure", "16MiB", *options)


def files_in(path):
    return [found for found in path.rglob("*") if found.is_file()]


def test_a_sound_store(place):
    result = doctor(place, "--json")
    assert result.code == 0, result
    report = result.json
    levels = {row["check"]: row["level"] for row in report["checks"]}
    for check in ("store", "put", "get", "if-absent", "list", "delete", "up", "down"):
        assert levels[check] == "ok", report
    assert "clock" not in levels
    assert report["up_bytes_per_second"] > 0 and report["down_bytes_per_second"] > 0
    assert files_in(place.store_path) == []


def test_what_is_there_already_stays_as_it_is(place):
    place.directory.mkdir()
    (place.directory / "w").write_bytes(random.randbytes(100_000))
    assert place.verb("save", place.directory).code == 0
    before = {path: path.read_bytes() for path in files_in(place.store_path)}
    assert doctor(place).code == 0
    assert {path: path.read_bytes() for path in files_in(place.store_path)} == before
    assert place.verb("verify").code == 0


def test_whether_a_checkpoint_fits_in_a_notice(place):
    fits = doctor(place, "--size", "1MB")
    assert "1 MB fit in 120 s: yes, in 30 s: yes" in fits.out, fits
    not_at_all = doctor(place, "--size", "900TB")
    assert "fit in 120 s: no, in 30 s: no" in not_at_all.out, not_at_all
    assert not_at_all.code == 0, "too slow is a warning"


def test_a_store_that_cannot_be_made(place):
    (place.path / "file").write_text("x")
    result = doctor(place, store=f"file://{place.path}/file/store")
    assert result.code == 1
    assert result.out.startswith("fail  store"), result
    machine = doctor(place, "--json", store=f"file://{place.path}/file/store")
    assert machine.code == 1 and machine.json["level"] == "fail"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_without_permission(place):
    place.store_path.mkdir(mode=0o555)
    result = doctor(place)
    assert result.code == 1 and "fail  put" in result.out, result


def test_a_kind_of_store_that_there_is_not(place):
    result = doctor(place, store="ftp://there")
    assert result.code == 1 and "s3://" in result.out, result


@pytest.mark.parametrize("options", [("--size", "big"), ("--measure", "4TB"), ("--job",), ("word",)])
def test_usage(place, options):
    result = place.query("doctor", "--store", place.store, *options)
    assert result.code == EXIT_USAGE
    one_line(result)
