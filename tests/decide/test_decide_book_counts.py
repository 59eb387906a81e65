"""What counts, from the grant to the end of the last pod (spec 11.7-11.9)."""

import msgspec
import pytest
from books import JOB, A, B, cpu_used, is_candidate, waiting_book
from builders import (
    NOW,
    book,
    changed,
    job_view,
    namespace,
    pod,
    queue,
    quota,
    quotas,
    unit,
)

from kq.core import keys
from kq.core.model import Owner, Phase
from kq.decide.book import Book
from kq.policies import POLICIES


def test_reservation_and_pods_are_counted_once():
    """Case E6: 4 in every moment, from the grant to the end of the last pod."""
    held = unit("a", cpu=1, replicas=4, phase=Phase.DEQUEUED)
    known = waiting_book(job_view("a", suspended=False), job_view("b"), held, B)
    pods = [pod(f"a-{number}", job="a", phase="Pending") for number in range(4)]
    for phase in ("Pending", "Running"):
        for each in pods:
            known.saw(msgspec.structs.replace(each, phase=phase))
            assert cpu_used(known) == 4000
            assert known.cycle("team-a", NOW) == []
    known.saw(changed(held, phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert cpu_used(known) == 4000
    for each in pods:
        assert known.cycle("team-a", NOW) == []
        known.saw(msgspec.structs.replace(each, phase="Succeeded"))
    assert cpu_used(known) == 0
    assert [each.key for each in known.cycle("team-a", NOW)] == [B.key]


def test_pods_of_a_job_that_is_gone_count_until_they_are_gone():
    """Case I6: the unit of the old UID is deleted, its live pods stay counted (2.9)."""
    leftover = pod(job="a", cpu=4)
    known = waiting_book(job_view("a"), unit("a", cpu=4, phase=Phase.RUNNING), leftover)
    known.lost(JOB)
    known.lost(unit("a"))
    assert cpu_used(known) == 4000
    known.lost(leftover)
    assert cpu_used(known) == 0


def test_pods_without_a_label_count_to_the_quota_of_their_unit_when_that_is_gone():
    """Those of a TrainJob whose runtime could not be patched have none."""
    leftover = pod(job="a", cpu=4, quota="")
    known = waiting_book(job_view("a"), unit("a", cpu=4, phase=Phase.RUNNING), leftover)
    known.lost(unit("a"))
    known.lost(JOB)
    assert cpu_used(known) == 4000
    known.lost(leftover)
    assert cpu_used(known) == 0


def test_pods_that_a_moved_job_left_behind_count_to_the_quota_of_its_run():
    """Whatever their label says: they got it when their job was submitted to another quota."""
    leftover = pod(job="a", cpu=4, quota="other")
    closed = quota(cpu=4, annotations={keys.ALLOWED_NAMESPACES: ""})
    job, held = job_view("a"), unit("a", cpu=4, phase=Phase.RUNNING)
    views = [queue(), queue("other"), job, held, leftover]
    known = book(quota(cpu=4), quota("other"), views=views)
    known.set_quotas(quotas(closed, quota("other")), structure_changed=True)
    known.lost(held)
    known.lost(job)
    assert cpu_used(known) == 4000
    known.lost(leftover)
    assert cpu_used(known) == 0


@pytest.mark.parametrize(
    ("marks", "used"),
    [
        pytest.param({keys.DEQUEUE_TIMESTAMP: ""}, 4000, id="let go and stopped"),
        pytest.param({keys.DEQUEUE_TIMESTAMPS[1]: ""}, 4000, id="likewise, in another spelling"),
        pytest.param({}, 0, id="never let go"),
    ],
)
def test_ending_pods_of_a_stopped_job_count_if_its_unit_is_lost(marks, used):
    """Its owner had held it himself, so the webhook has left no mark on it."""
    leftover = pod(job="a", cpu=4)
    known = book(quota(cpu=4), views=[queue(), job_view("a", annotations=marks), leftover])
    assert cpu_used(known) == used
    known.lost(leftover)
    assert cpu_used(known) == 0


def test_pods_left_behind_count_once_their_namespace_is_allowed():
    leftover = pod(job="a", cpu=4)
    closed = quota(cpu=4, annotations={keys.ALLOWED_NAMESPACES: ""})
    known = book(closed, views=[queue(), leftover])
    assert cpu_used(known) == 0
    known.set_quotas(quotas(quota(cpu=4)), structure_changed=True)
    assert cpu_used(known) == 4000


def test_pods_left_behind_follow_the_labels_of_their_namespace():
    leftover = pod(job="a", cpu=4, namespace="team-b")
    mapped = namespace("team-b", labels={keys.QUOTA_LABEL: "other"})
    known = book(quota(cpu=4), quota("other"), views=[queue(), mapped, leftover])
    assert cpu_used(known) == 0
    known.saw(namespace("team-b"))
    assert cpu_used(known) == 4000


def test_pods_of_kinds_that_are_not_served_do_not_count():
    stranger = pod(job="a")
    owner = msgspec.structs.replace(stranger.owner, kind="ReplicaSet")
    known = waiting_book(msgspec.structs.replace(stranger, owner=owner))
    assert cpu_used(known) == 0


def test_a_pod_without_an_owner_is_nobodys():
    known = waiting_book(job_view("a"), pod(job="a", owner=None), A)
    assert cpu_used(known) == 0
    assert is_candidate(known, A.key)


def test_a_running_unit_keeps_its_usage_when_its_label_moves():
    """Case E8: used(a) + used(b) is constant."""
    held = unit("a", cpu=3, phase=Phase.RUNNING)
    known = book(quota(), quota("team-b"), views=[queue(), queue("team-b"), job_view("a"), held])
    known.saw(changed(held, labels={keys.QUOTA_LABEL: "team-b"}))
    assert (cpu_used(known), cpu_used(known, "team-b")) == (0, 3000)


def test_a_waiting_unit_is_in_one_queue_only():
    """Case E8."""
    known = book(quota(), quota("team-b"), views=[queue(), queue("team-b"), job_view("a"), A])
    known.saw(changed(A, labels={keys.QUOTA_LABEL: "team-b"}))
    assert known.places.waiting("team-a") is None
    assert next(known.places.in_order("team-b"))[2] == A.key
    assert set(known.take_woken()) == {"team-a", "team-b"}


# -- pods of no queued job (spec 11.9) -------------------------------------------------------------


@pytest.mark.parametrize(("counted", "used"), [(True, 2000), (False, 0)])
@pytest.mark.parametrize("owned", [True, False], ids=["of a ReplicaSet", "of nobody"])
def test_foreign_pods_count_to_the_quota_they_name_if_that_is_set(owned, counted, used):
    owner = Owner("apps/v1", "ReplicaSet", "web", "uid-of-web", controller=True) if owned else None
    known = Book(
        policies=POLICIES,
        default_policy="Priority",
        quotas=quotas(quota(cpu=4)),
        kinds={"Job"},
        counts_foreign=counted,
    )
    foreign = changed(pod(quota="team-a", cpu=2), owner=owner)
    known.saw(foreign)
    assert known.usage.of("team-a").get("cpu", 0) == used
    known.lost(foreign)
    assert known.usage.of("team-a").get("cpu", 0) == 0
