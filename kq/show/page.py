"""The lines of a show as it goes on: a clock, a bar for each quota, and what happens to whom."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rich.text import Text

from kq.show.cast import Cast, Quota, Role
from kq.show.happenings import (
    Finishes,
    Happening,
    Killed,
    Moment,
    Restarted,
    Starts,
    Stopped,
    Submitted,
    Waits,
)

SHORT = 20
"""So many jobs at most are over within ten minutes, of which the clock then needs one digit."""
QUOTE_INDENT = " " * 4
NARROWEST = 40
MOST_NAMED = 2
KILLED = "kq's manager is killed: what runs runs on, new jobs are still held"
RESTARTED = "kq's manager is back: all that it has to know is in the API server"
PREEMPTED = "Preempted"


class Page:
    """Lines of a given width for one cast; bars are of these two characters."""

    def __init__(self, cast: Cast, *, width: int, full: str = "█", free: str = "░") -> None:
        self._cast = cast
        self._width = width
        self._full, self._free = full, free
        self._name_width = max((len(each.name) for each in cast.roles), default=0)
        self._clock_width = len("0:00") if len(cast.roles) <= SHORT else len("00:00")
        self._begin: datetime | None = None
        self._quoted: set[str] = set()
        names = "|".join(re.escape(each) for each in (*cast.limits, *_names(cast)))
        self._particular = re.compile(rf"\b({names})\b|\d+")

    def heads(self) -> Iterator[Text]:
        """What stands over the columns."""
        bars = " ".join(each.name.ljust(self._bar_width(each)) for each in self._cast.teams)
        lab = self._cast.lab.name
        yield Text(
            f"{'time':>{self._clock_width}} {bars} {lab} job, and in quotes what kq says to it",
            "bold",
        )

    def lines(self, moment: Moment) -> list[Text]:
        """One thing that happened; nothing if it is no news, and more if it does not fit."""
        what, quote = moment.what, self._quote(moment.what)
        if isinstance(what, Waits) and not (what.is_new or quote):
            return []
        line = Text(f"{self._clock(moment.at):>{self._clock_width}} ", style="dim")
        name, verb, detail = told(what)
        style = STYLES[type(what)]
        if not name:
            return [line.append(verb, style=style)]
        line.append_text(self._bars(moment.usage))
        line.append(f"{name:<{self._name_width}} ", style="not dim bold")
        line.append(verb, style=f"not dim {style}")
        return [*self._with_detail(line, detail), *quote]

    def _with_detail(self, line: Text, detail: str) -> list[Text]:
        """The line with what is to be said beside its verb, or below if there is no room."""
        if len(line) + len(detail) <= self._width:
            return [line.append(detail, style="not dim")]
        return [line, *self._wrapped(detail.lstrip(":, "))]

    def _quote(self, what: Happening) -> list[Text]:
        """The words of kq, if there were none like these before."""
        if not isinstance(what, Waits):
            return []
        sort = self._particular.sub("*", what.reason)
        if sort in self._quoted:
            return []
        self._quoted.add(sort)
        return self._wrapped(f'"{what.reason}"', STYLES[Waits])

    def _wrapped(self, text: str, style: str = "") -> list[Text]:
        room = max(NARROWEST, self._width - len(QUOTE_INDENT))
        return [Text(QUOTE_INDENT + each, style) for each in textwrap.wrap(text, room)]

    def _clock(self, at: datetime) -> str:
        self._begin = self._begin or at.replace(microsecond=0)
        minutes, seconds = divmod(int((at - self._begin).total_seconds()), 60)
        return f"{minutes}:{seconds:02}"

    def _bars(self, usage: Mapping[str, int]) -> Text:
        bars = Text()
        for quota in self._cast.teams:
            used = min(usage[quota.name], quota.limit)
            bars.append(self._full * used, style="not dim cyan")
            bars.append(self._free * (quota.limit - used))
            bars.append(" " * (self._bar_width(quota) - quota.limit + 1))
        lab = self._cast.lab
        return bars.append(f"{usage[lab.name]:>{self._bar_width(lab)}} ", style="not dim")

    def _bar_width(self, quota: Quota) -> int:
        return len(quota.name) if quota == self._cast.lab else max(len(quota.name), quota.limit)


def told(what: Happening) -> tuple[str, str, str]:
    """Who, what became of it, and more about that; nobody's name where it concerns no job."""
    match what:
        case Submitted(role=role):
            return role.name, "is held", f": {asked(role)}"
        case Waits(role=role, is_new=is_new):
            return role.name, *(("waits", f": {asked(role)}") if is_new else ("still waits", ""))
        case Starts(role=role):
            return role.name, "starts", _start(what)
        case Stopped(role=role):
            return role.name, *_stop(what)
        case Finishes(roles=roles):
            return listed([each.name for each in roles]), "finished", ""
        case Killed() | Restarted():
            return "", KILLED if isinstance(what, Killed) else RESTARTED, ""


def asked(role: Role) -> str:
    """What a job is, what it asks for, and how important it is."""
    priority = f", priority {role.priority}" if role.priority else ""
    return f"{role.kind}, {gpus(role.total)}{priority}"


def gpus(count: int) -> str:
    """So many GPUs."""
    return "1 GPU" if count == 1 else f"{count} GPUs"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, two of them at most."""
    match names:
        case [*few] if len(few) <= MOST_NAMED:
            return " and ".join(few)
        case _:
            return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def _start(start: Starts) -> str:
    passing = _passing(start.role, start.passed)
    if start.is_new:
        # What its priority does is seen: before whom it starts.
        return f" {passing or 'at once'}: {asked(replace(start.role, priority=0))}"
    again = " again" if start.is_again else ""
    seconds = round(start.waited.total_seconds())
    return f"{again} after {seconds} s{f', {passing}' if passing else ''}"


def _passing(role: Role, passed: Sequence[Role]) -> str:
    """Whom it leaves behind that came before it."""
    if not passed:
        return ""
    how = "before" if all(each.priority < role.priority for each in passed) else "past"
    return f"{how} {passed[0].name if len(passed) == 1 else f'{len(passed)} others'}"


def _stop(stop: Stopped) -> tuple[str, str]:
    """How it is told that a job has to make way for another one."""
    winner = stop.winner
    if winner is None:
        return stop.reason.lower(), ""
    if stop.reason == PREEMPTED:
        return "preempted", f" by {winner.name}: priority {winner.priority}"
    return stop.reason.lower(), f" by {winner.name}, owed to {winner.team}"


def _names(cast: Cast) -> list[str]:
    return [each.name for each in cast.roles]


STYLES: Mapping[type[Happening], str] = {
    Submitted: "blue",
    Waits: "yellow",
    Starts: "bold green",
    Stopped: "bold magenta",
    Finishes: "cyan",
    Killed: "not dim bold red",
    Restarted: "not dim bold green",
}
