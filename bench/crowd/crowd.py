"""Many jobs like those of a sample, as lines of JSON."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec

from bench.crowd.sample import START, Object, Sample, room, team
from kq.core.codec import format_time

FIRST_TEAM = team(0)
LEFT_OUT = room(0)
SPREAD_SECONDS = 86_400
"""Over a day the jobs were submitted."""


def write(sample: Sample, count: int, path: Path) -> int:
    """Writes a file with so many waiting jobs and their units; gives how many there are."""
    written = 0
    with path.open("wb") as file:
        for each in _once(sample):
            file.write(msgspec.json.encode(each) + b"\n")
        for line in _many(sample, count):
            file.write(line + b"\n")
            written += 1
    return written // 2


def _once(sample: Sample) -> Iterator[Object]:
    """All that is there once, but one small job: so the manager has something to decide at once."""
    for each in sample.once:
        meta = each["metadata"]
        owners = [owner["name"] for owner in meta.get("ownerReferences", ())]
        if meta.get("namespace") != FIRST_TEAM or LEFT_OUT not in (meta["name"], *owners):
            yield each


def _many(sample: Sample, count: int) -> Iterator[bytes]:
    """Jobs and units in turn."""
    copies, rest = divmod(count, len(sample.waiting))
    number = 0
    for place, (job, unit) in enumerate(sample.waiting):
        makers = [_Copier(job, job, unit), _Copier(unit, job, unit)]
        for _ in range(copies + (place < rest)):
            yield from (each.copy(number, count) for each in makers)
            number += 1


class _Copier:
    """One object as bytes, in which names, UIDs and the time are replaced."""

    def __init__(self, obj: Object, job: Object, unit: Object) -> None:
        self._raw = msgspec.json.encode(obj)
        self._name = job["metadata"]["name"].encode()
        self._uids = [each["metadata"]["uid"].encode() for each in (job, unit)]
        self._created = obj["metadata"]["creationTimestamp"].encode()

    def copy(self, number: int, count: int) -> bytes:
        """The same as that of another job."""
        raw = self._raw.replace(self._name, b"%s-%06d" % (self._name, number))
        for which, uid in enumerate(self._uids):
            raw = raw.replace(uid, b"%08x-0000-4000-8000-%012x" % (which, number))
        # The k-th of every shape at the same time of day, so that all shapes stand everywhere.
        age = timedelta(seconds=SPREAD_SECONDS * (number * 7919 % count) // count)
        return raw.replace(self._created, format_time(START - age).encode())
