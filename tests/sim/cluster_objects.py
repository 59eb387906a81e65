"""Objects as the API server stores them, and plans driven by hand."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kq.core.codec import format_time
from kq.sim.api.status import ApiStatus
from kq.sim.control.objects import JOBS, NODES, PODS
from kq.sim.control.view import Happened, View
from kq.sim.control.writes import Create, Delete, Outcome, Patch, Plan, Record, Replace, Write

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TRACKING = "batch.kubernetes.io/job-tracking"

Object = dict[str, Any]
Answer = Callable[[Write], Outcome]


def ago(seconds: float) -> str:
    """The stamp of a moment before now."""
    return format_time(NOW - timedelta(seconds=seconds))


def job(
    name: str = "a", *, status: Mapping[str, Any] | None = None, meta: Any = (), **spec: Any
) -> Object:
    """A Job with the server's defaults."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": f"job-{name}",
            "resourceVersion": "7",
            "generation": 1,
            **dict(meta),
        },
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "suspend": False,
            "template": {
                "metadata": {"labels": {"job-name": name}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]},
            },
            **spec,
        },
        "status": dict(status or {}),
    }


def pod(
    name: str = "p",
    *,
    owner: Object | None = None,
    phase: str = "Running",
    node: str = "node-0",
    deleted: bool = False,
    tracked: bool = True,
    index: int | None = None,
    meta: Any = (),
    status: Any = (),
    spec: Any = (),
) -> Object:
    """A pod; with an owner, as its controller makes it."""
    found: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": f"pod-{name}",
            "resourceVersion": "3",
            "creationTimestamp": ago(60),
            "annotations": {},
            **dict(meta),
        },
        "spec": {"containers": [{"name": "main", "image": "i"}], **dict(spec)},
        "status": {"phase": phase, **dict(status)},
    }
    if node:
        found["spec"]["nodeName"] = node
    if phase == "Running":
        found["status"].setdefault("conditions", [{"type": "Ready", "status": "True"}])
    if owner is not None:
        found["metadata"]["ownerReferences"] = [owned_by(owner)]
        if tracked:
            found["metadata"]["finalizers"] = [TRACKING]
    if index is not None:
        key = "batch.kubernetes.io/job-completion-index"
        found["metadata"]["annotations"][key] = str(index)
    if deleted:
        found["metadata"]["deletionTimestamp"] = ago(-30)
        found["metadata"]["deletionGracePeriodSeconds"] = 30
    return found


def node(name: str = "node-0", *, spec: Any = (), labels: Any = (), **resources: str) -> Object:
    """A node with that to give."""
    has = {"cpu": "4", "memory": "8Gi", "pods": "10", **resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": dict(labels)},
        "spec": dict(spec),
        "status": {"allocatable": has},
    }


def owned_by(owner: Object, **more: Any) -> Object:
    """A reference to the owner that manages."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
        **more,
    }


def kind_of(obj: Object) -> str:
    """The name of an object's kind in the view."""
    known = {"Job": JOBS, "Pod": PODS, "Node": NODES, "CronJob": "cronjobs.batch"}
    kind = obj["kind"]
    return known.get(kind, f"{kind.lower()}s")


def came(obj: Object) -> Happened:
    """An object that was made."""
    return Happened(kind=kind_of(obj), before=None, after=obj)


def changed(before: Object, after: Object) -> Happened:
    """An object that was changed."""
    return Happened(kind=kind_of(after), before=before, after=after)


def went(obj: Object) -> Happened:
    """An object that is gone."""
    return Happened(kind=kind_of(obj), before=obj, after=None)


def view_of(*objects: Object) -> View:
    """A view of these objects."""
    view = View()
    for each in objects:
        view.apply(came(each))
    return view


def accepted(write: Write) -> Outcome:
    """An answer of a server that takes everything."""
    match write:
        case Create():
            meta = write.body["metadata"]
            name = meta.get("name") or f"{meta['generateName']}x"
            return {
                **write.body,
                "metadata": {**meta, "name": name, "uid": name, "resourceVersion": "1"},
            }
        case Replace():
            return dict(write.body)
        case _:
            return {}


def refused(reason: str, code: int = 409, message: str = "no") -> ApiStatus:
    """An answer of a server that does not."""
    return ApiStatus(code, reason, message)


def driven(plan: Plan, answer: Answer = accepted) -> tuple[list[Write], timedelta | None]:
    """All that a plan writes, and when it wants to come again."""
    written: list[Write] = []
    outcomes: Sequence[Outcome] | None = None
    try:
        while True:
            step = next(plan) if outcomes is None else plan.send(outcomes)
            written += step
            outcomes = [answer(each) for each in step]
    except StopIteration as end:
        return written, end.value


def written(plan: Plan, answer: Answer = accepted) -> list[Write]:
    """All that a plan writes but for what it tells people."""
    return [each for each in driven(plan, answer)[0] if not isinstance(each, Record)]


def told(plan: Plan, answer: Answer = accepted) -> list[str]:
    """The reasons of what a plan tells people."""
    return [each.reason for each in driven(plan, answer)[0] if isinstance(each, Record)]


def words(writes: Sequence[Write]) -> list[str]:
    """What writes do, in a word each."""
    found = []
    for write in writes:
        match write:
            case Create():
                found.append(f"create {write.subresource or write.kind}")
            case Replace():
                found.append(f"replace {write.subresource} of {write.body['metadata']['name']}")
            case Patch():
                found.append(f"patch {write.subresource or 'meta'} of {write.name}")
            case Delete():
                found.append(f"delete {write.name}")
            case _:
                found.append(type(write).__name__)
    return found
