"""What can be seen happen in a show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from kq.show.cast import Role


@dataclass(slots=True, kw_only=True)
class Run:
    """What has been seen of one job."""

    role: Role
    submitted: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    live: dict[str, bool] = field(default_factory=dict)
    """The pods that have GPUs, by their UID; whether they run yet."""
    succeeded: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)
    """Why it waits, in the words of kq; the newest last."""
    phase: str = ""
    """Of its QueueUnit."""

    @property
    def waits(self) -> bool:
        """Whether it is submitted and not let go."""
        return self.submitted is not None and self.started is None

    @property
    def waited(self) -> timedelta:
        """How long it was held."""
        if self.submitted is None or self.started is None:
            return timedelta()
        return self.started - self.submitted


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job is submitted, and held."""

    role: Role


@dataclass(frozen=True, slots=True)
class Waits:
    """A job is told why it waits."""

    role: Role
    reason: str


@dataclass(frozen=True, slots=True)
class Starts:
    """All pods of a job run."""

    role: Role
    waited: timedelta
    passed: tuple[Role, ...]
    """Jobs of the same team that were submitted earlier, and wait still."""


@dataclass(frozen=True, slots=True)
class Finishes:
    """All pods of a job have ended."""

    role: Role


@dataclass(frozen=True, slots=True)
class Killed:
    """kq's manager ends in the middle of things."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """kq's manager is there again."""


Happening = Submitted | Waits | Starts | Finishes | Killed | Restarted


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One thing that happened, when, and how many GPUs of each quota are in use then."""

    at: datetime
    usage: Mapping[str, int]
    what: Happening


def in_order(moments: Sequence[Moment]) -> list[Moment]:
    """Moments of one instant as they are best told: first who starts, then why others wait.

    kq decides for all at once, and tells those who wait in any order.
    """
    last = moments[-1]
    started = [each.what.role for each in moments if isinstance(each.what, Starts)]
    waits, others = [], []
    for each in moments:
        if isinstance(each.what, Waits) and each.what.role not in started:
            waits.append((each.what.role.at, replace(each, at=last.at, usage=last.usage)))
        else:
            others.append(each)
    return [*others, *(moment for _, moment in sorted(waits, key=lambda pair: pair[0]))]
