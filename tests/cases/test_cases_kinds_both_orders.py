"""Definitions and webhooks of operators beside ours, in both orders: the same job comes of it.

What the operators' webhooks fill in is written as those of JobSet 0.11, Trainer 2.2 and Spark
operator 2.5 do it; the definitions are the operators' own.
"""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from case_kinds import KINDS, Job, Kind, a_job, integration, stored, unit_of

from kq.sim.crds.definitions import Variant, job_kinds
from kq.sim.schemas.structural import fill, prune

OPERATED = [each for each in KINDS if each.key != "job"]


@cache
def schemas() -> dict[tuple[str, str], Any]:
    """The operators' definitions of all kinds, by version and kind."""
    return {
        (f"{crd['spec']['group']}/{each['name']}", crd["spec"]["names"]["kind"]): each["schema"]
        for crd in (*job_kinds(Variant.ARENA), *job_kinds(Variant.TRAINING), *job_kinds())
        for each in crd["spec"]["versions"]
    }


def defined(kind: Kind, job: Job) -> Job:
    """The job as its definition keeps and completes it, before and after each webhook."""
    schema = schemas()[kind.api, kind.kind]["openAPIV3Schema"]
    kept, _ = prune(schema, job)
    fill(schema, kept)
    return kept


def of_job_set(job: Job) -> Job:
    spec = job["spec"]
    spec.setdefault("successPolicy", {"operator": "All"})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    for each in spec["replicatedJobs"]:
        inner = each["template"]["spec"]
        inner.setdefault("completionMode", "Indexed")
        inner["template"]["spec"].setdefault("restartPolicy", "OnFailure")
        # Go writes this of every structure that has metadata.
        inner["template"].setdefault("metadata", {}).setdefault("creationTimestamp", None)
        each["template"].setdefault("metadata", {}).setdefault("creationTimestamp", None)
    spec.setdefault("network", {"enableDNSHostnames": True, "publishNotReadyAddresses": True})
    return {**job, "status": job.get("status", {})}


def of_spark(job: Job) -> Job:
    spec = job["spec"]
    for field, value in (("type", "Scala"), ("mode", "cluster"), ("restartPolicy", {})):
        spec[field] = spec.get(field) or value
    spec["restartPolicy"].setdefault("type", "Never")
    for role in ("driver", "executor"):
        spec[role] = {"cores": 1, "memory": "1g", **spec.get(role, {})}
    spec["executor"].setdefault("instances", 1)
    return job


def of_trainer(job: Job) -> Job:
    """It notes when a patch of the runtime was made, ours too if it comes after us."""
    for each in job["spec"].get("runtimePatches") or ():
        each["time"] = each.get("time") or "2026-03-01T12:00:00Z"
    return job


def of_nobody(job: Job) -> Job:
    return job


WEBHOOKS: dict[str, Callable[[Job], Job]] = {
    "JobSet": of_job_set,
    "TrainJob": of_trainer,
    "SparkApplication": of_spark,
}
SPARSE: dict[str, Job] = {
    "SparkApplication": {"driver": {}, "executor": {}},
    "JobSet": {
        "replicatedJobs": [
            {"name": "w", "template": {"spec": {"template": {"spec": {"containers": []}}}}}
        ]
    },
}


@pytest.mark.parametrize("kind", OPERATED, ids=lambda kind: kind.id)
@pytest.mark.parametrize("switch", [..., False, True], ids=["absent", "false", "true"])
def test_both_orders_give_the_same_job_and_the_same_unit(kind: Kind, switch: Any) -> None:
    """Case A5, spec 6.1, 6.5: theirs then ours, ours then theirs, and ours again."""
    theirs = WEBHOOKS.get(kind.kind, of_nobody)
    for spec in (None, SPARSE.get(kind.kind)):
        job = defined(kind, a_job(kind, switch=switch, spec=spec))

        def by_theirs(job: Job) -> Job:
            return defined(kind, theirs(copy.deepcopy(job)))

        def by_ours(job: Job) -> Job:
            return defined(kind, stored(kind, job))

        after, before = by_ours(by_theirs(job)), by_theirs(by_ours(job))
        assert without_marks(after) == without_marks(before)
        assert by_ours(before) == before
        assert by_theirs(by_ours(after)) == after
        assert integration(kind).view(after).suspended
        assert unit_of(kind, after)["spec"] == unit_of(kind, before)["spec"]
        if spec is None:
            assert unit_of(kind, after)["spec"]["resource"].get("cpu", "") == kind.cpu


def without_marks(job: Job) -> Job:
    """The job but for times and the list of what was added, of which both orders are right."""
    marks = job["metadata"]["annotations"]
    kept = {key: each for key, each in marks.items() if key != "koord-queue/injected"}
    done = copy.deepcopy(
        {**job, "metadata": {**job["metadata"], "annotations": kept}, "status": {}}
    )
    for each in done["spec"].get("runtimePatches") or ():
        each.pop("time", None)
    return done
