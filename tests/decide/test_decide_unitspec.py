"""What a unit should say by its job, and the patch that makes it say so (spec 2.5-2.8, 12.10)."""

import hashlib
import re

import msgspec
import pytest
from builders import at, changed, job_view, pod_set, situation, unit, unit_by_hand
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys
from kq.core.model import Phase, PodSet
from kq.core.priority import DerivedPriority
from kq.core.resources import ZERO
from kq.decide.standing import names_queue
from kq.decide.unitspec import creation, difference, other_unit_name, unit_name

DIGEST = hashlib.sha256(b"job-train").hexdigest()[:8]
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


# -- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "suffix", "expected"),
    [
        ("train", "", "train"),
        ("train", "-tf-qu", "train-tf-qu"),
        ("x" * 253, "", "x" * 253),
        ("x" * 254, "", "x" * 244 + "-"),
        ("x" * 247, "-ray-qu", "x" * 244 + "-"),
    ],
)
def test_a_units_name(name, suffix, expected):
    """Case I8."""
    job = job_view("train")
    job = job_view(name, uid=job.uid)
    digest = DIGEST if expected.endswith("-") else ""
    assert unit_name(job, suffix) == expected + digest
    assert len(unit_name(job, suffix)) <= 253


@given(st.integers(1, 253), st.sampled_from(("", "-tf-qu", "-raycluster-qu")))
def test_names_are_legal_and_differ_by_job(length, suffix):
    first, second = (job_view("n" * length, uid=uid) for uid in ("u1", "u2"))
    for each in (first, second):
        for name in (unit_name(each, suffix), other_unit_name(each, suffix)):
            assert len(name) <= 253
            assert NAME.fullmatch(name)
    assert other_unit_name(first, suffix) != other_unit_name(second, suffix)
    assert other_unit_name(first, suffix) != first.name + suffix


# -- creation ----------------------------------------------------------------------------------


def test_a_unit_as_it_is_made():
    """Spec 2.7."""
    job = job_view(
        minute=3,
        labels={"team": "x", "app.kubernetes.io/managed-by": "argo", "helm.sh/chart": "c"},
        annotations={keys.ACTIVE: "true", keys.DEQUEUE_TIMESTAMP: "x"},
        pod_sets=(pod_set(count=2, cpu="500m", memory="1Gi"),),
    )
    body = creation(situation(job, priority=DerivedPriority(value=7, class_name="gold")))
    assert body["metadata"] == {
        "name": "train",
        "namespace": "team-a",
        "labels": {"team": "x", keys.QUOTA_LABEL: "team-a"},
        "annotations": {
            keys.ACTIVE: "true",
            keys.JOB_CREATION: "2026-03-01T12:03:00Z",
            keys.DERIVED_PRIORITY: "7",
        },
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "train",
                "uid": "job-train",
                "controller": False,
            }
        ],
    }
    spec = body["spec"]
    assert spec["consumerRef"]["uid"] == "job-train"
    assert (spec["priority"], spec["priorityClassName"], spec["queue"]) == (7, "gold", "team-a")
    assert spec["resource"] == spec["request"] == {"cpu": "1", "memory": "2Gi"}
    assert [(each["name"], each["count"]) for each in spec["podSet"]] == [("main", 2)]
    assert "active" not in spec
    assert "status" not in body


def test_a_job_whose_pods_are_not_known_yet_has_no_list_of_them():
    """The API server refuses an empty one; so of a TrainJob before its JobSet (spec 8.2)."""
    assert "podSet" not in creation(situation(pod_sets=()))["spec"]
    patch = difference(situation(pod_sets=()), unit())
    assert patch["spec"]["podSet"] is None


def test_a_job_without_priority_and_quota_has_neither_in_its_unit():
    body = creation(situation(quota=None, queue=""))
    assert "priority" not in body["spec"]
    assert "priorityClassName" not in body["spec"]
    assert body["metadata"]["annotations"][keys.DERIVED_PRIORITY] == ""
    assert keys.QUOTA_LABEL not in body["metadata"]["labels"]


@pytest.mark.parametrize(
    ("text", "active"), [("false", False), ("FALSE", False), ("true", True), ("no", True)]
)
def test_a_job_submitted_inactive_stays_out_of_the_queue(text, active):
    """Spec 5.11."""
    body = creation(situation(job_view(annotations={keys.ACTIVE: text})))
    assert body["spec"].get("active", True) is active


def test_a_unit_just_made_needs_no_change():
    """Case O2."""
    assert difference(situation(), unit()) == {}


# -- priority (spec 12.10, case D3) ------------------------------------------------------------


def with_priority(value, recorded, class_name=""):
    texts = dict(unit().annotations)
    texts.pop(keys.DERIVED_PRIORITY)
    if recorded is not None:
        texts[keys.DERIVED_PRIORITY] = recorded
    return unit(priority=value, annotations=texts, priority_class=class_name)


@pytest.mark.parametrize(
    ("each", "derived", "expected"),
    [
        pytest.param(with_priority(5, "5"), 5, {}, id="nothing new"),
        pytest.param(with_priority(5, "5"), 7, {"priority": 7}, id="the job's priority changed"),
        pytest.param(with_priority(5, "5"), None, {"priority": None}, id="the job lost it"),
        pytest.param(with_priority(None, ""), 7, {"priority": 7}, id="the job got one"),
        pytest.param(with_priority(50, "5"), 7, {}, id="edited by hand: stays (case D3)"),
        pytest.param(with_priority(50, ""), None, {}, id="given by hand: stays"),
        pytest.param(with_priority(0, ""), 7, {}, id="edited to 0: stays"),
        pytest.param(with_priority(None, "5"), 5, {"priority": 5}, id="the edit was removed"),
        pytest.param(with_priority(None, "5"), None, {}, id="removed, and there is none"),
        pytest.param(with_priority(3, None), 7, {}, id="made by hand with one: stays"),
        pytest.param(with_priority(None, None), 7, {"priority": 7}, id="made by hand without"),
    ],
)
def test_the_units_priority(each, derived, expected):
    now = situation(priority=DerivedPriority(value=derived))
    spec = difference(now, each).get("spec", {})
    assert {key: spec[key] for key in ("priority",) if key in spec} == expected


def test_what_was_derived_is_recorded_also_beside_an_edit():
    now = situation(priority=DerivedPriority(value=7))
    patch = difference(now, with_priority(50, "5"))
    assert patch["metadata"]["annotations"] == {keys.DERIVED_PRIORITY: "7"}
    assert "spec" not in patch


def test_the_class_follows_with_the_priority():
    now = situation(priority=DerivedPriority(value=7, class_name="gold"))
    assert difference(now, with_priority(5, "5"))["spec"] == {
        "priority": 7,
        "priorityClassName": "gold",
    }
    none = situation(priority=DerivedPriority(value=5))
    assert difference(none, with_priority(5, "5", "gold"))["spec"] == {"priorityClassName": None}


@pytest.mark.parametrize("recorded", ["5", None], ids=["edited", "made by hand"])
def test_the_class_is_that_of_the_pods_whoever_sets_the_priority(recorded):
    """Spec 13.2: whether a unit takes from others says its class."""
    now = situation(priority=DerivedPriority(value=7, class_name="calm"))
    patch = difference(now, with_priority(50, recorded, "gold"))
    assert patch["spec"] == {"priorityClassName": "calm"}


# -- activation (spec 9.18) --------------------------------------------------------------------


def marked(text, active=True):
    texts = dict(unit().annotations)
    if text is not None:
        texts[keys.ACTIVE] = text
    return unit(annotations=texts, active=active)


@pytest.mark.parametrize(
    ("text", "each", "expected"),
    [
        pytest.param(None, marked(None), None, id="no annotation"),
        pytest.param("false", marked(None), False, id="set to false"),
        pytest.param("False", marked(None), False, id="any case"),
        pytest.param("true", marked("false", active=False), True, id="set to true"),
        pytest.param("false", marked("false", active=True), None, id="an old value counts no more"),
        pytest.param("true", marked("true", active=False), None, id="an old true neither"),
        pytest.param("true", marked(None), None, id="it is active anyway"),
        pytest.param("off", marked(None), None, id="other values change nothing"),
        pytest.param(None, marked("false", active=False), None, id="removal changes nothing"),
    ],
)
def test_the_jobs_word_counts_when_it_changes(text, each, expected):
    job = job_view(annotations={} if text is None else {keys.ACTIVE: text})
    patch = difference(situation(job), each)
    assert patch.get("spec", {}).get("active") is expected
    copied = patch.get("metadata", {}).get("annotations", {}).get(keys.ACTIVE)
    changed = text is not None and text != each.annotations.get(keys.ACTIVE)
    assert copied == (text if changed else None)


def test_9_18_what_was_taken_away_counts_when_it_is_set_again():
    """The unit's copy goes with it: else the same word twice would be no change."""
    each = marked("false", active=True)
    patch = difference(situation(job_view()), each)
    assert patch == {"metadata": {"annotations": {keys.ACTIVE: None}}}
    again = job_view(annotations={keys.ACTIVE: "false"})
    assert difference(situation(again), marked(None))["spec"] == {"active": False}


# -- labels, Queue, pod sets -------------------------------------------------------------------


def test_later_labels_and_annotations_of_the_job_are_carried():
    """Spec 2.8."""
    job = job_view(labels={"tier": "gold"}, annotations={"koord-queue/expected-seconds": "9"})
    assert difference(situation(job), unit()) == {
        "metadata": {
            "labels": {"tier": "gold"},
            "annotations": {"koord-queue/expected-seconds": "9"},
        }
    }


@pytest.mark.parametrize("key", [*keys.QUEUE_NAME, *keys.MIN_RESOURCES])
@pytest.mark.parametrize("phase", [Phase.ENQUEUED, Phase.RUNNING])
def test_2_8_what_the_job_says_no_more_decides_no_more(key, phase):
    """Spec 10.1: the Queue is that of the job's annotation while there is one."""
    each = unit(phase=phase, annotations={**unit().annotations, key: "x", "koord-queue/y": "1"})
    assert difference(situation(), each)["metadata"] == {"annotations": {key: None}}


@pytest.mark.parametrize("phase", [Phase.ENQUEUED, Phase.RUNNING])
@pytest.mark.parametrize("key", keys.PREEMPTIBLE_LABELS)
def test_2_8_a_label_that_protected_the_job_protects_it_no_more(key, phase):
    each = unit(phase=phase, labels={**unit().labels, key: "false", "tier": "gold"})
    assert difference(situation(), each) == {"metadata": {"labels": {key: None}}}


def test_a_waiting_unit_moves_with_its_job_and_one_that_holds_quota_stays():
    """Case E8."""
    now = situation(quota="team-b", queue="team-b")
    assert difference(now, unit()) == {
        "metadata": {"labels": {keys.QUOTA_LABEL: "team-b"}},
        "spec": {"queue": "team-b"},
    }
    assert difference(now, unit(phase=Phase.RUNNING)) == {}


def test_5_5_a_quota_that_no_label_can_name_is_an_annotation_of_the_unit():
    path = f"root/{'x' * 64}"
    now = situation(quota=path, quota_label="")
    assert creation(now)["metadata"]["annotations"][keys.UNIT_QUOTA] == path
    assert keys.QUOTA_LABEL not in creation(now)["metadata"]["labels"]


def test_5_5_the_annotation_goes_when_a_label_can_name_the_quota():
    each = unit(annotations={**unit().annotations, keys.UNIT_QUOTA: "root/x"})
    patch = difference(situation(quota="root/y", quota_label="y"), each)
    assert patch["metadata"] == {
        "labels": {keys.QUOTA_LABEL: "y"},
        "annotations": {keys.UNIT_QUOTA: None},
    }


def test_5_5_the_label_goes_when_none_can_name_the_quota():
    now = situation(quota="root/y", quota_label="")
    assert difference(now, unit())["metadata"] == {
        "labels": {keys.QUOTA_LABEL: None},
        "annotations": {keys.UNIT_QUOTA: "root/y"},
    }
    held = difference(now, unit(phase=Phase.RUNNING))
    assert "labels" not in held["metadata"]


def test_a_waiting_unit_takes_over_counts_and_templates():
    job = job_view(pod_sets=(pod_set(count=3, cpu=2, memory="1Gi"),))
    spec = difference(situation(job), unit())["spec"]
    assert [each["count"] for each in spec["podSet"]] == [3]
    assert spec["resource"] == {"cpu": "6", "memory": "3Gi"}
    assert "request" not in spec


def test_a_resource_no_longer_asked_for_is_removed():
    """A merge patch removes only what it names."""
    before = unit(pod_sets=(pod_set(cpu=1, gpu=1),))
    assert difference(situation(), before)["spec"]["resource"] == {"cpu": "1", "gpu": None}


def test_a_unit_that_holds_quota_keeps_its_templates():
    """Spec 2.8."""
    job = job_view(pod_sets=(pod_set(count=1, cpu=8),))
    assert difference(situation(job), unit(phase=Phase.RUNNING)) == {}


def test_a_unit_that_holds_quota_takes_over_no_change_of_its_namespaces_defaults():
    """Spec 12.3a."""
    job = job_view(pod_sets=(pod_set(cpu=1, memory="1Gi"),))
    assert difference(situation(job), unit(phase=Phase.RUNNING)) == {}


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param(pod_set(cpu="1m"), id="cheaper"),
        pytest.param(pod_set(count=9), id="more"),
        pytest.param(pod_set("other"), id="of another name"),
    ],
)
def test_pod_sets_edited_while_quota_is_held_are_set_back_from_the_job(edited):
    """Spec 22.1."""
    granted = unit(phase=Phase.RUNNING)
    each = msgspec.structs.replace(granted, pod_sets=(edited,))
    patch = difference(situation(), each)
    assert patch["spec"]["podSet"] == difference(situation(), unit(pod_sets=()))["spec"]["podSet"]


def test_equal_quantities_written_otherwise_are_no_change():
    """Case C2."""
    job = job_view(pod_sets=(pod_set(cpu="1000m", memory="1024Mi"),))
    assert difference(situation(job), unit(pod_sets=(pod_set(cpu="1", memory="1Gi"),))) == {}


def test_a_unit_made_by_hand_is_adopted_with_what_the_job_says():
    """Spec 15.2."""
    each = unit_by_hand(quota=None, pod_sets=(), queue="special", priority=9)
    patch = difference(situation(queue="special", priority=DerivedPriority(value=1)), each)
    assert patch["metadata"]["labels"] == {keys.QUOTA_LABEL: "team-a"}
    assert patch["spec"]["consumerRef"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "namespace": "team-a",
        "uid": "job-train",
    }
    assert len(patch["spec"]["podSet"]) == 1
    assert "priority" not in patch["spec"]
    assert "queue" not in patch["spec"]
    assert patch["metadata"]["annotations"][keys.JOB_CREATION] == "2026-03-01T12:00:00Z"
    assert at(0) == job_view().created


@pytest.mark.parametrize(
    ("each", "mark"),
    [
        pytest.param(unit_by_hand(queue="special"), "true", id="a person named a Queue"),
        pytest.param(unit_by_hand(queue=""), None, id="or none"),
        pytest.param(unit(queue="special", owner_uid=""), None, id="made by kq, without its owner"),
    ],
)
def test_10_1_the_queue_that_a_person_named_stays_when_the_unit_is_adopted(each, mark):
    meta = difference(situation(queue="special"), each)["metadata"]
    told = meta.get("annotations", {})
    assert told.get(keys.QUEUE_BY_HAND) == mark
    (owner,) = meta["ownerReferences"]
    kept = {**each.annotations, **told}
    adopted = changed(each, owner_uid=owner["uid"], annotations=kept)
    assert names_queue(adopted) is (mark is not None)


HUGE = "spec.parallelism is 2000000, not a number from 0 to 1000000"


def uncountable():
    """What is gathered of a job whose count cannot be used."""
    each = pod_set(count=0)
    return situation(
        pod_sets=(
            PodSet(
                name=each.name,
                count=0,
                wanted=0,
                template=msgspec.structs.replace(each.template, request=ZERO, defect=HUGE),
            ),
        )
    )


def test_a_unit_whose_job_cannot_be_counted_says_so_and_not_only_a_count_of_none():
    """Spec 12.7: it would else be let go as one that asks for nothing."""
    assert creation(uncountable())["metadata"]["annotations"][keys.DEFECT] == HUGE


def test_the_correction_of_a_job_comes_with_its_true_counts_in_one_write():
    annotations = {**unit().annotations, keys.DEFECT: HUGE}
    patch = difference(situation(), unit(pod_sets=(pod_set(count=0),), annotations=annotations))
    assert patch["metadata"]["annotations"] == {keys.DEFECT: None}
    assert [each["count"] for each in patch["spec"]["podSet"]] == [1]


def test_a_job_that_can_no_longer_be_counted_takes_no_grants_back():
    patch = difference(uncountable(), unit(phase=Phase.RUNNING))
    assert patch == {"metadata": {"annotations": {keys.DEFECT: HUGE}}}


def test_no_job_says_of_itself_that_it_cannot_be_counted():
    job = job_view(annotations={keys.DEFECT: "of a stranger"})
    assert keys.DEFECT not in creation(situation(job))["metadata"]["annotations"]
