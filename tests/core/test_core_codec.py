"""Small parts of objects on the wire: times, metadata, templates, conditions."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from builders import NOW, amounts, at, condition, template
from hypothesis import given
from hypothesis import strategies as st

from kq.core import codec, keys
from kq.core.model import Condition, Owner
from kq.errors import DecodeError

SHANGHAI = timezone(timedelta(hours=8))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T12:00:00Z", NOW),
        ("2026-03-01T20:00:00+08:00", NOW),
        ("2026-03-01T12:00:00.250Z", NOW + timedelta(milliseconds=250)),
        ("2026-03-01T12:00:00.123456789Z", NOW + timedelta(microseconds=123456)),
        ("2026-03-01 12:00:00 +0000 UTC", NOW),
        ("2026-03-01 12:00:00.5 +0000 UTC m=+0.001", NOW + timedelta(milliseconds=500)),
        ("2026-03-01 20:00:00 +0800 CST m=+1.2", NOW),
        ("2026-03-01 20:00:00.250 +0800 CST", NOW + timedelta(milliseconds=250)),
        ("2026-03-01 07:00:00.123456789 -0500 EST", NOW + timedelta(microseconds=123456)),
        ("2026-03-01 09:00:00 -0300 -03 m=-7.5", NOW),
        ("", None),
        ("soon", None),
        ("2026-03-01", None),
        ("2026-03-01T12:00:00", None),
        ("2026-02-30T12:00:00Z", None),
        (None, None),
        (5, None),
    ],
)
def test_times_are_read_in_both_forms(text, expected):
    """Spec 21.2, case G1."""
    assert codec.parse_time(text) == expected


moments = st.datetimes(
    min_value=datetime(1971, 1, 1), max_value=datetime(2999, 1, 1), timezones=st.just(UTC)
)


@given(moments)
def test_a_time_survives_writing_and_reading(moment):
    """Case G1: whole seconds on the wire, milliseconds where order matters."""
    assert codec.parse_time(codec.format_time(moment)) == moment.replace(microsecond=0)
    millis = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert codec.parse_time(codec.format_millis(moment)) == millis


def test_times_are_written_in_utc():
    there = datetime(2026, 3, 1, 20, 0, 0, 7_000, tzinfo=SHANGHAI)
    assert codec.format_time(there) == "2026-03-01T12:00:00Z"
    assert codec.format_millis(there) == "2026-03-01T12:00:00.007Z"


@given(st.text(max_size=40) | st.integers() | st.none())
def test_no_text_is_too_odd_for_a_time(text):
    found = codec.parse_time(text)
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, None),
        ({}, None),
        ({"koord-queue/job-dequeue-timestamp": ""}, None),
        ({"koord-queue/job-dequeue-timestamp": "2026-03-01T12:00:00.000Z"}, NOW),
        ({"kube-queue/job-dequeue-timestamp": "2026-03-01T12:00:00Z"}, NOW),
        (
            {
                "koord-queue/job-dequeue-timestamp": "2026-03-01T12:00:00Z",
                "kube-queue/job-dequeue-timestamp": "2026-03-01T13:00:00Z",
            },
            NOW,
        ),
        (
            {
                "koord-queue/job-dequeue-timestamp": "",
                "kube-queue/job-dequeue-timestamp": "2026-03-01T12:00:00Z",
            },
            NOW,
        ),
    ],
)
def test_when_a_job_was_released(annotations, expected):
    assert codec.released_at(annotations) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, {}), ([], {}), ("x", {}), ({"a": "b", "c": 1, "d": None}, {"a": "b"})],
)
def test_a_map_of_strings_whatever_stands_there(value, expected):
    """Spec 22.1."""
    assert codec.strings(value) == expected


def test_only_our_own_annotations_are_kept():
    """Case N4; those of the provisioning checks go along (spec 2.7)."""
    given_ = {
        "koord-queue/a": "1",
        "kube-queue/b": "2",
        "scheduling.x-k8s.io/priority": "3",
        "quota.scheduling.koordinator.sh/preemptible": "false",
        "alibabacloud.com/quota-name": "q",
        "kubectl.kubernetes.io/last-applied-configuration": "secret",
        "provreq.kueue.x-k8s.io/x": "y",
        "example.com/team": "red",
    }
    found = codec.own_annotations(given_)
    assert set(given_) - set(found) == {
        "kubectl.kubernetes.io/last-applied-configuration",
        "example.com/team",
    }
    assert "example.com/team" in codec.own_annotations(given_, ["example.com/"])


def test_owners_that_name_something():
    meta = {
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "u", "controller": True},
            {"kind": None, "name": "b", "controller": "true"},
            "odd",
            None,
        ]
    }
    assert codec.owners(meta) == (
        Owner("batch/v1", "Job", "a", "u", controller=True),
        Owner("", "", "b", ""),
    )
    assert codec.owners({"ownerReferences": None}) == codec.owners({}) == ()


def test_an_object_needs_a_name():
    assert codec.metadata({"name": "a", "namespace": None}) == {
        "namespace": "",
        "name": "a",
        "uid": "",
        "resource_version": "",
    }
    for odd in ({}, {"name": None}, {"name": 5}):
        with pytest.raises(DecodeError, match=r"metadata\.name is"):
            codec.metadata(odd)


def test_a_job_that_is_being_created_may_have_no_name_yet():
    found = codec.job_metadata({"generateName": "x-", "annotations": {"other/key": "x"}})
    assert (found["name"], found["created"], found["annotations"]) == ("", codec.EPOCH, {})


# -- templates ---------------------------------------------------------------------------------


def pod_template(**spec):
    return {
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], **spec}
    }


def test_equal_templates_are_one_object():
    """Case C2: whatever the spelling and the order of the keys."""
    first = template(cpu="1000m", memory="1024Mi")
    second = template(memory="1Gi", cpu=1)
    assert first is second
    assert first.request == amounts(cpu=1, memory="1Gi")


def test_what_is_read_of_a_template():
    found = codec.template_of(
        pod_template(runtimeClassName="kata", priorityClassName="gold", priority=7)
    )
    assert (found.runtime_class, found.priority_class, found.priority) == ("kata", "gold", 7)
    odd = codec.template_of(pod_template(priority=True))
    assert odd.priority is None


def test_a_template_that_cannot_be_counted_says_why():
    """Case C3: never counted as nothing without a word."""
    found = template(cpu="-4")
    assert found.defect == "cpu in requests of container main is -4, not a quantity of 0 or more"
    assert found.request == codec.ZERO


def limit_range(**limits):
    return {"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Container", **limits}]}}


def test_a_template_is_filled_as_its_pods_will_be():
    """Case B2: 250m by defaultRequest, 512Mi as the default limit is the request too."""
    bare = codec.template_of({"spec": {"containers": [{"name": "c"}]}})
    filled = codec.filled_template(
        bare,
        [limit_range(defaultRequest={"cpu": "250m"}, default={"cpu": "1", "memory": "512Mi"})],
        None,
    )
    assert filled.request.times(4) == amounts(cpu=1, memory="2Gi")
    assert codec.filled_template(bare, [], None) is bare


@pytest.mark.parametrize(
    ("limits", "overhead"),
    [
        pytest.param({"defaultRequest": {"memory": "1Gi"}}, None, id="requests only"),
        pytest.param({"default": {"memory": "1Gi"}}, None, id="limits only"),
        pytest.param({"type": "Pod"}, None, id="nothing"),
        pytest.param(None, {"cpu": "0.1", "memory": "1500M"}, id="odd overhead"),
    ],
)
def test_a_filled_template_is_read_back_as_it_was_written(limits, overhead):
    """Else every waiting unit would be written for ever."""
    ranges = [limit_range(**limits)] if limits else []
    filled = codec.filled_template(codec.template_of(pod_template()), ranges, overhead)
    read_back = codec.template_of(msgspec.json.decode(filled.wire))
    assert read_back.wire == filled.wire


def test_the_overhead_of_the_runtime_class_is_added_if_there_is_no_own():
    overhead = {"cpu": "100m"}
    plain = codec.filled_template(codec.template_of(pod_template()), [], overhead)
    assert plain.request == amounts(cpu="1100m")
    own = codec.template_of(pod_template(overhead={"cpu": "200m"}))
    assert codec.filled_template(own, [], overhead).request == amounts(cpu="1200m")


def test_filling_shows_a_limit_range_that_cannot_be_read():
    found = codec.filled_template(template(cpu=1), [limit_range(default={"cpu": "x"})], None)
    assert found.defect == "cpu in default of LimitRange r is x, not a quantity"


# -- conditions --------------------------------------------------------------------------------


def test_conditions_that_have_a_type():
    found = codec.conditions(
        [
            {
                "type": "Evicted",
                "status": "True",
                "reason": "r",
                "message": "m",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            },
            {"type": "Other", "status": True},
            {"status": "True"},
            None,
        ]
    )
    assert found == (condition("Evicted", True, "r", "m"), Condition("Other", False, "", ""))
    assert codec.conditions(None) == codec.conditions("odd") == ()


def test_a_time_moves_with_the_status_alone():
    """Spec 9.9."""
    old = (condition("A", True, "r", "m"), condition("B", False))
    same = codec.with_condition(old, Condition("A", True, "other", "text"), at(5))
    assert same == (condition("A", True, "other", "text"), condition("B", False))
    moved = codec.with_condition(old, Condition("A", False, "r", "m"), at(5))
    assert moved[0] == condition("A", False, "r", "m", minute=5)
    added = codec.with_condition(old, Condition("C", True, "r", "m"), at(5))
    assert added == (*old, condition("C", True, "r", "m", minute=5))


def test_a_condition_without_a_time_gets_one():
    found = codec.with_condition((Condition("A", True, "", ""),), Condition("A", True, "", ""), NOW)
    assert found[0].since == "2026-03-01T12:00:00Z"


conditions = st.lists(
    st.builds(
        condition,
        st.sampled_from("ABC"),
        st.booleans(),
        st.text(max_size=3),
        st.text(max_size=3),
        st.integers(0, 3),
    ),
    max_size=3,
    unique_by=lambda each: each.type,
)


@given(conditions)
def test_conditions_survive_writing_and_reading(given_):
    assert codec.conditions(codec.conditions_to_wire(given_)) == tuple(given_)


def test_keys_of_the_manager_are_ours():
    assert all(key.startswith(keys.OWN_DOMAINS) for key in keys.MANAGER_ONLY)
