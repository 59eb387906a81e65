"""The webhook's mutation, over HTTPS: cases A1 to A9 for Jobs, and N1's first half."""

import copy
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from case_hook import Hook, hooked
from reviews import QUOTA_LABEL, a_job, a_review, applied, held

from kq.core.kinds import NAMESPACE
from kq.settings import BypassSettings, JobSettings, Settings
from kq.settings.sections import SecuritySettings, WebhookSettings

ALL = "label,pod-labels,suspend"
NO_DRAIN = WebhookSettings(terminationDrainSeconds=0)


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """The webhook with its defaults."""
    with hooked(tmp_path_factory.mktemp("tls"), Settings(webhook=NO_DRAIN)) as running:
        yield running


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """One where namespaces opt in, and bob may bypass."""
    settings = Settings(
        webhook=NO_DRAIN,
        jobs=JobSettings(namespaces="labelled", defaultQuota="team-a"),
        security=SecuritySettings(bypass=BypassSettings(enabled=True, users=("bob",))),
    )
    with hooked(tmp_path_factory.mktemp("tls"), settings) as running:
        yield running


def is_untouched(hook: Hook, review: dict[str, Any]) -> bool:
    """Allowed, without a patch and without a word."""
    return hook.post(review)["response"] == {"uid": review["request"]["uid"], "allowed": True}


def job_with(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    job = a_job(**metadata)
    return {**job, "spec": {**job["spec"], **spec}}


# -- A1


METADATA = [
    pytest.param({}, id="a: no labels key"),
    pytest.param({"labels": {}}, id="b: empty"),
    pytest.param({"labels": {"app.example.com/tier": "x", "a~b": "y"}}, id="c: odd keys"),
    pytest.param({"labels": None}, id="null"),
    pytest.param({"labels": {"a/b~c": "", "a~1b": "1", "a~0b": "0"}}, id="keys that look escaped"),
    pytest.param({"annotations": {}}, id="annotations: empty"),
    pytest.param({"annotations": None, "labels": None}, id="both null"),
    pytest.param({"annotations": {"x.y/z~": "{\"a\": \"/~\"}"}}, id="annotations: odd keys"),
    pytest.param({"labels": {QUOTA_LABEL: ""}}, id="an empty quota label"),
    pytest.param({"labels": {"ключ": "значение"}}, id="not ASCII"),
]  # fmt: skip
TEMPLATES = [
    pytest.param(None, id="template without metadata"),
    pytest.param({}, id="template with empty metadata"),
    pytest.param({"labels": None}, id="template with null labels"),
    pytest.param({"labels": {"a/b~c": "d"}}, id="template with labels"),
    pytest.param({"annotations": {"a": "b"}}, id="template with annotations"),
]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("metadata", METADATA)
def test_a1_labels_absent_empty_and_with_slashes_survive(
    hook: Hook, metadata: dict[str, Any], template: Any
) -> None:
    job = a_job(**metadata)
    if template is not None:
        job["spec"]["template"]["metadata"] = template
    stored = hook.stored(a_review(job))
    assert stored == held(job, ALL)
    assert stored["spec"]["suspend"] is True
    assert stored["metadata"]["labels"][QUOTA_LABEL] == "team-a"


# -- A2


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_a2_a_dry_run_has_the_same_answer_and_writes_nothing(hook: Hook, operation: str) -> None:
    asked = partial(a_review, operation=operation)
    dry, wet = hook.post(asked(dryRun=True)), hook.post(asked(dryRun=False))
    assert dry["response"].keys() == wet["response"].keys()
    assert hook.stored(asked(dryRun=True)) == hook.stored(asked(dryRun=False))
    assert [each.short for each in hook.api.asked if each.is_write] == []


# -- A3


UPDATES = [
    pytest.param({"metadata": {"annotations": {"foo": "bar"}}}, id="annotation"),
    pytest.param({"metadata": {"labels": {"foo": "bar"}}}, id="label"),
    pytest.param({"metadata": {"finalizers": ["x/y"]}}, id="finalizer"),
    pytest.param({"spec": {"parallelism": 3}}, id="scaled"),
    pytest.param({"metadata": {"deletionTimestamp": "2026-03-01T12:00:00Z"}}, id="being deleted"),
    pytest.param({"metadata": {"labels": {QUOTA_LABEL: "team-b"}}}, id="quota label"),
]


@pytest.mark.parametrize("was_held", [False, True], ids=["admitted", "released just now"])
@pytest.mark.parametrize("change", UPDATES)
def test_a3_an_update_of_an_admitted_job_does_not_suspend_it_again(
    hook: Hook, change: dict[str, Any], was_held: bool
) -> None:
    old = job_with({"suspend": was_held}, labels={QUOTA_LABEL: "team-a"})
    new = copy.deepcopy(old)
    new["spec"]["suspend"] = False
    for part, values in change.items():
        new[part] |= values
    assert is_untouched(hook, a_review(new, operation="UPDATE", oldObject=old))


# -- A4


SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "j1"}, "spec": {}}
SCALE_KIND = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
OTHERS = [
    pytest.param({"operation": "UPDATE", "subResource": "status"}, id="UPDATE jobs/status"),
    pytest.param({"operation": "CREATE", "subResource": "status"}, id="CREATE jobs/status"),
    pytest.param(
        {"operation": "UPDATE", "subResource": "scale", "object": SCALE, "kind": SCALE_KIND},
        id="UPDATE tfjobs/scale",
    ),
    pytest.param(
        {"operation": "CREATE", "subResource": "scale", "object": SCALE, "kind": SCALE_KIND},
        id="CREATE scale",
    ),
    pytest.param({"operation": "DELETE", "object": None, "oldObject": a_job()}, id="DELETE"),
    pytest.param({"operation": "DELETE", "object": None, "oldObject": None}, id="DELETE of many"),
    pytest.param({"operation": "CONNECT", "object": None}, id="CONNECT"),
    pytest.param(
        {"operation": "CONNECT", "subResource": "proxy", "object": {"kind": "NodeProxyOptions"}},
        id="CONNECT with options",
    ),
    pytest.param({"object": None}, id="CREATE without an object"),
    pytest.param({"operation": "PATCH"}, id="an operation that does not exist"),
]


@pytest.mark.parametrize("request_", OTHERS)
def test_a4_subresources_and_other_operations_pass(hook: Hook, request_: dict[str, Any]) -> None:
    assert is_untouched(hook, a_review(**request_))


# -- A5


FIRST = [
    pytest.param(a_job(), id="plain"),
    pytest.param(job_with({"suspend": True}), id="suspended by its user"),
    pytest.param(a_job(labels={QUOTA_LABEL: "team-b"}), id="labelled by its user"),
    pytest.param(a_job(annotations={"koord-queue/injected": "mine"}), id="marked by its user"),
    pytest.param(
        a_job(labels={"alibabacloud.com/quota-name": "team-b"}), id="labelled in another way"
    ),
    pytest.param(job_with({"template": {}}), id="an empty template"),
    pytest.param(job_with({"template": {"metadata": {"labels": None}}}), id="no pod spec"),
]


@pytest.mark.parametrize("job", FIRST)
def test_a5_called_again_on_its_own_output_it_changes_nothing(
    hook: Hook, job: dict[str, Any]
) -> None:
    once = applied(job, hook.post(a_review(job)))
    said = hook.post(a_review(once))["response"]
    assert once["spec"]["suspend"] is True
    assert "patch" not in said
    assert "patchType" not in said


def test_a5_what_another_webhook_did_in_between_stays(hook: Hook) -> None:
    once = applied(a_job(), hook.post(a_review()))
    once["spec"]["template"]["spec"]["containers"].append({"name": "sidecar", "image": "proxy"})
    once["metadata"]["labels"]["other/webhook"] = "was here"
    assert applied(once, hook.post(a_review(once))) == once


# -- A6 and N1: children, and those who claim to be


def owner(api: str, kind: str, controller: Any = True, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": api, "kind": kind, "name": "p", "uid": "u1", "controller": controller, **more
    }  # fmt: skip


CHILDREN = [
    pytest.param([owner("kubeflow.org/v2beta1", "MPIJob")], id="launcher of an MPIJob"),
    pytest.param([owner("kubeflow.org/v1", "MPIJob")], id="launcher of an older MPIJob"),
    pytest.param([owner("ray.io/v1", "RayJob")], id="submitter of a RayJob"),
    pytest.param([owner("ray.io/v1", "RayCluster")], id="Job of a RayCluster"),
    pytest.param([owner("jobset.x-k8s.io/v1alpha2", "JobSet")], id="Job of a JobSet"),
    pytest.param(
        [owner("v1", "ConfigMap", False), owner("ray.io/v1", "RayJob", blockOwnerDeletion=True)],
        id="its controller is the second owner",
    ),
]
NO_CHILDREN = [
    pytest.param([owner("batch/v1", "CronJob")], id="of a CronJob"),
    pytest.param([owner("ray.io/v1", "RayJob", False)], id="N1: controller false"),
    pytest.param([owner("ray.io/v1", "RayJob", None)], id="N1: controller null"),
    pytest.param([owner("ray.io/v1", "RayService")], id="RayService makes no Jobs"),
    pytest.param([owner("ray.io.evil.example/v1", "RayJob")], id="a group that looks alike"),
    pytest.param([owner("v1", "RayJob")], id="no group"),
    pytest.param([owner("apps/v1", "Deployment")], id="of a Deployment"),
    pytest.param([], id="no owner"),
    pytest.param(None, id="null"),
]


@pytest.mark.parametrize("owners", CHILDREN)
def test_a6_a_child_of_a_job_is_left_alone(hook: Hook, owners: list[Any]) -> None:
    job = job_with({"suspend": False}, ownerReferences=owners)
    assert is_untouched(hook, a_review(job))


@pytest.mark.parametrize("owners", NO_CHILDREN)
def test_a6_n1_a_job_that_is_nobodys_child_is_held(hook: Hook, owners: Any) -> None:
    job = a_job(ownerReferences=owners)
    assert hook.stored(a_review(job)) == held(job, ALL)


# -- A7


LABELS = [
    pytest.param({}, id="no label"),
    pytest.param({QUOTA_LABEL: "team-a"}, id="with a quota label"),
    pytest.param({QUOTA_LABEL: "team-b"}, id="with another"),
]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ["kube-system", "koord-queue", "kube-public", "kube-node-lease"])
def test_a7_namespaces_of_the_system_stay_untouched(
    hook: Hook, name: str, labels: dict[str, str]
) -> None:
    assert is_untouched(hook, a_review(a_job(labels=labels), namespace=name))


@pytest.mark.parametrize("labels", LABELS)
def test_a7_an_unmanaged_namespace_stays_untouched_until_its_label_changes(
    hook: Hook, labels: dict[str, str]
) -> None:
    name = f"batch-free-{labels.get(QUOTA_LABEL, 'none')}"
    review = a_review(a_job(labels=labels), namespace=name)
    quota = {"quota.scheduling.koordinator.sh__name": "team-a"}
    hook.does(lambda: hook.namespace(name, **quota, **{"koord-queue__managed": "false"}))
    hook.until(lambda: is_untouched(hook, review))
    managed = {"metadata": {"labels": {"koord-queue/managed": None}}}
    hook.does(lambda: hook.api.edit(NAMESPACE, name, managed))
    hook.until(lambda: not is_untouched(hook, review))
    expected = labels.get(QUOTA_LABEL, "team-a")
    assert hook.stored(review)["metadata"]["labels"] == {QUOTA_LABEL: expected}
    assert hook.stored(review)["spec"]["suspend"] is True


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("value", [None, "false", "no", "True", ""], ids=repr)
def test_a7_where_namespaces_opt_in_all_others_stay_untouched(
    strict: Hook, value: str | None, labels: dict[str, str]
) -> None:
    name = f"ours-{value}-{labels.get(QUOTA_LABEL)}".lower()
    review = a_review(a_job(labels=labels), namespace=name)
    named = {} if value is None else {"koord-queue__managed": value}
    strict.does(lambda: strict.namespace(name, **named))
    assert is_untouched(strict, review)
    opted = {"metadata": {"labels": {"koord-queue/managed": "true"}}}
    strict.does(lambda: strict.api.edit(NAMESPACE, name, opted))
    strict.until(lambda: not is_untouched(strict, review))


# -- A8


KINDS = [
    pytest.param("ray.io", "v1alpha1", "RayJob", id="RayJob v1alpha1, not served here"),
    pytest.param("sparkoperator.k8s.io", "v1beta2", "SparkApplication", id="SparkApplication"),
    pytest.param("foo.example", "v1", "Foo", id="Foo, by a wrong rule"),
    pytest.param("", "v1", "Pod", id="Pod"),
    pytest.param("batch", "v1", "CronJob", id="CronJob"),
    pytest.param("batch.volcano.sh", "v1alpha1", "Job", id="a Job of another group"),
    pytest.param("", "v1", "Job", id="a Job of the core group"),
]


@pytest.mark.parametrize(("group", "version", "kind"), KINDS)
def test_a8_kinds_that_are_not_known_pass_unchanged(
    hook: Hook, group: str, version: str, kind: str
) -> None:
    gvk = {"group": group, "version": version, "kind": kind}
    api = f"{group}/{version}".lstrip("/")
    foreign = {**job_with({"suspend": False}), "apiVersion": api, "kind": kind}
    assert is_untouched(hook, a_review(foreign, kind=gvk, requestKind=gvk))


def test_a8_a_job_passes_while_the_batch_integration_is_switched_off(tmp_path: Path) -> None:
    settings = Settings(webhook=NO_DRAIN, jobs=JobSettings(enabled=()))
    with hooked(tmp_path, settings) as hook:
        assert is_untouched(hook, a_review())
        assert is_untouched(hook, a_review(a_job(labels={QUOTA_LABEL: "team-a"})))


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v2"])
def test_a8_a_job_is_held_in_whatever_version_it_comes(hook: Hook, version: str) -> None:
    gvk = {"group": "batch", "version": version, "kind": "Job"}
    job = {**a_job(), "apiVersion": f"batch/{version}"}
    assert hook.stored(a_review(job, kind=gvk)) == held(job, ALL)


# -- A9


SWITCHES = [
    pytest.param({}, ALL, id="absent"),
    pytest.param({"suspend": False}, ALL, id="false"),
    pytest.param({"suspend": True}, "label,pod-labels", id="true"),
    pytest.param({"suspend": None}, ALL, id="null"),
]
SPECS = [
    pytest.param({}, id="plain"),
    pytest.param({"completionMode": "Indexed", "completions": 5, "parallelism": 2}, id="Indexed"),
    pytest.param({"parallelism": 0}, id="no pods"),
    pytest.param({"runPolicy": {"suspend": False}}, id="with the switch of another kind"),
]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("switch", "injected"), SWITCHES)
def test_a9_the_stored_job_is_suspended_and_has_no_second_switch(
    hook: Hook, switch: dict[str, Any], injected: str, spec: dict[str, Any]
) -> None:
    job = job_with({**switch, **spec})
    stored = hook.stored(a_review(job))
    assert stored == held(job, injected)
    assert stored["spec"].keys() == job["spec"].keys() | {"suspend"}


# -- neighbours: who may pass, and what others must not write


def test_the_manager_itself_is_never_held(hook: Hook) -> None:
    manager = {"username": "system:serviceaccount:koord-queue:koord-queue"}
    assert is_untouched(hook, a_review(userInfo=manager))


def test_a_bypass_that_nobody_permitted_is_held(strict: Hook) -> None:
    job = a_job(annotations={"koord-queue/bypass": "true"})
    strict.does(lambda: strict.namespace("bypassing", **{"koord-queue__managed": "true"}))
    asked = partial(a_review, job, namespace="bypassing")
    strict.until(lambda: strict.stored(asked()) == held(job, ALL))
    let_in = strict.stored(asked(userInfo={"username": "bob"}))
    assert let_in["metadata"]["annotations"]["koord-queue/bypassed-by"] == "bob"
    assert "suspend" not in let_in["spec"]
