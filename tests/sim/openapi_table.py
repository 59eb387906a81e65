"""The table of built-in types, made from what a real API server publishes.

    PYTHONPATH=tests:. KUBECONFIG=... python -m sim.openapi_table

writes it anew; a test of the cluster kind tells when it has to be.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from controlplane.cluster import Cluster

TABLE = Path(__file__).parents[2] / "kq" / "sim" / "schemas" / "openapi.json"
GROUPS = {
    "api/v1": (
        "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
        "PersistentVolumeClaim Pod PodTemplate ResourceQuota Secret Service ServiceAccount"
    ),
    "apis/admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
    ),
    "apis/apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apis/apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "apis/authentication.k8s.io/v1": "SelfSubjectReview",
    "apis/authorization.k8s.io/v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
        "SubjectAccessReview"
    ),
    "apis/batch/v1": "CronJob Job",
    "apis/coordination.k8s.io/v1": "Lease",
    "apis/networking.k8s.io/v1": "NetworkPolicy",
    "apis/node.k8s.io/v1": "RuntimeClass",
    "apis/policy/v1": "Eviction PodDisruptionBudget",
    "apis/rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "apis/scheduling.k8s.io/v1": "PriorityClass",
    "apis/storage.k8s.io/v1": "StorageClass",
}
UNUSED = {"description", "enum", "x-kubernetes-unions", "example"}
KINDS = "x-kubernetes-group-version-kind"
Definitions = dict[str, Any]


def published(cluster: Cluster) -> Definitions:
    """The definitions of the kinds above and of all that they refer to, without words."""
    every: Definitions = {}
    wanted: list[str] = []
    for group, kinds in GROUPS.items():
        found = cluster.api("GET", f"/openapi/v3/{group}")["components"]["schemas"]
        every.update(found)
        wanted += [name for name, each in found.items() if is_one_of(each, group, kinds.split())]
    chosen: Definitions = {}
    while wanted:
        name = wanted.pop()
        if name not in chosen:
            chosen[name] = lean(every[name])
            wanted += references(every[name])
    return dict(sorted((short(name), each) for name, each in chosen.items()))


def is_one_of(definition: Mapping[str, Any], group: str, kinds: list[str]) -> bool:
    group_name = group.split("/")[1] if group.startswith("apis/") else ""
    return any(
        each["kind"] in kinds and each["group"] == group_name for each in definition.get(KINDS, ())
    )


def references(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def lean(schema: Mapping[str, Any], *, in_list: bool = False) -> Definitions:
    """A schema without descriptions, its references by short names."""
    kept = {key: value for key, value in schema.items() if key not in UNUSED}
    if in_list:
        kept.pop("default", None)
    for part in kept.pop("allOf", ()):
        kept["$ref"] = short(part["$ref"].rpartition("/")[2])
    if "$ref" in kept:
        kept["$ref"] = short(kept["$ref"].rpartition("/")[2])
    if "properties" in kept:
        kept["properties"] = {name: lean(each) for name, each in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), Mapping):
            kept[key] = lean(kept[key], in_list=True)
    return kept


def short(name: str) -> str:
    """`v1.PodSpec` for `io.k8s.api.core.v1.PodSpec`, with the group if it is not the core one."""
    parts = name.split(".")
    return ".".join(parts[-2:] if "core" in parts else parts[-3:])


def text_of(definitions: Definitions) -> str:
    lines = [
        f"{json.dumps(name)}:{json.dumps(each, sort_keys=True, separators=(',', ':'))}"
        for name, each in definitions.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    cluster = Cluster.of(Path(os.environ["KUBECONFIG"]))
    TABLE.write_text(text_of(published(cluster)))


if __name__ == "__main__":
    main()
