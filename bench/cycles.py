"""How long a pass over a Queue takes after something was given back: python -m bench.cycles.

The whole decision in one process: the book hears of the release, tells which Queues are woken, and
passes over them. No API server, no writes.
"""

import gc
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from builders import NOW, at, book, changed, job_view, pod_set, queue, quota, unit

from bench.failure import BenchError
from bench.progress import tell
from kq.core.model import Phase, QueueUnit, Quota
from kq.core.options import RetryOptions
from kq.decide.book import Book

ROUNDS = 9
MANY = 100
"""What units in back-off wait for: more than each of them asks, all of it in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many waiting units in so many shapes, below so many quotas in a tree of that depth."""

    name: str
    units: int
    shapes: int
    quotas: int = 1
    depth: int = 1
    policy: str = "Priority"
    backs_off: bool = False
    most_ms: float

    @property
    def held(self) -> int:
        """What the one that is released has of a quota without ancestors: all of it."""
        return MANY if self.backs_off else 1

    def tree(self) -> Iterator[Quota]:
        """One root that is full; the leaves take the units."""
        yield quota("root", cpu=1)
        for level in range(1, self.depth - 1):
            yield quota(f"inner-{level}", parent=f"inner-{level - 1}" if level > 1 else "root")
        above = f"inner-{self.depth - 2}" if self.depth > 2 else "root"
        for number in range(self.quotas):
            cpu = self.units if self.depth > 1 else self.held
            yield quota(leaf(number), cpu=cpu, parent=above if self.depth > 1 else "")

    def waiting(self, number: int) -> QueueUnit:
        """One that asks for its shape's amount of its quota."""
        asked = 1 + number % self.shapes // self.quotas
        return unit(
            f"w-{number}",
            quota=leaf(number % self.quotas),
            pod_sets=(pod_set("main", 1, cpu=f"{1000 + asked}m"),),
            minute=number / 1000,
        )


LOADS = (
    Load(name="10,000 in 50 shapes", units=10_000, shapes=50, most_ms=10),
    Load(name="100,000 in 200 shapes", units=100_000, shapes=200, most_ms=50),
    Load(
        name="100,000 of 1,000 quotas, depth 4, 5,000 shapes, all woken",
        units=100_000,
        shapes=5000,
        quotas=1000,
        depth=4,
        most_ms=100,
    ),
    Load(name="10,000, each its own shape", units=10_000, shapes=10_000, most_ms=0),
    Load(
        name="10,000 in 50 shapes, Intelligent",
        units=10_000,
        shapes=50,
        policy="Intelligent",
        most_ms=10,
    ),
    Load(
        name="100,000 in 200 shapes, retry mode backoff, all back-offs end",
        units=100_000,
        shapes=200,
        backs_off=True,
        most_ms=50,
    ),
)


def leaf(number: int) -> str:
    """The name of a quota that takes units."""
    return f"leaf-{number}"


def main() -> int:
    """Tells each load's median; 1 if one takes longer than it may."""
    slow = False
    for load in LOADS:
        made = prepared(load)
        took = median(rounds(made, load))
        verdict = f"at most {load.most_ms:g}" if load.most_ms else "no limit"
        slow |= bool(load.most_ms) and took > load.most_ms
        tell(f"{load.name:62} {took:8.2f} ms  ({verdict})")
        del made
        gc.collect()
    return int(slow)


def prepared(load: Load) -> Book:
    """A book in which all wait, have been tried once, and are told why."""
    lines = [queue(leaf(number), policy=load.policy) for number in range(load.quotas)]
    made = book(*load.tree(), views=lines, retry=RetryOptions(backs_off=load.backs_off))
    holder = unit("holder", quota=leaf(0), cpu=load.held, phase=Phase.RUNNING)
    for each in (holder, *(load.waiting(number) for number in range(load.units))):
        made.saw(job_view(each.name))
        made.saw(each)
    cycle(made)
    made.take_to_tell()
    gc.collect()
    gc.freeze()
    return made


def rounds(made: Book, load: Load) -> Iterator[float]:
    """The milliseconds of each release: a unit that ends, be it of the root's children or a leaf.

    Where the tree is deep the root's limit changes, which wakes every Queue below it. Where there
    are back-offs, all of them end and nothing is given back.
    """
    holder = unit("holder", quota=leaf(0), cpu=1, phase=Phase.RUNNING)
    for number in range(ROUNDS):
        begin = time.perf_counter()
        if load.depth > 1:
            made.course.woken.update(leaf(each) for each in range(load.quotas))
        elif not load.backs_off:
            made.lost(holder)
        cycle(made, at(number + 1))
        yield 1000 * (time.perf_counter() - begin)
        if not load.backs_off:
            holder = changed(holder, resource_version=str(number + 10))
            made.saw(holder)
        made.take_woken()


def cycle(made: Book, now: datetime = NOW) -> None:
    """Passes over all Queues that are woken; nobody fits."""
    for name in made.take_woken() or made.queues:
        if made.cycle(name, now):
            raise BenchError(f"a unit of {name} fits, which it should not")


if __name__ == "__main__":
    sys.exit(main())
