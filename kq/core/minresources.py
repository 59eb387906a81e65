"""What a user says that a job needs at least: koord-queue/min-resources (spec 8.16)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from kq.core.keys import MIN_RESOURCES
from kq.core.messages import m16
from kq.core.plaintext import read_plain
from kq.core.resources import ZERO, Resources, parse_resources
from kq.errors import DecodeError

WANTED: Final = "a map of quantities"
EXAMPLE: Final = '{"cpu": "2", "memory": "4Gi"}'
"""For R5."""
WORKFLOW: Final = "Workflow"
_SHOWN = 64


def min_resources(annotations: Mapping[str, str]) -> Resources | None:
    """What the annotation names, None if there is none; DecodeError says in the words of M16 what
    is wrong with it, so that a bad value never means "needs nothing"."""
    key = next((each for each in MIN_RESOURCES if each in annotations), None)
    if key is None:
        return None
    read = _read(key, annotations[key])
    if isinstance(read, str):
        raise DecodeError(read)
    return read


def least_of(kind: str, annotations: Mapping[str, str]) -> Resources:
    """What a job of that kind counts for at least, whatever its pods ask (spec 8.16).

    Nothing for a Workflow, whose one pod set is made of it, nor for what cannot be read.
    """
    if kind == WORKFLOW:
        return ZERO
    try:
        return min_resources(annotations) or ZERO
    except DecodeError:
        return ZERO


def wrong_with(annotations: Mapping[str, str]) -> str | None:
    """What is wrong with the annotation in the words of M16; None if it can be read."""
    try:
        min_resources(annotations)
    except DecodeError as err:
        return str(err)
    return None


@lru_cache(1024)
def _read(key: str, text: str) -> Resources | str:
    """The resources, or what is wrong; a thousand jobs come with the same text."""
    shown = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
    try:
        said = read_plain(text)
    except DecodeError as err:
        return f"{m16(key, shown, WANTED)} ({err})"
    if not isinstance(said, dict):
        return m16(key, shown, WANTED)
    try:
        return parse_resources(said, key)
    except DecodeError as err:
        return str(err)
