"""What the server fills into objects of built-in types, type by type, wherever they stand."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from kq.core.quantity import NANO, Quantity
from kq.sim.builtin import workloads
from kq.sim.builtin.workloads import Values, set_missing, set_words
from kq.sim.schemas.amounts import MOST, amount_of
from kq.sim.schemas.definitions import Schema
from kq.sim.schemas.zeros import fill_zeros

_FILE_MODE = 0o644
_MILLI = NANO // 1000


def fill(schema: Schema, value: Any) -> None:
    """Fills in place: first the value's own defaults and zeros, then those of what it holds."""
    match value:
        case dict() if "properties" in schema:
            _fill_struct(schema, value)
        case dict() if _has_parts(inner := schema.get("additionalProperties")):
            for each in value.values():
                fill(inner, each)
        case list() if _has_parts(inner := schema.get("items")):
            for each in value:
                fill(inner, each)


def _has_parts(schema: Schema | None) -> TypeGuard[Schema]:
    return schema is not None and schema.get("type") in ("object", "array")


def _fill_struct(schema: Schema, value: Values) -> None:
    properties, title = schema["properties"], schema.get("title", "")
    own = _DEFAULTS.get(title)
    if own is not None:
        own(value)
    fill_zeros(title, value)
    for name, each in list(value.items()):
        if isinstance(each, dict | list) and name in properties:
            fill(properties[name], each)


def _namespace(value: Values) -> None:
    meta = value.setdefault("metadata", {})
    if meta.get("name"):
        meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta["name"]
    set_words(value.setdefault("status", {}), phase="Active")


def _node(value: Values) -> None:
    status = value.setdefault("status", {})
    _round(status, "capacity", "allocatable")
    if "capacity" in status:
        set_missing(status, allocatable=dict(status["capacity"]))


def _limits(value: Values) -> None:
    if value.get("type") != "Container":
        return
    limits = value.get("max", {}) | value.get("default", {})
    requests = value.get("min", {}) | limits | value.get("defaultRequest", {})
    if limits:
        value["default"] = limits
    if requests:
        value["defaultRequest"] = requests
    _round(value, "min", "max", "default", "defaultRequest")


def _webhook(value: Values) -> None:
    set_words(value, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
    set_missing(value, namespaceSelector={}, objectSelector={})


def _mutating_webhook(value: Values) -> None:
    _webhook(value)
    set_words(value, reinvocationPolicy="Never")


def _secret(value: Values) -> None:
    set_words(value, type="Opaque")
    texts = value.pop("stringData", {})
    if texts:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        value["data"] = value.get("data", {}) | encoded


def _service(value: Values) -> None:
    spec = value.setdefault("spec", {})
    set_words(spec, sessionAffinity="None", type="ClusterIP")
    if spec["type"] != "ExternalName":
        set_missing(spec, internalTrafficPolicy="Cluster")
    for port in spec.get("ports", []):
        set_words(port, protocol="TCP", targetPort=port.get("port"))


def _crd(value: Values) -> None:
    spec = value.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if names.get("kind"):
        set_words(names, singular=names["kind"].lower(), listKind=f"{names['kind']}List")
    set_words(spec, conversion={"strategy": "None"})


def _subject(value: Values) -> None:
    if value.get("kind") in ("User", "Group"):
        set_words(value, apiGroup="rbac.authorization.k8s.io")


def _resources(value: Values) -> None:
    _round(value, "limits", "requests")


def _resource_quota(value: Values) -> None:
    _round(value.setdefault("spec", {}), "hard")
    _round(value.setdefault("status", {}), "hard", "used")


def _round(value: Values, *fields: str) -> None:
    """Rounds amounts up to thousandths."""
    for field in fields:
        for name, text in value.get(field, {}).items():
            amount = amount_of(text)
            if amount is not MOST and amount.nano % _MILLI:
                whole = -(-amount.nano // _MILLI) * _MILLI
                value[field][name] = str(Quantity(whole, amount.format))


def _plain(**defaults: Any) -> Callable[[Values], None]:
    return lambda value: set_missing(value, **defaults)


_MODE = _plain(defaultMode=_FILE_MODE)
_DEFAULTS: Mapping[str, Callable[[Values], None]] = {
    "admissionregistration.v1.MutatingWebhook": _mutating_webhook,
    "admissionregistration.v1.RuleWithOperations": _plain(scope="*"),
    "admissionregistration.v1.ServiceReference": _plain(port=443),
    "admissionregistration.v1.ValidatingWebhook": _webhook,
    "apiextensions.v1.CustomResourceDefinition": _crd,
    "apps.v1.Deployment": workloads.deployment,
    "batch.v1.CronJob": workloads.cron_job,
    "batch.v1.Job": workloads.job,
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": _plain(status="True"),
    "rbac.v1.RoleRef": _plain(apiGroup="rbac.authorization.k8s.io"),
    "rbac.v1.Subject": _subject,
    "scheduling.v1.PriorityClass": _plain(preemptionPolicy="PreemptLowerPriority"),
    "v1.ConfigMapVolumeSource": _MODE,
    "v1.Container": workloads.container,
    "v1.ContainerPort": _plain(protocol="TCP"),
    "v1.DownwardAPIVolumeSource": _MODE,
    "v1.HTTPGetAction": lambda value: set_words(value, path="/", scheme="HTTP"),
    "v1.HostPathVolumeSource": _plain(type=""),
    "v1.LimitRangeItem": _limits,
    "v1.Namespace": _namespace,
    "v1.Node": _node,
    "v1.ObjectFieldSelector": lambda value: set_words(value, apiVersion="v1"),
    "v1.Pod": workloads.pod,
    "v1.PodSpec": workloads.pod_spec,
    "v1.Probe": lambda value: set_words(
        value, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3
    ),
    "v1.ProjectedVolumeSource": _MODE,
    "v1.ResourceQuota": _resource_quota,
    "v1.ResourceRequirements": _resources,
    "v1.Secret": _secret,
    "v1.SecretVolumeSource": _MODE,
    "v1.Service": _service,
    "v1.ServiceAccountTokenProjection": _plain(expirationSeconds=3600),
    "v1.Volume": workloads.volume,
}
