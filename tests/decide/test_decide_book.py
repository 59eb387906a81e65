"""The book: grants, the units of one job, policies, and what is to be told."""

import pytest
from books import JOB, A, B, cpu_used, is_candidate, message, waiting_book
from builders import (
    NOW,
    at,
    book,
    changed,
    condition,
    granted,
    job_view,
    pod,
    queue,
    quota,
    quotas,
    unit,
    unit_by_hand,
)

from kq.core.messages import Reason
from kq.core.model import Phase


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


def test_a_second_unit_of_a_job_waits_whatever_came_first():
    made, by_hand = unit("made", job="a"), unit_by_hand("by-hand", job="a")
    for views in ((made, by_hand), (by_hand, made)):
        known = waiting_book(job_view("a"), *views)
        text = "job team-a/a is already queued as team-a/made"
        assert message(known, by_hand.key) == text
        assert is_candidate(known, made.key)


def adopted(by_hand, job):
    """The unit once the manager has read its job into it."""
    return changed(by_hand, owner_uid=f"job-{job}", resource_version="2")


def test_a_second_unit_of_a_job_moves_up_when_the_first_goes():
    made, by_hand = unit("made", job="a"), unit_by_hand("by-hand", job="a")
    known = waiting_book(job_view("a"), made, by_hand)
    known.lost(made)
    assert not is_candidate(known, by_hand.key)
    assert known.verdict(by_hand.key) is None
    known.saw(adopted(by_hand, "a"))
    assert is_candidate(known, by_hand.key)
    assert known.take_woken() == ["team-a"]


def test_pods_of_a_job_keep_a_unit_back_that_was_made_by_hand():
    by_hand = unit_by_hand("by-hand", job="a")
    leftover = pod(job="a")
    known = waiting_book(job_view("a"), adopted(by_hand, "a"))
    known.saw(leftover)
    assert not is_candidate(known, by_hand.key)
    known.lost(leftover)
    assert is_candidate(known, by_hand.key)


def test_a_unit_made_by_hand_waits_until_its_job_comes():
    known = waiting_book(unit_by_hand("a"))
    assert message(known, "team-a/a") == "job team-a/a does not exist"
    known.saw(job_view("a"))
    assert not is_candidate(known, "team-a/a"), "it asks what its job asks, which is not read yet"
    known.saw(adopted(unit_by_hand("a"), "a"))
    assert is_candidate(known, "team-a/a")
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


@pytest.mark.parametrize(
    ("policy", "default", "started"),
    [
        pytest.param("", "Priority", ["small"], id="empty"),
        pytest.param("", "Block", [], id="empty, with another default"),
        pytest.param("FIFO", "Priority", ["small"], id="unknown"),
        pytest.param("block", "Block", ["small"], id="unknown, with another default"),
    ],
)
def test_an_empty_policy_is_the_default_and_an_unknown_one_priority(policy, default, started):
    """Case D6, spec 10.6."""
    units = [unit("big", cpu=5), unit("small", cpu=1, minute=1)]
    jobs = [job_view(each.name) for each in units]
    line = queue(policy=policy)
    known = book(quota(cpu=4), views=[line, *jobs, *units], default_policy=default)
    assert [each.name for each in known.cycle("team-a", NOW)] == started


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


def test_a_unit_that_waits_is_told_why_once():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.cycle("team-a", NOW)
    assert known.take_to_tell() == ["team-a/a"]
    assert message(known, "team-a/a") == (
        "cannot start: 5 cpu requested, but max of quota team-a is 4"
    )
    known.saw(unit("a", cpu=5, told=known.verdict("team-a/a")))
    known.cycle("team-a", NOW)
    assert known.take_to_tell() == []


def test_a_restart_tells_nobody_what_they_know():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.cycle("team-a", NOW)
    told = unit("a", cpu=5, told=known.verdict("team-a/a"))
    again = waiting_book(job_view("a"), told)
    again.cycle("team-a", NOW)
    assert again.take_to_tell() == []


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
    assert known.take_to_tell() == [B.key]


def test_an_unknown_phase_is_told_once():
    """Spec 9.3."""
    strange = unit("a", phase=None, raw_phase="Paused")
    known = waiting_book(job_view("a"), strange)
    assert known.take_to_tell() == [strange.key]
    problem = known.verdict(strange.key)
    assert problem is not None
    assert problem.message == "phase Paused is not known"
    said = condition("QuotaReserved", False, Reason.MISCONFIGURED, problem.message)
    known.saw(changed(strange, message=problem.message, conditions=(said,)))
    assert known.take_to_tell() == []


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
    assert known.take_to_tell() == []


# -- what is no news -----------------------------------------------------------------------------


def test_the_echo_of_an_own_write_is_no_news():
    known = waiting_book(job_view("a"))
    assert known.saw(A)
    assert not known.saw(A)
    known.wrote(changed(A, queue="other"), known.ledger.sending(A.key))
    known.take_woken()
    assert not known.saw(changed(A, queue="other"))
    assert known.take_woken() == []
    assert known.saw(changed(changed(A, queue="third")))


def test_a_version_shown_again_takes_no_decided_grant_away():
    known = waiting_book(job_view("a"), A)
    known.cycle("team-a", NOW)
    assert not known.saw(A)
    assert cpu_used(known) == 4000


def test_a_pod_is_found_stuck_once():
    leftover = pod(job="a")
    known = waiting_book(job_view("a"), leftover)
    assert known.stuck(leftover)
    assert not known.stuck(leftover)
    assert not known.stuck(pod(job="nobody"))
