"""Who may read what is stored."""
import os
import stat

import pytest

from harness import Place


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "model.bin").write_bytes(b"x" * 100)
    yield place
    place.end()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_default_store_is_for_its_user_alone(place):
    assert place.query("save", place.path / "source", "--job", "job").code == 0
    assert mode(place.path / "state" / "reprieve") == 0o700


def test_that_of_a_run_is_too(place):
    program = "mkdir -p checkpoints; echo x > checkpoints/model.tmp; mv checkpoints/model.tmp checkpoints/model-1.pt"
    result = place.query("run", "--job", "job", "--", "sh", "-c", program)
    assert result.code == 0, result
    assert mode(place.path / "state" / "reprieve") == 0o700


def test_one_that_is_named_is_as_the_umask_says(place):
    before = os.umask(0o022)
    try:
        assert place.verb("save", place.path / "source").code == 0
    finally:
        os.umask(before)
    assert mode(place.store_path) == 0o755
