import copy
import json
from typing import Any

import pytest
from msgspec.structs import replace
from reviews import (
    ENABLED,
    NOW,
    QUOTA_LABEL,
    UID,
    FakeWorld,
    a_job,
    answer,
    asked,
    held,
    namespace,
    stored,
)

from kq.core import keys
from kq.errors import DecodeError
from kq.settings import BypassSettings, JobSettings, Settings
from kq.settings.sections import SecuritySettings, WebhookSettings
from kq.webhook.mutate import mutate
from kq.webhook.review import allowed, encode

W9 = "held by koord-queue until quota team-a allows; see kubectl describe queueunit j1"
ALL = "label,pod-labels,suspend"


def bypass(*users: str, groups: tuple[str, ...] = (), enabled: bool = True) -> Settings:
    return Settings(
        security=SecuritySettings(
            bypass=BypassSettings(enabled=enabled, users=users, groups=groups)
        )
    )


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({}, id="A1 a: no labels"),
        pytest.param({"labels": {}}, id="A1 b: empty labels"),
        pytest.param({"labels": {"app.example.com/tier": "x", "a~b": "y"}}, id="A1 c: odd keys"),
        pytest.param({"labels": None, "annotations": None}, id="null maps"),
        pytest.param({"annotations": {"other/~key": "1"}}, id="annotations of others"),
    ],
)
def test_a_job_is_held_and_marked_and_nothing_else_changes(metadata: dict[str, Any]) -> None:
    job = a_job(**metadata)
    response = answer(job)
    assert stored(job, response) == held(job, ALL)
    assert response.warnings == (W9,)


def test_operations_come_in_the_order_of_the_spec() -> None:
    paths = [each["path"] for each in answer(a_job(labels={}, annotations={})).operations]
    assert paths == [
        "/spec/suspend",
        "/metadata/labels/quota.scheduling.koordinator.sh~1name",
        "/metadata/annotations/koord-queue~1job-has-enqueued",
        "/metadata/annotations/koord-queue~1job-enqueue-timestamp",
        "/metadata/annotations/koord-queue~1injected",
        "/spec/template/metadata",
        "/spec/template/metadata/labels",
        "/spec/template/metadata/labels/quota.scheduling.koordinator.sh~1name",
    ]


def test_its_own_output_stays_as_it_is() -> None:
    job = stored(a_job(), answer(a_job()))
    again = answer(job)
    assert again.operations == []
    assert json.loads(encode(again))["response"].keys() == {"uid", "allowed", "warnings"}


def test_a_hold_that_somebody_undid_comes_back_and_marks_stay() -> None:
    job = stored(a_job(), answer(a_job()))
    job["spec"]["suspend"] = False
    assert stored(job, answer(job)) == held(a_job(), ALL)


@pytest.mark.parametrize("suspend", [False, None], ids=["false", "null"])
def test_a_job_that_is_not_suspended_becomes_so(suspend: Any) -> None:
    job = a_job()
    job["spec"]["suspend"] = suspend
    assert stored(job, answer(job)) == held(job, ALL)


def test_what_the_user_wrote_is_not_named_as_injected() -> None:
    job = a_job(labels={QUOTA_LABEL: "team-b"})
    job["spec"]["suspend"] = True
    assert stored(job, answer(job)) == held(job, "pod-labels", "team-b")
    job["spec"]["template"]["metadata"] = {"labels": {QUOTA_LABEL: "team-b"}}
    assert stored(job, answer(job)) == held(job, "", "team-b")


def test_present_marks_keep_their_values() -> None:
    marks = {
        "koord-queue/job-has-enqueued": "yes",
        "koord-queue/job-enqueue-timestamp": "2020-01-01T00:00:00Z",
        "koord-queue/injected": "mine",
    }
    job = a_job(annotations=marks)
    assert stored(job, answer(job))["metadata"]["annotations"] == marks


def test_dry_run_gives_the_same_answer() -> None:
    assert answer(dryRun=True).operations == answer().operations


def test_a_generated_name_is_not_explained() -> None:
    job = a_job()
    del job["metadata"]["name"]
    job["metadata"]["generateName"] = "j-"
    response = answer(job, name="")
    assert stored(job, response) == held(job, ALL)
    assert response.warnings == ("held by koord-queue until quota team-a allows",)


def test_the_namespace_is_that_of_the_request() -> None:
    job = a_job(namespace="elsewhere")
    assert stored(job, answer(job)) == held(job, ALL)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"operation": "UPDATE"}, id="A3 UPDATE"),
        pytest.param({"operation": "UPDATE", "subResource": "status"}, id="A4 jobs/status"),
        pytest.param({"subResource": "scale"}, id="A4 scale"),
        pytest.param({"operation": "DELETE", "object": None}, id="A4 DELETE"),
        pytest.param({"operation": "CONNECT", "object": None}, id="A4 CONNECT"),
        pytest.param({"object": None}, id="object null"),
        pytest.param({"kind": {"group": "", "version": "v1", "kind": "Foo"}}, id="A8 Foo"),
        pytest.param({"kind": {"group": "ray.io", "version": "v1", "kind": "Job"}}, id="A8 group"),
        pytest.param({"namespace": "kube-system"}, id="A7 kube-system"),
        pytest.param({"namespace": "koord-queue"}, id="A7 install namespace"),
        pytest.param({"namespace": "batch-free"}, id="A7 unmanaged namespace"),
        pytest.param({"namespace": "nobody"}, id="5.4 no quota"),
        pytest.param(
            {"userInfo": {"username": "system:serviceaccount:koord-queue:koord-queue"}},
            id="6.9 the manager",
        ),
    ],
)
def test_what_is_not_ours_goes_through_untouched(request_: dict[str, Any]) -> None:
    world = FakeWorld(
        namespaces={"batch-free": namespace("batch-free", **{"koord-queue__managed": "false"})},
        mapped={each: "q" for each in ("team-a", "kube-system", "koord-queue", "batch-free")},
    )
    assert answer(world=world, **request_) == allowed(UID)


def test_a_kind_that_is_switched_off_goes_through_untouched() -> None:
    response = mutate(asked(), integrations={}, world=FakeWorld(), settings=Settings(), now=NOW)
    assert response == allowed(UID)


@pytest.mark.parametrize(
    ("labels", "taken"),
    [
        ({"koord-queue__managed": "true"}, True),
        ({}, False),
        ({"koord-queue__managed": "no"}, False),
    ],
    ids=["labelled", "not labelled", "another value"],
)
def test_namespaces_can_be_opted_in(labels: dict[str, str], taken: bool) -> None:
    world = FakeWorld(namespaces={"team-a": namespace("team-a", **labels)})
    response = answer(world=world, settings=Settings(jobs=JobSettings(namespaces="labelled")))
    assert bool(response.operations) is taken


def owner(api: str, kind: str, controller: bool = True) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "name": "p", "uid": "u1", "controller": controller}


@pytest.mark.parametrize(
    ("owners", "is_child"),
    [
        pytest.param([owner("kubeflow.org/v2beta1", "MPIJob")], True, id="A6 launcher of MPIJob"),
        pytest.param([owner("ray.io/v1", "RayJob")], True, id="A6 submitter of RayJob"),
        pytest.param([owner("jobset.x-k8s.io/v1alpha2", "JobSet")], True, id="JobSet"),
        pytest.param([owner("argoproj.io/v1alpha1", "Workflow")], True, id="Workflow"),
        pytest.param([owner("kai.alibabacloud.com/v1", "TrainingJob")], True, id="TrainingJob"),
        pytest.param([owner("batch/v1", "CronJob")], False, id="A6 CronJob"),
        pytest.param([owner("ray.io/v1", "RayService")], False, id="makes no Jobs"),
        pytest.param([owner("evil.io/v1", "RayJob")], False, id="kind of another group"),
        pytest.param([owner("ray.io/v1", "RayJob", False)], False, id="N1 no controller"),
        pytest.param([owner("v1", "Pod")], False, id="core group"),
        pytest.param([], False, id="none"),
    ],
)
def test_children_go_through_by_what_they_claim(owners: list[Any], is_child: bool) -> None:
    assert (answer(a_job(ownerReferences=owners)) == allowed(UID)) is is_child


def test_a_job_of_another_controller_is_not_touched() -> None:
    job = a_job()
    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert answer(job) == allowed(UID)


def test_an_inactive_job_is_held_like_others() -> None:
    job = a_job(annotations={"scheduling.x-k8s.io/active": "false"})
    assert stored(job, answer(job)) == held(job, ALL)


def test_without_a_quota_jobs_can_be_refused() -> None:
    settings = Settings(jobs=JobSettings(unmatchedJobs="reject"))
    response = answer(namespace="nobody", settings=settings)
    assert (response.allowed, response.code) == (False, 403)
    assert response.message == (
        "no quota found for this job: set label quota.scheduling.koordinator.sh/name on it "
        "or on namespace nobody"
    )


def test_without_a_quota_jobs_can_be_held_without_labels() -> None:
    settings = Settings(jobs=JobSettings(unmatchedJobs="hold"))
    response = answer(namespace="nobody", settings=settings)
    job = stored(a_job(), response)
    assert job["spec"]["suspend"] is True
    assert "labels" not in job["metadata"]
    assert "metadata" not in job["spec"]["template"]
    assert job["metadata"]["annotations"]["koord-queue/injected"] == "suspend"
    assert response.warnings[0].startswith("no quota found for this job")


@pytest.mark.parametrize("quota", ["root/team", "-a", "a" * 64], ids=["slash", "dash", "long"])
def test_a_quota_that_no_label_can_name_is_not_written(quota: str) -> None:
    response = answer(world=FakeWorld(mapped={"team-a": quota}))
    job = stored(a_job(), response)
    assert job["metadata"]["annotations"]["koord-queue/injected"] == "suspend"
    assert "labels" not in job["metadata"]
    assert quota in response.warnings[0]


@pytest.mark.parametrize(
    "key", ["quota.scheduling.alibabacloud.com/name", "alibabacloud.com/quota-name"]
)
def test_the_first_key_is_written_and_the_users_stays(key: str) -> None:
    job = a_job(labels={key: "team-b", QUOTA_LABEL: ""})
    assert stored(job, answer(job)) == held(job, ALL, "team-b")


def test_a_template_of_another_quota_follows_the_job() -> None:
    job = a_job()
    job["spec"]["template"]["metadata"] = {"labels": {QUOTA_LABEL: "rich", "a": "b"}}
    response = answer(job)
    assert stored(job, response) == held(job, ALL)
    assert response.warnings[0] == (
        "quota label of pod template j1 changed from rich to team-a, the quota of the job"
    )


def test_templates_can_be_left_alone() -> None:
    settings = Settings(webhook=WebhookSettings(labelPodTemplates=False))
    job = stored(a_job(), answer(settings=settings))
    assert job["spec"]["template"] == a_job()["spec"]["template"]
    assert job["metadata"]["annotations"]["koord-queue/injected"] == "label,suspend"


def test_keys_of_the_manager_are_taken_out() -> None:
    annotations = {
        "koord-queue/job-dequeue-timestamp": "2026-01-01T00:00:00Z",
        "koord-queue/bypassed-by": "somebody",
        "koord-queue/bypass": "false",
    }
    job = a_job(annotations=annotations)
    response = answer(job)
    plain = a_job(annotations={"koord-queue/bypass": "false"})
    assert stored(job, response) == held(plain, ALL)
    assert response.warnings == (
        "koord-queue/job-dequeue-timestamp removed: written by koord-queue only",
        "koord-queue/bypassed-by removed: written by koord-queue only",
        W9,
    )


@pytest.mark.parametrize(
    ("settings", "permitted"),
    [
        pytest.param(Settings(), False, id="off"),
        pytest.param(bypass("alice", enabled=False), False, id="listed but off"),
        pytest.param(bypass("bob", groups=("admins",)), False, id="not listed"),
        pytest.param(bypass("alice"), True, id="user"),
        pytest.param(bypass(groups=("system:authenticated",)), True, id="group"),
    ],
)
def test_only_those_listed_may_bypass(settings: Settings, permitted: bool) -> None:
    job = a_job(annotations={"koord-queue/bypass": "True"})
    response = answer(job, settings=settings)
    if permitted:
        expected = copy.deepcopy(job)
        expected["metadata"]["annotations"]["koord-queue/bypassed-by"] = "alice"
        assert stored(job, response) == expected
        assert answer(expected, settings=settings).operations == []
    else:
        assert stored(job, response) == held(job, ALL)
        warning = "koord-queue/bypass ignored: not permitted for alice"
        assert response.warnings == (warning, W9)


@pytest.mark.parametrize(
    ("settings", "user"),
    [
        pytest.param(Settings(webhook=WebhookSettings(announce=False)), "alice", id="off"),
        pytest.param(Settings(), "system:serviceaccount:ci:runner", id="service account"),
    ],
)
def test_some_are_not_told_that_the_job_is_held(settings: Settings, user: str) -> None:
    response = answer(settings=settings, userInfo={"username": user})
    assert response.operations
    assert response.warnings == ()


@pytest.mark.parametrize(
    ("labels", "annotations", "warning"),
    [
        pytest.param({}, {keys.PRIORITY: "high"}, "not a whole number (int32)", id="priority"),
        pytest.param({}, {keys.ACTIVE: "maybe"}, "not true or false", id="active"),
        pytest.param(
            {},
            {keys.MAX_EXEC_TIME: "soon"},
            "not a whole number of seconds, 1 or more",
            id="longest time",
        ),
        pytest.param({keys.PREEMPTIBLE_LABELS[0]: "no"}, {}, "not true or false", id="preemptible"),
    ],
)
def test_who_submits_is_told_what_cannot_be_read(
    labels: dict[str, str], annotations: dict[str, str], warning: str
) -> None:
    """Spec 22.1: it counts as not said, so the job is held like any."""
    job = a_job(annotations=annotations)
    job["metadata"]["labels"] = labels
    ((key, value),) = {**labels, **annotations}.items()
    response = answer(job)
    assert response.warnings == (f"{key} is {value}, {warning}", W9)
    assert stored(job, response)["spec"]["suspend"] is True


def test_a_job_without_a_template_is_held_all_the_same() -> None:
    job = a_job()
    del job["spec"]["template"]
    after = stored(job, answer(job))
    assert after["spec"] == {"suspend": True}
    assert after["metadata"]["annotations"]["koord-queue/injected"] == "label,suspend"


@pytest.mark.parametrize("metadata", [[], {"labels": []}], ids=["metadata", "labels"])
def test_a_list_where_labels_belong_is_named_as_the_fault(metadata: Any) -> None:
    job = a_job()
    job["spec"]["template"]["metadata"] = metadata
    with pytest.raises(DecodeError, match="/spec/template/metadata/labels"):
        answer(job)


def test_what_the_pods_are_is_not_looked_at() -> None:
    job = a_job()
    job["spec"]["template"]["spec"]["containers"] = "odd"
    assert stored(job, answer(job)) == held(job, ALL)


def test_a_view_without_templates_differs_in_nothing_else() -> None:
    integration = ENABLED["batch", "Job"]
    whole, slim = integration.view(a_job()), integration.view(a_job(), templates=False)
    (pod_set,) = whole.pod_sets
    (bare,) = slim.pod_sets
    assert bare.template != pod_set.template
    assert replace(slim, pod_sets=(replace(bare, template=pod_set.template),)) == whole
