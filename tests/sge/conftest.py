"""One cluster for all tests; the jobs' tools are those of tests/e2e."""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import cluster as clusters  # noqa: E402
import harness  # noqa: E402


@pytest.fixture(scope="session")
def sge(tmp_path_factory):
    if not os.access(harness.REPRIEVE, os.X_OK):
        pytest.exit(f"{harness.REPRIEVE} is not there: build it, or say REPRIEVE=PATH", returncode=2)
    why = clusters.missing()
    if why:
        pytest.skip(why)
    cluster = clusters.Cluster(tmp_path_factory.mktemp("sge"))
    yield cluster
    cluster.close()
    assert not cluster.shepherds()
