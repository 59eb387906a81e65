"""What pods count for in ResourceQuotas: requests, limits, number, and what sort of pod it is.

A ResourceQuota may be about some pods only (spec 11.15). So each amount is kept for its sort of
pod: `cpu@T` are the requests of pods that have a deadline, of whatever quota.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from kq.core.codec import mapping
from kq.core.kinds import Object
from kq.core.podrequests import pod_limits, pod_request
from kq.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, ZERO, Resources, qualified
from kq.core.views import decode_object
from kq.errors import DecodeError

LIMITED: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""Resources whose limits a ResourceQuota may name (spec 11.14)."""

POD_OBJECTS: Final = "count/pods"
"""Pods that are there, be they ended or not: so quotas of objects count them."""

DEMANDED: Final = tuple(
    f"{part}{name}" for part in ("", "requests.", "limits.") for name in (CPU, MEMORY)
)
"""Keys that a ResourceQuota demands of every container, as the API server does (spec 11.17)."""

_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")


class Sort(msgspec.Struct, frozen=True):
    """What of a pod the scopes of ResourceQuotas ask for."""

    terminating: bool = False
    best_effort: bool = False
    crosses_namespaces: bool = False
    priority_class: str = ""

    @property
    def mark(self) -> str:
        """The same as the end of a resource's name."""
        flags = (
            ("T", self.terminating),
            ("B", self.best_effort),
            ("X", self.crosses_namespaces),
        )
        return f"{''.join(letter for letter, is_so in flags if is_so)}:{self.priority_class}"

    @classmethod
    def of_mark(cls, mark: str) -> "Sort":
        """The sort of pods that has that mark."""
        flags, _, priority_class = mark.partition(":")
        return cls("T" in flags, "B" in flags, "X" in flags, priority_class)


def demand(spec: Object, default_class: str = "") -> Resources:
    """What one pod with that spec counts for; DecodeError if its amounts cannot be read.

    A template that names no priority class gets the default one as it becomes a pod.
    """
    requests, limits = pod_request(spec), pod_limits(spec)
    mark = sort_of(spec, default_class).mark
    amounts = dict(requests.items())
    amounts |= {f"limits.{name}": limits[name] for name in LIMITED if name in limits}
    amounts |= {"pods": 1, POD_OBJECTS: 1}
    return Resources.of({qualified(name, mark): amount for name, amount in amounts.items()})


def sort_of(spec: Object, default_class: str = "") -> Sort:
    """The sort of a pod with that spec; overhead makes no pod more than best effort."""
    bare = {**spec, "overhead": None}
    asked = (*pod_request(bare).items(), *pod_limits(bare).items())
    return Sort(
        terminating=spec.get("activeDeadlineSeconds") is not None,
        best_effort=not any(amount for name, amount in asked if name in (CPU, MEMORY)),
        crosses_namespaces=any(_names_namespaces(each) for each in _affinity_terms(spec)),
        priority_class=str(spec.get("priorityClassName") or default_class),
    )


def demand_of_pod(raw: bytes) -> Resources:
    """What a pod counts for; nothing if it cannot be read, as the API server takes no such pod."""
    try:
        return demand(mapping(decode_object(raw), "spec"))
    except DecodeError:
        return ZERO


@lru_cache(8192)
def demand_of_template(wire: bytes, default_class: str) -> Resources | None:
    """What one pod of that template counts for; None if its amounts cannot be read."""
    try:
        return demand(_spec(wire), default_class)
    except DecodeError:
        return None


@lru_cache(8192)
def unsaid_in_template(wire: bytes) -> tuple[tuple[str, str], ...]:
    """Which container sets nothing for which of `DEMANDED`: key and container, the first a key.

    As the API server has it: init containers too, and none of it where the pod level sets any.
    """
    spec = _spec(wire)
    level = mapping(spec, "resources")
    if mapping(level, "requests") or mapping(level, "limits"):
        return ()
    containers = [
        each for field in ("containers", "initContainers") for each in _maps(spec.get(field))
    ]
    return tuple((key, name) for key in DEMANDED for name in _lacking(containers, key)[:1])


def _lacking(containers: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Names of the containers that set nothing for a key; a limit is a request, too (12.3)."""
    part, _, resource = key.rpartition(".")
    parts = ("limits",) if part == "limits" else ("requests", "limits")
    return [
        str(each.get("name") or "")
        for each in containers
        if not any(resource in mapping(mapping(each, "resources"), one) for one in parts)
    ]


def _affinity_terms(spec: Object) -> Iterator[Mapping[str, Any]]:
    for kind in _AFFINITIES:
        affinity = mapping(mapping(spec, "affinity"), kind)
        yield from _maps(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
        for each in _maps(affinity.get("preferredDuringSchedulingIgnoredDuringExecution")):
            yield mapping(each, "podAffinityTerm")


def _names_namespaces(term: Mapping[str, Any]) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None


def _spec(wire: bytes) -> Mapping[str, Any]:
    return mapping(msgspec.json.decode(wire, type=dict[str, Any]), "spec")


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
