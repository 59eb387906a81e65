"""One pass over one Queue from its head: who starts now, and why the others do not (10.7-10.13)."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from kq.core.messages import S1, Reason, m8, m9, m11
from kq.core.plugins import LOW, Blocking, Level, OrderKey, Problem, QueuePolicy
from kq.core.resources import Resources
from kq.decide.fit import Shortage, beside, shortage
from kq.decide.places import Place
from kq.decide.reach import reach_of
from kq.decide.retry import Failure, in_back_off
from kq.decide.shapes import Shape, demand_of
from kq.decide.taking import Taking
from kq.decide.usage import Trial, Usage
from kq.decide.waiting import WaitingList

Barrier = tuple[int, Resources]
"""Of one that does not fit: its rank, and what it asks."""

UNTRIED = Problem(Reason.PENDING, S1)
"""What those are told whom a pass does not come to (spec 10.12)."""


@dataclass(slots=True)
class Outcome:
    """What a cycle decided: who starts, in order; the head that blocks its quota, by quota."""

    granted: list[OrderKey] = field(default_factory=list)
    blocking: dict[str, tuple[OrderKey, Shortage]] = field(default_factory=dict)
    barriers: dict[str, Barrier] = field(default_factory=dict)
    """By quota: the first that does not fit, be it there or only expected."""
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)
    """Those who are to be in back-off, where there is such a thing (spec 10.19)."""
    goes_on_after: OrderKey | None = None
    """The last that was tried of a list that was cut short (spec 10.12)."""


class Line(msgspec.Struct, frozen=True):
    """What a cycle looks at: a Queue's candidates, its policy, and the quotas' chains.

    `depth`: only so many candidates are tried (spec 10.12), of the last rank those behind `after`.
    `one_at_a_time`: nobody starts while pods of others, the `unready`, do not all run (10.13).
    `backs_off`: who lacks quota is not tried again at once (spec 10.19).
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
    unready: Sequence[OrderKey] = ()
    backs_off: bool = False
    taking: Taking | None = None
    """What is taken back from others, where anybody may take something (spec 13)."""


def run_cycle(line: Line, usage: Usage) -> Outcome:
    """Grants to all that fit, in policy order; every other shape gets its verdict.

    `usage` stays as it is: the grants are counted on a trial of it.
    """
    return run_on(line, Trial(usage))


def run_on(line: Line, trial: Trial) -> Outcome:
    """The same on a trial that may have grants already, and has those of the pass afterwards."""
    return _Pass(line, trial).run()


class _Pass:
    """One pass over a line."""

    def __init__(self, line: Line, trial: Trial) -> None:
        self._line = line
        self._trial = trial
        self._outcome = Outcome()
        self._turn_taken = False
        """Whether one starts, or has others make room, who is to be the next."""
        # What one of them waits for has to stay set aside while those behind the cut are tried.
        whole_low = line.taking is not None
        self._reach = reach_of(line.waiting, line.depth, line.after, whole_low=whole_low)
        self._outcome.goes_on_after = self._reach.goes_on_after

    def run(self) -> Outcome:
        """From the head to the last that is tried."""
        heap = self._heap()
        while heap:
            place, number, index, shape = heapq.heappop(heap)
            if isinstance(shape, Place):
                self._set_aside(shape)
                continue
            goes_on = self._starts(place, shape) or place in shape.promised
            if not goes_on or index + 1 == len(shape.line):
                continue
            if self._reach.is_tried(shape.rank, shape.line[index + 1]):
                heapq.heappush(heap, (shape.line[index + 1], number, index + 1, shape))
            else:
                self._leave(shape)
        return self._outcome

    def _leave(self, shape: Shape) -> None:
        """Those behind the last that is tried; a pass that goes on with them tells them more."""
        if shape.rank != LOW:
            shape.judge(None, UNTRIED, UNTRIED)

    def _heap(self) -> list[tuple[OrderKey, int, int, Shape | Place]]:
        """The head of every shape that is tried, and all that are expected."""
        line = self._line
        for shape in line.waiting.shapes():
            shape.promised.clear()
        heap: list[tuple[OrderKey, int, int, Shape | Place]] = []
        for number, shape in enumerate(line.waiting.shapes()):
            begin = shape.begin(line.after)
            if begin == len(shape.line):
                continue
            if self._reach.is_tried(shape.rank, shape.line[begin]):
                heap.append((shape.line[begin], number, begin, shape))
            else:
                self._leave(shape)
        heap += [(each.order, -1 - number, 0, each) for number, each in enumerate(line.expected)]
        heapq.heapify(heap)
        return heap

    def _set_aside(self, expected: Place) -> None:
        """What one takes that is about to come, if it fits; else it holds its quota up."""
        chain, quota = self._line.chain_of(expected.quota), expected.quota
        if shortage(chain, expected.request, self._trial.used) is None:
            self._trial.grant([level.name for level in chain], expected.request)
            self._turn_taken = True
        else:
            rank = self._line.policy.rank(expected.order)
            self._outcome.barriers.setdefault(quota, (rank, expected.request))

    def _starts(self, place: OrderKey, shape: Shape) -> bool:
        """Whether this one starts; if not, so much holds for all behind it in its shape."""
        blocking = self._blocking(shape)
        if blocking is Blocking.BARRED:
            self._bar(shape)
            return False
        chain = self._line.chain_of(shape.quota)
        short = demand_of(shape, chain).shortage(self._trial.used)
        if short is None and self._line.taking is not None:
            short = self._line.taking.shortage(place, chain, shape.request, self._trial.used)
        if short is not None:
            if blocking is Blocking.FREE and not short.impossible:
                self._take(place, shape, chain)
            self._judge(place, shape, short)
            return False
        if blocking is Blocking.BESIDE and not self._fits_beside(shape, chain):
            self._keep(shape, Problem(Reason.BLOCKED, m11(shape.quota)))
            return False
        if self._must_wait():
            if not self._displace(place, shape, chain):
                self._keep(shape, Problem(Reason.PODS, m9(self._line.queue)))
            return False
        self._turn_taken = True
        self._trial.grant([level.name for level in chain], shape.request)
        self._outcome.granted.append(place)
        return True

    def _take(self, place: OrderKey, shape: Shape, chain: Sequence[Level]) -> None:
        """Others may have to make room for it; not where it could not start beside its line."""
        taking = self._line.taking
        if taking is not None and not self._must_wait():
            waits = taking.take(place, chain, shape.request, self._trial.used)
            if waits is not None:
                shape.promised[place] = waits

    def _must_wait(self) -> bool:
        """Whether pods of another have to run before the next one starts (spec 10.13)."""
        return self._line.one_at_a_time and (self._turn_taken or bool(self._line.unready))

    def _displace(self, place: OrderKey, shape: Shape, chain: Sequence[Level]) -> bool:
        """One that fits has those make way that hold its Queue up and come after it (13.12)."""
        taking, unready = self._line.taking, self._line.unready
        if taking is None or self._turn_taken or any(each < place for each in unready):
            return False
        waits = taking.displace(place, chain, shape.request, self._trial.used, unready)
        if waits is not None:
            self._turn_taken, shape.promised[place] = True, waits
            self._outcome.failed += 1
        return waits is not None

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
        used = beside(self._trial.used, self._outcome.barriers[shape.quota][1])
        return demand_of(shape, chain).shortage(used) is None

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
        bars = policy.blocks(shape.rank, shape.rank) is Blocking.BARRED
        problem = short.problem
        if self._line.backs_off and not (bars or short.impossible or place in shape.promised):
            outcome.failures.append(
                Failure(shape, place, self._reach.last.get(shape.rank), problem)
            )
            problem = in_back_off(problem)
        barred = bars and not passed_over
        rest = Problem(Reason.BLOCKED, m8(self._line.queue, shape.quota)) if barred else problem
        shape.judge(place, problem, rest)
