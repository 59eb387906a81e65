"""What is said before a show and after it."""

import textwrap
from collections.abc import Iterator

from rich.text import Text

from kq.show.cast import Cast, Quota
from kq.show.ending import Ending

WIDTH = 80
NAME_WIDTH = 9
TITLE = "kq holds each job until its team's quota has room, and says why it waits."
REAL = "Simulated: cluster, operators, clock. Real: kq's webhook and manager."
STRICT = "strictly in order (policy Block)"
PREEMPTS = "by priority, with preemption"
PASSING = "by priority, without preemption"
SHARED = "GPUs; teams lend what is free, and reclaim what is guaranteed"
GREEN, RED = "bold green", "bold red"


def opening(cast: Cast, seed: int) -> Iterator[Text]:
    """What this is, and who has what."""
    yield Text(TITLE, style="bold")
    yield Text(f"{REAL} (seed {seed})", style="dim")
    yield Text()
    for each in cast.teams:
        yield from _row(
            each.name, f"{each.limit} GPUs at most, {each.owed} guaranteed; {_rule(each)}"
        )
    yield from _row(cast.lab.name, f"{cast.lab.limit} {SHARED}")
    yield Text()


def summary(ending: Ending) -> Iterator[Text]:
    """What came of it, in figures; what went wrong, if anything."""
    yield Text()
    if ending.wrongs:
        yield Text("This show did not end as it must:", style=RED)
        yield from (Text(f"  {each}", style=RED) for each in ending.wrongs)
    else:
        yield Text(_good_end(ending), style=GREEN)
        checked = f"Checked at all {ending.record.changes} changes that the API server recorded:"
        yield Text(checked, style="dim")
        yield from _row("held", "each job at its submit; no pod was made while its job was held")
    yield from _row("quotas", _peaks(ending))
    yield from _row("stopped", _stops(ending))
    kinds = (f"{kind} ({count})" if count > 1 else kind for kind, count in ending.kinds.items())
    yield from _row("kinds", f"{len(ending.kinds)}: {', '.join(kinds)}")
    for number, team in enumerate(ending.teams):
        yield from _row("" if number else "waited", _waits(ending, team))
    minutes, seconds = divmod(round(ending.took.total_seconds()), 60)
    yield from _row("took", f"{minutes} min {seconds} s on the clock of the show")


def next_steps(kq: str, *, in_repository: bool) -> Iterator[Text]:
    """What to try then, with `kq` as it can be called."""
    steps = {
        f"{kq} demo --jobs 60 --seed 2": "a longer show",
        f"{kq} sim": "such a cluster for your own kubectl",
    }
    if in_repository:
        steps["make demo-cluster"] = "a real control plane (6 minutes, once)"
    width = max(map(len, steps))
    yield Text()
    yield Text("Go on with", style="bold")
    for command, text in steps.items():
        yield Text(f"  {command:<{width}}  ").append(text, style="dim")


def _good_end(ending: Ending) -> str:
    jobs = len(ending.runs)
    ran = f"All {jobs} jobs finished, each once" if jobs > 1 else "The one job finished, once"
    return f"{ran}, although kq's manager was killed meanwhile."


def _peaks(ending: Ending) -> str:
    limits, peaks = ending.cast.limits, ending.record.peaks
    used = ", ".join(f"{name} {peaks.get(name, 0)}/{limits[name]}" for name in limits)
    exceeded = any(peaks.get(name, 0) > limits[name] for name in limits)
    return f"{'EXCEEDED' if exceeded else 'never exceeded'}; at most {used}"


def _stops(ending: Ending) -> str:
    stops = ", ".join(f"{count} {reason.lower()}" for reason, count in ending.stops.items())
    back = "all of them" if ending.returned == ending.stopped else f"{ending.returned} of them"
    return f"{stops}; {back} came back and finished" if stops else "nobody"


def _waits(ending: Ending, team: str) -> str:
    waiting = ending.waiting(team)
    mean, longest = (round(each.total_seconds()) for each in (waiting.mean, waiting.longest))
    many = f"{waiting.waited} of {waiting.jobs} jobs"
    return f"{team}: {many}, {mean} s on average, {longest} s at most"


def _rule(quota: Quota) -> str:
    if quota.strict:
        return STRICT
    return PREEMPTS if quota.preempts else PASSING


def _row(name: str, text: str) -> Iterator[Text]:
    """A name, and what is to be said of it, in as many lines as it takes."""
    for number, line in enumerate(textwrap.wrap(text, WIDTH - 2 - NAME_WIDTH)):
        head = name if number == 0 else ""
        yield Text("  ").append(f"{head:<{NAME_WIDTH}}", style="bold").append(line)
