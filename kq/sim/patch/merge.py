"""JSON merge patches."""

import copy
from collections.abc import Mapping
from typing import Any


def merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the patch laid over it: maps merge, nulls remove, all else replaces."""
    merged = copy.deepcopy(dict(document))
    _merge(merged, patch)
    return merged


def _merge(document: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        present = document.get(key)
        if value is None:
            document.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(present, dict):
            _merge(present, value)
        else:
            document[key] = _without_nulls(value) if _is_new(present, value) else value


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
