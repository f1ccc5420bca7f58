"""How many trips to a far store follow each other: a count, which no fast machine hides."""
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "tests" / "bench"))
from trips import LIMITS, Trips, in_a_row  # noqa: E402

QUIET = 0.1  # s: what is asked at once comes within that, on a busy machine as well


@pytest.mark.long
def test_no_command_makes_more_trips_than_the_table_says(tmp_path):
    trips = Trips(harness.REPRIEVE, tmp_path, QUIET)
    try:
        for name, snapshots, asked in trips.measure():
            assert in_a_row(asked) <= LIMITS[name, snapshots], (name, snapshots, asked)
    finally:
        trips.server.close()
