"""What is said before a show and after it."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from kq.show.cast import Cast, Quota
from kq.show.ending import Ending

TITLE = "kq holds each job until its team's quota has room, and says why it waits."
REAL = "Simulated: the cluster and its clock. Real: kq's webhook and manager."
WORDS = "In quotes: what kq writes on a job that waits."
PASSING = "at most; important jobs first, small ones may pass large ones"
IN_ORDER = "at most; strictly in order, nobody passes (policy Block)"
SHARED = "for both; each may use what the other leaves free"
GREEN, RED = "bold green", "bold red"


def opening(cast: Cast, seed: int) -> Iterator[Text]:
    """What this is, and who has what."""
    yield Text(TITLE, style="bold")
    yield Text(f"{REAL} (seed {seed})", style="dim")
    yield Text()
    for each in cast.teams:
        yield _row(each.name, f"{_amount(each)} {IN_ORDER if each.strict else PASSING}")
    yield _row(cast.lab.name, f"{_amount(cast.lab)} {SHARED}")
    yield Text()
    yield Text(WORDS, style="dim")
    yield Text()


def printed(command: str, lines: Sequence[str], most: int) -> Iterator[Text]:
    """A command and what it prints, not more than so many lines of it."""
    yield Text()
    yield Text(f"$ {command}", style="bold")
    yield from map(Text, lines[:most])
    if len(lines) > most:
        yield Text(f"... and {len(lines) - most} more", style="dim")


def summary(ending: Ending) -> Iterator[Text]:
    """What came of it, in figures; what went wrong, if anything."""
    jobs = len(ending.runs)
    yield Text()
    if ending.wrongs:
        yield Text("This show did not end as it must:", style=RED)
        yield from (Text(f"  {each}", style=RED) for each in ending.wrongs)
    else:
        lost = "nothing was lost when kq was killed"
        yield Text(f"{jobs} of {jobs} jobs finished, each ran once, {lost}.", style=GREEN)
    yield _row("waited", _waits(ending))
    yield _row("peak", _peaks(ending))
    minutes, seconds = divmod(round(ending.took.total_seconds()), 60)
    yield _row("took", f"{minutes} min {seconds} s on the clock of the show")


def next_steps(kq: str, *, in_repository: bool) -> Iterator[Text]:
    """What to try then, with `kq` as it can be called."""
    steps = {
        f"{kq} demo --jobs 60 --seed 2": "a longer show",
        f"{kq} sim": "such a cluster for your own kubectl",
    }
    if in_repository:
        steps["make demo-cluster"] = "a real control plane (6 minutes, once)"
        steps["README.md"] = "jobs of your own, and all the rest"
    width = max(map(len, steps))
    yield Text()
    yield Text("Go on with", style="bold")
    for command, text in steps.items():
        yield Text(f"  {command:<{width}}  ").append(text, style="dim")


def _waits(ending: Ending) -> str:
    waits = ending.waits
    if not waits:
        return "nobody"
    longest = round(waits[0].waited.total_seconds())
    return f"{len(waits)} of {len(ending.runs)} jobs; {waits[0].role.name} longest, {longest} s"


def _peaks(ending: Ending) -> str:
    limits, peaks = ending.cast.limits, ending.peaks
    used = ", ".join(f"{name} {peaks.get(name, 0)} of {limits[name]}" for name in limits)
    exceeded = any(peaks.get(name, 0) > limits[name] for name in limits)
    return f"{used} GPUs, {'ABOVE' if exceeded else 'never above'} the quota"


def _amount(quota: Quota) -> str:
    return f"{quota.limit:>2} GPUs"


def _row(name: str, text: str) -> Text:
    return Text("  ").append(f"{name:<8}", style="bold").append(text)
