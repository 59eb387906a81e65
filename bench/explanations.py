"""How long one explanation of a waiting unit takes: python -m bench.explanations.

In one process without an API server: what would let the unit start is tried by passes.
"""

import gc
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
from builders import NOW, amounts, book, job_view, pod_set, queue, quota, running_job, unit

from bench.failure import BenchError
from bench.progress import tell
from kq.core import keys
from kq.core.model import Phase, QueueUnit
from kq.core.options import RetryOptions
from kq.decide.book import Book
from kq.explain.explanation import explain

RUNNING = 1000
TEAMS = 4
PRIORITIES = 7
EXPLAINED = 5
"""So many units of the line are explained, from the first to the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many units that wait for two teams' quotas, below a root that others use up."""

    name: str
    shapes: int
    most_ms: float
    units: int = 10_000
    policy: str = "Priority"
    settings: Mapping[str, str] = field(default_factory=dict)
    reclaim: str = ""
    backs_off: bool = False

    def waiting(self, number: int) -> QueueUnit:
        """One that asks for its shape's amount."""
        asked = 2000 + number % self.shapes
        return unit(
            f"w-{number}",
            quota=team(number % 2),
            priority=number % PRIORITIES,
            pod_sets=(pod_set("main", 2, cpu=f"{asked}m"),),
            minute=number / 1000,
        )


PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
SHAPES = ((50, "50 shapes", 200), (10_000, "each its own shape", 1000))
LOADS = tuple(
    Load(name=f"{text}, {name}", shapes=shapes, most_ms=most, **options)
    for shapes, text, most in SHAPES
    for name, options in (
        ("Priority", {}),
        ("Block", {"policy": "Block"}),
        ("Intelligent", {"policy": "Intelligent"}),
        ("preemption", {"settings": PREEMPTS}),
        ("reclaim", {"reclaim": "Any"}),
        ("reclaim, Intelligent", {"reclaim": "Any", "policy": "Intelligent"}),
        ("depth 500, preemption", {"settings": {**PREEMPTS, keys.MAX_DEPTH[0]: "500"}}),
        ("back-off", {"backs_off": True}),
    )
)


def team(number: int) -> str:
    """The name of a quota that takes units."""
    return f"team-{number}"


def main() -> int:
    """Tells the median and the longest of each load; 1 if one takes longer than it may."""
    slow = False
    for load in LOADS:
        made = prepared(load)
        took = sorted(measured(made))
        slow |= took[-1] > load.most_ms
        middle, longest = took[len(took) // 2], took[-1]
        text = f"one explanation, 10,000 of {load.name}"
        tell(f"{text:62} {middle:8.2f} ms, longest {longest:.2f} ms  (at most {load.most_ms:g})")
        del made
        gc.collect()
    return int(slow)


def prepared(load: Load) -> Book:
    """A book in which all wait and have been tried once."""
    annotations = {keys.RECLAIM[0]: load.reclaim} if load.reclaim else {}
    tree = [quota("root", cpu=RUNNING)]
    tree += [
        quota(
            team(each),
            parent="root",
            cpu=RUNNING,
            minimum=amounts(cpu=RUNNING // TEAMS * 3 // 2 if each < 2 else 1),
            annotations=annotations,
        )
        for each in range(TEAMS)
    ]
    line = queue("line", policy=load.policy, annotations=dict(load.settings))
    made = book(*tree, views=[line], retry=RetryOptions(backs_off=load.backs_off))
    for number in range(RUNNING):
        held = unit(
            f"r-{number}",
            quota=team(number % TEAMS),
            cpu=1,
            priority=number % PRIORITIES,
            phase=Phase.RUNNING,
        )
        made.saw(running_job(held.name))
        made.saw(in_line(held))
    for number in range(load.units):
        made.saw(job_view(f"w-{number}"))
        made.saw(in_line(load.waiting(number)))
    for name in made.take_woken():
        made.cycle(name, NOW)
    gc.collect()
    gc.freeze()
    return made


def in_line(of: QueueUnit) -> QueueUnit:
    """The unit in the one Queue of all teams."""
    annotations = {**of.annotations, keys.QUEUE_NAME[0]: "line"}
    return msgspec.structs.replace(of, annotations=annotations)


def measured(made: Book) -> Iterator[float]:
    """The milliseconds of processor time of each of some explanations."""
    order = list(made.places.in_order("line"))
    if not order:
        raise BenchError("nobody waits")
    for number in range(EXPLAINED):
        key = order[number * (len(order) - 1) // (EXPLAINED - 1)][2]
        begin = time.process_time()
        found = explain(made, key, NOW)
        took = 1000 * (time.process_time() - begin)
        if found is None or found.position is None:
            raise BenchError(f"{key} is not explained")
        yield took


if __name__ == "__main__":
    sys.exit(main())
