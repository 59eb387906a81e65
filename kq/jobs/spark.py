"""sparkoperator.k8s.io/v1beta2 SparkApplication (spec 8.2, 8.3, 8.4, 8.6, 8.19, 12.5)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kq.core import codec
from kq.core.keys import SUSPEND
from kq.core.kinds import Object, ResourceKind
from kq.core.messages import m16
from kq.core.model import Grant, JobState, JobView, PodSet, Template
from kq.core.patch import Patch
from kq.errors import DecodeError
from kq.jobs.options import JobOptions
from kq.jobs.progress import unless_known
from kq.jobs.roles import MOST_PODS, POD_SPEC, no_maps, told
from kq.jobs.sparkpods import priority_classes, template_of
from kq.jobs.sparksizes import Role, Setting, is_true, whole

SPARK_APPLICATION: Final = ResourceKind(
    "sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications"
)
HOLD: Final = Patch({"spec": {"suspend": True}, "metadata": {"annotations": {SUSPEND: "true"}}})
CLIENT_MODES: Final = frozenset({"client", "in-cluster-client"})
"""In which the driver is no pod of the application's."""

ENDED: Final = {"COMPLETED": JobState.SUCCEEDED, "FAILED": JobState.FAILED}
NOT_SUBMITTED: Final = frozenset({"SUBMISSION_FAILED", "FAILED_SUBMISSION"})
NOT_RUNNING: Final = frozenset(
    {"", "NEW", "SUBMITTED", "INVALIDATING", "SUSPENDING", "SUSPENDED", "RESUMING"}
)
RUNNING: Final = frozenset({"RUNNING", "SUCCEEDING", "FAILING", "PENDING_RERUN", "UNKNOWN"})
UNBOUNDED: Final = 2**31 - 1


class SparkApplication:
    """Applications of the Spark operator."""

    kinds = (SPARK_APPLICATION,)

    def __init__(self, options: JobOptions) -> None:
        """How a release marks them (8.4), and whether growth counts at once (8.2a)."""
        mark = None if options.removes_suspend_annotation else "false"
        self._release = Patch(
            {"spec": {"suspend": False}, "metadata": {"annotations": {SUSPEND: mark}}}
        )
        self._maximum = options.counts_maximum

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The application as decisions see it."""
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        state = codec.strings(status.get("applicationState")).get("state", "")
        attempts = (_number(status, f"{each}Attempts") for each in ("submission", "execution"))
        pod_sets, defect = _pod_sets(spec, templates=templates, maximum=self._maximum)
        return JobView(
            **codec.job_metadata(meta),
            kind=SPARK_APPLICATION,
            suspended=_is_held(meta, spec),
            half_held=_is_held(meta, spec) and spec.get("suspend") is not True,
            state=_state(state, spec, status),
            unknown_state=unless_known(state, NOT_RUNNING, NOT_SUBMITTED, ENDED, RUNNING),
            has_run=any(attempts),
            started=codec.parse_time(status.get("lastSubmissionAttemptTime")),
            released_at=codec.released_at(meta.get("annotations")),
            pod_sets=pod_sets,
            defect=defect,
            priorities=tuple((name, None) for name in priority_classes(spec)),
        )

    def hold(self, job: Object) -> Patch:
        """`spec.suspend: true` and the annotation: operators honour the one or the other."""
        return HOLD

    def suspend(self, job: Object) -> Patch:
        """The same."""
        return HOLD

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """Both off. Any other change of the spec would start the application anew (8.19)."""
        return self._release


def _is_held(meta: Object, spec: Object) -> bool:
    """By the field where there is one: an operator that knows it does not look at the other."""
    suspend = spec.get("suspend")
    if isinstance(suspend, bool):
        return suspend
    return codec.strings(meta.get("annotations")).get(SUSPEND) == "true"


def _state(state: str, spec: Object, status: Object) -> JobState:
    """States of spec 8.6; one that nobody knows counts as running."""
    if state in NOT_RUNNING:
        return JobState.PENDING
    if state in NOT_SUBMITTED:
        # One that is suspended goes on to be SUSPENDED: it was caught while it was being submitted.
        goes_on = spec.get("suspend") is True or _tries_again(spec, status)
        return JobState.PENDING if goes_on else JobState.FAILED
    return ENDED.get(state, JobState.RUNNING)


def _tries_again(spec: Object, status: Object) -> bool:
    """Whether the operator will submit the application once more, as it decides it itself."""
    policy = codec.mapping(spec, "restartPolicy")
    match policy.get("type"):
        case "Always":
            return True
        case "OnFailure":
            retries = codec.integer(policy.get("onSubmissionFailureRetries"))
            return retries is not None and _number(status, "submissionAttempts") <= retries
        case _:
            return False


def _pod_sets(
    spec: Object, *, templates: bool, maximum: bool
) -> tuple[tuple[PodSet, ...], str | None]:
    """Driver and executors, and the first thing that is wrong with them in the words of M16."""
    conf = codec.mapping(spec, "sparkConf")
    defects: list[str | None] = []
    pod_sets: list[PodSet] = []
    for name in ("driver", "executor"):
        if name == "driver" and codec.strings(spec).get("mode") in CLIENT_MODES:
            continue
        role = Role(name, spec, conf)
        count, defect = (1, None) if name == "driver" else _executors(role, maximum=maximum)
        template, wrong = _template(role) if templates else (codec.template_of({}), None)
        defects += [no_maps(spec, "spec", name, *POD_SPEC), defect, wrong, template.defect]
        pod_sets.append(
            PodSet(name=name, count=count, wanted=count, template=template, path=("spec", name))
        )
    return tuple(pod_sets), next(filter(None, defects), None)


def _template(role: Role) -> tuple[Template, str | None]:
    try:
        return template_of(role), None
    except DecodeError as err:
        return codec.template_of({}), str(err)


def _executors(role: Role, *, maximum: bool) -> tuple[int, str | None]:
    """How many executors start first, and what is wrong with that."""
    try:
        count = _first_wave(role, maximum=maximum)
    except DecodeError as err:
        return 0, str(err)
    if count > MOST_PODS:
        wanted = f"a number from 0 to {MOST_PODS}"
        return 0, m16("spec.executor.instances", told(count), wanted)
    return count, None


def _first_wave(role: Role, *, maximum: bool) -> int:
    instances = role.setting("instances", "spark.executor.instances")
    given = [] if instances is None else [whole(instances)]
    typed: Mapping[str, Any] = codec.mapping(role.application, "dynamicAllocation")
    if typed.get("enabled") is not True:
        # The operator leaves out what is typed here unless it is switched on here.
        typed = {}
    if typed or is_true(role.configured("spark.dynamicAllocation.enabled")):
        bounds = ["initialExecutors", "minExecutors"]
        given += [whole(each) for each in (_bound(role, typed, name) for name in bounds) if each]
        most = _bound(role, typed, "maxExecutors")
        if maximum and most is not None and whole(most) < UNBOUNDED:
            given.append(whole(most))
    return max(given, default=1)


def _bound(role: Role, typed: Mapping[str, Any], name: str) -> Setting | None:
    if typed.get(name) is not None:
        return Setting(f"spec.dynamicAllocation.{name}", typed[name])
    return role.configured(f"spark.dynamicAllocation.{name}")


def _number(status: Object, key: str) -> int:
    return codec.integer(status.get(key)) or 0
