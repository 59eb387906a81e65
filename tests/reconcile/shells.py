"""The ground on which one reconciler is tested: a real book and hub, an API server in memory.

What reconcilers tell is noted instead of written, informers show what a test says, and time stands
still unless it is moved.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic

import builders
import msgspec
from api import Api, Json
from builders import INSTALL_NAMESPACE, NOW
from prometheus_client import CollectorRegistry

from kq.core import codec, keys, views, wire
from kq.core.kinds import JOB, QUEUE, QUEUE_UNIT, ResourceKind
from kq.core.model import JobView, Queue, QueueUnit
from kq.jobs.batch import BatchJob
from kq.jobs.options import JobOptions
from kq.kube.recorder import ObjectRef
from kq.kube.replica import Change
from kq.kube.store import Indexer, Store, V
from kq.metrics import Metrics
from kq.reconcile.controller import Request
from kq.reconcile.events import Teller
from kq.reconcile.execute import Executor
from kq.reconcile.hub import Hub, WorkQueues
from kq.reconcile.jobwriter import JobWriter
from kq.reconcile.watches import BY_NAMESPACE, Watches
from kq.workqueue.queue import WorkQueue

QUEUES = ("job", "intake", "queue", "grants", "units", "quotas", "status", "pods")


class Clock:
    """The time of day and the monotonic one, moved together."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return 1000.0 + self.seconds

    def move(self, seconds: float) -> None:
        self.seconds += seconds


class Notes:
    """Stands for the recorder: what was told, as `Warning Reason Kind/name: message`."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def event(self, regarding: ObjectRef, type_: str, reason: str, message: str) -> None:
        self.told.append(f"{type_} {reason} {regarding.kind}/{regarding.name}: {message}")

    def take(self) -> list[str]:
        taken, self.told = self.told, []
        return taken


class Shown(Generic[V]):
    """An informer that shows what a test tells it."""

    healthy = True

    def __init__(self, **indexes: Indexer[V]) -> None:
        self.lister: Store[V] = Store(indexes)
        self._handlers: list[Callable[[Change[V]], None]] = []
        self._progress: Callable[[], None] | None = None
        self.reached = 0

    def on_progress(self, handler: Callable[[], None]) -> None:
        self._progress = handler

    def reach(self, version: int) -> None:
        """A bookmark."""
        self.reached = version
        assert self._progress is not None
        self._progress()

    def add_handler(self, handler: Callable[[Change[V]], None]) -> None:
        self._handlers.append(handler)

    def show(self, view: V, *, initial: bool = False) -> V:
        old = self.lister.put(_key(view), view)
        self._tell(Change(old, view, initial))
        return view

    def drop(self, view: V) -> None:
        self._tell(Change(self.lister.delete(_key(view)), None))

    def _tell(self, change: Change[V]) -> None:
        for handler in self._handlers:
            handler(change)


def watches() -> Watches:
    """Informers that show nothing yet."""
    plain = ("units", "queues", "namespaces", "pods", "priority_classes", "runtime_classes")
    made: dict[str, Any] = {name: Shown() for name in plain}
    return Watches(
        **made,
        quotas=Shown(  # type: ignore[arg-type]
            name=lambda quota: (quota.name,), parent=lambda quota: (quota.parent,)
        ),
        jobs={"Job": Shown()},  # type: ignore[dict-item]
        limit_ranges=Shown(**{BY_NAMESPACE: lambda view: (view.namespace,)}),  # type: ignore[arg-type]
    )


class Ground:
    """All that a reconciler is given."""

    def __init__(self, *quotas: Any, views: Any = (), **options: Any) -> None:
        self.clock = Clock()
        self.api = Api(clock=self.clock)
        self.notes = Notes()
        self.teller = Teller(self.notes)  # type: ignore[arg-type]
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, version="test").scheduling
        self.queues = WorkQueues(**{name: WorkQueue() for name in QUEUES})
        self.book = builders.book(*quotas, views=views, **options)
        self.hub = Hub(book=self.book, queues=self.queues, kinds={"Job": JOB})
        self.watches = watches()
        self.executor = Executor(
            client=self.api,  # type: ignore[arg-type]
            hub=self.hub,
            teller=self.teller,
            jobs=JobWriter(
                client=self.api,  # type: ignore[arg-type]
                integrations={"Job": BatchJob(JobOptions())},
                clock=self.clock,
            ),
        )

    def unit(self, name: str = "train", **fields: Any) -> QueueUnit:
        """A unit that is on the API server and has been shown."""
        view = self.stored(builders.unit(name, **fields))
        self.book.saw(view)
        return view

    def stored(self, view: QueueUnit) -> QueueUnit:
        """The unit as the API server has it."""
        self.api.put(QUEUE_UNIT, unit_body(view))
        return self.unit_now(view.key)

    def unit_now(self, key: str = "team-a/train") -> QueueUnit:
        return views.unit(self.api.raw(QUEUE_UNIT, key))

    def show_unit(self, key: str = "team-a/train") -> QueueUnit:
        """The watch shows the unit as it is now."""
        view = self.unit_now(key)
        self.book.saw(view)
        return view

    def job(self, name: str = "train", *, shown: bool = True, **spec: Any) -> JobView:
        """A Job that is on the API server, held, and has been shown."""
        status, meta = spec.pop("status", {}), spec.pop("metadata", {})
        body = builders.job(name, **{"suspend": True} | spec)
        body = {**body, "metadata": body["metadata"] | meta, "status": status}
        if quota := meta.get("labels", {}).get(keys.QUOTA_LABEL):
            pods = body["spec"]["template"].setdefault("metadata", {})
            pods.setdefault("labels", {}).setdefault(keys.QUOTA_LABEL, quota)  # as the webhook does
        self.api.put(JOB, body)
        return self.show_job(f"team-a/{name}") if shown else self.job_now(f"team-a/{name}")

    def job_now(self, key: str = "team-a/train") -> JobView:
        return BatchJob(JobOptions()).view(views.decode_object(self.api.raw(JOB, key)))

    def show_job(self, key: str = "team-a/train") -> JobView:
        view = self.job_now(key)
        self.watches.jobs["Job"].show(view)  # type: ignore[attr-defined]
        self.book.saw(view)
        return view

    def queue(self, name: str = "team-a", **body: Any) -> Queue:
        """A Queue that is on the API server and has been shown."""
        meta = {"namespace": INSTALL_NAMESPACE, "name": name} | body.pop("metadata", {})
        self.api.put(QUEUE, {"metadata": meta, "spec": {"queuePolicy": "Priority"}} | body)
        return self.show_queue(name)

    def show_queue(self, name: str = "team-a") -> Queue:
        view = views.queue(self.api.raw(QUEUE, f"{INSTALL_NAMESPACE}/{name}"))
        self.watches.queues.show(view)  # type: ignore[attr-defined]
        self.book.saw(view)
        return view

    def grant(self, queue: str = "team-a") -> list[QueueUnit]:
        """One cycle."""
        return self.book.cycle(queue, self.clock())

    async def due(self) -> dict[str, list[str]]:
        """What lies on the work queues, which are then empty."""
        taken = {}
        for name in QUEUES:
            requests = await drained(getattr(self.queues, name))
            if requests:
                taken[name] = sorted(map(str, requests))
            if name == "status":
                for request in requests:
                    self.hub.status_taken(request.name)
        return taken

    def status(self, key: str = "team-a/train", kind: ResourceKind = QUEUE_UNIT) -> Json:
        found: Json = self.api.find(kind, key).get("status", {})
        return found


async def drained(queue: WorkQueue[Request]) -> list[Request]:
    taken = []
    while len(queue):
        request = await queue.get()
        queue.done(request)
        taken.append(request)
    return taken


def unit_body(view: QueueUnit) -> Json:
    """The object of that view."""
    spec: Json = {
        "queue": view.queue,
        "podSet": wire.pod_sets_to_wire(view.pod_sets),
        "resource": (view.resource or codec.ZERO).to_wire(),
        "active": view.active,
    }
    if view.consumer is not None:
        names = ("apiVersion", "kind", "name", "namespace", "uid")
        spec["consumerRef"] = dict(zip(names, msgspec.structs.astuple(view.consumer), strict=True))
    if view.priority is not None:
        spec["priority"] = view.priority
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": view.name, "uid": view.owner_uid}
    meta = {
        "namespace": view.namespace,
        "name": view.name,
        "uid": view.uid,
        "creationTimestamp": codec.format_time(view.created),
        "labels": dict(view.labels),
        "annotations": dict(view.annotations),
    }
    if view.owner_uid:
        meta["ownerReferences"] = [owner]
    return {"metadata": meta, "spec": spec, "status": _unit_status(view)}


def _unit_status(view: QueueUnit) -> Mapping[str, Any]:
    status: Json = {
        "phase": view.raw_phase,
        "message": view.message,
        "attempts": view.attempts,
        "admissions": wire.grants_to_wire(view.grants),
        "conditions": codec.conditions_to_wire(view.conditions),
        "podState": {"running": view.pods_running, "pending": view.pods_pending},
    }
    if view.requeue is not None and view.requeue.at is not None:
        at = codec.format_time(view.requeue.at)
        status["requeueState"] = {"count": view.requeue.count, "requeueAt": at}
    for name, time in (("lastAllocateTime", view.allocated), ("lastUpdateTime", view.updated)):
        if time is not None:
            status[name] = codec.format_time(time)
    return status


def _key(view: Any) -> str:
    return f"{view.namespace}/{view.name}" if view.namespace else view.name
