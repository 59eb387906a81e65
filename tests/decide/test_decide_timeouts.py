"""Times that end a unit's turn, and the back-off after it (spec 9.6, 9.7, 9.12, 9.13, 9.18)."""

from datetime import timedelta

import pytest
from builders import at, condition, job_view, running_job, situation, stamp, unit
from hypothesis import given
from hypothesis import strategies as st
from plans import DEQUEUED, LIVE, PENDING, RUNNING, kinds, one, status

from kq.core import keys
from kq.core.model import Phase, Requeue
from kq.decide.actions import (
    HoldJob,
    LookAgain,
    PatchJob,
    PatchStatus,
    PatchUnit,
    TellJob,
    TellUnit,
)
from kq.decide.plan import plan_job
from kq.decide.situation import Patience, PodFacts, Rules
from kq.decide.timeouts import dequeued_at, failed_once_more, past_seconds

MINUTE = timedelta(minutes=1)


def patient(**fields):
    """Five minutes to start; back-offs of 1, 2, 4 and then 5 minutes."""
    values = {"start": 5 * MINUTE, "base": MINUTE, "longest": 5 * MINUTE}
    return Rules(patience={"Job": Patience(**values | fields)})


def looks_again(now):
    (found,) = [each.seconds for each in plan_job(now) if isinstance(each, LookAgain)]
    return found


def evicted(reason, message="x", **fields):
    mark = condition("Evicted", True, reason, message, minute=5)
    return unit(conditions=(mark,), **fields)


# -- since when


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, at(0), id="since its grant"),
        pytest.param(
            {"conditions": (condition("Admitted", True, minute=3),)}, at(3), id="after Reserved"
        ),
        pytest.param(
            {"conditions": (condition("Admitted", False, minute=3),)}, at(0), id="not admitted"
        ),
        pytest.param(
            {"conditions": (condition("Admitted", True),), "allocated": at(2)},
            at(2),
            id="granted again (row r)",
        ),
        pytest.param({"allocated": None}, None, id="never"),
    ],
)
def test_a_unit_is_dequeued_since_its_checks_were_ready(fields, expected):
    assert dequeued_at(unit(**DEQUEUED | fields)) == expected


@pytest.mark.parametrize(
    ("fields", "minute", "expected"),
    [
        pytest.param(RUNNING, 2, 120, id="first run"),
        pytest.param(RUNNING | {"past_seconds": 60}, 2, 180, id="with earlier ones"),
        pytest.param(RUNNING, -2, 0, id="a clock was wrong"),
        pytest.param({"phase": Phase.RESERVED}, 2, 0, id="Reserved is not admitted"),
        pytest.param(RUNNING | {"past_seconds": 2**31 - 2}, 2, 2**31 - 1, id="no more than fits"),
    ],
)
def test_admitted_time_adds_up(fields, minute, expected):
    assert past_seconds(unit(**fields), at(minute)) == expected


# -- start time-out (9.12)


def starts(minute, unit_=None, pods=PENDING, job=None, **rules):
    return situation(
        job or running_job(),
        unit_ or unit(**DEQUEUED),
        now=at(minute),
        pods=pods,
        rules=patient(**rules),
    )


def test_a_job_that_may_still_start_is_looked_at_when_its_time_is_over():
    assert looks_again(starts(2)) == 180


def test_without_a_time_out_nobody_looks():
    assert kinds(starts(1000, start=timedelta(0))) == []
    other_kind = Rules(patience={"TFJob": Patience(start=MINUTE)})
    assert kinds(situation(running_job(), unit(**DEQUEUED), now=at(9), rules=other_kind)) == []


def test_a_job_that_has_not_started_in_time_loses_its_grants():
    """Row h: marked, suspended, and in back-off once gone."""
    assert kinds(starts(5)) == [PatchStatus, TellUnit, TellJob]
    (mark,) = status(starts(5))["conditions"]
    assert (mark["reason"], mark["message"]) == (
        "PodsReadyTimeout",
        "Backoff due to running timeout",
    )
    marked = evicted("PodsReadyTimeout", **DEQUEUED)
    assert kinds(starts(5, marked)) == [HoldJob]
    ending = PodFacts(live=1, running=1, ending=1)
    assert kinds(starts(5, marked, ending, job_view())) == []


def gone(minute, unit_, **rules):
    return starts(minute, unit_, PodFacts(), job_view(), **rules)


def test_then_it_is_in_back_off_and_holds_nothing():
    found = status(gone(6, evicted("PodsReadyTimeout", **DEQUEUED)))
    assert (found["phase"], found["admissions"]) == ("TimeoutBackoff", [])
    assert found["message"] == "Backoff due to running timeout"
    assert found["requeueState"] == {"count": 1, "requeueAt": stamp(7)}
    assert found["accumulatedPastExecutionTimeSeconds"] == 360
    by_type = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert by_type["QuotaReserved"] == ("False", "BackOff")
    assert by_type["Evicted"] == ("True", "PodsReadyTimeout")


def test_the_time_counts_from_the_stored_grant_whatever_restarts_between():
    """Case G1."""
    assert looks_again(starts(4)) == 60


def test_a_released_job_that_runs_is_not_timed_out_any_more():
    assert LookAgain not in kinds(starts(9, unit(**RUNNING), LIVE))


def test_a_kind_that_cannot_be_stopped_goes_on():
    """Spec 13.15."""
    workflow = running_job(evictable=False)
    assert one(starts(5, job=workflow), TellJob).reason == "NotEvictable"


IDLE = {"conditions": (condition("PodsReady", False, "Pending", minute=2),), **RUNNING}
ATTEMPT = {"conditions": (condition("PodsReady", True, "PodsRunning"),), **RUNNING}
NO_POD = running_job(pods_active=0)


def test_a_running_unit_without_a_pod_is_marked_so():
    """Between two attempts of its operator it keeps its grants (case I9)."""
    found = status(starts(2, unit(**ATTEMPT), PodFacts(), NO_POD))
    assert [(e["type"], e["status"]) for e in found["conditions"]] == [("PodsReady", "False")]
    assert looks_again(starts(2, unit(**ATTEMPT), PodFacts(), NO_POD)) == 300
    assert "admissions" not in found


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(starts(3, unit(**IDLE), PodFacts(), NO_POD), [LookAgain], id="kept a while"),
        pytest.param(
            starts(7, unit(**IDLE), PodFacts(), NO_POD),
            [PatchStatus, TellUnit, TellJob],
            id="too long",
        ),
        pytest.param(starts(7, unit(**IDLE), LIVE), [PatchStatus], id="it runs again"),
        pytest.param(starts(7, unit(**IDLE), PENDING), [PatchStatus], id="a live pod is enough"),
        pytest.param(
            starts(7, unit(**ATTEMPT), PodFacts(), NO_POD, start=timedelta(0)), [], id="no time-out"
        ),
    ],
)
def test_a_running_unit_keeps_its_grants_between_attempts(now, expected):
    assert kinds(now) == expected


# -- maximum execution time (9.13)


def runs(minute, pods=LIVE, **fields):
    values = {"longest_seconds": 300, "pods_running": 1, "updated": at(minute), **RUNNING}
    return situation(running_job(), unit(**values | fields), now=at(minute), pods=pods)


def test_a_limited_run_is_looked_at_when_it_is_over():
    assert looks_again(runs(2)) == 180
    assert looks_again(runs(2, past_seconds=100)) == 80


@pytest.mark.parametrize(
    ("minute", "fields", "over"),
    [
        pytest.param(4.99, {}, False, id="not yet"),
        pytest.param(5, {}, True, id="its time is over"),
        pytest.param(1, {"past_seconds": 240}, True, id="with earlier runs"),
        pytest.param(9999, {"longest_seconds": None}, False, id="no limit"),
        pytest.param(-5, {}, False, id="a clock was wrong"),
    ],
)
def test_the_admitted_time_of_all_runs_counts(minute, fields, over):
    assert (TellUnit in kinds(runs(minute, **fields))) is over


def test_after_its_time_it_is_inactive_before_it_is_enqueued():
    """Row m; `spec` is written first."""
    marked = {"conditions": (condition("Evicted", True, "MaximumExecutionTimeExceeded"),)}
    held = {"job": job_view(), "pods": PodFacts()}
    first = situation(unit=unit(longest_seconds=60, **RUNNING, **marked), now=at(2), **held)
    assert one(first, PatchUnit).patch == {"spec": {"active": False}}
    assert kinds(first) == [PatchUnit]
    then = situation(
        unit=unit(longest_seconds=60, active=False, **RUNNING, **marked), now=at(2), **held
    )
    found = status(then)
    assert (found["phase"], found["message"]) == (
        "Enqueued",
        "Evicted because the maximum execution time was exceeded",
    )
    assert found["accumulatedPastExecutionTimeSeconds"] == 120
    by_type = {each["type"]: each["reason"] for each in found["conditions"]}
    assert by_type["QuotaReserved"] == "Inactive"


def test_an_old_true_goes_first_so_that_a_new_one_counts():
    marked = {"conditions": (condition("Evicted", True, "MaximumExecutionTimeExceeded"),)}
    job = job_view(annotations={keys.ACTIVE: "true"})
    copied = {**unit().annotations, keys.ACTIVE: "true"}
    over = unit(longest_seconds=60, annotations=copied, **RUNNING, **marked)
    assert kinds(situation(job, over, now=at(2))) == [PatchJob]


# -- of several causes (9.5)


@pytest.mark.parametrize(
    ("marked", "fields", "job", "reason"),
    [
        pytest.param("Restarted", {"active": False}, {}, "Deactivated", id="l before w"),
        pytest.param("Restarted", {"longest_seconds": 60}, {}, "MaximumExecution", id="m before w"),
        pytest.param("PodsReadyTimeout", {"active": False}, {}, "Deactivated", id="l before h"),
        pytest.param(
            "PodsReadyTimeout", {"longest_seconds": 60}, {}, "MaximumExecution", id="m before h"
        ),
        pytest.param(
            "MaximumExecutionTimeExceeded",
            {"active": False},
            {},
            None,
            id="who is inactive by its time was not deactivated",
        ),
        pytest.param("Deactivated", {"longest_seconds": 60}, {}, None, id="l stays before m"),
        pytest.param("Preempted", {"active": False}, {}, "Deactivated", id="l before i"),
        pytest.param("QueueStopped", {"longest_seconds": 60}, {}, "MaximumExec", id="m before i"),
        pytest.param("Reclaimed", {}, {}, None, id="i stays: it is not late, it is stopped"),
        pytest.param("Restarted", {}, {}, None, id="nothing else: no time-out once it is marked"),
    ],
)
def test_of_two_causes_the_weightier_decides(marked, fields, job, reason):
    now = starts(6, evicted(marked, **DEQUEUED, **fields), job=running_job(**job))
    actions = plan_job(now)
    if reason is None:
        assert [type(each) for each in actions][:1] == [HoldJob]
    else:
        (mark,) = actions[0].patch["status"]["conditions"]
        assert mark["reason"].startswith(reason)
        assert mark["lastTransitionTime"] == stamp(5)


# -- back-off (9.6, 9.7)


@pytest.mark.parametrize(
    ("before", "limit", "expected"),
    [
        pytest.param(None, 0, Requeue(1, at(1)), id="first"),
        pytest.param(Requeue(1, at(0)), 0, Requeue(2, at(2)), id="twice as long"),
        pytest.param(Requeue(2, at(0)), 0, Requeue(3, at(4)), id="and again"),
        pytest.param(Requeue(3, at(0)), 0, Requeue(4, at(5)), id="no longer than the longest"),
        pytest.param(Requeue(10**9, at(0)), 0, Requeue(10**9 + 1, at(5)), id="for ever"),
        pytest.param(Requeue(-7, at(0)), 0, Requeue(1, at(1)), id="nonsense"),
        pytest.param(Requeue(1, at(0)), 3, Requeue(2, at(2)), id="below the limit"),
        pytest.param(Requeue(2, at(0)), 3, Requeue(3), id="9.7: at the limit"),
        pytest.param(Requeue(5, at(0)), 3, Requeue(6), id="the limit was lowered"),
    ],
)
def test_the_back_off_doubles(before, limit, expected):
    patience = Patience(base=MINUTE, longest=5 * MINUTE, limit=limit)
    assert failed_once_more(unit(requeue=before), patience, at(0)) == expected


def test_a_check_may_ask_for_a_later_time():
    assert failed_once_more(unit(), Patience(), at(0), at(9)).at == at(9)
    assert failed_once_more(unit(), Patience(), at(0), at(0.5)).at == at(1)


@given(
    st.integers(0, 2**31 - 1),
    st.integers(0, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    st.integers(0, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
)
def test_no_back_off_is_longer_than_the_longest_or_parks_a_unit_for_hours(count, base, longest):
    patience = Patience(base=base, longest=longest)
    found = failed_once_more(unit(requeue=Requeue(count, at(0))), patience, at(0))
    assert found.at is not None
    assert at(0) <= found.at <= at(0) + max(longest, timedelta(0))


def waits(minute=0, *, requeue=None, reason="BackOff", job=None, **fields):
    told = condition("QuotaReserved", False, reason)
    values = {"phase": Phase.BACKOFF, "raw_phase": "TimeoutBackoff", "conditions": (told,)}
    return situation(
        job or job_view(),
        unit(requeue=requeue, **values | fields),
        now=at(minute),
        rules=patient(),
    )


def test_a_unit_in_back_off_waits_for_its_time():
    assert kinds(waits(1, requeue=Requeue(3, at(4)))) == [LookAgain]
    assert looks_again(waits(1, requeue=Requeue(3, at(4)))) == 180


@pytest.mark.parametrize(
    "requeue", [Requeue(1, at(1)), Requeue(1), None], ids=["its time", "no time", "nothing at all"]
)
def test_then_it_is_enqueued(requeue):
    """Row o: the count stays, until it runs."""
    found = status(waits(1, requeue=requeue))
    assert (found["phase"], found["message"]) == ("Enqueued", "Enqueued because backoff timeout")
    assert "requeueState" not in found
    (waiting,) = found["conditions"]
    assert waiting["reason"] == "Pending"


def test_a_time_too_far_ahead_is_cut_back():
    """Case G2: the clock was six hours ahead when it was written."""
    found = status(waits(5, requeue=Requeue(2, at(370))))
    assert found["requeueState"] == {"count": 2, "requeueAt": stamp(7)}
    assert "phase" not in found
    assert kinds(waits(5, requeue=Requeue(2, at(7)))) == [LookAgain]


def test_a_unit_deactivated_in_back_off_stays_there():
    found = status(waits(active=False, requeue=Requeue(1, at(1))))
    assert found["message"] == "deactivated"
    assert "phase" not in found
    assert kinds(waits(9, active=False, reason="Inactive", requeue=Requeue(1, at(1)))) == []


def test_a_reactivated_one_is_enqueued_and_starts_afresh():
    """Row p."""
    now = waits(reason="Inactive", requeue=Requeue(3))
    found = status(now)
    assert (found["phase"], found["message"]) == ("Enqueued", "Enqueued")
    assert found["requeueState"] is None
    assert one(now, TellUnit).reason == "Reactivated"


def test_at_the_limit_it_waits_for_somebody():
    """Spec 9.7: inactive first, then in back-off without a time."""
    before = {"requeue": Requeue(2, at(0)), **DEQUEUED}
    (mark,) = status(starts(6, unit(**before), limit=3))["conditions"]
    assert mark["message"] == "deactivated: Backoff due to running timeout"
    marked = {"reason": "PodsReadyTimeout", "message": mark["message"]}
    assert kinds(gone(7, evicted(**marked, **before), limit=3)) == [PatchUnit]
    then = gone(7, evicted(**marked, **before, active=False), limit=3)
    found = status(then)
    assert (found["phase"], found["message"]) == ("TimeoutBackoff", mark["message"])
    assert found["requeueState"] == {"count": 3, "requeueAt": None}
    assert one(then, TellUnit).reason == "RequeueLimitExceeded"
    by_type = {each["type"]: each["reason"] for each in found["conditions"]}
    assert by_type["QuotaReserved"] == "Inactive"


def test_an_eviction_out_of_the_queue_forgets_the_failures():
    found = status(gone(6, evicted("Deactivated", requeue=Requeue(2, at(0)), **DEQUEUED)))
    assert found["requeueState"] is None
    other = status(gone(6, evicted("Restarted", requeue=Requeue(2, at(0)), **DEQUEUED)))
    assert "requeueState" not in other


# -- what the job says (9.18)


def said(text, known=None, **fields):
    annotations = dict(unit().annotations)
    if known is not None:
        annotations[keys.MAX_EXEC_TIME] = known
    job = job_view(annotations={} if text is None else {keys.MAX_EXEC_TIME: text})
    return situation(job, unit(annotations=annotations, **fields))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(said("90"), {"maximumExecutionTimeSeconds": 90}, id="new"),
        pytest.param(
            said("90", "60", longest_seconds=60), {"maximumExecutionTimeSeconds": 90}, id="changed"
        ),
        pytest.param(
            said(None, "60", longest_seconds=60), {"maximumExecutionTimeSeconds": None}, id="gone"
        ),
        pytest.param(said("0", "60", longest_seconds=60), None, id="0 is none"),
        pytest.param(said("soon"), None, id="no number"),
        pytest.param(said("2147483648"), None, id="too large"),
        pytest.param(said("90", longest_seconds=90), None, id="set by hand alike"),
    ],
)
def test_the_limit_follows_a_change_of_the_annotation(now, expected):
    assert one(now, PatchUnit).patch.get("spec") == expected


def test_an_edit_of_the_unit_stays_while_the_annotation_does():
    assert kinds(said("60", "60", longest_seconds=600)) == []


def test_what_cannot_be_read_is_told_once():
    assert one(said("soon"), TellJob).message == (
        f"{keys.MAX_EXEC_TIME} is soon, not a whole number of seconds, 1 or more"
    )
    assert TellJob not in kinds(said("soon", "soon"))


def test_a_new_unit_has_the_limit_of_its_job():
    job = job_view(annotations={keys.MAX_EXEC_TIME: "90"})
    made = plan_job(situation(job))[0]
    assert made.body["spec"]["maximumExecutionTimeSeconds"] == 90


@given(st.text(max_size=12))
def test_any_text_is_a_limit_or_none(text):
    job = job_view(annotations={keys.MAX_EXEC_TIME: text})
    spec = plan_job(situation(job))[0].body["spec"]
    longest = spec.get("maximumExecutionTimeSeconds", 1)
    assert 1 <= longest < 2**31
