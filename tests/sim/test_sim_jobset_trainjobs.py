"""Trainer, played: the JobSet that it makes, and what it says of that."""

from typing import Any

import pytest
from cluster_objects import NOW, ago, driven, owned_by
from kubeflow_objects import custom, deleted, message, said, status_in, template

from kq.sim.api.status import ApiStatus
from kq.sim.control.controller import Due, Key
from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Create, Patch, Write
from kq.sim.jobset.jobsets import JOB_SETS
from kq.sim.jobset.trainjobs import RUNTIMES, TRAIN_JOBS, TrainJobController

KEY = Key("n", "a")
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
PLURALS = {"TrainJob": TRAIN_JOBS, "JobSet": JOB_SETS, **RUNTIMES}


def trainjob(*, status: Any = None, kind: str = "TrainingRuntime", **spec: Any) -> Any:
    ref = {"name": "torch", "kind": kind}
    return custom(
        "trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": ref, **spec}, status=status
    )


def replicated(name: str, *, trains: bool = False, **spec: Any) -> Any:
    labels = {STEP: "trainer"} if trains else {}
    inner = {**spec, "template": template("node")}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": inner}}


def runtime(*jobs: Any, policy: Any = None, kind: str = "TrainingRuntime") -> Any:
    jobs = jobs or (replicated("node", trains=True),)
    body = {
        "mlPolicy": policy or {"torch": {}},
        "template": {
            "metadata": {"labels": {"by": "runtime"}},
            "spec": {"replicatedJobs": [*jobs]},
        },
    }
    meta = {"name": "torch", "uid": "uid-r"}
    if kind == "ClusterTrainingRuntime":
        meta["namespace"] = ""
    return custom("trainer.kubeflow.org/v1alpha1", kind, body, meta=meta)


def jobset(owner: Any, *, status: Any = None, suspend: bool = False) -> Any:
    meta = {"uid": "uid-s", "ownerReferences": [owned_by(owner)]}
    spec = {"suspend": suspend}
    return custom("jobset.x-k8s.io/v1alpha2", "JobSet", spec, status=status, meta=meta)


def seen(*objects: Any) -> View:
    view = View()
    for each in objects:
        view.apply(Happened(kind=PLURALS[each["kind"]], before=None, after=each))
    return view


def look(*objects: Any) -> list[Write]:
    return driven(TrainJobController().sync(KEY, seen(*objects), NOW))[0]


def made_jobset(*objects: Any) -> Any:
    return next(each.body for each in look(*objects) if isinstance(each, Create))


def child_of(job: Any, *, suspend: bool) -> Any:
    """Its JobSet as it was made, and is suspended by now."""
    spec = {**made_jobset(job, runtime())["spec"], "suspend": suspend}
    return {**jobset(job), "spec": spec}


def patch_of(label: str, *names: str) -> Any:
    """What a queue wants added to pods."""
    template = {"spec": {"template": {"metadata": {"labels": {"quota": label}}}}}
    jobs = [{"name": each, "template": template} for each in names]
    spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    return {"manager": "a/queue", "trainingRuntimeSpec": spec}


def pod_labels(spec: Any) -> list[Any]:
    templates = (each["template"]["spec"]["template"] for each in spec["replicatedJobs"])
    return [each.get("metadata", {}).get("labels") for each in templates]


def counts(made: Any) -> dict[str, int]:
    return {
        each["name"]: each["template"]["spec"]["parallelism"]
        for each in made["spec"]["replicatedJobs"]
    }


@pytest.mark.parametrize("kind", RUNTIMES)
def test_a_job_made_held_has_a_held_jobset_of_its_name(kind: str) -> None:
    job = trainjob(suspend=True, kind=kind)
    writes = look(job, runtime(kind=kind))
    [made] = [each.body for each in writes if isinstance(each, Create)]
    assert (made["metadata"]["name"], made["spec"]["suspend"]) == ("a", True)
    assert made["metadata"]["labels"] == {"by": "runtime"}
    assert made["metadata"]["ownerReferences"] == [owned_by(job)]
    assert said(status_in(writes)) == ["Suspended"]


MPI = {"mpi": {"runLauncherAsNode": False}}
AS_NODE = {"mpi": {"runLauncherAsNode": True}}
LAUNCHED = (replicated("launcher", trains=True), replicated("node"))


@pytest.mark.parametrize(
    ("jobs", "policy", "nodes", "pods"),
    [
        pytest.param((), {"torch": {}}, None, {"node": 1}, id="one by default"),
        pytest.param((), {"numNodes": 3, "torch": {}}, None, {"node": 3}, id="the runtime's"),
        pytest.param((), {"numNodes": 3, "torch": {}}, 2, {"node": 2}, id="the job's"),
        pytest.param(
            (replicated("init", parallelism=4), replicated("node", trains=True)),
            {"torch": {}},
            2,
            {"init": 4, "node": 2},
            id="beside others",
        ),
        pytest.param(LAUNCHED, MPI, 3, {"launcher": 1, "node": 3}, id="MPI"),
        pytest.param(
            LAUNCHED, AS_NODE, 3, {"launcher": 1, "node": 2}, id="MPI with a working launcher"
        ),
        pytest.param(LAUNCHED, AS_NODE, 1, {"launcher": 1, "node": 1}, id="MPI with at least one"),
    ],
)
def test_nodes_are_counted(jobs: Any, policy: Any, nodes: Any, pods: Any) -> None:
    trainer = {"trainer": {"numNodes": nodes}} if nodes else {}
    made = made_jobset(trainjob(**trainer), runtime(*jobs, policy=policy))
    assert counts(made) == pods


def test_the_container_that_trains_gets_what_the_job_says() -> None:
    trainer = {
        "image": "mine",
        "command": ["run"],
        "args": ["x"],
        "resourcesPerNode": {"requests": {"cpu": "2"}},
        "env": [{"name": "A", "value": "2"}],
    }
    base = replicated("node", trains=True)
    containers = base["template"]["spec"]["template"]["spec"]["containers"]
    containers[0]["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]
    containers.append({"name": "aside", "image": "other"})
    made = made_jobset(trainjob(trainer=trainer), runtime(base))
    [each] = made["spec"]["replicatedJobs"]
    node, aside = each["template"]["spec"]["template"]["spec"]["containers"]
    assert node == {
        "name": "node",
        "image": "mine",
        "command": ["run"],
        "args": ["x"],
        "resources": {"requests": {"cpu": "2"}},
        "env": [{"name": "B", "value": "1"}, {"name": "A", "value": "2"}],
    }
    assert aside == {"name": "aside", "image": "other"}


@pytest.mark.parametrize(
    ("held", "child_held", "patched"),
    [
        pytest.param(True, False, True, id="held"),
        pytest.param(False, True, False, id="released"),
        pytest.param(True, True, None, id="both held"),
        pytest.param(False, False, None, id="both running"),
    ],
)
def test_its_jobset_is_suspended_as_it_is(held: bool, child_held: bool, patched: Any) -> None:
    job = trainjob(suspend=held)
    writes = look(job, runtime(), child_of(job, suspend=child_held))
    told = [each.body["spec"]["suspend"] for each in writes if isinstance(each, Patch)]
    assert told == ([] if patched is None else [patched])


def test_patches_of_its_runtime_label_the_pods_that_they_name_the_last_one_wins() -> None:
    node, aside = replicated("node", trains=True), replicated("aside")
    node["template"]["spec"]["template"]["metadata"] = {"labels": {"by": "runtime"}}
    patches = [patch_of("one", "node"), patch_of("two", "node")]
    made = made_jobset(trainjob(runtimePatches=patches), runtime(node, aside))
    assert pod_labels(made["spec"]) == [{"by": "runtime", "quota": "two"}, None]


@pytest.mark.parametrize(
    ("held", "child_held", "labels"),
    [
        pytest.param(True, True, ["a"], id="both held"),
        pytest.param(False, True, ["a"], id="released"),
        pytest.param(False, False, [], id="both running"),
    ],
)
def test_a_patch_of_its_runtime_reaches_the_jobset_unless_both_run(
    held: bool, child_held: bool, labels: Any
) -> None:
    job = trainjob(suspend=held, runtimePatches=[patch_of("a", "node")])
    child = child_of(trainjob(suspend=held), suspend=child_held)
    writes = [each.body for each in look(job, runtime(), child) if isinstance(each, Patch)]
    assert [pod_labels(each["spec"]) for each in writes] == [[{"quota": "a"}] for _ in labels]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param("Completed", "Complete", id="well"),
        pytest.param("Failed", "Failed", id="not well"),
    ],
)
def test_it_ends_as_its_jobset_does_in_words_of_its_own(theirs: str, ours: str) -> None:
    suspended = {
        "type": "Suspended",
        "status": "True",
        "reason": "Suspended",
        "message": "",
        "lastTransitionTime": ago(9),
    }
    job = trainjob(status={"conditions": [suspended]})
    end = {"type": theirs, "status": "True", "reason": "Why", "message": "so"}
    listed = [{"name": "node", "succeeded": 1}]
    status = {
        "conditions": [{**end, "lastTransitionTime": ago(1)}],
        "replicatedJobsStatus": listed,
    }
    told = status_in(look(job, runtime(), jobset(job, status=status)))
    assert said(told) == ["-Suspended", ours]
    assert message(told) == "so"
    assert told["jobsStatus"] == listed
    over = trainjob(status=told)
    assert look(over, runtime()) == []


def test_a_deadline_counts_from_the_release_and_ends_the_jobset() -> None:
    resumed = {
        "type": "Suspended",
        "status": "False",
        "reason": "Resumed",
        "message": "",
        "lastTransitionTime": ago(10),
    }
    job = trainjob(status={"conditions": [resumed]}, activeDeadlineSeconds=10)
    writes = look(job, runtime(), jobset(job))
    assert deleted(writes) == ["a"]
    assert message(status_in(writes)) == "TrainJob exceeded its active deadline"
    later = trainjob(status={"conditions": [resumed]}, activeDeadlineSeconds=12)
    plan = TrainJobController().sync(KEY, seen(later, runtime(), jobset(later)), NOW)
    writes, again = driven(plan)
    assert (writes, again and again.total_seconds()) == ([], 2.0)


def test_without_its_runtime_it_says_what_it_can_and_is_tried_again() -> None:
    plan = TrainJobController().sync(KEY, seen(trainjob(suspend=True)), NOW)
    [write] = next(plan)
    assert said(write.body["status"]) == ["Suspended"]  # type: ignore[union-attr]
    with pytest.raises(ApiStatus, match="no such runtime"):
        plan.send([{}])


def test_one_of_another_controller_or_one_that_is_gone_is_left_alone() -> None:
    assert look(trainjob(managedBy="example.com/other"), runtime()) == []
    assert look() == []


def test_a_job_is_looked_at_for_itself_and_for_its_jobset() -> None:
    job = trainjob()
    concerns = TrainJobController().concerns
    happened = Happened(kind=TRAIN_JOBS, before=None, after=job)
    assert concerns(happened, seen(job), NOW) == [Due(KEY)]
    child = Happened(kind=JOB_SETS, before=None, after=jobset(job))
    assert concerns(child, seen(job), NOW) == [Due(KEY, 0.05)]
    assert concerns(child, View(), NOW) == []
