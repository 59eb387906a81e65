"""What the plan for one job rests on, gathered at one moment."""

from datetime import datetime

import msgspec

from kq.core.model import JobView, PodSet, QueueUnit
from kq.core.priority import DerivedPriority


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The job's pods: live ones, running ones, live ones that do not run, stuck ones."""

    live: int = 0
    running: int = 0
    pending: int = 0
    stuck: bool = False
    ending: int = 0
    """Live ones that are being deleted."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator chose for jobs that slipped through, and for what is kept."""

    slipped: str = "suspend"
    grace_seconds: int = 300
    finished_ttl_seconds: int = 0


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """A job, its unit, and all that decides what is next.

    `pod_sets` are the job's with the namespace's defaults filled in. `managed` is spec 5.1 for a
    job without a unit; `false_claim`: it names an owner that does not exist (spec 5.6a).
    `first_run` is when the manager first ran with this kind. `may_hold_at` bounds how often a job
    is suspended again (spec 5.13); None: at once. `running_since` is since when its pods were seen
    to run, as far as somebody has looked; `defied_since` since when the held job has had pods that
    are not about to end.
    """

    now: datetime
    job: JobView
    unit: QueueUnit | None
    unit_name: str
    name_taken_by: QueueUnit | None = None
    pods: PodFacts = PodFacts()
    managed: bool = True
    false_claim: bool = False
    quota: str | None = None
    queue: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    priority: DerivedPriority = DerivedPriority()
    rules: Rules = Rules()
    first_run: datetime | None = None
    may_hold_at: datetime | None = None
    running_since: datetime | None = None
    defied_since: datetime | None = None

    @property
    def gone(self) -> bool:
        """Whether the job is suspended and no pod of it is live (spec 8.11, 9.5).

        The job's own count is asked too, as a pod may be there that no watch has shown yet; but
        not where pods are stuck: that count would stay for as long as they do.
        """
        if not self.job.suspended or self.pods.live:
            return False
        return self.pods.stuck or not (self.job.pods_active or self.job.pods_terminating)
