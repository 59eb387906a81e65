"""The pods that Spark makes of an application, as a template that says where they may run."""

from collections.abc import Mapping
from typing import Any, Final

from kq.core import codec
from kq.core.kinds import Object
from kq.core.model import Template
from kq.jobs.sparksizes import Role, limits, requests

PLACED_BY: Final = (
    "affinity",
    "hostNetwork",
    "priorityClassName",
    "schedulerName",
    "tolerations",
)


def template_of(role: Role) -> Template:
    """One pod of the role (spec 12.5); DecodeError for a size that cannot be read."""
    given = codec.mapping(codec.mapping(role.spec, "template"), "spec")
    placed = {field: role.spec[field] for field in PLACED_BY if role.spec.get(field) is not None}
    selector = {
        **codec.mapping(given, "nodeSelector"),
        **codec.mapping(role.application, "nodeSelector"),
        **codec.mapping(role.spec, "nodeSelector"),
    }
    spec = {
        **given,
        **placed,
        "nodeSelector": selector,
        "containers": _containers(role, given),
        "initContainers": [
            *codec.listed(given, "initContainers"),
            *codec.listed(role.spec, "initContainers"),
        ],
    }
    metadata = {part: codec.mapping(role.spec, part) for part in ("labels", "annotations")}
    return codec.template_of({"metadata": metadata, "spec": spec})


def priority_classes(spec: Object) -> list[str]:
    """What is asked for the priority, in order (spec 12.9)."""
    sources = [
        codec.mapping(spec, part) for part in ("batchSchedulerOptions", "driver", "executor")
    ]
    names = [each.get("priorityClassName") for each in sources]
    return [each if isinstance(each, str) else "" for each in names]


def _containers(role: Role, given: Object) -> list[Any]:
    """Spark's own container first, then the others of its template, and the sidecars."""
    name = f"spark-kubernetes-{role.name}"
    listed = codec.listed(given, "containers")
    maps = [each for each in listed if isinstance(each, Mapping)]
    own: Object = next((each for each in maps if each.get("name") == name), maps[0] if maps else {})
    others = [each for each in listed if each is not own]
    resources = codec.mapping(own, "resources")
    requested = requests(role)
    container = {
        **own,
        "name": own.get("name") or name,
        "resources": {
            **resources,
            "requests": {**codec.mapping(resources, "requests"), **requested},
            "limits": {**codec.mapping(resources, "limits"), **limits(role, requested)},
        },
    }
    return [container, *others, *codec.listed(role.spec, "sidecars")]
