"""A job that empties the files that it shares with its supervisor. One wrong redirection is enough."""
import pytest

from harness import Place

JOB = """
for again in once twice; do
	: > "${0}"
	until [ -s "${0}" ]; do sleep 0.05; done
done
echo whole again
printf x > checkpoints/model.tmp && mv checkpoints/model.tmp checkpoints/model-1.bin
exit 3
"""


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.end()


@pytest.mark.parametrize("name", ["REPRIEVE_SHIM_CHANNEL", "REPRIEVE_PAGE"])
def test_the_supervisor_outlives_it(place, name):
    run = place.run("sh", "-c", "mkdir -p checkpoints; " + JOB.replace("${0}", "$" + name))
    assert run.wait() == 3, run
    assert "whole again" in run.out
    assert run.err.count("the job has emptied") == 1, run.err
