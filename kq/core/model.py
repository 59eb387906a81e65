"""The values that decisions are made on: units, queues, quotas, jobs and pods, as kq sees them.

Each is a frozen view of one object: what decisions read, nothing else. Views are compared by value
and never changed; `replace()` (msgspec.structs) makes another one.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from kq.core.checks import Answer
from kq.core.kinds import ResourceKind
from kq.core.resources import Resources


class Phase(StrEnum):
    """Phases of a unit on the wire (spec 9.1)."""

    ENQUEUED = "Enqueued"
    RESERVED = "Reserved"
    DEQUEUED = "Dequeued"
    RUNNING = "Running"
    SUCCEED = "Succeed"
    FAILED = "Failed"
    BACKOFF = "TimeoutBackoff"


HOLDING = frozenset({Phase.RESERVED, Phase.DEQUEUED, Phase.RUNNING})
"""Phases that hold quota."""

FINISHED = frozenset({Phase.SUCCEED, Phase.FAILED})


class JobState(StrEnum):
    """What a released job is doing (spec 8.6)."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Chore(StrEnum):
    """What is to be done for a Workflow beside holding and letting go."""

    END = "end"
    """Shut down before a pod could start: it ends once its hold is off (spec 8.15a)."""
    FREE_NODES = "free nodes"
    """It waits at a suspend node of ours (spec 8.15)."""
    TELL_LOCK = "tell lock"
    """Held, it holds a lock of a WorkflowTemplate (spec 8.14b)."""
    TELL_OUT_OF_REACH = "tell out of reach"
    """Its nodes are stored where they cannot be had (M26)."""


class Owner(msgspec.Struct, frozen=True, gc=False):
    """One owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class Template(msgspec.Struct, frozen=True, gc=False):
    """A pod template, slim (spec 2.12): its canonical JSON, and what is read of it.

    `request` is that of one pod (spec 12.1-12.3), `defect` says in the words of M16 why it cannot
    be computed. Equal templates are one object, so that a thousand equal jobs cost one.
    """

    wire: bytes
    request: Resources
    defect: str | None = None
    runtime_class: str = ""
    priority_class: str = ""
    priority: int | None = None
    preemption_policy: str = ""


class PodSet(msgspec.Struct, frozen=True, gc=False):
    """The pods of one role. `wanted` is the count by the job's spec alone, before what has ended.

    `path` leads to the map inside the job that has labels and annotations of its pods (empty in a
    unit, and where there is none).
    """

    name: str
    count: int
    template: Template
    min_count: int | None = None
    wanted: int = 0
    path: tuple[str | int, ...] = ()


class Grant(msgspec.Struct, frozen=True, gc=False):
    """Replicas of a pod set that may run; `resources` is the total of all its replicas.

    `reclaim`: so many of them are asked back (spec 13.5, 13.13).
    """

    name: str
    replicas: int
    running: int = 0
    resources: Resources | None = None
    reclaim: int = 0


class Condition(msgspec.Struct, frozen=True, gc=False):
    """A metav1 condition; `since` is its lastTransitionTime as on the wire."""

    type: str
    status: bool
    reason: str
    message: str
    since: str = ""


class Requeue(msgspec.Struct, frozen=True, gc=False):
    """How often in a row an attempt failed, and when the next one may follow (spec 9.6)."""

    count: int = 0
    at: datetime | None = None


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """The job that a unit stands for."""

    api_version: str
    kind: str
    name: str
    namespace: str
    uid: str = ""


class QueueUnit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One job's place in a queue. `phase` is None for one that kq does not know (spec 9.3)."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: datetime
    deleting: bool = False
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_uid: str = ""
    consumer: Consumer | None = None
    priority: int | None = None
    priority_class: str = ""
    queue: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    resource: Resources | None = None
    active: bool = True
    longest_seconds: int | None = None
    """spec.maximumExecutionTimeSeconds: for so long it may hold grants, all runs together."""
    phase: Phase | None = Phase.ENQUEUED
    raw_phase: str = ""
    message: str = ""
    attempts: int = 0
    allocated: datetime | None = None
    updated: datetime | None = None
    grants: tuple[Grant, ...] = ()
    pods_running: int = 0
    pods_pending: int = 0
    past_seconds: int = 0
    """For so long earlier runs were admitted."""
    requeue: Requeue | None = None
    conditions: tuple[Condition, ...] = ()
    checks: tuple[Answer, ...] = ()
    defect: str | None = None
    key: str = ""
    """`namespace/name`; made once, as many indexes hold it."""

    def __post_init__(self) -> None:
        if not self.key:
            msgspec.structs.force_setattr(self, "key", f"{self.namespace}/{self.name}")

    @property
    def holds_quota(self) -> bool:
        """Whether its grants count: Reserved, Dequeued, Running, or unknown with grants."""
        return self.phase in HOLDING or (self.phase is None and bool(self.grants))

    @property
    def finished(self) -> bool:
        """Whether its job has ended."""
        return self.phase in FINISHED

    @property
    def job_uid(self) -> str:
        """The UID of its job: of the owner reference, else of consumerRef."""
        return self.owner_uid or (self.consumer.uid if self.consumer else "")

    def condition(self, type_: str) -> Condition | None:
        """The condition of that type."""
        return next((each for each in self.conditions if each.type == type_), None)


UNTOLD = -1
"""A count that the status of a Queue does not say yet."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A named line of units with one policy; `stopped` follows spec.stopPolicy."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: datetime
    deleting: bool = False
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    policy: str = ""
    priority: int = 0
    stop_policy: str = "None"
    conditions: tuple[Condition, ...] = ()
    counts: tuple[int, int, int] = (UNTOLD, UNTOLD, UNTOLD)
    items: tuple[tuple[str, str, int, int], ...] = ()
    usage: Mapping[str, str] = {}
    generation: int = 0
    """The version of its spec; `observed` is the one that its status is about."""
    observed: int = 0

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """A named limit that units draw on (an ElasticQuota).

    A resource whose max cannot be read counts as limited to 0 (spec 22.1), told in `defects`.
    `namespaces` are those that its annotation maps to it (spec 5.3).
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: datetime
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    parent: str = ""
    is_parent: bool = False
    limit: Resources
    minimum: Resources
    namespaces: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()


class NamespaceView(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace: its labels, and whether it is on its way out."""

    name: str
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = {}
    terminating: bool = False
    namespace: str = ""


class PodView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod: whose it is, what it asks, whether it is live."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    owner: Owner | None = None
    holder: str = ""
    """What stands for its job where no owner leads to it (`kq.decide.kin`)."""
    quota: str = ""
    pod_set: str = ""
    phase: str = "Pending"
    deleted_at: datetime | None = None
    request: Resources

    @property
    def live(self) -> bool:
        """Not ended and not gone; a terminating pod is live (spec 1.7)."""
        return self.phase not in ("Succeeded", "Failed")


class JobView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job of any kind, seen through one lens.

    `suspended` is whether its hold is on, `half_held` whether only an annotation says so where
    operators go by a field (8.12), `managed_by_other` spec 5.7, `has_run` whether it ever
    started, `started` when. `released_at` is the time in koord-queue/job-dequeue-timestamp.

    What its kind can do is said here too. `evictable`: suspension stops it while it runs (8.1).
    `counts_pods`: `pods_active` and `pods_terminating` are what its controller counts.
    `whole`: its patches are made from the whole job. `queuing`: whether its conditions say that it
    waits; None for a kind that does not show it (8.8). `pods_of`: the kind of the child that has
    its pod sets (TrainJob), `ends_with` the name of the RayCluster whose end is its own (8.6).
    """

    kind: ResourceKind
    namespace: str
    name: str
    uid: str
    resource_version: str
    created: datetime
    deleting: bool = False
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owners: tuple[Owner, ...] = ()
    suspended: bool = False
    half_held: bool = False
    managed_by_other: bool = False
    state: JobState = JobState.PENDING
    counts_pods: bool = False
    pods_active: int = 0
    pods_terminating: int = 0
    has_run: bool = False
    started: datetime | None = None
    released_at: datetime | None = None
    pod_sets: tuple[PodSet, ...] = ()
    defect: str | None = None
    priorities: tuple[tuple[str, int | None], ...] = ()
    """Class and number of what is asked for its priority, in order (12.9); none: its pod sets."""
    evictable: bool = True
    whole: bool = False
    queuing: bool | None = None
    pods_of: str = ""
    ends_with: str = ""
    unknown_state: str = ""
    """What its operator says of it, if that is no word that kq knows (spec 8.6)."""
    takes_updates: bool = True
    """Its pod templates take what admission checks want added, while it is held (spec 8.9)."""
    note: str = ""
    """What its state says beside, for the unit's message (a RayJob's ValidationFailed)."""
    chores: tuple[Chore, ...] = ()
    estimated: bool = False
    """No min-resources were given where the kind needs them (spec 8.16)."""
    unsuspendable: bool = False
    """It cannot be held, and why is R8 (spec 8.13)."""
    remarks: tuple[str, ...] = ()
    """What its submitter is to be told (W4-W6)."""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state in (JobState.SUCCEEDED, JobState.FAILED)

    @property
    def controller(self) -> Owner | None:
        """The owner that made it, if one did."""
        return next((each for each in self.owners if each.controller), None)
