"""A book played in steps: jobs come, run for a while and end; evictions take a step."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from builders import at, changed, condition, granted, job_view, running_job
from msgspec.structs import replace

from kq.core import keys
from kq.core.model import Phase, QueueUnit
from kq.decide.book import Book

NAMESPACE = "team-a"


@dataclass(slots=True, kw_only=True)
class Play:
    """A book and what comes of its decisions, as the shells around it would have it."""

    book: Book
    lasts: Mapping[str, int] = field(default_factory=dict)
    """For how many steps a job runs; for ever if it is not named."""
    started: dict[str, int] = field(default_factory=dict)
    """In which step each of those that run started last."""
    evictions: list[tuple[str, str]] = field(default_factory=list)
    """Who lost its grants, and why, in order."""
    step: int = 0

    def submit(self, *units: QueueUnit) -> None:
        """Jobs that wait, or that run already."""
        for each in units:
            runs = each.holds_quota
            self.book.saw(running_job(each.name) if runs else job_view(each.name))
            self.book.saw(each)
            if runs:
                self.started[each.name] = self.step

    def pass_over(self, queues: Iterable[str]) -> list[str]:
        """One cycle of each Queue; what was granted is written and runs."""
        names = []
        for queue in queues:
            for each in self.book.cycle(queue, at(self.step)):
                names.append(each.name)
                self.run(each.key)
        return names

    def run(self, key: str) -> None:
        """The grant is written, and the job let go."""
        unit = self.book.units[key]
        version = str(int(unit.resource_version) + 1)
        now = {"phase": Phase.RUNNING, "raw_phase": "Running", "conditions": (), "grants": None}
        self.book.ledger.revoke(key)
        made = granted(replace(unit, **now), version, allocated=at(self.step))
        self.book.saw(replace(made, phase=Phase.RUNNING, raw_phase="Running"))
        self.book.saw(running_job(unit.name))
        self.started[unit.name] = self.step

    def end_those_that_are_done(self) -> None:
        """Jobs that have run for their time."""
        for name, since in list(self.started.items()):
            if self.step - since >= self.lasts.get(name, 10**6):
                self.end(name)

    def end(self, name: str) -> None:
        """The job ends, and gives back what it has."""
        del self.started[name]
        unit = self.book.units[f"{NAMESPACE}/{name}"]
        over = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
        self.book.saw(changed(unit, **over))

    def mark(self) -> list[str]:
        """Evictions of all that are to give something back begin; who they are."""
        found = [key for key in self.book.units if self.book.takings.of(key) is not None]
        for key in found:
            taken = self.book.takings.of(key)
            assert taken is not None
            self.evictions.append((key.partition("/")[2], taken.reason))
            mark = condition("Evicted", True, taken.reason, taken.text)
            self.book.saw(changed(self.book.units[key], conditions=(mark,)))
        return [key.partition("/")[2] for key in found]

    def leaving(self) -> list[str]:
        """Those whose evictions have begun."""
        return [
            each.name
            for each in self.book.units.values()
            if each.holds_quota and (mark := each.condition("Evicted")) and mark.status
        ]

    def leave(self, names: Collection[str]) -> None:
        """Their pods are gone: they wait again."""
        for name in names:
            unit = self.book.units[f"{NAMESPACE}/{name}"]
            out = {"phase": Phase.ENQUEUED, "raw_phase": "Enqueued", "grants": (), "conditions": ()}
            self.started.pop(name, None)
            self.book.saw(changed(unit, **out))
            self.book.saw(job_view(name))

    def waiting(self, queue: str) -> Iterator[QueueUnit]:
        """Candidates of a Queue in its order."""
        found = [
            each
            for each in self.book.units.values()
            if each.phase is Phase.ENQUEUED and self.book.queue_of(each.key) == queue
        ]
        return iter(sorted(found, key=order))

    def used(self, level: str) -> dict[str, int]:
        """What is in use of a level."""
        return dict(self.book.usage.of(level))


def order(unit: QueueUnit) -> tuple[int, str, str]:
    """Spec 10.4, in its own words."""
    return (-(unit.priority or 0), unit.annotations[keys.JOB_CREATION], unit.key)
