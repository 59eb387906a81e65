"""A small job of each kind in each version, and what webhook and manager make of it."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from builders import situation
from msgspec.structs import replace
from reviews import NOW, QUOTA_LABEL, FakeWorld, a_review, applied

from kq.core.model import JobView
from kq.decide.situation import Situation
from kq.decide.unitspec import creation, suffix_of, unit_name
from kq.jobs import INTEGRATIONS
from kq.jobs.integration import JobIntegration
from kq.jobs.options import JobOptions
from kq.settings import Settings
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response, decode, encode

Job = dict[str, Any]
Way = tuple[str | int, ...]
SUSPEND = "scheduling.x-k8s.io/suspend"
MARKER = {"name": "koord-queue-suspend", "suspend": {}}
MARKS = {
    "koord-queue/job-has-enqueued": "true",
    "koord-queue/job-enqueue-timestamp": "2026-03-01T12:00:00Z",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind in one version, by what its users and its CRD know of it."""

    key: str
    api: str
    kind: str
    plural: str
    spec: Callable[[], Job]
    """One cpu a pod, and nothing said of suspension."""
    switch: Way = ("spec", "suspend")
    """Where its operator looks; nowhere if it is empty."""
    annotated: bool = False
    templates: tuple[Way, ...] = ()
    """Where the metadata of its pods stand, in the order of its pod sets."""
    pods: tuple[tuple[str, int], ...] = ()
    cpu: str = "3"
    suffix: str = ""
    """Of the name of its unit (spec 8.1)."""
    bare: tuple[tuple[str, int], ...] = ()
    """The pods of one whose spec is empty."""

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.api.rpartition('/')[2]}"

    @property
    def group(self) -> str:
        return self.api.rpartition("/")[0]


def template() -> Job:
    """A pod of one cpu."""
    requests = {"requests": {"cpu": "1"}}
    return {"spec": {"containers": [{"name": "main", "image": "x", "resources": requests}]}}


def role(replicas: int) -> Job:
    return {"replicas": replicas, "restartPolicy": "Never", "template": template()}


def by_role(field: str, leader: str) -> Callable[[], Job]:
    return lambda: {field: {leader: role(1), "Worker": role(2)}}


def ray_cluster() -> Job:
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": template()},
        "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "template": template()}],
    }


def ray_job() -> Job:
    return {
        "entrypoint": "python -c pass",
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": ray_cluster(),
    }


def spark() -> Job:
    sized = {"cores": 1, "memory": "512m"}
    return {
        "type": "Scala",
        "mode": "cluster",
        "driver": {**sized},
        "executor": {**sized, "instances": 2},
    }


def job_set() -> Job:
    job = {"parallelism": 1, "completions": 1, "template": template()}
    names = {"driver": 1, "workers": 2}
    return {
        "replicatedJobs": [
            {"name": name, "replicas": count, "template": {"spec": copy.deepcopy(job)}}
            for name, count in names.items()
        ]
    }


def roles_at(field: str, leader: str) -> tuple[Way, ...]:
    return tuple(("spec", field, each, "template", "metadata") for each in (leader, "Worker"))


def ray_at(*way: str) -> tuple[Way, ...]:
    ends: tuple[Way, ...] = (("headGroupSpec",), ("workerGroupSpecs", 0))
    return tuple(("spec", *way, *end, "template", "metadata") for end in ends)


def training(kind: str, field: str, leader: str, suffix: str, api: str = "kubeflow.org/v1") -> Kind:
    return Kind(
        key=kind.lower(),
        api=api,
        kind=kind,
        plural=f"{kind.lower()}s",
        spec=by_role(field, leader),
        switch=("spec", "runPolicy", "suspend"),
        annotated=True,
        templates=roles_at(field, leader),
        pods=((leader.lower(), 1), ("worker", 2)),
        suffix=suffix,
    )


def of_ray(kind: str, version: str) -> Kind:
    is_job = kind == "RayJob"
    return Kind(
        key=kind.lower(),
        api=f"ray.io/{version}",
        kind=kind,
        plural=f"{kind.lower()}s",
        spec=ray_job if is_job else ray_cluster,
        templates=ray_at("rayClusterSpec") if is_job else ray_at(),
        pods=(("head", 1), ("small", 2)),
        suffix="-ray-qu" if is_job else "-raycluster-qu",
        bare=(("head", 1), ("submitter", 1)) if is_job else (("head", 1),),
    )


JOB_SETS: tuple[Way, ...] = tuple(
    ("spec", "replicatedJobs", index, "template", "spec", "template", "metadata")
    for index in range(2)
)
KINDS = (
    Kind(
        key="job",
        api="batch/v1",
        kind="Job",
        plural="jobs",
        spec=lambda: {"parallelism": 3, "template": template()},
        templates=(("spec", "template", "metadata"),),
        pods=(("j1", 3),),
        bare=(("j1", 1),),
    ),
    training("TFJob", "tfReplicaSpecs", "Chief", "-tf-qu"),
    training("PyTorchJob", "pytorchReplicaSpecs", "Master", "-py-qu"),
    training("XGBoostJob", "xgbReplicaSpecs", "Master", "-xgb-qu"),
    training("PaddleJob", "paddleReplicaSpecs", "Master", "-paddle-qu"),
    training("MPIJob", "mpiReplicaSpecs", "Launcher", "-mpi-qu", "kubeflow.org/v2beta1"),
    training("MPIJob", "mpiReplicaSpecs", "Launcher", "-mpi-qu"),
    Kind(
        key="mpijob",
        api="kubeflow.org/v1alpha1",
        kind="MPIJob",
        plural="mpijobs",
        spec=lambda: {"replicas": 2, "launcherResources": {}, "template": template()},
        switch=(),
        annotated=True,
        templates=(("spec", "template", "metadata"),),
        pods=(("launcher", 1), ("worker", 2)),
        cpu="2",
        suffix="-mpi-qu",
        bare=(("launcher", 1), ("worker", 1)),
    ),
    Kind(
        key="sparkapp",
        api="sparkoperator.k8s.io/v1beta2",
        kind="SparkApplication",
        plural="sparkapplications",
        spec=spark,
        annotated=True,
        templates=(("spec", "driver"), ("spec", "executor")),
        pods=(("driver", 1), ("executor", 2)),
        suffix="-spark-qu",
        bare=(("driver", 1), ("executor", 1)),
    ),
    Kind(
        key="workflow",
        api="argoproj.io/v1alpha1",
        kind="Workflow",
        plural="workflows",
        spec=lambda: {
            "entrypoint": "main",
            "templates": [{"name": "main", "container": template()["spec"]["containers"][0]}],
        },
        templates=(("spec", "podMetadata"),),
        pods=(("default", 1),),
        cpu="1",
        bare=(("default", 1),),
    ),
    *(of_ray(kind, version) for kind in ("RayJob", "RayCluster") for version in ("v1", "v1alpha1")),
    Kind(
        key="jobset",
        api="jobset.x-k8s.io/v1alpha2",
        kind="JobSet",
        plural="jobsets",
        spec=job_set,
        templates=JOB_SETS,
        pods=(("driver", 1), ("workers", 2)),
        suffix="-jobset-qu",
    ),
    Kind(
        key="trainjob",
        api="trainer.kubeflow.org/v1alpha1",
        kind="TrainJob",
        plural="trainjobs",
        spec=lambda: {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2}},
        cpu="",
        suffix="-train-qu",
    ),
)


@cache
def integration(kind: Kind) -> JobIntegration:
    return INTEGRATIONS[kind.key](JobOptions())


ENABLED = {
    (kind.group, kind.kind): integration(kind)
    for kind in {each.kind: each for each in KINDS}.values()
}
"""As the webhook has them: all kinds, by group and kind."""


def a_job(kind: Kind, *, switch: Any = ..., spec: Job | None = None, **metadata: Any) -> Job:
    """A job of the kind as a person writes it; its switch says what is given, if anything is."""
    job: Job = {
        "apiVersion": kind.api,
        "kind": kind.kind,
        "metadata": {"name": "j1", "namespace": "team-a", **metadata},
        "spec": kind.spec() if spec is None else copy.deepcopy(spec),
    }
    if switch is not ... and kind.switch:
        *above, last = kind.switch
        at(job, tuple(above))[last] = switch
    if switch is not ... and kind.annotated and switch is not None:
        marks = {**(metadata.get("annotations") or {}), SUSPEND: str(switch).lower()}
        job["metadata"]["annotations"] = marks
    return job


def at(job: Job, way: Way) -> Any:
    """What stands there; maps on the way are made."""
    here: Any = job
    for each in way:
        if isinstance(here, list):
            here = here[int(each)]
            continue
        if here.get(each) is None:
            here[each] = {}
        here = here[each]
    return here


def look(job: Job, way: Way) -> Any:
    """What stands there; None if nothing does."""
    here: Any = job
    for each in way:
        if isinstance(here, list):
            here = here[int(each)]
        else:
            here = here.get(each) if isinstance(here, dict) else None
    return here


def review_of(kind: Kind, job: Any = None, /, **request: Any) -> dict[str, Any]:
    """What the API server asks when a job of the kind is made."""
    gvk = dict(
        zip(("group", "version", "kind"), (*kind.api.rsplit("/", 1), kind.kind), strict=True)
    )
    where = {**gvk, "resource": kind.plural}
    del where["kind"]
    asked = {"kind": gvk, "requestKind": gvk, "resource": where, **request}
    return a_review(a_job(kind) if job is None else job, **asked)


def answer(
    kind: Kind,
    job: Any = None,
    /,
    *,
    world: Any = None,
    settings: Settings | None = None,
    enabled: Mapping[tuple[str, str], JobIntegration] = ENABLED,
    **request: Any,
) -> Response:
    """What the webhook says."""
    found = decode(json.dumps(review_of(kind, job, **request)).encode())
    assert isinstance(found, Request)
    return mutate(
        found,
        integrations=enabled,
        world=world or FakeWorld(),
        settings=settings or Settings(),
        now=NOW,
    )


def stored(kind: Kind, job: Job, /, **asked: Any) -> Job:
    """The job as the API server stores it after the webhook's word."""
    return applied(job, json.loads(encode(answer(kind, job, **asked))))


def is_untouched(response: Response) -> bool:
    """Allowed, without a patch and without a word."""
    return response.allowed and not response.operations and not response.warnings


def held(kind: Kind, job: Job, quota: str = "team-a") -> Job:
    """The job as it has to be once it is held; of it nothing else has changed."""
    done = copy.deepcopy(job)
    added = set()
    if kind.switch and look(done, kind.switch) is not True:
        added.add("suspend")
    if kind.switch:
        *above, last = kind.switch
        at(done, tuple(above))[last] = True
    marks = at(done, ("metadata", "annotations"))
    if kind.annotated and marks.get(SUSPEND) != "true":
        marks[SUSPEND] = "true"
        added.add("annotation")
    if kind.kind == "Workflow":
        done["spec"]["templates"].append(MARKER)
        added.add("template")
    labels = at(done, ("metadata", "labels"))
    if labels.get(QUOTA_LABEL) != quota:
        labels[QUOTA_LABEL] = quota
        added.add("label")
    for way in kind.templates:
        on_pods = at(done, (*way, "labels"))
        if on_pods.get(QUOTA_LABEL) != quota:
            on_pods[QUOTA_LABEL] = quota
            added.add("pod-labels")
    marks |= {**MARKS, "koord-queue/injected": ",".join(sorted(added))} | {
        key: text for key, text in marks.items() if key in MARKS or key.endswith("/injected")
    }
    return done


def view_of(kind: Kind, job: Job) -> JobView:
    """The job as the manager sees it, from the API server."""
    known = {"uid": "u-j1", "resourceVersion": "1", "creationTimestamp": "2026-03-01T12:00:00Z"}
    return integration(kind).view({**job, "metadata": {**known, **job["metadata"]}})


def unit_of(kind: Kind, job: Job) -> Job:
    """The unit that the manager makes of it."""
    return creation(situation_of(view_of(kind, job)))


def situation_of(view: JobView) -> Situation:
    """What the manager knows when it has seen the job, and no unit of it."""
    filled = tuple(
        replace(each, template=replace(each.template, defect=each.template.defect or view.defect))
        for each in view.pod_sets
    )
    name = unit_name(view, suffix_of(view))
    label = view.labels.get(QUOTA_LABEL, "")
    return replace(situation(view, unit_name=name, pod_sets=filled), quota_label=label)


def let_go(kind: Kind, job: Job) -> Job:
    """The job as the manager lets it run."""
    return integration(kind).resume(job, (), NOW).apply(job)
