"""How much memory values take, each object once."""

import gc
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any

import msgspec

PARTLESS = (str, bytes, int, float, type, FunctionType, MethodType, ModuleType)


def size_of(*roots: object) -> int:
    """The bytes of all that these lead to, types and functions apart."""
    objects: list[object] = list(roots)
    seen: dict[int, object] = {}
    while objects:
        each = objects.pop()
        if id(each) in seen or isinstance(each, type | FunctionType | MethodType | ModuleType):
            continue
        seen[id(each)] = each
        objects.extend(_parts(each))
    return sum(map(sys.getsizeof, seen.values()))


def _parts(each: Any) -> list[object]:
    if isinstance(each, PARTLESS):
        return []
    if isinstance(each, msgspec.Struct):  # some tell the collector nothing of what they have
        return [getattr(each, field) for field in each.__struct_fields__]
    return gc.get_referents(each)
