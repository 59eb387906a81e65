"""The webhooks of operators beside ours: what they fill in, in both orders; what they refuse."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from controlplane.cluster import Cluster
from controlplane.errors import ControlPlaneError, Refused
from ground import Object, path
from kind_world import KindWorld

from kq.core import keys
from kq.core.kinds import MUTATING_WEBHOOK, QUEUE_UNIT

CONFIGURATIONS = {
    "JobSet": "jobset-mutating-webhook-configuration",
    "TrainJob": "defaulter.trainer.kubeflow.org",
    "SparkApplication": "spark-operator-mutating-webhook-configuration",
}
FILLED: Mapping[str, Callable[[Object], object]] = {
    "JobSet": lambda job: job["spec"].get("successPolicy"),
    "TrainJob": lambda job: job["spec"]["runtimePatches"][0].get("time"),
    "SparkApplication": lambda job: job["spec"]["driver"].get("memory"),
}
"""Whether the webhook of its operator has seen a job."""
SEEN = f"('{keys.HAS_ENQUEUED}' in object.metadata.?annotations.orValue({{}}))"
"""Whether ours has seen a job, as the API server asks before it calls another."""


def check_both_orders(cluster: Cluster, jobs: KindWorld) -> None:
    """They are called in the order of their names; either way the job is held, let go and ends."""
    world = jobs.world
    a = world.quota("a", cpu=jobs.case.cpu)
    jobs.prepare("first")
    theirs = Theirs(cluster=cluster, jobs=jobs, quota=a)
    made = []
    with theirs.taken_away() as webhooks:
        for name, seen in (("aa", f"!{SEEN}"), ("zz", SEEN)):
            with theirs.called(name, webhooks, f"oldObject != null || {seen}"):
                made.append(submitted(theirs.tried()))
                jobs.submit(name, a, run_for="1s")
                jobs.wait_over(name)
            made[-1] |= counted(world.unit(jobs.unit(name)))
    assert made[0] == made[1]
    assert made[0]["held"]
    assert jobs.onlooker.faults(jobs.case.cpu) == []


def check_refused(jobs: KindWorld, name: str, told: str) -> None:
    """What an operator does not like never comes into the queue."""
    world = jobs.world
    a = world.quota("a", cpu=1)
    with pytest.raises(ControlPlaneError, match=told):
        world.submit(jobs.manifest(name, a))
    world.job("last", a, cpu=1)
    world.wait_granted("last")
    units = world.ground.items(QUEUE_UNIT, world.namespace)
    assert [each["metadata"]["name"] for each in units] == ["last"]


def denied(webhook: str) -> str:
    """What a person reads whom a webhook refuses."""
    return f'admission webhook "{webhook}" denied the request'


def submitted(job: Object) -> Object:
    """What becomes of a job at its submit, but for times."""
    annotations = job["metadata"]["annotations"]
    for each in job["spec"].get("runtimePatches", ()):
        each.pop("time", None)
    return {
        "held": job["spec"]["suspend"],
        "spec": job["spec"],
        "labels": job["metadata"].get("labels"),
        "annotations": {
            key: each for key, each in annotations.items() if key != keys.ENQUEUE_TIMESTAMP
        },
    }


def counted(unit: Object) -> Object:
    return {key: unit["spec"][key] for key in ("podSet", "resource")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """The webhook configuration by which an operator completes jobs of one kind."""

    cluster: Cluster
    jobs: KindWorld
    quota: str

    def tried(self) -> Object:
        """What a job would be that is made now."""
        manifest = self.jobs.manifest("first", self.quota)
        return self.jobs.world.ground.tried(self.jobs.case.kind, manifest)

    def is_called(self) -> bool:
        """Whether it is called for such a job; some kinds are refused without."""
        try:
            return bool(FILLED[self.jobs.case.kind.kind](self.tried()))
        except Refused:
            return False

    @contextmanager
    def taken_away(self) -> Iterator[Sequence[Object]]:
        """Its webhooks, which are not called meanwhile."""
        name = CONFIGURATIONS[self.jobs.case.kind.kind]
        webhooks = self.cluster.api("GET", path(MUTATING_WEBHOOK, name=name))["webhooks"]
        self._remove(name)
        try:
            self._wait(False)
            yield webhooks
        finally:
            self._make(name, webhooks)

    @contextmanager
    def called(self, name: str, webhooks: Sequence[Object], condition: str) -> Iterator[None]:
        """Its webhooks are called under another name, if a condition holds."""
        conditions = {"matchConditions": [{"name": "order", "expression": condition}]}
        self._make(name, [{**each, **conditions} for each in webhooks])
        try:
            self._wait(True)
            yield
        finally:
            self._remove(name)
        self._wait(False)

    def _make(self, name: str, webhooks: Sequence[Object]) -> None:
        made = {"metadata": {"name": name}, "webhooks": webhooks}
        self.cluster.api("POST", path(MUTATING_WEBHOOK), made)

    def _remove(self, name: str) -> None:
        self.cluster.api("DELETE", path(MUTATING_WEBHOOK, name=name))

    def _wait(self, is_called: bool) -> None:
        """Until the API server has noticed."""
        self.jobs.world.ground.until(lambda: self.is_called() == is_called, "they are called")
