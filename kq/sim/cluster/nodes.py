"""Nodes and the room on them: which one a pod fits on, and why it fits on none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kq.core.kinds import Object
from kq.core.podrequests import pod_request
from kq.sim.control.objects import place_of

Amounts = Mapping[str, int]

_CORDONED = "node(s) were unschedulable"
_TAINTED = "node(s) had untolerated taint(s)"
_UNSUITED = "node(s) didn't match Pod's node affinity/selector"


@dataclass(slots=True)
class Room:
    """A node: what it has, and what its pods ask for; `node` is None until it is seen."""

    node: Object | None = None
    has: Amounts = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def lack(self, asked: Amounts) -> list[str]:
        """The resources of which it has too little left."""
        return [
            name
            for name, amount in asked.items()
            if amount and amount > self.has.get(name, 0) - self.used.get(name, 0)
        ]

    def share(self, asked: Amounts) -> float:
        """How full the node would be with that, of the resource that it would have least of."""
        shares = (
            (self.used.get(name, 0) + amount) / self.has[name]
            for name, amount in asked.items()
            if amount
        )
        return max(shares, default=0.0)

    def charge(self, asked: Amounts, sign: int) -> None:
        """Adds to what is used, or takes away."""
        for name, amount in asked.items():
            self.used[name] = self.used.get(name, 0) + sign * amount


def asked_by(pod: Object) -> Amounts:
    """What a pod asks of a node."""
    return {**dict(pod_request(pod["spec"]).items()), "pods": 1}


def choose(
    rooms: Mapping[str, Room], pod: Object, asked: Amounts
) -> tuple[str | None, dict[str, int]]:
    """The emptiest node with room for a pod, by name of those alike; else how often why not."""
    why: dict[str, int] = {}
    found: list[tuple[float, str]] = []
    for name, room in rooms.items():
        if room.node is None:
            continue
        reasons = _hindrances(room.node, pod["spec"])
        reasons = reasons or [f"Insufficient {each}" for each in room.lack(asked)]
        for reason in reasons:
            why[reason] = why.get(reason, 0) + 1
        if not reasons:
            found.append((room.share(asked), name))
    return (min(found)[1] if found else None), why


def _hindrances(node: Object, wanted: Object) -> list[str]:
    """What keeps the pod from a node however empty it is."""
    spec = node.get("spec") or {}
    tolerations = wanted.get("tolerations") or ()
    if spec.get("unschedulable"):
        return [_CORDONED]
    if not _is_selected(node, wanted.get("nodeSelector") or {}):
        return [_UNSUITED]
    for taint in spec.get("taints") or ():
        if taint["effect"] != "PreferNoSchedule" and not _is_tolerated(taint, tolerations):
            return [_TAINTED]
    return []


def _is_selected(node: Object, selector: Mapping[str, str]) -> bool:
    labels = node["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def _is_tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    return any(
        each.get("effect") in (None, "", taint["effect"])
        and (
            each.get("key") in (None, "", taint["key"])
            if each.get("operator") == "Exists"
            else (each.get("key"), each.get("value", "")) == (taint["key"], taint.get("value", ""))
        )
        for each in tolerations
    )


def name_of(node: Object) -> str:
    """The name of a node."""
    return place_of(node)[1]
