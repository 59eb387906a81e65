"""What the plan for one job rests on, gathered at one moment."""

from collections.abc import Mapping
from datetime import datetime, timedelta

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
    by_pod_set: Mapping[str, int] = {}
    """How many run of each pod set, as far as they say of which they are (spec 8.23)."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long jobs of a kind may take to start, and wait when they did not (spec 9.6, 9.12).

    `start` of 0: for ever. After `limit` failures in a row no further try follows; 0: always one.
    """

    start: timedelta = timedelta(0)
    base: timedelta = timedelta(minutes=1)
    longest: timedelta = timedelta(hours=1)
    limit: int = 0


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """That a unit's grants are to be taken back for another one (spec 13.5).

    `reason` is that of the condition Evicted, `text` goes into the unit, `told` to those who watch.
    """

    reason: str
    text: str
    told: str


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator chose for jobs that slipped through, for what is kept, and how long
    each kind may take."""

    slipped: str = "suspend"
    grace_seconds: int = 300
    finished_ttl_seconds: int = 0
    patience: Mapping[str, Patience] = {}


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """A job, its unit, and all that decides what is next.

    `pod_sets` are the job's with the namespace's defaults filled in. `managed` is spec 5.1 for a
    job without a unit; `false_claim`: it names an owner that does not exist (spec 5.6a).
    `first_run` is when the manager first ran with this kind. `may_hold_at` bounds how often a job
    is suspended again (spec 5.13); None: at once. `running_since` is since when its pods were seen
    to run, as far as somebody has looked; `defied_since` since when the held job has had pods that
    are not about to end; `held_since` since when one that holds quota was seen suspended. `taken`:
    its grants are wanted for another unit.
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
    quota_label: str = ""
    """What a label says for the quota; empty if none can (spec 5.5)."""
    queue: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    priority: DerivedPriority = DerivedPriority()
    rules: Rules = Rules()
    first_run: datetime | None = None
    may_hold_at: datetime | None = None
    running_since: datetime | None = None
    defied_since: datetime | None = None
    held_since: datetime | None = None
    taken: Taken | None = None
    drained_by: str = ""
    """The Queue that takes back what its units hold (stopPolicy HoldAndDrain)."""
    moves: bool = False
    """It holds quota for a job that is held, and its job names another quota by now (spec 2.8)."""
    outgrown: bool = False
    """A change of it started it anew, and as it is now it does not fit beside the rest (8.19)."""
    pod_label: str = ""
    """What the quota label of its pods has to say before they are made (spec 6.6)."""
    clash: str = ""
    """Why it cannot have what its admission checks want added to its pods (spec 14.10)."""
    refused: Mapping[type[object], str] = {}
    """Writes that the API server refuses, by what they are, with its answers: not tried now."""
    overdraft: str = ""
    """It asks for more than it was granted, and what does not fit of that (spec 9.17)."""

    @property
    def patience(self) -> Patience:
        """How long a job of this kind may take."""
        return self.rules.patience.get(self.job.kind.kind) or Patience()

    @property
    def gone(self) -> bool:
        """Whether the job is suspended and no pod of it is live (spec 8.11, 9.5).

        The job's own count is asked too, as a pod may be there that no watch has shown yet; but
        not where pods are stuck: that count would stay for as long as they do.
        """
        if not self.job.suspended or self.pods.live:
            return False
        return self.pods.stuck or not (self.job.pods_active or self.job.pods_terminating)
