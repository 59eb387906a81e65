"""Passes on what would be after a change: they are true, bounded, and leave the book alone."""

import msgspec
import pytest
from builders import NOW, amounts, at, job_view, queue, quota, unit
from explain_scene import settled, texts

from kq.core import keys
from kq.core.model import Phase
from kq.core.options import RetryOptions
from kq.explain.explanation import explain
from kq.explain.world import MOST_LOOKS, Budget, TooMuch

RUNNING = Phase.RUNNING
PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}


def state(of):
    return (
        {name: dict(of.usage.of(name)) for name in of.quotas.names()},
        {key: of.verdict(key) for key in of.units},
        {key: of.takings.of(key) for key in of.units},
        {name: [place for place in of.places.in_order(name)] for name in of.queues},
        dict(of.units),
    )


@pytest.mark.parametrize("retry", [RetryOptions(), RetryOptions(backs_off=True, strict=True)])
def test_an_explanation_changes_nothing_of_the_book(retry):
    of = settled(
        quota("root", cpu=6),
        quota(cpu=6, parent="root", minimum=amounts(cpu=4), annotations={keys.RECLAIM[0]: "Any"}),
        quota("other", parent="root", cpu=6),
        views=(
            queue(annotations=PREEMPTS),
            queue("other"),
            unit("r1", quota="other", cpu=4, phase=RUNNING),
            unit("r2", cpu=2, phase=RUNNING),
            unit("w1", cpu=2, priority=3, minute=1),
            unit("w2", cpu=3, minute=2),
            unit("o1", quota="other", cpu=1, minute=3),
        ),
        retry=retry,
    )
    of.take_woken()
    before = state(of)
    for name in ("w1", "w2", "o1"):
        assert explain(of, f"team-a/{name}", NOW) is not None
    assert state(of) == before
    assert of.take_woken() == []


@pytest.mark.parametrize(
    ("strict", "text"),
    [
        (False, "it starts once team-a/r ends, at the end of its back-off"),
        (True, "it starts once team-a/r ends"),
    ],
    ids=["each back-off takes its time", "strict consistency ends it"],
)
def test_what_does_not_end_a_back_off_is_told_to_take_until_its_end(strict, text):
    """Spec 10.19, 10.21."""
    of = settled(
        quota(cpu=4),
        views=(queue(), unit("r", cpu=3, phase=RUNNING), unit("w", cpu=2, minute=1)),
        retry=RetryOptions(backs_off=True, strict=strict),
    )
    assert text in texts(of, "w")


def test_a_raised_limit_ends_a_back_off():
    """Spec 10.19."""
    of = settled(
        quota(cpu=4),
        views=(queue(), unit("r", cpu=3, phase=RUNNING), unit("w", cpu=2, minute=1)),
        retry=RetryOptions(backs_off=True),
    )
    assert "it starts if limits rise: cpu of quota team-a by 1 to 5" in texts(of, "w")


def test_one_that_waits_behind_others_in_back_off_is_tried_after_those_that_end_before():
    """Spec 10.19: what comes back is taken by the first whose back-off ends."""
    of = settled(
        quota(cpu=4),
        views=(queue(), unit("r", cpu=4, phase=RUNNING), unit("first", cpu=3, minute=1)),
        retry=RetryOptions(backs_off=True),
    )
    later = unit("w", cpu=2, minute=2, priority=9)
    of.saw(job_view("w"))
    of.saw(later)
    now = at(0.01)
    for name in of.take_woken():
        of.cycle(name, now)
    found = explain(of, "team-a/w", now)
    assert "it starts once team-a/r ends, at the end of its back-off" not in [
        each.text for each in found.unblock
    ]


def test_what_a_job_demands_beyond_its_pods_is_asked_for():
    """Spec 8.16: the limit has to rise for all of it."""
    waiting = unit("w", cpu=1, minute=1)
    least = {"koord-queue/min-resources": '{"cpu": "3"}'}
    annotations = {**waiting.annotations, **least}
    of = settled(
        quota(cpu=4),
        views=(
            queue(),
            unit("r", cpu=2, phase=RUNNING),
            msgspec.structs.replace(waiting, annotations=annotations),
        ),
    )
    assert "it starts if limits rise: cpu of quota team-a by 1 to 5" in texts(of, "w")


def test_passes_may_look_at_so_much_and_one_way_at_its_share():
    budget = Budget()
    with pytest.raises(TooMuch), budget.sparing(2):
        budget.looked(MOST_LOOKS // 2 + 1)
    budget.looked(MOST_LOOKS // 2 - 1)
    with pytest.raises(TooMuch):
        budget.looked(1)


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_an_answer_is_given_however_many_wait_who_ask_otherwise(policy):
    units = [unit(f"w{number}", cpu=f"{3000 + number}m", minute=number) for number in range(400)]
    views = (queue(policy=policy, annotations=PREEMPTS), unit("r", cpu=3, phase=RUNNING), *units)
    found = explain(settled(quota(cpu=4), views=views), "team-a/w399", NOW)
    assert found.position == 400
    assert found.reason is not None
