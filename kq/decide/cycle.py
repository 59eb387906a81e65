"""One pass over one Queue from its head: who starts now, and why the others do not (10.7-10.10)."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from kq.core.messages import Reason, m8
from kq.core.model import QueueUnit
from kq.core.plugins import Blocking, Level, OrderKey, Problem, QueuePolicy
from kq.decide.fit import Shortage, shortage
from kq.decide.places import Place
from kq.decide.usage import Trial, UsageIndex
from kq.decide.waiting import Shape, WaitingList


@dataclass(slots=True)
class Outcome:
    """What a cycle decided: who starts, in order; the head that blocks its quota, by quota."""

    granted: list[OrderKey] = field(default_factory=list)
    blocking: dict[str, tuple[OrderKey, Shortage]] = field(default_factory=dict)
    held_up: set[str] = field(default_factory=set)
    """Quotas in which an expected one does not fit."""
    failed: int = 0


class Line(msgspec.Struct, frozen=True):
    """What a cycle looks at: a Queue's candidates, its policy, and the quotas' chains."""

    queue: str
    waiting: WaitingList
    policy: QueuePolicy
    unit_at: Callable[[OrderKey], QueueUnit]
    chain_of: Callable[[str], Sequence[Level]]
    skip_impossible: bool = False
    expected: Sequence[Place] = ()
    """Jobs whose units are about to be made: those behind them must not take what is theirs."""


def run_cycle(line: Line, usage: UsageIndex) -> Outcome:
    """Grants to all that fit, in policy order; every other shape gets its verdict.

    `usage` stays as it is: the grants are counted on a trial of it.
    """
    trial = Trial(usage)
    outcome = Outcome()
    heap: list[tuple[OrderKey, int, int, Shape | Place]] = [
        (shape.line[0], number, 0, shape) for number, shape in enumerate(line.waiting.shapes())
    ]
    heap += [(each.order, -1 - number, 0, each) for number, each in enumerate(line.expected)]
    heapq.heapify(heap)
    while heap:
        place, number, index, shape = heapq.heappop(heap)
        if isinstance(shape, Place):
            _set_aside(line, outcome, trial, shape)
            continue
        if _is_barred(line, outcome, place, shape):
            outcome.failed += 1
            continue
        chain = line.chain_of(shape.quota)
        short = shortage(chain, shape.request, trial.used)
        if short is not None:
            _judge(line, outcome, place, shape, short)
            continue
        trial.grant([level.name for level in chain], shape.request)
        outcome.granted.append(place)
        if index + 1 < len(shape.line):
            heapq.heappush(heap, (shape.line[index + 1], number, index + 1, shape))
    return outcome


def _set_aside(line: Line, outcome: Outcome, trial: Trial, expected: Place) -> None:
    """What one takes that is about to come, if it fits; else it holds its quota up."""
    chain = line.chain_of(expected.quota)
    if shortage(chain, expected.request, trial.used) is None:
        trial.grant([level.name for level in chain], expected.request)
    else:
        outcome.held_up.add(expected.quota)


def _is_barred(line: Line, outcome: Outcome, place: OrderKey, shape: Shape) -> bool:
    """Whether one that does not fit holds this one back, and with it all of its shape.

    Behind one that is only expected nothing is said yet: the next cycle knows its unit.
    """
    unit, barrier = line.unit_at(place), outcome.blocking.get(shape.quota)
    if barrier is None:
        is_held_up = shape.quota in outcome.held_up
        return is_held_up and line.policy.blocks(unit, unit) is Blocking.BARRED
    if line.policy.blocks(line.unit_at(barrier[0]), unit) is not Blocking.BARRED:
        return False
    barred = Problem(Reason.BLOCKED, m8(line.queue, shape.quota))
    shape.judge(None, barred, barred)
    return True


def _judge(line: Line, outcome: Outcome, place: OrderKey, shape: Shape, short: Shortage) -> None:
    """The shape's head does not fit; what that means for those behind it in its shape."""
    outcome.failed += 1
    problem = short.problem
    passed_over = short.impossible and line.skip_impossible
    if not passed_over:
        outcome.blocking.setdefault(shape.quota, (place, short))
    unit = line.unit_at(place)
    barred = not passed_over and line.policy.blocks(unit, unit) is Blocking.BARRED
    rest = Problem(Reason.BLOCKED, m8(line.queue, shape.quota)) if barred else problem
    shape.judge(place, problem, rest)
