"""How often jobs that start themselves again were suspended: 1, 2, 4 ... 60 s apart (spec 5.13)."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from kq.backoff import exponential
from kq.decide.actions import Action, HoldJob

BASE = timedelta(seconds=1)
CAP = timedelta(seconds=60)
FORGIVEN = timedelta(minutes=10)


class Strikes:
    """Kept in memory: a restart forgives."""

    def __init__(self) -> None:
        self._strikes: dict[str, tuple[int, datetime]] = {}

    def note(self, uid: str, actions: Sequence[Action], now: datetime) -> None:
        """The job was suspended once more, if that is among the actions."""
        if not any(isinstance(each, HoldJob) for each in actions):
            return
        count, last = self._strikes.get(uid, (0, now))
        count = 0 if now - last > FORGIVEN else count
        self._strikes[uid] = (count + 1, now)
        if len(self._strikes) > 4096:
            self._strikes.pop(next(iter(self._strikes)))

    def may_hold_at(self, uid: str) -> datetime | None:
        """From when on it may be suspended again; None: at once."""
        strike = self._strikes.get(uid)
        if strike is None:
            return None
        count, last = strike
        return last + exponential(BASE, CAP, count)
