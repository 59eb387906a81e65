"""The pods that KubeRay makes of a RayCluster."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kq.core.kinds import Object
from kq.sim.control.objects import PODS, controller_reference, place_of
from kq.sim.control.writes import Create
from kq.sim.ray.parts import OPERATOR

GROUP: Final = "ray.io/group"
INDEX: Final = "ray.io/worker-group-replica-index"
WAITS: Final = {
    "limits": {"cpu": "200m", "memory": "256Mi"},
    "requests": {"cpu": "200m", "memory": "256Mi"},
}
"""What the init container asks for that waits for the head."""


def group_of(pod: Object) -> str:
    """The group that a pod belongs to; `headgroup` for the head."""
    labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
    return labels.get(GROUP, "")


def wanted(group: Object) -> int:
    """How many pods a group of workers is to have."""
    if group.get("suspend"):
        return 0
    least: int = group.get("minReplicas") or 0
    most: int | None = group.get("maxReplicas")
    replicas = max(least, group.get("replicas") or 0)
    replicas = replicas if most is None else min(replicas, most)
    hosts: int = group.get("numOfHosts") or 1
    return replicas * hosts


def head(cluster: Object) -> Create:
    """The head of a cluster."""
    spec = cluster["spec"]["headGroupSpec"]["template"]
    return _pod(cluster, spec, _labels(cluster, "head", "headgroup"), "head", spec["spec"])


def workers(
    cluster: Object, group: Object, present: Sequence[Object], count: int
) -> Iterable[Create]:
    """So many more workers of a group."""
    template, name = group["template"], group["groupName"]
    used = {each["metadata"]["labels"].get(INDEX) for each in present}
    free = (str(each) for each in range(len(present) + max(count, 0)) if str(each) not in used)
    for _, index in zip(range(count), free, strict=False):
        labels = {**_labels(cluster, "worker", name), INDEX: index}
        first = template["spec"]["containers"][0]
        waiting = {"name": "wait-gcs-ready", "image": first["image"], "resources": WAITS}
        spec = template["spec"]
        spec = {**spec, "initContainers": [*(spec.get("initContainers") or ()), waiting]}
        yield _pod(cluster, template, labels, f"{name}-worker", spec)


def _pod(
    cluster: Object, template: Object, labels: Mapping[str, str], role: str, spec: Object
) -> Create:
    namespace, name = place_of(cluster)
    meta: Mapping[str, Any] = template.get("metadata") or {}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name}-{role}-",
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": dict(meta.get("annotations") or {}),
            "ownerReferences": [controller_reference(cluster)],
        },
        "spec": spec,
    }
    return Create(kind=PODS, namespace=namespace, body=body)


def _labels(cluster: Object, role: str, group: str) -> dict[str, str]:
    name = place_of(cluster)[1]
    return {
        "app.kubernetes.io/created-by": OPERATOR,
        "app.kubernetes.io/name": "kuberay",
        "ray.io/cluster": name,
        GROUP: group,
        "ray.io/identifier": f"{name}-{role}",
        "ray.io/is-ray-node": "yes",
        "ray.io/node-type": role,
    }
