"""The life of a unit: every row of spec 9.5, and no other."""

import itertools

import pytest

from kq.core.model import FINISHED, HOLDING, Phase
from kq.decide.lifecycle import TRANSITIONS, UNFINISHED, WEIGHT, Event, advance, diagram, weight

ENQUEUED, RESERVED, DEQUEUED, RUNNING = (
    Phase.ENQUEUED,
    Phase.RESERVED,
    Phase.DEQUEUED,
    Phase.RUNNING,
)
BACKOFF, SUCCEED, FAILED = Phase.BACKOFF, Phase.SUCCEED, Phase.FAILED
RELEASED = {DEQUEUED, RUNNING}
ALL_UNFINISHED = {ENQUEUED, RESERVED, DEQUEUED, RUNNING, BACKOFF}

SPEC = [
    # row, from, event, to, then gone, inactive
    ("a", {ENQUEUED}, Event.FITS, DEQUEUED, False, False),
    ("b", {ENQUEUED}, Event.FITS_WITH_CHECKS, RESERVED, False, False),
    ("c", {RESERVED}, Event.CHECKS_READY, DEQUEUED, False, False),
    ("d", {RESERVED}, Event.CHECK_RETRY, BACKOFF, False, False),
    ("e", {RESERVED}, Event.CHECK_REJECTED, BACKOFF, False, True),
    ("f", {RESERVED}, Event.PREEMPTED, ENQUEUED, False, False),
    ("g", {DEQUEUED}, Event.RUNS, RUNNING, False, False),
    ("h", RELEASED, Event.START_TIMEOUT, BACKOFF, True, False),
    ("i", RELEASED, Event.PREEMPTED, ENQUEUED, True, False),
    ("j", RELEASED, Event.CHECK_RETRY, BACKOFF, True, False),
    ("k", RELEASED, Event.CHECK_REJECTED, BACKOFF, True, True),
    ("l", {ENQUEUED, RESERVED, *RELEASED}, Event.DEACTIVATED, ENQUEUED, True, True),
    ("m", RELEASED, Event.TIME_OVER, ENQUEUED, True, True),
    ("n", RELEASED, Event.PAUSED, ENQUEUED, True, True),
    ("o", {BACKOFF}, Event.BACKOFF_OVER, ENQUEUED, False, False),
    ("p", {BACKOFF}, Event.REACTIVATED, ENQUEUED, False, False),
    ("q", ALL_UNFINISHED, Event.SUCCEEDED, SUCCEED, False, False),
    ("q", ALL_UNFINISHED, Event.FAILED, FAILED, False, False),
    ("r", {SUCCEED, FAILED}, Event.RUNS_AGAIN, RUNNING, False, False),
    ("s", {ENQUEUED, RESERVED}, Event.FOUND_RUNNING, RUNNING, False, False),
    ("s", {ENQUEUED, RESERVED}, Event.FOUND_RELEASED, DEQUEUED, False, False),
    ("t", {ENQUEUED, RESERVED}, Event.HOLD_INEFFECTIVE, RUNNING, False, False),
    ("u", {DEQUEUED}, Event.REPAIRED, ENQUEUED, False, False),
    ("v", ALL_UNFINISHED, Event.JOB_DELETED, FAILED, False, False),
    ("w", RELEASED, Event.STARTED_ANEW, ENQUEUED, True, False),
]


def test_the_table_is_that_of_the_specification():
    found = [
        (each.row, set(each.sources), each.event, each.target, each.once_gone, each.inactive)
        for each in TRANSITIONS
    ]
    assert found == SPEC


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("phase", [*Phase, None])
def test_every_pair_has_the_first_row_that_matches_or_none(phase, event):
    expected = next((row for row in SPEC if row[2] is event and phase in row[1]), None)
    found = advance(phase, event)
    assert (found.row if found else None) == (expected[0] if expected else None)


def test_every_event_has_a_row():
    assert {each.event for each in TRANSITIONS} == set(Event)


def test_no_two_rows_answer_the_same_event_in_the_same_phase():
    pairs = [(phase, each.event) for each in TRANSITIONS for phase in each.sources]
    assert len(pairs) == len(set(pairs))


def test_an_unknown_phase_is_left_alone():
    """Spec 9.3."""
    assert {advance(None, event) for event in Event} == {None}


def test_only_what_holds_quota_waits_for_pods_to_go():
    """A phase that stays "until gone" holds its quota meanwhile; Enqueued holds none to give."""
    for each in TRANSITIONS:
        if each.once_gone:
            assert each.sources - {ENQUEUED} <= HOLDING


def test_an_ended_unit_ends_no_second_time():
    for phase, event in itertools.product(FINISHED, (Event.SUCCEEDED, Event.FAILED)):
        assert advance(phase, event) is None
    assert UNFINISHED == ALL_UNFINISHED


def test_the_weight_of_causes_names_the_evicting_rows():
    assert WEIGHT == ("k", "l", "n", "m", "j", "h", "w", "i")
    assert set(WEIGHT) == {each.row for each in TRANSITIONS if each.once_gone}


def test_of_two_events_the_row_that_is_named_first_weighs_more():
    """Spec 9.5: k, l, n, m, j, h, w, i."""
    rows = {each.event: each.row for each in TRANSITIONS if each.once_gone}
    heaviest_first = sorted(rows, key=weight)
    assert tuple(rows[event] for event in heaviest_first) == WEIGHT


def test_the_diagram_has_a_line_for_each_row():
    lines = diagram().splitlines()
    assert len(lines) == len(TRANSITIONS)
    assert lines[0] == "a  Enqueued  --fits, no check applies-->  Dequeued"
    assert lines[7].startswith("h  Dequeued, Running  --not Running within")
    assert "(then gone)-->  TimeoutBackoff" in lines[7]
