"""Schedules of CronJobs: five fields, or a name such as `@hourly`; when they are due next."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from kq.errors import DecodeError

FARTHEST = timedelta(days=5 * 366)
"""How far ahead a due time is looked for; 31 February never comes."""

_REACHES = tuple(timedelta(hours=each) for each in (1, 24, 32 * 24, 366 * 24, 5 * 366 * 24))
"""How far back the newest due time is looked for: not through all that were ever missed."""
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTH_NAMES = {name: number for number, name in enumerate(_MONTHS, 1)}
_DAY_NAMES = {name: number for number, name in enumerate(_DAYS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The minutes at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether it is enough that one of day and weekday fits: neither was left open."""

    def after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment; None if there is none within five years."""
        time = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = moment + FARTHEST
        while time < end:
            if time.month not in self.months or not self._is_day(time):
                time = time.replace(hour=0, minute=0) + timedelta(days=1)
            elif time.hour not in self.hours:
                time = time.replace(minute=0) + timedelta(hours=1)
            elif time.minute not in self.minutes:
                time += timedelta(minutes=1)
            else:
                return time
        return None

    def newest(self, start: datetime, end: datetime) -> datetime | None:
        """The last due time after a start and not after an end; None if there is none."""
        for reach in _REACHES:
            begin = max(start, end.astimezone(start.tzinfo) - reach)
            found = None
            following = self.after(begin)
            while following is not None and following <= end:
                found, following = following, self.after(following)
            if found is not None or begin == start:
                return found
        return None

    def _is_day(self, time: datetime) -> bool:
        day, weekday = time.day in self.days, time.isoweekday() % 7 in self.weekdays
        return (day or weekday) if self.either_day else (day and weekday)


@lru_cache(maxsize=1024)
def parse_schedule(text: str) -> Schedule:
    """The schedule that a text means; DecodeError if it means none."""
    fields = _NAMED.get(text, text).split()
    if len(fields) != 5:
        raise DecodeError(f"schedule {text!r} has {len(fields)} fields, not 5")
    minutes, hours, days, months, weekdays = fields
    weekday_numbers = _numbers(weekdays, 0, 7, _DAY_NAMES)
    return Schedule(
        minutes=_numbers(minutes, 0, 59, {}),
        hours=_numbers(hours, 0, 23, {}),
        days=_numbers(days, 1, 31, {}),
        months=_numbers(months, 1, 12, _MONTH_NAMES),
        weekdays=frozenset(each % 7 for each in weekday_numbers),
        either_day=not _is_open(days) and not _is_open(weekdays),
    )


def _is_open(field: str) -> bool:
    return field.startswith(("*", "?"))


def _numbers(field: str, low: int, high: int, names: Mapping[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        if _is_open(span):
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, names)
            last = _number(end, names) if dash else (high if step else first)
        stride = _number(step, {}) if step else 1
        if not low <= first <= last <= high or stride < 1:
            raise DecodeError(f"{field!r} does not lie within {low} and {high}")
        found.update(range(first, last + 1, stride))
    return frozenset(found)


def _number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not (text.isascii() and text.isdigit()):
        raise DecodeError(f"{text!r} is no number of a schedule")
    return int(text)
