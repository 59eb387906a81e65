"""The end of namespaces: all that is in them goes, then they do. And their default accounts."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.api.status import ApiStatus
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    EVENTS,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    finalizers_of,
    is_deleted,
    is_ended,
    place_of,
    status_of,
)
from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Create, DeleteAll, Plan, Replace, Write, taken

FINALIZER = "kubernetes"
GRACE = timedelta(seconds=5)
"""How long other servers may take to see that a namespace is being deleted."""
FINALIZER_ESTIMATE = 15
"""Seconds that what has a finalizer is thought to take."""

_FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


class NamespaceController:
    """Empties namespaces that are being deleted: pods first, then everything, then itself."""

    name = "namespace-controller"
    pace = Pace(first=5.0, longest=60.0)
    kinds: tuple[str, ...] = (NAMESPACES,)

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Namespaces that are being deleted."""
        after = happened.after
        if after is not None and is_deleted(after):
            yield Due(Key("", place_of(after)[1]), GRACE.total_seconds())

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One round; as long as something stays the next comes later."""
        namespace = view.get(NAMESPACES, "", key.name)
        if namespace is None or not is_deleted(namespace) or not _is_held(namespace):
            return None
        grace = _longest_grace(namespace, view, now)
        taken((yield [DeleteAll(kind=PODS, namespace=key.name)]))
        if not list(view.within(PODS, key.name)):
            kinds = sorted({*view.kinds_within(key.name)} - {PODS, EVENTS})
            taken((yield [DeleteAll(kind=kind, namespace=key.name) for kind in [*kinds, EVENTS]]))
        left = _remaining(key.name, view)
        if left:
            yield _told(namespace, {} if PODS in left else left, now)
            seconds = max(grace, *(_estimate(each) for each in left.values()))
            return timedelta(seconds=seconds // 2 + 1)
        taken((yield _told(namespace, {}, now)))
        namespace = view.get(NAMESPACES, "", key.name) or namespace
        taken((yield [_finalized(namespace)]))
        return None


class AccountController:
    """Gives every namespace its default account."""

    name = "service-account-controller"
    pace = Pace()
    kinds: tuple[str, ...] = (NAMESPACES, SERVICE_ACCOUNTS)
    _account = "default"

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """Namespaces that come, and default accounts that go."""
        obj = happened.newest
        if happened.kind == NAMESPACES and happened.after is not None:
            yield Due(Key("", place_of(obj)[1]))
        elif happened.kind == SERVICE_ACCOUNTS and happened.after is None:
            yield Due(Key("", place_of(obj)[0]))

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """The account made, if it lacks."""
        namespace = view.get(NAMESPACES, "", key.name)
        if namespace is None or is_deleted(namespace):
            return None
        if view.get(SERVICE_ACCOUNTS, key.name, self._account) is not None:
            return None
        body = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": self._account, "namespace": key.name},
        }
        outcomes = yield [Create(kind=SERVICE_ACCOUNTS, namespace=key.name, body=body)]
        if isinstance(outcomes[0], ApiStatus) and outcomes[0].reason != "AlreadyExists":
            raise outcomes[0]
        return None


def _is_held(namespace: Object) -> bool:
    return FINALIZER in (namespace["spec"].get("finalizers") or ())


def _longest_grace(namespace: Object, view: View, now: datetime) -> int:
    """The seconds that the pods in it may yet take."""
    name = place_of(namespace)[1]
    live = [each for each in view.within(PODS, name) if not is_ended(each)]
    longest = max(
        (each["spec"].get("terminationGracePeriodSeconds") or 0 for each in live), default=0
    )
    return int(longest)


def _remaining(namespace: str, view: View) -> dict[str, list[Object]]:
    kinds = sorted(set(view.kinds_within(namespace)) - {EVENTS})
    return {kind: list(view.within(kind, namespace)) for kind in kinds}


def _estimate(objects: Iterable[Object]) -> int:
    return FINALIZER_ESTIMATE if any(map(finalizers_of, objects)) else 0


def _told(namespace: Object, left: Mapping[str, list[Object]], now: datetime) -> list[Write]:
    """The status that says what stays, if it does not say so."""
    conditions = {each["type"]: each for each in status_of(namespace).get("conditions") or ()}
    troubles = _troubles(left)
    changed = False
    for type_, (reason, message) in _FINE.items():
        is_trouble = type_ in troubles
        reason, message = troubles.get(type_, (reason, message))
        wanted = {
            "type": type_,
            "status": "True" if is_trouble else "False",
            "reason": reason,
            "message": message,
        }
        said = conditions.get(type_, {})
        if any(said.get(field) != wanted[field] for field in wanted):
            changed = True
            conditions[type_] = {**wanted, "lastTransitionTime": format_time(now)}
    if not changed:
        return []
    body = {**namespace, "status": {**status_of(namespace), "conditions": [*conditions.values()]}}
    return [Replace(kind=NAMESPACES, body=body, subresource="status")]


def _troubles(left: Mapping[str, list[Object]]) -> dict[str, tuple[str, str]]:
    if not left:
        return {}
    counts = [f"{_spelled(kind)} has {len(each)} resource instances" for kind, each in left.items()]
    text = f"Some resources are remaining: {', '.join(sorted(counts))}"
    found = {"NamespaceContentRemaining": ("SomeResourcesRemain", text)}
    finalizers: dict[str, int] = {}
    for objects in left.values():
        for name in (each for obj in objects for each in finalizers_of(obj)):
            finalizers[name] = finalizers.get(name, 0) + 1
    if finalizers:
        told = sorted(f"{name} in {n} resource instances" for name, n in finalizers.items())
        text = f"Some content in the namespace has finalizers remaining: {', '.join(told)}"
        found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    return found


def _spelled(kind: str) -> str:
    return kind if "." in kind else f"{kind}."


def _finalized(namespace: Object) -> Replace:
    kept = [each for each in namespace["spec"].get("finalizers") or () if each != FINALIZER]
    body = {**namespace, "spec": {**namespace["spec"], "finalizers": kept}}
    return Replace(kind=NAMESPACES, body=body, subresource="finalize")
