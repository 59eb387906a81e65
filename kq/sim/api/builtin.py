"""The kinds that every API server serves by itself, as far as a queue and kubectl meet them."""

from collections.abc import Mapping
from typing import Any

from kq.sim.api.kinds import Generation, Kind, Naming, Registry

_COUNTED: Mapping[str, Any] = {"generation": Generation.CONTENT}
_CLUSTER: Mapping[str, Any] = {"namespaced": False}
_STRICT: Mapping[str, Any] = {"unconditional_update": False}
_ALL: Mapping[str, Any] = {"categories": ("all",)}
_PATH_NAMED: Mapping[str, Any] = {"naming": Naming.PATH_SEGMENT, "create_on_update": True}
_EXTENSION: Mapping[str, Any] = {
    **_COUNTED,
    **_CLUSTER,
    **_STRICT,
    "categories": ("api-extensions",),
}

EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)


def registry() -> Registry:
    """A registry of the built-in kinds."""
    return Registry(
        [
            *_core(),
            *_workloads(),
            *_policies(),
            *_rbac(),
            *_extensions(),
            *_questions(),
        ]
    )


def _core() -> list[Kind]:
    return [
        _kind("v1", "Namespace", status=True, short_names=("ns",), **_CLUSTER,
              naming=Naming.LABEL, returns_deleted=True, selectable=("status.phase",),
              subresources=("finalize",)),
        _kind("v1", "Node", status=True, short_names=("no",), **_CLUSTER,
              selectable=("spec.unschedulable",)),
        _kind("v1", "Pod", status=True, short_names=("po",), **_ALL, **_COUNTED,
              returns_deleted=True, selectable=POD_FIELDS,
              subresources=("binding", "eviction")),
        _kind("v1", "ConfigMap", short_names=("cm",)),
        _kind("v1", "Secret", selectable=("type",)),
        _kind("v1", "Service", status=True, short_names=("svc",), **_ALL,
              naming=Naming.SERVICE, create_on_update=True, returns_deleted=True,
              selectable=("spec.clusterIP", "spec.type")),
        _kind("v1", "ServiceAccount", short_names=("sa",), returns_deleted=True),
        _kind("v1", "Event", short_names=("ev",), create_on_update=True,
              selectable=EVENT_FIELDS),
        _kind("v1", "LimitRange", short_names=("limits",), create_on_update=True),
        _kind("v1", "ResourceQuota", status=True, short_names=("quota",),
              returns_deleted=True),
        _kind("v1", "PersistentVolumeClaim", status=True, short_names=("pvc",),
              returns_deleted=True),
        _kind("v1", "PersistentVolume", status=True, short_names=("pv",), **_CLUSTER,
              returns_deleted=True),
        _kind("v1", "Endpoints", plural="endpoints", short_names=("ep",), create_on_update=True),
        _kind("v1", "PodTemplate", **_COUNTED, returns_deleted=True),
    ]  # fmt: skip


def _workloads() -> list[Kind]:
    return [
        _kind("batch/v1", "Job", status=True, **_ALL, **_COUNTED, orphans=True,
              selectable=("status.successful",)),
        _kind("batch/v1", "CronJob", status=True, short_names=("cj",), **_ALL, **_COUNTED),
        _kind("apps/v1", "Deployment", status=True, short_names=("deploy",), **_ALL, **_COUNTED),
        _kind("apps/v1", "ReplicaSet", status=True, short_names=("rs",), **_ALL, **_COUNTED,
              selectable=("status.replicas",)),
        _kind("apps/v1", "StatefulSet", status=True, short_names=("sts",), **_ALL, **_COUNTED),
        _kind("apps/v1", "DaemonSet", status=True, short_names=("ds",), **_ALL, **_COUNTED),
        _kind("apps/v1", "ControllerRevision"),
        _kind("coordination.k8s.io/v1", "Lease", create_on_update=True, **_STRICT),
    ]  # fmt: skip


def _policies() -> list[Kind]:
    return [
        _kind("node.k8s.io/v1", "RuntimeClass", plural="runtimeclasses", **_CLUSTER, **_STRICT,
              create_on_update=True),
        _kind("scheduling.k8s.io/v1", "PriorityClass", plural="priorityclasses",
              short_names=("pc",), **_CLUSTER, **_COUNTED),
        _kind("policy/v1", "PodDisruptionBudget", status=True, short_names=("pdb",),
              **_COUNTED, **_STRICT),
        _kind("networking.k8s.io/v1", "NetworkPolicy", plural="networkpolicies",
              short_names=("netpol",), **_COUNTED),
        _kind("storage.k8s.io/v1", "StorageClass", plural="storageclasses", short_names=("sc",),
              **_CLUSTER, returns_deleted=True),
    ]  # fmt: skip


def _rbac() -> list[Kind]:
    version = "rbac.authorization.k8s.io/v1"
    return [
        _kind(version, "Role", **_PATH_NAMED),
        _kind(version, "RoleBinding", **_PATH_NAMED),
        _kind(version, "ClusterRole", **_PATH_NAMED, **_CLUSTER),
        _kind(version, "ClusterRoleBinding", **_PATH_NAMED, **_CLUSTER),
    ]


def _extensions() -> list[Kind]:
    hooks = "admissionregistration.k8s.io/v1"
    return [
        _kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", status=True,
              short_names=("crd", "crds"), **_EXTENSION),
        _kind(hooks, "MutatingWebhookConfiguration", **_EXTENSION),
        _kind(hooks, "ValidatingWebhookConfiguration", **_EXTENSION),
    ]  # fmt: skip


def _questions() -> list[Kind]:
    rights, identity = "authorization.k8s.io/v1", "authentication.k8s.io/v1"
    question: Mapping[str, Any] = {"is_question": True}
    return [
        _kind(identity, "SelfSubjectReview", **_CLUSTER, **question),
        _kind(rights, "LocalSubjectAccessReview", **question),
        _kind(rights, "SelfSubjectAccessReview", **_CLUSTER, **question),
        _kind(rights, "SelfSubjectRulesReview", **_CLUSTER, **question),
        _kind(rights, "SubjectAccessReview", **_CLUSTER, **question),
    ]


def _kind(api_version: str, kind: str, *, plural: str = "", **rules: Any) -> Kind:
    group, _, version = api_version.rpartition("/")
    return Kind(
        group=group,
        version=version,
        kind=kind,
        plural=plural or f"{kind.lower()}s",
        singular=kind.lower(),
        list_kind=f"{kind}List",
        **rules,
    )
