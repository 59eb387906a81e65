"""How a kind of jobs plugs in: its operator says what one job wants, all else is the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from kq.core.kinds import Object
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import controller_of, is_active, owners_of, place_of, uid_of
from kq.sim.control.view import Happened, Known, Seen, View
from kq.sim.control.writes import Create, Delete, Plan, Replace, Write, is_written, taken


class Operator(Protocol):
    """One kind of jobs."""

    name: str
    """Its service account."""
    kind: str
    children: tuple[str, ...]
    """The kinds that it makes."""
    batch: float
    """Seconds for which events of children, and of a job's own status, are gathered."""

    def sync(self, job: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """What is written for one job, which may be suspended, or over."""
        ...


class Behaviour(Protocol):
    """What sets kinds of jobs apart whose operators work alike: see `operate`."""

    kind: str

    def is_suspended(self, job: Seen) -> bool:
        """Whether the job is to have no pods."""
        ...

    def is_over(self, job: Seen) -> bool:
        """Whether it has ended, well or not."""
        ...

    def lacking(self, job: Seen, pods: Sequence[Seen]) -> Sequence[Create]:
        """The pods to be made beside those that there are."""
        ...

    def status(self, job: Seen, pods: Sequence[Seen], now: datetime) -> Mapping[str, Any]:
        """What its status says now: counts, and conditions for suspension, end and failure."""
        ...


class OperatorController:
    """Looks at a job when it or one of its children changes."""

    pace = Pace(first=1.0, longest=60.0)

    def __init__(self, operator: Operator) -> None:
        self.name = operator.name
        self.kinds = (operator.kind, *operator.children)
        self._operator = operator

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """A job's spec at once, its status and its children after a while."""
        if happened.kind == self._operator.kind:
            batch = self._operator.batch if _is_status(happened) else 0.0
            return [Due(Key(*place_of(happened.newest)), batch)]
        if happened.kind in self._operator.children:
            return self._of_child(happened, view)
        return ()

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a job."""
        job = view.get(self._operator.kind, key.namespace, key.name)
        if job is None:
            return None
        kinds = self._operator.children
        children = [each for each in view.owned(uid_of(job)) if each.kind in kinds]
        return (yield from self._operator.sync(job, children, now))

    def _of_child(self, happened: Happened, view: View) -> Iterator[Due]:
        before, after = happened.before, happened.after
        children = [happened.newest]
        if before is not None and after is not None and owners_of(before) != owners_of(after):
            children.append(before)
        for child in children:
            job = owning_job(child, self._operator.kind, view)
            if job is not None:
                yield Due(Key(*place_of(job)), self._operator.batch)


def owning_job(child: Object, kind: str, view: View) -> Seen | None:
    """The job of that kind that manages the child."""
    owner = controller_of(child)
    known = view.known(owner["uid"]) if owner else None
    return known.obj if known is not None and known.kind == kind else None


def operate(behaviour: Behaviour, job: Seen, pods: Sequence[Seen], now: datetime) -> Plan:
    """What most operators do: pods made, or ended with the job or its suspension; then status."""
    active = [pod for pod in pods if is_active(pod)]
    if behaviour.is_suspended(job) or behaviour.is_over(job):
        outcomes = yield [_deletion(each) for each in active]
    else:
        outcomes = yield list(behaviour.lacking(job, pods))
    status = dict(behaviour.status(job, pods, now))
    if status != (job.get("status") or {}):
        replaced: list[Write] = [
            Replace(kind=behaviour.kind, body={**job, "status": status}, subresource="status")
        ]
        taken((yield replaced))
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    return None


def _deletion(pod: Seen) -> Delete:
    namespace, name = place_of(pod)
    return Delete(kind="pods", namespace=namespace, name=name, uid=uid_of(pod))


def _is_status(happened: Happened) -> bool:
    """Whether no more than status or metadata changed."""
    before, after = happened.before, happened.after
    return (
        before is not None
        and after is not None
        and before["metadata"].get("generation") == after["metadata"].get("generation")
    )
