"""What a controller of the cluster is: pure, driven by keys and told the time."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, Protocol

from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Plan


class Key(NamedTuple):
    """What to look at: an object's place, or whatever else a controller names its work by."""

    namespace: str
    name: str
    about: str = ""
    """The kind or the UID, where one controller looks at several."""


class Due(NamedTuple):
    """A key, and after how many seconds it is to be looked at."""

    key: Key
    after: float = 0.0


class Pace(NamedTuple):
    """Seconds after which a key that failed is tried again: doubled each time, up to a limit."""

    first: float = 0.005
    longest: float = 1000.0


class Controller(Protocol):
    """Brings one sort of objects to the state that they ask for."""

    name: str
    """Its service account, which its writes bear."""
    pace: Pace
    kinds: tuple[str, ...]
    """The kinds whose changes it is told of; none is all."""

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Which keys a change gives reason to look at; changes are told in their order."""
        ...

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """What is to be written for one key; an ApiStatus that it raises makes it come again."""
        ...
