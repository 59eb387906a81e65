"""What one pod asks for, read from its spec as the API server completes it (spec 12.1-12.3a)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kq.core.kinds import Object
from kq.core.resources import Resources, parse_exact, rounded_up, spell
from kq.errors import DecodeError

Exact = dict[str, int]
"""Nano units by resource; they are rounded only when a whole pod is summed."""

_CONTAINER_LISTS: Final = ("initContainers", "containers")


def pod_request(spec: Object | None, overhead: object = None) -> Resources:
    """What one pod requests; `overhead` is its RuntimeClass's, for a spec that has none."""
    spec = spec or {}
    total = _total(spec, _request_of)
    total.update(_pod_level_requests(spec, total))
    _add(total, _overhead(spec, overhead))
    return rounded_up(total)


def pod_limits(spec: Object | None, overhead: object = None) -> Resources:
    """The limits of one pod; overhead counts only where there is a limit, as in Kubernetes."""
    spec = spec or {}
    total = _total(spec, _limit_of)
    level = _map(spec, "resources", "the pod")
    for name, nano in parse_exact(level.get("limits"), "limits of the pod").items():
        if _is_pod_level(name):
            total[name] = nano
    for name, nano in _overhead(spec, overhead).items():
        if total.get(name):
            total[name] += nano
    return rounded_up(total)


def fill_from_limit_ranges(spec: Object, limit_ranges: Iterable[Object]) -> Object:
    """The spec with what its containers leave out, as the LimitRanger will fill it (12.3a)."""
    requests, limits = _container_defaults(limit_ranges)
    if not requests and not limits:
        return spec
    filled = dict(spec)
    # The pod level is completed before the LimitRanger sees the pod.
    if pod_level := _pod_level_requests(spec, _total(spec, _request_of)):
        level = _map(spec, "resources", "the pod")
        filled["resources"] = {**level, "requests": _spelled(pod_level)}
    for field in _CONTAINER_LISTS:
        if containers := _maps(spec, field):
            filled[field] = [
                {**each, "resources": _filled(each, requests, limits)} for each in containers
            ]
    return filled


def _total(spec: Object, read: Callable[[Object], Exact]) -> Exact:
    """All containers at once, or the largest moment while init containers run, per resource."""
    total: Exact = {}
    for container in _maps(spec, "containers"):
        _add(total, read(container))
    sidecars: Exact = {}
    peak: Exact = {}
    for container in _maps(spec, "initContainers"):
        moment = read(container)
        if container.get("restartPolicy") == "Always":
            _add(total, moment)
            _add(sidecars, moment)
            moment = sidecars
        else:
            _add(moment, sidecars)
        _raise(peak, moment)
    _raise(total, peak)
    return total


def _request_of(container: Object) -> Exact:
    where = f"container {container.get('name')}"
    resources = _map(container, "resources", where)
    return {
        **parse_exact(resources.get("limits"), f"limits of {where}"),
        **parse_exact(resources.get("requests"), f"requests of {where}"),
    }


def _limit_of(container: Object) -> Exact:
    where = f"container {container.get('name')}"
    return parse_exact(_map(container, "resources", where).get("limits"), f"limits of {where}")


def _pod_level_requests(spec: Object, of_containers: Exact) -> Exact:
    """Requests of the pod level, completed as the API server does it where that has a limit.

    What containers request is summed up there, a limit of what none of them requests is requested;
    huge pages cannot be overcommitted, so their limit always is the request.
    """
    level = _map(spec, "resources", "the pod")
    limits = parse_exact(level.get("limits"), "limits of the pod")
    requests = parse_exact(level.get("requests"), "requests of the pod")
    from_limits = {
        name: nano
        for name, nano in limits.items()
        if name not in of_containers or name.startswith("hugepages-")
    }
    summed_up = of_containers if limits else {}
    completed = {**summed_up, **from_limits, **requests}
    return {name: nano for name, nano in completed.items() if _is_pod_level(name)}


def _overhead(spec: Object, of_runtime_class: object) -> Exact:
    return parse_exact(spec.get("overhead") or of_runtime_class, "overhead of the pod")


def _add(total: Exact, more: Exact) -> None:
    for name, nano in more.items():
        total[name] = total.get(name, 0) + nano


def _raise(total: Exact, least: Exact) -> None:
    for name, nano in least.items():
        total[name] = max(total.get(name, nano), nano)


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _container_defaults(limit_ranges: Iterable[Object]) -> tuple[Exact, Exact]:
    """Default requests and limits of a namespace's containers, of several the largest."""
    requests: Exact = {}
    limits: Exact = {}
    for limit_range in limit_ranges:
        where = f"LimitRange {_mapping(limit_range.get('metadata')).get('name')}"
        for item in _maps(_map(limit_range, "spec", where), "limits"):
            if item.get("type") == "Container":
                default = parse_exact(item.get("default"), f"default of {where}")
                request = parse_exact(item.get("defaultRequest"), f"defaultRequest of {where}")
                _raise(limits, default)
                _raise(requests, {**default, **request})
    return requests, limits


def _filled(container: Object, requests: Exact, limits: Exact) -> dict[str, Any]:
    where = f"container {container.get('name')}"
    resources = _map(container, "resources", where)
    own_limits = _map(resources, "limits", where)
    own_requests = _map(resources, "requests", where)
    return {
        **resources,
        "limits": {**_spelled(limits), **own_limits},
        "requests": {**_spelled(requests), **own_limits, **own_requests},
    }


def _spelled(exact: Exact) -> dict[str, str]:
    return {name: spell(name, nano) for name, nano in exact.items()}


def _mapping(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _map(parent: Object, field: str, where: str) -> Object:
    value = parent.get(field)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DecodeError(f"{field} of {where} is a {type(value).__name__}, not a map")
    return value


def _maps(parent: Object, field: str) -> list[Object]:
    """The maps listed in a field; an error shows no content, which may be data of the job."""
    value = parent.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise DecodeError(f"{field} is a {type(value).__name__}, not a list")
    for index, each in enumerate(value):
        if not isinstance(each, Mapping):
            raise DecodeError(f"{field}[{index}] is a {type(each).__name__}, not a map")
    return value
