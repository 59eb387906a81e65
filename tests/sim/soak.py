"""Plays histories for some minutes: `PYTHONPATH=tests:tests/e2e:tests/sim:. python -m soak`.

`--count` plays so many instead. One in which a manager dies is played again without mishaps, and
has to end the same. It ends at the first that fails, with that one made as short as it can be, and
exit code 1. So it does if a trouble was planned and never struck: such histories would show
nothing.
"""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

import structlog
from history_draw import draw
from history_player import judge
from history_shrinking import shrunk
from history_steps import History, Plan

from kq.sim.faults import Trouble

FIRST_SEED = 1000


@contextmanager
def quiet() -> Iterator[None]:
    """No line of a log: a history is made of failures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.reset_defaults()


@dataclass(slots=True)
class Tally:
    """How often each trouble was planned in the histories so far, and how often it struck."""

    planned: Counter[Trouble] = field(default_factory=Counter)
    struck: Counter[Trouble] = field(default_factory=Counter)

    def note(self, history: History, met: Counter[Trouble]) -> None:
        """One more history was played."""
        self.planned.update(each.trouble for each in history.steps if isinstance(each, Plan))
        self.struck.update(met)

    def idle(self) -> list[Trouble]:
        """What was meant to strike and never did."""
        return [each for each in Trouble if self.planned[each] and not self.struck[each]]

    def __str__(self) -> str:
        rows = [
            (each.value, self.planned[each], self.struck[each])
            for each in Trouble
            if self.planned[each] or self.struck[each]
        ]
        lines = [f"{name:<12} {planned:>8} {struck:>8}" for name, planned, struck in rows]
        return "\n".join([f"{'trouble':<12} {'planned':>8} {'struck':>8}", *lines])


def soak(minutes: float, seed: int, number: int | None = None) -> int:
    """The exit code; `number` of histories, if that is given, however long they take."""
    begin, count, judged, tally = monotonic(), 0, 0, Tally()
    while count < number if number is not None else monotonic() < begin + 60 * minutes:
        history = draw(seed + count)
        outcome = judge(history)
        count += 1
        judged += outcome.judged
        tally.note(history, outcome.met)
        if outcome.wrongs:
            print(f"seed {history.seed}:", *outcome.wrongs, sep="\n", flush=True)
            shortest = shrunk(history, lambda each: bool(judge(each).wrongs))
            print(shortest, *judge(shortest).wrongs, sep="\n")
            return 1
    rate = count / (monotonic() - begin)
    asked = f"{judged} times a unit was asked in quiet why it waits"
    print(f"{count} histories from seed {seed}, {rate:.1f} a second, {asked}", tally, sep="\n")
    idle = ", ".join(tally.idle())
    if idle:
        print(f"planned and never struck: {idle}")
    return 1 if idle else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="the first")
    parser.add_argument("--count", type=int, help="so many histories, however long they take")
    arguments = parser.parse_args()
    with quiet():
        sys.exit(soak(arguments.minutes, arguments.seed, arguments.count))


if __name__ == "__main__":
    main()
