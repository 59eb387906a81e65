"""What a hold added to a job, in the words of `koord-queue/injected` (spec 6.7)."""

from collections.abc import Iterable
from typing import Final

from kq.core.keys import SUSPEND, SYNCHRONIZATION
from kq.core.patch import Operation, escaped

_METADATA: Final = "/metadata/annotations"
_NAMES: Final = {
    f"{_METADATA}/{escaped(SUSPEND)}": "annotation",
    f"{_METADATA}/{escaped(SYNCHRONIZATION)}": "locks",
    "/spec/runPolicy/suspend": "suspend",
    "/spec/shutdownAfterJobFinishes": "shutdown-after-finish",
    "/spec/suspend": "suspend",
    "/spec/templates": "template",
}


def injected(operations: Iterable[Operation]) -> set[str]:
    """The names of what the operations of a hold add; what they only clear away has none."""
    return {_NAMES[each["path"]] for each in operations if each["path"] in _NAMES}
