"""When those who lack quota are tried again (spec 10.18-10.22): modes, and what ends back-offs."""

from datetime import timedelta

import pytest
from builders import (
    NOW,
    amounts,
    book,
    changed,
    job_view,
    pod_set,
    queue,
    quota,
    running_job,
    unit,
)
from retry_scene import BACKOFF, STRICT, Scene, seconds

from kq.core import keys
from kq.core.messages import M29, Reason
from kq.core.model import Phase
from kq.core.options import RetryOptions
from kq.core.plugins import Level, Problem
from kq.core.resources import ZERO
from kq.decide.queuesettings import pace_of
from kq.decide.retry import Pace, end_of, has_gained

PACE = Pace(timedelta(seconds=1), timedelta(seconds=20))
ARGS = keys.QUEUE_ARGS[0]


def runs(name, cpu, **fields):
    return unit(name, cpu=cpu, phase=Phase.RUNNING, **fields)


def low(name="low", cpu=1, **fields):
    return unit(name, cpu=cpu, minute=9, **fields)


def high(name="high", cpu=3, **fields):
    return unit(name, cpu=cpu, priority=5, **fields)


# -- how long (spec 10.19)


@pytest.mark.parametrize(
    ("initial", "longest", "expected"),
    [
        pytest.param(1, 20, [1, 2, 4, 8, 16, 20, 20], id="as kube-queue"),
        pytest.param(3, 10, [3, 6, 10, 10, 10, 10, 10], id="other settings"),
        pytest.param(5, 2, [2, 2, 2, 2, 2, 2, 2], id="the longest is shorter"),
        pytest.param(0, 20, [0] * 7, id="none"),
    ],
)
def test_a_back_off_doubles_up_to_the_longest(initial, longest, expected):
    """Spec 10.19: min(initial * 2^(n-1), max)."""
    pace, failures, found = Pace(timedelta(seconds=initial), timedelta(seconds=longest)), 0, []
    for _ in expected:
        failures = pace.one_more(failures)
        found.append(pace.after(failures).total_seconds())
    assert found == expected


def test_no_more_failures_are_counted_than_lengthen_a_back_off():
    failures = 0
    for _ in range(100):
        failures = PACE.one_more(failures)
    assert failures == 6


def test_a_unit_is_tried_again_when_its_back_off_ends_and_not_before():
    """Spec 10.19, 10.15: nothing but time passes; each end is the next look."""
    scene = Scene(runs("holds", 4), unit("waits", cpu=1))
    ends, now = [], 0.0
    for _ in range(7):
        assert scene.cycle(now) == []
        assert scene.cycle(now + 0.05) == []
        now = scene.next_end()
        ends.append(now)
    assert ends == [1, 3, 7, 15, 31, 51, 71]
    scene.ends("holds")
    assert scene.cycle(now - 0.1) == []
    assert scene.cycle(now) == ["waits"]


def test_it_is_told_once_that_it_is_in_back_off():
    """Spec 9.10, 10.19: M1 with M29, and not a word more while it goes on failing."""
    scene = Scene(runs("holds", 4), unit("waits", cpu=1))
    scene.cycle(0)
    text = f"waiting for quota team-a: 1 cpu requested, not enough free of 4; {M29}"
    assert scene.told("waits") == text
    assert scene.book.verdict("team-a/waits").reason == Reason.BACKOFF
    assert scene.book.take_to_tell() == ["team-a/waits"]
    for _ in range(5):
        scene.cycle(scene.next_end())
        assert scene.told("waits") == text
        assert scene.book.take_to_tell() == []


def test_in_mode_event_nobody_is_ever_in_back_off():
    """Spec 10.18."""
    scene = Scene(runs("holds", 4), unit("waits", cpu=1), retry=None)
    assert scene.cycle(0) == []
    assert scene.next_end() is None
    assert scene.told("waits").endswith("not enough free of 4")
    scene.ends("holds")
    assert scene.cycle(0.01) == ["waits"]


def test_a_unit_that_can_never_fit_is_in_no_back_off():
    scene = Scene(unit("large", cpu=5))
    scene.cycle(0)
    assert (scene.told("large"), scene.next_end()) == (
        "cannot start: 5 cpu requested, but max of quota team-a is 4",
        None,
    )


# -- what ends it


def test_other_wakes_leave_it_alone():
    """Spec 10.19: what is freed meanwhile goes to others."""
    scene = Scene(runs("holds", 4), high(), retry=BACKOFF)
    scene.cycle(0)
    scene.ends("holds")
    scene.add(low())
    assert scene.cycle(0.5) == ["low"]
    assert scene.cycle(1) == ["high"]


@pytest.mark.parametrize(
    ("new", "starts"),
    [
        pytest.param(quota(cpu=6), ["high"], id="higher"),
        pytest.param(quota(), ["high"], id="no limit any more"),
        pytest.param(quota(limit=amounts(cpu=7, memory=1)), ["high"], id="one resource more"),
        pytest.param(quota(cpu=3), [], id="lower"),
    ],
)
def test_a_quota_increase_ends_it_at_once(new, starts):
    """Spec 10.19: an increase does, another change of the quota does not."""
    scene = Scene(runs("holds", 2), high())
    scene.cycle(0)
    scene.ends("holds")
    scene.set_quota(new)
    assert scene.cycle(0.1) == starts
    assert scene.cycle(1) == (["high"] if not starts else [])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"priority": 3}, id="its priority"),
        pytest.param({"pod_sets": (pod_set(cpu=1),)}, id="its request"),
    ],
)
def test_a_change_of_the_unit_itself_ends_it_at_once(change):
    """Spec 10.19."""
    scene = Scene(runs("holds", 4), high(cpu=2))
    scene.cycle(0)
    scene.cycle(1)
    scene.ends("holds")
    known = scene.book.units["team-a/high"]
    assert scene.cycle(1.1) == []
    scene.book.saw(changed(known, **change))
    assert scene.cycle(1.2) == ["high"]


def test_what_is_written_of_its_status_does_not_end_it():
    """Spec 10.19: the very message that tells of the back-off comes back from the watch."""
    scene = Scene(runs("holds", 4), high(cpu=2))
    scene.cycle(0)
    known, told = scene.book.units["team-a/high"], scene.book.verdict("team-a/high")
    scene.ends("holds")
    scene.book.saw(changed(unit("high", cpu=2, priority=5, told=told), uid=known.uid))
    assert scene.cycle(0.5) == []
    assert scene.cycle(1) == ["high"]


def test_a_clock_that_is_set_back_ends_all():
    """Spec 22.1, case G2: nobody waits longer because a clock was wrong."""
    scene = Scene(runs("holds", 4), high())
    scene.cycle(3600)
    scene.ends("holds")
    assert scene.cycle(10) == ["high"]


def test_a_unit_that_is_gone_leaves_nothing_to_look_for():
    scene = Scene(runs("holds", 4), high())
    scene.cycle(0)
    scene.ends("high")
    assert scene.next_end() is None


# -- whom it does not concern (spec 10.21)


@pytest.mark.parametrize(
    ("policy", "name", "rests"),
    [
        ("Priority", "high", True),
        ("Priority", "low", True),
        ("Block", "high", False),
        ("Block", "low", False),
        ("Intelligent", "high", False),
        ("Intelligent", "low", True),
    ],
)
def test_one_that_blocks_others_is_never_in_back_off(policy, name, rests):
    """Spec 10.21: the head of Block, and all of the high list, are tried at every wake."""
    waits = {"high": high(cpu=2), "low": low(cpu=2)}[name]
    scene = Scene(runs("holds", 4), waits, policy=policy)
    scene.cycle(0)
    assert (M29 in scene.told(name), scene.next_end()) == (rests, 1 if rests else None)
    scene.ends("holds")
    assert scene.cycle(0.5) == ([] if rests else [name])


@pytest.mark.parametrize("cpu", [2, 3], ids=["of another shape", "of its own shape"])
def test_one_for_whom_others_make_room_is_in_no_back_off(cpu):
    """Spec 13.6: it gets what it waits for the moment that it is there."""
    preempts = {keys.ENABLE_PREEMPTION[0]: "true"}
    scene = Scene(runs("loses", 4, priority=1), high(), annotations=preempts)
    scene.add(unit("third", cpu=cpu))
    assert scene.cycle(0) == []
    assert scene.told("high").startswith("waiting for 1 unit(s) to give back")
    assert M29 in scene.told("third")
    scene.ends("loses")
    assert scene.cycle(0.5) == ["high"]


def test_only_those_who_were_tried_are_in_back_off():
    """Spec 10.12, 10.19: those in back-off make way, so that max-depth starves nobody."""
    depth = {keys.MAX_DEPTH[0]: "2"}
    units = [unit(f"u{number}", cpu=3, minute=number) for number in range(5)]
    scene = Scene(runs("holds", 4), *units, annotations=depth)
    scene.cycle(0)
    assert [M29 in scene.told(each.name) for each in units] == [True, True, False, False, False]
    scene.ends("holds")
    assert scene.cycle(0.5) == ["u2"]


# -- the table of 10.21, each row in both modes: (a) what is decided

ROWS = [
    pytest.param(False, None, ["low"], id="neither, event"),
    pytest.param(True, None, [], id="StrictPriority, event"),
    pytest.param(False, RetryOptions(strict=True), ["low"], id="StrictConsistency, event"),
    pytest.param(True, RetryOptions(strict=True), [], id="both, event"),
    pytest.param(False, BACKOFF, ["low"], id="neither, backoff"),
    pytest.param(True, BACKOFF, [], id="StrictPriority, backoff"),
    pytest.param(False, STRICT, ["low"], id="StrictConsistency, backoff"),
    pytest.param(True, STRICT, [], id="both, backoff"),
]


@pytest.mark.parametrize(("strict_priority", "retry", "overtakes"), ROWS)
def test_whether_a_low_one_passes_a_high_one_that_does_not_fit(strict_priority, retry, overtakes):
    """Spec 10.21, first and last column: under Block nobody does, else whoever fits."""
    policy = "Block" if strict_priority else "Priority"
    scene = Scene(runs("one", 2), runs("two", 2), high(), low(), retry=retry, policy=policy)
    assert scene.cycle(0) == []
    scene.cycle(1)
    scene.ends("one")
    # Two are free: too little for the high one, enough for the low one.
    assert scene.cycle(3) == overtakes


@pytest.mark.parametrize(
    ("strict_priority", "retry", "first"),
    [
        pytest.param(False, None, "high", id="neither, event"),
        pytest.param(True, None, "high", id="StrictPriority, event"),
        pytest.param(False, RetryOptions(strict=True), "high", id="StrictConsistency, event"),
        pytest.param(True, RetryOptions(strict=True), "high", id="both, event"),
        pytest.param(False, BACKOFF, "new", id="neither, backoff"),
        pytest.param(True, BACKOFF, "high", id="StrictPriority, backoff"),
        pytest.param(False, STRICT, "high", id="StrictConsistency, backoff"),
        pytest.param(True, STRICT, "high", id="both, backoff"),
    ],
)
def test_who_gets_what_is_freed_while_the_high_one_is_in_back_off(strict_priority, retry, first):
    """Spec 10.21, case D2: the example of the seed, a release while the high one sits it out."""
    policy = "Block" if strict_priority else "Priority"
    scene = Scene(runs("holds", 4), high(), retry=retry, policy=policy)
    assert scene.cycle(0) == []
    scene.ends("holds")
    scene.add(low("new", 2))
    assert scene.cycle(0.5)[0] == first


def test_a_release_ends_the_back_offs_of_those_who_share_a_level():
    """Spec 10.21: of all Queues below it, and a low one may start where the high one cannot."""
    tree = [quota("top", cpu=4), quota("one", cpu=4, parent="top"), quota("two", parent="top")]
    views = [queue("one"), queue("two")]
    known = book(*tree, views=views, retry=STRICT)
    for each in (
        unit("holds", quota="one", cpu=2, phase=Phase.RUNNING),
        unit("keeps", quota="one", cpu=2, phase=Phase.RUNNING),
        unit("high", quota="two", cpu=3, priority=5),
        unit("low", quota="two", cpu=2),
    ):
        known.saw(running_job(each.name) if each.holds_quota else job_view(each.name))
        known.saw(each)
    assert known.cycle("two", NOW) == []
    assert known.cycle("two", seconds(0.5)) == []
    known.lost(known.units["team-a/holds"])
    assert "two" in known.take_woken()
    assert [each.name for each in known.cycle("two", seconds(0.6))] == ["low"]
    assert known.next_look("two") == seconds(2.6)


# -- settings of a Queue


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, (1, 20), id="absent"),
        pytest.param({ARGS: "podInitialBackoffSeconds: 5"}, (5, 20), id="one of them"),
        pytest.param(
            {ARGS: "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 1m"}, (2, 60), id="both"
        ),
        pytest.param({ARGS: '{"podMaxBackoffSeconds": 7}'}, (1, 7), id="JSON"),
        pytest.param({keys.QUEUE_ARGS[1]: "podMaxBackoffSeconds: 7"}, (1, 7), id="old spelling"),
        pytest.param({ARGS: "podMaxBackoffSeconds: -7"}, (1, 20), id="negative"),
        pytest.param({ARGS: "podMaxBackoffSeconds: [7]"}, (1, 20), id="no time"),
        pytest.param({ARGS: "- 5"}, (1, 20), id="no map"),
        pytest.param({ARGS: "a: *b"}, (1, 20), id="not plain"),
        pytest.param({ARGS: ""}, (1, 20), id="empty"),
        pytest.param({ARGS: "depth: 5"}, (1, 20), id="another key"),
    ],
)
def test_queue_args_set_the_back_offs_of_a_queue(annotations, expected):
    """Spec 10.19, 10.14, 21.2."""
    pace = pace_of(queue(annotations=annotations), BACKOFF)
    assert (pace.initial.total_seconds(), pace.longest.total_seconds()) == expected


def test_queue_args_count():
    args = {ARGS: "podInitialBackoffSeconds: 7"}
    scene = Scene(runs("holds", 4), high(), annotations=args)
    scene.cycle(0)
    assert scene.next_end() == 7


# -- what there is more of


@pytest.mark.parametrize(
    ("old", "new", "gained"),
    [
        pytest.param({"a": 4}, {"a": 5}, True, id="higher"),
        pytest.param({"a": 4}, {"a": 3}, False, id="lower"),
        pytest.param({"a": 4, "b": 4}, {"a": 3, "b": 5}, True, id="one of two levels"),
        pytest.param({"a": 4, "b": 4}, {"a": 4}, True, id="one level less"),
        pytest.param({"a": 4}, {"a": 4, "b": 1}, False, id="one level more"),
        pytest.param({"a": None}, {"a": 1}, False, id="a limit where there was none"),
        pytest.param({"a": 4}, {"a": None}, True, id="no limit where there was one"),
    ],
)
def test_a_quota_has_gained_where_a_limit_is_higher_or_gone(old, new, gained):
    def chain(limits):
        return [Level(name, amounts(cpu=cpu), ZERO) for name, cpu in limits.items()]

    assert has_gained(chain(old), chain(new)) is gained
    assert has_gained(Problem("x", "y"), chain(new))


@pytest.mark.parametrize(
    ("micros", "expected"), [(0, 1.0), (1, 1.1), (100_000, 1.1), (100_001, 1.2), (950_000, 2.0)]
)
def test_back_offs_end_at_a_tenth_of_a_second_and_never_early(micros, expected):
    begin = NOW + timedelta(microseconds=micros)
    assert end_of(begin, timedelta(seconds=1)) == seconds(expected)
