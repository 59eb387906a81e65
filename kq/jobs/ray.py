"""ray.io RayJob and RayCluster, v1 and v1alpha1 (spec 8.2, 8.3, 8.6, 8.13, 8.20)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kq.core import codec
from kq.core.kinds import Object, ResourceKind
from kq.core.model import Grant, JobState, JobView
from kq.core.patch import Patch
from kq.jobs.options import JobOptions
from kq.jobs.progress import unless_known
from kq.jobs.raypods import RayPods, Reading, cluster_pods, with_submitter
from kq.jobs.remarks import w4
from kq.jobs.roles import no_maps

OWN_CONTROLLER: Final = "ray.io/kuberay-operator"
HOLD: Final = Patch({"spec": {"suspend": True}})
HOLD_AND_SHUT_DOWN: Final = Patch({"spec": {"suspend": True, "shutdownAfterJobFinishes": True}})
RELEASE: Final = Patch({"spec": {"suspend": False}})

RAY_JOBS: Final = tuple(
    ResourceKind("ray.io", version, "RayJob", "rayjobs") for version in ("v1", "v1alpha1")
)
RAY_CLUSTERS: Final = tuple(
    ResourceKind("ray.io", version, "RayCluster", "rayclusters") for version in ("v1", "v1alpha1")
)
FINAL: Final = {
    "Complete": JobState.SUCCEEDED,
    "Failed": JobState.FAILED,
    "ValidationFailed": JobState.FAILED,
}
NOT_RUNNING: Final = frozenset(
    {"", "Initializing", "Waiting", "Suspending", "Suspended", "Retrying"}
)
RUNNING: Final = frozenset({"Running"})
CLUSTER_STATES: Final = frozenset({"", "ready", "failed", "unhealthy", "suspended"})
SUBMITTED_BY_POD: Final = frozenset({"", "K8sJobMode"})
NEVER_STARTED: Final = frozenset({"", "Suspending", "Suspended", "ValidationFailed"})


class RayJob:
    """Jobs for which KubeRay makes a cluster of their own."""

    kinds = RAY_JOBS

    def __init__(self, options: JobOptions) -> None:
        """Whether clusters that scale themselves count their upper bound is an option (8.2a)."""
        self._maximum = options.counts_maximum

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The RayJob as decisions see it.

        Its state is KubeRay's; while the cluster named by `ends_with` is there, it still runs.
        """
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        phase = _text(status, "jobDeploymentStatus")
        mode = _text(spec, "submissionMode")
        pods = self._pods(spec, _text(meta, "uid"), mode, templates=templates)
        in_cluster = pods.pod_sets[:-1] if mode in SUBMITTED_BY_POD else pods.pod_sets
        foreign = _managed_by_other(spec) or bool(spec.get("clusterSelector"))
        has_run, unsuspendable = phase not in NEVER_STARTED, _unsuspendable(spec)
        return JobView(
            **codec.job_metadata(meta),
            kind=_kind(job, RAY_JOBS),
            suspended=spec.get("suspend") is True,
            managed_by_other=foreign,
            state=_job_state(phase),
            unknown_state=unless_known(phase, FINAL, NOT_RUNNING, RUNNING),
            has_run=has_run,
            # KubeRay gives a start also to those that it never started.
            started=codec.parse_time(status.get("startTime")) if has_run else None,
            released_at=codec.released_at(meta.get("annotations")),
            pod_sets=pods.pod_sets,
            defect=pods.defect,
            priorities=tuple(
                (each.template.priority_class, each.template.priority) for each in in_cluster
            ),
            evictable=not (mode == "InteractiveMode" and phase == "Waiting"),
            ends_with=_text(status, "rayClusterName") if phase in FINAL else "",
            note=_only_anew(_text(status, "message")) if phase == "ValidationFailed" else "",
            unsuspendable=unsuspendable,
            remarks=() if foreign or unsuspendable or _shuts_down(spec) else (w4(),),
        )

    def hold(self, job: Object) -> Patch:
        """`spec.suspend: true`, and what KubeRay demands of those that are suspended (8.13)."""
        spec = codec.mapping(job, "spec")
        return HOLD if _unsuspendable(spec) or _shuts_down(spec) else HOLD_AND_SHUT_DOWN

    def suspend(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """`spec.suspend: false`."""
        return RELEASE

    def _pods(self, spec: Object, uid: str, mode: str, *, templates: bool) -> RayPods:
        reading = Reading(
            path=("spec", "rayClusterSpec"),
            uid=uid,
            templates=templates,
            maximum=self._maximum,
            sidecar=mode == "SidecarMode",
        )
        pods = cluster_pods(codec.mapping(spec, "rayClusterSpec"), reading)
        pods = with_submitter(pods, spec, reading) if mode in SUBMITTED_BY_POD else pods
        return pods._replace(defect=no_maps(spec, "spec", "rayClusterSpec") or pods.defect)


class RayCluster:
    """Clusters that stand by themselves: they never end, but are deleted or suspended."""

    kinds = RAY_CLUSTERS

    def __init__(self, options: JobOptions) -> None:
        """Whether clusters that scale themselves count their upper bound is an option (8.2a)."""
        self._maximum = options.counts_maximum

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The RayCluster as decisions see it."""
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        reading = Reading(
            path=("spec",), uid=_text(meta, "uid"), templates=templates, maximum=self._maximum
        )
        pods = cluster_pods(spec, reading)
        suspended = spec.get("suspend") is True
        ready = codec.parse_time(codec.mapping(status, "stateTransitionTimes").get("ready"))
        return JobView(
            **codec.job_metadata(meta),
            kind=_kind(job, RAY_CLUSTERS),
            suspended=suspended,
            managed_by_other=_managed_by_other(spec),
            state=_cluster_state(status, sum(each.count for each in pods.pod_sets[1:])),
            unknown_state=unless_known(_text(status, "state"), CLUSTER_STATES),
            pods_terminating=1 if suspended and _is_going_down(status) else 0,
            has_run=ready is not None or _is_true(status, "RayClusterProvisioned"),
            started=ready,
            released_at=codec.released_at(meta.get("annotations")),
            pod_sets=pods.pod_sets,
            defect=pods.defect,
        )

    def hold(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def suspend(self, job: Object) -> Patch:
        """`spec.suspend: true`."""
        return HOLD

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """`spec.suspend: false`."""
        return RELEASE


def _kind(job: Object, kinds: Sequence[ResourceKind]) -> ResourceKind:
    """The kind in the version that the object has."""
    version = job.get("apiVersion")
    return next((each for each in kinds if each.api_version == version), kinds[0])


def _managed_by_other(spec: Object) -> bool:
    return (spec.get("managedBy") or OWN_CONTROLLER) != OWN_CONTROLLER


def _shuts_down(spec: Object) -> bool:
    return spec.get("shutdownAfterJobFinishes") is not None


def _unsuspendable(spec: Object) -> bool:
    """Whether KubeRay would refuse to suspend it, and for ever (spec 8.13)."""
    rules = codec.mapping(spec, "deletionStrategy").get("deletionRules")
    return bool(rules) or spec.get("shutdownAfterJobFinishes") is False


def _only_anew(reason: str) -> str:
    """Why the job failed before it began, and what helps (spec 8.13)."""
    return f"{reason or 'ValidationFailed'}: KubeRay never leaves this state, submit a new RayJob"


def _job_state(phase: str) -> JobState:
    """States of spec 8.6; one that nobody knows counts as running."""
    if phase in FINAL:
        return FINAL[phase]
    return JobState.PENDING if phase in NOT_RUNNING else JobState.RUNNING


def _cluster_state(status: Mapping[str, Any], workers_wanted: int) -> JobState:
    """States of spec 8.6; one that nobody knows counts as running."""
    ready_workers = codec.integer(status.get("readyWorkerReplicas")) or 0
    head_alone = not workers_wanted and _is_true(status, "HeadPodReady")
    is_unknown = bool(unless_known(_text(status, "state"), CLUSTER_STATES))
    if status.get("state") == "ready" or ready_workers > 0 or head_alone or is_unknown:
        return JobState.RUNNING
    return JobState.PENDING


def _is_going_down(status: Mapping[str, Any]) -> bool:
    """Whether KubeRay has still to end pods: a resume before that is not acted on (spec 8.20)."""
    return status.get("state") == "ready" or _is_true(status, "RayClusterSuspending")


def _is_true(status: Mapping[str, Any], condition: str) -> bool:
    return any(
        each.type == condition and each.status
        for each in codec.conditions(status.get("conditions"))
    )


def _text(parent: Object, key: str) -> str:
    value = parent.get(key)
    return value if isinstance(value, str) else ""
