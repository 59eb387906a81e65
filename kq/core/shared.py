"""Equal small values kept once: a hundred thousand units name few labels, roles and phases."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import overload


@overload
def share(value: str) -> str: ...
@overload
def share(value: Mapping[str, str]) -> Mapping[str, str]: ...
def share(value: str | Mapping[str, str]) -> str | Mapping[str, str]:
    """An equal value; the same object for equal values seen lately."""
    if isinstance(value, str):
        return _text(value)
    return _strings(tuple(sorted(value.items())))


@lru_cache(65536)
def _text(value: str) -> str:
    return value


@lru_cache(65536)
def _strings(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return MappingProxyType(dict(items))
