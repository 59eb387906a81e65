"""MPIJob in the shapes that its operators serve: v2beta1, v1 and v1alpha1 (spec 8.2, 8.3, 8.6)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from kq.core import codec, keys
from kq.core.kinds import Object, ResourceKind
from kq.core.model import Grant, JobState, JobView, PodSet
from kq.core.patch import Patch
from kq.jobs import remarks
from kq.jobs.kubeflow import KubeflowJob, Shape, is_held
from kq.jobs.options import JobOptions
from kq.jobs.progress import unless_known
from kq.jobs.roles import POD_SPEC, counted, no_maps

GROUP = "kubeflow.org"
V2BETA1 = ResourceKind(GROUP, "v2beta1", "MPIJob", "mpijobs")
V1 = ResourceKind(GROUP, "v1", "MPIJob", "mpijobs")
V1ALPHA1 = ResourceKind(GROUP, "v1alpha1", "MPIJob", "mpijobs")
MPI_OPERATOR = "kubeflow.org/mpi-operator"
TEMPLATE = ("spec", "template", "metadata")
LAUNCHER_STATES = {
    "": JobState.PENDING,
    "Active": JobState.RUNNING,
    "Succeeded": JobState.SUCCEEDED,
    "Failed": JobState.FAILED,
}


class MpiJob:
    """MPIJobs, each read in the version in which it comes."""

    kinds = (V2BETA1, V1, V1ALPHA1)

    def __init__(self, options: JobOptions) -> None:
        """The two newer versions are shaped like the other kubeflow kinds."""
        self._released = None if options.removes_suspend_annotation else "false"
        shapes = {
            V2BETA1: Shape(kind=V2BETA1, replica_specs="mpiReplicaSpecs", controller=MPI_OPERATOR),
            V1: Shape(kind=V1, replica_specs="mpiReplicaSpecs"),
        }
        self._by_role = {
            kind.api_version: KubeflowJob(shape, options) for kind, shape in shapes.items()
        }

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The job as decisions see it; without templates its pod sets have empty ones."""
        version = job.get("apiVersion")
        if version == V1ALPHA1.api_version:
            return _launched(job, templates)
        seen = self._shaped(job).view(job, templates=templates)
        waits = codec.mapping(job, "spec").get("launcherCreationPolicy") == "WaitForWorkersReady"
        if seen.kind == V2BETA1 and waits:
            return msgspec.structs.replace(seen, remarks=(remarks.w5(),))
        return seen

    def hold(self, job: Object) -> Patch:
        """As the other kubeflow kinds; v1alpha1 knows only the annotation."""
        if job.get("apiVersion") == V1ALPHA1.api_version:
            return _annotated("true")
        return self._shaped(job).hold(job)

    def suspend(self, job: Object) -> Patch:
        """The same; a v1alpha1 job that runs does not mind it."""
        return self.hold(job)

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """The hold is taken off."""
        if job.get("apiVersion") == V1ALPHA1.api_version:
            return _annotated(self._released)
        return self._shaped(job).resume(job, grants, now)

    def _shaped(self, job: Object) -> KubeflowJob:
        return self._by_role.get(str(job.get("apiVersion"))) or self._by_role[V2BETA1.api_version]


def _annotated(held: str | None) -> Patch:
    return Patch({"metadata": {"annotations": {keys.SUSPEND: held}}})


def _launched(job: Object, templates: bool) -> JobView:
    """A v1alpha1 job: one template for all pods, no conditions, and nothing stops it once it runs.

    Its patches differ from those of the other versions, so they need the job.
    """
    meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
    pod_sets, defect = _pod_sets(spec, templates)
    launcher = str(status.get("launcherStatus") or "")
    return JobView(
        **codec.job_metadata(meta),
        kind=V1ALPHA1,
        suspended=is_held(None, meta),
        # A state that nobody knows is no end.
        state=LAUNCHER_STATES.get(launcher, JobState.RUNNING),
        unknown_state=unless_known(launcher, LAUNCHER_STATES),
        takes_updates=False,
        has_run=bool(launcher or status.get("startTime") or status.get("workerReplicas")),
        started=codec.parse_time(status.get("startTime")),
        released_at=codec.released_at(meta.get("annotations")),
        pod_sets=pod_sets,
        defect=defect,
        evictable=False,
        whole=True,
    )


def _pod_sets(spec: Object, templates: bool) -> tuple[tuple[PodSet, ...], str | None]:
    """Launcher and workers; the labels of the one template are the workers' to set."""
    template = codec.mapping(spec, "template") if templates else {}
    launcher, worker = (
        codec.template_of(each)
        for each in (_with_resources(template, spec.get("launcherResources")), template)
    )
    count, defect = counted(spec.get("replicas"), "spec.replicas")
    return (
        PodSet(name="launcher", count=1, wanted=1, template=launcher),
        PodSet(name="worker", count=count, wanted=count, template=worker, path=TEMPLATE),
    ), defect or no_maps(spec, "spec", *POD_SPEC) or worker.defect or launcher.defect


def _with_resources(template: Mapping[str, Any], resources: object) -> Mapping[str, Any]:
    """The template with those resources in its first container, if they are given."""
    spec = codec.mapping(template, "spec")
    containers = codec.listed(spec, "containers")
    if resources is None or not containers or not isinstance(containers[0], Mapping):
        return template
    first, *rest = containers
    return {
        **template,
        "spec": {**spec, "containers": [{**first, "resources": resources}, *rest]},
    }
