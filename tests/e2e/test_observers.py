"""What the operator sees: metrics, webhooks, the ledger and the log in the store. None of it may ever hurt the job."""
import http.server
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from harness import EXIT_DURABLE, EXIT_USAGE, LIMIT, PYTHON, REPRIEVE, ROOT, SAVER, die_with_parent, one_line, wait_for
from test_schedulers import a_name_of_its_own  # noqa: F401

OPTIONS = ("--quiet-time", "200ms", "--checkpoint-signal", "USR1")
TRAINER = (PYTHON, SAVER, "--on-signal")
SAMPLE = re.compile(r'^(reprieve_[a-z_]+)\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\} (-?[0-9.e+-]+)$')


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as listener:
            listener.bind(("::1", 0))
        return True
    except OSError:
        return False


def get(port, path, host="127.0.0.1"):
    try:
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(text):
    """{name: [(labels, value)]} of text that keeps to the exposition format."""
    found, typed = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert kind in ("gauge", "counter") and (kind == "counter") == name.endswith("_total"), line
            typed.add(name)
        elif not line.startswith("# HELP "):
            match = SAMPLE.match(line)
            assert match and match.group(1) in typed, line
            found.setdefault(match.group(1), []).append((match.group(2), float(match.group(3))))
    return found


def start(place, *options, command=TRAINER, **environment):
    run = place.run(*command, options=(*OPTIONS, *options), **environment)
    run.wait_for_output("resumes")
    return run


class Hook:
    """A webhook that answers as it is told, and remembers what it got."""

    def __init__(self, status=200, hangs=False):
        hook = self
        self.bodies, self.released = [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                hook.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                if hangs:
                    hook.released.wait(60)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/services/T0P5ECRET"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


# --- metrics ---

def test_metrics_are_served_and_follow_the_job(place):
    port = free_port()
    run = start(place, "--metrics", str(port), "--label", "team=nlp", "--label", 'note=a"b\\c')
    before = samples(get(port, "/metrics")[1])
    assert before["reprieve_snapshots_total"][0][1] == 0 and "reprieve_durable_step" not in before
    assert get(port, "/livez") == (200, "training") and get(port, "/readyz") == (200, "training")
    assert get(port, "/")[0] == 404
    assert place.query("checkpoint", "--job", place.job).code == 0
    job, = place.query("status", "--job", place.job, "--json").json["jobs"]
    assert job["state"] == "running" and job["step"] > 0 and job["durable_seconds"] >= 0 and job["behind"] is False
    after = samples(get(port, "/metrics")[1])
    assert after["reprieve_snapshots_total"][0][1] == 1
    assert after["reprieve_durable_step"][0][1] == place.newest()["step"]
    assert after["reprieve_sent_bytes_total"][0][1] >= after["reprieve_last_snapshot_bytes"][0][1] > 0
    assert abs(after["reprieve_durable_timestamp_seconds"][0][1] - time.time()) < 120
    labels = after["reprieve_attempt"][0][0]
    assert f'run="{place.job}"' in labels and 'team="nlp"' in labels and 'note="a\\"b\\\\c"' in labels
    states = {labels.rpartition("state=")[2]: value for labels, value in after["reprieve_state"]}
    assert states.pop('"running"') == 1 and set(states.values()) == {0}
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run


@pytest.mark.parametrize("address, hosts", [("[::1]:{}", ["[::1]"]), (":{}", ["127.0.0.1", "[::1]"]), ("127.0.0.1:{}", ["127.0.0.1"])])
def test_metrics_of_both_families(place, address, hosts):
    if "[::1]" in hosts and not has_ipv6():
        pytest.skip("no IPv6 here")
    port = free_port()
    start(place, "--metrics", address.format(port))
    for host in hosts:
        assert get(port, "/livez", host) == (200, "training")


def test_an_address_for_metrics_that_this_machine_has_not(place):
    run = place.run("true", options=("--metrics", "192.0.2.1:9"))
    assert run.wait() == 0 and run.err.count("no metrics are served") == 1, run


def test_a_job_that_is_about_to_end_is_not_ready(place):
    port = free_port()
    run = start(place, "--metrics", f"127.0.0.1:{port}", "--grace", "60",
                command=(PYTHON, "-c", "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: None); "
                         "print('resumes 0', flush=True); time.sleep(600)"))
    run.signal(signal.SIGTERM)
    run.wait_for_event("asked")
    assert get(port, "/readyz") == (503, "saving") and get(port, "/livez") == (200, "saving")
    for kind, answer in ((), "ok"), (("--ready",), "fail"), (("--fresh", "1s"), "ok"):
        said = place.query("probe", "--job", place.job, *kind)
        assert said.code == (answer != "ok") and said.out.startswith(f"{answer} {place.job}: saving"), said
    assert samples(get(port, "/metrics")[1])["reprieve_preempted"] == [(f'run="{place.job}",source="sigterm"', 1)]


def crowd(place):
    """As many silent clients of the supervisor as it takes."""
    path, = Path(place.runtime).glob("reprieve/*/control.sock")
    clients = [socket.socket(socket.AF_UNIX) for _ in range(256)]
    for client in clients:
        client.connect(str(path))
    return clients


def test_a_supervisor_with_too_many_clients_is_alive_and_tells_nothing(place):
    port = free_port()
    start(place, "--metrics", str(port))
    clients = crowd(place)
    for path in ("/metrics", "/readyz"):
        code, text = get(port, path)
        assert code == 503 and "too many clients" in text, (path, text)
    assert get(port, "/livez") == (200, "unknown")
    for words, code in ((("probe",), 0), (("probe", "--ready"), 1), (("probe", "--fresh", "1h"), 1), (("status",), 1)):
        answer = place.query(*words, "--job", place.job)
        assert answer.code == code and (code == 0) == (not answer.err), answer
        assert code == 0 or "too many clients" in one_line(answer) and not answer.out, answer
    for client in clients:
        client.close()
    assert wait_for("a place that is free", lambda: place.query("probe", "--ready", "--job", place.job).code == 0)
    assert get(port, "/metrics")[0] == 200 and get(port, "/readyz")[0] == 200


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def test_clients_that_say_nothing_are_few_and_not_for_long(place):
    port = free_port()
    run = start(place, "--metrics", str(port))
    before = threads_of(run.pid)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    wait_for("a thread for some", lambda: threads_of(run.pid) > before + 8)
    most = 0

    def answered():
        nonlocal most
        most = max(most, threads_of(run.pid))
        try:
            return get(port, "/metrics")[0] == 200
        except OSError:  # sent away: the silent ones are shut out first
            return False
    wait_for("an answer beside those that say nothing", answered)
    assert most <= before + 18, (most, before)
    for client in silent:
        client.close()


def test_the_textfile_and_the_store_have_the_final_values(place):
    path = place.path / "reprieve.prom"
    run = start(place, "--metrics-file", str(path))
    assert samples(path.read_text())["reprieve_attempt"][0][1] == 1
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    notes = place.store_path / "jobs" / place.job / "notes" / "000001"
    for text in (path.read_text(), (notes / "metrics-0001").read_text()):
        final = samples(text)
        assert final["reprieve_exit_code"][0][1] == EXIT_DURABLE and final["reprieve_snapshots_total"][0][1] == 1


def test_the_dashboard_shows_what_is_there(place):
    port = free_port()
    run = start(place, "--metrics", str(port))
    assert place.query("checkpoint", "--job", place.job).code == 0
    there = set(samples(get(port, "/metrics")[1]))
    labels = {name for samples_of in samples(get(port, "/metrics")[1]).values() for text, _ in samples_of
              for name in re.findall(r'(\w+)="', text)}
    assert "job" not in labels, "Prometheus has one of its own, and renames ours"
    run.signal(signal.SIGTERM)
    dashboard = (ROOT / "examples" / "grafana" / "reprieve.json").read_text()
    shown = set(re.findall(r"reprieve_[a-z_]+", dashboard))
    assert len(shown) >= 10 and shown <= there, shown - there
    named = re.findall(r"\{(\w+)=~|by \((\w+)\)|\{\{(\w+)\}\}|label_values\(\w+, (\w+)\)", dashboard)
    named = {name for names in named for name in names if name}
    assert "run" in named and named <= labels, named - labels
    boxes = [panel["gridPos"] for panel in json.loads(dashboard)["panels"]]
    assert all(one == other or one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"] or one["y"] != other["y"]
               for one in boxes for other in boxes), "panels overlap"


# --- webhooks ---

def test_a_webhook_hears_of_the_notice_and_of_the_end(place):
    with Hook() as hook:
        run = start(place, "--notify", hook.url, "--label", "team=nlp")
        run.signal(signal.SIGTERM)
        assert run.wait() == EXIT_DURABLE, run
    newest = place.newest()
    first, last = hook.bodies
    assert (first["event"], first["source"], first["outcome"]) == ("notice", "sigterm", None)
    assert 0 < first["seconds_left"] <= 30 and first["labels"] == {"team": "nlp"}
    assert (last["event"], last["outcome"], last["exit_code"]) == ("ended", "preempted", EXIT_DURABLE)
    assert last["durable"] == f"{newest['id']}, step {newest['step']}" and newest["id"] in last["text"]
    assert "T0P5ECRET" not in run.err + run.events_path.read_text()


def test_what_speaks_as_slack_does_gets_the_text_alone(place):
    with Hook() as hook:
        run = start(place, REPRIEVE_NOTIFY="slack:" + hook.url)
        run.signal(signal.SIGTERM)
        run.wait()
    assert [list(body) for body in hook.bodies] == [["text"], ["text"]]


def test_a_job_that_finishes_tells_nobody(place):
    with Hook() as hook:
        assert place.run("true", options=("--notify", hook.url)).wait() == 0
        assert place.run("sh", "-c", "exit 3", options=("--notify", hook.url)).wait() == 3
    assert [body["outcome"] for body in hook.bodies] == ["failed"]


@pytest.mark.parametrize("fault", ["refused", "500", "hangs"])
def test_a_webhook_that_fails_is_never_in_the_way(place, fault):
    with Hook(status=500, hangs=fault == "hangs") as hook:
        url = f"http://127.0.0.1:{free_port()}/T0P5ECRET" if fault == "refused" else hook.url
        run = start(place, "--notify", url)
        run.signal(signal.SIGTERM)
        durable = run.wait_for_event("durable")
        hook.released.set() if fault == "500" else None
        assert run.wait() == EXIT_DURABLE, run
    assert place.newest()["id"] == durable["id"]
    assert "--notify: http://127.0.0.1:" in run.err and "T0P5ECRET" not in run.err


# --- what the store keeps ---

def ledger(place, attempt=1):
    notes = place.store_path / "jobs" / place.job / "notes" / f"{attempt:06d}"
    return [json.loads(line) for path in sorted(notes.glob("ledger-*")) for line in path.read_text().splitlines()]


def test_the_ledger_of_an_attempt_is_in_the_store(place):
    run = start(place)
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run
    kept = ledger(place)
    assert kept == run.events(), "the same lines as --events, in their order"
    assert [event["event"] for event in kept][-1] == "ended"
    # No verb minds it, nor takes it away.
    assert [place.verb(*words).code for words in (("list",), ("verify",), ("forget", "--keep-last", "1"))] == [0, 0, 0]
    assert ledger(place) == kept
    notice = next(event for event in kept if event["event"] == "notice")
    assert notice["source"] == "sigterm" and notice["seconds_left"] > 0


def test_the_tail_of_the_log_is_kept_unless_the_job_finishes(place):
    log = place.path / "job.log"
    log.write_bytes(b"x" * 300_000 + b"\nlast words\n")
    kept = place.store_path / "jobs" / place.job / "notes"
    assert place.run("true", options=("--log", str(log))).wait() == 0
    assert not (kept / "000001" / "log-0001").exists()
    assert place.run("sh", "-c", "exit 3", options=("--log", str(log))).wait() == 3
    tail = (kept / "000002" / "log-0001").read_bytes()
    assert len(tail) == 256 * 1024 and tail.endswith(b"\nlast words\n")
    assert place.run("true").wait() == 0
    shown = place.verb("report", "--log")
    assert shown.code == 0 and shown.out.encode() == tail, shown.err
    assert place.query("report", "--store", place.store, "--log", "--all").code != 0


def test_where_no_log_is_kept_report_says_how(place):
    assert place.run("true").wait() == 0
    none = place.verb("report", "--log")
    assert none.code != 0 and none.out == "" and "run --log FILE keeps" in one_line(none), none


def test_a_log_that_is_not_there_is_said(place):
    run = place.run("sh", "-c", "exit 3", options=("--log", "/no/such/log"))
    assert run.wait() == 3 and "--log: cannot upload the end of the log: /no/such/log" in run.err
    lines = run.err.splitlines()
    at_start, = [line for line in lines if "--log: there is no directory /no/such, so nothing of /no/such/log is kept" in line]
    assert lines.index(at_start) < len(lines) - 1
    run = place.run("true", options=("--log", str(place.path / "later.log")))
    assert run.wait() == 0 and "--log" not in run.err, run


@pytest.mark.parametrize("option, said", [("--events", "no event log is written"), ("--termination-log", "cannot write the termination message"),
                                          ("--log", "cannot upload the end of the log")])
def test_a_pipe_without_its_other_end_keeps_nobody(place, option, said):
    pipe = place.path / "pipe"
    os.mkfifo(pipe)
    done = place.query("run", "--store", place.store, "--job", place.job, "-c", place.directory, option, pipe, "--", "sh", "-c", "echo trained; exit 3")
    assert (done.code, done.out) == (3, "trained\n"), done
    assert sum(said in line and f"{pipe} is a pipe" in line for line in done.err.splitlines()) == 1, done


def test_a_pipe_takes_the_events(place):
    reading, writing = os.pipe()
    run = subprocess.Popen([REPRIEVE, "run", "--store", place.store, "--job", place.job, "-c", place.directory, "--events", f"/dev/fd/{writing}", "--", "true"],
                           cwd=place.path, env=place.environment, pass_fds=[writing], stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    os.close(writing)
    with os.fdopen(reading) as lines:
        events = [json.loads(line)["event"] for line in lines]
    assert run.wait(LIMIT) == 0
    assert events[0] == "started" and events[-1] == "ended"


def test_a_pipe_that_is_full_keeps_nobody(place):
    """Its reader has stopped reading: the job goes on, and what was lost is said once."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, b"\n" * select.PIPE_BUF)
    run = subprocess.Popen([REPRIEVE, "run", "--store", place.store, "--job", place.job, "-c", place.directory, "--events", f"/dev/fd/{writing}", "--",
                            "sh", "-c", "echo trained; exit 3"], cwd=place.path, env=place.environment, pass_fds=[writing], text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    out, err = run.communicate(timeout=LIMIT)
    os.close(reading)
    os.close(writing)
    assert (run.returncode, out) == (3, "trained\n"), err
    assert err.count("the event log lacks lines: its reader does not keep up") == 1, err


def test_what_makes_no_sense_is_refused(place):
    for option, value in (("--label", "team"), ("--label", "job=x"), ("--label", "team=nlp,state=x"), ("--notify", "hooks.example"), ("--metrics-file", ""), ("--log", "")):
        refused = place.query("run", option, value, "--", "true")
        assert refused.code == EXIT_USAGE and f"{option}: " in one_line(refused), refused


def test_a_store_that_falls_silent_does_not_keep_the_webhook_from_knowing(place, faults):
    place.store = "s3://snaps/team"
    place.environment.update(faults.environment)
    with Hook() as hook:
        run = place.run("sh", "-c", "sleep 0.5; exit 3", options=("--notify", hook.url))
        run.wait_for_event("launched")
        faults.load({"rules": [{"on": {}, "answer": {"delay": 3600}}]})
        assert run.wait() == 3, run
        assert [body["event"] for body in hook.bodies] == ["ended"], run
