"""What a unit that holds quota holds from now on: by its job, and by the pods that run (9.17)."""

from collections.abc import Sequence

from msgspec.structs import replace

from kq.core import wire
from kq.core.model import Grant, JobView, PodSet, QueueUnit, Template
from kq.decide.actions import Action, PatchStatus, TellQueue
from kq.decide.charge import SUBMITTER
from kq.decide.kin import SPARK
from kq.decide.situation import Situation


def held_pod_sets(job: JobView, want: Sequence[PodSet], unit: QueueUnit) -> tuple[PodSet, ...]:
    """The job's pod sets as a unit that holds quota has them: with templates as granted, and the
    counts that it holds from now on (spec 2.8, 9.17).

    A change of a job that starts anew by it counts at once in templates too (spec 8.19).
    """
    have = {each.name: each for each in unit.pod_sets}
    grants = {each.name: each for each in unit.grants}
    anew = job.kind.kind == SPARK and not job.suspended
    return tuple(
        PodSet(
            name=each.name,
            count=_count(each, grants.get(each.name)),
            template=_template(each, have.get(each.name), grants.get(each.name), anew=anew),
            min_count=each.min_count,
        )
        for each in want
    )


def _count(job: PodSet, grant: Grant | None) -> int:
    """What is left to run (spec 8.2). Once all has ended the end of the job is near, which drops
    what is held without another write."""
    if job.count or not job.wanted or grant is None:
        return job.count
    return min(grant.replicas, job.wanted)


def _template(job: PodSet, unit: PodSet | None, grant: Grant | None, *, anew: bool) -> Template:
    """The unit's own, unless it is not what was granted: then somebody edited it (spec 22.1)."""
    if unit is None:
        return job.template
    if anew and job.template.request != unit.template.request:
        return job.template
    granted = grant.resources if grant is not None else None
    if granted is None or grant is None or anew:
        return unit.template
    is_granted = unit.template.request.times(grant.replicas) == granted
    return unit.template if is_granted else job.template


def grows(unit: QueueUnit) -> bool:
    """Whether its pod sets ask for more than it was granted: its job was scaled up."""
    sets = {each.name: each for each in unit.pod_sets}
    return any(_exceeds(sets[each.name], each) for each in unit.grants if each.name in sets)


def _exceeds(pod_set: PodSet, grant: Grant) -> bool:
    if pod_set.count > grant.replicas or grant.resources is None:
        return pod_set.count > grant.replicas
    asked = pod_set.template.request.times(pod_set.count)
    return any(amount > grant.resources.get(name) for name, amount in asked.items())


def scaled(now: Situation, unit: QueueUnit) -> list[Action]:
    """Grants follow the pod sets of the unit (spec 9.17)."""
    sets = {each.name: each for each in unit.pod_sets}
    if all(each.name not in sets or is_as_granted(sets[each.name], each) for each in unit.grants):
        return []
    pods = (now.pods.running, now.pods.pending)
    patch = wire.status_patch(unit, now.now, grants=running_grants(now, unit), pods=pods)
    patch["status"] |= wire.reclaimable_pods(now.pod_sets)
    told = [TellQueue(unit, "OverQuota", now.overdraft)] if now.overdraft else []
    return [PatchStatus(unit, patch), *told]


def running_grants(now: Situation, unit: QueueUnit) -> Sequence[Grant]:
    """Grants by the unit's pod sets, with how many of each run (spec 8.23)."""
    grants = _held_grants(unit)
    return tuple(
        replace(each, running=min(each.replicas, running_of(now, each.name, len(grants))))
        for each in grants
    )


def running_of(now: Situation, pod_set: str, of: int) -> int:
    """How many pods of that pod set run; of a job with one they all are its own."""
    if of == 1:
        return now.pods.running
    found = now.pods.by_pod_set
    if pod_set == SUBMITTER and SUBMITTER not in found:
        return found.get("", 0)
    return found.get(pod_set, 0)


def _held_grants(unit: QueueUnit) -> tuple[Grant, ...]:
    """Grants of all replicas, but where fewer were left to it and are enough."""
    known = {each.name: each for each in unit.grants}
    return tuple(
        known[full.name]
        if full.name in known and is_as_granted(pod_set, known[full.name])
        else full
        for pod_set, full in zip(unit.pod_sets, wire.grants_for(unit.pod_sets), strict=True)
    )


def is_as_granted(pod_set: PodSet, grant: Grant) -> bool:
    """Whether the grant is of this pod set as it is: of its template, and of enough replicas."""
    granted = grant.resources
    if granted is not None and granted != pod_set.template.request.times(grant.replicas):
        return False
    return fewest(pod_set) <= grant.replicas <= pod_set.count


def fewest(pod_set: PodSet) -> int:
    """So many replicas have to be left for the job to run at all (spec 13.13)."""
    return pod_set.count if pod_set.min_count is None else pod_set.min_count
