"""The webhook's mutation of every kind: cases A1 to A9, N1 and N2 beyond Jobs."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from case_kinds import (
    ENABLED,
    KINDS,
    SUSPEND,
    Job,
    Kind,
    a_job,
    answer,
    at,
    held,
    is_untouched,
    look,
    stored,
)
from reviews import QUOTA_LABEL, FakeWorld, namespace

from kq.jobs.children import MAKERS, claimed_maker
from kq.settings import JobSettings, Settings
from kq.settings.sections import WebhookSettings
from kq.sim.crds.definitions import Variant, job_kinds

of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
BY_ID = {each.id: each for each in KINDS}
W9 = "held by koord-queue until quota team-a allows; see kubectl describe queueunit j1"

# -- A1: labels absent, empty and odd


METADATA: list[dict[str, Any]] = [
    {},
    {"labels": {}},
    {"labels": {"app.example.com/tier": "x", "a~b": "y"}},
    {"labels": None, "annotations": None},
    {"annotations": {"x.y/z~": '{"a": "/~"}'}},
    {"labels": {QUOTA_LABEL: ""}},
]


@of_every_kind
def test_a1_labels_absent_empty_and_odd_survive(kind: Kind) -> None:
    """Case A1, spec 6.2, 6.4: the whole object is compared."""
    for metadata in METADATA:
        job = a_job(kind, **metadata)
        assert stored(kind, job) == held(kind, job)


ON_PODS: list[Any] = [
    None,
    {},
    {"labels": None},
    {"labels": {"a/b~c": "d"}},
    {"annotations": {"a": "b"}},
]


@of_every_kind
def test_a1_pod_templates_with_and_without_metadata(kind: Kind) -> None:
    """Case A1, spec 6.6."""
    for metadata in ON_PODS:
        job = a_job(kind)
        for *above, last in kind.templates:
            if kind.key == "sparkapp":
                at(job, (*above, last)).update(metadata or {})
            else:
                at(job, tuple(above))[last] = copy.deepcopy(metadata)
        assert stored(kind, job) == held(kind, job)


# -- A2: dry run


@of_every_kind
def test_a2_a_dry_run_has_the_same_answer(kind: Kind) -> None:
    """Case A2."""
    assert answer(kind, dryRun=True) == answer(kind, dryRun=False)


# -- A3, A4: updates, subresources and other operations


UPDATES: list[dict[str, Any]] = [
    {"metadata": {"annotations": {"foo": "bar"}}},
    {"metadata": {"finalizers": ["x/y"], "deletionTimestamp": "2026-03-01T12:00:00Z"}},
    {"metadata": {"labels": {QUOTA_LABEL: "team-b"}}},
    {"spec": {"replicas": 3, "parallelism": 3}},
    {"status": {"conditions": [{"type": "Running", "status": "True"}], "phase": "Running"}},
]


@of_every_kind
def test_a3_an_update_of_an_admitted_job_does_not_suspend_it_again(kind: Kind) -> None:
    """Case A3, spec 6.1: CREATE only."""
    old = a_job(kind, switch=False, labels={QUOTA_LABEL: "team-a"})
    for change in UPDATES:
        new = copy.deepcopy(old)
        for part, values in change.items():
            new.setdefault(part, {}).update(values)
        assert is_untouched(answer(kind, new, operation="UPDATE", oldObject=old))


SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "j1"}, "spec": {}}
OTHERS: list[dict[str, Any]] = [
    {"operation": "UPDATE", "subResource": "status"},
    {"subResource": "status"},
    {"operation": "UPDATE", "subResource": "scale", "object": SCALE},
    {"operation": "DELETE", "object": None, "oldObject": {}},
    {"operation": "CONNECT", "object": None},
    {"object": None},
]


@of_every_kind
def test_a4_subresources_and_other_operations_pass(kind: Kind) -> None:
    """Case A4, spec 6.8."""
    for request in OTHERS:
        assert is_untouched(answer(kind, **request))


# -- A5: called again


@of_every_kind
@pytest.mark.parametrize("switch", [..., True, False], ids=["absent", "true", "false"])
def test_a5_called_again_on_its_own_output_it_changes_nothing(kind: Kind, switch: Any) -> None:
    """Case A5, spec 6.5."""
    once = stored(kind, a_job(kind, switch=switch))
    assert answer(kind, once).operations == []
    names = [each["name"] for each in once["spec"].get("templates", [])]
    assert names.count("koord-queue-suspend") == (kind.kind == "Workflow")


@of_every_kind
def test_a5_an_operator_that_fills_in_between_does_not_make_it_come_again(kind: Kind) -> None:
    """Case A5: what others add stays, and what they undo of the hold comes back alone."""
    once = stored(kind, a_job(kind))
    once["metadata"]["labels"]["other/webhook"] = "was here"
    once["spec"]["other"] = {"webhook": ["was", {"here": None}]}
    assert stored(kind, once) == once
    undone = copy.deepcopy(once)
    if kind.switch:
        *above, last = kind.switch
        at(undone, tuple(above))[last] = False
    assert stored(kind, undone) == once


# -- A6, N1: children, and those who claim to be


def owned(group: str, owner: str, **more: Any) -> dict[str, Any]:
    named = {"apiVersion": f"{group}/v1", "kind": owner, "name": "p", "uid": "u1"}
    return {"ownerReferences": [{**named, "controller": True, **more}]}


TABLE = {
    "RayJob": ("ray.io", {"RayCluster", "Job"}),
    "RayService": ("ray.io", {"RayCluster"}),
    "MPIJob": ("kubeflow.org", {"Job"}),
    "JobSet": ("jobset.x-k8s.io", {"Job"}),
    "RayCluster": ("ray.io", {"Job"}),
    "TrainJob": ("trainer.kubeflow.org", {"JobSet"}),
    "Workflow": ("argoproj.io", {each.kind for each in KINDS}),
    "TrainingJob": ("kai.alibabacloud.com", {each.kind for each in KINDS}),
}
"""Spec 5.6, as it stands there."""


def test_a6_the_table_of_makers_is_whole() -> None:
    """Spec 5.6."""
    assert {(group, owner) for owner, (group, _) in TABLE.items()} == set(MAKERS)


@of_every_kind
def test_a6_a_child_by_the_table_is_left_alone_and_no_other(kind: Kind) -> None:
    """Case A6, spec 5.6: each kind as a child of each maker, true to the table."""
    for owner, (group, children) in TABLE.items():
        job = a_job(kind, switch=False, **owned(group, owner))
        if kind.kind in children:
            assert is_untouched(answer(kind, job)), owner
        else:
            assert stored(kind, job) == held(kind, job), owner


CLAIMS: list[Job] = [
    {"controller": False},
    {"controller": None},
    {"controller": "true"},
    {"apiVersion": "evil.example/v1"},
    {"apiVersion": None},
    {"kind": ["RayJob"]},
]


@of_every_kind
def test_n1_a_false_claim_is_held_at_once(kind: Kind) -> None:
    """Case N1, spec 5.6a."""
    for owner, (group, _) in TABLE.items():
        for claim in CLAIMS:
            job = a_job(kind, **owned(group, owner, **claim))
            assert stored(kind, job) == held(kind, job), (owner, claim)


SUBMITTERS = {
    "CronJob": "batch",
    "CronWorkflow": "argoproj.io",
    "RayCronJob": "ray.io",
    "ScheduledSparkApplication": "sparkoperator.k8s.io",
    "Cron": "apps.kubedl.io",
    "Deployment": "apps",
    "ReplicaSet": "apps",
}


@of_every_kind
def test_a6_what_only_submits_makes_no_child(kind: Kind) -> None:
    """Case A6, spec 5.8: Crons of every sort."""
    for owner, group in SUBMITTERS.items():
        job = a_job(kind, **owned(group, owner))
        assert stored(kind, job) == held(kind, job)
        assert claimed_maker(ENABLED[kind.group, kind.kind].view(job)) is None


@of_every_kind
def test_a6_labels_make_no_child(kind: Kind) -> None:
    """Spec 5.6a."""
    labels = {"ray.io/cluster": "c", "jobset.sigs.k8s.io/jobset-name": "s"}
    job = a_job(kind, labels={**labels, "workflows.argoproj.io/workflow": "w"})
    assert stored(kind, job) == held(kind, job)


# -- A7: namespaces


UNMANAGED = ("kube-system", "kube-public", "kube-node-lease", "koord-queue", "free", "given-up")


@of_every_kind
def test_a7_namespaces_that_are_not_managed_stay_untouched(kind: Kind) -> None:
    """Case A7, spec 5.2: neither label nor hold."""
    free = {"free": namespace("free", **{"koord-queue__managed": "false"})}
    mapped = dict.fromkeys(UNMANAGED, "team-a")
    world = FakeWorld(namespaces=free, mapped=mapped)
    settings = Settings(jobs=JobSettings(excludedNamespaces=("given-up",)))
    for labels in ({}, {QUOTA_LABEL: "team-a"}):
        job = a_job(kind, labels=labels)
        for place in UNMANAGED:
            asked = {"world": world, "settings": settings, "namespace": place}
            assert is_untouched(answer(kind, job, **asked)), place
        opened = FakeWorld(mapped=mapped)
        assert stored(kind, job, world=opened, namespace="free") == held(kind, job)


# -- A8: versions and kinds


@of_every_kind
def test_a8_a_kind_that_is_switched_off_passes_unchanged(kind: Kind) -> None:
    """Case A8, spec 6.8: whatever else is on."""
    others = {key: each for key, each in ENABLED.items() if key != (kind.group, kind.kind)}
    assert is_untouched(answer(kind, a_job(kind, labels={QUOTA_LABEL: "a"}), enabled=others))


@of_every_kind
def test_a8_a_job_is_held_in_whatever_version_it_comes(kind: Kind) -> None:
    """Case A8, spec 6.1 (matchPolicy Equivalent); MPIJob v1alpha1 alone has another shape."""
    for version in ("v1", "v1beta1", "v2", "v1alpha1", "v1alpha9"):
        shape = kind
        if kind.kind == "MPIJob":
            shape = BY_ID[f"MPIJob-{'v1alpha1' if version == 'v1alpha1' else 'v1'}"]
        job = {**a_job(shape), "apiVersion": f"{kind.group}/{version}"}
        gvk = {"group": kind.group, "version": version, "kind": kind.kind}
        assert stored(kind, job, kind=gvk) == held(shape, job), version


@of_every_kind
def test_a8_a_kind_of_the_same_name_in_another_group_passes_unchanged(kind: Kind) -> None:
    """Case A8."""
    for group in ("", "example.com", "batch.volcano.sh", "kubeflow.org.evil"):
        gvk = {"group": group, "version": "v1", "kind": kind.kind}
        job = {**a_job(kind), "apiVersion": f"{group}/v1".lstrip("/")}
        assert is_untouched(answer(kind, job, kind=gvk, requestKind=gvk))


# -- A9: really suspended


@of_every_kind
@pytest.mark.parametrize(
    "switch", [..., False, True, None], ids=["absent", "false", "true", "null"]
)
def test_a9_the_stored_job_is_suspended_and_has_no_foreign_switch(kind: Kind, switch: Any) -> None:
    """Case A9, spec 8.3: the whole object is compared."""
    job = a_job(kind, switch=switch)
    done = stored(kind, job)
    assert done == held(kind, job)
    if kind.switch:
        assert look(done, kind.switch) is True
    assert ("suspend" in done["spec"]) is (kind.switch == ("spec", "suspend"))
    assert ("runPolicy" in done["spec"]) is ("runPolicy" in kind.switch)
    assert (SUSPEND in done["metadata"]["annotations"]) is kind.annotated
    assert ENABLED[kind.group, kind.kind].view(done).suspended


@of_every_kind
def test_a9_a_switch_that_is_no_boolean_holds_nothing_and_is_set(kind: Kind) -> None:
    """Case A9: the kinds' own API servers refuse it, ours must not trust it."""
    for odd in ("true", 1, 0, "", [], {}):
        job = a_job(kind, annotations={} if kind.switch else {SUSPEND: str(odd)[:1]})
        if kind.switch:
            *above, last = kind.switch
            at(job, tuple(above))[last] = odd
        assert stored(kind, job) == held(kind, job), odd


KEEPS_ALL = "x-kubernetes-preserve-unknown-fields"


@cache
def schemas() -> dict[tuple[str, str], Any]:
    """The specs of all kinds as the CRDs of their operators describe them, by version and kind."""
    known = {
        (f"{crd['spec']['group']}/{each['name']}", crd["spec"]["names"]["kind"]): each["schema"]
        for crd in (*job_kinds(Variant.ARENA), *job_kinds(Variant.TRAINING), *job_kinds())
        for each in crd["spec"]["versions"]
    }
    return {key: each["openAPIV3Schema"]["properties"]["spec"] for key, each in known.items()}


def known_to(schema: dict[str, Any], value: Any, way: str = "spec") -> Iterator[str]:
    """What of a value its schema would drop."""
    if schema.get(KEEPS_ALL):
        return
    if isinstance(value, list):
        for each in value:
            yield from known_to(schema.get("items", {}), each, f"{way}[]")
    if not isinstance(value, dict):
        return
    further = schema.get("additionalProperties")
    for key, each in value.items():
        inner = schema.get("properties", {}).get(key, further)
        if inner is None:
            yield f"{way}.{key}"
        elif isinstance(inner, dict):
            yield from known_to(inner, each, f"{way}.{key}")


@pytest.mark.parametrize("kind", [each for each in KINDS if each.key != "job"], ids=lambda k: k.id)
def test_a9_what_is_written_is_where_the_kinds_own_definition_has_it(kind: Kind) -> None:
    """Case A9: nothing of a held job is dropped by its CRD, and its switch is a boolean there."""
    assert list(known_to(schemas()[kind.api, kind.kind], stored(kind, a_job(kind))["spec"])) == []
    here: dict[str, Any] = {"properties": {"spec": schemas()[kind.api, kind.kind]}}
    for each in kind.switch:
        here = here.get("properties", {}).get(each, here)
    assert not kind.switch or here["type"] == "boolean" or KEEPS_ALL in here


# -- N2: the label of somebody else's quota


@of_every_kind
def test_n2_templates_that_name_another_quota_than_their_job_are_put_right(kind: Kind) -> None:
    """Case N2, spec 6.6: scheduler and queue charge the same quota, and W7 says so."""
    job = a_job(kind)
    for way in kind.templates:
        at(job, (*way, "labels"))[QUOTA_LABEL] = "team-b-prod"
    done = stored(kind, job)
    assert done == held(kind, job)
    warned = [each for each in answer(kind, job).warnings if "quota label" in each]
    assert len(warned) == min(len(kind.templates), len(kind.pods))
    assert all("from team-b-prod to team-a" in each for each in warned)


@of_every_kind
def test_n2_a_label_of_the_job_is_kept_and_its_templates_follow(kind: Kind) -> None:
    """Case N2: whether the namespace may use it is the manager's to say (M5)."""
    job = a_job(kind, labels={QUOTA_LABEL: "team-b-prod"})
    assert stored(kind, job) == held(kind, job, "team-b-prod")


@of_every_kind
def test_n2_templates_are_left_alone_where_that_is_switched_off(kind: Kind) -> None:
    """Spec 6.6."""
    settings = Settings(webhook=WebhookSettings(labelPodTemplates=False))
    job = a_job(kind)
    done = stored(kind, job, settings=settings)
    for way in kind.templates:
        assert QUOTA_LABEL not in (look(done, (*way, "labels")) or {})


# -- who is told what


@of_every_kind
def test_a_person_is_told_under_which_name_its_job_waits(kind: Kind) -> None:
    """Spec 6.2a, 8.1: the suffix of the unit's name is that of the kind."""
    assert answer(kind).warnings == (f"{W9}{kind.suffix}",)
    machine = {"username": "system:serviceaccount:ci:runner"}
    assert answer(kind, userInfo=machine).warnings == ()
