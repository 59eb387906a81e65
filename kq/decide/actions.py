"""What may be asked for, as values; `kq.reconcile.execute` carries them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kq.core.model import JobView, QueueUnit


@dataclass(frozen=True, slots=True)
class CreateUnit:
    """Make the unit of a job."""

    job: JobView
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeleteUnit:
    """Remove that unit, by UID."""

    unit: QueueUnit


@dataclass(frozen=True, slots=True)
class PatchUnit:
    """Merge into a unit's spec and metadata."""

    unit: QueueUnit
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Merge into a unit's status."""

    unit: QueueUnit
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HoldJob:
    """Suspend a job; `cause` is for its owner to read."""

    job: JobView
    cause: str
    annotations: Mapping[str, str | None]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReleaseJob:
    """Let a job run; `released_at` is what koord-queue/job-dequeue-timestamp will say."""

    job: JobView
    unit: QueueUnit
    released_at: str


@dataclass(frozen=True, slots=True)
class PatchJob:
    """Merge into a job."""

    job: JobView
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TellJob:
    """An Event on the job."""

    job: JobView
    warning: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class TellUnit:
    """An Event on the unit."""

    unit: QueueUnit
    warning: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class LookAgain:
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
    | TellJob
    | TellUnit
    | LookAgain
)
