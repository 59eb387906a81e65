"""LimitRanges: what containers leave out is filled in, what is out of bounds refused."""

from collections.abc import Iterator, Mapping
from typing import Any

from kq.core.kinds import Object
from kq.core.podrequests import pod_limits, pod_request
from kq.core.quantity import parse_quantity
from kq.core.resources import format_amount
from kq.sim.admit.bounds import Resources, faults
from kq.sim.api.admission import Operation, Review
from kq.sim.api.kinds import Kind
from kq.sim.api.status import forbidden
from kq.sim.api.storage import Storage

ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = {"containers": "container", "initContainers": "init container"}


class LimitRanger:
    """Completes new pods by the LimitRanges of their namespace, and holds them to these."""

    def __init__(self, storage: Storage, kind: Kind) -> None:
        self._storage = storage
        self._kind = kind

    def mutate(self, review: Review) -> None:
        """Fills in what the containers of a new pod do not say."""
        if review.obj is not None and _is_new_pod(review):
            for limits in self._ranges(review.call.namespace):
                _fill(review.obj, limits)

    def check(self, review: Review) -> None:
        """Refuses a new pod that is out of bounds."""
        if review.obj is None or not _is_new_pod(review):
            return
        for limits in self._ranges(review.call.namespace):
            if found := sorted(_faults(review.obj.get("spec") or {}, limits)):
                text = f"[{', '.join(found)}]" if len(found) > 1 else found[0]
                raise forbidden(review.call.kind, review.name, text)

    def _ranges(self, namespace: str) -> Iterator[list[Object]]:
        for stored in self._storage.list(self._kind, namespace):
            yield stored.read()["spec"].get("limits") or []


def _is_new_pod(review: Review) -> bool:
    call = review.call
    is_pod = call.kind.kind_key == "Pod" and not call.subresource
    return is_pod and review.operation is Operation.CREATE


def _fill(pod: dict[str, Any], limits: list[Object]) -> None:
    requests, maxima = _defaults(limits, "defaultRequest"), _defaults(limits, "default")
    told = [
        text
        for field, called in _LISTS.items()
        for container in (pod.get("spec") or {}).get(field) or ()
        for text in _filled(container, called, requests, maxima)
    ]
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"


def _filled(
    container: dict[str, Any], called: str, requests: Mapping[str, str], limits: Mapping[str, str]
) -> Iterator[str]:
    """Fills in one container; says what was set."""
    resources = container.setdefault("resources", {})
    for field, word, given in (("requests", "request", requests), ("limits", "limit", limits)):
        said = resources.get(field) or {}
        if missing := sorted(given.keys() - said.keys()):
            resources[field] = {**said, **{name: given[name] for name in missing}}
            yield f"{', '.join(missing)} {word} for {called} {container['name']}"


def _defaults(limits: list[Object], field: str) -> dict[str, str]:
    return {
        name: amount
        for limit in limits
        if limit["type"] == "Container"
        for name, amount in (limit.get(field) or {}).items()
    }


def _faults(spec: Object, limits: list[Object]) -> Iterator[str]:
    for limit in limits:
        match limit["type"]:
            case "Container":
                for field in _LISTS:
                    for container in spec.get(field) or ():
                        yield from faults(limit, _of_container(container))
            case "Pod":
                yield from faults(limit, _of_pod(spec))


def _of_container(container: Object) -> Resources:
    said = container.get("resources") or {}
    return Resources(
        requests={name: parse_quantity(each) for name, each in _items(said, "requests")},
        limits={name: parse_quantity(each) for name, each in _items(said, "limits")},
    )


def _items(said: Object, field: str) -> Iterator[tuple[str, Any]]:
    yield from (said.get(field) or {}).items()


def _of_pod(spec: Object) -> Resources:
    return Resources(
        requests={
            name: parse_quantity(format_amount(name, amount))
            for name, amount in pod_request(spec).items()
        },
        limits={
            name: parse_quantity(format_amount(name, amount))
            for name, amount in pod_limits(spec).items()
        },
    )
