"""Workflows as their users write them."""

from collections.abc import Mapping, Sequence
from typing import Any

from ground import Object

from kq.core import keys
from kq.core.kinds import ResourceKind

CRON_WORKFLOW = ResourceKind("argoproj.io", "v1alpha1", "CronWorkflow", "cronworkflows")
WORKFLOW_TEMPLATE = ResourceKind("argoproj.io", "v1alpha1", "WorkflowTemplate", "workflowtemplates")
OURS = {"name": "koord-queue-suspend", "suspend": {}}
PAUSE = {"name": "pause", "suspend": {}}
WORK = {"name": "work", "container": {"image": "busybox", "command": ["true"]}}
FAILING = {**WORK, "name": "fails", "metadata": {"annotations": {"fail-after": "0s"}}}
ONCE = {"name": "main", "steps": [[{"name": "only", "template": "work"}]]}


def workflow(
    name: str,
    namespace: str,
    quota: str = "",
    *,
    templates: Sequence[Mapping[str, Any]] = (WORK, ONCE),
    annotations: Mapping[str, str] | None = None,
    run_for: str = "0s",
    **spec: Any,
) -> Object:
    """Of these templates, `main` first; it needs 2 cpu."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {keys.QUOTA_LABEL: quota} if quota else {},
            "annotations": {"koord-queue/min-resources": "cpu: 2", **(annotations or {})},
        },
        "spec": {
            "entrypoint": "main",
            "podMetadata": {"annotations": {"run-for": run_for}},
            "templates": [dict(each) for each in templates],
            **spec,
        },
    }


def one_after_another(*steps: str) -> Object:
    """The template `main`: steps of these templates."""
    made = [
        [{"name": f"step-{number}", "template": each}] for number, each in enumerate(steps, start=1)
    ]
    return {"name": "main", "steps": made}


def node_phases(job: Object) -> dict[str, str]:
    """The phase of each node that is no group, by its name in the flow."""
    nodes = job.get("status", {}).get("nodes", {}).values()
    return {
        each["displayName"]: each["phase"] for each in nodes if each["displayName"][0] not in "[("
    }
