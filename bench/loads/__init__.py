"""The loads, one module each; every one runs on a stage of its own."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from bench.loads import burst, places, reviews, waiting, writes
from bench.outcome import Outcome
from bench.stage import Sizes, Stage, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What it runs on, and what is done there."""

    wanted: Wanted
    run: Callable[[Stage, Sizes], Coroutine[Any, Any, Outcome]]


LOADS: Mapping[str, Load] = {
    "burst": Load(wanted=Wanted(), run=burst.with_queue),
    "no-queue": Load(wanted=Wanted(queue=False), run=burst.without_queue),
    "places": Load(wanted=Wanted(), run=places.run),
    "writes": Load(wanted=Wanted(audit=True), run=writes.run),
    "waiting": Load(wanted=Wanted(audit=True), run=waiting.run),
    "reviews": Load(wanted=Wanted(), run=reviews.run),
}
