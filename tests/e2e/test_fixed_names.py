"""Fixed names that are written back to back: no moment is left in which the set is whole."""
import signal

import pytest

from harness import EXIT_NOT_DURABLE, EXIT_DURABLE, PYTHON

JOB = """
import os, sys, time
directory, how = sys.argv[1], sys.argv[2]
os.makedirs(directory, exist_ok=True)
def write(path):
    with open(path, "wb") as file:
        file.write(b"%06d" % step * 1000)
        file.flush()
        time.sleep(0.1)
        file.write(b"end")
step = 0
while True:
    step += 1
    names = [f"{directory}/last.bin", f"{directory}/opt.bin"]
    for name in names:
        write(name if how == "place" else name + ".tmp")
        if how == "each":
            os.rename(name + ".tmp", name)
    if how == "end":
        for name in names:
            os.rename(name + ".tmp", name)
    if step == 12:
        print("often", flush=True)
"""


@pytest.mark.parametrize("how", ["place", "each", "end"])
def test_no_snapshot_holds_a_part_of_the_set(place, how):
    run = place.run(PYTHON, "-c", JOB, place.directory, how, options=["--grace", "8"])
    run.wait_for_output("often")
    run.signal(signal.SIGTERM)
    code = run.wait()
    assert code in (EXIT_DURABLE, EXIT_NOT_DURABLE), run
    if how == "place":
        assert code == EXIT_NOT_DURABLE, run
        assert "its files are written all the time" in run.err, run
    if code == EXIT_DURABLE:
        assert place.newest(), run
    for snapshot in place.snapshots():
        look = place.path / f"look-{snapshot['id']}"
        place.verb("restore", snapshot["id"], look)
        contents = [(look / name).read_bytes() for name in ("last.bin", "opt.bin")]
        assert contents[0] == contents[1] and contents[0].endswith(b"end"), (snapshot["id"], run)
