"""The Queue of a quota: made, followed, never taken from a person (spec 3.3-3.7, 10.5)."""

import json

import pytest
from builders import INSTALL_NAMESPACE, as_bytes, queue, quota
from hypothesis import given, settings
from hypothesis import strategies as st

from kq.core import keys, views
from kq.core.patch import Patch
from kq.decide.autoqueue import (
    copied_annotations,
    difference,
    is_auto_made,
    labelled_policy,
    new_queue,
)
from kq.decide.queuesettings import max_depth, threshold_of

SKIP = "koord-queue/skip-impossible"
DEPTH = "koord-queue/max-depth"


def made(of, default="Priority"):
    """The Queue as it was created, seen again."""
    body = new_queue(of, INSTALL_NAMESPACE, default)
    body["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return views.queue(as_bytes(body)), body


def follow(body, of, default="Priority"):
    """The Queue after the quota's changes were carried to it."""
    patch = difference(views.queue(as_bytes(body)), of, default)
    after = Patch(patch).apply(body)
    assert difference(views.queue(as_bytes(after)), of, default) == {}
    return patch, after


def labelled(policy, key="koord-queue/queue-policy", **fields):
    return quota(labels={key: policy}, **fields)


# -- making ------------------------------------------------------------------------------------


def test_a_queue_is_made_for_a_quota():
    of = quota(
        labels={keys.PARENT_LABEL: "root-a", "other": "x"},
        annotations={SKIP: "true", "quota-koord-queue-enable": "true", "someone/else": "x"},
    )
    body = new_queue(of, INSTALL_NAMESPACE, "Priority")
    copied = {SKIP: "true", "quota-koord-queue-enable": "true"}
    assert body["metadata"] == {
        "name": "team-a",
        "namespace": "koord-queue",
        "labels": {"create-by-koordqueue": "true", keys.PARENT_LABEL: "root-a"},
        "annotations": {
            **copied,
            keys.COPIED: json.dumps(copied, sort_keys=True, separators=(",", ":")),
            keys.DEFAULT_POLICY: "Priority",
        },
    }
    assert body["spec"] == {"queuePolicy": "Priority", "priority": 1000}


def test_a_queue_is_made_for_a_name_without_a_quota_object():
    body = new_queue("default", INSTALL_NAMESPACE, "Block")
    assert body["metadata"]["name"] == "default"
    assert body["metadata"]["labels"] == {"create-by-koordqueue": "true"}
    assert body["spec"]["queuePolicy"] == "Block"


def test_a_label_names_the_policy():
    body = new_queue(labelled("Block"), INSTALL_NAMESPACE, "Priority")
    assert body["spec"]["queuePolicy"] == "Block"
    assert body["metadata"]["annotations"][keys.DEFAULT_POLICY] == "Block"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, None),
        ({"kube-queue/queue-policy": "Block"}, "Block"),
        ({"kube-queue/queue-policy": "Block", "koord-queue/queue-policy": "Priority"}, "Priority"),
        ({"koord-queue/queue-policy": "", "kube-queue/queue-policy": "Block"}, "Block"),
    ],
)
def test_which_label_names_the_policy(labels, expected):
    assert labelled_policy(quota(labels=labels)) == expected


def test_marks_of_the_manager_are_not_copied():
    of = quota(annotations={keys.COPIED: "{}", keys.DEFAULT_POLICY: "x", DEPTH: "3"})
    assert copied_annotations(of) == {DEPTH: "3"}


def test_10_14_the_old_spelling_is_read_on_a_quota_too():
    """Spec 10.14, 21.1: it is copied as it stands; ours on the Queue goes before it."""
    old = {f"kube-queue/{key}": "3" for key in ("priority-threshold", "max-depth")}
    line, body = made(quota(annotations=old))
    assert (threshold_of(line), max_depth(line)) == (3, 3)
    body["metadata"]["annotations"][DEPTH] = "7"
    assert max_depth(views.queue(as_bytes(body))) == 7
    _, after = follow(body, quota())
    line = views.queue(as_bytes(after))
    assert (threshold_of(line), max_depth(line)) == (4, 7)


@pytest.mark.parametrize(
    ("of_quota", "by_hand", "threshold"),
    [
        pytest.param("5", "7", 5, id="of both the quota's"),
        pytest.param(None, "7", 7, id="the Queue's own"),
        pytest.param("5", None, 5, id="the quota's"),
        pytest.param(None, None, 4, id="neither"),
        pytest.param("high", "7", 4, id="the quota's, though it cannot be read"),
    ],
)
def test_10_11_whose_threshold_counts(of_quota, by_hand, threshold):
    """Spec 10.11, 3.5, 22.1."""
    key = keys.THRESHOLD[0]
    of = quota(annotations={} if of_quota is None else {key: of_quota})
    _, body = made(quota())
    if by_hand is not None:
        body["metadata"]["annotations"][key] = by_hand
    _, after = follow(body, of)
    assert threshold_of(views.queue(as_bytes(after))) == threshold


def test_a_queue_just_made_needs_no_change():
    for of in (quota(), labelled("Block"), quota(annotations={DEPTH: "3"}, parent="p")):
        assert difference(made(of)[0], of, "Priority") == {}


def test_who_made_a_queue():
    assert is_auto_made(made(quota())[0])
    assert not is_auto_made(queue())


# -- following ---------------------------------------------------------------------------------


def test_changes_of_the_quota_are_carried():
    """Spec 3.4, 3.5: a key present on both follows the quota."""
    _, body = made(quota(annotations={SKIP: "true", DEPTH: "3"}))
    patch, after = follow(body, quota(annotations={DEPTH: "5"}, parent="p"))
    assert patch["metadata"]["annotations"] == {
        DEPTH: "5",
        SKIP: None,
        keys.COPIED: '{"koord-queue/max-depth":"5"}',
    }
    assert patch["metadata"]["labels"] == {keys.PARENT_LABEL: "p"}
    assert SKIP not in after["metadata"]["annotations"]


def test_a_parent_that_goes_is_removed():
    _, body = made(quota(parent="p"))
    patch, _ = follow(body, quota())
    assert patch == {"metadata": {"labels": {keys.PARENT_LABEL: None}}}


def test_a_key_set_by_hand_stays():
    """Spec 3.5."""
    _, body = made(quota())
    body["metadata"]["annotations"][DEPTH] = "7"
    assert difference(views.queue(as_bytes(body)), quota(), "Priority") == {}


def test_a_copied_key_edited_by_hand_follows_the_quota_and_stays_when_that_lets_it_go():
    of = quota(annotations={DEPTH: "3"})
    _, body = made(of)
    body["metadata"]["annotations"][DEPTH] = "7"
    assert follow(body, of)[0] == {"metadata": {"annotations": {DEPTH: "3"}}}
    patch, after = follow(body, quota())
    assert patch == {"metadata": {"annotations": {keys.COPIED: "{}"}}}
    assert after["metadata"]["annotations"][DEPTH] == "7"


@pytest.mark.parametrize("text", ["", "not json", "[1]", '{"koord-queue/max-depth": 3}'])
def test_a_spoiled_mark_of_what_was_copied_takes_nothing_away(text):
    _, body = made(quota(annotations={DEPTH: "3"}))
    body["metadata"]["annotations"][keys.COPIED] = text
    _, after = follow(body, quota())
    assert after["metadata"]["annotations"][DEPTH] == "3"


def test_other_hand_edits_stay():
    """Spec 3.7."""
    _, body = made(quota())
    body["spec"] |= {"priority": 5, "stopPolicy": "Hold"}
    assert difference(views.queue(as_bytes(body)), quota(), "Priority") == {}


# -- policy (spec 3.6, 10.5) -------------------------------------------------------------------


def test_a_policy_edited_by_hand_stays():
    _, body = made(quota())
    body["spec"]["queuePolicy"] = "Block"
    assert difference(views.queue(as_bytes(body)), quota(), "Priority") == {}


def test_a_label_wins_over_a_hand_edit_at_once_and_each_time():
    of = labelled("Block")
    _, body = made(of)
    body["spec"]["queuePolicy"] = "Priority"
    assert follow(body, of)[0] == {"spec": {"queuePolicy": "Block"}}
    _, plain = made(quota())
    assert follow(plain, of)[0] == {
        "metadata": {"annotations": {keys.DEFAULT_POLICY: "Block"}},
        "spec": {"queuePolicy": "Block"},
    }


def test_without_its_label_a_quota_gives_the_default_again():
    _, body = made(labelled("Block"))
    assert follow(body, quota())[0] == {
        "metadata": {"annotations": {keys.DEFAULT_POLICY: "Priority"}},
        "spec": {"queuePolicy": "Priority"},
    }


def test_a_default_once_written_follows_the_default():
    _, body = made(quota(), "Priority")
    patch, after = follow(body, quota(), "Block")
    assert patch == {
        "metadata": {"annotations": {keys.DEFAULT_POLICY: "Block"}},
        "spec": {"queuePolicy": "Block"},
    }
    back, _ = follow(after, quota(), "Priority")
    assert back["spec"] == {"queuePolicy": "Priority"}


def test_a_hand_edit_does_not_follow_the_default():
    _, body = made(quota(), "Priority")
    body["spec"]["queuePolicy"] = "Block"
    assert difference(views.queue(as_bytes(body)), quota(), "Round") == {}


def test_10_5_a_queue_of_a_name_alone_follows_the_default_and_nothing_else():
    """Of a namespace with ResourceQuotas there is no object that says more."""
    _, body = made("team-a", "Priority")
    body["metadata"]["labels"][keys.PARENT_LABEL] = "by-hand"
    body["metadata"]["annotations"][DEPTH] = "7"
    assert difference(views.queue(as_bytes(body)), None, "Priority") == {}
    patch, after = follow(body, None, "Block")
    assert patch == {
        "metadata": {"annotations": {keys.DEFAULT_POLICY: "Block"}},
        "spec": {"queuePolicy": "Block"},
    }
    after["spec"]["queuePolicy"] = "Intelligent"
    assert difference(views.queue(as_bytes(after)), None, "Priority") == {}


def test_an_empty_policy_becomes_the_default():
    _, body = made(quota())
    body["spec"]["queuePolicy"] = ""
    assert follow(body, quota())[0] == {"spec": {"queuePolicy": "Priority"}}


# -- any history of both (spec 3.4, 3.5, 3.7) ---------------------------------------------------

EDITS = st.tuples(
    st.sampled_from(["quota", "person"]),
    st.sampled_from([SKIP, DEPTH, "koord-queue/reclaim", "someone/else"]),
    st.sampled_from(["1", "2", None]),
)


@given(st.lists(EDITS, max_size=8))
@settings(max_examples=80, deadline=None)
def test_the_quota_rules_what_it_says_and_takes_back_only_what_it_gave(edits):
    """A key of the quota is as there; one that it lets go is gone, unless a person has changed it
    since; all else is as the last person left it."""
    of, expected, given_by_quota = {}, {}, {}
    _, body = made(quota())
    for who, key, text in edits:
        if who == "quota":
            of = {k: v for k, v in {**of, key: text}.items() if v is not None}
        else:
            marks = {**body["metadata"]["annotations"], key: text}
            body["metadata"]["annotations"] = {k: v for k, v in marks.items() if v is not None}
            expected[key] = text
        copied = copied_annotations(quota(annotations=of))
        for gone in given_by_quota.keys() - copied.keys():
            if expected.get(gone) == given_by_quota[gone]:
                expected[gone] = None
        expected |= copied
        given_by_quota = copied
        patch = difference(views.queue(as_bytes(body)), quota(annotations=of), "Priority")
        body = Patch(patch).apply(body)
        found = body["metadata"]["annotations"]
        assert {k: v for k, v in found.items() if k in expected} == {
            k: v for k, v in expected.items() if v is not None
        }
