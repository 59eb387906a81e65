"""What released jobs may have running counts, whatever the watch of pods has shown (spec 24.3)."""

import pytest
from books import B, cpu_used, waiting_book
from builders import NOW, at, book, changed, job_view, namespace, pod, queue, quota, quotas, unit

from kq.core import keys
from kq.core.kinds import ResourceKind
from kq.core.model import JobState, Owner, Phase
from kq.decide.claims import claim_of

LABELS = {keys.QUOTA_LABEL: "team-a"}
RUNS = job_view(
    "a",
    suspended=False,
    released_at=at(0),
    labels=LABELS,
    counts_pods=True,
    has_run=True,
    pods_active=1,
)
HELD = unit("a", cpu=1, phase=Phase.RUNNING)


def running_book(job=RUNS, *more):
    return waiting_book(job, HELD, job_view("b"), B, *more)


def test_a_unit_deleted_by_hand_gives_nothing_back_while_its_job_runs():
    known = running_book()
    known.lost(HELD)
    assert cpu_used(known) == 1000
    assert known.cycle("team-a", NOW) == []


def test_a_released_job_without_pods_yet_keeps_its_quota_when_its_unit_is_deleted():
    known = running_book(changed(RUNS, has_run=False, pods_active=0))
    known.lost(HELD)
    assert cpu_used(known) == 1000


def test_the_unit_made_again_is_not_counted_beside_the_claim():
    known = running_book()
    known.lost(HELD)
    known.saw(unit("a", cpu=1, phase=Phase.RUNNING, uid="again"))
    assert cpu_used(known) == 1000


def test_the_unit_made_again_counts_before_it_is_granted_too():
    """A Job between two pods has none that would tell."""
    known = running_book(changed(RUNS, pods_active=0))
    known.lost(HELD)
    known.saw(unit("a", cpu=1, uid="again"))
    assert cpu_used(known) == 1000
    known.saw(changed(RUNS, state=JobState.SUCCEEDED, pods_active=0))
    assert cpu_used(known) == 0


def test_live_pods_and_the_claim_are_counted_once():
    known = running_book(RUNS, pod(job="a"))
    known.lost(HELD)
    assert cpu_used(known) == 1000


def test_a_claim_without_pods_and_unit_counts_from_the_start():
    known = book()
    known.gather()
    for view in (queue(), namespace(), RUNS):
        known.saw(view)
    for _ in known.settle(quotas(quota(cpu=1))):
        pass
    assert cpu_used(known) == 1000


def test_a_claim_moves_with_the_quota_of_its_namespace():
    known = running_book(changed(RUNS, labels={}))
    known.lost(HELD)
    assert cpu_used(known) == 0
    mapped = quota(cpu=1, namespaces=("team-a",))
    known.set_quotas(quotas(mapped), structure_changed=True)
    assert cpu_used(known) == 1000


def test_11_9_nobody_claims_a_quota_that_its_namespace_may_not_use():
    known = running_book()
    known.lost(HELD)
    closed = quota(cpu=1, annotations={keys.ALLOWED_NAMESPACES: "other"})
    known.set_quotas(quotas(closed), structure_changed=True)
    assert cpu_used(known) == 0


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(changed(RUNS, suspended=True), id="suspended"),
        pytest.param(changed(RUNS, state=JobState.SUCCEEDED), id="finished"),
        pytest.param(changed(RUNS, released_at=None), id="never released"),
        pytest.param(changed(RUNS, annotations={keys.BYPASSED_BY: "root"}), id="bypassed"),
        pytest.param(changed(RUNS, deleting=True, pods_active=0), id="deleting, none left"),
    ],
)
def test_what_runs_nothing_claims_nothing(job):
    known = running_book()
    known.lost(HELD)
    known.saw(job)
    assert cpu_used(known) == 0
    assert len(known.cycle("team-a", NOW)) == 1


def test_pods_of_a_deleted_job_count_until_their_watch_has_caught_up():
    known = running_book()
    known.lost(RUNS, version=40)
    known.lost(HELD)
    assert cpu_used(known) == 1000
    assert not known.saw_pods(39)
    assert cpu_used(known) == 1000
    assert known.saw_pods(40)
    assert cpu_used(known) == 0


def test_pods_that_their_watch_shows_count_on_when_it_has_caught_up():
    known = running_book(RUNS, pod(job="a"))
    known.lost(RUNS, version=40)
    known.lost(HELD)
    known.saw_pods(40)
    assert cpu_used(known) == 1000


def test_a_job_that_counted_no_pods_any_more_leaves_none_behind():
    known = running_book(changed(RUNS, pods_active=0))
    known.lost(changed(RUNS, pods_active=0), version=40)
    known.lost(HELD)
    assert cpu_used(known) == 0


def test_a_claim_of_a_gone_job_can_be_given_up():
    known = running_book()
    known.lost(RUNS, version=40)
    known.lost(HELD)
    known.forgive(RUNS.uid)
    assert cpu_used(known) == 0
    assert known.take_woken() == ["team-a"]


def test_of_a_job_that_was_on_its_way_out_what_pods_did_since_its_last_word_is_known():
    """Deleted in the foreground it goes after its pods, and may still count them."""
    ending = changed(RUNS, deleting=True, pods_active=0, pods_terminating=1, resource_version="30")
    known = running_book(ending)
    known.lost(ending, version=40)
    known.lost(HELD)
    assert cpu_used(known) == 1000
    assert not known.saw_pods(29)
    assert known.saw_pods(30)
    assert cpu_used(known) == 0


def test_a_child_that_bears_the_marks_of_its_parent_claims_nothing():
    """KubeRay copies annotations and labels of a RayJob to its RayCluster."""
    ray = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
    parent = changed(RUNS, kind=ray, uid="ray")
    child = changed(
        RUNS,
        uid="cluster",
        kind=ResourceKind("ray.io", "v1", "RayCluster", "rayclusters"),
        owners=(Owner("ray.io/v1", "RayJob", "a", "ray", controller=True),),
    )
    assert claim_of(parent) is not None
    assert claim_of(child) is None
