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
    waits_since: datetime | None = None
    """None while it runs, and when it is over."""
    runs_since: datetime | None = None
    """When all its pods ran, if they do."""
    waited: timedelta = timedelta()
    """How long it was held, all in all."""
    finished: datetime | None = None
    live: dict[str, bool] = field(default_factory=dict)
    """The pods that have GPUs, by their UID; whether they run yet."""
    leaving: set[str] = field(default_factory=set)
    """Those of them that were of a run that has been stopped."""
    is_leaving: bool = False
    """Whether kq says that it has to stop."""
    has_ended: bool = False
    """As its operator says, or as it is gone."""
    stops: list[str] = field(default_factory=list)
    """Why it was stopped, each time."""
    reasons: list[str] = field(default_factory=list)
    """Why it waits, in the words of kq; the newest last."""
    phase: str = ""
    """Of its QueueUnit."""

    def ran(self, now: datetime) -> timedelta:
        """How long it has run since it was started last."""
        if self.runs_since is None or self.waits_since is not None:
            return timedelta()
        return now - self.runs_since


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job is submitted, and held."""

    role: Role


@dataclass(frozen=True, slots=True)
class Waits:
    """A job is told why it waits."""

    role: Role
    reason: str
    is_new: bool = False
    """It was submitted just now."""


@dataclass(frozen=True, slots=True)
class Starts:
    """All pods of a job run."""

    role: Role
    waited: timedelta
    passed: tuple[Role, ...] = ()
    """Jobs of the same team that were submitted earlier, and wait still."""
    is_new: bool = False
    """It was submitted just now."""
    is_again: bool = False
    """It was stopped before."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A job that ran has to give its GPUs to another one."""

    role: Role
    reason: str
    """In the one word that kq has for it."""
    winner: Role | None
    """Who gets them."""


@dataclass(frozen=True, slots=True)
class Finishes:
    """Jobs have ended, and have no pods any more."""

    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Killed:
    """kq's manager ends in the middle of things."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """kq's manager is there again."""


Happening = Submitted | Waits | Starts | Stopped | Finishes | Killed | Restarted


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One thing that happened, when, and how many GPUs of each quota are in use then."""

    at: datetime
    usage: Mapping[str, int]
    what: Happening


def in_order(moments: Sequence[Moment]) -> list[Moment]:
    """Moments of one instant as they are best told, and as few as will do.

    First who ends and starts, then why others wait, but for those who have somebody stopped: kq
    decides for all at once, and tells those who wait in any order. Who is submitted and starts or
    waits at once is told once.
    """
    last = moments[-1]
    submitted, started = (_names(moments, each) for each in (Submitted, Starts))
    answered = started | _names(moments, Waits)
    ends: list[Moment] = []
    ended: list[Role] = []
    others: list[Moment] = []
    waits: dict[str, Waits] = {}
    for each in moments:
        match each.what:
            case Submitted(role=role) if role.name in answered:
                pass
            case Waits(role=role) as what:
                waits[role.name] = replace(what, is_new=role.name in submitted)
            case Starts(role=role) as what:
                told = replace(what, is_new=role.name in submitted)
                others.append(replace(each, what=told))
            case Finishes(roles=roles):
                ended.extend(roles)
                ends = [replace(each, what=Finishes(tuple(ended)))]
            case _:
                others.append(each)
    still = [each for name, each in waits.items() if name not in started]
    still.sort(key=lambda each: each.role.at)
    winners = [each.what.winner for each in others if isinstance(each.what, Stopped)]
    first = [each for each in still if each.is_new and each.role in winners]
    then = [each for each in still if each not in first]
    return [
        *ends,
        *(replace(last, what=each) for each in first),
        *others,
        *(replace(last, what=each) for each in then),
    ]


def _names(moments: Sequence[Moment], sort: type[Submitted | Waits | Starts]) -> set[str]:
    return {each.what.role.name for each in moments if isinstance(each.what, sort)}
