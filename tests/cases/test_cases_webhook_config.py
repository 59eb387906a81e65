"""The shipped webhook configuration, evaluated as an API server does: cases A2, A4, A7 and N5."""

from collections.abc import Mapping
from typing import Any

import pytest
from manifest_files import BASE, objects

NAME = "kubernetes.io/metadata.name"


def hooks() -> list[Any]:
    found: list[Any] = [
        hook
        for each in objects(BASE)
        if each["kind"] in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        for hook in each["webhooks"]
    ]
    assert found
    return found


def is_listed(entries: list[str], value: str) -> bool:
    return "*" in entries or value in entries


def rule_matches(rule: Mapping[str, Any], operation: str, group: str, resource: str) -> bool:
    """By the API server's rules: `*` and `*/*` name all, `jobs` names no subresource."""
    plural, slash, part = resource.partition("/")
    names = {f"{plural}/{part}", f"*/{part}", f"{plural}/*", "*/*"} if slash else {plural, "*"}
    return (
        is_listed(rule["operations"], operation)
        and is_listed(rule["apiGroups"], group)
        and bool(names & set(rule["resources"]))
    )


def requirement_holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = requirement["key"], requirement.get("values", [])
    match requirement["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def is_called(
    hook: Mapping[str, Any],
    *,
    operation: str = "CREATE",
    group: str = "batch",
    resource: str = "jobs",
    namespace: str = "team-a",
    **labels: str,
) -> bool:
    of_namespace = {NAME: namespace, **{k.replace("__", "/"): v for k, v in labels.items()}}
    selector = hook.get("namespaceSelector", {})
    return any(rule_matches(each, operation, group, resource) for each in hook["rules"]) and all(
        requirement_holds(each, of_namespace) for each in selector.get("matchExpressions", [])
    )


def calls(**request: str) -> bool:
    return any(is_called(each, **request) for each in hooks())


@pytest.mark.parametrize("hook", hooks(), ids=lambda each: each["name"])
def test_a2_dry_runs_may_call_it(hook: Any) -> None:
    assert hook["sideEffects"] in ("None", "NoneOnDryRun")
    assert "v1" in hook["admissionReviewVersions"]


@pytest.mark.parametrize("hook", hooks(), ids=lambda each: each["name"])
def test_a4_rules_list_resources_and_operations_explicitly(hook: Any) -> None:
    for rule in hook["rules"]:
        assert "*" not in "".join(rule["resources"] + rule["apiGroups"] + rule["operations"])
        assert set(rule["operations"]) <= {"CREATE", "UPDATE"}


@pytest.mark.parametrize(
    "request_",
    [
        {"operation": "UPDATE", "resource": "jobs/status"},
        {"operation": "UPDATE", "resource": "jobs/scale"},
        {"operation": "DELETE"},
        {"operation": "CONNECT"},
        {"operation": "UPDATE"},
        {"group": "", "resource": "pods"},
        {"group": "batch", "resource": "cronjobs"},
        {"group": "apps", "resource": "deployments"},
        {"group": "batch.volcano.sh", "resource": "jobs"},
    ],
    ids=str,
)
def test_a4_what_is_not_the_creation_of_a_job_is_not_sent(request_: dict[str, str]) -> None:
    assert not calls(**request_)


def test_a_new_job_is_sent() -> None:
    """Else all tests of what is not sent would say nothing."""
    assert calls()
    assert calls(namespace="default", **{"koord-queue__managed": "true"})


@pytest.mark.parametrize("name", ["kube-system", "kube-public", "kube-node-lease", "koord-queue"])
@pytest.mark.parametrize("label", [{}, {"koord-queue__managed": "true"}], ids=["plain", "opted in"])
def test_a7_n5_jobs_of_the_system_and_of_the_queue_itself_are_not_sent(
    name: str, label: dict[str, str]
) -> None:
    assert not calls(namespace=name, **label)


def test_a7_jobs_of_an_unmanaged_namespace_are_not_sent() -> None:
    assert not calls(namespace="batch-free", **{"koord-queue__managed": "false"})


@pytest.mark.parametrize("hook", hooks(), ids=lambda each: each["name"])
def test_n5_an_outage_blocks_nobody_for_long(hook: Any) -> None:
    assert hook["timeoutSeconds"] <= 10
    assert hook["failurePolicy"] == "Ignore"
