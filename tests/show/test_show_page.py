"""What is said of what happens, and how it is laid out."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from kq.show import frame
from kq.show.cast import Role, cast_of
from kq.show.ending import Ending
from kq.show.happenings import (
    Finishes,
    Happening,
    Killed,
    Moment,
    Run,
    Starts,
    Submitted,
    Waits,
    in_order,
)
from kq.show.page import Page, listed, told

T0 = datetime(2026, 3, 2, 9, 0, 7, tzinfo=UTC)
CAST = cast_of(3, Random(1))
NOTHING = {"vision": 0, "speech": 0, "lab": 0}
REASON = "waiting for quota vision: 6 nvidia.com/gpu requested, not enough free of 8"


def role(name: str, *, at: float = 0, gpus: int = 2, pods: int = 1, priority: int = 0) -> Role:
    return Role(at=at, team="vision", name=name, gpus=gpus, pods=pods, seconds=9, priority=priority)


def moment(what: Happening, usage: Mapping[str, int] = NOTHING, *, after: float = 0.0) -> Moment:
    return Moment(at=T0 + timedelta(seconds=after), usage=usage, what=what)


def lines(what: Happening, usage: Mapping[str, int] = NOTHING, width: int = 120) -> list[str]:
    page = Page(CAST, width=width, full="#", free=".")
    return [each.plain for each in page.lines(moment(what, usage))]


A, B, C = role("a"), role("b", priority=9), role("c")


@pytest.mark.parametrize(
    ("what", "text"),
    [
        pytest.param(
            Submitted(role("a", gpus=1)), ("a", "submitted", "by vision: 1 GPU, held"), id="one"
        ),
        pytest.param(
            Submitted(role("a", pods=3, priority=5)),
            ("a", "submitted", "by vision: 6 GPUs (3 pods of 2), priority 5, held"),
            id="many",
        ),
        pytest.param(Waits(A, REASON), ("a", "waits", f'"{REASON}"'), id="a reason in quotes"),
        pytest.param(Starts(A, timedelta(), ()), ("a", "starts", "at once"), id="at once"),
        pytest.param(
            Starts(A, timedelta(seconds=29.6), ()), ("a", "starts", "after 30 s"), id="late"
        ),
        pytest.param(
            Starts(B, timedelta(), (A, C)),
            ("b", "starts", "at once, before a and c (priority 9)"),
            id="a more important one goes first",
        ),
        pytest.param(
            Starts(A, timedelta(), (B,)),
            ("a", "starts", "at once, past b (too large now)"),
            id="a small one passes",
        ),
        pytest.param(Finishes(A), ("a", "finished", "gives back 2 GPUs"), id="finished"),
    ],
)
def test_what_is_said_of_a_job(what: Happening, text: tuple[str, str, str]) -> None:
    assert told(what) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c", "d"], "a, b and 2 more")],
)
def test_many_names_are_cut(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_a_line_has_clock_bars_and_job() -> None:
    assert lines(Finishes(A), {"vision": 3, "speech": 6, "lab": 9}) == [
        "09:00:07  ###.....  ######   9/10  a        finished   gives back 2 GPUs"
    ]


def test_what_is_too_long_gets_lines_of_its_own_within_the_width() -> None:
    first, *rest = lines(Waits(A, REASON), width=60)
    assert first == "09:00:07  ........  ......   0/10  a        waits"
    assert len(rest) == 2
    assert all(len(each) <= 60 and each.startswith("    ") for each in rest)
    assert " ".join(each.strip() for each in rest) == f'"{REASON}"'


def test_what_concerns_no_job_has_no_bars() -> None:
    (line,) = lines(Killed())
    assert line.startswith("09:00:07  kq's manager is killed")


def test_heads_stand_over_their_columns() -> None:
    page = Page(CAST, width=100)
    head = list(page.heads())[-1].plain
    (line,) = page.lines(moment(Finishes(A)))
    assert head.index("job") == line.plain.index("a ")
    assert head.index("vision") == line.plain.index("░")


def test_who_starts_is_told_before_why_others_wait_then() -> None:
    late = Waits(role("late", at=8), REASON)
    early = Waits(role("early", at=4), REASON)
    full = {**NOTHING, "lab": 2}
    start = moment(Starts(A, timedelta(), ()), full, after=0.2)
    told_in_order = in_order([moment(late), moment(early, after=0.1), start])
    assert [each.what for each in told_in_order] == [start.what, early, late]
    assert [each.usage for each in told_in_order] == [full] * 3
    assert {each.at for each in told_in_order} == {T0 + timedelta(seconds=0.2), start.at}


def test_a_job_that_waits_and_then_starts_is_told_so() -> None:
    moments = [moment(Waits(A, REASON)), moment(Starts(A, timedelta(), ()))]
    assert in_order(moments) == moments


def run(name: str, *, waited: float | None, finished: bool = True, phase: str = "Succeed") -> Run:
    """A job of one pod, all over unless said otherwise."""
    started = None if waited is None else T0 + timedelta(seconds=waited)
    return Run(
        role=role(name),
        submitted=T0,
        started=started,
        finished=T0 + timedelta(seconds=61.2) if finished else None,
        succeeded={"pod"} if finished else set(),
        phase=phase,
    )


def ending(*runs: Run, lab: int = 10, seen_wrong: tuple[str, ...] = ()) -> Ending:
    peaks = {"vision": 8, "speech": 6, "lab": lab}
    return Ending(cast=CAST, runs=runs, peaks=peaks, seen_wrong=seen_wrong)


def text_of(what: Ending) -> str:
    return "\n".join(each.plain for each in frame.summary(what))


def test_a_good_end_is_summed_up() -> None:
    text = text_of(ending(run("a", waited=0.1), run("b", waited=12), run("c", waited=30)))
    assert "3 of 3 jobs finished, each ran once" in text
    assert "2 of 3 jobs; c longest, 30 s" in text
    assert "vision 8 of 8, speech 6 of 6, lab 10 of 10 GPUs, never above" in text
    assert "1 min 1 s" in text


TWICE = run("a", waited=1)
TWICE.failed.add("another pod")
STUCK = run("a", waited=None, finished=False, phase="Enqueued")
STUCK.reasons.append(REASON)


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        pytest.param(ending(STUCK), f"vision/a has not finished: Enqueued, {REASON}", id="stuck"),
        pytest.param(ending(TWICE), "job vision/a ran 2 pods, not 1", id="ran twice"),
        pytest.param(
            ending(run("a", waited=1, phase="Running")), "its QueueUnit is Running", id="unit"
        ),
        pytest.param(
            ending(run("a", waited=1), lab=11, seen_wrong=("11 of 10 GPUs",)),
            "11 of 10 GPUs",
            id="over quota",
        ),
    ],
)
def test_a_bad_end_says_what_was_wrong(what: Ending, wrong: str) -> None:
    text = text_of(what)
    assert "did not end as it must" in text
    assert wrong in text
    assert "each ran once" not in text


def test_a_quota_that_was_exceeded_is_not_called_kept() -> None:
    assert "ABOVE the quota" in text_of(ending(run("a", waited=1), lab=11))


def test_without_waits_nobody_waited() -> None:
    assert "waited  nobody" in text_of(ending(run("a", waited=0)))


@pytest.mark.parametrize("in_repository", [True, False])
def test_make_is_named_only_where_it_is(in_repository: bool) -> None:
    text = "\n".join(each.plain for each in frame.next_steps("bin/kq", in_repository=in_repository))
    assert "bin/kq sim" in text
    assert ("make demo-cluster" in text) is in_repository


def test_a_long_answer_is_cut() -> None:
    said = [each.plain for each in frame.printed("kubectl get queues", ["a", "b", "c"], 2)]
    assert said == ["", "$ kubectl get queues", "a", "b", "... and 1 more"]
