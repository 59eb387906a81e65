"""What admission checks want of a job's pods, when its unit says that they are Ready (14.10)."""

from collections.abc import Mapping
from typing import Any

from ground import Object
from reading import is_suspended, message_of
from world import World

from kq.core import keys
from kq.core.kinds import QUEUE_UNIT

TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}


def answer(world: World, unit: str, *updates: Mapping[str, Any]) -> None:
    """A check controller says that a unit may start, and what it wants added."""
    entry = {
        "name": "quota",
        "state": "Ready",
        "message": "",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
        "podSetUpdates": list(updates),
    }
    status = {"status": {"admissionChecks": [entry] if updates else []}}
    world.ground.patch(QUEUE_UNIT, world.namespace, unit, status, "status")


def waits(world: World, name: str, quota: str, **what: Any) -> None:
    """A job that waits for one that has all of the quota."""
    world.job("blocker", quota, cpu=2)
    world.wait_pods("blocker")
    world.job(name, quota, cpu=2, **what)
    world.wait_message(name, f"waiting for quota {quota}: 2 cpu requested, not enough free of 2")


def template_of(job: Object) -> tuple[Mapping[str, str], Mapping[str, str], list[Object]]:
    """Labels, annotations and tolerations of the pods of a job."""
    template = job["spec"]["template"]
    meta = template["metadata"]
    return (
        meta.get("labels") or {},
        meta.get("annotations") or {},
        template["spec"].get("tolerations") or [],
    )


def test_what_checks_want_is_on_the_pods_of_one_run_only(world: World) -> None:
    """Spec 8.9, 8.10, 14.11: in the patch that releases, and out again after the suspension."""
    a = world.quota("a", cpu=2)
    waits(world, "first", a)
    before = template_of(world.wait_job("first", bool))
    wanted = {"labels": {"rack": "r1"}, "annotations": {"note": "n"}, "tolerations": [TOLERATION]}
    answer(world, "first", {"name": "first", **wanted})
    world.delete_job("blocker")
    (pod,) = world.wait_pods("first")
    assert pod["metadata"]["labels"]["rack"] == "r1"
    assert pod["metadata"]["annotations"]["note"] == "n"
    assert TOLERATION in pod["spec"]["tolerations"]
    world.wait_phase("first", "Running")
    world.change_unit("first", {"spec": {"active": False}})
    held = world.wait_job(
        "first",
        lambda job: (
            is_suspended(job) and keys.POD_SET_UPDATES not in job["metadata"]["annotations"]
        ),
    )
    assert template_of(held) == before
    answer(world, "first")
    world.change_unit("first", {"spec": {"active": True}})
    (pod,) = world.wait_pods("first")
    assert "rack" not in pod["metadata"]["labels"]
    assert TOLERATION not in pod["spec"]["tolerations"]


def test_what_cannot_be_added_starts_nothing_and_is_told(world: World) -> None:
    """Spec 14.10, M17: its quota goes to others, and it queues again when somebody says so."""
    a = world.quota("a", cpu=2)
    waits(world, "first", a)
    answer(world, "first", {"name": "workers", "labels": {"rack": "r1"}})
    world.delete_job("blocker")
    unit = world.wait_phase("first", "TimeoutBackoff")
    text = "admission check quota names unknown pod set workers"
    assert (message_of(unit), unit["spec"]["active"]) == (text, False)
    assert world.wait_event("first", "PodSetUpdatesConflict", QUEUE_UNIT)["message"] == text
    job = world.seen_job("first")
    assert job
    assert is_suspended(job)
    assert world.pods("first") == []
    answer(world, "first")
    world.change_unit("first", {"spec": {"active": True}})
    world.wait_granted("first")
