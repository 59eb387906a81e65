"""Which rules the objects of each built-in kind have beside their types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.status import Cause
from kq.sim.builtin import extensions, jobs, objects, podrules, pods, quotas

Prepare = Callable[[dict[str, Any], Object | None], None]
Faults = Callable[[Object], list[Cause]]
Changes = Callable[[Object, Object], list[Cause]]


def _leave(obj: dict[str, Any], old: Object | None) -> None:
    """The server decides nothing by itself."""


def _allow(obj: Object) -> list[Cause]:
    return []


def _allow_change(new: Object, old: Object) -> list[Cause]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRules:
    """What the server does with a kind's objects beyond reading them by their type."""

    prepare: Prepare = _leave
    faults: Faults = _allow
    changes: Changes = _allow_change


def _deployment_faults(obj: Object) -> list[Cause]:
    return list(podrules.template_faults(obj["spec"].get("template") or {}, "spec.template"))


_HOOKS = KindRules(faults=extensions.webhook_faults)
_RULES: Mapping[str, KindRules] = {
    "ConfigMap": KindRules(faults=objects.config_map_faults, changes=objects.config_map_changes),
    "CronJob.batch": KindRules(faults=jobs.cron_faults),
    "CustomResourceDefinition.apiextensions.k8s.io": KindRules(
        prepare=extensions.prepare_crd, faults=extensions.crd_faults
    ),
    "Deployment.apps": KindRules(faults=_deployment_faults),
    "Event": KindRules(faults=objects.event_faults),
    "Job.batch": KindRules(prepare=jobs.prepare, faults=jobs.faults, changes=jobs.changes),
    "Lease.coordination.k8s.io": KindRules(faults=objects.lease_faults),
    "LimitRange": KindRules(faults=quotas.limit_range_faults),
    "MutatingWebhookConfiguration.admissionregistration.k8s.io": _HOOKS,
    "Namespace": KindRules(prepare=objects.prepare_namespace),
    "Node": KindRules(faults=objects.node_faults),
    "Pod": KindRules(prepare=pods.prepare, faults=pods.faults, changes=podrules.pod_changes),
    "PriorityClass.scheduling.k8s.io": KindRules(
        faults=objects.priority_class_faults, changes=objects.priority_class_changes
    ),
    "ResourceQuota": KindRules(faults=quotas.quota_faults),
    "RuntimeClass.node.k8s.io": KindRules(
        faults=objects.runtime_class_faults, changes=objects.runtime_class_changes
    ),
    "Secret": KindRules(faults=objects.secret_faults, changes=objects.secret_changes),
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io": _HOOKS,
}


def rules_of(kind: str) -> KindRules:
    """The rules of a kind by its name with group, such as `Job.batch`."""
    return _RULES.get(kind, KindRules())
