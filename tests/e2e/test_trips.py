"""How many trips to a far store follow each other: a count, which no fast machine hides."""
import sys

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "bench"))
from trips import MOST, Trips, chain_of  # noqa: E402

FAR = 0.05  # s: what is asked at once comes within that, on a busy machine as well


def test_no_command_makes_more_trips_in_a_row_than_the_table_says(tmp_path):
    trips = Trips(harness.REPRIEVE, tmp_path, FAR)
    try:
        found = {name: [f"{request[2]} {request[3]}" for request in chain_of(asked)] for name, asked in trips.measure().items()}
    finally:
        trips.server.close()
    assert set(found) == set(MOST)
    assert not {name: chain for name, chain in found.items() if len(chain) > MOST[name]}
