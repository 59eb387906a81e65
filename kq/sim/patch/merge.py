"""JSON merge patches."""

from collections.abc import Mapping
from typing import Any


def merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the patch laid over it: maps merge, nulls remove, all else replaces.

    Neither of the two is changed; what is the same in them is shared.
    """
    merged = dict(document)
    for key, value in patch.items():
        present = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(present, dict):
            merged[key] = merge(present, value)
        else:
            merged[key] = _without_nulls(value) if _is_new(present, value) else value
    return merged


def _is_new(present: Any, value: Any) -> bool:
    # The real server's library keeps nulls in what takes the place of a map.
    return not (isinstance(present, dict) and not isinstance(value, Mapping))


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nulls(each) for key, each in value.items() if each is not None}
        case list():
            return [_without_nulls(each) for each in value]
        case _:
            return value
