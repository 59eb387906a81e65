"""What each quota's units have in use, kept by deltas and always equal to the sum (spec 11.7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from kq.core.resources import ZERO, Resources

Ancestry = Callable[[str], Sequence[str]]
"""The names of a quota and its ancestors."""

_NOTHING: Mapping[str, int] = MappingProxyType({})


class Usage(Protocol):
    """What is in use, as a pass asks for it."""

    def of(self, level: str) -> Mapping[str, int]:
        """What all below and at that level have in use."""


class UsageIndex:
    """Charges by holder, added up for every level of each quota's chain.

    A holder is a unit (or the pods that one left behind). A charge names its quota even while no
    quota of that name exists, so that one made again sees what is running (spec 11.8).
    """

    def __init__(self, ancestry: Ancestry) -> None:
        self._ancestry = ancestry
        self._charges: dict[str, tuple[str, Resources]] = {}
        self._own: dict[str, dict[str, int]] = {}
        self._levels: dict[str, dict[str, int]] = {}
        self._changed: dict[str, None] = {}
        self._ending: dict[str, str] = {}

    def fork(self) -> "UsageIndex":
        """The same, of which further charges are apart."""
        other = UsageIndex(self._ancestry)
        other._charges = dict(self._charges)
        other._own = {quota: dict(amounts) for quota, amounts in self._own.items()}
        other._levels = {level: dict(amounts) for level, amounts in self._levels.items()}
        other._ending = dict(self._ending)
        return other

    def set_ancestry(self, ancestry: Ancestry) -> set[str]:
        """The tree has changed: usage moves at once; the levels that have less in use now."""
        before, self._ancestry, self._levels = self._levels, ancestry, {}
        for quota, amounts in self._own.items():
            for level in ancestry(quota):
                _add(self._levels.setdefault(level, {}), amounts.items(), 1)
        either = {**before, **self._levels}
        moved = [level for level in either if before.get(level) != self._levels.get(level)]
        self._changed.update(dict.fromkeys(moved))
        return {
            level
            for level, amounts in before.items()
            if any(self.of(level).get(name, 0) < amount for name, amount in amounts.items())
        }

    def charge(self, holder: str, quota: str, amount: Resources) -> str | None:
        """Replace what the holder has in use; the quota that got something back, if one did."""
        old = self._charges.get(holder)
        if old == (quota, amount):
            return None
        if amount.is_zero:
            self._charges.pop(holder, None)
            self._ending.pop(holder, None)
        else:
            self._charges[holder] = (quota, amount)
        if old is not None:
            self._book(old[0], old[1], -1)
        self._book(quota, amount, 1)
        if old is None:
            return None
        lower = old[0] != quota or any(amount.get(name) < n for name, n in old[1].items())
        return old[0] if lower else None

    def drop(self, holder: str) -> str | None:
        """The holder has nothing any more; the quota that got something back, if one did."""
        old = self._charges.get(holder)
        return self.charge(holder, old[0], ZERO) if old else None

    def set_ending(self, holder: str, name: str) -> None:
        """All that the holder has ends by itself, and is told of under that name; empty: not so."""
        if name and holder in self._charges:
            self._ending[holder] = name
        else:
            self._ending.pop(holder, None)

    @property
    def ending(self) -> Iterable[tuple[str, str, Resources]]:
        """What ends by itself, with no grant to be taken back: its name, quota and amount."""
        return [(name, *self._charges[holder]) for holder, name in sorted(self._ending.items())]

    def take_changed(self) -> list[str]:
        """Levels of which more or less is in use than at the last call."""
        taken, self._changed = self._changed, {}
        return list(taken)

    def of(self, level: str) -> Mapping[str, int]:
        """What all below and at that level have in use."""
        return self._levels.get(level, _NOTHING)

    def own(self, quota: str) -> Mapping[str, int]:
        """What those of that very quota have in use, without all below it."""
        return self._own.get(quota, _NOTHING)

    def charge_of(self, holder: str) -> Resources:
        """What one holder has in use."""
        return self._charges[holder][1] if holder in self._charges else ZERO

    def charges(self) -> Mapping[str, tuple[str, Resources]]:
        """All charges, read only."""
        return MappingProxyType(self._charges)

    def _book(self, quota: str, amount: Resources, sign: int) -> None:
        if amount.is_zero:
            return
        _add(self._own.setdefault(quota, {}), amount.items(), sign)
        if not self._own[quota]:
            del self._own[quota]
        for level in self._ancestry(quota):
            self._changed[level] = None
            total = self._levels.setdefault(level, {})
            _add(total, amount.items(), sign)
            if not total:
                del self._levels[level]


class Trial:
    """Usage with grants of one cycle on top, the index itself untouched."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._extra: dict[str, dict[str, int]] = {}

    def used(self, level: str, resource: str) -> int:
        """What is in use of one resource at one level, grants of this cycle included."""
        extra = self._extra.get(level)
        return self._usage.of(level).get(resource, 0) + (extra.get(resource, 0) if extra else 0)

    def of(self, level: str) -> Mapping[str, int]:
        """What is in use at one level."""
        extra, used = self._extra.get(level), self._usage.of(level)
        return {name: self.used(level, name) for name in {*used, *extra}} if extra else used

    def grant(self, levels: Sequence[str], amount: Resources) -> None:
        """One more grant."""
        for level in levels:
            _add(self._extra.setdefault(level, {}), amount.items(), 1)


def _add(total: dict[str, int], amounts: Iterable[tuple[str, int]], sign: int) -> None:
    """Add to a running total; what comes to 0 is left out, so that nothing lingers."""
    for name, amount in amounts:
        value = total.get(name, 0) + sign * amount
        if value:
            total[name] = value
        else:
            total.pop(name, None)
