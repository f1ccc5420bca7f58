"""The program and a store behind a network: what it says, how long it waits, and what the job gets to see of it."""
import json
import os
import re
import shutil
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from harness import EXIT_CONFIGURATION, EXIT_DURABLE, EXIT_NOT_DURABLE, EXIT_OURS, EXIT_USAGE, PYTHON, SAVER, Place, is_alive, one_line, wait_for

OFTEN = ("--quiet-time", "100ms")
SILENCE = {"rules": [{"on": {}, "answer": {"delay": 3600}}]}
FAILURE = {"rules": [{"on": {}, "answer": {"status": 503, "code": "SlowDown"}}]}
# Longer than any test may take: what waits for the store's own patience hangs.
FOR_EVER = "1000s"


@pytest.fixture
def cloud(faults, tmp_path):
    place = Place(tmp_path, store="s3://snaps/team", environment={**faults.environment, "REPRIEVE_S3_CHECKSUM": "off"})
    yield place
    place.end()


def start(cloud, *options, steps, pause="0.3", **environment):
    """A job with a commit."""
    run = cloud.run(PYTHON, SAVER, "--steps", steps, "--pause", pause, options=(*OFTEN, *options), **environment)
    run.wait_for_event("durable")
    return run


def wait_for_saves(run, count):
    saved = run.out.count("saved")
    wait_for("the job goes on", lambda: run.out.count("saved") >= saved + count, process=run.process)


# --- how it begins ---


def test_a_store_that_does_not_answer_is_named_before_it_is_given_up(cloud, faults):
    """What is waited for, and for how long: while it is waited for."""
    faults.load(SILENCE)
    waiting = f"store {cloud.store} gives no good answer so far: it is tried for up to 16 min 40 s (REPRIEVE_STORE_PATIENCE)"
    run = cloud.run("true", REPRIEVE_STORE_PATIENCE=FOR_EVER)
    wait_for("word of the store", lambda: waiting in run.err, process=run.process)
    run.signal(signal.SIGTERM)
    run.wait()
    listed = cloud.verb("list", REPRIEVE_STORE_PATIENCE="3s")
    assert "gives no good answer so far: it is tried for up to 3.0 s" in listed.err and listed.code != 0, listed


def silent(cloud, faults, *options, **more):
    """A start whose store gives no answer yet."""
    faults.load(FAILURE)
    return cloud.run(PYTHON, SAVER, "--pause", "0.3", options=(*OFTEN, *options), REPRIEVE_STORE_PATIENCE="2s", **more)


def saved_here(cloud, steps=2):
    assert cloud.run(PYTHON, SAVER, "--steps", steps, "--pause", "0.3", options=OFTEN).wait() == 0


def test_what_lies_here_is_gone_on_from_until_the_store_answers(cloud, faults):
    saved_here(cloud)
    run = silent(cloud, faults)
    run.wait_for_output("saved 4")
    assert "resumes 2" in run.out and "until the store answers" in run.err, run
    faults.behave()
    wait_for("what it has saved is durable", lambda: (cloud.newest() or {}).get("step", 0) > 4, process=run.process, about=run)
    run.kill()


def test_what_was_never_claimed_is_gone_on_from_after_a_kill(cloud, faults):
    """The store has less than what lies here, and answers again."""
    saved_here(cloud)
    run = silent(cloud, faults)
    run.wait_for_output("saved 5")
    run.kill()
    faults.behave()
    again = cloud.run(PYTHON, SAVER, "--steps", 7, options=OFTEN)
    assert again.wait() == 0 and re.search("resumes [5-9]", again.out), again


def test_where_nothing_lies_the_newest_may_be_in_the_store(cloud, faults):
    saved_here(cloud)
    for options, directory in (((), cloud.path / "elsewhere"), (("--restore", "000001-000001"), None)):
        run = silent(cloud, faults, *options, directory=directory)
        assert run.wait() == EXIT_OURS and "resumes" not in run.out, run


def test_what_lies_here_is_behind_what_another_machine_has_saved(cloud, faults):
    saved_here(cloud)
    assert cloud.run(PYTHON, SAVER, "--steps", 4, "--pause", "0.3", options=OFTEN, directory=cloud.path / "elsewhere").wait() == 0
    newest = cloud.newest()["id"]
    run = silent(cloud, faults)
    run.wait_for_output("saved 3")
    faults.behave()
    run.wait_for_event("claim_failed")
    assert "another attempt has saved since" in run.err, run
    run.kill()
    # A claim would end what that one goes on to save.
    claims = [key for key in faults.memory.buckets["snaps"] if re.search(r"/attempts/[0-9]+[.]json$", key)]
    assert cloud.newest()["id"] == newest and len(claims) == 2, claims


# --- how it ends ---


def test_the_end_is_said_before_the_end_record_is_tried(cloud, faults):
    """With a store that is silent, the deadline is what ends the run: not the patience of a record that nobody needs."""
    run = start(cloud, "--grace", "3", steps=10**6, REPRIEVE_STORE_PATIENCE=FOR_EVER)
    faults.load(SILENCE)
    wait_for_saves(run, 2)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_NOT_DURABLE, run
    assert "NOT durable" in run.err.splitlines()[-1] and f"exit {EXIT_NOT_DURABLE}" in run.err


def test_a_finished_job_does_not_wait_for_a_record_either(cloud, faults):
    """Everything is durable, and then the store falls silent."""
    go_on = cloud.path / "go-on"
    script = f"{PYTHON} {SAVER} --steps 1 --pause 0.5; while [ ! -e {go_on} ]; do sleep 0.05; done"
    run = cloud.run("sh", "-c", script, options=OFTEN, REPRIEVE_STORE_PATIENCE=FOR_EVER)
    run.wait_for_event("durable")
    faults.load(SILENCE)
    go_on.touch()
    assert run.wait() == 0, run
    assert "NOT durable" not in run.err


def test_a_finished_job_gives_up_on_a_dead_store(cloud, faults):
    """One line says what is not durable, why, and the exit code; --flush-time is what it waits for."""
    run = start(cloud, "--flush-time", "2s", steps=8, REPRIEVE_STORE_PATIENCE="3s")
    faults.load(FAILURE)
    assert run.wait() == 0, run
    last = run.err.splitlines()[-1]
    for word in ("step 8", str(cloud.directory), "NOT durable", "--flush-time", "exit 0"):
        assert word in last, run


def test_a_silent_store_is_given_up_too(cloud, faults):
    """It has failed before, and now it hangs: no try may outlast --flush-time."""
    run = start(cloud, "--flush-time", "2s", steps=12, REPRIEVE_STORE_PATIENCE="3s")
    faults.load(FAILURE)
    run.wait_for_event("snapshot_failed")
    faults.load(SILENCE)
    assert run.wait() == 0, run
    assert "NOT durable" in run.err.splitlines()[-1], run


def test_a_dead_store_makes_a_strict_run_fail(cloud, faults):
    run = start(cloud, "--flush-time", "1s", "--strict", steps=6, REPRIEVE_STORE_PATIENCE="3s")
    faults.load(FAILURE)
    assert run.wait() == EXIT_NOT_DURABLE, run


def test_as_long_as_there_is_patience_it_is_tried_again(cloud, faults):
    """More often than three times, and at last it works."""
    run = start(cloud, "--flush-time", "100s", steps=4, REPRIEVE_STORE_PATIENCE="3s")
    faults.load(FAILURE)
    run.wait_for_event("child_exited")
    before = len(run.events("snapshot_failed"))
    run.wait_for_event("snapshot_failed", count=before + 4)
    faults.behave()
    assert run.wait() == 0, run
    assert "NOT durable" not in run.err and cloud.newest()["step"] == 4


def test_at_a_notice_it_is_tried_until_the_deadline(cloud, faults):
    run = start(cloud, "--grace", "100", "--flush-time", "1s", steps=10**6, REPRIEVE_STORE_PATIENCE="3s")
    faults.load(FAILURE)
    wait_for_saves(run, 2)
    run.signal(signal.SIGTERM)
    run.wait_for_event("child_exited")
    before = len(run.events("snapshot_failed"))
    run.wait_for_event("snapshot_failed", count=before + 4)
    faults.behave()
    assert run.wait() == 75, run


# --- what it says, and what it keeps to itself ---


def test_whose_credentials_is_said_and_no_secret(cloud, faults):
    run = start(cloud, steps=2)
    assert run.wait() == 0, run
    line = next(line for line in run.err.splitlines() if "credentials" in line)
    assert cloud.store in line and "environment" in line and faults.url in line
    assert faults.secret_key not in run.err + run.out + run.events_path.read_text()


def test_the_job_sees_nothing_of_ours_but_what_is_documented(cloud, tmp_path):
    """Its environment is what the user gave, and the names that reprieve(1) lists."""
    script = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"
    run = cloud.run(PYTHON, "-c", script, tmp_path / "seen.json", options=("--shim", "on"))
    assert run.wait() == 0, run
    seen = json.loads((tmp_path / "seen.json").read_text())
    added = {name for name, value in seen.items() if cloud.environment.get(name) != value}
    shim = {"LD_PRELOAD", "ASAN_OPTIONS", "REPRIEVE_SHIM_CHANNEL", "REPRIEVE_PAGE"}
    pythons = {"LC_CTYPE"}
    trackers = {"WANDB_RUN_ID", "WANDB_RESUME"}
    documented = {f"REPRIEVE_{name}" for name in ("JOB", "ATTEMPT", "RESUMING", "STEP", "CHECKPOINT_DIR", "NOTICE_FILE", "MACHINES", "MACHINE")}
    outer = {name for name in added if name.startswith("REPRIEVE_OUTER_")}  # for a run inside the job
    assert documented <= added <= documented | shim | pythons | trackers | outer
    assert not set(cloud.environment) - set(seen), "something of the user's is gone"


def test_no_secret_on_a_command_line(cloud, faults):
    """Of whichever process: its secret is this server's alone, so that nobody else has it there."""
    run = start(cloud, steps=10**6)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                assert faults.secret_key.encode() not in file.read()
        except (FileNotFoundError, ProcessLookupError):
            pass
    run.kill()


def test_a_stalled_upload_shows_no_estimate(cloud, faults):
    """A line every few seconds; while nothing moves it says so, and nothing of hours."""
    tree = cloud.path / "tree"
    tree.mkdir()
    (tree / "content").write_bytes(os.urandom(10_000_000))
    faults.load({"rules": [{"on": {"method": "PUT", "key": "[.]pack$", "nth": 1}, "answer": {"delay": 12}}]})
    result = cloud.verb("save", tree, "--connections", "1", "--memory", "32MiB", REPRIEVE_STORE_PATIENCE="60s")
    assert result.code == 0, result
    assert "nothing moved for" in result.err, result
    assert not re.search(r"\d (h|d)\b.* left", result.err), result


# --- how content is moved ---


def test_bandwidth_is_not_for_restoring(place):
    result = place.verb("restore", "latest", place.path / "back", "--bandwidth", "1MB/s")
    assert result.code == EXIT_USAGE and "--bandwidth" in one_line(result)


def count_at_once(faults, monkeypatch):
    """The most requests for packs that were being answered at the same time."""
    state = {"now": 0, "most": 0}
    decide = faults.server.RequestHandlerClass.decide

    def counted(handler, request, answer):
        pack = request.key.endswith(".pack")
        if pack:
            with faults.lock:
                state["now"] += 1
                state["most"] = max(state["most"], state["now"])
            handler.wait(0.2)
        try:
            return decide(handler, request, answer)
        finally:
            if pack:
                with faults.lock:
                    state["now"] -= 1
    monkeypatch.setattr(faults.server.RequestHandlerClass, "decide", counted)
    return state


@pytest.mark.parametrize("connections", [1, 3])
def test_connections_are_as_many_as_were_allowed(cloud, faults, monkeypatch, connections):
    tree = cloud.path / "tree"
    tree.mkdir()
    for number in range(3):
        (tree / f"file{number}").write_bytes(os.urandom(9_000_000))
    state = count_at_once(faults, monkeypatch)
    for arguments in (("save", tree), ("restore", "latest", cloud.path / "back")):
        state["most"] = 0
        result = cloud.verb(*arguments, "--connections", str(connections), "--memory", "32MiB")
        assert result.code == 0, result
        assert 1 <= state["most"] <= connections, (arguments, state)
    assert connections == 1 or state["most"] > 1


def test_the_cap_of_memory_makes_smaller_packs(cloud, faults):
    """What is being sent fits in the memory that was allowed."""
    tree = cloud.path / "tree"
    tree.mkdir()
    (tree / "content").write_bytes(os.urandom(20_000_000))
    assert cloud.verb("save", tree, "--memory", "32MiB").code == 0
    packs = [len(value.body if hasattr(value, "body") else value[0] if isinstance(value, tuple) else value)
             for key, value in faults.memory.buckets["snaps"].items() if key.endswith(".pack")]
    assert max(packs) <= 16 << 20, packs


def test_run_passes_them_on(cloud, faults, monkeypatch):
    state = count_at_once(faults, monkeypatch)
    run = cloud.run(PYTHON, SAVER, "--steps", 1, "--size", 60_000_000,
                    options=(*OFTEN, "--connections", "1", "--memory", "32MiB", "--bandwidth", "500MB/s"))
    assert run.wait() == 0, run
    # One, and one that was begun early and is still on its way; eight are allowed without the option, and three are seen.
    assert 1 <= state["most"] <= 2 and cloud.newest()


# --- a store that is emptied under the job ---


def test_an_emptied_store_is_filled_again(place):
    """The directory is deleted while the job runs: the next snapshots need nothing that was there, and the store is one."""
    run = place.run(PYTHON, SAVER, "--steps", 14, "--pause", "0.4", "--size", 300_000, options=OFTEN)
    run.wait_for_event("durable", count=2)
    shutil.rmtree(place.store_path)
    assert run.wait() == 0, run
    assert "emptied" in run.err and "not durable" not in run.err, run.err
    assert place.newest()["step"] == 14
    result = place.verb("verify")
    assert result.code == 0, result
    again = place.run(PYTHON, SAVER, "--steps", 15, options=OFTEN, directory=place.path / "elsewhere")
    assert again.wait() == 0 and "resumes 14" in again.out, again


def test_who_starts_in_an_emptied_store_takes_over(place):
    """Its number is 1 again, and so not higher than that of the one that still runs elsewhere."""
    old = place.run(PYTHON, SAVER, "--pause", "0.3", options=OFTEN, directory=place.path / "old")
    old.wait_for_event("durable")
    old.signal(signal.SIGSTOP)
    shutil.rmtree(place.store_path)
    new = place.run(PYTHON, SAVER, "--pause", "0.3", options=OFTEN, directory=place.path / "new")
    new.wait_for_event("durable")
    old.signal(signal.SIGCONT)
    wait_for("the old one gives up", lambda: "superseded" in old.err, process=old.process)
    assert "the store was emptied, and attempt 1 has begun in it" in old.err, old
    count = len(new.events("durable"))
    new.wait_for_event("durable", count=count + 1)
    assert "superseded" not in new.err and is_alive(old.job_pid)


# --- two at once ---


def test_two_in_one_checkpoint_directory(place):
    first = place.run(PYTHON, SAVER, "--pause", "0.3", options=OFTEN)
    first.wait_for_event("durable")
    second = place.run("touch", place.path / "started", name="second")
    assert second.wait() == EXIT_OURS, "another start, later or elsewhere, may well succeed"
    line = one_line(second.err)
    assert str(place.directory) in line and str(first.pid) in line and "--checkpoint-dir" in line
    assert not (place.path / "started").exists()
    count = len(first.events("durable"))
    first.wait_for_event("durable", count=count + 2)
    assert "superseded" not in first.err and is_alive(first.job_pid)
    # The lock goes with its process, however that ends.
    first.kill()
    third = place.run(PYTHON, SAVER, "--steps", 1, options=OFTEN, name="third")
    assert third.wait() == 0, third


# --- while it restores, and at the end ---


SLOW_LIST = {"rules": [{"on": {"operation": "list"}, "answer": {"delay": 2}}]}
SLOW_CONTENT = {"rules": [{"on": {"method": "GET", "key": "[.]pack$"}, "answer": {"delay": 2}}]}
SLOW_COMMIT = {"rules": [{"on": {"method": "PUT", "key": "/snapshots/"}, "answer": {"perform": True, "delay": 2}}]}


def saved_once(cloud):
    """A snapshot in the store, and nothing on this machine."""
    assert cloud.run(PYTHON, SAVER, "--steps", 1, options=OFTEN).wait() == 0
    shutil.rmtree(cloud.directory)


def restoring(cloud, faults, *command, options=(), **more):
    run = cloud.run(*command, options=(*OFTEN, *options), **more)
    wait_for("it restores", lambda: faults.rules[0].used, process=run.process)
    return run


def test_nohup_holds_while_it_restores(cloud, faults):
    saved_once(cloud)
    faults.load(SLOW_LIST)
    run = restoring(cloud, faults, "sh", "-c", "echo launched; exit 4", wrapper=("nohup",))
    run.signal(signal.SIGHUP)
    assert run.wait() == 4 and "launched" in run.out, run


def test_a_signal_that_comes_while_it_restores_is_passed_on(cloud, faults):
    saved_once(cloud)
    faults.load(SLOW_LIST)
    run = restoring(cloud, faults, "sleep", "60")
    run.signal(signal.SIGUSR2)
    assert run.wait() == 128 + signal.SIGUSR2, run


def test_an_attempt_that_is_preempted_while_it_restores_has_an_end(cloud, faults):
    """Without a record it would count as a machine that was lost without a word."""
    saved_once(cloud)
    faults.load(SLOW_CONTENT)
    run = restoring(cloud, faults, PYTHON, SAVER, "--steps", 2)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE and "resumes" not in run.out, run
    assert [key for key in faults.memory.buckets["snaps"] if key.endswith("000002.end.json")], run
    # And it is no attempt without progress.
    faults.behave()
    again = cloud.run(PYTHON, SAVER, "--steps", 2, options=("--max-no-progress", "1", *OFTEN))
    assert again.wait() == 0, again


def test_ctrl_c_ends_a_restore(cloud, faults):
    """Also where the store has nothing to say for long."""
    saved_once(cloud)
    faults.load({"rules": [{"on": {"method": "GET", "key": "[.]pack$"}, "answer": {"delay": 3600}}]})
    run = restoring(cloud, faults, PYTHON, SAVER, "--steps", 2, REPRIEVE_STORE_PATIENCE=FOR_EVER)
    run.signal(signal.SIGINT)
    assert run.wait() == 128 + signal.SIGINT and "resumes" not in run.out, run


def test_a_notice_that_comes_after_the_end_leaves_its_code(cloud, faults):
    """Its last checkpoint is still on its way then."""
    faults.load(SLOW_COMMIT)
    words = (PYTHON, SAVER, "--steps", 1)
    run = cloud.run(*words, options=OFTEN)
    run.wait_for_event("child_exited")
    run.signal(signal.SIGTERM)
    assert run.wait() == 0, run


def test_the_job_gets_no_connection_of_ours(cloud):
    run = cloud.run("sh", "-c", "ls -l /proc/$$/fd", options=OFTEN)
    assert run.wait() == 0
    assert "pipe:" not in run.out and "socket:" not in run.out and "anon_inode" not in run.out, run


class ContainerCredentials(BaseHTTPRequestHandler):
    """A container's credentials, for whoever shows the content of the token file."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"AccessKeyId": "AK", "SecretAccessKey": "x", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_missing_token_file_is_not_a_missing_checkpoint(cloud, faults):
    """The store wants new credentials, and the file that they need is gone: what was saved last is not durable, and that is said."""
    server = HTTPServer(("127.0.0.1", 0), ContainerCredentials)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    token = cloud.path / "token"
    token.write_text("let me in")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        cloud.environment.pop(name, None)
    run = start(cloud, "--grace", "5", steps=10**6, REPRIEVE_STORE_PATIENCE="1s", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(token),
                AWS_CONTAINER_CREDENTIALS_FULL_URI=f"http://127.0.0.1:{server.server_port}/credentials")
    token.unlink()
    faults.load({"rules": [{"on": {"method": "PUT"}, "answer": {"status": 400, "code": "ExpiredToken"}}]})
    wait_for_saves(run, 2)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_NOT_DURABLE, run
    assert f"{token}: No such file or directory" in run.err and "NOT durable" in run.err.splitlines()[-1], run
    server.shutdown()


def test_a_store_without_if_absent_is_warned_of_each_time(cloud, faults):
    faults.load({"rules": [{"on": {"method": "PUT"}, "answer": {"without": ["if-none-match"]}}]})
    refused = cloud.query("doctor", "--store", cloud.store, "--measure", "0")
    assert refused.code == 1 and "If-None-Match" in refused.out and "the bucket exists" not in refused.out, refused
    cloud.environment["REPRIEVE_S3_CONDITIONAL"] = "off"
    told = cloud.query("doctor", "--store", cloud.store, "--measure", "0")
    assert told.code == 0 and "\nwarn  if-absent" in told.out and "one wins" not in told.out, told
    run = cloud.run(PYTHON, SAVER, "--steps", 1, options=OFTEN)
    assert run.wait() == 0 and "can overwrite each other's work" in run.err, run


def test_a_store_that_refuses_if_absent_is_told_how_it_can_be_used(cloud, faults):
    faults.load({"rules": [{"on": {"method": "PUT", "header": {"if-none-match": "."}}, "answer": {"status": 400, "code": "InvalidArgument"}}]})
    run = cloud.run(PYTHON, SAVER, "--steps", 1, options=OFTEN)
    assert run.wait() == EXIT_CONFIGURATION, run
    assert "REPRIEVE_S3_CONDITIONAL=off" in one_line(run.err), run


def test_a_claim_that_another_puts_over_ours_is_seen(cloud, faults):
    """Two have looked before either has put: who puts last has the number, and the other is told so by a second look."""
    cloud.environment["REPRIEVE_S3_CONDITIONAL"] = "off"
    claim = "team/jobs/job/attempts/000001.json"
    objects = faults.memory.buckets["snaps"]
    assert cloud.run("true").wait() == 0
    others = objects[claim]
    objects.clear()
    run = cloud.run("true")
    wait_for("a claim", lambda: claim in objects, process=run.process)
    time.sleep(0.1)
    objects[claim] = others
    assert run.wait() == 0 and "attempt 2: starting" in run.err, run
