"""The book: what wakes a Queue, what counts, and what is to be told, event by event."""

import msgspec
import pytest
from builders import (
    NOW,
    at,
    book,
    changed,
    condition,
    granted,
    job_view,
    namespace,
    pod,
    queue,
    quota,
    quotas,
    unit,
    unit_by_hand,
)

from kq.core import keys
from kq.core.messages import Reason
from kq.core.model import Phase


def cpu_used(of, level="team-a"):
    return of.usage.of(level).get("cpu", 0)


def is_candidate(of, key: str) -> bool:
    return of.places.place(key) is not None


def message(of, key: str) -> str | None:
    verdict = of.verdict(key)
    return verdict.message if verdict else None


def waiting_book(*views, cpu=4, **options):
    """One quota and its Queue."""
    return book(quota(cpu=cpu), views=(queue(), *views), **options)


JOB = job_view("a")
A = unit("a", cpu=4)
B = unit("b", cpu=4, minute=1)


# -- grants ------------------------------------------------------------------------------------


def test_a_grant_counts_before_it_is_written():
    known = waiting_book(job_view("a"), job_view("b"), A, B)
    assert [each.key for each in known.cycle("team-a", NOW)] == ["team-a/a"]
    assert cpu_used(known) == 4000
    assert known.cycle("team-a", NOW) == []


def test_a_grant_is_the_unit_as_it_is_to_be_written():
    known = waiting_book(job_view("a"), unit("a", cpu=2, replicas=2))
    (found,) = known.cycle("team-a", at(3))
    assert (found.phase, found.attempts, found.allocated) == (Phase.DEQUEUED, 1, at(3))
    assert [(each.name, each.replicas) for each in found.grants] == [("main", 2)]


def test_many_are_granted_in_one_cycle_in_order():
    units = [unit(f"u{number}", minute=9 - number) for number in range(4)]
    jobs = [job_view(each.name) for each in units]
    known = waiting_book(*jobs, *units, cpu=3)
    granted_now = [each.name for each in known.cycle("team-a", NOW)]
    assert granted_now == ["u3", "u2", "u1"]


def test_a_revoked_grant_counts_no_more_and_wakes_its_queue():
    known = waiting_book(job_view("a"), A)
    known.cycle("team-a", NOW)
    known.take_woken()
    known.revoke(A.key)
    assert cpu_used(known) == 0
    assert known.take_woken() == ["team-a"]


def test_a_unit_deleted_before_its_grant_is_written_holds_nothing():
    """Case I2."""
    known = waiting_book(job_view("a"), job_view("b"), A, B)
    known.cycle("team-a", NOW)
    known.take_woken()
    known.lost(A)
    assert cpu_used(known) == 0
    assert A.key not in known.units
    assert known.take_woken() == ["team-a"]
    assert [each.key for each in known.cycle("team-a", NOW)] == [B.key]


def test_a_written_grant_counts_while_the_informer_lags():
    known = waiting_book(job_view("a"), A)
    known.cycle("team-a", NOW)
    sending = known.ledger.sending(A.key)
    known.wrote(granted(A), sending)
    known.saw(A)
    assert cpu_used(known) == 4000


@pytest.mark.parametrize("name", ["team-b", "nowhere"])
def test_a_cycle_of_a_queue_where_nobody_waits_grants_nothing(name):
    known = book(quota(cpu=4), quota("team-b"), views=[queue(), queue("team-b"), job_view("a"), A])
    assert known.cycle(name, NOW) == []


# -- what wakes a Queue (spec 10.15) ------------------------------------------------------------


def tree():
    """p1 over c1 and c3, p2 over c2; c1 uses all of p1, a unit waits in each."""
    levels = [quota("p1", cpu=4), quota("p2", cpu=4)]
    leaves = [quota("c1", parent="p1"), quota("c3", parent="p1"), quota("c2", parent="p2")]
    holder = unit("holder", quota="c1", cpu=4, phase=Phase.RUNNING)
    waiting = [unit(f"w-{name}", quota=name, cpu=5) for name in ("c1", "c2", "c3")]
    everything = [*waiting, holder]
    jobs = [job_view(each.name) for each in everything]
    lines = [queue(name) for name in ("c1", "c2", "c3")]
    return levels, leaves, [*lines, *jobs, *everything], holder


@pytest.mark.parametrize(
    ("event", "woken"),
    [
        pytest.param(
            lambda known, held: known.lost(held),
            {"c1", "c3"},
            id="a holder goes: all that share a level",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(held, phase=Phase.SUCCEED, grants=())),
            {"c1", "c3"},
            id="grants are dropped",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(held, grants=())), set(), id="nothing is freed"
        ),
        pytest.param(
            lambda known, held: known.saw(changed(held, message="other")), set(), id="another text"
        ),
        pytest.param(
            lambda known, held: known.lost(unit("w-c2", quota="c2", cpu=5)),
            {"c2"},
            id="the last that waited in a Queue goes",
        ),
        pytest.param(
            lambda known, held: known.saw(unit("w-c2", quota="c2", cpu=5, priority=9)),
            {"c2"},
            id="another priority",
        ),
        pytest.param(
            lambda known, held: known.saw(unit("w-c2", quota="c2", cpu=6)), {"c2"}, id="a request"
        ),
        pytest.param(
            lambda known, held: known.saw(unit("w-c2", quota="c1", cpu=5)),
            {"c1", "c2"},
            id="another quota: the old and the new Queue",
        ),
        pytest.param(
            lambda known, held: known.saw(unit("w-c2", quota="c2", cpu=5, active=False)),
            {"c2"},
            id="deactivated",
        ),
        pytest.param(
            lambda known, held: known.saw(unit("x", quota="c2", job="w-c2", minute=1)),
            set(),
            id="a second unit of a job is no candidate",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), priority=7)),
            {"c3"},
            id="a Queue's rules",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), policy="Block")),
            {"c3"},
            id="a Queue's policy",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), counts=(1, 0, 0))),
            set(),
            id="a Queue's status",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), annotations={"koord-queue/x": "y"})),
            {"c3"},
            id="a Queue's annotations",
        ),
        pytest.param(
            lambda known, held: known.saw(namespace(labels={"koord-queue/managed": "true"})),
            set(),
            id="labels of a namespace that decide nothing",
        ),
    ],
)
def test_what_wakes(event, woken):
    levels, leaves, views, held = tree()
    known = book(*levels, *leaves, views=views)
    event(known, held)
    assert set(known.take_woken()) == woken


def test_a_new_unit_wakes_its_queue_once():
    known = waiting_book(job_view("a"))
    known.saw(A)
    assert known.take_woken() == ["team-a"]
    assert known.take_woken() == []


def test_a_unit_that_comes_before_its_queue_waits_for_it():
    known = book(quota(cpu=4), views=[job_view("a"), A])
    assert known.take_woken() == []
    assert known.verdict(A.key) is None
    known.saw(queue())
    assert known.take_woken() == ["team-a"]
    assert is_candidate(known, A.key)


def test_a_queue_that_goes_takes_its_candidates_out():
    known = waiting_book(job_view("a"), A)
    known.lost(queue())
    assert not is_candidate(known, A.key)
    assert known.take_woken() == []
    assert known.cycle("team-a", NOW) == []


def test_the_end_of_the_last_pod_of_an_earlier_run_wakes():
    leftover = pod(job="a")
    known = waiting_book(job_view("a"), leftover, A)
    assert not is_candidate(known, A.key)
    known.lost(leftover)
    assert known.take_woken() == ["team-a"]
    assert is_candidate(known, A.key)


def test_a_pod_that_is_stuck_frees_its_quota_but_not_its_own_job():
    """Spec 11.9a."""
    leftover = pod(job="a", cpu=4)
    known = waiting_book(job_view("a"), job_view("b"), leftover, unit("a"), B)
    assert cpu_used(known) == 4000
    known.stuck(leftover)
    assert cpu_used(known) == 0
    assert [each.key for each in known.cycle("team-a", NOW)] == [B.key]


def test_a_higher_max_wakes_and_moves_nobody():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.set_quotas(quotas(quota(cpu=5)), structure_changed=False)
    assert known.take_woken() == ["team-a"]
    assert len(known.cycle("team-a", NOW)) == 1


def test_quotas_that_did_not_change_wake_nobody():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.set_quotas(quotas(quota(cpu=4)), structure_changed=True)
    assert known.take_woken() == []


def test_a_max_below_usage_evicts_nobody_and_lets_nobody_start():
    """Case E4."""
    small = unit("small", cpu=1)
    held = [unit(f"held{n}", cpu=4, phase=Phase.RUNNING) for n in (1, 2)]
    known = waiting_book(*[job_view(each.name) for each in (small, *held)], small, *held, cpu=10)
    known.set_quotas(quotas(quota(cpu=5)), structure_changed=False)
    assert known.cycle("team-a", NOW) == []
    assert cpu_used(known) == 8000
    known.saw(changed(held[0], phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert known.take_woken() == ["team-a"]
    assert [each.key for each in known.cycle("team-a", NOW)] == [small.key]


def test_usage_that_moves_to_another_parent_wakes_those_below_the_old_one():
    """Case E3."""
    levels, leaves, views, _ = tree()
    views.append(unit("fits", quota="c3", cpu=4))
    known = book(*levels, *leaves, views=[*views, job_view("fits")])
    assert known.cycle("c3", NOW) == []
    moved = [quota("c1", parent="p2"), *leaves[1:]]
    known.set_quotas(quotas(*levels, *moved), structure_changed=True)
    assert (cpu_used(known, "p1"), cpu_used(known, "p2")) == (0, 4000)
    assert "c3" in known.take_woken()
    assert [each.name for each in known.cycle("c3", NOW)] == ["fits"]


def test_a_quota_deleted_and_made_again_sees_what_is_running():
    """Spec 11.8."""
    held = unit("a", cpu=4, phase=Phase.RUNNING)
    known = waiting_book(job_view("a"), job_view("b"), held, B)
    known.set_quotas(quotas(), structure_changed=True)
    assert message(known, B.key) == "quota team-a does not exist"
    known.set_quotas(quotas(quota(cpu=4)), structure_changed=True)
    assert cpu_used(known) == 4000
    assert known.take_woken() == ["team-a"]
    assert known.cycle("team-a", NOW) == []


def test_queues_are_woken_by_priority_then_share_then_age_then_name():
    """Spec 10.17."""
    minimum = quota("x", cpu=8).limit
    lines = [
        quota("low", minimum=minimum),
        quota("high"),
        quota("used", minimum=minimum),
        quota("idle", minimum=minimum),
        quota("old"),
        quota("b-young"),
        quota("a-young"),
    ]
    priorities = {"low": -1, "high": 5}
    holder = unit("holder", quota="used", cpu=4, phase=Phase.RUNNING)
    ages = {"old": -5}
    waiting = [unit(f"w-{q.name}", quota=q.name, minute=ages.get(q.name, 0)) for q in lines]
    views = [queue(each.name, priority=priorities.get(each.name, 0)) for each in lines]
    known = book(*lines, views=views)
    for each in (holder, *waiting):
        known.saw(job_view(each.name))
        known.saw(each)
    assert known.take_woken() == ["high", "idle", "used", "old", "a-young", "b-young", "low"]


# -- units of one job (spec 2.6, 15.2) -----------------------------------------------------------


def test_a_second_unit_of_a_job_waits_whatever_came_first():
    made, by_hand = unit("made", job="a"), unit_by_hand("by-hand", job="a")
    for views in ((made, by_hand), (by_hand, made)):
        known = waiting_book(job_view("a"), *views)
        text = "job team-a/a is already queued as team-a/made"
        assert message(known, by_hand.key) == text
        assert is_candidate(known, made.key)


def test_a_second_unit_of_a_job_moves_up_when_the_first_goes():
    made, by_hand = unit("made", job="a"), unit_by_hand("by-hand", job="a")
    known = waiting_book(job_view("a"), made, by_hand)
    known.lost(made)
    assert is_candidate(known, by_hand.key)
    assert known.take_woken() == ["team-a"]


def test_pods_of_a_job_keep_a_unit_back_that_names_it_without_a_uid():
    by_hand = unit_by_hand("by-hand", job="a")
    leftover = pod(job="a")
    known = waiting_book(job_view("a"), by_hand)
    known.saw(leftover)
    assert not is_candidate(known, by_hand.key)
    known.lost(leftover)
    assert is_candidate(known, by_hand.key)


def test_a_unit_made_by_hand_waits_until_its_job_comes():
    known = waiting_book(unit_by_hand("a"))
    assert message(known, "team-a/a") == "job team-a/a does not exist"
    known.saw(job_view("a"))
    assert known.take_woken() == ["team-a"]


def test_a_unit_of_a_job_made_again_under_the_same_name_is_not_used():
    """Case I6: the unit names the UID of a job that is gone."""
    known = waiting_book(job_view("a"), A)
    again = job_view("a", uid="another")
    known.saw(again)
    known.lost(JOB)
    assert message(known, A.key) == "job team-a/a does not exist"


def test_a_job_on_its_way_out_is_no_candidate():
    known = waiting_book(job_view("a"), A)
    known.saw(changed(JOB, deleting=True))
    assert message(known, A.key) == "job team-a/a is being deleted"


# -- what counts (spec 11.7, 11.9) ----------------------------------------------------------------


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
    assert list(known.places.in_order("team-b"))[0][2] == A.key
    assert set(known.take_woken()) == {"team-a", "team-b"}


# -- what is to be told (spec 9.10, 20.1) ---------------------------------------------------------


def test_a_unit_that_waits_is_told_why_once():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.cycle("team-a", NOW)
    assert known.take_to_tell() == {"team-a/a"}
    assert message(known, "team-a/a") == (
        "cannot start: 5 cpu requested, but max of quota team-a is 4"
    )
    known.saw(unit("a", cpu=5, told=known.verdict("team-a/a")))
    known.cycle("team-a", NOW)
    assert known.take_to_tell() == set()


def test_a_restart_tells_nobody_what_they_know():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.cycle("team-a", NOW)
    told = unit("a", cpu=5, told=known.verdict("team-a/a"))
    again = waiting_book(job_view("a"), told)
    again.cycle("team-a", NOW)
    assert again.take_to_tell() == set()


def test_a_message_changes_with_its_cause():
    """Case M4: waiting for quota, then behind nobody, then the quota is gone."""
    held = unit("a", cpu=4, phase=Phase.RUNNING)
    known = waiting_book(job_view("a"), job_view("b"), held, B)
    known.cycle("team-a", NOW)
    assert message(known, B.key) == (
        "waiting for quota team-a: 4 cpu requested, not enough free of 4"
    )
    known.set_quotas(quotas(quota(cpu=3)), structure_changed=False)
    known.cycle("team-a", NOW)
    assert message(known, B.key) == "cannot start: 4 cpu requested, but max of quota team-a is 3"
    known.take_to_tell()
    known.set_quotas(quotas(), structure_changed=True)
    assert message(known, B.key) == "quota team-a does not exist"
    assert known.take_to_tell() == {B.key}


def test_an_unknown_phase_is_told_once():
    """Spec 9.3."""
    strange = unit("a", phase=None, raw_phase="Paused")
    known = waiting_book(job_view("a"), strange)
    assert known.take_to_tell() == {strange.key}
    problem = known.verdict(strange.key)
    assert problem is not None
    assert problem.message == "phase Paused is not known"
    said = condition("QuotaReserved", False, Reason.MISCONFIGURED, problem.message)
    known.saw(changed(strange, message=problem.message, conditions=(said,)))
    assert known.take_to_tell() == set()


def test_nothing_is_told_to_a_unit_that_holds_quota():
    known = waiting_book(job_view("a"), unit("a", phase=Phase.RUNNING))
    assert known.verdict("team-a/a") is None
    assert not is_candidate(known, "team-a/a")
    assert known.queue_of("team-a/a") == "team-a"


def test_a_unit_that_is_gone_is_told_nothing():
    known = waiting_book(unit("a"))
    assert known.verdict("team-a/a") is not None
    known.lost(unit("a"))
    assert known.verdict("team-a/a") is None
    assert known.queue_of("team-a/a") is None
    assert known.take_to_tell() == set()


# -- policies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["", "FIFO", "priority"])
def test_an_unknown_or_empty_policy_is_the_default(policy):
    """Case D6, spec 10.6."""
    units = [unit("big", cpu=5), unit("small", cpu=1, minute=1)]
    jobs = [job_view(each.name) for each in units]
    line = queue(policy=policy)
    known = book(quota(cpu=4), views=[line, *jobs, *units], default_policy="Priority")
    assert [each.name for each in known.cycle("team-a", NOW)] == ["small"]


def test_a_change_of_the_policy_counts_at_once():
    units = [unit("big", cpu=5), unit("small", cpu=1, minute=1)]
    jobs = [job_view(each.name) for each in units]
    known = book(quota(cpu=4), views=[queue(policy="Block"), *jobs, *units])
    assert known.cycle("team-a", NOW) == []
    known.saw(changed(queue(), policy="Priority"))
    assert known.take_woken() == ["team-a"]
    assert [each.name for each in known.cycle("team-a", NOW)] == ["small"]


@pytest.mark.parametrize(
    ("annotations", "starts"),
    [
        pytest.param({}, [], id="a head that can never fit blocks"),
        pytest.param({"koord-queue/skip-impossible": "true"}, ["small"], id="unless skipped"),
        pytest.param({"kube-queue/skip-impossible": "TRUE"}, ["small"], id="by the old spelling"),
        pytest.param({"koord-queue/skip-impossible": "yes"}, [], id="yes is not true"),
        pytest.param(
            {"koord-queue/skip-impossible": "false", "kube-queue/skip-impossible": "true"},
            [],
            id="the new spelling wins",
        ),
    ],
)
def test_skip_impossible_is_read_from_the_queue(annotations, starts):
    units = [unit("big", cpu=5), unit("small", cpu=1, minute=1)]
    jobs = [job_view(each.name) for each in units]
    line = queue(policy="Block", annotations=annotations)
    known = book(quota(cpu=4), views=[line, *jobs, *units])
    assert [each.name for each in known.cycle("team-a", NOW)] == starts
