"""One pass over one Queue from its head: who starts now, and why the others do not (10.7-10.13)."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kq.core.messages import Reason, m8, m9, m11
from kq.core.plugins import LOW, Blocking, Level, OrderKey, Problem, QueuePolicy
from kq.core.resources import Resources
from kq.decide.fit import Shortage, shortage
from kq.decide.places import Place
from kq.decide.taking import Taking
from kq.decide.usage import Trial, UsageIndex
from kq.decide.waiting import Shape, WaitingList

Barrier = tuple[int, Resources]
"""Of one that does not fit: its rank, and what it asks."""


@dataclass(slots=True)
class Outcome:
    """What a cycle decided: who starts, in order; the head that blocks its quota, by quota."""

    granted: list[OrderKey] = field(default_factory=list)
    blocking: dict[str, tuple[OrderKey, Shortage]] = field(default_factory=dict)
    barriers: dict[str, Barrier] = field(default_factory=dict)
    """By quota: the first that does not fit, be it there or only expected."""
    failed: int = 0
    goes_on_after: OrderKey | None = None
    """The last that was tried of a list that was cut short (spec 10.12)."""


class Line(msgspec.Struct, frozen=True):
    """What a cycle looks at: a Queue's candidates, its policy, and the quotas' chains.

    `depth`: only so many candidates are tried (spec 10.12), of the last rank those behind `after`.
    `one_at_a_time`: nobody starts while pods of another are not all running; `unready` says that
    there is such a one already (spec 10.13).
    """

    queue: str
    waiting: WaitingList
    policy: QueuePolicy
    chain_of: Callable[[str], Sequence[Level]]
    skip_impossible: bool = False
    expected: Sequence[Place] = ()
    """Jobs whose units are about to be made: those behind them must not take what is theirs."""
    depth: int | None = None
    after: OrderKey | None = None
    one_at_a_time: bool = False
    unready: bool = False
    taking: Taking | None = None
    """What is taken back from others, where anybody may take something (spec 13)."""


def run_cycle(line: Line, usage: UsageIndex) -> Outcome:
    """Grants to all that fit, in policy order; every other shape gets its verdict.

    `usage` stays as it is: the grants are counted on a trial of it.
    """
    return _Pass(line, usage).run()


class _Pass:
    """One pass over a line."""

    def __init__(self, line: Line, usage: UsageIndex) -> None:
        self._line = line
        self._trial = Trial(usage)
        self._outcome = Outcome()
        self._taken = line.unready
        self._limit: OrderKey | None = None
        """The last that is tried."""

    def run(self) -> Outcome:
        """From the head to the last that is tried."""
        heap = self._heap()
        while heap:
            place, number, index, shape = heapq.heappop(heap)
            if isinstance(shape, Place):
                self._set_aside(shape)
            elif (
                (self._starts(place, shape) or place in shape.promised)
                and index + 1 < len(shape.line)
                and self._is_tried(shape.line[index + 1])
            ):
                heapq.heappush(heap, (shape.line[index + 1], number, index + 1, shape))
        return self._outcome

    def _heap(self) -> list[tuple[OrderKey, int, int, Shape | Place]]:
        """The head of every shape that is tried, and all that are expected."""
        line = self._line
        for shape in line.waiting.shapes():
            shape.promised.clear()
        shapes = enumerate(line.waiting.shapes())
        heap: list[tuple[OrderKey, int, int, Shape | Place]]
        if line.depth is None:
            heap = [(shape.line[0], number, 0, shape) for number, shape in shapes]
        else:
            heap = list(self._tried(dict(shapes), line.depth))
        heap += [(each.order, -1 - number, 0, each) for number, each in enumerate(line.expected)]
        heapq.heapify(heap)
        return heap

    def _tried(
        self, shapes: Mapping[int, Shape], depth: int
    ) -> Iterator[tuple[OrderKey, int, int, Shape]]:
        """The same where only the first so many are tried."""
        line = self._line
        tried = line.waiting.first(depth + 1, line.after)
        limit = tried[min(depth, len(tried)) - 1]
        goes_on = len(tried) > depth and line.policy.rank(limit) == LOW
        # What one of them waits for has to stay set aside while those behind the cut are tried.
        self._limit = None if goes_on and line.taking is not None else limit
        self._outcome.goes_on_after = self._limit if goes_on else None
        for number, shape in shapes.items():
            begin = shape.begin(line.after)
            if begin < len(shape.line) and self._is_tried(shape.line[begin]):
                yield shape.line[begin], number, begin, shape

    def _is_tried(self, place: OrderKey) -> bool:
        return self._limit is None or place <= self._limit

    def _set_aside(self, expected: Place) -> None:
        """What one takes that is about to come, if it fits; else it holds its quota up."""
        chain, quota = self._line.chain_of(expected.quota), expected.quota
        if shortage(chain, expected.request, self._trial.used) is None:
            self._trial.grant([level.name for level in chain], expected.request)
            self._taken = True
        else:
            rank = self._line.policy.rank(expected.order)
            self._outcome.barriers.setdefault(quota, (rank, expected.request))

    def _starts(self, place: OrderKey, shape: Shape) -> bool:
        """Whether this one starts; if not, so much holds for all behind it in its shape."""
        chain = self._line.chain_of(shape.quota)
        blocking = self._blocking(shape)
        if blocking is Blocking.BARRED:
            self._bar(shape)
            return False
        short = shortage(chain, shape.request, self._trial.used)
        if short is None and self._line.taking is not None:
            short = self._line.taking.shortage(place, chain, shape.request, self._trial.used)
        if short is not None:
            self._judge(place, shape, short)
            if blocking is Blocking.FREE and not short.impossible:
                self._take(place, shape, chain)
            return False
        if blocking is Blocking.BESIDE and not self._fits_beside(shape, chain):
            self._keep(shape, Problem(Reason.BLOCKED, m11(shape.quota)))
            return False
        if self._line.one_at_a_time and self._taken:
            self._keep(shape, Problem(Reason.PODS, m9(self._line.queue)))
            return False
        self._taken = True
        self._trial.grant([level.name for level in chain], shape.request)
        self._outcome.granted.append(place)
        return True

    def _take(self, place: OrderKey, shape: Shape, chain: Sequence[Level]) -> None:
        """Others may have to make room for it; not where it could not start beside its line."""
        taking, line = self._line.taking, self._line
        if taking is None or (line.one_at_a_time and self._taken):
            return
        waits = taking.take(place, chain, shape.request, self._trial.used)
        if waits is not None:
            shape.promised[place] = waits

    def _blocking(self, shape: Shape) -> Blocking:
        barrier = self._outcome.barriers.get(shape.quota)
        return self._line.policy.blocks(barrier[0], shape.rank) if barrier else Blocking.FREE

    def _bar(self, shape: Shape) -> None:
        """One before it does not fit, which holds it back.

        Behind one that is only expected nothing is said yet: the next cycle knows its unit.
        """
        if shape.quota in self._outcome.blocking:
            self._keep(shape, Problem(Reason.BLOCKED, m8(self._line.queue, shape.quota)))
        else:
            self._outcome.failed += 1

    def _fits_beside(self, shape: Shape, chain: Sequence[Level]) -> bool:
        """Whether it fits if the one that bars its quota had all that it asks for (10.11c)."""
        kept_free = self._outcome.barriers[shape.quota][1]

        def used(level: str, resource: str) -> int:
            return self._trial.used(level, resource) + kept_free.get(resource)

        return shortage(chain, shape.request, used) is None

    def _keep(self, shape: Shape, problem: Problem) -> None:
        self._outcome.failed += 1
        shape.judge(None, problem, problem)

    def _judge(self, place: OrderKey, shape: Shape, short: Shortage) -> None:
        """The shape's head does not fit; what that means for those behind it in its shape."""
        outcome, policy = self._outcome, self._line.policy
        outcome.failed += 1
        passed_over = short.impossible and self._line.skip_impossible
        if not passed_over:
            outcome.blocking.setdefault(shape.quota, (place, short))
            outcome.barriers.setdefault(shape.quota, (shape.rank, shape.request))
        barred = not passed_over and policy.blocks(shape.rank, shape.rank) is Blocking.BARRED
        problem = short.problem
        rest = Problem(Reason.BLOCKED, m8(self._line.queue, shape.quota)) if barred else problem
        shape.judge(place, problem, rest)
