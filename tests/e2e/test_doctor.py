"""`reprieve doctor` on file://."""
import json
import os
import random
import shlex
import socket
import subprocess
from pathlib import Path

import harness
import pytest

from harness import EXIT_USAGE, one_line


def doctor(place, *options, store=None, **environment):
    return place.query("doctor", "--store", store or place.store, "--measure", "16MiB", *options, **environment)


def files_in(path):
    return [found for found in path.rglob("*") if found.is_file()]


def test_a_directory_that_is_not_there_is_said_and_not_left_behind(place):
    result = doctor(place, store=f"file://{place.path}/a/b/")
    assert result.code == 0 and "\nwarn  store" in result.out and "the directory does not exist yet" in result.out, result
    assert "\nok    delete" in result.out, result
    assert not (place.path / "a").exists()
    (place.path / "a").mkdir()
    assert "does not exist yet" not in doctor(place, store=f"file://{place.path}/a").out
    assert list((place.path / "a").iterdir()) == []


def test_the_default_store_may_go_with_the_machine(place):
    result = place.query("doctor", "--measure", "0")
    assert result.code == 0 and "\nwarn  place" in result.out and "on this machine's own disk" in result.out, result
    assert "\nwarn  place" in doctor(place).out, "so may one that somebody has named"
    run = place.query("run", "--checkpoint-dir", place.directory, "--", "true")
    assert run.code == 0 and run.err.count("on this machine's own disk") == 1, run
    assert "own disk" not in place.query("run", "--checkpoint-dir", place.directory, "--store", place.store, "--", "true").err


def test_a_sound_store(place):
    place.store_path.mkdir()
    result = doctor(place, "--json")
    assert result.code == 0, result
    report = result.json
    levels = {row["check"]: row["level"] for row in report["checks"]}
    for check in ("store", "put", "get", "if-absent", "list", "delete", "up", "down"):
        assert levels[check] == "ok", report
    assert "clock" not in levels
    assert report["up_bytes_per_second"] > 0 and report["down_bytes_per_second"] > 0
    assert files_in(place.store_path) == []


def test_what_is_there_already_stays_as_it_is(place):
    place.directory.mkdir()
    (place.directory / "w").write_bytes(random.randbytes(100_000))
    assert place.verb("save", place.directory).code == 0
    before = {path: path.read_bytes() for path in files_in(place.store_path)}
    assert doctor(place).code == 0
    assert {path: path.read_bytes() for path in files_in(place.store_path)} == before
    assert place.verb("verify").code == 0


def test_a_store_that_cannot_be_made(place):
    (place.path / "file").write_text("x")
    result = doctor(place, store=f"file://{place.path}/file/store")
    assert result.code == 1
    assert "\nfail  store" in result.out, result
    machine = doctor(place, "--json", store=f"file://{place.path}/file/store")
    assert machine.code == 1 and machine.json["level"] == "fail"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_without_permission(place):
    place.store_path.mkdir(mode=0o555)
    result = doctor(place)
    assert result.code == 1 and "fail  put" in result.out, result


def test_no_store_at_all(place):
    result = place.query("doctor", "--json", HOME="", XDG_STATE_HOME="", SLURM_JOB_ID="7", PATH="")
    assert result.code == 1 and result.err == "", result
    assert result.json["store"] is None and result.json["level"] == "fail"
    [row] = result.json["checks"]
    assert row["check"] == "store" and row["level"] == "fail" and "HOME" in row["text"] and "--store" in row["fix"]
    assert {"notice", "shim", "init", "grace"} <= set(machine(result)) and result.json["slurm"], result
    text = place.query("doctor", HOME="", XDG_STATE_HOME="")
    assert text.code == 1 and "This machine:" in text.out and "fail  store" in text.out, text


@pytest.mark.parametrize("options", [("--size", "big"), ("--measure", "4TB"), ("--job",), ("word",)])
def test_usage(place, options):
    result = place.query("doctor", "--store", place.store, *options)
    assert result.code == EXIT_USAGE
    one_line(result)


# --- this machine ---

def machine(result):
    return {row["check"]: row for row in result.json["machine"]}


def test_a_machine_on_which_all_is_well(place):
    rows = machine(doctor(place, "--json", "--size", "1MB"))
    # In a container that was started for a shell, process 1 is one, of which doctor warns.
    init = "warn" if Path("/proc/1/comm").read_text().strip() in ("sh", "bash", "dash", "ash", "ksh", "zsh", "busybox") else "ok"
    assert {name: row["level"] for name, row in rows.items()} == {"notice": "ok", "shim": "ok", "init": init, "grace": "ok"}, rows
    assert "only SIGTERM announces" in rows["notice"]["text"]


def test_sources_of_notices(place):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        place.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    result = doctor(place, "--json", "--notice", f"aws,file:{place.path}/notice")
    of_aws, of_file = (row for row in result.json["machine"] if row["check"] == "notice")
    assert result.code == 1 and result.json["level"] == "fail", result
    assert of_aws["level"] == "fail" and of_aws["text"].startswith("notices from aws: ") and of_aws["fix"]
    assert of_file["level"] == "ok" and "armed" in of_file["text"]


def test_a_source_that_there_is_not(place):
    result = doctor(place, "--json", "--notice", "aws,sun")
    assert result.code == 1 and machine(result)["notice"]["level"] == "fail" and "sun" in machine(result)["notice"]["text"], result


@pytest.mark.parametrize("content, word", [(None, "not found"), ("no library", "does not load")])
def test_the_shim(place, content, word):
    shim = place.path / "shim.so"
    if content:
        shim.write_text(content)
    place.environment["REPRIEVE_SHIM_PATH"] = str(shim)
    row = machine(doctor(place, "--json"))["shim"]
    assert row["level"] == "warn" and word in row["text"] and row["fix"], row


def test_the_shim_needs_no_other_program(place):
    place.environment["PATH"] = str(place.path)
    assert machine(doctor(place, "--json", "--measure", "0"))["shim"]["level"] == "ok"


def test_process_1_is_a_shell(place):
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no PID namespaces here")
    command = f"{shlex.quote(str(harness.REPRIEVE))} doctor --json --measure 0 --store {place.store}; true"
    said = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", command], env=place.environment, capture_output=True,
                          text=True, timeout=harness.LIMIT)
    row = {row["check"]: row for row in json.loads(said.stdout)["machine"]}["init"]
    assert row["level"] == "warn" and "process 1 is sh" in row["text"], said


@pytest.mark.parametrize("size", [("--size", "1MB"), ("--size", "900TB")])
def test_the_grace_and_the_notice_are_judged_alike(place, size):
    result = doctor(place, "--json", "--grace", "30", *size)
    fits = {row["check"]: row for row in result.json["checks"]}["fit"]
    assert machine(result)["grace"]["level"] == fits["level"] == ("ok" if "in 30 s: yes" in fits["text"] else "warn"), result


# --- Slurm ---

def scontrol(place, script):
    programs = place.path / "programs"
    programs.mkdir()
    if script:
        (programs / "scontrol").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "scontrol").chmod(0o755)
    place.environment["PATH"] = str(programs)


@pytest.mark.parametrize("script, job, word", [
    ("echo 'error: Unable to contact slurm controller' >&2; exit 1", "", "Unable to contact slurm controller"),
])
def test_slurm_that_does_not_answer(place, script, job, word):
    scontrol(place, script)
    result = doctor(place, "--json", "--measure", "0", **{"SLURM_JOB_ID": job} if job else {})
    [row] = result.json["slurm"]
    assert result.code == 0 and row["check"] == "scontrol" and row["level"] == "warn", result
    assert word in row["text"] and row["fix"]


def test_no_slurm(place):
    scontrol(place, "")
    assert "slurm" not in doctor(place, "--json", "--measure", "0").json
