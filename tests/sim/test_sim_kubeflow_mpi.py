"""mpi-operator, played: workers, the launcher's Job, and what is said of them."""

from typing import Any

import pytest
from cluster_objects import NOW, ago, came, driven, job, owned_by, pod, view_of
from kubeflow_objects import CREATED, custom, deleted, made, message, said, status_in, template

from kq.sim.control.controller import Due, Key
from kq.sim.control.view import View
from kq.sim.control.writes import Create, Replace, Write
from kq.sim.kubeflow.mpi import MPI_JOBS, MpiController

KEY = Key("n", "a")
RUNNING = {"type": "Running", "status": "True", "reason": "MPIJobRunning", "message": ""}


def mpi_job(*, workers: int = 2, status: Any = None, spec: Any = (), **policy: Any) -> Any:
    """A launcher and so many workers."""
    roles = {
        "Launcher": {"template": template("mpi")},
        "Worker": {"replicas": workers, "template": template("mpi")},
    }
    body = {"mpiReplicaSpecs": roles, "runPolicy": policy, **dict(spec)}
    begun = {"conditions": [CREATED], "startTime": ago(30)}
    return custom(
        "kubeflow.org/v2beta1", "MPIJob", body, status=begun if status is None else status
    )


def worker(owner: Any, index: int, phase: str = "Running", **more: Any) -> Any:
    return pod(f"a-worker-{index}", owner=owner, phase=phase, tracked=False, **more)


def launcher(owner: Any, *, status: Any = (), **spec: Any) -> Any:
    meta = {"ownerReferences": [owned_by(owner)]}
    return job("a-launcher", meta=meta, status=dict(status), **spec)


def ended(type_: str, **more: Any) -> Any:
    """The status of a launcher's Job that has ended."""
    entry = {"type": type_, "status": "True", "lastTransitionTime": ago(1), "message": "it did"}
    return {"conditions": [{**entry, **more}], "completionTime": ago(1)}


def seen(*objects: Any) -> View:
    return view_of(*objects)


def look(mpi: Any, *others: Any) -> list[Write]:
    return driven(MpiController().sync(KEY, seen(mpi, *others), NOW))[0]


def changed_launcher(writes: list[Write]) -> Any:
    return next(each.body for each in writes if isinstance(each, Replace) and not each.subresource)


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view knows MPIJobs by the name of their CRD."""
    monkeypatch.setattr("cluster_objects.kind_of", kind_of)


def kind_of(obj: Any) -> str:
    known = {"Job": "jobs.batch", "Pod": "pods", "MPIJob": MPI_JOBS}
    return known[obj["kind"]]


def test_a_job_made_held_has_a_held_launcher_and_no_pods() -> None:
    writes = look(mpi_job(status={}, suspend=True))
    assert made(writes) == ["a-launcher"]
    [launching] = [each.body for each in writes if isinstance(each, Create)]
    assert launching["spec"]["suspend"] is True
    assert launching["metadata"]["ownerReferences"][0]["controller"] is True
    told = status_in(writes)
    assert said(told) == ["Created", "Suspended", "-Running"]
    assert told["replicaStatuses"] == {"Launcher": {}, "Worker": {}}
    assert "startTime" not in told


def test_a_job_that_runs_has_its_workers_before_its_launcher() -> None:
    limits = {"backoffLimit": 3, "activeDeadlineSeconds": 9, "ttlSecondsAfterFinished": 8}
    writes = look(mpi_job(status={}, **limits))
    assert made(writes) == ["a-worker-0", "a-worker-1", "a-launcher"]
    launching = next(
        each.body for each in writes if isinstance(each, Create) and "job" in each.kind
    )
    assert {key: launching["spec"][key] for key in limits} == limits
    assert "suspend" not in launching["spec"]
    assert launching["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert status_in(writes)["startTime"] == ago(0)


def test_a_launcher_that_waits_for_workers_is_made_when_all_are_ready() -> None:
    mpi = mpi_job(spec={"launcherCreationPolicy": "WaitForWorkersReady"})
    assert made(look(mpi, worker(mpi, 0), worker(mpi, 1, "Pending"))) == []
    assert made(look(mpi, worker(mpi, 0), worker(mpi, 1))) == ["a-launcher"]


def test_workers_beyond_the_number_go_and_one_whose_name_is_taken_waits() -> None:
    mpi = mpi_job(workers=1)
    there = [worker(mpi, 0, deleted=True), worker(mpi, 1)]
    writes = look(mpi, *there, launcher(mpi))
    assert (made(writes), deleted(writes)) == ([], ["a-worker-1"])


def test_where_the_launcher_works_it_is_the_first_worker() -> None:
    writes = look(mpi_job(workers=1, spec={"runLauncherAsWorker": True}))
    index = "training.kubeflow.org/replica-index"
    working, launching = (each.body for each in writes if isinstance(each, Create))
    assert working["metadata"]["labels"][index] == "1"
    assert launching["spec"]["template"]["metadata"]["labels"][index] == "0"


def test_a_launcher_that_somebody_suspended_is_released_with_what_the_job_says_by_now() -> None:
    mpi = mpi_job()
    pods = mpi["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    pods["spec"]["nodeSelector"] = {"zone": "b"}
    pods["metadata"]["labels"] = {"team": "x"}
    old = launcher(mpi, suspend=True, status={"startTime": ago(3)})
    writes = look(mpi, old, worker(mpi, 0), worker(mpi, 1))
    first = next(each for each in writes if isinstance(each, Replace))
    assert (first.kind, first.subresource, first.body["status"]) == ("jobs.batch", "status", {})
    released = changed_launcher(writes)
    assert released["spec"]["suspend"] is False
    assert released["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "b"}
    assert released["spec"]["template"]["metadata"]["labels"]["team"] == "x"
    assert released["spec"]["template"]["metadata"]["labels"]["job-name"] == "a-launcher"


def test_a_suspended_job_suspends_its_launcher_and_ends_its_workers() -> None:
    mpi = mpi_job(status={"conditions": [CREATED, RUNNING], "startTime": ago(9)}, suspend=True)
    launching = launcher(mpi)
    writes = look(mpi, launching, worker(mpi, 0), worker(mpi, 1, deleted=True))
    assert changed_launcher(writes)["spec"]["suspend"] is True
    assert deleted(writes) == ["a-worker-0"]
    assert said(status_in(writes)) == ["Created", "Suspended", "-Running"]


@pytest.mark.parametrize(
    ("keeps", "gone"),
    [
        pytest.param("None", ["a-worker-0", "a-worker-1"], id="none"),
        pytest.param("Running", ["a-worker-0"], id="those that run"),
        pytest.param("All", ["a-worker-0", "a-worker-1"], id="all"),
    ],
)
def test_workers_that_ended_may_stay_while_a_job_is_held(keeps: str, gone: list[str]) -> None:
    mpi = mpi_job(suspend=True, cleanPodPolicy=keeps)
    there = [worker(mpi, 0), worker(mpi, 1, "Failed")]
    assert deleted(look(mpi, launcher(mpi, suspend=True), *there)) == gone


def test_it_runs_when_the_launcher_and_all_workers_do() -> None:
    mpi = mpi_job()
    launching = launcher(mpi)
    some = [launching, pod("l", owner=launching), worker(mpi, 0)]
    waiting = status_in(look(mpi, *some, worker(mpi, 1, "Pending")))
    assert said(waiting) == ["Created"]
    assert waiting["replicaStatuses"] == {"Launcher": {"active": 1}, "Worker": {"active": 1}}
    assert said(status_in(look(mpi, *some, worker(mpi, 1)))) == ["Created", "Running"]


def test_it_succeeds_with_its_launcher_and_then_its_workers_may_go() -> None:
    mpi = mpi_job(cleanPodPolicy="Running")
    launching = launcher(mpi, status=ended("Complete"))
    told = status_in(look(mpi, launching, worker(mpi, 0), worker(mpi, 1)))
    assert said(told) == ["Created", "Succeeded"]
    assert told["completionTime"] == ago(1)
    assert told["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    over = {**mpi, "status": told}
    assert deleted(look(over, launching, worker(mpi, 0))) == ["a-worker-0"]
    kept = {**mpi_job(), "status": told}
    assert look(kept, launching, worker(mpi, 0)) == []


@pytest.mark.parametrize(
    ("failure", "pods", "reason", "text"),
    [
        pytest.param(
            {"reason": "DeadlineExceeded"}, [], "DeadlineExceeded", "it did", id="too long"
        ),
        pytest.param({}, [], "MPIJobFailed", "it did", id="without a reason"),
        pytest.param(
            {"reason": "BackoffLimitExceeded"},
            [{"reason": "OOM", "message": "x" * 2000}],
            "BackoffLimitExceeded/OOM",
            f"it did: {'x' * 1013}...",
            id="as its pod did",
        ),
    ],
)
def test_it_fails_as_its_launcher_did(failure: Any, pods: Any, reason: str, text: str) -> None:
    mpi = mpi_job()
    launching = launcher(mpi, status={**ended("Failed", **failure), "failed": 1})
    failed = [pod("l", owner=launching, phase="Failed", status=each) for each in pods]
    told = status_in(look(mpi, launching, *failed))
    assert said(told) == ["Created", "Failed"]
    assert (told["conditions"][-1]["reason"], message(told)) == (reason, text)
    assert told["completionTime"] == ago(0)
    assert told["replicaStatuses"]["Launcher"] == {"failed": 1}


def test_evicted_workers_fail_a_job_until_its_launcher_succeeds() -> None:
    mpi = mpi_job(workers=1)
    evicted = worker(mpi, 0, "Failed", status={"reason": "Evicted"})
    told = status_in(look(mpi, launcher(mpi), evicted))
    assert (said(told)[-1], message(told)) == ("Failed", "1/1 workers are evicted")
    over = {**mpi, "status": told}
    done = status_in(look(over, launcher(mpi, status=ended("Complete"))))
    assert said(done) == ["Created", "-Failed", "Succeeded"]


def test_a_job_of_another_controller_or_one_that_is_gone_is_left_alone() -> None:
    assert look(mpi_job(status={}, managedBy="example.com/other")) == []
    assert driven(MpiController().sync(KEY, View(), NOW))[0] == []


def test_a_job_is_looked_at_for_what_it_made_and_for_what_that_made() -> None:
    mpi = mpi_job()
    launching = launcher(mpi)
    view = seen(mpi, launching)
    concerns = MpiController().concerns
    at_once, later = Due(KEY), Due(KEY, 0.05)
    assert concerns(came(mpi), view, NOW) == [at_once]
    for each in (launching, worker(mpi, 0), pod("l", owner=launching)):
        assert concerns(came(each), view, NOW) == [later]
    assert concerns(came(pod("p")), view, NOW) == []
