"""Answers of admission checks as they stand in a unit, and what of them a release adds to pods.

What a check wants added (spec 14.10) is remembered in an annotation of the job, for the attempt at
which it was added, until it is taken out again (spec 14.11).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from kq.core import keys
from kq.core.kinds import Object

READY: Final = "Ready"
FIELDS: Final = ("labels", "annotations", "nodeSelector", "tolerations")
"""What may be added to pods, in the order in which it is looked at."""


class PodSetUpdate(msgspec.Struct, frozen=True):
    """What one check wants added to the pods of one pod set, by field."""

    pod_set: str
    wanted: Mapping[str, Any]


class Answer(msgspec.Struct, frozen=True):
    """One entry of status.admissionChecks."""

    check: str
    state: str
    updates: tuple[PodSetUpdate, ...] = ()


@lru_cache(4096)
def answers_of_json(wire: bytes) -> tuple[Answer, ...]:
    """Of the list as it stands in a unit; few units have any."""
    return answers(msgspec.json.decode(wire))


def answers(listed: object) -> tuple[Answer, ...]:
    """What can be read of the list; what is of another type adds nothing (spec 22.1)."""
    return tuple(
        Answer(
            str(each.get("name") or ""),
            str(each.get("state") or ""),
            tuple(_updates(_listed(each.get("podSetUpdates")))),
        )
        for each in _listed(listed)
        if isinstance(each, Mapping)
    )


def _updates(listed: Sequence[object]) -> Iterator[PodSetUpdate]:
    for each in listed:
        if isinstance(each, Mapping):
            wanted = {field: _wanted(each, field) for field in FIELDS}
            present = {field: value for field, value in wanted.items() if value}
            yield PodSetUpdate(str(each.get("name") or ""), present)


def _wanted(update: Object, field: str) -> object:
    value = update.get(field)
    if field == "tolerations":
        return [dict(each) for each in _listed(value) if isinstance(each, Mapping)]
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {str(key): each for key, each in pairs if isinstance(each, str)}


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def ready(answers: Sequence[Answer]) -> list[Answer]:
    """Those that let the unit start and want something added."""
    return [each for each in answers if each.state == READY and each.updates]


class Added(msgspec.Struct, frozen=True):
    """What was added to the pods of a job, by pod set and field, and at which attempt."""

    attempt: int = 0
    podSets: dict[str, dict[str, Any]] = {}


def added_of(annotations: Mapping[str, str]) -> Added | None:
    """What is remembered; None if nothing is. Of what cannot be read nothing is ours."""
    text = annotations.get(keys.POD_SET_UPDATES)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=Added)
    except msgspec.DecodeError:
        return Added()


def remembered(added: Added) -> str:
    """The text of the annotation."""
    return msgspec.json.encode(added, order="sorted").decode()
