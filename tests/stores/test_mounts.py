"""A directory as the store that each machine mounts for itself, where a mount shows late what the others do, or gives a name twice.
Two mounts of one server stand for two machines.
"""
import pytest
from fixtures import serve
from harness import EXIT_CONFIGURATION, PYTHON, SAVER, Place, one_line
from seaweedfs import Seaweedfs
from server import CannotInstall
from test_faults import resumed_step
from test_two_starts import start_two_at_once


@pytest.fixture(scope="module", params=["Sshfs", "SshfsWithoutTimes"])
def late(request):
    yield from serve_mounts("sshfs", request.param)


@pytest.fixture(scope="module")
def seaweedfs():
    yield from serve(Seaweedfs)


def serve_mounts(module, kind):
    for server in serve(getattr(__import__(module), kind)):
        yield server.mount(), server.mount()


@pytest.fixture
def store(tmp_path, request):
    """store(mounts): a place, and the URL of its store on each mount."""
    places = []

    def make(mounts):
        urls = [f"file://{mount}/{request.node.name}" for mount in mounts]
        places.append(Place(tmp_path, store=urls[0]))
        places[-1].store_path = mounts[0] / request.node.name
        return places[-1], urls
    yield make
    for place in places:
        place.end()


def ids_on(place, url):
    return [snapshot["id"] for snapshot in place.query("list", "--json", "--store", url, "--job", place.job).json["snapshots"]]


def test_each_machine_goes_on_from_what_the_other_has_just_saved(late, store):
    """Both look often, so that each has an old list when its turn comes: no snapshot is passed over, nor removed for that."""
    place, urls = store(late)
    step = 0
    for turn in range(6):
        run = place.run(PYTHON, SAVER, "--steps", step + 3, "--pause", "0.3", store=urls[turn % 2], directory=place.path / f"own{turn}",
                        options=("--quiet-time", "100ms", "--take-over"))
        assert run.wait() == 0, run
        assert f"attempt {turn + 1}" in run.err, run
        assert resumed_step(run) == step, run
        step += 3
        # Of what retention has removed, a late list knows nothing yet.
        assert ids_on(place, urls[0])[:10] == ids_on(place, urls[1])[:10], run
    assert place.verb("verify").code == 0


def test_of_many_starts_at_once_each_has_an_attempt_of_its_own(late, store):
    start_two_at_once(*store(late))


@pytest.mark.parametrize("client, bucket", [("weed", "s3://shared/runs"), ("s3fs", "s3://BUCKET/PREFIX"), ("rclone", "s3://BUCKET/PREFIX")],
                         ids=["weed", "s3fs", "rclone"])
def test_a_mount_known_to_give_a_name_twice_is_refused_with_the_bucket_to_name(seaweedfs, store, client, bucket):
    try:
        seaweedfs.mount()  # which makes the bucket
        mount = seaweedfs.mount(client)
    except CannotInstall as error:
        pytest.skip(f"{client}: {error}")
    place, urls = store([mount])
    run = place.run(PYTHON, SAVER, "--steps", 1)
    assert run.wait() == EXIT_CONFIGURATION and run.out == "", run
    assert f"{bucket} (AWS_ENDPOINT_URL_S3" in one_line(run.err), run
    told = place.query("doctor", "--store", urls[0], "--measure", "0")
    assert told.code == 1 and "\nfail  store" in told.out and bucket in told.out, told


def doctors_word(place, *options):
    result = place.query("doctor", "--store", place.store, "--measure", "0", "--json", *options)
    return next((row for row in result.json["checks"] if row["check"] == "mounts"), None)


def test_the_doctor_tries_two_mounts_and_says_that_one_proves_nothing(late, store):
    place, urls = store(late)
    alone = doctors_word(place)
    assert alone["level"] == "warn" and "proves nothing" in alone["text"] and "--also" in alone["fix"], alone
    place.store_path.mkdir()
    assert doctors_word(place, "--also", urls[1].removeprefix("file://"))["level"] == "ok"
    same = doctors_word(place, "--also", place.store_path)
    assert same["level"] == "fail" and "the same mount" in same["text"], same
    (late[1] / "other").mkdir()
    other = doctors_word(place, "--also", late[1] / "other")
    assert other["level"] == "fail" and "2 got one name" in other["text"], other
