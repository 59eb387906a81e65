"""Every explanation is true (spec 19.6): do what it says and the unit starts, do less and not.

Small clusters are drawn. Each suggestion is carried out on a book of its own, in which only woken
Queues have passes, and those in back-off when their time has come.
"""

from collections.abc import Iterator

import msgspec
from builders import changed, template
from clusters import Cluster, clusters, pass_time, running, settled
from hypothesis import HealthCheck, event, given, settings

from kq.core import keys
from kq.core.model import Phase, PodSet, QueueUnit
from kq.core.resources import Resources, parse_resources
from kq.decide.book import Book
from kq.explain.explanation import explain
from kq.explain.words import (
    EndJobs,
    Explanation,
    FewerPods,
    PodsRun,
    RaisePriority,
    RaiseQuota,
    SetQueue,
    SmallerPods,
    Suggestion,
    Withdraw,
)

LATER = ", at the end of its back-off"


def apply(of: Cluster, name: str, suggestion: Suggestion) -> bool:
    """Whether the unit starts once this is done, and no later than is said."""
    at = of.book()
    until = own_end(at, of.key(name))
    match suggestion:
        case FewerPods() | SmallerPods() | RaisePriority():
            at.saw(changed(at.units[of.key(name)], **asked(at.units[of.key(name)], suggestion)))
        case RaiseQuota():
            at.set_quotas(raised(of, suggestion), structure_changed=False)
        case SetQueue():
            known = of.queues[suggestion.queue]
            annotations = {**known.annotations, suggestion.key: suggestion.value}
            at.saw(changed(known, annotations=annotations))
        case _:
            done_by_others(of, at, suggestion)
    started = settled(at, of.now)
    if until is not None and suggestion.text.endswith(LATER):
        assert name not in started
        started += pass_time(at, until)
    return name in started


def own_end(at, key):
    """When its back-off ends; None if it is in none."""
    place = at.places.place(key)
    waiting = at.places.waiting(place.queue)
    return waiting.until(place.order)


def raised(of: Cluster, suggestion: RaiseQuota):
    mode = of.mode
    for each in suggestion.increases:
        to = parse_resources({each.resource: each.to}, "a test")
        mode = mode.raised(each.quota, to, of_min=each.of_min)
    return mode.picture()


def asked(own: QueueUnit, suggestion: FewerPods | SmallerPods | RaisePriority) -> dict[str, object]:
    match suggestion:
        case RaisePriority():
            return {"priority": suggestion.priority}
        case FewerPods():
            return {"pod_sets": with_pod_set(own, suggestion.pod_set, count=suggestion.count)}
        case SmallerPods():
            old = next(each for each in own.pod_sets if each.name == suggestion.pod_set)
            request = template(**{**old.template.request.to_wire(), **suggestion.request})
            return {"pod_sets": with_pod_set(own, old.name, template=request)}


def with_pod_set(of: QueueUnit, name: str, **fields: object) -> tuple[PodSet, ...]:
    return tuple(
        msgspec.structs.replace(each, **fields) if each.name == name else each
        for each in of.pod_sets
    )


def done_by_others(of: Cluster, at: Book, suggestion: Suggestion) -> None:
    match suggestion:
        case EndJobs():
            for job in suggestion.jobs:
                end(of, at, job.unit)
        case Withdraw():
            for key in suggestion.units:
                at.lost(at.units[key])
        case PodsRun():
            for each in (each for key in suggestion.units for each in running(at.units[key])):
                at.saw(each)


def end(of: Cluster, at: Book, key: str) -> None:
    for each in of.pods.get(key.partition("/")[2], ()):
        at.lost(each)
    at.saw(changed(at.units[key], phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))


def less(suggestion: Suggestion) -> Iterator[Suggestion]:
    """The same by one step less, in each way in which it can be less."""
    change = msgspec.structs.replace
    match suggestion:
        case FewerPods():
            yield change(suggestion, count=suggestion.count + 1)
        case SmallerPods(request=request):
            for name in request:
                yield change(suggestion, request={**request, name: step(name, request[name], 1)})
        case RaisePriority():
            yield change(suggestion, priority=suggestion.priority - 1)
        case SetQueue(key=key, value=value) if key == keys.MAX_DEPTH[0]:
            yield change(suggestion, value=str(int(value) - 1))
        case _:
            yield from fewer(suggestion)


def fewer(suggestion: Suggestion) -> Iterator[Suggestion]:
    """With one less of those that it names, or a little less of one."""
    change = msgspec.structs.replace
    match suggestion:
        case RaiseQuota(increases=increases):
            for each in increases:
                smaller = change(each, to=step(each.resource, each.to, -1))
                others = [one for one in increases if one is not each]
                yield change(suggestion, increases=[*others, smaller])
        case EndJobs(jobs=jobs):
            for each in jobs:
                yield change(suggestion, jobs=[one for one in jobs if one is not each])
        case Withdraw(units=units):
            for key in units:
                yield change(suggestion, units=[one for one in units if one != key])


def step(name: str, amount: str, by: int) -> str:
    number = parse_resources({name: amount}, "a test")[name] + by
    return Resources.of({name: number}).to_wire()[name]


def explanations(of: Cluster) -> Iterator[tuple[str, Explanation]]:
    at = of.book()
    for name in sorted(of.units):
        if at.places.place(of.key(name)) is not None:
            found = explain(at, of.key(name), of.now)
            assert found is not None
            yield name, found


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_a_unit_starts_with_what_is_suggested_and_not_with_less(of: Cluster) -> None:
    """Spec 19.6."""
    for name, found in explanations(of):
        for suggestion in found.unblock:
            event(type(suggestion).__name__)
            assert apply(of, name, suggestion), (name, suggestion)
            for each in less(suggestion):
                assert not apply(of, name, each), (name, suggestion, each)
