"""Faults on demand: what is planned to go wrong between kq and the API server, and what did."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kq.kube.requests import PreparedRequest


class Trouble(StrEnum):
    """What can go wrong with a request or a watch."""

    SLOW = "slow"
    """It takes `seconds` more."""
    UNREACHABLE = "unreachable"
    """No connection: nothing was sent."""
    UNSENT = "unsent"
    """The connection breaks; nothing was done, but who knows."""
    BUSY = "busy"
    """429, with a Retry-After of `seconds`."""
    FAILED = "failed"
    """Refused with `code`, 500 unless another is told; nothing was done."""
    CONFLICT = "conflict"
    """409, as if somebody else had just written the object."""
    LOST = "lost"
    """The write took effect, and its answer is lost."""
    DEATH = "death"
    """The write took effect, and whoever asked for it is killed."""
    STALE = "stale"
    """A list is answered by a replica that is `seconds` writes behind, if the list allows that."""
    LATE = "late"
    """A watch shows its next change `seconds` late, and all that follow after it."""
    DROPPED = "dropped"
    """A watch breaks off before its next change."""
    STALLED = "stalled"
    """A watch goes silent before its next change, until whoever reads it gives up."""
    EXPIRED = "expired"
    """410: what a watch is to begin or go on with is forgotten."""
    GARBLED = "garbled"
    """An answer, or the next line of a watch, comes cut off in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, as far as faults choose by it."""

    verb: str
    """`get`, `list`, `watch`, `create`, `patch` or `delete`."""
    plural: str
    namespace: str
    name: str
    subresource: str

    @property
    def is_write(self) -> bool:
        """Whether it changes something."""
        return self.verb in ("create", "patch", "delete")


Matches = Callable[[Asked], bool]


@dataclass(slots=True, kw_only=True)
class Fault:
    """One trouble, in wait for the requests that it is meant for."""

    trouble: Trouble
    on: Matches
    spared: int = 0
    """So many of them pass before it strikes."""
    times: int = 1
    """So many in a row are struck then."""
    seconds: float = 1.0
    code: int = 500
    struck: int = 0

    def takes(self, asked: Asked) -> bool:
        """Whether it strikes this request; counts it if so."""
        if self.struck >= self.times or not self.on(asked):
            return False
        if self.spared:
            self.spared -= 1
            return False
        self.struck += 1
        return True


OF_WRITES = (Trouble.CONFLICT, Trouble.LOST, Trouble.DEATH)
"""Troubles that only writes have."""


class Faults:
    """What is planned to go wrong, and what did."""

    def __init__(self) -> None:
        self.met: Counter[Trouble] = Counter()
        self._planned: list[Fault] = []

    def plan(
        self,
        trouble: Trouble,
        on: Matches | None = None,
        *,
        spared: int = 0,
        times: int = 1,
        seconds: float = 1.0,
        code: int = 500,
    ) -> Fault:
        """Puts a fault in wait; what is given tells later how often it has struck."""
        fault = Fault(
            trouble=trouble,
            on=on or (any_write if trouble in OF_WRITES else anything),
            spared=spared,
            times=times,
            seconds=seconds,
            code=code,
        )
        self._planned.append(fault)
        return fault

    def end(self) -> None:
        """Nothing goes wrong any more."""
        self._planned.clear()

    def strike(self, asked: Asked, *troubles: Trouble) -> Fault | None:
        """The first fault of these troubles that is meant for a request, now that it strikes."""
        for fault in self._planned:
            if fault.trouble in troubles and fault.takes(asked):
                self.met[fault.trouble] += 1
                return fault
        return None


def anything(asked: Asked) -> bool:
    """Every request."""
    return True


def any_write(asked: Asked) -> bool:
    """Every write but those of Events."""
    return asked.is_write and asked.plural != "events"


def on(verb: str, plural: str, subresource: str = "") -> Matches:
    """Requests with that verb for that kind."""
    wanted = (verb, plural, subresource)
    return lambda asked: (asked.verb, asked.plural, asked.subresource) == wanted


_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


def asked_of(request: PreparedRequest) -> Asked:
    """What a request asks for."""
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource = (*parts, "", "", "")[:3]
    verb = _VERBS.get(request.method) or ("get" if name else "list")
    if "watch" in request.query:
        verb = "watch"
    return Asked(verb=verb, plural=plural, namespace=namespace, name=name, subresource=subresource)
