"""A write that is about to happen, and what may have a say in it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from kq.core.kinds import Object
from kq.sim.api.call import Call


class Operation(StrEnum):
    """What is about to happen, in the words of admission reviews."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(slots=True, kw_only=True)
class Review:
    """One write that is about to happen; who mutates it changes `obj`, or sets another."""

    operation: Operation
    call: Call
    name: str
    """Empty while it is still to be generated."""
    obj: dict[str, Any] | None
    """The object as it will be; None for a DELETE."""
    old: Object | None
    options: Object
    dry_run: bool = False


class Plugin(Protocol):
    """An admission plugin of the server itself: it may change a write, then refuse it."""

    def mutate(self, review: Review) -> None:
        """Changes the object; ApiStatus refuses the write."""

    def check(self, review: Review) -> None:
        """ApiStatus refuses the write, after everybody changed it; for a DELETE too."""


class Gate(Protocol):
    """All that stands between a request and the storage."""

    async def mutate(self, review: Review) -> list[str]:
        """Lets everybody change the object; what is to be said to the client."""

    async def validate(self, review: Review) -> list[str]:
        """Refuses the write, or gives what is to be said to the client."""
