"""How far down its line a pass goes (spec 10.12)."""

from collections.abc import Mapping

import msgspec

from kq.core.plugins import HIGH, LOW, OrderKey
from kq.decide.waiting import WaitingList


class Reach(msgspec.Struct, frozen=True):
    """The last that is tried of each rank; of a rank that is not named all are, of None nobody.

    `goes_on_after`: where the next pass goes on with the low ones; None if this one has tried all.
    """

    last: Mapping[int, OrderKey | None] = {}
    goes_on_after: OrderKey | None = None

    def is_tried(self, rank: int, place: OrderKey) -> bool:
        """Whether one of that rank is tried at all."""
        if rank not in self.last:
            return True
        last = self.last[rank]
        return last is not None and place <= last


EVERYBODY = Reach()


def reach_of(
    waiting: WaitingList, depth: int | None, after: OrderKey | None, *, whole_low: bool
) -> Reach:
    """Of a pass that tries so many, high ones first; of the low list what is behind `after`.

    Where high ones take up all of it, a pass that goes on counts low ones alone: else so many high
    ones would keep every low one waiting, whatever is free.
    """
    if depth is None:
        return EVERYBODY
    last: dict[int, OrderKey | None] = {}
    high = waiting.first(depth + 1, HIGH)
    if len(high) > depth:
        last[HIGH] = high[depth - 1]
    if whole_low:
        return Reach(last)
    room = max(depth - len(high), 0)
    if not room and after is not None:
        room = depth
    low = waiting.first(room + 1, LOW, after)
    if len(low) <= room:
        return Reach(last)
    last[LOW] = low[room - 1] if room else None
    return Reach(last, goes_on_after=low[room - 1] if room else high[depth - 1])
