"""What may be asked for, as values; `kq.reconcile.execute` carries them out."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kq.core.model import JobView, QueueUnit


class CreateUnit(msgspec.Struct, frozen=True):
    """Make the unit of a job."""

    job: JobView
    body: Mapping[str, Any]


class DeleteUnit(msgspec.Struct, frozen=True):
    """Remove that unit, by UID."""

    unit: QueueUnit


class PatchUnit(msgspec.Struct, frozen=True):
    """Merge into a unit's spec and metadata."""

    unit: QueueUnit
    patch: Mapping[str, Any]


class PatchStatus(msgspec.Struct, frozen=True):
    """Merge into a unit's status."""

    unit: QueueUnit
    patch: Mapping[str, Any]


class HoldJob(msgspec.Struct, frozen=True):
    """Suspend a job; `cause` is for its owner to read."""

    job: JobView
    cause: str
    annotations: Mapping[str, str | None]
    labels: Mapping[str, str]


class ReleaseJob(msgspec.Struct, frozen=True):
    """Let a job run; `released_at` is what koord-queue/job-dequeue-timestamp will say.

    `pod_label`: what the quota label of its pods is to say, where it does not yet (spec 6.6).
    """

    job: JobView
    unit: QueueUnit
    released_at: str
    pod_label: str = ""


class AddToPods(msgspec.Struct, frozen=True):
    """Put what a unit's checks want into the pod templates of a job, before it is let go (8.9)."""

    job: JobView
    unit: QueueUnit


class TakeFromPods(msgspec.Struct, frozen=True):
    """Take that out of them again (spec 8.9)."""

    job: JobView


class LetEnd(msgspec.Struct, frozen=True):
    """Take the hold off a job that will end without a pod; no release (spec 8.15a)."""

    job: JobView


class ShowWaiting(msgspec.Struct, frozen=True):
    """Say in a job's conditions that it waits (spec 8.8)."""

    job: JobView


class FreeNodes(msgspec.Struct, frozen=True):
    """Let a Workflow go on that waits at a suspend node of ours (spec 8.15)."""

    job: JobView


class PatchJob(msgspec.Struct, frozen=True):
    """Merge into a job."""

    job: JobView
    patch: Mapping[str, Any]


class TellJob(msgspec.Struct, frozen=True):
    """An Event on the job."""

    job: JobView
    warning: bool
    reason: str
    message: str


class TellUnit(msgspec.Struct, frozen=True):
    """An Event on the unit."""

    unit: QueueUnit
    warning: bool
    reason: str
    message: str


class TellQueue(msgspec.Struct, frozen=True):
    """A Warning on the Queue in which the unit stands."""

    unit: QueueUnit
    reason: str
    message: str


class LookAgain(msgspec.Struct, frozen=True):
    """Nothing now, but after that many seconds."""

    seconds: float


Action = (
    CreateUnit
    | DeleteUnit
    | PatchUnit
    | PatchStatus
    | HoldJob
    | ReleaseJob
    | PatchJob
    | LetEnd
    | AddToPods
    | TakeFromPods
    | ShowWaiting
    | FreeNodes
    | TellJob
    | TellUnit
    | TellQueue
    | LookAgain
)
