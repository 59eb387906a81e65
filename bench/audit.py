"""Who wrote what, by the API server's own record."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
OURS = "system:serviceaccount:koord-queue:"
EVENTS = "events"
LEASES = "leases"
FIRST_ERROR = 400


class User(msgspec.Struct, frozen=True):
    """Who asked."""

    username: str = ""


class ObjectRef(msgspec.Struct, frozen=True):
    """What it was about."""

    resource: str = ""
    subresource: str = ""


class Status(msgspec.Struct, frozen=True):
    """How it was answered."""

    code: int = 0


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """One request as the audit log has it; nothing else of it is read."""

    verb: str = ""
    user: User = User()
    object_ref: ObjectRef = ObjectRef()
    response_status: Status = Status()

    @property
    def what(self) -> str:
        """`jobs` or `jobs/status`."""
        ref = self.object_ref
        return f"{ref.resource}/{ref.subresource}" if ref.subresource else ref.resource


class AuditLog:
    """An audit log, read on from where the last reading ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size
        self._decode = msgspec.json.Decoder(Entry).decode

    def news(self) -> list[Entry]:
        """What was written since the last reading, or since the log was opened."""
        with self._path.open("rb") as file:
            file.seek(self._position)
            text = file.read()
        complete = text.rfind(b"\n") + 1
        self._position += complete
        return [self._decode(line) for line in text[:complete].splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """Writes by what was done: ours, ours that were refused, and everybody else's by user."""

    ours: Counter[tuple[str, str]]
    refused: Counter[tuple[str, str, int]]
    others: Counter[tuple[str, str, str]]

    @property
    def objects(self) -> int:
        """All of ours that were done, but Events and leases."""
        return sum(count for (_, what), count in self.ours.items() if what not in (EVENTS, LEASES))

    @property
    def attempts(self) -> int:
        """All of ours, Events and refused ones too; leases apart."""
        done = sum(count for (_, what), count in self.ours.items() if what != LEASES)
        return done + sum(count for (_, what, _), count in self.refused.items() if what != LEASES)

    @property
    def events(self) -> int:
        """Our Events, new ones and counted ones."""
        return sum(count for (_, what), count in self.ours.items() if what == EVENTS)


def count(entries: Iterable[Entry]) -> Writes:
    """All writes among the entries."""
    ours: Counter[tuple[str, str]] = Counter()
    refused: Counter[tuple[str, str, int]] = Counter()
    others: Counter[tuple[str, str, str]] = Counter()
    for each in entries:
        if each.verb not in WRITES:
            continue
        if not each.user.username.startswith(OURS):
            others[short(each.user.username), each.verb, each.what] += 1
        elif each.response_status.code >= FIRST_ERROR:
            refused[each.verb, each.what, each.response_status.code] += 1
        else:
            ours[each.verb, each.what] += 1
    return Writes(ours=ours, refused=refused, others=others)


def short(username: str) -> str:
    """`job-controller` for `system:serviceaccount:kube-system:job-controller`."""
    return username.rpartition(":")[2]
