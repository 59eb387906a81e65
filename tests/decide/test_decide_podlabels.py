"""Whether pods will say whose quota they use (spec 6.6, 11.9)."""

import msgspec
import pytest
from builders import NOW, book, job_view, namespace, pod, queue, quota, unit

from kq.core import codec, keys
from kq.decide.podlabels import counted_quota, missing_label
from kq.decide.pods import PodGroup

SECOND_SPELLING = keys.QUOTA_LABELS[1]


def pod_set(labels, *, path=("spec", "template", "metadata")):
    (one,) = job_view().pod_sets
    container = {"name": "main", "image": "busybox"}
    body = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return msgspec.structs.replace(one, template=codec.template_of(body), path=path)


HELD = unit("train")


def label_for(*labels, unit=HELD, path=("spec", "template", "metadata"), **fields):
    pod_sets = tuple(pod_set(each, path=path) for each in labels)
    known = book(quota(), quota("other"), views=[queue(), namespace()])
    return missing_label(job_view(pod_sets=pod_sets, **fields), unit, known.around)


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        pytest.param([{keys.QUOTA_LABEL: "team-a"}], "", id="as at its submit"),
        pytest.param([{SECOND_SPELLING: "team-a"}], "", id="in another spelling"),
        pytest.param([{}], "team-a", id="came past the webhook"),
        pytest.param([{keys.QUOTA_LABEL: "other"}], "team-a", id="was moved"),
        pytest.param([{keys.QUOTA_LABEL: "team-a"}, {}], "team-a", id="one role of two"),
        pytest.param(
            [{keys.QUOTA_LABEL: "other", SECOND_SPELLING: "team-a"}], "team-a", id="contradicts"
        ),
    ],
)
def test_pods_are_to_name_the_quota_that_was_granted(labels, missing):
    assert label_for(*labels) == missing


def test_where_templates_have_no_place_for_labels_nothing_is_missing():
    assert label_for({}, path=()) == ""


def test_pods_of_what_is_made_of_a_job_are_labelled_where_it_says_so():
    """A TrainJob has the pods of its JobSet."""
    assert label_for({}, path=(), pods_of="JobSet") == "team-a"
    assert label_for({keys.QUOTA_LABEL: "team-a"}, path=(), pods_of="JobSet") == ""


def test_a_quota_that_no_label_can_name_is_not_written():
    nameless = unit("train", quota=None, annotations={keys.UNIT_QUOTA: "team-a"})
    assert label_for({}, unit=nameless) == ""


@pytest.mark.parametrize(
    ("labels", "counted"),
    [
        pytest.param(["other"], "other", id="as they were let go"),
        pytest.param(["other", "other"], "other", id="of all roles"),
        pytest.param(["other", "team-a"], None, id="of several quotas"),
        pytest.param([""], None, id="not labelled"),
    ],
)
def test_after_a_restart_templates_say_where_live_pods_count(labels, counted):
    """Their unit is gone, and the label of the job may have been changed since."""
    pod_sets = tuple(pod_set({keys.QUOTA_LABEL: each} if each else {}) for each in labels)
    around = book(quota(), quota("other"), views=[queue(), namespace()]).around
    group = PodGroup()
    released = job_view(pod_sets=pod_sets, released_at=NOW)
    assert counted_quota(released, group, around) is None
    group.put(pod("train-0"))
    assert counted_quota(released, group, around) == counted
    assert not counted_quota(job_view(pod_sets=pod_sets), group, around)
