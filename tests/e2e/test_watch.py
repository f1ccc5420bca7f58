"""`reprieve watch` and the notice sources of `reprieve run`, each against `reprieve mock` and its faults: what is told, what is not, and that a
watcher's fault never hurts the job."""
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

import harness
from harness import REPRIEVE, wait_for
from test_mock import Mock
from test_run import QUICK, trainer

CLOUDS = {"aws": ("AWS_EC2_METADATA_SERVICE_ENDPOINT", True), "gcp": ("GCE_METADATA_HOST", False),
          "azure": ("REPRIEVE_AZURE_METADATA_ENDPOINT", True), "alibaba": ("REPRIEVE_ALIBABA_METADATA_ENDPOINT", True),
          "tencent": ("REPRIEVE_TENCENT_METADATA_ENDPOINT", True)}


def endpoint(cloud, mock):
    variable, is_url = CLOUDS[cloud]
    return {variable: mock.url if is_url else mock.host}


def clean(tmp_path):
    """An environment without the settings of whoever runs the tests."""
    kept = {name: value for name, value in harness.STARTED_WITH.items() if not name.startswith(harness.SETTINGS)}
    return {**kept, "XDG_RUNTIME_DIR": str(tmp_path)}


class Watch:
    """A running `reprieve watch --json`, its lines as they come."""

    def __init__(self, tmp_path, *arguments, json_lines=True, **environment):
        self.lines = []
        self.process = subprocess.Popen([REPRIEVE, "watch", *(["--json"] if json_lines else []), *arguments], text=True,
                                        env={**clean(tmp_path), **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=harness.die_with_parent)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def events(self, kind):
        found = [json.loads(line) for line in list(self.lines)]
        return [event for event in found if event["event"] == kind]

    def notices(self, kind=None):
        return [event for event in self.events("notice") if kind in (None, event["kind"])]

    def wait_notice(self, kind="stop", count=1):
        return wait_for(f"{count} notice(s) of kind {kind}", lambda: len(self.notices(kind)) >= count and self.notices(kind)[-1],
                        process=self.process)

    def wait_health(self, health):
        return wait_for(f"a source that is {health}", lambda: next((event for event in self.events("source")
                                                                     if event["health"] == health), None), process=self.process)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(harness.LIMIT)
        self.reader.join(harness.LIMIT)
        self.err = self.process.stderr.read()
        return code


@pytest.fixture
def start(tmp_path):
    with contextlib.ExitStack() as stack:
        def mock(*arguments):
            one = Mock(*arguments)
            stack.callback(one.end)
            return one

        def watch(*arguments, **more):
            one = Watch(tmp_path, *arguments, **more)
            stack.callback(one.end)
            return one

        mock.watch = watch
        yield mock


def seconds_of(mock):
    return json.loads(mock.ask("GET", "/mock/state")[2])["seconds_left"]


def wait_requests(mock, more=6):
    """Until so many requests more were answered: what would have been told of the ones before has been."""
    count = lambda: json.loads(mock.ask("GET", "/mock/state")[2])["requests"]
    first = count()
    wait_for("more requests", lambda: count() >= first + more)


# --- each cloud ---


@pytest.mark.parametrize("cloud", CLOUDS)
def test_each_cloud_tells_its_notice_and_when_the_end_is(start, cloud):
    mock = start(cloud)
    watch = start.watch("--notice", cloud, **endpoint(cloud, mock))
    armed = watch.wait_health("armed")
    assert armed["name"] == cloud and mock.host in armed["endpoint"]
    assert not watch.notices()
    mock.control("fire")
    notice = watch.wait_notice()
    assert notice["source"] == cloud
    assert abs(notice["seconds_left"] - seconds_of(mock)) < 10  # the mock's whole seconds, and a busy machine
    assert notice["guessed"] == (cloud == "gcp")
    assert watch.end() == 0
    assert len(watch.notices()) == 1


@pytest.mark.parametrize("cloud", CLOUDS)
def test_auto_finds_the_cloud_by_its_variable(start, cloud):
    mock = start(cloud)
    mock.control("fire")
    watch = start.watch("--once", **endpoint(cloud, mock))
    assert watch.process.wait(harness.LIMIT) == 0
    watch.end()
    assert watch.notices()[0]["source"] == cloud


# --- faults: what is not understood is no notice, and nothing is lost by it ---


AT_THE_FLIP = ["401x3", "403x3", "404x1", "429x2", "503x3", "resetx3", "htmlx3", "truncatex2", "delay:300ms"]
NOT_UNDERSTOOD = ["html", "reset", "500", "429", "truncate", "401", "hang"]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_fault_at_the_flip_delays_the_notice_and_does_not_lose_it(start, cloud):
    """All faults at once, each on a mock of its own, so that their waits overlap."""
    mocks = [start(cloud, "--fault", fault + "@fire") for fault in AT_THE_FLIP]
    watches = [start.watch("--notice", cloud, **endpoint(cloud, mock)) for mock in mocks]
    for mock, watch in zip(mocks, watches):
        watch.wait_health("armed")
        mock.control("fire")
    for watch in watches:
        watch.wait_notice()
    for fault, watch in zip(AT_THE_FLIP, watches):
        assert watch.end() == 0
        assert [notice["kind"] for notice in watch.notices()] == ["stop"], fault


@pytest.mark.parametrize("cloud", CLOUDS)
def test_what_is_not_understood_is_no_notice(start, cloud):
    """And it is told as soon as it can be read. On EC2 some of that says that there is nothing to be had, which is looked at again later."""
    faults = [fault for fault in NOT_UNDERSTOOD if (fault, cloud) not in {("hang", "aws"), ("hang", "azure")}]
    faults.append("as:aws" if cloud == "azure" else "as:azure")
    mocks = [start(cloud, "--fault", fault) for fault in faults]
    watches = []
    for mock in mocks:
        mock.control("fire")
        watches.append(start.watch("--notice", cloud, **endpoint(cloud, mock)))
    for mock, watch in zip(mocks, watches):
        assert watch.wait_health("unknown")["why"] and not watch.notices()
        mock.control("fault", {})
    for watch in watches:
        watch.wait_notice()


def test_tokens_that_end_in_mid_run(start):
    mock = start("aws")
    watch = start.watch("--notice", "aws", **endpoint("aws", mock))
    watch.wait_health("armed")
    mock.control("expire")
    wait_requests(mock)
    mock.control("expire")
    mock.control("fire")
    watch.wait_notice()
    assert watch.end() == 0
    assert {event["health"] for event in watch.events("source")} == {"armed"}


def test_the_hop_limit_is_told_apart_from_absence(start):
    mock = start("aws", "--fault", "hop-limit")
    watch = start.watch("--notice", "aws", **endpoint("aws", mock), AWS_METADATA_SERVICE_TIMEOUT="0.2")
    state = watch.wait_health("unavailable")
    assert "hop limit" in state["why"] and "--http-put-response-hop-limit 2" in state["why"]
    silent = start("aws", "--fault", "hang")
    watch = start.watch("--notice", "aws", **endpoint("aws", silent), AWS_METADATA_SERVICE_TIMEOUT="0.2")
    assert "nothing answers" in watch.wait_health("unavailable")["why"]
    off = start("aws", "--fault", "403")
    watch = start.watch("--notice", "aws", **endpoint("aws", off))
    assert "turned off" in watch.wait_health("unavailable")["why"]


def test_a_stale_notice_does_not_end_a_new_start(start):
    mock = start("aws", "--set", '/latest/meta-data/spot/instance-action={"action":"terminate","time":"2020-01-01T00:00:00Z"}')
    watch = start.watch("--notice", "aws", **endpoint("aws", mock))
    watch.wait_health("armed")
    wait_requests(mock)
    assert not watch.notices()


def test_aws_hibernation_rebalance_maintenance_and_the_group(start):
    mock = start("aws", "--action", "hibernate")
    watch = start.watch("--notice", "aws", **endpoint("aws", mock))
    watch.wait_health("armed")
    mock.control("fire")
    assert "hibernate" in watch.wait_notice("advice")["reason"]
    mock.control("rebalance")
    watch.wait_notice("advice", 2)
    mock.control("set", {"path": "/latest/meta-data/events/maintenance/scheduled", "body": json.dumps([{
        "NotBefore": "21 Jan 2099 09:00:43 GMT", "Code": "system-reboot", "Description": "scheduled reboot",
        "EventId": "instance-event-1", "NotAfter": "", "State": "active"}])})
    assert "2099-01-21" in watch.wait_notice("advice", 3)["reason"]
    assert not watch.notices("stop")
    mock.control("set", {"path": "/latest/meta-data/autoscaling/target-lifecycle-state", "body": "Terminated"})
    stop = watch.wait_notice()
    assert stop["identity"] == "autoscaling" and stop["guessed"]
    mock.control("set", {"path": "/latest/meta-data/autoscaling/target-lifecycle-state"})
    assert watch.wait_notice("cancelled")["identity"] == "autoscaling"


def test_an_end_that_aws_shows_no_more_still_comes(start):
    """As soon as somebody terminates the instance himself, because of the notice, it is answered with 404."""
    mock = start("aws")
    watch = start.watch("--notice", "aws", **endpoint("aws", mock))
    watch.wait_health("armed")
    mock.control("fire")
    watch.wait_notice()
    mock.control("fault", {"path": "/latest/meta-data/spot", "fault": "404"})
    wait_requests(mock, 8)
    assert not watch.notices("cancelled")


def test_a_part_of_aws_that_cannot_be_read_is_said(start):
    mock = start("aws")
    mock.control("fault", {"path": "/latest/meta-data/autoscaling", "fault": "403"})
    watch = start.watch("--notice", "aws", **endpoint("aws", mock))
    said = wait_for("a remark", lambda: [event["why"] for event in watch.events("source") if event["health"] == "armed" and event["why"]],
                    process=watch.process)
    assert "Auto Scaling" in said[0]


def test_gcp_maintenance_upcoming_and_a_longer_notice(start):
    mock = start("gcp")
    watch = start.watch("--notice", "gcp:120s", **endpoint("gcp", mock))
    watch.wait_health("armed")
    mock.control("advice")
    assert watch.wait_notice("advice")["identity"] == "migration"
    mock.control("set", {"path": "/computeMetadata/v1/instance/upcoming-maintenance",
                         "body": '{"windowStartTime": "2099-01-01T00:00:00Z", "maintenanceStatus": "PENDING"}'})
    assert "2099-01-01" in watch.wait_notice("advice", 2)["reason"]
    mock.control("set", {"path": "/computeMetadata/v1/instance/upcoming-maintenance",
                         "body": '{"windowStartTime": "2099-03-01T00:00:00Z", "maintenanceStatus": "PENDING"}'})
    assert "2099-03-01" in watch.wait_notice("advice", 3)["reason"]
    assert "2099-01-01" in watch.wait_notice("cancelled")["identity"]
    mock.control("fire")
    assert 60 < watch.wait_notice()["seconds_left"] <= 120


def test_gcp_is_not_asked_again_and_again(start):
    """Its GETs hang until something changes; so every change is told at once, and nobody polls."""
    mock = start("gcp")
    watch = start.watch("--notice", "gcp", **endpoint("gcp", mock))
    watch.wait_health("armed")
    time.sleep(2)  # of each of the three keys its value, and one that hangs
    before = json.loads(mock.ask("GET", "/mock/state")[2])["requests"]
    time.sleep(3)
    assert json.loads(mock.ask("GET", "/mock/state")[2])["requests"] - before <= 1
    mock.control("fire")
    watch.wait_notice()


def test_gkes_metadata_server_is_recognised(start):
    mock = start("gcp", "--gke")
    mock.control("fire")
    watch = start.watch("--notice", "gcp", **endpoint("gcp", mock))
    state = watch.wait_health("unavailable")
    assert "GKE" in state["why"] and "hostNetwork" in state["why"]
    assert not watch.notices()


def test_alibabas_hardened_mode(start):
    mock = start("alibaba", "--hardened")
    mock.control("fire")
    watch = start.watch("--notice", "alibaba", **endpoint("alibaba", mock))
    assert watch.wait_notice()["seconds_left"] > 200


# --- Azure ---


def test_azure_foreign_freeze_cancel_and_again(start):
    mock = start("azure", "--name", "vmss_4")
    mock.control("foreign")
    mock.control("advice")
    watch = start.watch("--notice", "azure", **endpoint("azure", mock))
    watch.wait_health("armed")
    wait_requests(mock, 3)
    assert not watch.notices()
    mock.control("fire")
    first = watch.wait_notice()
    mock.control("cancel")
    assert watch.wait_notice("cancelled")["identity"] == first["identity"]
    mock.control("fire")
    assert watch.wait_notice("stop", 2)["identity"] != first["identity"]


def test_azures_first_call_may_take_long(start):
    mock = start("azure")
    mock.control("fault", {"fault": "delay:6sx1", "path": "/metadata/scheduledevents"})
    watch = start.watch("--notice", "azure", **endpoint("azure", mock))
    assert "2 minutes" in watch.wait_health("starting")["why"]
    watch.wait_health("armed")
    assert watch.end() == 0
    assert [event["health"] for event in watch.events("source")] == ["starting", "armed"]


# --- sources without a cloud ---


def test_a_pipe_is_no_notice_file(start, tmp_path):
    """To open it would wait for whoever writes to it, and so would the end."""
    os.mkfifo(tmp_path / "pipe")
    watch = start.watch("--notice", f"file:{tmp_path}/pipe")
    assert "is not a regular file" in watch.wait_health("unknown")["why"]
    assert watch.end() == 0 and not watch.notices()


def test_deadline_and_slurm(start, tmp_path):
    watch = start.watch("--notice", "none", "--deadline", "3s", "--deadline-notice", "2s")
    watch.wait_health("armed")
    notice = watch.wait_notice()
    assert notice["source"] == "deadline" and notice["seconds_left"] <= 2
    watch = start.watch("--notice", "slurm", "--deadline-notice", "60s", SLURM_JOB_ID="1", SLURM_JOB_END_TIME=str(int(time.time()) + 62))
    assert 40 < watch.wait_notice()["seconds_left"] <= 60
    # A job that is shorter than the notice keeps most of its time.
    watch = start.watch("--notice", "slurm", SLURM_JOB_ID="1", SLURM_JOB_END_TIME=str(int(time.time()) + 8))
    assert watch.wait_notice()["seconds_left"] <= 2.1
    watch = start.watch(SLURM_JOB_ID="1", SLURM_JOB_END_TIME=str(int(time.time()) + 100000), REPRIEVE_NOTICE="auto")
    assert watch.wait_health("armed")["name"] == "slurm"
    # Before 23.02 only scontrol knows the end. An administrator may raise the limit, or set one later.
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"""#!/bin/sh
echo "$*" >>{tmp_path}/asked
echo "JobId=1 JobState=RUNNING EndTime=$(date -d "@$(cat {tmp_path}/end)" +%Y-%m-%dT%H:%M:%S) Deadline=N/A"
""")
    scontrol.chmod(0o755)
    slurm = {"SLURM_JOB_ID": "3", "SLURM_ARRAY_JOB_ID": "3", "SLURM_ARRAY_TASK_ID": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (tmp_path / "end").write_text(str(int(time.time()) + 32))
    watch = start.watch("--notice", "slurm", "--deadline-notice", "30s", **slurm)
    watch.wait_health("armed")
    (tmp_path / "end").write_text(str(int(time.time()) + 36))
    assert 25 < watch.wait_notice()["seconds_left"] <= 30
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) >= 2 and set(asked) == {"--oneliner show job 3_1"}
    scontrol.write_text("#!/bin/sh\necho 'JobId=1 JobState=RUNNING EndTime=Unknown Deadline=N/A'\n")
    watch = start.watch("--notice", "slurm", **slurm)
    assert "no time limit" in watch.wait_health("armed")["endpoint"]
    scontrol.write_text("#!/bin/sh\nexit 1\n")
    watch = start.watch("--notice", "slurm", **slurm)
    assert "the time limit is not known" in watch.wait_health("unknown")["why"]
    watch = start.watch("--notice", "slurm", SLURM_JOB_ID="3", PATH="/nowhere")
    assert "give --deadline" in watch.wait_health("unavailable")["why"]
    watch = start.watch("--notice", "slurm")
    assert "SLURM_JOB_ID" in watch.wait_health("unavailable")["why"]
    watch = start.watch("--notice", "none", "--deadline", "2020-01-01T00:00:00Z")
    assert "was over" in watch.wait_health("unavailable")["why"]
    assert not watch.notices()


def test_a_member_that_is_not_known_is_said_once(start, place, tmp_path):
    file = tmp_path / "notice"
    watch = start.watch("--notice", f"file:{file}")
    remarks = lambda: [event["why"] for event in watch.events("source") if event["why"]]
    watch.wait_health("armed")
    file.write_text('{"reason": "drain", "seconds": 90}')
    wait_for("a remark", remarks, process=watch.process)
    assert 28 < watch.wait_notice()["seconds_left"] <= 30
    file.unlink()
    watch.wait_notice("cancelled")
    file.write_text('{"reason": "drain", "in_seconds": 90}')
    wait_for("the next notice", lambda: len(watch.notices("stop")) == 2, process=watch.process)
    assert watch.notices("stop")[1]["seconds_left"] > 60
    assert remarks() == ['but "seconds" is not known (known are kind, reason, deadline, in_seconds)']
    assert watch.end() == 0


def test_several_sources_are_one_notice_that_only_comes_sooner(start, tmp_path):
    mock = start("aws")
    file = tmp_path / "notice"
    watch = start.watch("--notice", f"aws,file:{file}", **endpoint("aws", mock))
    mock.control("fire")
    assert watch.wait_notice()["source"] == "aws"
    file.write_text('{"in_seconds": 1000}')
    time.sleep(0.5)
    file.write_text('{"in_seconds": 20}')
    assert watch.wait_notice("stop", 2)["source"] == "file"
    assert watch.end() == 0
    assert len(watch.notices()) == 2


# --- the verb ---


def test_a_command_on_each_and_exit_codes(start, tmp_path):
    file, seen = tmp_path / "notice", tmp_path / "seen"
    script = f'echo "$REPRIEVE_NOTICE_KIND $REPRIEVE_NOTICE_SOURCE $REPRIEVE_NOTICE_REASON" >>{seen}'
    watch = start.watch("--notice", f"file:{file}", "--", "sh", "-c", script, json_lines=False)
    file.write_text("drain")
    wait_for("the command", lambda: seen.exists() and "stop file drain" in seen.read_text(), process=watch.process)
    file.unlink()
    wait_for("the next", lambda: "cancelled" in seen.read_text(), process=watch.process)
    assert watch.end() == 0
    assert "preemption notice from file (drain)" in watch.lines[0]
    file.write_text("now")
    for arguments, code in [(("--exec", "exit 7"), 7), (("--exec", "kill -9 $$"), 137), (("--", str(tmp_path / "missing")), 127), ((), 0)]:
        watch = start.watch("--notice", f"file:{file}", "--once", *arguments)
        assert watch.process.wait(harness.LIMIT) == code, watch.process.stderr.read()
    file.unlink()
    watch = start.watch("--notice", f"file:{file}", "--once", "--timeout", "300ms")
    assert watch.process.wait(harness.LIMIT) == 1


@pytest.mark.parametrize("stop, code, said", [(False, 1, "advice\n"), (True, 7, "advice\nstop\n")])
def test_the_timeout_ends_a_command_and_no_stop_that_came_in_time(start, tmp_path, stop, code, said):
    file, seen = tmp_path / "notice", tmp_path / "seen"
    file.write_text('{"kind": "advice", "reason": "perhaps"}')
    script = f'echo "$REPRIEVE_NOTICE_KIND" >>{seen}; [ "$REPRIEVE_NOTICE_KIND" = stop ] || exec sleep 600; exit 7'
    watch = start.watch("--notice", f"file:{file}", "--once", "--timeout", "4s", "--", "sh", "-c", script)
    wait_for("the command", seen.exists, process=watch.process)
    if stop:
        file.write_text("now")
    assert watch.process.wait(harness.LIMIT) == code
    assert seen.read_text() == said


@contextlib.contextmanager
def broken_output(kind):
    """A descriptor to write to, and in vain."""
    if kind == "full":
        output = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, output = os.pipe()
        os.close(reader)
    try:
        yield output
    finally:
        os.close(output)


def watch_once(tmp_path, output, *arguments):
    """At a notice that is there already; its result."""
    (tmp_path / "notice").write_text("now")
    command = [REPRIEVE, "watch", "--notice", f"file:{tmp_path}/notice", "--once", *arguments]
    return subprocess.run(command, env=clean(tmp_path), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
                          timeout=harness.LIMIT)


SAVE = 'echo "$REPRIEVE_NOTICE_KIND" >saved; exit 7'


@pytest.mark.parametrize("options, code", [((), 7), (("--json",), 0)])
@pytest.mark.parametrize("kind, why", [("full", "No space left"), ("pipe", "Broken pipe")])
def test_the_command_runs_whatever_becomes_of_the_output(tmp_path, monkeypatch, kind, why, options, code):
    """It is what saves the work; a log that is full must not keep it from that, and is said once."""
    monkeypatch.chdir(tmp_path)
    with broken_output(kind) as output:
        ended = watch_once(tmp_path, output, *options, "--", "sh", "-c", SAVE.replace("7", str(code)))
    assert ended.returncode == code, ended
    assert (tmp_path / "saved").read_text() == "stop\n"
    assert ended.stderr.count(why) == 1 and "warning" in ended.stderr, ended


@pytest.mark.parametrize("arguments, code, word", [
    (["--notice", "none"], 69, "no source to watch: notice sources are disabled"),
    (["--notice", "mars"], 64, "mars"),
    (["--exec", "true", "--", "true"], 64, "leave one"),
])
def test_refusals_are_one_line(start, tmp_path, arguments, code, word):
    watch = start.watch(*(arguments if "--notice" in arguments else ["--notice", f"file:{tmp_path}/notice", *arguments]))
    assert watch.process.wait(harness.LIMIT) == code
    watch.end()
    assert len(watch.err.splitlines()) == 1 and word in watch.err


# --- the job is never hurt, and status says how it stands ---


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_watchers_fault_never_ends_or_delays_the_job(start, place, cloud, tmp_path):
    for fault in ["hang", "reset", "html", "503", "slow"]:
        flag = tmp_path / f"flag-{fault}"
        mock = start(cloud, "--fault", fault)
        run = place.run("sh", "-c", f"echo began; until [ -e {flag} ]; do sleep 0.02; done; exit 5", name=fault, options=("--notice", cloud),
                        **endpoint(cloud, mock))
        run.wait_for_output("began")
        wait_requests(mock, 1 if fault == "hang" else 2)
        assert run.process.poll() is None
        flag.touch()
        assert run.wait() == 5, run
        assert not run.events("notice")


def test_advice_is_no_reason_to_leave(place, tmp_path):
    """A job that leaves when its notice file is there is not sent away by advice."""
    said = tmp_path / "said"
    script = 'until [ -e "$REPRIEVE_NOTICE_FILE" ]; do sleep 0.02; done; cat "$REPRIEVE_NOTICE_FILE"; exit 3'
    run = place.run("sh", "-c", script, options=("--notice", f"file:{said}", "--checkpoint-signal", "none"))
    run.wait_for_event("launched")
    said.write_text('{"kind": "advice", "reason": "perhaps"}')
    run.wait_for_event("notice")
    assert not list(Path(place.runtime).rglob("notice*")) and run.process.poll() is None
    said.write_text('{"reason": "now", "in_seconds": 60}')
    run.wait_for_output('"now"')
    assert '"stop"' in run.out and '"advice"' not in run.out
    run.wait()


def test_status_shows_the_sources_and_the_notice(start, place, tmp_path):
    place.job = f"status-{os.getpid()}"  # other jobs of this user are not asked
    mock = start("aws", "--fault", "hop-limit")
    run = place.run("sleep", "600", options=("--notice", f"aws,file:{tmp_path}/notice", "--checkpoint-signal", "none"),
                    **endpoint("aws", mock), AWS_METADATA_SERVICE_TIMEOUT="0.2")
    sources = lambda: {source["name"]: source for job in place.query("status", "--json", "--job", place.job).json["jobs"] for source in job["sources"]}
    wait_for("a job that answers", lambda: place.query("status", "--json", "--job", place.job).code == 0, process=run.process)
    wait_for("states", lambda: [one["health"] for one in sources().values()] == ["unavailable", "armed"], process=run.process)
    assert "hop limit" in sources()["aws"]["why"]
    text = place.query("status", "--job", place.job).out
    assert "notices   aws: unavailable" in text and "            file: armed\n" in text
    assert "notices from aws: unavailable: token answers" in run.err
    (tmp_path / "notice").write_text(json.dumps({"reason": "drain", "in_seconds": 600, "resaon": "a slip"}))
    wait_for("the notice", lambda: "stop from file (drain)" in place.query("status", "--job", place.job).out, process=run.process)
    wait_for("a warning", lambda: "notices from file: armed" in run.err and '"resaon" is not known (known are kind, reason,' in run.err, process=run.process)


def test_acknowledged_only_after_it_is_durable(start, place):
    mock = start("azure", "--notice", "60s")
    for options, acknowledged in [((), False), (("--acknowledge",), True)]:
        run = place.run(*trainer(place, "--signal", "USR1"), name=f"acknowledged-{acknowledged}",
                        options=(*QUICK, "--notice", "azure", "--checkpoint-signal", "USR1", *options), **endpoint("azure", mock))
        wait_for("armed", lambda: any(event["health"] == "armed" for event in run.events("source")), process=run.process)
        run.wait_for_output("step ")
        mock.control("fire")
        assert run.wait() == harness.EXIT_DURABLE, run
        status = json.loads(mock.ask("GET", "/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"})[2])
        assert status["Events"][0]["EventStatus"] == ("Started" if acknowledged else "Scheduled")
        names = [event["event"] for event in run.events()]
        assert ("acknowledged" in names) == acknowledged
        if acknowledged:
            assert names.index("acknowledged") > max(i for i, name in enumerate(names) if name == "durable")
        mock.control("cancel")
