"""examples/kubernetes: valid by the published schemas, at one with each other and with our exit codes; and the life of the pod, under crun."""
import os
import signal
import stat
import subprocess

import pytest

from containers import Container, SECCOMP, root_file_system, skip_without_crun
from gang import RANK
from harness import EXIT_CONFIGURATION, EXIT_DURABLE, EXIT_USAGE, LIMIT, PYTHON, REPRIEVE, ROOT, SAVER

yaml = pytest.importorskip("yaml", reason="python3-yaml: examples/install_packages.sh test")

EXAMPLES = ROOT / "examples" / "kubernetes"
HOPELESS, PREEMPTED = {64, 78, 93, 126, 127}, {74, 75}


def documents(name):
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def pod_of(document):
    """(the pod's spec, the Job's spec that decides on its exit code)"""
    spec = document["spec"]
    if document["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    elif document["apiVersion"].startswith("batch.volcano.sh"):
        return spec["tasks"][0]["template"]["spec"], spec
    return spec["template"]["spec"], spec


GANGS = ["gang-job.yaml", "gang-jobset.yaml"]
WORKLOADS = ["job.yaml", "kueue.yaml", "jobset.yaml", "volcano.yaml", "unchanged-image.yaml", *GANGS]
ALL = [*WORKLOADS, "service-accounts.yaml"]


def test_every_example_is_named_here():
    assert sorted(ALL) == sorted(path.name for path in EXAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("name", ALL)
def test_the_schemas_of_kubernetes(name):
    """Those of the API server; the pods and Jobs inside of other kinds as such."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate: it has the schemas")
    for document in documents(name):
        if document["apiVersion"] in ("v1", "batch/v1"):
            tried = document
        elif document["kind"] == "JobSet":
            tried = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": pod_of(document)[1]}
        elif "tasks" in document["spec"]:
            tried = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod_of(document)[0]}
        else:
            continue
        kubernetes_validate.validate(tried, "1.31", strict=True)


@pytest.mark.parametrize("name", WORKLOADS)
def test_pods_have_time_to_save_and_probes_that_let_them(name):
    pod, _ = pod_of(documents(name)[0])
    job = pod["containers"][0]
    env = {row["name"]: row.get("value") for row in job["env"]}
    assert 0 < int(env["REPRIEVE_GRACE"]) < pod["terminationGracePeriodSeconds"]
    assert pod["restartPolicy"] == "Never"
    assert "lifecycle" not in job, "a preStop hook takes its time from the save"
    assert "--live" in job["livenessProbe"]["exec"]["command"] and "--ready" in job["readinessProbe"]["exec"]["command"]
    assert pod["serviceAccountName"] == documents("service-accounts.yaml")[0]["metadata"]["name"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        assert container["securityContext"]["readOnlyRootFilesystem"]
    # What the job keeps between its pods may not change from pod to pod.
    assert env["REPRIEVE_JOB"] and "HOSTNAME" not in env["REPRIEVE_JOB"]


def rules_of(spec):
    rules = {}
    for rule in spec["podFailurePolicy"]["rules"]:
        if "onExitCodes" in rule:
            assert rule["onExitCodes"]["operator"] == "In"
            for code in rule["onExitCodes"]["values"]:
                rules.setdefault(code, rule["action"])
        else:
            # Inside of a custom resource nobody fills in the default.
            assert rule["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
            rules["DisruptionTarget"] = rule["action"]
    return rules


@pytest.mark.parametrize("name", ["job.yaml", "kueue.yaml", "unchanged-image.yaml", "gang-job.yaml"])
def test_the_exit_codes_of_a_job(name):
    assert rules_of(pod_of(documents(name)[0])[1]) == {
        **{code: "FailJob" for code in HOPELESS}, **{code: "Ignore" for code in PREEMPTED}, "DisruptionTarget": "Ignore"}


@pytest.mark.parametrize("name", ["jobset.yaml", "gang-jobset.yaml"])
def test_a_jobset_restarts_for_free_when_preempted_and_for_nothing_else(name):
    jobset = documents(name)[0]
    assert rules_of(pod_of(jobset)[1]) == {**{code: "FailJob" for code in PREEMPTED}, "DisruptionTarget": "FailJob"}
    policy = jobset["spec"]["failurePolicy"]
    assert [(rule["action"], rule["onJobFailureReasons"]) for rule in policy["rules"]] == [("RestartJobSetAndIgnoreMaxRestarts", ["PodFailurePolicy"])]
    assert policy["maxRestarts"] > 0 and pod_of(jobset)[1]["backoffLimit"] == 0


def volcano_action(job, task, event, code):
    """Volcano's own choice: the task's policies before the job's, of each list the first that names the event or the exit code; else nothing."""
    policies = next(one.get("policies", []) for one in job["tasks"] if one["name"] == task) + job["policies"]
    return next((policy["action"] for policy in policies
                 if policy.get("event") in (event, "*") or (code and policy.get("exitCode") == code)), None)


def test_the_exit_codes_of_volcano():
    job = documents("volcano.yaml")[0]["spec"]
    codes = {policy["exitCode"]: policy["action"] for policy in job["policies"] if "exitCode" in policy}
    assert codes == {**{code: "AbortJob" for code in HOPELESS}, **{code: "RestartJob" for code in PREEMPTED}}
    assert all(("event" in policy) != ("exitCode" in policy) for policy in job["policies"])
    action = lambda code, event="PodFailed": volcano_action(job, "worker", event, code)
    assert {code: action(code) for code in codes} == codes, "the rule for all other failures must not come first"
    assert [action(code) for code in (1, 70, 134, 137, 139, 255)] == ["RestartJob"] * 6, "the rest of the gang would wait for ever"
    assert action(0, "PodEvicted") == "RestartJob" and action(0, "TaskCompleted") == "CompleteJob"
    assert job["maxRetry"] > 0
    assert job["minAvailable"] == sum(task["replicas"] for task in job["tasks"])


# --- the pods of a gang ---

def environment_of(name, index, members):
    """What a pod's container gets, of a gang that has so many: its own variables, and those that the Job sets."""
    pod, job = pod_of(documents(name)[0])
    rows = {row["name"]: row.get("value", str(index)) for row in pod["containers"][0]["env"]}
    numbers = [variable for variable in ("REPRIEVE_GANG", "PET_NNODES") if rows.get(variable, "").isdigit()]
    assert job["completionMode"] == "Indexed" and job["completions"] == job["parallelism"]
    assert [rows[variable] for variable in numbers] == [str(job["completions"])], "as many members as pods"
    return {**rows, "JOB_COMPLETION_INDEX": str(index), **{variable: str(members) for variable in numbers}}


@pytest.mark.parametrize("name", GANGS)
def test_the_pods_of_a_gang_end_together_and_go_on_from_one_snapshot(name, place):
    """Two of them, each started as its container is, with its environment: one is deleted, all end and are started anew on empty disks."""
    action = rules_of(pod_of(documents(name)[0])[1])[EXIT_DURABLE]
    assert action == ("Ignore" if name == "gang-job.yaml" else "FailJob")

    def start(generation, *more):
        runs = []
        for index in range(2):
            environment = {**environment_of(name, index, 2), "REPRIEVE_STORE": place.store}
            work = place.path / f"pod{generation}.{index}"
            environment["REPRIEVE_CHECKPOINT_DIR"] = str(work)
            runs.append(place.run(PYTHON, RANK, "--dir", work, "--meet", place.path / "meet", "--rank", index, "--ranks", 2, "--every", 0,
                                  "--signal", "USR1", *more, directory=work, name=f"pod{generation}-{index}", **environment))
        return runs

    first = start(1)
    for run in first:
        run.wait_for_output("step 20")
    first[1].signal(signal.SIGTERM)
    assert [run.wait() for run in first] == [EXIT_DURABLE] * 2, "\n".join(map(str, first))
    step = place.newest()["step"]
    second = start(2, "--steps", step + 3)
    assert [run.wait() for run in second] == [0, 0], "\n".join(map(str, second))
    for run in second:
        assert f"resumed {step}\n" in run.out, run


# --- the life of a pod -------------------------------------------------------------------------------------------------------

@pytest.fixture
def pod(tmp_path):
    """job.yaml's container as a kubelet would start it, with the tests' own job and a store that outlives it."""
    skip_without_crun()
    if not SECCOMP.exists():
        pytest.skip("no default seccomp profile: examples/install_packages.sh test")
    spec, job = pod_of(documents("job.yaml")[0])
    container = spec["containers"][0]
    local = tmp_path / "local"
    subprocess.run(["cmake", "--install", os.path.dirname(os.path.dirname(REPRIEVE)), "--prefix", str(local)], check=True,
                   capture_output=True, timeout=LIMIT)
    (tmp_path / "store").mkdir()
    os.chmod(tmp_path / "store", 0o777)
    for path in (tmp_path, *list(tmp_path.parents)[:3]):
        os.chmod(path, os.stat(path).st_mode | stat.S_IXOTH)
    root = root_file_system(["ca-certificates", "libarchive13", "libcurl4", "libexpat1", "libinotifytools0", "libjansson4", "liblz4-1",
                             "libmicrohttpd12", "libsqlite3-0", "python3"])
    started = []

    def start(*command):
        work = tmp_path / f"empty{len(started)}"  # an emptyDir ends with its pod
        log = tmp_path / f"termination{len(started)}"
        work.mkdir()
        log.touch()
        for path in (work, log):
            os.chmod(path, 0o777)
        env = {row["name"]: row["value"] for row in container["env"]}
        env.update(REPRIEVE_STORE="file:///store", REPRIEVE_QUIET_TIME="0.2")
        run = Container(tmp_path, root, ["reprieve", "run", "--", *command], env=env, user=spec["securityContext"]["runAsUser"],
                        mounts=[(local, "/usr/local", "ro"), (os.path.dirname(SAVER), "/app", "ro"), (tmp_path / "store", "/store", "rw"),
                                (work, "/work", "rw"), (log, "/dev/termination-log", "rw")])
        run.termination = log
        run.action = lambda: rules_of(job).get(run.process.returncode)
        started.append(run)
        return run

    yield start
    for run in started:
        run.end()


JOB = ["python3", "-B", "/app/saver.py", "--on-signal", "--pause", "0.01"]


def test_a_deleted_pod_is_replaced_and_its_work_goes_on(pod):
    first = pod(*JOB)
    first.wait_for_output("resumes 0")
    grace = pod_of(documents("job.yaml")[0])[0]["terminationGracePeriodSeconds"]
    assert first.stop(grace) == EXIT_DURABLE, first
    assert first.action() == "Ignore"
    saved = int(first.out.split("saved ")[-1].split()[0])
    second = pod(*JOB, "--steps", saved + 3)
    assert second.wait() == 0, second
    assert f"resumes {saved}" in second.out and "BAD" not in second.out, second


def test_the_probes_and_the_termination_message(pod):
    first = pod(*JOB)
    first.wait_for_output("resumes 0")
    container = pod_of(documents("job.yaml")[0])[0]["containers"][0]
    for probe in ("livenessProbe", "readinessProbe"):
        answer = first.execute(*container[probe]["exec"]["command"])
        assert answer.returncode == 0, (probe, answer)
    assert first.stop() == EXIT_DURABLE, first
    assert "preempted" in first.termination.read_text().splitlines()[0]


@pytest.mark.parametrize("command, code", [(["no-such-command"], 127), (["/dev/null"], 126), ([], EXIT_USAGE)])
def test_what_will_not_get_better_fails_the_job(pod, command, code):
    run = pod(*command)
    assert run.wait() == code, run
    assert run.action() == "FailJob"


def test_a_pod_that_is_killed_at_the_end_of_its_grace_is_a_failure_that_counts(pod):
    run = pod("sh", "-c", "trap '' TERM USR1; echo ready; while :; do sleep 1; done")
    run.wait_for_output("ready")
    # SIGKILL to the container; or its end by our own hand, when nothing is durable after the last second.
    assert run.stop(grace=0.5) in (137, 74), run
    assert signal.SIGKILL + 128 not in rules_of(pod_of(documents("job.yaml")[0])[1])
