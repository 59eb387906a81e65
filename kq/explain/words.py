"""An explanation and its parts: why a unit waits, and what would let it start (spec 19.6).

Each suggestion has its sentence; amounts are written as Kubernetes writes them.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kq.core.plugins import Problem
from kq.core.resources import format_amount, in_order, plain

MOST_NAMED = 3

Amounts = Mapping[str, str]
"""A ResourceList of the wire."""


class Ahead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One that goes first."""

    unit: str
    position: int
    priority: int
    quota: str
    request: Amounts


class Held(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One that holds some of what is short; `unit` may be pods that a job left behind."""

    unit: str
    amounts: Amounts


class ShortLevel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A level of the quota's chain that has not enough, in its short resources only.

    `unit` is whose request it is: the unit's own, or that of the one that holds it back. `aside` is
    what those take, or have kept free for them, who go before it. `of_min`: it is not the max, but
    the min, which bounds what jobs use that are not preemptible (spec 11.13).
    """

    quota: str
    of_min: bool = False
    unit: str
    requested: Amounts
    used: Amounts
    aside: Amounts
    limit: Amounts
    holders: Sequence[Held]
    text: str


class FewerPods(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """The largest number of pods of one pod set with which it starts."""

    pod_set: str
    count: int
    text: str


class SmallerPods(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """The most that each pod of one pod set may request for it to start."""

    pod_set: str
    request: Amounts
    text: str


class Increase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A limit, and by how much it is to rise; `of_min`: of the min, not the max (spec 11.13)."""

    quota: str
    of_min: bool = False
    resource: str
    by: str
    to: str


class RaiseQuota(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """Limits that are to rise, all of them, and the least by which each has to."""

    increases: Sequence[Increase]
    text: str


class Ending(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A job that holds grants: since when, and when its time is over at the latest."""

    unit: str
    since: str | None
    ends_by: str | None


class EndJobs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """Jobs whose end suffices, none of them superfluous; those that end first come first."""

    jobs: Sequence[Ending]
    text: str


class RaisePriority(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """The smallest priority with which it starts."""

    priority: int
    text: str


class Withdraw(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """Units that hold it back; it starts once they wait no more."""

    units: Sequence[str]
    text: str


class PodsRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """Units whose pods all have to run first (spec 10.13)."""

    units: Sequence[str]
    text: str


class SetQueue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """An annotation of its Queue with which it starts."""

    queue: str
    key: str
    value: str
    text: str


class Remedy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """What ends the reason for which it takes no part in cycles, and what a cycle says then.

    `starts`: it starts then; None if that cannot be told.
    """

    starts: bool | None
    text: str


Suggestion = (
    FewerPods
    | SmallerPods
    | RaiseQuota
    | EndJobs
    | RaisePriority
    | Withdraw
    | PodsRun
    | SetQueue
    | Remedy
)


class CheckWait(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An admission check that has not said Ready, and since when that is so."""

    name: str
    state: str
    message: str
    since: str
    text: str


class Eta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """When it is expected to start (spec 18.9): seconds from now, and how sure that is."""

    at: str
    seconds: int
    low: int
    high: int
    confidence: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a unit waits, where it stands, and what would let it start.

    `reason` is empty for one that waits for nothing; `position` counts from 1 in its Queue, `ahead`
    are the first of those before it.
    """

    state: str
    reason: Problem | None = None
    position: int | None = None
    ahead: Sequence[Ahead] = ()
    levels: Sequence[ShortLevel] = ()
    unblock: Sequence[Suggestion] = ()
    checks: Sequence[CheckWait] = ()
    eta: Eta | None = None


def listed(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts by the names that the quota itself has for them."""
    return {plain(name): format_amount(name, amounts[name]) for name in in_order(amounts)}


def in_words(amounts: Mapping[str, str]) -> str:
    """`4 cpu, 8Gi memory`."""
    return ", ".join(f"{amount} {name}" for name, amount in amounts.items())


def named(units: Sequence[str]) -> str:
    """Some of them by name (as M12): `a, b, c and 2 more`."""
    rest = len(units) - MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return f"{', '.join(units[:MOST_NAMED])}{more}"


def check_wait(name: str, state: str, message: str, since: str) -> CheckWait:
    """A check that has not said Ready, with its sentence."""
    said = f" ({message})" if message else ""
    text = f"admission check {name} is {state}{said} since {since}"
    return CheckWait(name=name, state=state, message=message, since=since, text=text)


def sentences(explanation: Explanation) -> Iterable[str]:
    """The whole of it, a line each."""
    reason = explanation.reason
    yield f"state {explanation.state}" + (f": {reason.message}" if reason is not None else "")
    if explanation.position is not None:
        yield _standing(explanation)
    yield from (each.text for each in explanation.levels)
    yield from (each.text for each in explanation.checks)
    yield from (each.text for each in explanation.unblock)
    if explanation.eta is not None:
        eta = explanation.eta
        yield (
            f"expected to start at {eta.at}, in {eta.seconds}s ({eta.low}s to {eta.high}s, "
            f"confidence {eta.confidence:.2f})"
        )


def _standing(explanation: Explanation) -> str:
    if not explanation.ahead:
        return f"position {explanation.position}: nobody is ahead"
    ahead = ", ".join(f"{each.unit} (priority {each.priority})" for each in explanation.ahead)
    rest = (explanation.position or 1) - 1 - len(explanation.ahead)
    more = f" and {rest} more" if rest > 0 else ""
    return f"position {explanation.position}: ahead are {ahead}{more}"
