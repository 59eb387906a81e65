"""Notes of stacks as tables: what costs by itself, what costs with all that it calls."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table

OURS = "kq/"
SHOWN = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Samples by function; functions are named `path:name`."""

    samples: int
    itself: Counter[str]
    """Where the process was."""
    whole: Counter[str]
    """Where it was, or in something called from there; at most once a sample."""
    packages: Counter[str]
    """By package of where it was; one of kq's counts alone."""
    called: Counter[tuple[str, str]]
    """Functions that are not kq's, with the innermost function of kq around each."""


def profile(lines: Iterable[str]) -> Profile:
    """Adds up lines of `outermost;...;innermost count`."""
    itself: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    packages: Counter[str] = Counter()
    called: Counter[tuple[str, str]] = Counter()
    for line in lines:
        stack, _, number = line.rpartition(" ")
        if not stack:
            continue
        count, functions = int(number), stack.split(";")
        itself[functions[-1]] += count
        whole.update(dict.fromkeys(functions, count))
        packages[package_of(functions[-1])] += count
        ours = next((each for each in reversed(functions) if each.startswith(OURS)), "")
        called[ours, functions[-1]] += count
    return Profile(
        samples=itself.total(), itself=itself, whole=whole, packages=packages, called=called
    )


def package_of(function: str) -> str:
    """`kq/decide` of `kq/decide/book.py:Book.saw`; `asyncio` of `asyncio/events.py:Handle._run`."""
    parts = function.partition(":")[0].split("/")
    depth = 2 if parts[0] == "kq" and len(parts) > 2 else 1
    return "/".join(parts[:depth]).removesuffix(".py")


def tables(found: Profile, cpu_seconds: float, role: str) -> list[Table]:
    """Shares of the samples, most first, and what that is of the processor time."""
    ours = Counter({name: n for name, n in found.whole.items() if name.startswith(OURS)})
    nearest = Counter({f"{ours or '(none)'}  >  {at}": n for (ours, at), n in found.called.items()})
    named = {
        "packages, by themselves": found.packages,
        "functions, by themselves": found.itself,
        "functions of kq, with all that they call": ours,
        "where time is spent, and the function of kq from which": nearest,
    }
    head = f"{role}: {cpu_seconds:.2f} s of CPU, {found.samples} samples"
    return [
        _table(f"{head}; {what}", counts, found.samples, cpu_seconds)
        for what, counts in named.items()
    ]


def _table(title: str, counts: Counter[str], samples: int, cpu_seconds: float) -> Table:
    made = Table(title=title, title_justify="left")
    made.add_column("share", justify="right")
    made.add_column("CPU ms", justify="right")
    made.add_column("where", no_wrap=True)
    for name, count in counts.most_common(SHOWN):
        share = count / samples if samples else 0.0
        made.add_row(f"{share:.1%}", f"{share * cpu_seconds * 1000:.0f}", name)
    return made
