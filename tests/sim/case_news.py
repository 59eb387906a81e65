"""News of each kind that kq watches: what changes, and how one sees that kq has noticed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reading import phase_of
from sim_case import TEAM, Case

from kq.core.kinds import (
    JOB,
    LIMIT_RANGE,
    NAMESPACE,
    PRIORITY_CLASS,
    QUEUE_UNIT,
    RUNTIME_CLASS,
)

Object = dict[str, Any]
FREE = "free"
"""A namespace that kq leaves alone until it is told otherwise."""
MANAGED = "koord-queue/managed"


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One change that only the watch of its kind tells of."""

    plural: str
    before: Callable[[Case], None]
    happens: Callable[[Case], None]
    is_noticed: Callable[[Case], bool]
    followers: int = 1
    """How many watches of kq there are on this kind."""


def two_jobs(case: Case, limit: int = 2) -> None:
    """`first` runs, `second` waits for all that it has."""
    quota = case.world.quota("a", cpu=limit)
    case.world.job("first", quota, cpu=2)
    case.world.wait_phase("first", "Running")
    case.world.job("second", quota, cpu=2)
    case.passes()


def lingering(case: Case) -> None:
    """`first` is deleted, and one pod of it takes its time."""
    quota = case.world.quota("a", cpu=2)
    case.world.job("first", quota, cpu=2, played={"linger-for": "30s"})
    case.world.wait_phase("first", "Running")
    case.world.job("second", quota, cpu=2)
    case.world.delete_job("first")
    case.passes()


def asking(case: Case, name: str, **fields: Any) -> None:
    """`first` runs, and one waits whose request or priority depends on something else."""
    two_jobs(case)
    case.world.submit(case.world.manifest(name, case.world.name_of("a"), **fields))
    case.passes()


def blocked(case: Case) -> None:
    """`small` would fit, but its Queue lets nobody overtake."""
    quota = case.world.quota("a", cpu=3)
    set_policy(case, "Block")
    case.world.job("first", quota, cpu=2)
    case.world.wait_phase("first", "Running")
    case.world.job("second", quota, cpu=2)
    case.world.next_second("second")
    case.world.job("small", quota, cpu=1)
    case.passes()


def set_policy(case: Case, policy: str) -> None:
    case.world.set_queue(case.world.name_of("a"), {"spec": {"queuePolicy": policy}})


def holds(name: str) -> Callable[[Case], bool]:
    """That the job of this name has quota."""
    return lambda case: case.phases().get(name) in ("Dequeued", "Running")


def memory_of(case: Case, name: str) -> object:
    """What the unit of a job says that it asks of memory."""
    unit = case.world.seen_unit(name)
    return unit["spec"].get("resource", {}).get("memory") if unit else None


def free_namespace(case: Case) -> None:
    meta = {"name": FREE, "labels": {MANAGED: "false"}}
    case.ground.create(NAMESPACE, {"metadata": meta})
    quota = case.world.quota("a", cpu=2)
    # The webhook leaves it alone, so it has to hold itself.
    body = case.world.manifest("waits", quota, cpu=1, spec={"suspend": True})
    body["metadata"]["namespace"] = FREE
    case.ground.create(JOB, body)
    case.passes()


def limit_range() -> Object:
    limit = {"type": "Container", "defaultRequest": {"memory": "1Gi"}}
    return {"metadata": {"name": "defaults", "namespace": TEAM}, "spec": {"limits": [limit]}}


def first_goes_and_third_comes(case: Case) -> None:
    case.world.delete_job("first")
    case.world.job("third", case.world.name_of("a"), cpu=1)


def gold_comes(case: Case) -> None:
    case.ground.create(PRIORITY_CLASS, {"metadata": {"name": "gold"}, "value": 1000})


def limits_come(case: Case) -> None:
    case.ground.create(LIMIT_RANGE, limit_range())


def runtime_comes(case: Case) -> None:
    body = {
        "metadata": {"name": "boxed"},
        "handler": "boxed",
        "overhead": {"podFixed": {"memory": "1Gi"}},
    }
    case.ground.create(RUNTIME_CLASS, body)


NEWS = (
    News(
        plural="jobs",
        before=lambda case: two_jobs(case, limit=3),
        happens=first_goes_and_third_comes,
        is_noticed=lambda case: holds("second")(case) and holds("third")(case),
    ),
    News(
        plural="pods",
        before=lingering,
        happens=lambda case: case.passes(12),
        is_noticed=holds("second"),
    ),
    News(
        plural="queueunits",
        before=two_jobs,
        happens=lambda case: case.world.change_unit("first", {"spec": {"active": False}}),
        is_noticed=holds("second"),
    ),
    News(
        plural="queues",
        before=blocked,
        happens=lambda case: set_policy(case, "Priority"),
        is_noticed=holds("small"),
    ),
    News(
        plural="elasticquotas",
        before=two_jobs,
        happens=lambda case: case.world.set_limits(case.world.name_of("a"), cpu=4),
        is_noticed=holds("second"),
        followers=2,
    ),
    News(
        plural="namespaces",
        before=free_namespace,
        happens=lambda case: (
            case.ground.patch(NAMESPACE, "", FREE, {"metadata": {"labels": {MANAGED: None}}})
            and None
        ),
        is_noticed=lambda case: (
            (unit := case.ground.read(QUEUE_UNIT, FREE, "waits")) is not None
            and phase_of(unit) in ("Dequeued", "Running")
        ),
        followers=2,
    ),
    News(
        plural="priorityclasses",
        before=lambda case: asking(case, "golden", cpu=2, pod_spec={"priorityClassName": "gold"}),
        happens=gold_comes,
        is_noticed=lambda case: case.world.unit("golden")["spec"].get("priority") == 1000,
    ),
    News(
        plural="limitranges",
        before=two_jobs,
        happens=limits_come,
        is_noticed=lambda case: memory_of(case, "second") == "1Gi",
    ),
    News(
        plural="runtimeclasses",
        before=lambda case: asking(case, "boxed", cpu=2, pod_spec={"runtimeClassName": "boxed"}),
        happens=runtime_comes,
        is_noticed=lambda case: memory_of(case, "boxed") == "1Gi",
    ),
)
