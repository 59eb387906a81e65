"""Words for what goes wrong: what the API server refuses, what an owner is told, who goes on."""

from collections.abc import Callable, Mapping

from controlplane.errors import Refused
from ground import Object
from world import World

from kq.core.kinds import EVENT, JOB, QUEUE_UNIT, ResourceKind


def refusal(attempt: Callable[[], object]) -> str:
    """What the API server says against it."""
    try:
        attempt()
    except Refused as err:
        return str(err)
    return "accepted"


def refusals(world: World, kind: ResourceKind, bodies: Mapping[str, Object]) -> dict[str, str]:
    """What the API server says against each object."""
    return {
        name: refusal(lambda body=body: world.ground.create(kind, body))  # type: ignore[misc]
        for name, body in bodies.items()
    }


def contained(texts: Mapping[str, str], parts: Mapping[str, str]) -> dict[str, str]:
    """The parts as far as the texts hold them; else the whole text."""
    return {name: parts[name] if parts[name] in text else text for name, text in texts.items()}


def good_job(world: World, quota: str, name: str = "good") -> str:
    """A small job of somebody else's that was started in that quota, and soon ends; its name."""
    world.job(name, quota, cpu=1, run_for="0s")
    world.wait_granted(name)
    world.wait_released(name)
    return name


def told(
    world: World, name: str, reason: str, kind: ResourceKind = JOB, namespace: str = ""
) -> list[str]:
    """The messages of an object's events of that reason, each as often as it was sent."""
    return [
        each["message"]
        for each in world.ground.items(EVENT, namespace or world.namespace)
        if (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == (kind.kind, name)
        and each["reason"] == reason
        for _ in range(each.get("count") or 1)
    ]


def wait_told(
    world: World,
    name: str,
    reason: str,
    message: str,
    *,
    kind: ResourceKind = JOB,
    namespace: str = "",
) -> None:
    """Returns when an event of that reason says just this."""
    world.ground.until(
        lambda: message in told(world, name, reason, kind, namespace),
        f"{reason} on {kind.kind} {name}: {message}",
    )


def set_status(world: World, unit: str, status: Mapping[str, object]) -> None:
    """Writes a unit's status, as only the manager may in a real cluster."""
    world.ground.patch(QUEUE_UNIT, world.namespace, unit, {"status": dict(status)}, "status")
