"""The sections of the configuration: one frozen dataclass each, defaults of spec 16.4."""

from dataclasses import dataclass, field
from datetime import timedelta

from kq.core.keys import EXCLUDED_NAMESPACES
from kq.core.options import QuotaOptions, RetryOptions, Selection, TakingOptions
from kq.jobs.options import JobOptions
from kq.settings.choices import one_of
from kq.settings.quotas import QuotaSettings
from kq.settings.scheduling import SchedulingSettings

_POLICIES = ("Priority", "Block", "Intelligent")
_NAMESPACES = ("all", "labelled")
_UNMATCHED = ("ignore", "hold", "reject")
_SLIPPED = ("suspend", "count", "ignore")
_FAILURE = ("Ignore", "Fail")
_NAMESPACE_QUOTA = ("enforce", "default")
_MISSING = ("estimate", "zero", "hold", "reject")
_UNSUSPENDABLE = ("reject", "ignore")
_AUTOSCALED = ("current", "maximum")
_LEVELS = ("debug", "info", "warning", "error")
_FORMATS = ("json", "console")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSettings:
    """Jobs of one kind (spec 9.6, 9.12)."""

    runningTimeout: int = 0
    """Takes grants back from a job that does not run after that time; 0: never."""
    backoffTimeout: int = 60
    """How long it then waits at first; twice as long each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSettings:
    """Argo Workflows (spec 8.16)."""

    runningTimeout: int = 0
    """As of other kinds."""
    backoffTimeout: int = 60
    """As of other kinds."""
    missingMinResources: str = one_of(*_MISSING)
    """What a Workflow without min-resources asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayJobSettings:
    """RayJobs (spec 8.13)."""

    runningTimeout: int = 0
    """As of other kinds."""
    backoffTimeout: int = 60
    """As of other kinds."""
    unsuspendable: str = one_of(*_UNSUSPENDABLE)
    """What becomes of a RayJob that KubeRay cannot suspend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Which jobs are managed (spec 5)."""

    enabled: tuple[str, ...] = ("job",)
    """Keys of spec 8.1."""
    namespaces: str = one_of(*_NAMESPACES)
    """`labelled`: only namespaces with koord-queue/managed: "true" take part."""
    excludedNamespaces: tuple[str, ...] = ()
    """Added to those of spec 5.2."""
    unmatchedJobs: str = one_of(*_UNMATCHED)
    """What becomes of jobs that no quota is found for (spec 5.4)."""
    defaultQuota: str = ""
    """The quota of jobs that nothing else gives one (spec 5.3)."""
    copiedAnnotations: tuple[str, ...] = ()
    """Further domains of annotations that units take over (spec 2.7)."""
    slippedJobs: str = one_of(*_SLIPPED)
    """What becomes of jobs that started without a grant (spec 5.12, 5.13)."""
    slippedGraceSeconds: int = 300
    """Jobs that started longer ago are counted, not suspended."""
    finishedUnitTTLSeconds: int = 0
    """Deletes units of finished jobs after that time; 0: they go with their job (spec 9.16)."""
    autoscaled: str = one_of(*_AUTOSCALED)
    """Whether jobs that scale themselves count what starts, or their upper bound (spec 8.2a)."""
    removeSuspendAnnotation: bool = False
    """A release removes scheduling.x-k8s.io/suspend instead of setting it false (spec 8.4)."""
    unitSuffixes: bool = True
    """Whether names of units tell the kind of their jobs (spec 8.1, 8.4)."""
    job: KindSettings = field(default_factory=KindSettings)
    tfjob: KindSettings = field(default_factory=KindSettings)
    pytorchjob: KindSettings = field(default_factory=KindSettings)
    mpijob: KindSettings = field(default_factory=KindSettings)
    xgboostjob: KindSettings = field(default_factory=KindSettings)
    paddlejob: KindSettings = field(default_factory=KindSettings)
    sparkapp: KindSettings = field(default_factory=KindSettings)
    workflow: WorkflowSettings = field(default_factory=WorkflowSettings)
    rayjob: RayJobSettings = field(default_factory=RayJobSettings)
    raycluster: KindSettings = field(default_factory=KindSettings)
    jobset: KindSettings = field(default_factory=KindSettings)
    trainjob: KindSettings = field(default_factory=KindSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class BypassSettings:
    """Who may let a job through without a queue (spec 5.9)."""

    enabled: bool = False
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """Who may do what (spec 15)."""

    namespaceQuota: str = one_of(*_NAMESPACE_QUOTA)
    """`default`: the mapping of a namespace to a quota binds nobody (spec 15.4a)."""
    bypass: BypassSettings = field(default_factory=BypassSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutatingSettings:
    """What becomes of jobs when the webhook fails (spec 6.11)."""

    failurePolicy: str = one_of(*_FAILURE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """What the webhook says and adds (spec 6)."""

    announce: bool = True
    """Tells a person that the job is held (spec 6.2a)."""
    labelPodTemplates: bool = True
    """Puts the quota label on pod templates (spec 6.6)."""
    terminationDrainSeconds: int = 10
    """Goes on accepting for that time after SIGTERM (spec 17.12)."""
    mutating: MutatingSettings = field(default_factory=MutatingSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Requests to the API server."""

    qps: float = 0.0
    """Requests a second at most; 0: the server's own limits alone."""
    burst: int = 0
    maxInFlight: int = 64
    """Requests under way at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Lines on stderr (spec 18.5)."""

    level: str = field(default="info", metadata={"values": _LEVELS})
    format: str = one_of(*_FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All sections, and where the process itself runs."""

    jobs: JobSettings = field(default_factory=JobSettings)
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    security: SecuritySettings = field(default_factory=SecuritySettings)
    webhook: WebhookSettings = field(default_factory=WebhookSettings)
    api: ApiSettings = field(default_factory=ApiSettings)
    log: LogSettings = field(default_factory=LogSettings)
    quotaPlugin: str = "ElasticQuotaV2"
    """The quota mode; empty: no limits (spec 11.1)."""
    installNamespace: str = "koord-queue"
    """Where Queues live (spec 3.1)."""
    defaultReclaimProtectTime: timedelta = timedelta(0)
    """For so long after a grant nobody takes it back for another (spec 13.8)."""
    strictConsistency: bool = False
    """Whatever is given back ends back-offs (spec 10.21); the environment sets it."""

    @property
    def selection(self) -> Selection:
        """Which namespaces take part (spec 5.2)."""
        excluded = (*EXCLUDED_NAMESPACES, self.installNamespace, *self.jobs.excludedNamespaces)
        return Selection(
            excluded=frozenset(excluded), labelled_only=self.jobs.namespaces == "labelled"
        )

    @property
    def quota_options(self) -> QuotaOptions:
        """How quotas are read."""
        return QuotaOptions(
            oversell=self.quota.oversellRate,
            parents_take_jobs=self.quota.parentQuotas == "allow",
            enforce_namespaces=self.security.namespaceQuota == "enforce",
            default_quota=self.jobs.defaultQuota,
            missing_admits=self.quota.resourceQuota.missing == "admit",
            preemptible=self.quota.defaultPreemptible,
            firm_within_min=self.quota.nonPreemptibleWithinMin,
        )

    @property
    def counts_foreign_pods(self) -> bool:
        """Whether pods of no queued job count (spec 11.9)."""
        by_mode = "count" if self.quotaPlugin == "ResourceQuota" else "ignore"
        return (self.quota.foreignPods or by_mode) == "count"

    @property
    def taking_options(self) -> TakingOptions:
        """Who may lose grants to others."""
        return TakingOptions(
            protection=self.defaultReclaimProtectTime,
            preemptible=self.quota.defaultPreemptible,
        )

    @property
    def retry_options(self) -> RetryOptions:
        """When those who lack quota are tried again."""
        scheduling = self.scheduling
        return RetryOptions(
            backs_off=scheduling.retry == "backoff",
            initial=timedelta(seconds=scheduling.unschedulableBackoff.initialSeconds),
            longest=timedelta(seconds=scheduling.unschedulableBackoff.maxSeconds),
            strict=self.strictConsistency,
        )

    @property
    def job_options(self) -> JobOptions:
        """How jobs are read and written."""
        return JobOptions(
            removes_suspend_annotation=self.jobs.removeSuspendAnnotation,
            counts_maximum=self.jobs.autoscaled == "maximum",
            estimates_workflows=self.jobs.workflow.missingMinResources == "estimate",
        )

    @property
    def manager_user(self) -> str:
        """The user name of the manager's service account (spec 6.9)."""
        return f"system:serviceaccount:{self.installNamespace}:koord-queue"
