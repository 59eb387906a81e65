"""The texts of spec 20, word for word."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core import messages
from kq.core.messages import Reason, cut
from kq.core.resources import firm

CPU = ("cpu", 2500, 4000)
FIRM_CPU = (firm("cpu"), 2500, 3000)
MEMORY = ("memory", 1024**3, 8 * 1024**3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            messages.m1("a", "a", [CPU]),
            "waiting for quota a: 2500m cpu requested, not enough free of 4",
        ),
        (
            messages.m1("a", "p", [CPU, MEMORY]),
            "waiting for quota p, ancestor of a: 2500m cpu requested, not enough free of 4; "
            "1Gi memory requested, not enough free of 8Gi",
        ),
        (
            messages.m2("p", [CPU, ("nvidia.com/gpu", 8, 0)]),
            "cannot start: 2500m cpu requested, but max of quota p is 4; "
            "8 nvidia.com/gpu requested, but max of quota p is 0",
        ),
        (
            messages.m1("a", "p", [CPU, FIRM_CPU]),
            "waiting for quota p, ancestor of a: 2500m cpu requested, not enough free of 4; "
            "2500m cpu requested, not enough free of min 3 for jobs that are not preemptible",
        ),
        (
            messages.m2("p", [FIRM_CPU]),
            "cannot start: 2500m cpu requested, "
            "but min of quota p is 3 for jobs that are not preemptible",
        ),
        (
            messages.m3("team-a"),
            "no quota found for this job: set label quota.scheduling.koordinator.sh/name "
            "on it or on namespace team-a",
        ),
        (messages.m4("a", "a"), "quota a does not exist"),
        (messages.m4("a", "p"), "quota p, ancestor of a, does not exist"),
        (messages.m5("team-a", "q"), "namespace team-a may not use quota q"),
        (messages.m6("q"), "queue q does not exist"),
        (messages.m6("q", "a"), "queue q does not accept quota a"),
        (messages.m7(["a", "b"]), "quota a is in a cycle: a -> b -> a"),
        (
            messages.m8("q", "a"),
            "queue q starts units of quota a strictly in order, an earlier one does not fit",
        ),
        (messages.m9("q"), "queue q waits until all pods of its last started unit run"),
        (
            messages.m10("a/rq", "limits.cpu", "main", "worker"),
            "resource quota a/rq demands limits.cpu of every container; "
            "container main of pod set worker sets none",
        ),
        (messages.m11("a"), "high-priority units of quota a go first"),
        (messages.m12("a", ["x/u"]), "waiting for 1 unit(s) to give back quota a: x/u"),
        (
            messages.m12("a", ["x/u", "x/v", "x/w", "x/y", "x/z"]),
            "waiting for 5 unit(s) to give back quota a: x/u, x/v, x/w and 2 more",
        ),
        (messages.m16("cpu", "x", "a quantity"), "cpu is x, not a quantity"),
        (
            messages.m17("prov", "label a=b", "main", "the job", "c"),
            "admission check prov wants label a=b on pod set main, but the job sets c",
        ),
        (
            messages.m17_unknown("prov", "other"),
            "admission check prov names unknown pod set other",
        ),
        (
            messages.m20("Workflow", "prov"),
            "Workflow has no place for podSetUpdates of admission check prov",
        ),
        (messages.m18("b/j"), "consumer b/j is in another namespace"),
        (messages.m19("a/j", "a/u"), "job a/j is already queued as a/u"),
        (messages.m21("a/j"), "job a/j does not exist"),
        (messages.m22("q"), "queue q is stopped"),
        (
            messages.over_quota("a/j", "q", [CPU, MEMORY]),
            "a/j was scaled up, so quota q is above its max: 2500m cpu in use, max is 4; "
            "1Gi memory in use, max is 8Gi; nothing starts there",
        ),
        (
            messages.over_quota("a/j", "q", [FIRM_CPU]),
            "a/j was scaled up, so quota q is above its min: 2500m cpu in use, "
            "min is 3 for jobs that are not preemptible; none of those starts there",
        ),
        (
            messages.over_quota("a/j", "q", [CPU, FIRM_CPU]),
            "a/j was scaled up, so quota q is above its max and min: 2500m cpu in use, "
            "max is 4; 2500m cpu in use, min is 3 for jobs that are not preemptible; "
            "nothing starts there",
        ),
        (messages.m24("a"), "already running when found, counted against quota a"),
        (
            messages.m25("TFJob"),
            "pods run although the job is held: the operator of TFJob does not honour suspension",
        ),
        (messages.m28("why"), "deactivated: why"),
        (messages.m27("Odd"), "phase Odd is not known"),
        (messages.m31("a/j"), "job a/j is being deleted"),
        (messages.m33("p"), "quota p is a parent quota: name one of its children"),
        (messages.S1, "Enqueued"),
        (messages.S2, "Dequeued because schedule successfully"),
        (messages.s7("x/u", "a"), "Enqueued after preempted by x/u for quota a"),
        (messages.S8, "Running"),
        (messages.S9, "Backoff due to running timeout"),
        (messages.S10, "Evicted because the queue unit is deactivated"),
        (messages.S11, "Evicted because the maximum execution time was exceeded"),
        (messages.S12, "Enqueued because backoff timeout"),
        (messages.S13 + messages.STILL_RUNS, "Succeeded; its pods still run and count"),
        (messages.S14 + messages.STILL_RUNS, "Failed; its pods still run and count"),
        (
            messages.M23,
            "Paused because the job was suspended by someone else; "
            "set spec.active to true to queue it again",
        ),
        (messages.M28, "deactivated"),
        (messages.M32, "waiting for pods of the last run to end"),
    ],
)
def test_the_text(text, expected):
    assert text == expected


def test_every_message_is_held_to_its_text():
    """A function added to the module is added to the table above."""
    known = {name for name, _ in inspect.getmembers(messages, inspect.isfunction)}
    own = {name for name in known if name[0] == "m" and name[1:].isdigit()}
    tested = {*(f"m{n}" for n in (*range(1, 13), *range(16, 23), 24, 25, 27, 28, 31, 33))}
    assert own == tested


def test_reasons_are_those_of_the_condition():
    """Spec 9.8."""
    allowed = {
        "QuotaReserved",
        "Pending",
        "WaitingForQuota",
        "ExceedsMax",
        "QuotaNotFound",
        "QuotaInvalid",
        "Blocked",
        "WaitingForPodsRunning",
        "WaitingForPreemption",
        "CheckInactive",
        "QueueStopped",
        "Inactive",
        "BackOff",
        "Misconfigured",
    }
    assert {each.value for each in Reason} <= allowed


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [("", 5, ""), ("12345", 5, "12345"), ("123456", 5, "12..."), ("äöü€€€", 5, "äö...")],
)
def test_what_is_too_long_is_cut_at_a_character(text, limit, expected):
    assert cut(text, limit) == expected


@given(st.text(), st.integers(3, 50))
def test_nothing_is_longer_than_its_field(text, limit):
    found = cut(text, limit)
    assert len(found) <= limit
    assert found == text or found.endswith("...")
