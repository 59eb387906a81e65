"""The garbage collector: what has lost its owners goes, and owners wait for, or let go, theirs."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import finalizers_of, is_deleted, owners_of, place_of, uid_of
from kq.sim.control.view import Happened, Known, View
from kq.sim.control.writes import (
    Delete,
    Patch,
    Plan,
    Propagation,
    Write,
    is_missing,
    taken,
)

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Tie(Enum):
    """What an owner is to its dependent."""

    SOLID = auto()
    DANGLING = auto()
    """It is not there."""
    WAITING = auto()
    """It goes once its dependents are gone."""


class Collector:
    """Deletes dependents of what is gone; ends deletions that wait for dependents."""

    name = "generic-garbage-collector"
    pace = Pace()
    kinds: tuple[str, ...] = ()

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Dependents of what goes or waits for them, and owners that wait for what goes."""
        uids = list(_concerned(happened, view))
        return [Due(Key("", "", uid)) for uid in dict.fromkeys(uids)]

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """The next step towards the end of one object, if it is to end."""
        item = view.known(key.about)
        if item is None:
            return None
        if is_deleted(item.obj):
            for writes in _steps(item, view):
                taken((yield writes))
            return None
        if owners_of(item.obj):
            outcomes = yield _writes(item, view)
            if not all(map(is_missing, outcomes)):
                taken(outcomes)
        return None


def _concerned(happened: Happened, view: View) -> Iterator[str]:
    before, after = happened.before, happened.after
    uid = uid_of(happened.newest)
    if after is None:
        yield from (uid_of(each.obj) for each in view.owned(uid))
        yield from _waiting_owners(happened.newest, view)
        return
    if (before is None or not is_deleted(before)) and is_deleted(after):
        yield uid
        if FOREGROUND in finalizers_of(after):
            yield from (uid_of(each.obj) for each in view.owned(uid))
    if before is None or owners_of(before) != owners_of(after):
        if any(tie_of(each, after, view) is not Tie.SOLID for each in owners_of(after)):
            yield uid
        if before is not None:
            yield from _waiting_owners(before, view)


def _waiting_owners(obj: Object, view: View) -> Iterator[str]:
    return (owner["uid"] for owner in owners_of(obj) if tie_of(owner, obj, view) is Tie.WAITING)


def tie_of(owner: Object, dependent: Object, view: View) -> Tie:
    """What that owner reference stands for."""
    known = view.known(owner["uid"])
    if known is None:
        # Of a kind that is not served nobody can say whether it is there: it is left alone.
        is_served = view.is_served(owner["apiVersion"], owner["kind"])
        return Tie.DANGLING if is_served else Tie.SOLID
    namespace = place_of(known.obj)[0]
    if namespace and namespace != place_of(dependent)[0]:
        return Tie.DANGLING
    waits = is_deleted(known.obj) and FOREGROUND in finalizers_of(known.obj)
    return Tie.WAITING if waits and owner.get("blockOwnerDeletion") else Tie.SOLID


def _steps(item: Known, view: View) -> Iterator[Sequence[Write]]:
    """What ends the waiting of an object that is being deleted."""
    dependents = view.owned(uid_of(item.obj))
    if ORPHAN in finalizers_of(item.obj):
        yield [_without_owners(each, {uid_of(item.obj)}) for each in dependents]
        yield [_without_finalizer(item, ORPHAN)]
        return
    is_blocked = any(_blocks(each.obj, uid_of(item.obj)) for each in dependents)
    if FOREGROUND in finalizers_of(item.obj) and not is_blocked:
        yield [_without_finalizer(item, FOREGROUND)]


def _writes(item: Known, view: View) -> list[Write]:
    """What becomes of an object that has owners."""
    ties = {each["uid"]: tie_of(each, item.obj, view) for each in owners_of(item.obj)}
    loose = {uid for uid, tie in ties.items() if tie is not Tie.SOLID}
    if len(loose) < len(ties):
        return [_without_owners(item, loose)] if loose else []
    waits = Tie.WAITING in ties.values()
    if waits and view.owned(uid_of(item.obj)):
        return [_delete(item, Propagation.FOREGROUND)]
    return [_delete(item, _policy(item.obj))]


def _policy(obj: Object) -> Propagation:
    if ORPHAN in finalizers_of(obj):
        return Propagation.ORPHAN
    return Propagation.FOREGROUND if FOREGROUND in finalizers_of(obj) else Propagation.BACKGROUND


def _blocks(dependent: Object, uid: str) -> bool:
    return any(
        each["uid"] == uid and each.get("blockOwnerDeletion") for each in owners_of(dependent)
    )


def _delete(item: Known, propagation: Propagation) -> Delete:
    namespace, name = place_of(item.obj)
    return Delete(
        kind=item.kind,
        namespace=namespace,
        name=name,
        uid=uid_of(item.obj),
        version=item.obj["metadata"]["resourceVersion"],
        propagation=propagation,
    )


def _without_owners(item: Known, uids: set[str]) -> Patch:
    kept = [each for each in owners_of(item.obj) if each["uid"] not in uids]
    return _patch(item, {"ownerReferences": kept or None})


def _without_finalizer(item: Known, finalizer: str) -> Patch:
    kept = [each for each in finalizers_of(item.obj) if each != finalizer]
    return _patch(item, {"finalizers": kept or None})


def _patch(item: Known, metadata: dict[str, Any]) -> Patch:
    """A patch that only holds for the version that it was decided on."""
    namespace, name = place_of(item.obj)
    version = item.obj["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": version, "uid": uid_of(item.obj), **metadata}}
    return Patch(kind=item.kind, namespace=namespace, name=name, body=body)
