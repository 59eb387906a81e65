"""Copies of JSON values, many times faster than those of anything."""

from typing import Any, TypeVar

_Value = TypeVar("_Value")


def copied(value: _Value) -> _Value:
    """The same JSON value, of which nothing is shared that can change."""
    fresh: _Value = _copied(value)
    return fresh


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {
            key: _copied(each) if type(each) is dict or type(each) is list else each
            for key, each in value.items()
        }
    if type(value) is list:
        return [_copied(each) for each in value]
    return value
