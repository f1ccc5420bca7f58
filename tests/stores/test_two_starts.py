"""Two machines start a job at the same time, again and again, in every kind of store: each has an attempt of its own, and none is lost."""
import re

import pytest
from fixtures import serve
from harness import Place
from seaweedfs import Seaweedfs


def start_two_at_once(place, urls, rounds=50):
    """Each by its own URL of the one store."""
    for number in range(rounds):
        runs = [place.run("false", store=url, directory=place.path / f"own{number}-{machine}", options=("--take-over",))
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
