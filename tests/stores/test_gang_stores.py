"""A gang over HTTP: killed again and again, all members resume from the newest commit."""
import random
import time

import pytest
from fault_server import FaultServer
from gang import Gang, assert_not_torn, assert_resumed, committed_step
from harness import Place
from s3_memory import S3Memory


def play(place, seed):
    draw = random.Random(seed)
    members = draw.choice([2, 3])
    gang = Gang(place, members, every=10).start_all()
    gang.wait_for_commits(1)
    for generation in range(2, 5):
        time.sleep(draw.uniform(0, 1))
        if draw.random() < 0.5:
            gang.runs[draw.randrange(members)].kill()
            time.sleep(draw.uniform(0, 0.5))
        gang.kill_all()
        step = committed_step(place)
        gang = Gang(place, members, generation, every=10).start_all()
        assert_resumed(gang, step)
    gang.kill_all()
    step = committed_step(place)
    last = Gang(place, members, 9, steps=step + 10).start_all()
    assert_resumed(last, step)
    assert [run.wait() for run in last.runs] == [0] * members, f"{last}"
    assert_not_torn(last)
    assert place.verb("verify").code == 0


@pytest.mark.parametrize("seed", range(3))
def test_in_memory(tmp_path, seed):
    """An S3 server that has a clock of whole seconds, and pages of three keys."""
    memory = S3Memory(page=3)
    memory.buckets["snaps"] = {}
    server = FaultServer(memory=memory)
    place = Place(tmp_path, store="s3://snaps/gang", environment=server.environment)
    try:
        play(place, seed)
    finally:
        place.end()
        server.close()


def test_in_each_store(server, place_at):
    play(place_at(server), 7)
