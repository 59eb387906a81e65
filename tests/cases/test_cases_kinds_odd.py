"""Whatever stands at any one place of a job of any kind: spec 12.7 and 22.1.

Nothing crashes, the job is held, what cannot be read is told by name and never counts as nothing.
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from case_kinds import (
    KINDS,
    SUSPEND,
    Job,
    Kind,
    Way,
    a_job,
    answer,
    integration,
    let_go,
    look,
    stored,
    unit_of,
    view_of,
)

from kq.core import keys
from kq.core.resources import parse_resources
from kq.errors import DecodeError

of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
ALIKE = ("XGBoostJob-v1", "PaddleJob-v1", "MPIJob-v1", "RayJob-v1alpha1", "RayCluster-v1alpha1")
"""Read by the same lines as another."""
ODD: tuple[Any, ...] = (
    None, [], {}, "x", "", 0, -1, True, 1.5, 2**40, [None], ["x"], {"a": None}, {"cpu": "1"}
)  # fmt: skip
FEW: tuple[Any, ...] = (None, [], "x", -1, {"a": None})
SHAPES = [each for each in KINDS if each.id not in ALIKE]
of_every_shape = pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.id)
COUNTS = ("replicas", "parallelism", "completions", "instances", "numOfHosts", "minReplicas")
ROLES = ("driver", "executor")
SIZES = ("cpu", "memory", "cores")


def places(value: Any, way: Way) -> Iterator[Way]:
    """Every place inside, and the whole."""
    yield way
    inner = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = enumerate(value)
    for key, each in inner:
        yield from places(each, (*way, key))


def with_odd(job: Job, way: Way, odd: Any) -> Job:
    changed = copy.deepcopy(job)
    *above, last = way
    look(changed, tuple(above))[last] = odd
    return changed


def is_readable(place: Any, odd: Any) -> bool:
    """Whether something is said where a count, a size or a part of a job stands."""
    if odd is None:
        return True
    whole = isinstance(odd, int) and not isinstance(odd, bool)
    if place in COUNTS:
        return whole and 0 <= odd < 10**6
    if place in SIZES:
        return isinstance(odd, int | float) and not isinstance(odd, bool) and odd >= 0
    return not odd or isinstance(odd, dict) or place == "submissionMode"


@of_every_shape
def test_whatever_stands_at_one_place_the_job_is_held_and_the_next_one_is_served(
    kind: Kind,
) -> None:
    """Spec 22.1: odd values everywhere in its spec, through the webhook."""
    job = a_job(kind)
    for way in places(job["spec"], ("spec",)):
        for odd in FEW:
            changed = with_odd(job, way, odd)
            if kind.key == "sparkapp" and way[-1] in ROLES and isinstance(odd, list):
                # Spec 6.11: in a list no label has a place, and that is told.
                with pytest.raises(DecodeError, match=f"/spec/{way[-1]}/labels"):
                    answer(kind, changed)
                continue
            done = stored(kind, changed)
            seen = integration(kind).view(done)
            assert seen.suspended, (way, odd)
            assert answer(kind, done).operations == [], (way, odd)
            freed = let_go(kind, done)
            assert not integration(kind).view(freed).suspended, (way, odd)


@of_every_shape
def test_what_cannot_be_read_is_told_and_never_counts_as_nothing(kind: Kind) -> None:
    """Spec 12.7, M16: less than the job asks is counted only where the job says less."""
    job = a_job(kind)
    whole = total(unit_of(kind, job))
    for way in places(job["spec"], ("spec",)):
        for odd in ODD:
            changed = with_odd(job, way, odd)
            unit, view = unit_of(kind, changed), view_of(kind, changed)
            told = unit["metadata"]["annotations"].get(keys.DEFECT)
            assert told == view.defect or not view.pod_sets
            assert all(0 <= each["count"] <= 10**6 for each in unit["spec"].get("podSet", ()))
            less = total(unit)["cpu"] < whole["cpu"]
            if less and len(way) > 1 and not is_readable(way[-1], odd):
                assert view.defect, (way, odd)


def total(unit: Job) -> dict[str, int]:
    """What a unit asks for in all."""
    asked = dict(parse_resources(unit["spec"]["resource"], "").items())
    return {"cpu": asked.get("cpu", 0)}


MISSING: list[dict[str, Any]] = [{}, {"spec": None}, {"spec": {}}, {"spec": {"unknown": 1}}]


@of_every_kind
@pytest.mark.parametrize("body", MISSING, ids=str)
def test_a_job_without_a_spec_counts_as_its_kind_says_and_is_held(
    kind: Kind, body: dict[str, Any]
) -> None:
    """Spec 22.1: counts by 8.2, and nobody stumbles over what is not there."""
    job = a_job(kind)
    del job["spec"]
    job = {**job, **body}
    view = view_of(kind, job)
    assert tuple((each.name, each.count) for each in view.pod_sets) == kind.bare
    assert view.defect is None
    assert integration(kind).view(stored(kind, job)).suspended
    assert unit_of(kind, job)["metadata"]["name"] == f"j1{kind.suffix}"


METADATA: list[dict[str, Any]] = [
    {"labels": [], "annotations": []},
    {"labels": "x", "annotations": "y"},
    {"labels": {"a": None, "b": 1, "c": ["d"]}},
    {"annotations": {SUSPEND: None, "koord-queue/min-resources": None}},
    {"annotations": {SUSPEND: True, "scheduling.x-k8s.io/priority": 7}},
    {"ownerReferences": "x"},
    {"ownerReferences": [None, "x", {}, {"controller": True}, {"kind": None, "uid": 7}]},
    {"ownerReferences": {"kind": "RayJob"}},
    {"finalizers": None, "managedFields": None, "creationTimestamp": None},
    {"creationTimestamp": "yesterday", "uid": None, "resourceVersion": None},
]


@of_every_kind
def test_odd_metadata_stops_nobody(kind: Kind) -> None:
    """Spec 22.1: maps that are null or no maps count as empty."""
    for metadata in METADATA:
        job = a_job(kind, **metadata)
        done = stored(kind, job)
        assert integration(kind).view(done).suspended, metadata
        assert unit_of(kind, job)["spec"]["consumerRef"]["name"] == "j1"


STATUS: list[Any] = [
    None, [], "x", 7, {"conditions": None}, {"conditions": "x"}, {"conditions": [None, "x", {}]},
    {"conditions": [{"type": ["Failed"], "status": "True"}]},
    {"conditions": [{"type": "Failed", "status": True}]},
    {"applicationState": "FAILED"}, {"applicationState": {"state": ["FAILED"]}},
    {"jobDeploymentStatus": {"Failed": True}}, {"phase": ["Failed"], "nodes": "x"},
    {"launcherStatus": 1}, {"replicaStatuses": [], "startTime": 5},
]  # fmt: skip


@of_every_kind
def test_an_odd_status_is_no_end(kind: Kind) -> None:
    """Spec 8.6, case I7: a value that nobody knows frees no quota."""
    for status in STATUS:
        view = view_of(kind, {**a_job(kind), "status": status})
        assert not view.finished, status


SAME = {
    "tfjob": {"tfReplicaSpecs": {each: {"replicas": 1} for each in ("WORKER", "Worker", "worker")}},
    "mpijob": {"mpiReplicaSpecs": {each: {"replicas": 1} for each in ("Launcher", "LAUNCHER")}},
    "raycluster": {
        "workerGroupSpecs": [
            {"groupName": each, "replicas": 1} for each in ("Head", "A", "a", "", "worker", "a-2")
        ]
    },
    "jobset": {"replicatedJobs": [{"name": each} for each in ("a", "A", "a", "", "main", "ä")]},
}


@pytest.mark.parametrize("key", SAME)
def test_names_that_become_one_are_neither_merged_nor_lost(key: str) -> None:
    """Case B8, spec 2.10: upper case, doubled and empty names of roles and groups."""
    kind = next(each for each in KINDS if each.key == key)
    job = a_job(kind, spec=SAME[key])
    [listed] = SAME[key].values()
    pod_sets = unit_of(kind, job)["spec"]["podSet"]
    names = [each["name"] for each in pod_sets]
    assert len(names) == len(set(names)) == len(listed) + (key == "raycluster")
    assert sum(each["count"] for each in pod_sets) == len(names)
    assert all(name == name.lower() and name.isascii() for name in names)


MANY = {
    "TFJob-v1": {"tfReplicaSpecs": {f"r{n}": {} for n in range(300)}},
    "MPIJob-v2beta1": {"mpiReplicaSpecs": {f"r{n}": {} for n in range(300)}},
    "RayCluster-v1": {"workerGroupSpecs": [{"groupName": f"g{n}"} for n in range(300)]},
    "JobSet-v1alpha2": {"replicatedJobs": [{"name": f"j{n}"} for n in range(300)]},
}


@pytest.mark.parametrize("id_", MANY)
def test_more_pod_sets_than_a_unit_takes_are_told(id_: str) -> None:
    """Spec 22.1: M16, and a unit that the API server takes."""
    kind = next(each for each in KINDS if each.id == id_)
    unit = unit_of(kind, stored(kind, a_job(kind, spec=MANY[id_])))
    assert len(unit["spec"]["podSet"]) <= 256
    assert " is of 300 " in unit["metadata"]["annotations"][keys.DEFECT]
