"""Pods and the small objects that decide what pods ask for, read into views."""

import pytest
from builders import amounts, as_bytes, at

from kq.core import classviews, keys
from kq.core import podviews as views
from kq.core.resources import ZERO
from kq.decide.kin import pod_owners

read = views.pod_decoder({"Job"}, counts_foreign=True)
META = {"namespace": "team-a", "name": "train", "uid": "u", "resourceVersion": "7"}


def body(meta=None, **parts):
    return as_bytes({"metadata": {**META, **(meta or {})}, **parts})


def container(**requests):
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "t", "uid": "j", "controller": True}


def test_a_pod_of_a_job():
    found = read(
        body(
            {
                "ownerReferences": [OWNER],
                "labels": {keys.QUOTA_LABELS[1]: "q", "replica-type": "Worker"},
                "deletionTimestamp": "2026-03-01T12:03:00Z",
            },
            **container(cpu=2),
            status={"phase": "Running"},
        )
    )
    assert (found.owner.uid, found.quota, found.pod_set) == ("j", "q", "worker")
    assert (found.phase, found.deleted_at, found.request) == ("Running", at(3), amounts(cpu=2))
    assert found.live


def asking(name="c", always=False, **requests):
    made = {"name": name, "resources": {"requests": requests}}
    return {**made, "restartPolicy": "Always"} if always else made


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"initContainers": [asking(cpu=3)]}, 3, id="an init container"),
        pytest.param({"initContainers": [asking(cpu=3, always=True)]}, 4, id="a sidecar"),
        pytest.param(
            {"initContainers": [asking(cpu=3, always=True), asking("i", cpu=2)]},
            5,
            id="a sidecar beside an init container",
        ),
        pytest.param({"resources": {"requests": {"cpu": 2}}}, 2, id="the pod level"),
        pytest.param({"overhead": {"cpu": "500m"}}, "1500m", id="overhead"),
        pytest.param({"containers": [{"resources": {"limits": {"cpu": 7}}}]}, 7, id="a limit"),
        pytest.param({"containers": [asking(cpu="many")]}, None, id="what cannot be read"),
    ],
)
@pytest.mark.parametrize("by_namespace", [False, True], ids=["requests", "all that may count"])
def test_a_live_pod_asks_by_the_rules_of_templates(spec, cpu, by_namespace):
    """Spec 12.1, 12.3."""
    raw = body({"ownerReferences": [OWNER]}, spec={"containers": [asking(cpu=1)], **spec})
    decode = views.pod_decoder({"Job"}, counts_foreign=True, by_namespace=by_namespace)
    asked = decode(raw).request
    found = [n for name, n in asked.items() if name.partition("@")[0] in ("cpu", "requests.cpu")]
    assert sorted({*found}) == ([] if cpu is None else [amounts(cpu=cpu)["cpu"]])


@pytest.mark.parametrize(
    ("meta", "kept"),
    [
        ({}, False),
        ({"ownerReferences": [{**OWNER, "controller": False}]}, False),
        ({"ownerReferences": [OWNER]}, True),
        ({"labels": {keys.QUOTA_LABEL: "q"}}, True),
        ({"labels": {keys.QUOTA_LABEL: ""}}, False),
        ({"labels": {keys.QUOTA_LABEL: "", keys.QUOTA_LABELS[2]: "q"}}, True),
    ],
)
def test_only_pods_that_may_count_are_kept(meta, kept):
    assert (read(body(meta)) is not None) is kept


FOREIGN = {**OWNER, "kind": "ReplicaSet"}
LABELLED = {"labels": {keys.QUOTA_LABEL: "q"}}


@pytest.mark.parametrize(
    ("meta", "kept"),
    [
        ({"ownerReferences": [OWNER]}, True),
        ({"ownerReferences": [FOREIGN]}, False),
        ({"ownerReferences": [FOREIGN], **LABELLED}, False),
        (LABELLED, False),
        ({"annotations": {keys.RELATED_UNIT: "team-a/unit"}}, True),
        ({"ownerReferences": [FOREIGN], "annotations": {keys.RELATED_UNIT: "team-a/unit"}}, True),
        ({"annotations": {keys.RELATED_UNIT: "team-b/unit"}}, False),
        ({"annotations": {keys.RELATED_UNIT: "team-a/"}}, False),
        ({"labels": {views.SPARK_APP: "app"}}, True),
        ({"labels": {views.JOB_UID: "j"}}, True),
    ],
)
def test_where_foreign_pods_do_not_count_only_those_of_jobs_are_kept(meta, kept):
    """Spec 6.6, 8.23: memory goes to pods that may count."""
    decode = views.pod_decoder({"Job"}, counts_foreign=False)
    assert (decode(body(meta)) is not None) is kept


def test_a_pod_whose_job_was_deleted_without_it_is_still_of_that_job():
    labels = {views.JOB_UID: "j", views.JOB_NAME: "t"}
    found = read(body({"labels": labels}))
    assert (found.owner.kind, found.owner.name, found.owner.uid) == ("Job", "t", "j")


@pytest.mark.parametrize(
    ("meta", "holder"),
    [
        ({"labels": {views.SPARK_APP: "app"}}, "app:team-a/app"),
        ({"annotations": {keys.RELATED_UNIT: "team-a/unit"}}, "unit:team-a/unit"),
        ({"ownerReferences": [OWNER], "annotations": {keys.RELATED_UNIT: "team-a/unit"}}, ""),
        (
            {"ownerReferences": [{**OWNER, "kind": "Pod"}], "labels": {views.SPARK_APP: "app"}},
            "app:team-a/app",
        ),
    ],
)
def test_what_stands_for_the_job_of_a_pod(meta, holder):
    """Spec 8.23: owners first, then the annotation, then the label of Spark."""
    assert read(body(meta)).holder == holder


@pytest.mark.parametrize(
    ("labels", "holder"),
    [
        pytest.param({views.SPARK_APP: "app"}, "app:team-a/app", id="executor of an application"),
        pytest.param({}, "", id="pod of any pod"),
    ],
)
def test_an_executor_counts_to_its_application_though_its_driver_owns_it(labels, holder):
    """Spec 8.23: the driver may be gone before it, and with it the way to the application."""
    owners = [{**OWNER, "kind": "Pod"}]
    decode = views.pod_decoder(pod_owners({"SparkApplication"}), counts_foreign=False)
    assert decode(body({"ownerReferences": owners, "labels": labels})).holder == holder


@pytest.mark.parametrize(
    ("phase", "live"),
    [
        ("Pending", True),
        ("Running", True),
        ("Unknown", True),
        ("Succeeded", False),
        ("Failed", False),
    ],
)
def test_which_pods_are_live(phase, live):
    """Spec 1.7."""
    found = read(body({"ownerReferences": [OWNER]}, status={"phase": phase}))
    assert found.live is live


@pytest.mark.parametrize("label", views.POD_SET_LABELS)
def test_the_role_of_a_pod(label):
    """Spec 8.23: the annotation first, in lower case."""
    meta = {"ownerReferences": [OWNER], "labels": {label: "Head"}}
    assert read(body(meta)).pod_set == "head"
    meta["annotations"] = {keys.RELATED_POD_SET: "Other"}
    assert read(body(meta)).pod_set == "other"


def test_ray_calls_its_head_a_group():
    meta = {"ownerReferences": [OWNER], "labels": {"ray.io/group": "headgroup"}}
    assert read(body(meta)).pod_set == "head"


def test_a_pod_that_cannot_be_counted_counts_as_nothing():
    meta = {"ownerReferences": [OWNER]}
    assert read(body(meta, **container(cpu="x"))).request == ZERO
    assert read(body(meta, **container(cpu="x"))).phase == "Pending"


def test_a_priority_class():
    found = classviews.priority_class(
        as_bytes({"metadata": {"name": "gold"}, "value": 1000, "globalDefault": True})
    ).view
    assert (found.name, found.value, found.global_default) == ("gold", 1000, True)
    assert found.preemption_policy == "PreemptLowerPriority"
    never = {"metadata": {"name": "n"}, "value": None, "preemptionPolicy": "Never"}
    assert classviews.priority_class(as_bytes(never)).view.preemption_policy == "Never"
    assert classviews.priority_class(as_bytes(never)).view.value == 0


def test_small_objects_keep_the_part_that_counts():
    spec = {"limits": [{"type": "Container"}]}
    assert classviews.limit_range(body(spec=spec)).body["spec"] == spec
    overhead = {"podFixed": {"cpu": "100m"}}
    assert classviews.runtime_class(body(overhead=overhead)).body == {"cpu": "100m"}
    assert classviews.runtime_class(body()).body == {}


# -- all that ResourceQuotas may count


of_namespace = views.pod_decoder({"Job"}, counts_foreign=True, by_namespace=True)


def test_11_16_each_pod_counts_to_its_namespace_whatever_its_label():
    found = of_namespace(body({"labels": {keys.QUOTA_LABEL: "q"}}, **container(cpu=2)))
    assert found.quota == "team-a"
    assert found.request.to_wire() == {"count/pods@:": "1", "cpu@:": "2", "pods@:": "1"}


def test_11_15_a_pod_is_counted_by_its_sort():
    parts = container(cpu=2, memory="1Gi")
    parts["spec"] |= {"activeDeadlineSeconds": 9, "priorityClassName": "high"}
    found = of_namespace(body(**parts))
    names = ("count/pods", "cpu", "memory", "pods")
    assert set(found.request) == {f"{each}@T:high" for each in names}


def test_a_pod_of_which_nothing_can_be_read_counts_for_nothing():
    assert of_namespace(body(**container(cpu="x"))).request == ZERO
