"""Replicas that others ask back of a grant, by `reclaimState` (spec 13.13, 13.14)."""

from collections.abc import Iterator

from msgspec.structs import replace

from kq.core import wire
from kq.core.model import Grant, PodSet, QueueUnit
from kq.decide.actions import Action, PatchStatus, TellUnit
from kq.decide.situation import Situation

ALL_OF_IT = "replicas are asked back, and the rest would be too few"


def asks_too_many(now: Situation, unit: QueueUnit) -> bool:
    """Whether so much is asked back that the unit would be left with too few to run at all."""
    return any(
        lowered.replicas < grant.replicas and lowered.replicas < _fewest(unit, grant)
        for grant, lowered in _lowered(now, unit)
    )


def hands_back(now: Situation, unit: QueueUnit) -> list[Action]:
    """Grants without what is asked back of them; replicas that run are kept."""
    if not any(each.reclaim for each in unit.grants):
        return []
    both = list(_lowered(now, unit))
    patch = wire.status_patch(unit, now.now, grants=[lowered for _, lowered in both])
    taken = [
        f"{grant.replicas - lowered.replicas} of {grant.name}"
        for grant, lowered in both
        if lowered.replicas < grant.replicas
    ]
    if not taken:
        return [PatchStatus(unit, patch)]
    told = TellUnit(unit, True, "Reclaimed", f"replicas asked back: {', '.join(taken)}")
    return [PatchStatus(unit, patch), told]


def held_grants(unit: QueueUnit) -> tuple[Grant, ...]:
    """Grants of all replicas, but where fewer were left to it and are enough."""
    known = {each.name: each for each in unit.grants}
    return tuple(
        known[full.name]
        if full.name in known and is_enough(pod_set, known[full.name].replicas)
        else full
        for pod_set, full in zip(unit.pod_sets, wire.grants_for(unit.pod_sets), strict=True)
    )


def is_enough(pod_set: PodSet, replicas: int) -> bool:
    """Whether so many are what is granted to the pod set, or left to it."""
    fewest = pod_set.count if pod_set.min_count is None else pod_set.min_count
    return fewest <= replicas <= pod_set.count


def _lowered(now: Situation, unit: QueueUnit) -> Iterator[tuple[Grant, Grant]]:
    """Each grant, and what is left of it. Which pods of several roles run is not known."""
    for grant in unit.grants:
        running = max(grant.running, min(grant.replicas, now.pods.running))
        count = grant.replicas - min(grant.reclaim, grant.replicas - running)
        pod_set = _pod_set(unit, grant)
        resources = pod_set.template.request.times(count) if pod_set else grant.resources
        yield grant, replace(grant, replicas=count, resources=resources, reclaim=0)


def _fewest(unit: QueueUnit, grant: Grant) -> int:
    pod_set = _pod_set(unit, grant)
    if pod_set is None:
        return 0
    return pod_set.count if pod_set.min_count is None else pod_set.min_count


def _pod_set(unit: QueueUnit, grant: Grant) -> PodSet | None:
    return next((each for each in unit.pod_sets if each.name == grant.name), None)
