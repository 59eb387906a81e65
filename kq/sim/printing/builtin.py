"""The columns and cells of the built-in kinds."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.kinds import Column
from kq.sim.printing.columns import Printer, name_column
from kq.sim.printing.events import event_cells
from kq.sim.printing.parts import NONE, age_of, name_of, part
from kq.sim.printing.pods import pod_cells
from kq.sim.printing.workloads import cron_job_cells, deployment_cells, job_cells

Cells = Callable[[Object, datetime], list[Any]]
_WORKLOAD = ("Containers*", "Images*", "Selector*")
_SUBJECTS = ("Users*", "Groups*", "ServiceAccounts*")
_NODE = ("Internal-IP*", "External-IP*", "OS-Image*", "Kernel-Version*", "Container-Runtime*")


def printer_of(kind: str) -> Printer:
    """How the objects of a built-in kind are shown; most of them by name and age."""
    columns, cells = _PRINTERS.get(kind, (("Age",), _age_only))
    return Printer(columns=_columns(columns), cells=cells)


def _columns(names: Sequence[str]) -> list[Column]:
    """Columns by name: `*` for those of wide output, `#` for numbers, `?` for booleans."""
    made = [_column(name) for name in names]
    return made if "Name*" in names else [name_column(), *made]


def _column(name: str) -> Column:
    if name == "Name*":
        return name_column(priority=1)
    kind = "integer" if "#" in name else "boolean" if "?" in name else "string"
    kind = "date" if name == "Created At" else kind
    priority = 1 if "*" in name else 0
    return Column(name=name.strip("*#?"), type=kind, json_path="", priority=priority)


def _age_only(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), age_of(obj, now)]


def _created(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), part(obj, "metadata").get("creationTimestamp")]


def _namespace(obj: Object, now: datetime) -> list[Any]:
    return [name_of(obj), part(obj, "status").get("phase", ""), age_of(obj, now)]


def _node(obj: Object, now: datetime) -> list[Any]:
    status = part(obj, "status")
    ready = [each for each in status.get("conditions") or () if each["type"] == "Ready"]
    words = [("Ready" if ready[0]["status"] == "True" else "NotReady") if ready else "Unknown"]
    if part(obj, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = part(part(obj, "metadata"), "labels")
    roles = sorted(
        key.removeprefix("node-role.kubernetes.io/")
        for key in labels
        if key.startswith("node-role.kubernetes.io/")
    )
    info = part(status, "nodeInfo")
    shown = [info.get(key) or "<unknown>" for key in ("osImage", "kernelVersion")]
    return [
        name_of(obj),
        ",".join(words),
        ",".join(roles) or NONE,
        age_of(obj, now),
        info.get("kubeletVersion", ""),
        *(_address(status, kind) for kind in ("InternalIP", "ExternalIP")),
        *shown,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _address(status: Object, kind: str) -> str:
    found = (each["address"] for each in status.get("addresses") or () if each["type"] == kind)
    return next(found, NONE)


def _quota(obj: Object, now: datetime) -> list[Any]:
    status = part(obj, "status")
    used = part(status, "used")
    texts: dict[bool, list[str]] = {True: [], False: []}
    for name, hard in sorted(part(status, "hard").items()):
        texts[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard}")
    return [name_of(obj), ", ".join(texts[False]), ", ".join(texts[True]), age_of(obj, now)]


def _service(obj: Object, now: datetime) -> list[Any]:
    spec = part(obj, "spec")
    ports = [f"{each['port']}/{each.get('protocol', 'TCP')}" for each in spec.get("ports") or ()]
    pairs = [f"{key}={value}" for key, value in sorted(part(spec, "selector").items())]
    return [
        name_of(obj),
        spec.get("type", ""),
        next(iter(spec.get("clusterIPs") or ()), spec.get("clusterIP") or NONE),
        NONE,
        ",".join(ports) or NONE,
        age_of(obj, now),
        ",".join(pairs) or NONE,
    ]


def _binding(obj: Object, now: datetime) -> list[Any]:
    role = part(obj, "roleRef")
    subjects = obj.get("subjects") or ()

    def named(kind: str) -> str:
        return ", ".join(
            f"{each['namespace']}/{each['name']}" if each.get("namespace") else each["name"]
            for each in subjects
            if each["kind"] == kind
        )

    shown = f"{role.get('kind')}/{role.get('name')}"
    kinds = ("User", "Group", "ServiceAccount")
    return [name_of(obj), shown, age_of(obj, now), *(named(kind) for kind in kinds)]


def _fields(*fields: str, last: str = "") -> Cells:
    """Name, some fields of the object, and its age; one more field may follow."""

    def cells(obj: Object, now: datetime) -> list[Any]:
        found = [name_of(obj), *(_field(obj, each) for each in fields), age_of(obj, now)]
        return [*found, _field(obj, last)] if last else found

    return cells


def _field(obj: Object, path: str) -> Any:
    value: Any = obj
    *parents, name = path.removeprefix("#").split(".")
    for parent in parents:
        value = part(value, parent)
    value = value.get(name)
    if path.startswith("#"):
        return len(value or ())
    return (
        False if value is None and name == "globalDefault" else value if value is not None else ""
    )


_HOOKS = (("Webhooks#", "Age"), _fields("#webhooks"))
_BINDING = (("Role", "Age", *_SUBJECTS), _binding)
_CREATED = (("Created At",), _created)
_PRINTERS: Mapping[str, tuple[Sequence[str], Cells]] = {
    "ClusterRole.rbac.authorization.k8s.io": _CREATED,
    "ClusterRoleBinding.rbac.authorization.k8s.io": _BINDING,
    "ConfigMap": (("Data", "Age"), _fields("#data")),
    "CronJob.batch": (
        ("Schedule", "Timezone", "Suspend?", "Active#", "Last Schedule", "Age", *_WORKLOAD),
        cron_job_cells,
    ),
    "CustomResourceDefinition.apiextensions.k8s.io": _CREATED,
    "Deployment.apps": (("Ready", "Up-to-date", "Available", "Age", *_WORKLOAD), deployment_cells),
    "Event": (
        (
            "Last Seen",
            "Type",
            "Reason",
            "Object",
            "Subobject*",
            "Source*",
            "Message",
            "First Seen*",
            "Count*",
            "Name*",
        ),
        event_cells,
    ),
    "Job.batch": (("Status", "Completions", "Duration", "Age", *_WORKLOAD), job_cells),
    "Lease.coordination.k8s.io": (("Holder", "Age"), _fields("spec.holderIdentity")),
    "LimitRange": _CREATED,
    "MutatingWebhookConfiguration.admissionregistration.k8s.io": _HOOKS,
    "Namespace": (("Status", "Age"), _namespace),
    "Node": (("Status", "Roles", "Age", "Version", *_NODE), _node),
    "Pod": (
        (
            "Ready",
            "Status",
            "Restarts",
            "Age",
            "IP*",
            "Node*",
            "Nominated Node*",
            "Readiness Gates*",
        ),
        pod_cells,
    ),
    "PriorityClass.scheduling.k8s.io": (
        ("Value#", "Global-Default?", "Age", "PreemptionPolicy"),
        _fields("value", "globalDefault", last="preemptionPolicy"),
    ),
    "ResourceQuota": (("Request", "Limit", "Age"), _quota),
    "Role.rbac.authorization.k8s.io": _CREATED,
    "RoleBinding.rbac.authorization.k8s.io": _BINDING,
    "RuntimeClass.node.k8s.io": (("Handler", "Age"), _fields("handler")),
    "Secret": (("Type", "Data", "Age"), _fields("type", "#data")),
    "Service": (
        ("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"),
        _service,
    ),
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io": _HOOKS,
}
