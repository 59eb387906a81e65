"""Who takes part, and what the labels name (spec 5.2, 5.3, 5.5)."""

import pytest
from builders import namespace
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys
from kq.core.keys import is_label_value
from kq.core.options import QuotaOptions, Selection
from kq.quota import QUOTAS
from kq.quota.resolve import is_excluded, labelled_quota
from kq.quota.unlimited import Unlimited

MANAGED = keys.MANAGED_LABEL
FIRST, SECOND, THIRD = keys.QUOTA_LABELS


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, None),
        ({FIRST: "a", SECOND: "b", THIRD: "c"}, "a"),
        ({SECOND: "b", THIRD: "c"}, "b"),
        ({THIRD: "c"}, "c"),
        ({FIRST: "", THIRD: "c"}, "c"),
        ({FIRST: ""}, None),
    ],
)
def test_the_quota_that_labels_name(labels, expected):
    assert labelled_quota(labels) == expected


def test_5_3_the_spellings_of_the_label_and_their_order():
    spellings = (
        "quota.scheduling.koordinator.sh/name",
        "quota.scheduling.alibabacloud.com/name",
        "alibabacloud.com/quota-name",
    )
    for number, key in enumerate(spellings):
        later = dict.fromkeys(reversed(spellings[number + 1 :]), "b")
        assert labelled_quota(later | {key: "a"}) == "a"


@pytest.mark.parametrize(
    ("name", "label", "selection", "excluded"),
    [
        ("team-a", None, Selection(), False),
        ("team-a", "false", Selection(), True),
        ("team-a", "true", Selection(), False),
        ("team-a", "other", Selection(), False),
        ("kube-system", "true", Selection(excluded=frozenset({"kube-system"})), True),
        ("team-a", None, Selection(labelled_only=True), True),
        ("team-a", "true", Selection(labelled_only=True), False),
        ("team-a", "yes", Selection(labelled_only=True), True),
    ],
)
def test_who_is_left_out(name, label, selection, excluded):
    """Case A7."""
    labels = {} if label is None else {MANAGED: label}
    assert is_excluded(namespace(name, labels=labels), selection) is excluded


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("", True),
        ("a", True),
        ("Team_a.b-c", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("root/a", False),
        ("-a", False),
        ("a-", False),
        ("a b", False),
        ("ä", False),
        ("a\n", False),
        ("٣", False),
    ],
)
def test_what_the_api_server_takes_as_a_label(text, legal):
    assert is_label_value(text) is legal


@given(st.text(max_size=70))
def test_no_text_is_too_odd_to_be_judged(text):
    assert not (is_label_value(text) and len(text) > 63)


def test_without_a_quota_plugin_all_is_one_quota_without_limits():
    """Spec 11.1."""
    plain = QUOTAS[""](QuotaOptions(), [])
    assert isinstance(plain, Unlimited)
    assert plain.quota_of({FIRST: "x"}, namespace()) == "default"
    assert plain.chain("default") == ()
    assert plain.ancestry("default") == ("default",)
    assert plain.barred(namespace(), "default") is None
    assert plain.names() == ("default",)
    assert plain.queue_of("default") == "default"
