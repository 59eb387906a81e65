"""The loads, one module each; every one runs on a stage of its own."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import stage
from bench.loads import burst, places, reviews, waiting, writes
from bench.outcome import Outcome
from bench.queues import Opener, of_kq
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


def run(name: str, sizes: Sizes, binaries: Path, folder: Path, opener: Opener = of_kq) -> Outcome:
    """One load on a stage of its own, which is removed if all went well."""
    load = LOADS[name]
    folder.mkdir(parents=True)
    with stage.running(folder, binaries, load.wanted, opener) as running:
        try:
            outcome = asyncio.run(load.run(running, sizes))
        finally:
            # A process that died is the cause of whatever else went wrong.
            running.check()
    shutil.rmtree(folder)
    return outcome
