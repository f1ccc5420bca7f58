"""pytest's fixtures: each server once in a session, when the first test asks for it; where it cannot be had, its tests are skipped."""
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from azurite import Azurite  # noqa: E402
from google_server import Google  # noqa: E402
from radosgw import Radosgw  # noqa: E402
from s3_server import Moto  # noqa: E402
from server import CannotInstall  # noqa: E402


def serve(kind):
    path = tempfile.mkdtemp(prefix="store-")
    server = kind(path)
    try:
        try:
            server.start()
        except CannotInstall as error:
            pytest.skip(f"{kind.name}: {error}")
        yield server
    finally:
        server.stop()
        shutil.rmtree(path, ignore_errors=True)


def judge(module):
    """The other client must be there: tests/stores/run.sh runs pytest in the environment that has it."""
    try:
        __import__(module)
    except ImportError as error:
        pytest.skip(f"{error}: run tests/stores/run.sh, whose python has the clouds' own clients")


@pytest.fixture(scope="session")
def radosgw():
    judge("boto3")
    yield from serve(Radosgw)


@pytest.fixture(scope="session")
def moto():
    judge("boto3")
    yield from serve(Moto)


@pytest.fixture(scope="session")
def azurite():
    judge("azure.storage.blob")
    yield from serve(Azurite)


@pytest.fixture(scope="session")
def google():
    judge("google.cloud.storage")
    yield from serve(Google)
