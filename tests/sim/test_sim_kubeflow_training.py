"""training-operator, played: pods, verdicts and limits, one look at a job at a time."""

from typing import Any

import pytest
from cluster_objects import NOW, ago, driven
from hypothesis import given
from hypothesis import strategies as st
from kubeflow_objects import (
    CREATED,
    SUSPENDED,
    deleted,
    exited,
    look,
    made,
    member,
    message,
    said,
    status_in,
    training_job,
)

from kq.sim.control.objects import PODS
from kq.sim.control.view import Known
from kq.sim.control.writes import Create, Delete, Replace
from kq.sim.kubeflow.trades import PADDLE, PYTORCH, TF, XGBOOST
from kq.sim.kubeflow.training import TrainingJobs

HELD = {"suspend": True}
MASTER = "training.kubeflow.org/job-role"


def test_a_job_made_held_has_no_pods_and_says_so() -> None:
    writes = look(training_job(policy=HELD, status={}))
    assert made(writes) == []
    assert status_in(writes) == {"conditions": status_in(writes)["conditions"]}
    assert said(status_in(writes)) == ["Created", "Suspended"]


def test_pods_bear_the_labels_of_their_role_over_those_of_their_template() -> None:
    pods = [each.body for each in look(training_job()) if isinstance(each, Create)]
    assert [each["metadata"]["name"] for each in pods] == ["a-chief-0", "a-worker-0", "a-worker-1"]
    assert [each["metadata"]["labels"].get(MASTER) for each in pods] == ["master", None, None]
    assert all(each["metadata"]["labels"]["team"] == "x" for each in pods)
    assert all(each["spec"]["restartPolicy"] == "Never" for each in pods)


@pytest.mark.parametrize(
    ("trade", "roles", "masters"),
    [
        pytest.param(TF, {"Worker": 2}, ["a-worker-0"], id="TFJob of workers"),
        pytest.param(PYTORCH, {"Worker": 2}, ["a-worker-0"], id="PyTorchJob of workers"),
        pytest.param(PADDLE, {"Worker": 2}, [], id="PaddleJob of workers"),
        pytest.param(TF, {"Master": 1, "PS": 1}, ["a-master-0"], id="TFJob with a master"),
        pytest.param(TF, {"worker": 1}, ["a-worker-0"], id="a role in small letters"),
    ],
)
def test_one_pod_is_the_master(trade: Any, roles: Any, masters: list[str]) -> None:
    writes = look(training_job(trade, **roles), trade=trade)
    marked = [
        each.body["metadata"]["name"]
        for each in writes
        if isinstance(each, Create) and MASTER in each.body["metadata"]["labels"]
    ]
    assert marked == masters


def test_workers_of_pytorch_wait_for_their_master_in_a_container_that_counts() -> None:
    writes = look(training_job(PYTORCH, Master=1, Worker=1), trade=PYTORCH)
    master, worker = (each.body["spec"] for each in writes if isinstance(each, Create))
    assert "initContainers" not in master
    [waiting] = worker["initContainers"]
    assert waiting["resources"]["requests"] == {"cpu": "50m", "memory": "10Mi"}


def test_a_role_that_shrank_loses_its_last_pods_and_one_that_grew_gains_some() -> None:
    job = training_job(Worker=2)
    pods = [member(job, "worker", 0), member(job, "worker", 3)]
    writes = look(job, pods)
    assert (made(writes), deleted(writes)) == (["a-worker-1"], ["a-worker-3"])


@pytest.mark.parametrize(
    ("trade", "spec", "roles", "phases", "verdict"),
    [
        pytest.param(TF, {}, {"Chief": 1, "Worker": 1}, ["R", "R"], "Running", id="chief runs"),
        pytest.param(TF, {}, {"Chief": 1, "Worker": 1}, ["P", "R"], "Created", id="chief waits"),
        pytest.param(TF, {}, {"Chief": 1, "Worker": 1}, ["S", "R"], "Succeeded", id="chief ends"),
        pytest.param(TF, {}, {"Chief": 1, "Worker": 1}, ["R", "F"], "Failed", id="worker fails"),
        pytest.param(
            TF,
            {"enableDynamicWorker": True},
            {"Chief": 1, "Worker": 1},
            ["R", "F"],
            "Running",
            id="worker of a dynamic job fails",
        ),
        pytest.param(TF, {}, {"Worker": 2}, ["S", "R"], "Succeeded", id="first worker ends"),
        pytest.param(TF, {}, {"Worker": 2}, ["R", "S"], "Running", id="second worker ends"),
        pytest.param(
            TF,
            {"successPolicy": "AllWorkers"},
            {"Worker": 2},
            ["S", "R"],
            "Running",
            id="all wanted",
        ),
        pytest.param(PYTORCH, {}, {"Worker": 2}, ["S", "R"], "Running", id="PyTorch wants all"),
        pytest.param(
            PYTORCH,
            {"elasticPolicy": {}},
            {"Worker": 2},
            ["R", "S"],
            "Succeeded",
            id="elastic PyTorch wants one",
        ),
        pytest.param(
            XGBOOST, {}, {"Master": 1, "Worker": 1}, ["R", "F"], "Failed", id="XGBoost fails"
        ),
        pytest.param(
            XGBOOST,
            {},
            {"Master": 1, "Worker": 1},
            ["S", "F"],
            "Succeeded",
            id="XGBoost ends first",
        ),
        pytest.param(PADDLE, {}, {"Worker": 2}, ["S", "S"], "Succeeded", id="Paddle ends"),
    ],
)
def test_a_job_is_judged_by_its_roles(
    trade: Any, spec: Any, roles: Any, phases: list[str], verdict: str
) -> None:
    words = {"P": "Pending", "R": "Running", "S": "Succeeded", "F": "Failed"}
    job = training_job(trade, spec=spec, **roles)
    numbered = [(role.lower(), n) for role, count in roles.items() for n in range(count)]
    pods = [
        member(job, role, n, words[phase])
        for (role, n), phase in zip(numbered, phases, strict=True)
    ]
    assert said(status_in(look(job, pods, trade), job))[-1] == verdict


@pytest.mark.parametrize("trade", [TF, PYTORCH, XGBOOST, PADDLE], ids=lambda trade: trade.name)
def test_a_job_that_is_resumed_beside_pods_of_its_last_run_fails(trade: Any) -> None:
    status = {"conditions": [CREATED, SUSPENDED], "startTime": ago(30)}
    job = training_job(trade, status=status, Worker=2)
    pods = [member(job, "worker", n, deleted=True) for n in range(2)]
    told = status_in(look(job, pods, trade))
    assert said(told)[-1] == "Failed"
    assert "2 Worker replica(s) failed" in message(told)
    assert told["replicaStatuses"]["Worker"]["failed"] == 2


def test_pods_that_never_ran_do_no_harm_while_they_are_ended() -> None:
    job = training_job(status={"conditions": [CREATED, SUSPENDED]}, Worker=1)
    told = status_in(look(job, [member(job, "worker", 0, "Pending", deleted=True)]))
    assert said(told) == ["Created", "-Suspended"]


def test_a_suspended_job_ends_its_pods_and_says_so_before_they_are_gone() -> None:
    running = {"type": "Running", "status": "True", "reason": "TFJobRunning", "message": ""}
    counts = {"Worker": {"active": 1, "failed": 1}}
    status = {"conditions": [CREATED, running], "startTime": ago(9), "replicaStatuses": counts}
    job = training_job(policy=HELD, status=status, Worker=1)
    writes = look(job, [member(job, "worker", 0)])
    assert deleted(writes) == ["a-worker-0"]
    told = status_in(writes)
    assert said(told) == ["Created", "-Running", "Suspended"]
    assert told["replicaStatuses"] == {"Worker": {"failed": 1}}
    assert told["startTime"] == ago(9)


@pytest.mark.parametrize(
    ("policy", "code", "deletes", "last"),
    [
        pytest.param("OnFailure", 1, True, "Restarting", id="always again"),
        pytest.param("ExitCode", 130, True, "Restarting", id="a code that is nobody's fault"),
        pytest.param("ExitCode", 1, False, "Failed", id="a code that is"),
        pytest.param("Never", 130, False, "Failed", id="never again"),
    ],
)
def test_a_failed_pod_makes_way_if_its_role_says_so(
    policy: str, code: int, deletes: bool, last: str
) -> None:
    job = training_job(restart=policy, Worker=1)
    writes = look(job, [member(job, "worker", 0, "Failed", **exited(code))])
    assert bool(deleted(writes)) is deletes
    assert said(status_in(writes))[-1] == last


@pytest.mark.parametrize(
    ("policy", "pods", "why"),
    [
        pytest.param({"activeDeadlineSeconds": 30}, ["Running"], "active longer", id="too long"),
        pytest.param({"activeDeadlineSeconds": 31}, ["Running"], "", id="not yet"),
        pytest.param({"backoffLimit": 0}, ["Failed"], "backoff limit", id="no retries"),
        pytest.param({"backoffLimit": 1}, ["Failed"], "", id="one retry"),
        pytest.param({"backoffLimit": 2}, ["restarts"], "backoff limit", id="restarts in place"),
    ],
)
def test_a_run_policy_ends_a_job(policy: Any, pods: list[str], why: str) -> None:
    job = training_job(policy=policy, restart="OnFailure", Worker=1)
    often = {"containerStatuses": [{"name": "tensorflow", "restartCount": 2}]}
    there = [
        member(job, "worker", n, "Running", **often)
        if each == "restarts"
        else member(job, "worker", n, each)
        for n, each in enumerate(pods)
    ]
    writes = look(job, there)
    told = status_in(writes, job)
    assert ("Failed" in said(told)) is bool(why)
    if why:
        assert why in message(told)
        assert deleted(writes) == ["a-worker-0"]


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        pytest.param({}, [], id="all stay"),
        pytest.param({"cleanPodPolicy": "Running"}, ["a-worker-0"], id="those that run go"),
        pytest.param({"cleanPodPolicy": "All"}, ["a-chief-0", "a-worker-0"], id="all go"),
    ],
)
def test_pods_go_with_the_end_of_a_job_if_they_are_to(policy: Any, gone: list[str]) -> None:
    done = {"type": "Succeeded", "status": "True", "reason": "TFJobSucceeded", "message": ""}
    counts = {"Chief": {"succeeded": 1}, "Worker": {"active": 1}}
    status = {"conditions": [CREATED, done], "replicaStatuses": counts, "completionTime": ago(1)}
    job = training_job(policy=policy, status=status)
    writes = look(job, [member(job, "chief", 0, "Succeeded"), member(job, "worker", 0)])
    assert deleted(writes) == gone
    assert status_in(writes)["replicaStatuses"]["Worker"] == {"succeeded": 1}


def test_a_job_that_ended_goes_when_its_time_to_live_is_over() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "TFJobFailed", "message": ""}
    status = {"conditions": [CREATED, failed], "completionTime": ago(10)}
    [gone] = look(training_job(policy={"ttlSecondsAfterFinished": 10}, status=status))
    assert isinstance(gone, Delete)
    assert (gone.kind, gone.name) == ("tfjobs.kubeflow.org", "a")
    young = training_job(policy={"ttlSecondsAfterFinished": 12}, status=status)
    writes, again = driven(TrainingJobs(TF).sync(young, [], NOW))
    assert (writes, again and again.total_seconds()) == ([], 2.0)


def test_a_job_of_another_controller_or_one_that_is_deleted_is_left_alone() -> None:
    assert look(training_job(policy={"managedBy": "example.com/other"}, status={})) == []
    going = training_job(status={})
    going["metadata"]["deletionTimestamp"] = ago(0)
    assert look(going) == []


STEPS = ("hold", "release", "look", "start", "succeed", "fail", "vanish")


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=40))
def test_whatever_happens_no_pod_is_made_while_held_nor_twice_nor_after_the_end(
    steps: list[tuple[str, int]],
) -> None:
    job = training_job(policy=HELD, status={}, Chief=1, Worker=2)
    pods: dict[str, Any] = {}
    for step, which in steps:
        pod = list(pods.values())[which] if which < len(pods) else None
        match step:
            case "hold" | "release":
                job["spec"]["runPolicy"] = {"suspend": step == "hold"}
            case "look":
                take(job, pods)
            case "vanish" if pod and "deletionTimestamp" in pod["metadata"]:
                del pods[pod["metadata"]["name"]]
            case "start" | "succeed" | "fail" if pod:
                phase = {"start": "Running", "succeed": "Succeeded", "fail": "Failed"}[step]
                pod["status"] = {"phase": phase}


def take(job: Any, pods: dict[str, Any]) -> None:
    """Carries out one look, and checks it."""
    was_over = {"Succeeded", "Failed"} & set(said(job.get("status") or {}))
    known = [Known(PODS, each) for each in pods.values()]
    writes = driven(TrainingJobs(TF).sync(job, known, NOW))[0]
    for each in writes:
        match each:
            case Create():
                name = each.body["metadata"]["name"]
                assert not job["spec"]["runPolicy"]["suspend"]
                assert not was_over
                assert name not in pods
                pods[name] = {**each.body, "status": {"phase": "Pending"}}
                pods[name]["metadata"] |= {"namespace": "n", "uid": name}
            case Delete():
                pods[each.name]["metadata"]["deletionTimestamp"] = ago(0)
            case Replace():
                job["status"] = dict(each.body["status"])
    types = [each.lstrip("-") for each in said(job["status"])]
    assert len(types) == len(set(types))
    if was_over:
        assert was_over <= set(said(job["status"]))
