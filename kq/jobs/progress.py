"""How far a job is by what its operator wrote into its status (spec 8.6)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from kq.core import codec
from kq.core.model import Condition, JobState

States = Sequence[tuple[str, JobState]]
"""What a condition means that is True, in the order in which they are asked."""


def state_of(conditions: Iterable[Condition], states: States) -> JobState:
    """What the first of them that is True means; Pending if none is.

    Types that are not among them say nothing: they come beside those that end a job.
    """
    true = {each.type for each in conditions if each.status}
    return next((state for type_, state in states if type_ in true), JobState.PENDING)


def unless_known(state: str, *known: Collection[str]) -> str:
    """The state if it is none of those; empty for one that is known (spec 8.6)."""
    return "" if any(state in each for each in known) else state


def has_any(counts: Iterable[object], fields: Sequence[str]) -> bool:
    """Whether one of the fields is above zero in one of the maps."""
    return any(
        (codec.integer(each.get(field)) or 0) > 0
        for each in counts
        if isinstance(each, Mapping)
        for field in fields
    )


def since(conditions: Iterable[Condition], type_: str, *, status: bool) -> datetime | None:
    """When the condition took that status; None if it has another."""
    found = next((each for each in conditions if each.type == type_), None)
    return codec.parse_time(found.since) if found and found.status is status else None
