"""The fixtures of the end-to-end tests, and the servers: a place's store is then one of theirs."""
import importlib.util
import os
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
for folder in ("servers", "fakes", "faults", "e2e"):
    sys.path.insert(0, str(TESTS / folder))

_spec = importlib.util.spec_from_file_location("e2e_conftest", TESTS / "e2e" / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
from fixtures import azurite, google, moto, radosgw  # noqa: E402,F401
from harness import Place  # noqa: E402

pytest_configure = _module.pytest_configure
pytest_collection_modifyitems = _module.pytest_collection_modifyitems
program = _module.program


@pytest.fixture(params=["radosgw", pytest.param("moto", marks=pytest.mark.long), "azurite", "google"])
def server(request):
    """Each of them in turn; moto speaks S3 as radosgw does, and is less strict."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def source(tmp_path):
    """A small directory to save."""
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "weights.bin").write_bytes(os.urandom(3_000_000))
    (source / "deep" / "state.txt").write_text("step 7\n")
    return source


@pytest.fixture
def place_at(tmp_path):
    """place_at(server): a place with a fresh bucket there. What still runs at the end of the test is killed."""
    places = []

    def make(server):
        path = tmp_path / f"place{len(places)}"
        path.mkdir()
        url = server.make()
        places.append(Place(path, store=url, environment=server.environment))
        return places[-1]
    yield make
    for place in places:
        place.end()
