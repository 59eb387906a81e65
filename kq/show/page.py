"""The lines of a show as it goes on: a clock, a bar for each quota, and what happens to whom."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from kq.core.kinds import JOB
from kq.show.cast import Cast, Quota, Role
from kq.show.ending import NOTICEABLE
from kq.show.happenings import (
    Finishes,
    Happening,
    Killed,
    Moment,
    Restarted,
    Starts,
    Submitted,
    Waits,
)

GAP = "  "
CLOCK_WIDTH = 8
VERB_WIDTH = 9
INDENT = " " * 4
NARROWEST = 40
KILLED = "kq's manager is killed: running jobs run on, new ones are still held"
RESTARTED = "kq's manager is started again: all it has to know is in the API server"


class Page:
    """Lines of a given width for one cast; bars are of these two characters."""

    def __init__(self, cast: Cast, *, width: int, full: str = "█", free: str = "░") -> None:
        self._cast = cast
        self._width = width
        self._full, self._free = full, free
        self._name_width = max((len(each.name) for each in cast.roles), default=0)

    def heads(self) -> Iterator[Text]:
        """What stands over the columns."""
        yield Text(f"{'':<{CLOCK_WIDTH}}{GAP}GPUs in use", style="bold")
        teams = (each.name.ljust(self._bar_width(each)) for each in self._cast.teams)
        lab = self._cast.lab.name.rjust(self._bar_width(self._cast.lab))
        yield Text(GAP.join(("clock".ljust(CLOCK_WIDTH), *teams, lab, "job")), style="bold")

    def lines(self, moment: Moment) -> list[Text]:
        """One thing that happened; what is too long for its line gets another one."""
        line = Text(f"{moment.at:%H:%M:%S}{GAP}", style="dim")
        name, verb, detail = told(moment.what)
        style = STYLES[type(moment.what)]
        if not verb:
            return [line.append(detail, style=style)]
        line.append_text(self._bars(moment.usage))
        line.append(f"{name:<{self._name_width}}{GAP}", style="not dim bold")
        line.append(f"{verb:<{VERB_WIDTH}}{GAP}", style=f"not dim {style}")
        said = style if isinstance(moment.what, Waits) else ""
        if len(line) + len(detail) <= self._width:
            return [line.append(detail, style=f"not dim {said}")]
        line.rstrip()
        room = max(NARROWEST, self._width - len(INDENT))
        return [line, *(Text(f"{INDENT}{part}", said) for part in textwrap.wrap(detail, room))]

    def _bars(self, usage: Mapping[str, int]) -> Text:
        bars = Text()
        for quota in self._cast.teams:
            used = min(usage[quota.name], quota.limit)
            bars.append(self._full * used, style="not dim cyan")
            bars.append(self._free * (quota.limit - used))
            bars.append(" " * (self._bar_width(quota) - quota.limit) + GAP)
        lab = self._cast.lab
        whole = _fraction(usage[lab.name], lab).rjust(self._bar_width(lab))
        return bars.append(whole + GAP, style="not dim")

    def _bar_width(self, quota: Quota) -> int:
        is_bar = quota != self._cast.lab
        return max(len(quota.name), quota.limit if is_bar else len(_fraction(quota.limit, quota)))


def told(what: Happening) -> tuple[str, str, str]:
    """Who, what became of it, and more about that; only the last of what concerns no job."""
    match what:
        case Submitted(role=role):
            return role.name, "submitted", f"by {role.team}: {asked(role)}, held"
        case Waits(role=role, reason=reason):
            return role.name, "waits", f'"{reason}"'
        case Starts(role=role):
            return role.name, "starts", _start(what)
        case Finishes(role=role):
            return role.name, "finished", f"gives back {gpus(role.total)}"
        case Killed():
            return "", "", KILLED
        case Restarted():
            return "", "", RESTARTED


def asked(role: Role) -> str:
    """What a job asks for, and how important it is."""
    pods = f" ({role.pods} pods of {role.gpus})" if role.pods > 1 else ""
    priority = f", priority {role.priority}" if role.priority else ""
    kind = "" if role.kind == JOB.kind else f"{role.kind}, "
    return f"{kind}{gpus(role.total)}{pods}{priority}"


def gpus(count: int) -> str:
    """So many GPUs."""
    return "1 GPU" if count == 1 else f"{count} GPUs"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first two of them."""
    match names:
        case [one]:
            return one
        case [one, two]:
            return f"{one} and {two}"
        case _:
            return f"{', '.join(names[:2])} and {len(names) - 2} more"


def _start(start: Starts) -> str:
    seconds = round(start.waited.total_seconds())
    when = f"after {seconds} s" if start.waited >= NOTICEABLE else "at once"
    return ", ".join([when, *_passing(start.role, start.passed)])


def _passing(role: Role, passed: Sequence[Role]) -> Iterator[str]:
    lower = [each.name for each in passed if each.priority < role.priority]
    larger = [each.name for each in passed if each.priority >= role.priority]
    if lower:
        yield f"before {listed(lower)} (priority {role.priority})"
    if larger:
        yield f"past {listed(larger)} (too large now)"


def _fraction(used: int, quota: Quota) -> str:
    return f"{used}/{quota.limit}"


STYLES: Mapping[type[Happening], str] = {
    Submitted: "blue",
    Waits: "yellow",
    Starts: "bold green",
    Finishes: "cyan",
    Killed: "not dim bold red",
    Restarted: "not dim bold green",
}
