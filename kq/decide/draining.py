"""Queues that take back what their units hold (stopPolicy HoldAndDrain, spec 3.1)."""

from collections.abc import Callable, Mapping

from kq.core.model import Queue, QueueUnit
from kq.decide.ignored import is_given_up, is_in_vain
from kq.decide.queuesettings import drains


class Draining:
    """Which Queues are drained at this moment, and who gives grants back for that."""

    def __init__(self) -> None:
        self._queues: set[str] = set()

    def saw(self, name: str, queue: Queue | None) -> bool:
        """The Queue as it is now, None if it is gone; whether it is drained no more."""
        was_drained = name in self._queues
        if drains(queue):
            self._queues.add(name)
        else:
            self._queues.discard(name)
        return was_drained and name not in self._queues

    def leaving(
        self,
        units: Mapping[str, QueueUnit],
        queue_of: Callable[[str], str | None],
        can_be_stopped: Callable[[QueueUnit], bool],
    ) -> set[str]:
        """Units that give back their grants, be they marked already or not."""
        if not self._queues:
            return set()
        return {
            key
            for key, unit in units.items()
            if unit.holds_quota
            and queue_of(key) in self._queues
            and can_be_stopped(unit)
            and not (is_given_up(unit) or is_in_vain(unit))
        }
