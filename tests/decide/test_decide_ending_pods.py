"""Pods that end while no unit holds grants for them: what they give back is awaited too (13.6)."""

import pytest
from builders import (
    NOW,
    amounts,
    at,
    book,
    changed,
    condition,
    pod,
    queue,
    quota,
    running_job,
    unit,
)
from builders import job_view as held_job

from kq.core import keys, messages
from kq.core.model import Phase

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
A = "team-a"
HALF = amounts(cpu=2)


def queued(name: str):
    """A job that came through the webhook, and is suspended."""
    return held_job(name, annotations={keys.HAS_ENQUEUED: "true"})


class Evicting:
    """Two jobs are about to give back for one of higher priority; a low one waits, too."""

    def __init__(self, *, ends: bool = True) -> None:
        self.ends = ends
        low = [unit(each, cpu=2, phase=Phase.RUNNING) for each in ("one", "two")]
        high = unit("high", cpu=4, priority=9)
        views = [running_job("one"), running_job("two"), held_job("high"), *low, high]
        self.book = book(quota(cpu=4), views=[queue(annotations=PREEMPTS), *views])
        assert self.pass_over() == []
        for each in low:
            mark = condition("Evicted", True, "Preempted", "x")
            self.book.saw(changed(self.book.units[each.key], conditions=(mark,)))
            self.book.saw(queued(each.name))
            self.book.saw(self.pod_of(each.name))
        slips = [held_job("slips"), unit("slips", cpu=2, priority=1)]
        for view in slips:
            self.book.saw(view)
        assert self.pass_over() == []

    def pod_of(self, name: str):
        return pod(f"{name}-0", uid=f"p-{name}", job=name, request=HALF, deleted_at=self.gone_at())

    def gone_at(self):
        return NOW if self.ends else None

    def pass_over(self) -> list[str]:
        return [each.name for each in self.book.cycle(A, at(10))]

    def told(self, name: str) -> str:
        verdict = self.book.verdict(f"{A}/{name}")
        return verdict.message if verdict else ""

    def lose_unit(self, name: str) -> None:
        self.book.lost(self.book.units[f"{A}/{name}"])

    def lose_job(self, name: str) -> None:
        """Deleted in the background: its pods are the last that is seen of it."""
        self.book.lost(queued(name))
        self.lose_unit(name)

    def give_back(self, name: str) -> None:
        known = self.book.units[f"{A}/{name}"]
        self.book.lost(self.pod_of(name))
        out = {"phase": Phase.ENQUEUED, "raw_phase": "Enqueued", "grants": ()}
        self.book.saw(changed(known, **out))


LOSSES = [
    pytest.param(Evicting.lose_job, id="its job is deleted"),
    pytest.param(Evicting.lose_unit, id="its unit is deleted"),
]


@pytest.mark.parametrize("loses", LOSSES)
def test_what_a_victim_gives_back_stays_set_aside_when_its_unit_is_gone(loses) -> None:
    """Case F4: the pods of the one go on ending; what the other gives back is nobody else's."""
    stage = Evicting()
    both = messages.m12(A, [f"{A}/one", f"{A}/two"])
    assert stage.told("high") == both
    loses(stage, "one")
    assert stage.pass_over() == []
    assert stage.told("high") == both
    stage.give_back("two")
    assert stage.pass_over() == []
    assert stage.told("high") == messages.m12(A, [f"{A}/one"])
    stage.book.lost(stage.pod_of("one"))
    assert stage.pass_over() == ["high"]


def test_so_it_is_when_a_victim_ends_by_itself_and_its_pods_take_longer() -> None:
    stage = Evicting()
    over = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
    stage.book.saw(changed(stage.book.units[f"{A}/one"], **over))
    stage.give_back("two")
    assert stage.pass_over() == []
    assert stage.told("high") == messages.m12(A, [f"{A}/one"])
    stage.book.lost(stage.pod_of("one"))
    assert stage.pass_over() == ["high"]


def test_pods_whose_unit_was_never_seen_are_told_of_by_who_owned_them() -> None:
    """A manager that starts in the midst of it."""
    views = [
        queue(annotations=PREEMPTS),
        pod("one-0", job="one", request=HALF, deleted_at=NOW),
        running_job("two"),
        unit("two", cpu=2, phase=Phase.RUNNING),
        held_job("high"),
        unit("high", cpu=4, priority=9),
    ]
    made = book(quota(cpu=4), views=views)
    assert made.cycle(A, at(10)) == []
    verdict = made.verdict(f"{A}/high")
    assert verdict is not None
    assert verdict.message == messages.m12(A, [f"{A}/one", f"{A}/two"])


def test_pods_that_were_left_behind_and_do_not_end_are_waited_for_by_nobody() -> None:
    """Orphaned ones may stay for ever."""
    stage = Evicting(ends=False)
    stage.lose_job("one")
    stage.give_back("two")
    assert "slips" in stage.pass_over()
