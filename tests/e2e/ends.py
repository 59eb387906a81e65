"""What became of jobs, units and Queues, without what differs from one run to the next."""

from ground import Object
from reading import conditions_of, is_suspended, message_of, phase_of
from world import World

COUNTS = ("pendingUnits", "reservingUnits", "admittedUnits")


def end_of(world: World, name: str) -> Object:
    """What became of a job and its unit."""
    return {
        "job": _job(world, world.wait_job(name, bool)),
        "unit": _unit(world.unit(name)),
    }


def line_of(world: World, quota: str) -> Object:
    """What the Queue of a quota says."""
    queue = world.queue(world.name_of(quota))
    status = queue["status"]
    return {
        "counts": [status.get(each, 0) for each in COUNTS],
        "line": status.get("queueItemDetails", {}).get("active") or [],
        "usage": status["usage"],
        "conditions": sorted(_conditions(queue)),
    }


def wait_idle(world: World, quota: str) -> None:
    """Returns when the Queue of a quota says that nothing is in it any more."""
    world.wait_queue(world.name_of(quota), _is_idle)


def _is_idle(queue: Object) -> bool:
    status = queue.get("status", {})
    line = status.get("queueItemDetails", {}).get("active")
    return "usage" in status and not line and not any(status.get(each) for each in COUNTS)


def _job(world: World, job: Object) -> Object:
    """The API server counts in `generation` how often `suspend` was changed."""
    status = job["status"]
    return {
        "suspended": is_suspended(job),
        "versions of its spec": job["metadata"]["generation"],
        "pods": len(world.pods(job["metadata"]["name"])),
        "succeeded": status.get("succeeded", 0),
        "failed": status.get("failed", 0),
        "complete": ("Complete", "True") in _conditions(job),
    }


def _unit(unit: Object) -> Object:
    return {
        "phase": phase_of(unit),
        "message": message_of(unit),
        "attempts": unit["status"]["attempts"],
        "grants": unit["status"].get("admissions") or [],
        "finished": ("Finished", "True") in _conditions(unit),
        "request": unit["spec"]["request"],
    }


def _conditions(thing: Object) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in conditions_of(thing)]
