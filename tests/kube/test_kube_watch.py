"""What each line of a watch says, and how to go on when it ends."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.kinds import JOB
from kq.kube.errors import Indeterminate, Unreachable, from_status
from kq.kube.watch import Event, Pauses, Relist, Resume, Skipped, WatchState, after_error


def line(type_: str, version: str = "7", kind: str = "Job", **meta: Any) -> bytes:
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version} | meta
    return json.dumps({"type": type_, "object": {"kind": kind, "metadata": metadata}}).encode()


def error_line(code: int, **fields: Any) -> bytes:
    status = {"kind": "Status", "code": code, "message": "why"} | fields
    return json.dumps({"type": "ERROR", "object": status}).encode()


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED"])
def test_an_event_names_its_object_and_moves_the_version(type_: str) -> None:
    state = WatchState(JOB, "5")
    event = state.line(line(type_))
    assert isinstance(event, Event)
    assert (event.type, event.meta.key, event.meta.uid) == (type_, "ns/a", "u")
    assert json.loads(bytes(memoryview(event.raw)))["kind"] == "Job"
    assert state.version == "7"


def test_a_bookmark_moves_the_version_and_says_nothing() -> None:
    state = WatchState(JOB, "5")
    assert state.line(line("BOOKMARK", version="9", name="", namespace="")) is None
    assert (state.version, state.lines) == ("9", 1)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\n",
        b'{"type": "ADDED", "object": {}}',
        line("ADDED", kind="Table"),
        line("ADDED", kind="Pod"),
        line("ADDED", version=""),
        line("EXPLODED"),
    ],
)
def test_an_unusable_line_is_skipped_and_the_version_stays(bad: bytes) -> None:
    state = WatchState(JOB, "5")
    assert isinstance(state.line(bad), Skipped)
    assert (state.version, state.lines) == ("5", 0)


@pytest.mark.parametrize("bad", [b"nonsense", b"[]", b'{"type": "ADDED"}', line("ADDED")[:40]])
def test_after_a_line_that_is_no_event_all_is_listed_anew(bad: bytes) -> None:
    """Skipped, what it was to tell would be missing until the next list, hours later."""
    state = WatchState(JOB, "5")
    assert isinstance(state.line(bad), Relist)
    assert (state.version, state.lines) == ("5", 0)


def test_a_skipped_line_names_its_object_where_it_can() -> None:
    assert WatchState(JOB, "5").line(line("EXPLODED")) == Skipped(
        "ns/a", "event 'EXPLODED' of a 'Job'"
    )


@given(st.binary())
def test_no_line_whatever_raises(content: bytes) -> None:
    said = WatchState(JOB, "5").line(content)
    assert isinstance(said, Skipped | Relist)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (error_line(410, reason="Expired"), Relist("why", expired=True)),
        (error_line(410), Relist("why", expired=True)),
        (error_line(429, details={"retryAfterSeconds": 4}), Resume(True, 4, "why")),
        (error_line(500, reason="InternalError"), Resume(True, None, "why")),
        (error_line(504, reason="Timeout"), Relist("why")),
        (error_line(400), Relist("why")),
    ],
)
def test_an_error_event_says_how_to_go_on(error: bytes, expected: object) -> None:
    assert WatchState(JOB, "5").line(error) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Unreachable("refused"), Resume(True, None, "refused")),
        (Indeterminate("silent"), Resume(True, None, "silent")),
        (from_status(404, b"gone", {}), Relist("gone")),
        (from_status(503, b"busy", {"Retry-After": "2"}), Relist("busy", 2)),
        (from_status(413, b"long", {}), Relist("long")),
    ],
)
def test_an_error_at_the_opening_says_how_to_go_on(error: Any, expected: object) -> None:
    assert after_error(error) == expected


@pytest.mark.parametrize(
    ("lines", "seconds", "failed"), [(0, 0.5, True), (0, 1.5, False), (1, 0.5, False)]
)
def test_only_a_short_and_empty_watch_is_a_failure(
    lines: int, seconds: float, failed: bool
) -> None:
    state = WatchState(JOB, "5")
    for _ in range(lines):
        state.line(line("BOOKMARK"))
    assert state.closed(seconds).failed is failed


def test_pauses_double_up_to_the_longest() -> None:
    pauses = Pauses(lambda low, high: low)
    now = 0.0
    taken = []
    for _ in range(8):
        taken.append(pauses.after_failure(now))
        now += taken[-1]
    assert taken == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    assert pauses.after_failure(now + 119) == 30
    assert pauses.after_failure(now + 119 + 30 + 121) == 0.8


def test_what_expires_after_a_long_failure_is_listed_soon_but_not_over_and_over() -> None:
    pauses = Pauses(lambda low, high: low)
    now = 0.0
    for _ in range(8):
        now += pauses.after_failure(now)
    taken = []
    for _ in range(4):
        taken.append(pauses.after_failure(now, expired=True))
        now += taken[-1]
    assert taken == [0.8, 1.6, 3.2, 6.4]
    assert pauses.after_failure(now) == 12.8


def test_a_pause_is_at_most_doubled_by_chance() -> None:
    assert Pauses(lambda low, high: high).after_failure(0) == 1.6
