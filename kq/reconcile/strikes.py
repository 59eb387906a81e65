"""Writes of jobs that are not to be repeated at once: suspensions (5.13), and what was refused."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from kq.backoff import exponential
from kq.decide.actions import Action, HoldJob
from kq.decide.refused import OF_ONE_ATTEMPT

BASE = timedelta(seconds=1)
CAP = timedelta(seconds=60)
FORGIVEN = timedelta(minutes=10)
FIRST = timedelta(seconds=5)
LONGEST = timedelta(minutes=10)
MOST_KNOWN = 4096


class Strikes:
    """How often jobs that start themselves again were suspended: 1, 2, 4 ... 60 s apart.

    Kept in memory: a restart forgives.
    """

    def __init__(self) -> None:
        self._strikes: dict[str, tuple[int, datetime]] = {}

    def note(self, uid: str, actions: Sequence[Action], now: datetime) -> None:
        """The job was suspended once more, if that is among the actions."""
        if not any(isinstance(each, HoldJob) for each in actions):
            return
        count, last = self._strikes.get(uid, (0, now))
        count = 0 if now - last > FORGIVEN else count
        self._strikes[uid] = (count + 1, now)
        if len(self._strikes) > MOST_KNOWN:
            self._strikes.pop(next(iter(self._strikes)))

    def may_hold_at(self, uid: str) -> datetime | None:
        """From when on it may be suspended again; None: at once."""
        strike = self._strikes.get(uid)
        if strike is None:
            return None
        count, last = strike
        return last + exponential(BASE, CAP, count)


class Refusal(NamedTuple):
    """That the API server will not take a write, and for how long nobody asks it again."""

    answer: str
    attempt: int
    times: int
    since: datetime

    @property
    def until(self) -> datetime:
        """When it is asked again."""
        return self.since + exponential(FIRST, LONGEST, self.times)

    def stands(self, now: datetime) -> bool:
        """Whether it is too early to ask again; a clock that was set back keeps nobody waiting."""
        return self.since <= now < self.until


class Refusals:
    """Writes that the API server refused for what they say: by job, and by what they are.

    They are tried again 5, 10, 20 s ... 10 min later, as nobody tells when the cause is mended;
    those that let a job go at its unit's next attempt. Kept in memory: a restart asks at once.
    """

    def __init__(self) -> None:
        self._of: dict[str, dict[type[object], Refusal]] = {}

    def note(self, uid: str, write: type[object], answer: str, attempt: int, now: datetime) -> None:
        """It was refused once more."""
        known = self._of.pop(uid, {})
        times = known[write].times + 1 if write in known else 1
        self._of[uid] = {**known, write: Refusal(answer, attempt, times, now)}
        if len(self._of) > MOST_KNOWN:
            del self._of[next(iter(self._of))]

    def took(self, uid: str, actions: Iterable[Action]) -> None:
        """All of these were carried out."""
        known = self._of.get(uid)
        if known is None:
            return
        for each in actions:
            known.pop(type(each), None)
        if not known:
            del self._of[uid]

    def standing(self, uid: str, attempt: int, now: datetime) -> Mapping[type[object], str]:
        """What is not to be tried now, with what the API server answered to it last."""
        return {
            write: each.answer
            for write, each in self._of.get(uid, {}).items()
            if (each.attempt == attempt if write in OF_ONE_ATTEMPT else each.stands(now))
        }

    def seconds_left(self, uid: str, now: datetime) -> float | None:
        """When the first of those that time brings back is to be tried; None without any."""
        known = self._of.get(uid, {})
        ends = [each.until for write, each in known.items() if write not in OF_ONE_ATTEMPT]
        left = [(end - now).total_seconds() for end in ends if end > now]
        return min(left, default=None)
