"""Fixtures of the end-to-end tests; harness.py has the tools. Also loaded by tests/faults."""
import os
import sys
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import harness  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long: left out of the small selection (REPRIEVE_SMALL=1) that slow builds are tested with")


def pytest_collection_modifyitems(config, items):
    """E2E_SHARE=I/N: that share of them, and LONG_SHARE=I/N: of those that are marked long."""
    def is_left_out(item):
        long = item.get_closest_marker("long")
        shares = [os.environ.get("E2E_SHARE", "0/1"), os.environ.get("LONG_SHARE", "0/1") if long else "0/1"]
        return (long and os.environ.get("REPRIEVE_SMALL") == "1") or any(
            zlib.crc32(item.nodeid.encode()) % int(of) != int(share) for share, of in (text.split("/") for text in shares))
    others = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session", autouse=True)
def program():
    """The path of the binary."""
    if not os.access(harness.REPRIEVE, os.X_OK):
        pytest.exit(f"{harness.REPRIEVE} is not there: build it, or say REPRIEVE=PATH", returncode=2)
    return harness.REPRIEVE


@pytest.fixture
def place(tmp_path):
    """A store, a job and a checkpoint directory of this test's own; what still runs at its end is killed."""
    place = harness.Place(tmp_path)
    yield place
    place.end()


@pytest.fixture
def faults():
    """An S3 server in memory with an empty bucket, which does what a test tells it to do wrong."""
    sys.path.insert(0, str(harness.ROOT / "tests" / "fakes"))
    from fault_server import FaultServer
    server = FaultServer()
    server.memory.buckets["snaps"] = {}
    yield server
    server.close()
