"""When what admission checks want is put into a job's pods, and taken out (spec 8.9, 14.10)."""

import msgspec
import pytest
from builders import at, changed, job_view, situation, unit
from msgspec.structs import replace
from plans import DEQUEUED, LIVE, kinds, one, status

from kq.core import checks, keys, views
from kq.core.kinds import ResourceKind
from kq.core.model import Condition, Phase
from kq.decide.actions import (
    AddToPods,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    TakeFromPods,
    TellJob,
    TellUnit,
)

SPARK = ResourceKind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications")
UPDATE = {"name": "main", "labels": {"rack": "r1"}}
WANTS = checks.answers([{"name": "quota", "state": "Ready", "podSetUpdates": [UPDATE]}])
CLASH = "admission check quota names unknown pod set workers"


def noted(attempt, **fields):
    """A held job whose pods have got something at that attempt."""
    text = checks.remembered(checks.Added(attempt, {"main": {"labels": {"rack": "r1"}}}))
    return job_view(annotations={keys.POD_SET_UPDATES: text}, **fields)


def granted(**fields):
    return unit(**DEQUEUED | {"checks": WANTS, "attempts": 2} | fields)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(job_view(), [ReleaseJob, TellJob], id="in the patch that releases"),
        pytest.param(job_view(kind=SPARK), [AddToPods], id="before it, where that restarts it"),
        pytest.param(
            noted(2, kind=SPARK), [ReleaseJob, TellJob], id="and then let go, as it is there"
        ),
        pytest.param(noted(1), [TakeFromPods], id="what is left of an earlier run goes first"),
        pytest.param(noted(1, kind=SPARK), [TakeFromPods], id="of such a kind, too"),
    ],
)
def test_a_release_that_has_something_to_add(job, expected):
    assert kinds(situation(job, granted())) == expected


@pytest.mark.parametrize(
    ("job", "held", "pods", "taken"),
    [
        pytest.param(noted(2), unit(attempts=2), None, True, id="waits"),
        pytest.param(noted(2), unit(phase=Phase.BACKOFF, attempts=2), None, True, id="backs off"),
        pytest.param(noted(2), unit(attempts=2), LIVE, False, id="its pods are there still"),
        pytest.param(noted(2), granted(), None, False, id="about to run"),
        pytest.param(noted(2, suspended=False), granted(), LIVE, False, id="runs"),
        pytest.param(job_view(), unit(), None, False, id="has got nothing"),
    ],
)
def test_it_is_taken_out_when_the_run_is_over(job, held, pods, taken):
    """Spec 8.9: after the suspension, and before the job's pods are looked at."""
    bigger = {"pod_sets": situation(job_view()).pod_sets}
    now = situation(job, held, **bigger, **({"pods": pods} if pods else {}))
    assert (TakeFromPods in kinds(now)) is taken
    assert not taken or kinds(now) == [TakeFromPods]


def test_what_cannot_be_is_a_rejection():
    """Spec 9.5 k, 14.10: marked, made inactive, given back; with M17."""
    now = situation(job_view(), granted(), clash=CLASH)
    (mark,) = status(now)["conditions"]
    assert (mark["type"], mark["reason"], mark["message"]) == ("Evicted", "AdmissionCheck", CLASH)
    told = one(now, TellUnit)
    assert (told.warning, told.reason, told.message) == (True, "PodSetUpdatesConflict", CLASH)
    evicted = Condition("Evicted", True, "AdmissionCheck", CLASH, "2026-03-01T12:01:00Z")
    marked = changed(granted(), conditions=(evicted,))
    assert one(situation(job_view(), marked), PatchUnit).patch["spec"] == {"active": False}
    parked = situation(job_view(), replace(marked, active=False), now=at(2))
    found = status(parked)
    assert (found["phase"], found["message"]) == ("TimeoutBackoff", CLASH)
    assert found["admissions"] == []
    assert "requeueState" not in found
    assert kinds(parked) == [PatchStatus]


@pytest.mark.parametrize("state", ["Pending", "Retry", "Rejected", "Dreaming", ""])
def test_only_what_is_ready_counts(state):
    """Spec 14.6, 14.12."""
    entry = {"name": "quota", "state": state, "podSetUpdates": [UPDATE]}
    assert checks.ready(checks.answers([entry])) == []


def test_a_unit_is_read_with_what_its_checks_want():
    """However it is read: in one pass, or part by part."""
    wire = msgspec.json.encode([{"name": "quota", "state": "Ready", "podSetUpdates": [UPDATE]}])
    assert checks.answers_of_json(wire) == WANTS
    assert checks.answers_of_json(b"null") == ()
    body = {"metadata": {"name": "train"}, "status": {"admissionChecks": msgspec.Raw(wire)}}
    by_parts = views.unit(msgspec.json.encode(body))
    whole = views.unit(msgspec.json.encode({**body, "spec": {"podSet": [{"name": "main"}]}}))
    assert by_parts.checks == whole.checks == WANTS
