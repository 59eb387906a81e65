"""Usage as it will be once grants are given back and set aside has been used (spec 13.6)."""

from collections.abc import Iterator, Sequence

from kq.core.resources import Resources
from kq.decide.fit import Used, shortage
from kq.decide.grounds import Grounds, Promise
from kq.decide.victims import Holder

Amounts = dict[tuple[str, str], int]
"""By level and resource."""


class Outlook:
    """What is coming back in one pass, who waits for it, and what that leaves for the others."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._freed: Amounts = {}
        self._awaited: Amounts = {}
        """What of it somebody waits for already."""
        self._aside: Amounts = {}
        self.promises: list[Promise] = []
        for each in grounds.leaving:
            self.free(each)

    def free(self, holder: Holder) -> None:
        """This one is to give back all that it has."""
        _add(self._freed, self._levels(holder), holder.charge)

    def expect(self, holder: Holder) -> None:
        """Somebody waits for what this one gives back."""
        _add(self._awaited, self._levels(holder), holder.charge)

    def set_aside(self, promise: Promise) -> None:
        """What one asks is its own from now on."""
        self.promises.append(promise)
        _add(self._aside, promise.levels, promise.request)

    def later(self, used: Used, priority: int) -> Used:
        """Usage once all is given back that is asked back, and what is set aside is used."""
        return _less(self.beside(used, priority), self._freed)

    def unawaited(self, used: Used, priority: int) -> Used:
        """Usage beside what is set aside, once that is given back which somebody waits for."""
        return _less(self.beside(used, priority), self._awaited)

    def beside(self, used: Used, priority: int) -> Used:
        """Usage with what is set aside for those that one of that priority does not pass."""
        others: Amounts = {}
        for each in self._barring(priority):
            _add(others, each.levels, each.request)
        return _more(_more(used, self._aside), others)

    def kept(self, used: Used, priority: int) -> Used:
        """Usage with what is there already for those of higher priority in other Queues.

        Somebody has just given it back to them, and others may still be leaving: what these will
        give is no reason to take it meanwhile. Promises of this pass lack something now.
        """
        kept: Amounts = {}
        counted = _more(used, kept)
        above = (each for each in self._grounds.promises if each.priority > priority)
        for each in sorted(above, key=lambda each: -each.priority):
            if shortage(each.chain, each.request, counted) is None:
                _add(kept, each.levels, each.request)
        return counted

    def _barring(self, priority: int) -> Iterator[Promise]:
        return (
            each for each in self._grounds.promises if each.bars_all or each.priority > priority
        )

    def _levels(self, holder: Holder) -> Sequence[str]:
        return [level.name for level in self._grounds.chain_of(holder.quota)]


def _more(used: Used, amounts: Amounts) -> Used:
    return lambda level, resource: used(level, resource) + amounts.get((level, resource), 0)


def _less(used: Used, amounts: Amounts) -> Used:
    return lambda level, resource: used(level, resource) - amounts.get((level, resource), 0)


def _add(total: Amounts, levels: Sequence[str], amounts: Resources) -> None:
    for level in levels:
        for name, amount in amounts.items():
            total[level, name] = total.get((level, name), 0) + amount
