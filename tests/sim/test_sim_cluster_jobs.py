from datetime import timedelta

import pytest
from cluster_objects import (
    NOW,
    accepted,
    ago,
    came,
    changed,
    driven,
    job,
    owned_by,
    pod,
    refused,
    view_of,
    went,
    words,
    written,
)

from kq.sim.api.status import ApiStatus
from kq.sim.cluster.jobs import JobController, TtlController
from kq.sim.cluster.operators import OperatorController, operate
from kq.sim.control.controller import Due, Key
from kq.sim.control.objects import PODS
from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Create

KEY = Key("n", "a")
DONE = {
    "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": ago(20)}],
}


def dues(happened, *objects, controller=None):
    view = view_of(*objects)
    view.apply(happened)
    return list((controller or JobController()).concerns(happened, view, NOW))


@pytest.mark.parametrize(
    ("happened", "due"),
    [
        pytest.param(came(job()), [Due(KEY)], id="a new job"),
        pytest.param(
            changed(job(), job(meta={"generation": 2})), [Due(KEY)], id="its spec, at once"
        ),
        pytest.param(changed(job(), job()), [Due(KEY, 1.0)], id="its status, after a second"),
        pytest.param(came(pod(owner=job())), [Due(KEY, 1.0)], id="its pod, after a second"),
        pytest.param(went(pod(owner=job())), [Due(KEY, 1.0)], id="its pod that is gone"),
        pytest.param(came(pod()), [], id="a pod of nobody"),
        pytest.param(came(pod(owner=job("other"))), [], id="a pod of a job that is not there"),
    ],
)
def test_a_job_is_looked_at_for_what_concerns_it(happened, due):
    assert dues(happened, job()) == due


def test_pods_of_a_job_that_is_gone_are_let_go_of():
    owner = job()
    made = pod(owner=owner)
    assert Due(Key("n", "p", "pod")) in dues(went(owner), owner, made)
    [patch] = written(JobController().sync(Key("n", "p", "pod"), view_of(made), NOW))
    assert patch.body == {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"]}
    }


def test_a_pod_that_lost_its_owner_is_let_go_of():
    alone = pod(meta={"finalizers": ["batch.kubernetes.io/job-tracking"]})
    assert dues(came(alone)) == [Due(Key("n", "p", "pod"))]


def test_a_pod_whose_job_will_count_it_is_kept():
    owner = job()
    made = pod(owner=owner)
    assert written(JobController().sync(Key("n", "p", "pod"), view_of(owner, made), NOW)) == []


def test_a_pod_of_another_kind_of_owner_is_not_touched():
    owner = {**job(), "kind": "Other"}
    assert written(JobController().sync(Key("n", "p", "pod"), view_of(pod(owner=owner)), NOW)) == []


def test_a_pod_that_cannot_be_let_go_of_is_tried_again():
    plan = JobController().sync(Key("n", "p", "pod"), view_of(pod(owner=job())), NOW)
    with pytest.raises(ApiStatus):
        driven(plan, lambda _: refused("InternalError", 500))


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(job(status=DONE), id="finished"),
        pytest.param(job(managedBy="example.com/other"), id="of another controller"),
    ],
)
def test_jobs_that_are_not_to_be_looked_after_are_left_alone(made):
    assert written(JobController().sync(KEY, view_of(made), NOW)) == []


def test_a_job_that_is_gone_is_no_failure():
    assert written(JobController().sync(KEY, View(), NOW)) == []


def test_a_job_goes_when_its_time_is_over():
    made = job(status=DONE, ttlSecondsAfterFinished=20)
    [delete] = written(TtlController().sync(KEY, view_of(made), NOW))
    assert (delete.name, delete.uid, str(delete.propagation)) == ("a", "job-a", "Foreground")


def test_a_job_whose_time_is_not_over_waits():
    made = job(status=DONE, ttlSecondsAfterFinished=50)
    assert driven(TtlController().sync(KEY, view_of(made), NOW)) == (
        [],
        timedelta(seconds=30),
    )


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(job(status=DONE), id="stays for ever"),
        pytest.param(job(ttlSecondsAfterFinished=0), id="still runs"),
        pytest.param(
            job(status=DONE, ttlSecondsAfterFinished=0, meta={"deletionTimestamp": ago(1)}),
            id="goes already",
        ),
    ],
)
def test_other_jobs_stay(made):
    assert dues(came(made), controller=TtlController()) == []
    assert written(TtlController().sync(KEY, view_of(made), NOW)) == []


class Trains:
    """Jobs of one pod each: an operator as small as it gets."""

    kind = "trains.example.com"

    def is_suspended(self, job):
        return job["spec"]["suspend"]

    def is_over(self, job):
        return bool(job["status"].get("over"))

    def lacking(self, job, pods):
        if pods:
            return []
        meta = {"name": f"{job['metadata']['name']}-0", "ownerReferences": [owned_by(job)]}
        return [Create(kind=PODS, namespace="n", body={"metadata": meta})]

    def status(self, job, pods, now):
        over = bool(pods) and all(each["status"]["phase"] == "Succeeded" for each in pods)
        return {"pods": len(pods), **({"over": True} if over else {})}


class TrainOperator:
    name = "train-operator"
    kind = Trains.kind
    children: tuple[str, ...] = (PODS,)
    batch = 0.5

    def sync(self, job, children, now):
        return operate(Trains(), job, [each.obj for each in children], now)


def train(*, suspend=False, status=None):
    return {**job(suspend=suspend, status=status or {"pods": 0}), "kind": "Train"}


def operated(made, *pods):
    return operate(Trains(), made, pods, NOW)


@pytest.mark.parametrize(
    ("made", "pods", "writes"),
    [
        pytest.param(train(), [], ["create pods"], id="lacks its pod"),
        pytest.param(train(suspend=True), [], [], id="suspended"),
        pytest.param(
            train(suspend=True, status={"pods": 1}), [pod()], ["delete p"], id="to be suspended"
        ),
        pytest.param(
            train(status={"pods": 1}),
            [pod(phase="Succeeded")],
            ["replace status of a"],
            id="over",
        ),
        pytest.param(train(), [pod()], ["replace status of a"], id="has its pod"),
        pytest.param(
            train(status={"pods": 2, "over": True}),
            [pod()],
            ["delete p", "replace status of a"],
            id="over with a pod too many",
        ),
    ],
)
def test_an_operator_is_a_few_words_of_its_kind(made, pods, writes):
    assert words(written(operated(made, *pods))) == writes


def test_what_an_operator_could_not_make_comes_again():
    with pytest.raises(ApiStatus):
        driven(
            operated(train()),
            lambda each: refused("Forbidden", 403) if isinstance(each, Create) else accepted(each),
        )


def test_an_operator_looks_at_a_job_for_its_children():
    controller = OperatorController(TrainOperator())
    owner = train()
    view = view_of()
    for happened in (
        Happened(kind=Trains.kind, before=None, after=owner),
        came(pod(owner=owner)),
    ):
        view.apply(happened)
    assert list(controller.concerns(came(pod(owner=owner)), view, NOW)) == [Due(KEY, 0.5)]
    assert words(written(controller.sync(KEY, view, NOW))) == ["replace status of a"]
    assert controller.kinds == (Trains.kind, PODS)
