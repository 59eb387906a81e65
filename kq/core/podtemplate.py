"""What is kept of a pod template in a unit: what placement and counting need (spec 2.12)."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kq.core.keys import OWN_DOMAINS
from kq.core.kinds import Object
from kq.core.quantity import parse_quantity
from kq.core.resources import spell
from kq.errors import QuantityError

_CONTAINER_LISTS: Final = ("initContainers", "containers")
_SPEC_FIELDS: Final = (
    "activeDeadlineSeconds",
    "affinity",
    "hostNetwork",
    "nodeName",
    "nodeSelector",
    "os",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "resourceClaims",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "serviceAccountName",
    "tolerations",
    "topologySpreadConstraints",
)
"""Fields of a pod spec that say where its pods may run, for how long, and who goes first."""

_CONTAINER_FIELDS: Final = ("name", "image", "restartPolicy")
_VOLUME_SOURCES: Final = ("persistentVolumeClaim", "ephemeral")
_SPEC_PARTS: Final = frozenset(
    {*_SPEC_FIELDS, *_CONTAINER_LISTS, "overhead", "resources", "volumes"}
)
_CONTAINER_PARTS: Final = frozenset({*_CONTAINER_FIELDS, "resources", "ports"})
_JOB_CONTROLLER_LABELS: Final = ("controller-uid", "job-name")
_JOB_CONTROLLER_DOMAIN: Final = "batch.kubernetes.io/"


def slim_template(template: Object) -> dict[str, Any]:
    """What placement and counting need of a pod template; equal quantities are spelled alike.

    Kept are labels (but those that the Job controller adds), annotations in our domains, what
    decides where and for how long pods run, what containers ask for, host ports, claims of
    volumes. No environment, command, probe or other data of the job. What cannot be counted is
    kept as it is, so that `pod_request` names it.
    """
    metadata, spec = _mapping(template.get("metadata")), _mapping(template.get("spec"))
    labels = _without_marks(_mapping(metadata.get("labels")))
    annotations = _own(_mapping(metadata.get("annotations")))
    slim_metadata = _present({"labels": labels, "annotations": annotations})
    return _present({"metadata": slim_metadata, "spec": _slim_spec(spec)})


def bare_template(template: Object) -> dict[str, Any]:
    """The template without most of what `slim_template` leaves out anyway.

    What is left is the same for jobs that differ in what they run, or in what marks their pods.
    """
    bare = {field: template[field] for field in ("metadata", "spec") if field in template}
    metadata, spec = bare.get("metadata"), bare.get("spec")
    if type(metadata) is dict:
        bare["metadata"] = {
            field: keep(each) if type(each := metadata.get(field)) is dict else each
            for field, keep in _KEPT_METADATA.items()
        }
    if type(spec) is dict:
        bare["spec"] = {field: spec[field] for field in spec if field in _SPEC_PARTS}
        for field in _CONTAINER_LISTS:
            if type(containers := spec.get(field)) is list:
                bare["spec"][field] = [_bare_container(each) for each in containers]
    return bare


def _bare_container(container: object) -> object:
    if type(container) is not dict:
        return container
    return {field: container[field] for field in container if field in _CONTAINER_PARTS}


def _without_marks(labels: Object) -> dict[str, Any]:
    """But for those that the Job controller adds, which no two jobs have in common."""
    return {
        key: value
        for key, value in labels.items()
        if key not in _JOB_CONTROLLER_LABELS and not key.startswith(_JOB_CONTROLLER_DOMAIN)
    }


def _own(annotations: Object) -> dict[str, Any]:
    return {key: value for key, value in annotations.items() if key.startswith(OWN_DOMAINS)}


_KEPT_METADATA: Final = {"labels": _without_marks, "annotations": _own}


def canonical(template: Object) -> bytes:
    """JSON with sorted keys: equal templates are equal bytes."""
    return msgspec.json.encode(template, order="sorted")


def _slim_spec(spec: Object) -> dict[str, Any]:
    slim: dict[str, Any] = {field: spec.get(field) for field in _SPEC_FIELDS}
    for field in _CONTAINER_LISTS:
        slim[field] = _slim_containers(spec.get(field))
    slim["overhead"] = _respelled(spec.get("overhead"))
    slim["resources"] = _slim_resources(spec.get("resources"))
    slim["volumes"] = [
        _present({field: volume.get(field) for field in ("name", *_VOLUME_SOURCES)})
        for volume in _listed(spec.get("volumes"))
        if any(volume.get(source) for source in _VOLUME_SOURCES)
    ]
    return _present(slim)


def _slim_containers(containers: object) -> object:
    if not isinstance(containers, list):
        return containers
    return [_slim_container(each) if isinstance(each, Mapping) else each for each in containers]


def _slim_container(container: Object) -> dict[str, Any]:
    slim: dict[str, Any] = {field: container.get(field) for field in _CONTAINER_FIELDS}
    slim["resources"] = _slim_resources(container.get("resources"))
    slim["ports"] = [dict(port) for port in _listed(container.get("ports")) if port.get("hostPort")]
    return _present(slim)


def _slim_resources(resources: object) -> object:
    if not isinstance(resources, Mapping):
        return resources
    respelled = {field: _respelled(resources.get(field)) for field in ("limits", "requests")}
    return _present({**resources, **respelled})


def _respelled(listed: object) -> object:
    """A ResourceList in canonical form; what is no quantity stays as it is."""
    if not isinstance(listed, Mapping):
        return listed
    return {name: _respell(name, value) for name, value in listed.items()}


def _respell(name: str, value: object) -> object:
    try:
        return spell(name, parse_quantity(value).nano)
    except QuantityError:
        return value


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _mapping(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Object]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
