"""What controllers want written, as values, and how they hear what came of it."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from kq.core.kinds import Object
from kq.sim.api.status import ApiStatus


class Propagation(StrEnum):
    """What becomes of the dependents of what is deleted."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class PatchForm(StrEnum):
    """How a patch is read."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Makes an object; `subresource` makes what only exists for a moment, as a binding."""

    kind: str
    namespace: str = ""
    body: Object
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Puts an object, or that part of it, in place of the version that it names."""

    kind: str
    body: Object
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Changes an object, whatever its version."""

    kind: str
    namespace: str = ""
    name: str
    body: Object
    subresource: str = ""
    form: PatchForm = PatchForm.MERGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Deletes an object: the one with that UID and version, if they are given."""

    kind: str
    namespace: str = ""
    name: str
    uid: str = ""
    version: str = ""
    propagation: Propagation | None = Propagation.BACKGROUND
    grace: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAll:
    """Deletes all objects of a kind in a namespace."""

    kind: str
    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Tells people that something happened to an object."""

    about: Object
    reason: str
    message: str
    is_warning: bool = False


Write: TypeAlias = Create | Replace | Patch | Delete | DeleteAll | Record

Outcome: TypeAlias = dict[str, Any] | ApiStatus
"""What a write was answered with: an object, or why not."""

Plan: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], timedelta | None]
"""Writes in steps: each step hears what came of it before it says the next.

The end says when to come again without an event. A step's writes are told in its order.
"""


def taken(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The objects that came of a step; raises the first refusal."""
    for outcome in outcomes:
        if isinstance(outcome, ApiStatus):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, ApiStatus)]


def is_missing(outcome: Outcome) -> bool:
    """Whether it was refused because there is no such object."""
    return isinstance(outcome, ApiStatus) and outcome.reason == "NotFound"


def is_written(outcome: Outcome) -> bool:
    """Whether the object is as wanted, or gone."""
    return not isinstance(outcome, ApiStatus) or is_missing(outcome)
