"""The largest request like its own with which a unit would start now (spec 19.6).

Of one pod set, either the number of pods is lower, or what each pod requests: in whole pods, in
thousandths of cpu, in bytes and whole things. More by one such step and it does not start.
"""

from collections.abc import Callable, Mapping

import msgspec

from kq.core.minresources import least_of
from kq.core.model import PodSet
from kq.core.resources import PSEUDO, Resources, plain
from kq.decide.charge import at_least, request_of
from kq.explain.looks import Look, starts
from kq.explain.words import FewerPods, SmallerPods, in_words, listed
from kq.explain.world import Change, World

REQUESTS = "requests."


def edge(starts_at: Callable[[int], bool], good: int, bad: int) -> int:
    """A number with which it starts, next to one with which it does not, as at `bad`."""
    step = 1 if bad > good else -1
    if good + step == bad or not starts_at(good + step):
        return good
    good += step
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        if starts_at(middle):
            good = middle
        else:
            bad = middle
    return good


def fewer_pods(world: World, found: Look) -> FewerPods | None:
    """The same with fewer pods: of the largest pod set where that suffices."""
    for each in _largest_first(world, found):
        count = _most_pods(world, found, each)
        if count is not None:
            text = f"it starts now with {count} pods in pod set {each.name} instead of {each.count}"
            return FewerPods(pod_set=each.name, count=count, text=text)
    return None


def smaller_pods(world: World, found: Look) -> SmallerPods | None:
    """The same with smaller pods: of the largest pod set where that suffices."""
    for each in _largest_first(world, found):
        asks = _most_each(world, found, each)
        if asks is not None:
            request = listed(asks)
            text = (
                f"it starts now if each pod of pod set {each.name} requests {in_words(request)} "
                f"instead of {in_words(listed(_roots(_one(world, each), asks)))}"
            )
            return SmallerPods(pod_set=each.name, request=request, text=text)
    return None


def _largest_first(world: World, found: Look) -> list[PodSet]:
    """Pod sets by what they ask of what is short first."""
    if found.barred_by is not None or not found.short:
        return []
    name = next(iter(found.short))[1]
    return sorted(
        (each for each in world.unit.pod_sets if each.count),
        key=lambda each: -each.count * _one(world, each).get(name),
    )


def _most_pods(world: World, found: Look, pod_set: PodSet) -> int | None:
    one = _counted(world, _one(world, pod_set))
    if any(one.get(name) <= 0 for _, name in found.short):
        return None
    guess = pod_set.count - max(
        -(-over // one.get(name)) for (_, name), over in found.short.items()
    )

    def starts_at(count: int) -> bool:
        fewer = msgspec.structs.replace(pod_set, count=count)
        sets = tuple(fewer if each is pod_set else each for each in world.unit.pod_sets)
        return starts(world, Change(unit=msgspec.structs.replace(world.unit, pod_sets=sets)))

    if guess < 1 or not starts_at(guess):
        return None
    return edge(starts_at, guess, pod_set.count)


def _most_each(world: World, found: Look, pod_set: PodSet) -> Mapping[str, int] | None:
    """By resource, what each pod may request at most; each as much as the others leave."""
    one = _one(world, pod_set)
    counted = _counted(world, one)
    most: dict[str, int] = {}
    for (_, name), over in found.short.items():
        root = root_of(name)
        guess = counted.get(name) - -(-over // pod_set.count)
        if root in PSEUDO or guess < 1:
            return None
        most[root] = min(guess, most.get(root, guess))
    now = _roots(one, most)

    def starts_with(asks: Mapping[str, int]) -> bool:
        return starts(world, Change(request=_with(world, pod_set, asks)))

    if not starts_with(most):
        return None
    for root in list(most):
        others = dict(most)

        def starts_at(amount: int, root: str = root, others: dict[str, int] = others) -> bool:
            return starts_with({**others, root: amount})

        most[root] = edge(starts_at, most[root], now[root] + 1)
    return {root: amount for root, amount in most.items() if amount < now[root]} or None


def _with(world: World, pod_set: PodSet, asks: Mapping[str, int]) -> Resources:
    """What the unit asks where each pod of that pod set requests so much."""
    unit, quota, quotas = world.unit, world.quota, world.book.quotas
    less = {
        name: (asks[root_of(name)] - amount) * pod_set.count
        for name, amount in _one(world, pod_set).items()
        if root_of(name) in asks
    }
    total = request_of(unit.pod_sets, quota, quotas) + Resources.of(less)
    least = least_of(unit.consumer.kind if unit.consumer else "", unit.annotations)
    return _counted(world, at_least(total, least, quota, quotas))


def root_of(name: str) -> str:
    """The resource of a pod that a quota's key is about; limits are limits."""
    return plain(name).removeprefix(REQUESTS)


def _roots(one: Resources, roots: Mapping[str, int]) -> dict[str, int]:
    return {root_of(name): amount for name, amount in one.items() if root_of(name) in roots}


def _one(world: World, pod_set: PodSet) -> Resources:
    """What one pod counts for, the pod itself included."""
    quotas = world.book.quotas
    with_one, without = (
        request_of((msgspec.structs.replace(pod_set, count=count),), world.quota, quotas)
        for count in (1, 0)
    )
    return Resources.of({n: a - without.get(n) for n, a in with_one.items()})


def _counted(world: World, amounts: Resources) -> Resources:
    """What so much of the job counts for; as values are shared, equal requests are one shape."""
    counted = world.book.quotas.of_job(world.unit.labels, amounts)
    return Resources.of(dict(counted.items()))
