"""Counts of replicas where a CRD's scale subresource says that they are."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.status import Cause, invalid_value

_MOST = 2**31 - 1
_GO = {str: "string", bool: "bool", float: "float64", list: "[]interface {}"}


def count_faults(paths: Iterable[str], obj: Object) -> Iterator[Cause]:
    """What is wrong with the counts at these JSON paths, as `.spec.replicas`."""
    for path in paths:
        yield from _count_faults(path, obj)


def _count_faults(path: str, obj: Object) -> Iterator[Cause]:
    value: Any = obj
    for name in path.removeprefix(".").split("."):
        if not isinstance(value, Mapping):
            yield _unreadable(path, value, "map[string]interface {}")
            return
        if value.get(name) is None:
            return
        value = value[name]
    if not isinstance(value, int) or isinstance(value, bool):
        yield _unreadable(path, value, "int64")
    elif value < 0:
        yield invalid_value(path, value, "should be a non-negative integer")
    elif value > _MOST:
        yield invalid_value(path, value, f"should be less than or equal to {_MOST}")


def _unreadable(path: str, value: Any, wanted: str) -> Cause:
    called = _GO.get(type(value), "map[string]interface {}")
    why = f"{path} accessor error: {value} is of the type {called}, expected {wanted}"
    return invalid_value(path, 0, why)
