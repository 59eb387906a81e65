"""Units by the job that they stand for, and by the job that they name: nearly always one."""

from collections.abc import Iterable, Iterator

from kq.core.model import QueueUnit
from kq.decide.kin import JobKey

Some = QueueUnit | tuple[QueueUnit, ...]
"""One unit, or several: of a hundred thousand each object around one of them counts."""


class UnitIndex:
    """Units by holder (their job's UID, or their own key without one) and by the name in them."""

    def __init__(self) -> None:
        self._held: dict[str, Some] = {}
        # By kind and namespace, and there by name: that is a string which the unit has anyway.
        self._named: dict[tuple[str, str], dict[str, Some]] = {}

    def __contains__(self, holder: object) -> bool:
        return holder in self._held

    def put(self, unit: QueueUnit) -> None:
        """A unit as it is now."""
        holder = holder_of(unit)
        self._held[holder] = _with(unit, self._held.get(holder))
        key = named_job(unit)
        if key is not None:
            named = self._named.setdefault(key[:2], {})
            named[key[2]] = _with(unit, named.get(key[2]))

    def drop(self, unit: QueueUnit) -> None:
        """A unit that is gone, or about to be put anew."""
        _leave(self._held, holder_of(unit), unit.key)
        key = named_job(unit)
        named = self._named.get(key[:2]) if key is not None else None
        if key is not None and named is not None:
            _leave(named, key[2], unit.key)
            if not named:
                del self._named[key[:2]]

    def of(self, holder: str) -> list[QueueUnit]:
        """The units of a job: the one that stands for it first (spec 2.6)."""
        found = self._held.get(holder)
        if found is None or isinstance(found, QueueUnit):
            return [] if found is None else [found]
        return sorted(found, key=lambda each: (not each.owner_uid, each.created, each.key))

    def naming(self, key: JobKey) -> list[QueueUnit]:
        """Units that name a job, whatever the UID."""
        found = self._named.get(key[:2], {}).get(key[2])
        return sorted(_several(found), key=lambda each: (each.created, each.key))


def named_job(unit: QueueUnit) -> JobKey | None:
    """The job that the unit's consumerRef names."""
    each = unit.consumer
    return (each.kind, each.namespace or unit.namespace, each.name) if each else None


def holder_of(unit: QueueUnit) -> str:
    """Under which a unit and the pods of its job are found together."""
    return unit.job_uid or unit.key


def _several(found: Some | None) -> Iterable[QueueUnit]:
    if found is None:
        return ()
    return (found,) if isinstance(found, QueueUnit) else found


def _others(found: Some | None, key: str) -> Iterator[QueueUnit]:
    return (each for each in _several(found) if each.key != key)


def _with(unit: QueueUnit, found: Some | None) -> Some:
    others = tuple(_others(found, unit.key)) if found is not None else ()
    return (*others, unit) if others else unit


def _leave(index: dict[str, Some], at: str, key: str) -> None:
    left = tuple(_others(index.pop(at, None), key))
    if left:
        index[at] = left if len(left) > 1 else left[0]
