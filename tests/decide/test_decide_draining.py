"""A Queue that is drained: its units give back what they hold, and wait (spec 3.1, 9.5 f and i)."""

import msgspec
import pytest
from builders import (
    amounts,
    at,
    book,
    changed,
    condition,
    finished_job,
    grant,
    job_view,
    pod,
    queue,
    quota,
    running_job,
    situation,
    unit,
)
from plans import DEQUEUED, LIVE, RUNNING, kinds, one, status

from kq.core import keys, messages
from kq.core.messages import Reason
from kq.core.model import Phase, QueueUnit, Requeue
from kq.decide.actions import (
    HoldJob,
    LookAgain,
    PatchJob,
    PatchStatus,
    ReleaseJob,
    TellJob,
    TellUnit,
)
from kq.decide.draining import Draining
from kq.decide.evict import evict
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts

STOPPED = "queue team-a is stopped"
MARK = condition("Evicted", True, "QueueStopped", STOPPED)
SUSPENDED = running_job(suspended=True, released_at=None)
ENDING = PodFacts(live=1, running=1, ending=1)
RESERVED = {"phase": Phase.RESERVED, "grants": (grant(cpu=1),)}
HELD = job_view(suspended=True)
BY_PHASE = {"Reserved": RESERVED, "Dequeued": DEQUEUED, "Running": RUNNING}


def drained(job, unit_, **fields):
    return situation(job, unit_, drained_by="team-a", **fields)


def reasons(found) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}


# -- row by row


@pytest.mark.parametrize("holding", [RESERVED, DEQUEUED], ids=["Reserved", "Dequeued"])
def test_one_that_was_not_let_go_gives_back_at_once(holding):
    """Row f, and row i where the job is held still: all in one write (spec 9.4)."""
    now = drained(HELD, unit(**holding))
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    found = status(now)
    assert (found["phase"], found["message"], found["admissions"]) == ("Enqueued", STOPPED, [])
    assert reasons(found) == {
        "Evicted": ("True", "QueueStopped"),
        "QuotaReserved": ("False", "QueueStopped"),
        "Admitted": ("False", "Pending"),
        "PodsReady": ("False", "Pending"),
    }
    assert (one(now, TellJob).reason, one(now, TellJob).message) == ("Evicted", STOPPED)


@pytest.mark.parametrize("holding", [DEQUEUED, RUNNING], ids=["Dequeued", "Running"])
def test_one_that_runs_is_marked_suspended_and_waits_for_its_pods(holding):
    """Row i: each step rests on what the objects say, so any of them may be the first of a new
    manager; nothing is asked back for anybody."""
    now = drained(running_job(), unit(**holding), pods=LIVE)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    assert reasons(status(now)) == {"Evicted": ("True", "QueueStopped")}
    assert "admissions" not in status(now)
    marked = unit(conditions=(MARK,), **holding)
    held = one(drained(running_job(), marked, pods=LIVE), HoldJob)
    assert (held.cause, held.annotations) == (STOPPED, {keys.DEQUEUE_TIMESTAMP: ""})
    assert kinds(drained(SUSPENDED, marked, pods=ENDING)) == []
    gone = drained(running_job(suspended=True, released_at=None, pods_active=0), marked)
    assert kinds(gone) == [PatchStatus]
    found = status(gone)
    assert (found["phase"], found["message"], found["admissions"]) == ("Enqueued", STOPPED, [])
    assert "requeueState" not in found


def test_what_has_begun_is_finished_though_the_queue_goes_on_by_now():
    marked = unit(conditions=(MARK,), **RUNNING)
    assert kinds(situation(running_job(), marked, pods=LIVE)) == [HoldJob]
    gone = situation(running_job(suspended=True, released_at=None, pods_active=0), marked)
    assert (status(gone)["phase"], status(gone)["message"]) == ("Enqueued", STOPPED)


def test_the_mark_of_the_release_goes_with_what_it_was_for():
    released = running_job(suspended=True, pods_active=0, released_at=at(-1))
    marked = unit(conditions=(MARK,), allocated=at(0), **RUNNING)
    assert kinds(drained(released, marked)) == [PatchStatus, PatchJob]


@pytest.mark.parametrize("holding", BY_PHASE.values(), ids=BY_PHASE)
@pytest.mark.parametrize(("failed", "phase"), [(False, "Succeed"), (True, "Failed")])
def test_one_whose_job_ends_meanwhile_has_ended(holding, failed, phase):
    """Row q goes first, marked or not."""
    for conditions in ((), (MARK,)):
        now = drained(finished_job(failed=failed), unit(conditions=conditions, **holding))
        assert status(now)["phase"] == phase


def test_one_that_is_deactivated_too_is_deactivated():
    """Of two causes the weightier decides (spec 9.5)."""
    now = drained(running_job(), unit(active=False, **RUNNING), pods=LIVE)
    assert reasons(status(now)) == {"Evicted": ("True", "Deactivated")}
    later = unit(active=False, conditions=(MARK,), **RUNNING)
    assert reasons(status(drained(running_job(), later, pods=LIVE)))["Evicted"][1] == "Deactivated"


@pytest.mark.parametrize("phase", [Phase.ENQUEUED, Phase.BACKOFF])
def test_one_that_holds_nothing_is_left_alone(phase):
    waits = unit(phase=phase, requeue=Requeue(1, at(1.5)))
    assert PatchStatus not in kinds(drained(HELD, waits))


def test_a_kind_that_cannot_be_stopped_runs_on_and_is_told_once():
    """Spec 13.15: NotEvictable; it goes on and stays counted."""
    job = running_job(evictable=False)
    now = drained(job, unit(**RUNNING), pods=LIVE)
    assert kinds(now) == [PatchStatus, TellJob]
    assert reasons(status(now)) == {"Evicted": ("False", "NotEvictable")}
    text = f"Job cannot be stopped while it runs ({STOPPED}): it runs on, and counts"
    assert one(now, TellJob).message == text
    told = unit(conditions=(condition("Evicted", False, "NotEvictable", text),), **RUNNING)
    assert not {HoldJob, TellJob} & set(kinds(drained(job, told, pods=LIVE)))


def test_one_whose_operator_does_not_stop_it_stays_held():
    """Spec 13.15: in other evictions than those for others the hold stays."""
    marked = unit(conditions=(MARK,), **RUNNING)
    now = drained(SUSPENDED, marked, pods=LIVE, held_since=at(-5))
    assert kinds(now) == [PatchStatus, TellJob]
    assert "operator of Job does not stop it: it is held" in status(now)["message"]
    soon = drained(SUSPENDED, marked, pods=LIVE, held_since=at(0.5))
    assert kinds(soon) == [LookAgain]
    assert ReleaseJob not in kinds(now)


# -- a reservation for another quota (2.8)


def test_a_reservation_for_another_quota_than_the_job_names_is_given_up():
    """Row f with S1: only then the unit says the new one."""
    now = situation(HELD, unit(**RESERVED), moves=True)
    found = status(now)
    assert (found["phase"], found["message"], found["admissions"]) == ("Enqueued", "Enqueued", [])
    assert reasons(found) == {
        "QuotaReserved": ("False", "Pending"),
        "Admitted": ("False", "Pending"),
    }
    assert not [each for each in plan_job(now) if isinstance(each, TellJob | TellUnit)]


@pytest.mark.parametrize("holding", [DEQUEUED, RUNNING], ids=["Dequeued", "Running"])
def test_one_that_was_let_go_keeps_its_quota(holding):
    assert evict(situation(running_job(), unit(**holding), pods=LIVE, moves=True), unit()) is None


# -- for the line as a whole


OPEN = queue()
SHUT = changed(OPEN, stop_policy="HoldAndDrain")
HALTED = changed(OPEN, stop_policy="Hold")


def line(*queues, **options):
    """A runs, b and c wait: b goes before c."""
    jobs = [running_job("a"), job_view("b"), job_view("c")]
    runs = unit("a", cpu=4, grants=(grant(cpu=4),), **RUNNING)
    waiting = [unit("b", cpu=4, minute=1), unit("c", cpu=4, minute=2)]
    return book(quota(cpu=4), views=(*queues, *jobs, runs, *waiting), **options)


@pytest.mark.parametrize("stopped", [HALTED, SHUT], ids=lambda each: each.stop_policy)
def test_a_stopped_queue_starts_nobody_and_says_so(stopped):
    """Spec 3.1, M22: whatever comes free."""
    of = line(OPEN)
    of.saw(stopped)
    of.lost(of.units["team-a/a"])
    for name in of.take_woken():
        assert of.cycle(name, at(1)) == []
    verdict = of.verdict("team-a/b")
    assert (verdict.reason, verdict.message) == (Reason.STOPPED, STOPPED)


def test_when_it_goes_on_all_are_tried_at_their_old_places():
    of = line(SHUT)
    drained_one = of.units["team-a/a"]
    of.saw(changed(drained_one, phase=Phase.ENQUEUED, raw_phase="Enqueued", grants=()))
    assert of.cycle("team-a", at(1)) == []
    of.saw(changed(SHUT, stop_policy="None"))
    assert of.take_woken() == ["team-a"]
    assert [each.name for each in of.cycle("team-a", at(1))] == ["a"]


# -- beside those who are taken from (spec 13.6, 24.6)


HIGH = unit("high", quota="team-b", cpu=4, priority=9, minute=3)


def family(*units: QueueUnit, queue_a=SHUT):
    """Two Queues below one limit of 8 cpu; that of team-a is drained, and team-b takes back."""
    quotas = (
        quota("root", cpu=8),
        quota("team-a", parent="root", cpu=8),
        quota("team-b", parent="root", cpu=8, minimum=amounts(cpu=8), annotations={RECLAIM: "Any"}),
        quota("team-c", parent="root", cpu=8),
    )
    queues = (queue_a, queue("team-b"), queue("team-c"))
    jobs = [running_job(each.name) for each in units if each.holds_quota]
    return book(*quotas, views=(*queues, *jobs, job_view("high"), *units))


RECLAIM = "koord-queue/reclaim"


def runs(name, quota_, **fields):
    return unit(name, quota=quota_, cpu=4, grants=(grant(cpu=4),), **RUNNING | fields)


def victims(of):
    of.cycle("team-b", at(1))
    return sorted(key for key in of.units if of.takings.of(key) is not None)


def test_nobody_else_is_taken_from_for_what_the_drained_one_gives_back():
    """Before it is marked as well as after."""
    for conditions in ((), (MARK,)):
        of = family(runs("a", "team-a", conditions=conditions), runs("c", "team-c"), HIGH)
        assert victims(of) == []
        waiting = of.verdict("team-a/high")
        assert waiting.message == "waiting for 1 unit(s) to give back quota root: team-a/a"


@pytest.mark.parametrize("is_deleted", [False, True], ids=["it goes on", "it is deleted"])
def test_where_the_queue_is_drained_no_more_somebody_is_taken_from_as_ever(is_deleted):
    of = family(runs("a", "team-a"), runs("c", "team-c"), HIGH)
    victims(of)
    of.take_woken()
    if is_deleted:
        of.lost(SHUT)
    else:
        of.saw(changed(SHUT, stop_policy="None"))
    assert "team-b" in of.take_woken()
    assert len(victims(of)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {"conditions": (condition("Evicted", False, "NotEvictable", "x"),)}, id="unstoppable"
        ),
        pytest.param(
            {
                "conditions": (MARK,),
                "message": "the operator of Job does not stop it: "
                "it is held, and counts while its pods run",
            },
            id="held in vain",
        ),
    ],
)
def test_one_that_gives_nothing_back_is_waited_for_by_nobody(fields):
    of = family(runs("a", "team-a", **fields), runs("c", "team-c"), HIGH)
    assert victims(of) == ["team-a/c"]


def test_one_whose_hold_proved_ineffective_gives_nothing_back_either():
    """Spec 13.15, 8.12."""
    told = (condition("QuotaReserved", True, "QuotaReserved", messages.m25("Job")),)
    of = family(runs("a", "team-a", conditions=told), runs("c", "team-c"), HIGH)
    of.saw(job_view("a"))
    of.saw(pod("a-0", job="a", cpu=4))
    assert victims(of) == ["team-a/c"]


# -- a maximum execution time that is over already (rows m, l)


def test_a_time_that_is_over_at_once_is_told_as_what_it_is():
    """Row m: active again, with nothing left of its time; not as if somebody had deactivated it."""
    over = {"longest_seconds": 60, "past_seconds": 60, "allocated": at(0.9)}
    spent = unit(**DEQUEUED, **over)
    now = situation(HELD, spent)
    assert reasons(status(now)) == {"Evicted": ("True", "MaximumExecutionTimeExceeded")}
    mark = condition("Evicted", True, "MaximumExecutionTimeExceeded", messages.S11)
    marked = msgspec.structs.replace(spent, conditions=(mark,))
    assert next(each.patch for each in plan_job(situation(HELD, marked))) == {
        "spec": {"active": False}
    }
    inactive = msgspec.structs.replace(marked, active=False)
    found = status(situation(HELD, inactive))
    assert (found["phase"], found["message"]) == ("Enqueued", messages.S11)


def test_only_who_holds_grants_leaves_a_drained_queue():
    """Others have nothing to give back, though their pods may be there still."""
    phases = (Phase.RESERVED, Phase.DEQUEUED, Phase.RUNNING, Phase.ENQUEUED, Phase.SUCCEED)
    units = {
        each.key: each for each in (unit(phase.value.lower(), phase=phase) for phase in phases)
    }
    draining = Draining()
    assert draining.leaving(units, lambda key: "team-a", lambda each: True) == set()
    draining.saw("team-a", SHUT)
    held = {f"team-a/{phase.value.lower()}" for phase in phases[:3]}
    assert draining.leaving(units, lambda key: "team-a", lambda each: True) == held
    assert draining.leaving(units, lambda key: "else", lambda each: True) == set()
