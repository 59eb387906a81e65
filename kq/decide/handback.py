"""Replicas that others ask back of a grant, by `reclaimState` (spec 13.13, 13.14)."""

from collections.abc import Iterator

from msgspec.structs import replace

from kq.core import wire
from kq.core.model import Grant, PodSet, QueueUnit
from kq.decide.actions import Action, PatchStatus, TellJob, TellUnit
from kq.decide.held import fewest, running_of
from kq.decide.situation import Situation

RECLAIMED = "Reclaimed"
ALL_OF_IT = "replicas are asked back, and the rest would be too few"


def asks_too_many(now: Situation, unit: QueueUnit) -> bool:
    """Whether so much is asked back that the unit would be left with too few to run at all."""
    return any(_is_too_few(unit, *both) for both in _lowered(now, unit))


def hands_back(now: Situation, unit: QueueUnit) -> list[Action]:
    """Grants without what is asked back of them; replicas that run are kept.

    So are those without which one could not run that nothing can stop (spec 13.15).
    """
    if not any(each.reclaim for each in unit.grants):
        return []
    both = [
        (grant, replace(grant, reclaim=0) if _is_too_few(unit, grant, lowered) else lowered)
        for grant, lowered in _lowered(now, unit)
    ]
    patch = wire.status_patch(unit, now.now, grants=[lowered for _, lowered in both])
    taken = [
        f"{grant.replicas - lowered.replicas} of {grant.name}"
        for grant, lowered in both
        if lowered.replicas < grant.replicas
    ]
    if not taken:
        return [PatchStatus(unit, patch)]
    text = f"replicas asked back: {', '.join(taken)}"
    told = (TellUnit(unit, True, RECLAIMED, text), TellJob(now.job, True, RECLAIMED, text))
    return [PatchStatus(unit, patch), *told]


def _is_too_few(unit: QueueUnit, grant: Grant, lowered: Grant) -> bool:
    return lowered.replicas < grant.replicas and lowered.replicas < _fewest(unit, grant)


def _lowered(now: Situation, unit: QueueUnit) -> Iterator[tuple[Grant, Grant]]:
    """Each grant, and what is left of it."""
    for grant in unit.grants:
        running = _running(now, unit, grant)
        count = grant.replicas - min(grant.reclaim, grant.replicas - running)
        pod_set = _pod_set(unit, grant)
        resources = pod_set.template.request.times(count) if pod_set else grant.resources
        yield grant, replace(grant, replicas=count, resources=resources, reclaim=0)


def _running(now: Situation, unit: QueueUnit, grant: Grant) -> int:
    """How many of its replicas run; where pods do not say of which role they are, perhaps all."""
    nameless = 0 if len(unit.grants) == 1 else now.pods.by_pod_set.get("", 0)
    running = running_of(now, grant.name, len(unit.grants)) + nameless
    return max(grant.running, min(grant.replicas, running))


def _fewest(unit: QueueUnit, grant: Grant) -> int:
    pod_set = _pod_set(unit, grant)
    return 0 if pod_set is None else fewest(pod_set)


def _pod_set(unit: QueueUnit, grant: Grant) -> PodSet | None:
    return next((each for each in unit.pod_sets if each.name == grant.name), None)
