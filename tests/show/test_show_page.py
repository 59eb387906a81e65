"""What is said of what happens, and how it is laid out."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from kq.show import frame
from kq.show.cast import ROLES, Role, cast_of
from kq.show.ending import Ending
from kq.show.happenings import (
    Finishes,
    Happening,
    Killed,
    Moment,
    Restarted,
    Run,
    Starts,
    Stopped,
    Submitted,
    Waits,
    in_order,
)
from kq.show.page import Page, listed, told
from kq.show.record import Record

T0 = datetime(2026, 3, 2, 9, 0, 7, tzinfo=UTC)
CAST = cast_of(3, Random(1))
NOTHING = {"vision": 0, "speech": 0, "text": 0, "lab": 0}
REASON = "waiting for quota vision: 6 nvidia.com/gpu requested, not enough free of 8"
OTHER = "waiting for quota lab, ancestor of vision: 6 nvidia.com/gpu requested, not enough of 12"


def role(name: str, *, at: float = 0, gpus: int = 2, pods: int = 1, priority: int = 0) -> Role:
    return Role(at=at, team="vision", name=name, gpus=gpus, pods=pods, seconds=9, priority=priority)


def moment(what: Happening, usage: Mapping[str, int] = NOTHING, *, after: float = 0.0) -> Moment:
    return Moment(at=T0 + timedelta(seconds=after), usage=usage, what=what)


def page(width: int = 120) -> Page:
    return Page(CAST, width=width, full="#", free=".")


def lines(what: Happening, usage: Mapping[str, int] = NOTHING, width: int = 120) -> list[str]:
    return [each.plain for each in page(width).lines(moment(what, usage))]


def starts(role: Role, *passed: Role, after: float = 0.0, **more: bool) -> Starts:
    return Starts(role, timedelta(seconds=after), passed, **more)


A, B, C = role("a"), role("b", priority=9), role("c")


@pytest.mark.parametrize(
    ("what", "text"),
    [
        pytest.param(Submitted(role("a", gpus=1)), "a is held: Job, 1 GPU", id="one"),
        pytest.param(
            Submitted(role("a", pods=3, priority=5)),
            "a is held: Job, 6 GPUs, priority 5",
            id="an important one",
        ),
        pytest.param(Waits(A, REASON, is_new=True), "a waits: Job, 2 GPUs", id="a new one waits"),
        pytest.param(Waits(A, REASON), "a still waits", id="another reason"),
        pytest.param(starts(A, is_new=True), "a starts at once: Job, 2 GPUs", id="at once"),
        pytest.param(starts(A, after=29.6), "a starts after 30 s", id="late"),
        pytest.param(starts(A, after=9, is_again=True), "a starts again after 9 s", id="again"),
        pytest.param(
            starts(B, A, C, is_new=True),
            "b starts before 2 others: Job, 2 GPUs",
            id="a more important one goes first",
        ),
        pytest.param(
            starts(A, B, is_new=True), "a starts past b: Job, 2 GPUs", id="a small one passes"
        ),
        pytest.param(
            starts(A, B, after=40), "a starts after 40 s, past b", id="a small one passes later"
        ),
        pytest.param(
            Stopped(A, "Preempted", B), "a preempted by b: priority 9", id="for one of its team"
        ),
        pytest.param(
            Stopped(A, "Reclaimed", B), "a reclaimed by b, owed to vision", id="for another team"
        ),
        pytest.param(Stopped(A, "Deactivated", None), "a deactivated", id="for nobody"),
        pytest.param(Finishes((A,)), "a finished", id="finished"),
        pytest.param(Finishes((A, C)), "a and c finished", id="two have finished"),
    ],
)
def test_what_is_said_of_a_job(what: Happening, text: str) -> None:
    name, verb, detail = told(what)
    assert f"{name} {verb}{detail}" == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and 1 more"),
        (["a", "b", "c", "d"], "a, b and 2 more"),
    ],
)
def test_many_names_are_cut(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_a_line_has_clock_bars_and_job() -> None:
    usage = {"vision": 3, "speech": 6, "text": 1, "lab": 10}
    (line,) = lines(Finishes((A,)), usage)
    assert line == "0:00 ###..... ###### #.....  10 a       finished"


def test_the_clock_begins_with_the_first_moment() -> None:
    told_by = page()
    clocks = [
        told_by.lines(moment(Finishes((A,)), after=after))[0].plain.split()[0]
        for after in (0.01, 5, 61, 754)
    ]
    assert clocks == ["0:00", "0:05", "1:01", "12:34"]


def test_a_long_show_has_room_for_a_long_clock() -> None:
    told_by = Page(cast_of(50, Random(1)), width=100)
    shown = [told_by.lines(moment(Finishes((A,)), after=after))[0].plain for after in (0, 754)]
    assert [each[:6] for each in shown] == [" 0:00 ", "12:34 "]


def test_what_is_too_long_gets_lines_of_its_own_within_the_width() -> None:
    first, *rest = lines(starts(A, B, is_new=True), width=60)
    assert first == "0:00 ........ ...... ......   0 a       starts"
    assert rest == ["    past b: Job, 2 GPUs"]


def test_a_reason_is_quoted_below_within_the_width() -> None:
    first, *rest = lines(Waits(A, REASON, is_new=True), width=60)
    assert first.endswith("a       waits: Job, 2 GPUs")
    assert len(rest) == 2
    assert all(len(each) <= 60 and each.startswith("    ") for each in rest)
    assert " ".join(each.strip() for each in rest) == f'"{REASON}"'


def test_what_was_said_like_this_before_is_not_said_again() -> None:
    told_by = page()
    like = REASON.replace("vision", "speech").replace("6", "4")
    shown = [
        [line.plain for line in told_by.lines(moment(what))]
        for what in (
            Waits(A, REASON, is_new=True),
            Waits(C, like, is_new=True),
            Waits(A, like),
            Waits(A, OTHER),
        )
    ]
    assert [len(each) for each in shown] == [2, 1, 0, 2]
    assert [f'"{text}"' in shown[where][1] for text, where in ((REASON, 0), (OTHER, 3))] == [
        True,
        True,
    ]


def test_names_of_jobs_make_no_other_reason() -> None:
    told_by = Page(replace(CAST, roles=ROLES), width=120)
    waits = "waiting for 1 unit(s) to give back quota lab: vision/{}"
    first = told_by.lines(moment(Waits(A, waits.format("crops"), is_new=True)))
    again = told_by.lines(moment(Waits(C, waits.format("resnet"), is_new=True)))
    assert (len(first), len(again)) == (2, 1)


@pytest.mark.parametrize("what", [Killed(), Restarted()])
def test_what_concerns_no_job_has_no_bars(what: Happening) -> None:
    (line,) = lines(what)
    assert line.startswith("0:00 kq's manager is ")


def test_heads_stand_over_their_columns() -> None:
    told_by = Page(CAST, width=100)
    head = list(told_by.heads())[-1].plain
    (line,) = told_by.lines(moment(Finishes((A,))))
    assert head.index("job") == line.plain.index("a ")
    assert head.index("vision") == line.plain.index("░")
    assert head.index("speech") == line.plain.index("░ ░") + 2


def test_all_of_the_story_is_told_on_eighty_columns() -> None:
    told_by = Page(cast_of(len(ROLES), Random(1)), width=80)
    for each in ROLES:
        others = [other for other in ROLES if other is not each]
        for what in (
            Submitted(each),
            Waits(each, "again", is_new=True),
            Starts(each, timedelta(), is_new=True),
            Starts(each, timedelta(seconds=999), tuple(others)),
            *(Stopped(each, why, other) for other in others for why in ("Preempted", "Reclaimed")),
        ):
            first, *more = told_by.lines(moment(what))
            assert len(first.plain) <= 80
            assert [line.plain for line in more] in ([], ['    "again"'])


def kinds_of(*moments: Moment) -> list[Happening]:
    return [each.what for each in in_order(moments)]


def test_who_starts_is_told_before_why_others_wait_then() -> None:
    late = Waits(role("late", at=8), REASON)
    early = Waits(role("early", at=4), REASON)
    full = {**NOTHING, "lab": 2}
    start = moment(starts(A), full, after=0.2)
    told_in_order = in_order([moment(late), moment(early, after=0.1), start])
    assert [each.what for each in told_in_order] == [start.what, early, late]
    assert [each.usage for each in told_in_order] == [full] * 3
    assert {each.at for each in told_in_order} == {T0 + timedelta(seconds=0.2), start.at}


def test_who_is_submitted_and_answered_at_once_is_told_once() -> None:
    told_in_order = kinds_of(
        moment(Submitted(A)), moment(Submitted(B)), moment(Waits(B, REASON)), moment(starts(A))
    )
    assert told_in_order == [starts(A, is_new=True), Waits(B, REASON, is_new=True)]


def test_who_is_submitted_and_not_answered_is_told() -> None:
    assert kinds_of(moment(Submitted(A)), moment(starts(C))) == [Submitted(A), starts(C)]


def test_a_job_that_waits_for_a_moment_only_is_told_to_start() -> None:
    assert kinds_of(moment(Waits(A, REASON)), moment(starts(A))) == [starts(A)]


def test_ends_of_one_instant_are_told_together_with_the_usage_of_the_last() -> None:
    less, least = {**NOTHING, "lab": 2}, {**NOTHING, "lab": 1}
    told_in_order = in_order(
        [
            moment(Finishes((A,)), less),
            moment(starts(B), {**NOTHING, "lab": 4}),
            moment(Finishes((C,)), least),
        ]
    )
    assert [each.what for each in told_in_order] == [Finishes((A, C)), starts(B)]
    assert told_in_order[0].usage == least


def test_who_has_another_one_stopped_is_told_first() -> None:
    told_in_order = kinds_of(
        moment(Submitted(B)),
        moment(Stopped(A, "Reclaimed", B)),
        moment(Waits(C, REASON)),
        moment(Waits(B, OTHER)),
    )
    assert told_in_order == [
        Waits(B, OTHER, is_new=True),
        Stopped(A, "Reclaimed", B),
        Waits(C, REASON),
    ]


def run(name: str, *, waited: float, finished: bool = True, phase: str = "Succeed") -> Run:
    """A job of one pod, all over unless said otherwise."""
    return Run(
        role=role(name),
        submitted=T0,
        runs_since=T0 + timedelta(seconds=waited) if finished else None,
        waited=timedelta(seconds=waited),
        finished=T0 + timedelta(seconds=61.2) if finished else None,
        phase=phase,
    )


def ending(
    *runs: Run,
    lab: int = 12,
    stops: int = 0,
    wrong: tuple[str, ...] = (),
    seen: tuple[str, ...] = (),
) -> Ending:
    peaks = {"vision": 8, "speech": 6, "text": 5, "lab": lab}
    record = Record(changes=77, peaks=peaks, stops=stops, wrongs=wrong)
    return Ending(cast=CAST, runs=runs, record=record, seen_wrong=seen)


def text_of(what: Ending) -> str:
    return "\n".join(each.plain for each in frame.summary(what))


def stopped(name: str, *reasons: str, finished: bool = True) -> Run:
    one = run(name, waited=30, finished=finished)
    one.stops.extend(reasons)
    return one


def test_a_good_end_is_summed_up() -> None:
    text = text_of(ending(run("a", waited=0.1), run("b", waited=12), run("c", waited=30)))
    assert "All 3 jobs finished, each once" in text
    assert "all 77 changes that the API server recorded" in text
    assert "vision 8/8, speech 6/6, text 5/6, lab 12/12" in text
    assert "stopped  nobody" in text
    assert "kinds    1: Job (3)" in text
    assert "waited   vision: 2 of 3 jobs, 14 s on average, 30 s at most" in text
    assert "speech: " not in text
    assert "1 min 1 s" in text
    assert max(map(len, text.splitlines())) <= 80


def test_one_job_is_summed_up_as_one() -> None:
    assert "The one job finished, once" in text_of(ending(run("a", waited=0)))


def test_who_was_stopped_is_counted_by_the_reason_and_whether_all_came_back() -> None:
    runs = (stopped("a", "Preempted"), stopped("b", "Reclaimed", "Reclaimed"), run("c", waited=0))
    text = text_of(ending(*runs, stops=3))
    assert "stopped  1 preempted, 2 reclaimed; all of them came back and finished" in text


def test_who_did_not_come_back_is_not_said_to_have() -> None:
    runs = (stopped("a", "Preempted"), stopped("b", "Preempted", finished=False))
    assert "2 preempted; 1 of them came back and finished" in text_of(ending(*runs, stops=2))


STUCK = run("a", waited=0, finished=False, phase="Enqueued")
STUCK.reasons.append(REASON)


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        pytest.param(ending(STUCK), f"vision/a has not finished: Enqueued, {REASON}", id="stuck"),
        pytest.param(
            ending(replace(run("a", waited=1), runs_since=None)),
            "job vision/a has finished, but never were all of its pods seen to run",
            id="never ran",
        ),
        pytest.param(
            ending(run("a", waited=1, phase="Running")), "its QueueUnit is Running", id="unit"
        ),
        pytest.param(
            ending(run("a", waited=1), lab=13, wrong=("13 of 12 GPUs",)),
            "13 of 12 GPUs",
            id="over quota",
        ),
        pytest.param(ending(run("a", waited=1), seen=("a crash",)), "a crash", id="seen"),
        pytest.param(
            ending(run("a", waited=1), stops=2),
            "jobs were stopped 2 times, and 0 times it was said why",
            id="stopped for no reason",
        ),
    ],
)
def test_a_bad_end_says_what_was_wrong(what: Ending, wrong: str) -> None:
    text = text_of(what)
    assert "did not end as it must" in text
    assert wrong in text
    assert "each once" not in text
    assert "no pod was made while its job was held" not in text


def test_a_quota_that_was_exceeded_is_not_called_kept() -> None:
    text = text_of(ending(run("a", waited=1), lab=13))
    assert "EXCEEDED" in text
    assert "never exceeded" not in text


def test_who_has_what_is_said_on_eighty_columns() -> None:
    text = [each.plain for each in frame.opening(CAST, 1)]
    assert max(map(len, text)) <= 80
    assert any(each.startswith("  speech   6 GPUs at most, 4 guaranteed") for each in text)


@pytest.mark.parametrize("in_repository", [True, False])
def test_make_is_named_only_where_it_is(in_repository: bool) -> None:
    text = "\n".join(each.plain for each in frame.next_steps("bin/kq", in_repository=in_repository))
    assert "bin/kq sim" in text
    assert ("make demo-cluster" in text) is in_repository
