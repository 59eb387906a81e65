"""One limit of a LimitRange, and what is out of its bounds, in the server's words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kq.core.kinds import Object
from kq.core.quantity import Quantity, parse_quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a container, or a pod as a whole, asks for and may use."""

    requests: Mapping[str, Quantity]
    limits: Mapping[str, Quantity]


def faults(limit: Object, asked: Resources) -> Iterator[str]:
    """What a limit has against such resources."""
    about = limit["type"]
    for name, text in (limit.get("min") or {}).items():
        yield from _below(f"minimum {name} usage per {about} is", name, text, asked)
    for name, text in (limit.get("max") or {}).items():
        yield from _above(f"maximum {name} usage per {about} is", name, text, asked)
    for name, text in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _apart(f"{name} max limit to request ratio per {about} is", name, text, asked)


def _below(rule: str, name: str, text: str, asked: Resources) -> Iterator[str]:
    bound = parse_quantity(text)
    request, limit = asked.requests.get(name), asked.limits.get(name)
    if request is None:
        yield f"{rule} {bound}.  No request is specified"
    elif request.milli < bound.milli:
        yield f"{rule} {bound}, but request is {request}"
    elif limit is not None and limit.milli < bound.milli:
        yield f"{rule} {bound}, but limit is {limit}"


def _above(rule: str, name: str, text: str, asked: Resources) -> Iterator[str]:
    bound = parse_quantity(text)
    request, limit = asked.requests.get(name), asked.limits.get(name)
    if limit is None:
        yield f"{rule} {bound}.  No limit is specified"
    elif limit.milli > bound.milli:
        yield f"{rule} {bound}, but limit is {limit}"
    elif request is not None and request.milli > bound.milli:
        yield f"{rule} {bound}, but request is {request}"


def _apart(rule: str, name: str, text: str, asked: Resources) -> Iterator[str]:
    bound = parse_quantity(text)
    request, limit = asked.requests.get(name), asked.limits.get(name)
    if request is None or not request.nano:
        yield f"{rule} {bound}, but no request is specified or request is 0"
    elif limit is None or not limit.nano:
        yield f"{rule} {bound}, but no limit is specified or limit is 0"
    elif limit.milli * 1000 > bound.milli * request.milli:
        yield f"{rule} {bound}, but provided ratio is {limit.milli / request.milli:f}"
