"""Two machines start a job at the same time, again and again, in every kind of store: each has an attempt of its own, and none is lost."""
import collections
import contextlib
import random
import re
import threading
import time

import pytest
from fault_server import FaultServer
from fixtures import serve
from harness import Place
from s3_memory import S3Memory, error
from seaweedfs import Seaweedfs


def start_two_at_once(place, urls, rounds=50):
    """Each by its own URL of the one store, and as on a machine of its own: those of one machine wait for each other."""
    for machine, _ in enumerate(urls):
        (place.path / f"runtime{machine}").mkdir(mode=0o700)
    for number in range(rounds):
        runs = [place.run("false", store=url, directory=place.path / f"own{number}-{machine}", options=("--take-over",),
                          XDG_RUNTIME_DIR=str(place.path / f"runtime{machine}"))
                for machine, url in enumerate(urls)]
        assert [run.wait() for run in runs] == [1, 1], runs
    attempts = [int(number) for run in place.runs for number in re.findall(r"attempt (\d+): starting", run.err)]
    assert sorted(attempts) == list(range(1, 2 * rounds + 1)), "\n".join(map(str, place.runs))


def test_in_a_directory(tmp_path):
    place = Place(tmp_path)
    start_two_at_once(place, [place.store] * 2)
    place.end()


@pytest.mark.long
def test_in_a_bucket(server, place_at):
    place = place_at(server)
    start_two_at_once(place, [place.store] * 2)


@pytest.fixture(scope="module")
def seaweedfs():
    yield from serve(Seaweedfs)


def test_in_a_bucket_of_seaweedfs(seaweedfs, tmp_path):
    """Whose own mount gives a name twice."""
    seaweedfs.mount()
    place = Place(tmp_path, store="s3://shared/starts", environment={
        "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{seaweedfs.s3}", "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"})
    start_two_at_once(place, [place.store] * 2)
    place.end()


class LooksFirst(S3Memory):
    """Looks up a put's condition, and then puts: two that claim a number at once both find that it is free, and each is told that it has it."""

    def __init__(self):
        super().__init__()
        self.claims, self.met = collections.defaultdict(lambda: threading.Barrier(2)), 0

    def put(self, objects, request):
        if request.headers.pop("if-none-match", None):
            if request.key in objects:
                return error(412, "PreconditionFailed")
            if re.search(r"/attempts/\d+\.json$", request.key):
                with contextlib.suppress(threading.BrokenBarrierError):
                    self.claims[request.key].wait(0.4)
                    self.met += 1
            time.sleep(random.uniform(0, 0.2))
        return super().put(objects, request)


def test_in_a_bucket_that_looks_and_then_puts(tmp_path):
    server = FaultServer(memory=LooksFirst())
    server.memory.buckets["shared"] = {}
    place = Place(tmp_path, store="s3://shared/starts", environment=server.environment)
    start_two_at_once(place, [place.store] * 2)
    place.end()
    server.close()
    assert server.memory.met
