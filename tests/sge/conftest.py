"""One cluster for all tests; the jobs' tools are those of tests/e2e."""
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "e2e")]
import cluster as clusters  # noqa: E402
from daemons import serve  # noqa: E402


@pytest.fixture(scope="session")
def sge(tmp_path_factory):
    for cluster in serve(clusters, tmp_path_factory):
        yield cluster
    assert not cluster.shepherds()
