"""Which Queue each unit stands in, and what its object says of why it waits."""

import pytest
from builders import amounts, condition, unit

from kq.core.messages import Reason
from kq.core.model import Phase
from kq.core.plugins import Problem
from kq.decide.places import Place, Places, told_by

ONE = amounts(cpu=1)


def place(queue="main", at=0.0, key="ns/a", quota="team-a"):
    return Place(queue, (0, at, key), quota, ONE)


def test_a_unit_has_one_place():
    places = Places()
    assert places.put("ns/a", "main", place(), None)
    assert not places.put("ns/a", "main", place(), None)
    assert places.put("ns/a", "other", place("other"), None)
    assert places.waiting("main") is None
    assert places.place("ns/a") == place("other")
    assert [name for name, _ in places.lists()] == ["other"]
    assert places.at_queue("main") == ()
    assert places.at_queue("other") == ("ns/a",)


def test_a_unit_that_does_not_wait_is_at_its_queue_all_the_same():
    places = Places()
    assert not places.put("ns/a", "main", None, None)
    assert places.at_queue("main") == ("ns/a",)
    assert places.place("ns/a") is None
    assert list(places.in_order("main")) == []


def test_what_it_was_told_is_kept_at_its_place():
    places, said = Places(), Problem("r", "m")
    places.put("ns/a", "main", place(), None)
    places.put("ns/a", "main", place(), said)
    (shape,) = places.waiting("main").shapes()
    shape.judge(None, said, said)
    assert shape.untold() == []


def test_queues_that_share_a_level_are_found():
    tree = {"c1": ["c1", "p"], "c2": ["c2", "p"], "c3": ["c3"]}
    places = Places()
    for number, quota in enumerate(tree):
        key = f"ns/{quota}"
        places.put(key, f"q{number}", place(f"q{number}", key=key, quota=quota), None)
    assert sorted(places.sharing(["p"], tree.__getitem__)) == ["q0", "q1"]
    assert sorted(places.sharing(["c3", "c1"], tree.__getitem__)) == ["q0", "q2"]
    places.drop("ns/c1")
    assert places.sharing(["c1"], tree.__getitem__) == []
    places.drop("ns/c1")
    assert places.at_queue("q0") == ()


def test_a_queue_is_found_once_for_each_quota_that_waits_in_it():
    places = Places()
    for number in range(3):
        key = f"ns/{number}"
        places.put(key, "main", place(key=key), None)
    assert places.sharing(["team-a"], lambda quota: [quota]) == ["main"]
    for number in range(3):
        places.drop(f"ns/{number}")
    assert places.sharing(["team-a"], lambda quota: [quota]) == []


WAITS = condition("QuotaReserved", False, Reason.WAITING, "why")
SAID = Problem(Reason.WAITING, "why")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, None, id="nothing yet"),
        pytest.param({"raw_phase": "Enqueued", "message": "why"}, None, id="no condition"),
        pytest.param(
            {"raw_phase": "Enqueued", "message": "why", "conditions": (WAITS,)}, SAID, id="told"
        ),
        pytest.param(
            {"raw_phase": "", "message": "why", "conditions": (WAITS,)}, None, id="no phase yet"
        ),
        pytest.param(
            {"raw_phase": "SchedFailed", "message": "why", "conditions": (WAITS,)},
            None,
            id="an old phase is written anew",
        ),
        pytest.param(
            {
                "raw_phase": "Enqueued",
                "conditions": (condition("QuotaReserved", True, Reason.RESERVED),),
            },
            None,
            id="it had its quota",
        ),
    ],
)
def test_what_a_unit_says(fields, expected):
    assert told_by(unit(**fields)) == expected


def test_an_unknown_phase_is_told_once():
    """Spec 9.3: the phase stays as it is, so the condition alone tells."""
    said = condition("QuotaReserved", False, Reason.MISCONFIGURED, "phase Odd is not known")
    each = unit(phase=None, raw_phase="Odd", message="phase Odd is not known", conditions=(said,))
    assert told_by(each) == Problem(Reason.MISCONFIGURED, "phase Odd is not known")
    assert told_by(unit(phase=Phase.RUNNING, conditions=(WAITS,))) is None
