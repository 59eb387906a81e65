"""The pods of a Ray cluster: its head, its groups of workers, and who submits (spec 8.2, 12.6)."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kq.core import codec
from kq.core.kinds import Object
from kq.core.model import PodSet, Template
from kq.core.patch import Path
from kq.jobs.roles import MOST_PODS, POD_SPEC, no_maps, pod_set_names, told

MOST: Final = 2**31 - 1
"""Of a replica count; as an upper bound it is the operator's own and says nothing."""

MOST_GROUPS: Final = 254
"""A unit takes 256 pod sets."""

SUBMITTER: Final = {
    "name": "ray-job-submitter",
    "resources": {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "200Mi"},
    },
}
AUTOSCALER: Final = {
    "limits": {"cpu": "500m", "memory": "512Mi"},
    "requests": {"cpu": "500m", "memory": "512Mi"},
}


class RayPods(NamedTuple):
    """Pod sets in the order of spec 8.2, and the first thing that is wrong with them."""

    pod_sets: tuple[PodSet, ...]
    defect: str | None


class Reading(NamedTuple):
    """How a cluster is read: where its spec stands, whose it is, and what counts of it."""

    path: Path
    uid: str
    templates: bool
    maximum: bool
    sidecar: bool = False
    """Whether the head pod submits the job (SidecarMode)."""


def cluster_pods(cluster: Object, reading: Reading) -> RayPods:
    """Head and worker groups of a RayClusterSpec."""
    groups = codec.listed(cluster, "workerGroupSpecs")[:MOST_GROUPS]
    roles = ["head", *(_group_name(each) for each in groups)]
    names = pod_set_names(roles, reading.uid)
    scales = cluster.get("enableInTreeAutoscaling") is True
    head = PodSet(
        name=names[0],
        count=1,
        wanted=1,
        template=_head_template(cluster, reading) if reading.templates else _template({}),
        path=(*reading.path, "headGroupSpec", "template", "metadata"),
    )
    pod_sets = [head]
    at = ".".join(map(str, reading.path))
    defects = [
        _odd_list(cluster, reading.path),
        no_maps(cluster, at, "headGroupSpec", *POD_SPEC),
        head.template.defect,
    ]
    for index, (name, group) in enumerate(zip(names[1:], groups, strict=True)):
        place = (*reading.path, "workerGroupSpecs", index)
        pod_set, defect = _group(name, group, place, reading, scales)
        pod_sets.append(pod_set)
        defects += [defect, pod_set.template.defect]
    return RayPods(tuple(pod_sets), next(filter(None, defects), None))


def with_submitter(pods: RayPods, spec: Object, reading: Reading) -> RayPods:
    """The same and the pod that submits a RayJob's job in K8sJobMode (spec 12.6)."""
    *_, name = pod_set_names([*(each.name for each in pods.pod_sets), "submitter"], reading.uid)
    given = spec.get("submitterPodTemplate")
    template = given if isinstance(given, Mapping) else {"spec": {"containers": [SUBMITTER]}}
    submitter = PodSet(
        name=name, count=1, wanted=1, template=_template(template if reading.templates else {})
    )
    defect = pods.defect or no_maps(spec, "spec", "submitterPodTemplate", "spec")
    return RayPods((*pods.pod_sets, submitter), defect or submitter.template.defect)


def _group_name(group: object) -> str:
    name = group.get("groupName") if isinstance(group, Mapping) else None
    return name if isinstance(name, str) and name else "worker"


def _group(
    name: str, group: object, place: Path, reading: Reading, scales: bool
) -> tuple[PodSet, str | None]:
    where = f"{'.'.join(map(str, place[:-1]))}[{place[-1]}]"
    if not isinstance(group, Mapping):
        return PodSet(
            name=name, count=0, template=_template({})
        ), f"{where} is {told(group)}, not a map"
    count, defect = _count(group, where, maximum=scales and reading.maximum)
    defect = defect or no_maps(group, where, *POD_SPEC)
    template = _template(codec.mapping(group, "template") if reading.templates else {})
    path = (*place, "template", "metadata")
    return PodSet(name=name, count=count, wanted=count, template=template, path=path), defect


def _count(group: Object, where: str, *, maximum: bool) -> tuple[int, str | None]:
    """The pods of a group as KubeRay counts them; what is wrong with its numbers."""
    numbers: dict[str, int | None] = {}
    for field in ("replicas", "minReplicas", "maxReplicas", "numOfHosts"):
        value = numbers[field] = codec.integer(group.get(field))
        if group.get(field) is not None and (value is None or not 0 <= value <= MOST):
            wanted = f"a number from 0 to {MOST}"
            return 0, f"{where}.{field} is {told(group[field])}, not {wanted}"
    if group.get("suspend") is True:
        return 0, None
    least, most = numbers["minReplicas"] or 0, numbers["maxReplicas"]
    replicas = numbers["replicas"] or 0
    if replicas < least:
        replicas = least
    elif most is not None and replicas > most:
        replicas = most
    if maximum and most is not None and most < MOST:
        replicas = max(replicas, most)
    hosts = 1 if numbers["numOfHosts"] is None else numbers["numOfHosts"]
    pods = replicas * hosts
    if pods > MOST_PODS:
        return 0, f"{where}.replicas is {replicas}, not a number from 0 to {MOST_PODS // hosts}"
    return pods, None


def _head_template(cluster: Object, reading: Reading) -> Template:
    """The head's template with the containers that KubeRay adds."""
    template = codec.mapping(codec.mapping(cluster, "headGroupSpec"), "template")
    added: list[Mapping[str, Any]] = []
    if cluster.get("enableInTreeAutoscaling") is True:
        given = codec.mapping(cluster, "autoscalerOptions").get("resources")
        added.append({"name": "autoscaler", "resources": AUTOSCALER if given is None else given})
    if reading.sidecar:
        added.append(SUBMITTER)
    return _template(_with_containers(template, added))


def _with_containers(template: Object, added: list[Mapping[str, Any]]) -> Object:
    spec = codec.mapping(template, "spec")
    containers = spec.get("containers")
    if not added or not isinstance(containers, list | None):
        return template
    return {**template, "spec": {**spec, "containers": [*(containers or []), *added]}}


def _odd_list(cluster: Object, path: Path) -> str | None:
    groups, where = cluster.get("workerGroupSpecs"), ".".join(map(str, path))
    if isinstance(groups, list) and len(groups) > MOST_GROUPS:
        return f"{where}.workerGroupSpecs is of {len(groups)} groups, not at most {MOST_GROUPS}"
    if groups is None or isinstance(groups, list):
        return None
    return f"{where}.workerGroupSpecs is {told(groups)}, not a list"


def _template(template: Object) -> Template:
    return codec.template_of(template)
