"""The JobSet that Trainer makes of a TrainJob and the runtime that it names.

Nodes are counted and their containers get what the TrainJob says, as with runtimes of torch, of
plain ML and of MPI. What frameworks tell their processes is left out, and so are patches of
runtimes, but for labels and annotations of pods.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import controller_reference, place_of
from kq.sim.kubeflow.replicas import spec_of

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer"
NODE = "node"
"""The container that trains, and the replicated job that has it where a launcher is apart."""

_GIVEN = ("image", "command", "args")
_MARKS = ("labels", "annotations")
_TO_PODS = ("template", "spec", "template", "metadata")
"""The way from a replicated job to what its pods bear."""


def jobset_of(trainjob: Object, runtime: Object) -> dict[str, Any]:
    """The JobSet, suspended as the TrainJob is."""
    namespace, name = place_of(trainjob)
    template = spec_of(runtime).get("template") or {}
    meta = template.get("metadata") or {}
    spec = template.get("spec") or {}
    listed = spec.get("replicatedJobs") or ()
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **{key: dict(meta[key]) for key in _MARKS if meta.get(key)},
            "ownerReferences": [controller_reference(trainjob)],
        },
        "spec": {
            **spec,
            "replicatedJobs": [_replicated(each, trainjob, runtime) for each in listed],
            "suspend": bool(spec_of(trainjob).get("suspend")),
        },
    }


def _replicated(replicated: Object, trainjob: Object, runtime: Object) -> dict[str, Any]:
    template = replicated.get("template") or {}
    spec = template.get("spec") or {}
    pod = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    trains = labels.get(ANCESTOR) == TRAINER
    count = _count(replicated, trainjob, runtime, trains=trains)
    told = {**replicated, "replicas": 1} if trains else dict(replicated)
    # Without these the TrainJob says nothing of the pods.
    given = spec_of(trainjob).get("trainer") if trains else None
    pod_spec = pod.get("spec") or {}
    containers = [_container(each, given or {}) for each in pod_spec.get("containers") or ()]
    made = _marked({**pod, "spec": {**pod_spec, "containers": containers}}, replicated, trainjob)
    counts = {"parallelism": count, "completions": count}
    told["template"] = {**template, "spec": {**spec, **counts, "template": made}}
    return told


def _marked(pod: dict[str, Any], replicated: Object, trainjob: Object) -> dict[str, Any]:
    """The pod template with what the patches say, one after the other."""
    meta = pod.get("metadata") or {}
    for patch in _patches(trainjob):
        if patch["name"] == replicated["name"]:
            added = _at(patch, *_TO_PODS)
            marks = {key: {**(meta.get(key) or {}), **added[key]} for key in _MARKS if key in added}
            meta = {**meta, **marks}
    return {**pod, "metadata": meta} if meta else pod


def _patches(trainjob: Object) -> Iterator[Object]:
    """What patches of the runtime say of replicated jobs."""
    for each in spec_of(trainjob).get("runtimePatches") or ():
        yield from _at(each, "trainingRuntimeSpec", "template", "spec").get("replicatedJobs") or ()


def _at(value: Object, *path: str) -> Object:
    for step in path:
        value = value.get(step) or {}
    return value


def _count(replicated: Object, trainjob: Object, runtime: Object, *, trains: bool) -> int:
    """How many pods run at once."""
    policy = spec_of(runtime).get("mlPolicy") or {}
    nodes = (spec_of(trainjob).get("trainer") or {}).get("numNodes")
    spec = (replicated.get("template") or {}).get("spec") or {}
    own: int = policy.get("numNodes", 1) if trains and policy else spec.get("parallelism", 1)
    if nodes is None:
        return own
    mpi = policy.get("mpi")
    if mpi is None:
        return int(nodes) if trains else own
    if replicated["name"] != NODE:
        return own
    return max(nodes - 1, 1) if mpi.get("runLauncherAsNode") else int(nodes)


def _container(container: Object, trainer: Mapping[str, Any]) -> Object:
    if container.get("name") != NODE or not trainer:
        return container
    told = {**container, **{key: trainer[key] for key in _GIVEN if key in trainer}}
    if resources := trainer.get("resourcesPerNode"):
        told["resources"] = resources
    if env := trainer.get("env"):
        names = {each["name"] for each in env}
        kept = [each for each in container.get("env") or () if each["name"] not in names]
        told["env"] = [*kept, *env]
    return told
