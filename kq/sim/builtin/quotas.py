"""LimitRanges and ResourceQuotas: what the real server finds wrong with them."""

from collections.abc import Iterator, Mapping

from kq.core.kinds import Object
from kq.core.quantity import parse_quantity
from kq.sim.api.status import Cause, invalid_value, required
from kq.sim.builtin.faults import INTEGER_RESOURCES, amounts

_COMPUTE = ("cpu", "memory", "ephemeral-storage", "storage")
_COUNTED = (*INTEGER_RESOURCES, "replicationcontrollers", "persistentvolumeclaims")
_SERVICES = ("services.nodeports", "services.loadbalancers")
_BOUNDS = (
    ("min", "max", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "default request value {} is greater than max value {}"),
    ("min", "default", "min value {} is greater than default value {}"),
    ("default", "max", "default value {} is greater than max value {}"),
    (
        "defaultRequest",
        "default",
        "default request value {} is greater than default limit value {}",
    ),
)


def limit_range_faults(obj: Object) -> list[Cause]:
    """What is wrong with a LimitRange."""
    found: list[Cause] = []
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        found += _limit(item, f"spec.limits[{index}]")
    return found


def _limit(item: Object, path: str) -> Iterator[Cause]:
    if not item.get("type"):
        yield required(f"{path}.type")
    for low, high, text in _BOUNDS:
        lows: Mapping[str, str] = item.get(low) or {}
        highs: Mapping[str, str] = item.get(high) or {}
        for name in sorted(set(lows) & set(highs)):
            least, most = lows[name], highs[name]
            if parse_quantity(least).nano > parse_quantity(most).nano:
                # The server shows the minimum where it means the default limit.
                field = low if high == "max" else high
                shown = most if field == "defaultRequest" and low == "min" else least
                why = text.format(least, most)
                yield invalid_value(f"{path}.{field}[{name}]", shown, why)


def quota_faults(obj: Object) -> list[Cause]:
    """What is wrong with a ResourceQuota."""
    hard: Mapping[str, str] = (obj.get("spec") or {}).get("hard") or {}
    found: list[Cause] = []
    for name, text in hard.items():
        found += _resource(name, f"spec.hard[{name}]")
        found += amounts({name: text}, "spec.hard")
    return found


def _resource(name: str, path: str) -> Iterator[Cause]:
    if "/" in name:
        return
    bare = name.removeprefix("requests.").removeprefix("limits.")
    if bare.startswith("hugepages-") or bare in _COMPUTE or name in (*_COUNTED, *_SERVICES):
        return
    yield invalid_value(path, name, "must be a standard resource type or fully qualified")
    yield invalid_value(path, name, "must be a standard resource for quota")
