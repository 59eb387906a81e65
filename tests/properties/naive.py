"""What should come of a cluster, computed from scratch, one object after the other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from builders import quotas

from kq.core import keys
from kq.core.model import PodView, Queue, QueueUnit, Quota
from kq.core.resources import Resources
from kq.decide.standing import Candidate, JobFacts, Surroundings, standing_of

Amounts = Counter[str]
Usage = dict[str, Amounts]

ONE_JOB: Amounts = Counter(dict.fromkeys(keys.MAX_JOBS, 1))


@dataclass(frozen=True)
class Naive:
    """The cluster at one moment; the name of a unit is that of its job."""

    units: Mapping[str, QueueUnit]
    jobs: Iterable[str]
    pods: Mapping[str, PodView]
    stuck: Iterable[str]
    quotas: Mapping[str, Quota]
    queues: Mapping[str, Queue]

    def usage(self) -> Usage:
        """Per level: what all units and pods at it or below it have in use (spec 11.7, 11.9)."""
        total: Usage = {}
        for of, amount in self._charges():
            for level in self.ancestry(of):
                total.setdefault(level, Counter()).update(amount)
        return {level: +amount for level, amount in total.items()}

    def cycle(self, name: str) -> list[str]:
        """Who would start, tried one by one from the head (spec 10.9, 10.10)."""
        line = self.queues.get(name)
        if line is None:
            return []
        skips = line.annotations.get(keys.SKIP_IMPOSSIBLE[0]) == "true"
        usage = self.usage()
        blocked: dict[str, Amounts] = {}
        started: list[str] = []
        for each in self._candidates(name):
            of = quota_of(each)
            beside = blocked.get(of)
            if beside is not None and not (line.policy == "Intelligent" and is_low(each)):
                continue
            if self._fits(each, usage) and self._fits(each, self._with(usage, of, beside)):
                started.append(each.key)
                for level in self.ancestry(of):
                    usage.setdefault(level, Counter()).update(request_of(each))
            elif bars(line.policy, each) and not (skips and not self._fits(each, {})):
                blocked.setdefault(of, request_of(each))
        return started

    def above(self, before: Usage) -> list[tuple[str, str]]:
        """Levels and resources whose usage has grown since, and is above max now (spec 24.1)."""
        return [
            (level, name)
            for level, used in self.usage().items()
            for name, limit in (self.quotas[level].limit.items() if level in self.quotas else ())
            if used[name] > max(limit, before.get(level, Counter())[name])
        ]

    def ancestry(self, of: str) -> list[str]:
        """The quota and those above it, ending where one is missing or a cycle closes."""
        path: list[str] = []
        while of and of not in path:
            path.append(of)
            of = self.quotas[of].parent if of in self.quotas else ""
        return path

    def _charges(self) -> Iterator[tuple[str, Amounts]]:
        for each in self.units.values():
            yield quota_of(each), self._charge(each)
        known = {each.name for each in self.units.values()}
        for pod in self.pods.values():
            if pod.owner and pod.owner.name not in {*known, *self.jobs} and self._is_live(pod):
                yield pod.quota, of_pod(pod)

    def _charge(self, unit: QueueUnit) -> Amounts:
        """Per role the larger of what was granted and what is there."""
        replicas = {each.name: each.replicas for each in unit.grants} if unit.holds_quota else {}
        live = [pod for pod in self._pods_of(unit.name) if self._is_live(pod)]
        if not replicas and not live:
            return Counter()
        total = Counter(ONE_JOB)
        for role in unit.pod_sets:
            there: Amounts = Counter()
            for pod in live:
                if len(unit.pod_sets) == 1 or pod.pod_set == role.name:
                    there.update(of_pod(pod))
            total.update(there | times(role.template.request, replicas.get(role.name, 0)))
        for pod in live:
            if len(unit.pod_sets) > 1 and pod.pod_set not in {r.name for r in unit.pod_sets}:
                total.update(of_pod(pod))
        return total

    def _candidates(self, name: str) -> list[QueueUnit]:
        """In the order of spec 10.4."""
        around = Surroundings(
            quotas=quotas(*self.quotas.values()), queues=self.queues, namespaces={}
        )
        found = []
        for each in self.units.values():
            facts = JobFacts(
                missing=each.name not in self.jobs,
                lingering_pods=any(pod.live for pod in self._pods_of(each.name)),
            )
            if standing_of(each, facts, around) == Candidate(name, quota_of(each)):
                found.append(each)
        return sorted(found, key=order)

    def _fits(self, unit: QueueUnit, usage: Usage) -> bool:
        asked = request_of(unit)
        return all(
            usage.get(level, Counter())[name] + asked[name] <= limit
            for level in self.ancestry(quota_of(unit))
            for name, limit in self.quotas[level].limit.items()
            if asked[name] > 0
        )

    def _with(self, usage: Usage, of: str, beside: Amounts | None) -> Usage:
        """What would be in use if the one that bars the quota had all that it asks for."""
        if beside is None:
            return usage
        levels = set(self.ancestry(of))
        return {
            level: usage.get(level, Counter()) + (beside if level in levels else Counter())
            for level in {*usage, *levels}
        }

    def _pods_of(self, job: str) -> list[PodView]:
        return [pod for pod in self.pods.values() if pod.owner and pod.owner.name == job]

    def _is_live(self, pod: PodView) -> bool:
        return pod.live and pod.name not in self.stuck


THRESHOLD = 4


def is_low(unit: QueueUnit) -> bool:
    return (unit.priority or 0) < THRESHOLD


def bars(policy: str, unit: QueueUnit) -> bool:
    """Whether one that does not fit keeps others of its quota back."""
    return policy == "Block" or (policy == "Intelligent" and not is_low(unit))


def order(unit: QueueUnit) -> tuple[int, str, str]:
    """Spec 10.4, in its own words."""
    return (-(unit.priority or 0), unit.annotations[keys.JOB_CREATION], unit.key)


def quota_of(unit: QueueUnit) -> str:
    """By its label."""
    return unit.labels[keys.QUOTA_LABEL]


def request_of(unit: QueueUnit) -> Amounts:
    """All pods together, with the pseudo resources."""
    total = Counter(ONE_JOB)
    for role in unit.pod_sets:
        total.update(times(role.template.request, role.count))
    return total


def times(request: Resources, count: int) -> Amounts:
    """That many pods."""
    total: Amounts = Counter({"pods": count})
    for name, amount in request.items():
        total[name] += amount * count
    return total


def of_pod(pod: PodView) -> Amounts:
    """One pod."""
    return times(pod.request, 1)
