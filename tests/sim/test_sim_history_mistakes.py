"""Histories show mistakes: each is planted, and seen by what looks on.

As a history is the same each time, what is planted is all that differs.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import pytest
from history_player import judge, play
from history_samples import BUSY, FIRST, SECOND
from history_shrinking import shrunk
from history_steps import (
    Bar,
    Delete,
    Drop,
    Govern,
    History,
    KillManager,
    LosePods,
    Pause,
    Step,
    Stop,
    Submit,
)
from soak import quiet

from kq.core.plugins import Blocking
from kq.decide import causes, standing
from kq.decide.book import Book
from kq.decide.jobs import JobIndex
from kq.decide.pods import PodGroup
from kq.decide.usage import UsageIndex
from kq.policies.block import Block
from kq.policies.intelligent import Intelligent
from kq.quota.elasticquota import ElasticQuotas
from kq.reconcile.controller import Request, Result
from kq.reconcile.job import JobReconciler


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    with quiet():
        yield


@cache
def is_clean(history: History) -> bool:
    """Whether nothing is wrong in it as long as nothing is planted."""
    return not play(history).wrongs


# -- of who decides


def nothing_is_left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(JobIndex, "orphan_quota", lambda self, uid: "")


def nobody_is_woken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Book, "_freed", lambda self, quota: None)


def everything_is_given_back_twice(patch: pytest.MonkeyPatch) -> None:
    book = UsageIndex._book

    def twice(self: UsageIndex, quota: str, amount: Any, sign: int) -> None:
        book(self, quota, amount, sign)
        if sign < 0:
            book(self, quota, amount, sign)

    patch.setattr(UsageIndex, "_book", twice)


@pytest.mark.parametrize(
    ("plant", "wrong"),
    [
        pytest.param(nothing_is_left_behind, "8 of 4 cpu used of a", id="quota released too early"),
        pytest.param(nobody_is_woken, "third has not ended", id="a lost wake"),
        pytest.param(everything_is_given_back_twice, "cpu used of a", id="a double release"),
    ],
)
def test_a_planted_mistake_is_seen(
    plant: Callable[[pytest.MonkeyPatch], None], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_clean(BUSY)
    plant(monkeypatch)
    assert any(wrong in each for each in play(BUSY).wrongs)


HALF = replace(FIRST, pods=1)
SMALL = replace(SECOND, at=8.0, name="small", pods=1)


@pytest.mark.parametrize("policy", ["Block", "Intelligent"])
def test_who_passes_the_first_of_a_strict_line_is_seen(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted mistake: overtaking."""
    strict = Govern(at=0.0, quota="a", policy=policy, threshold=1)
    history = History(seed=1, steps=(strict, HALF, replace(SECOND, at=2.0), SMALL))
    assert play(history).wrongs == []
    monkeypatch.setattr(Block, "blocks", lambda self, waiting, later: Blocking.FREE)
    monkeypatch.setattr(Intelligent, "blocks", lambda self, waiting, later: Blocking.FREE)
    assert any("unit small of a has passed second" in each for each in play(history).wrongs)


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_who_fits_and_waits_is_seen_before_all_else_has_ended(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted mistake: nobody is looked at when quota becomes free."""
    nobody_is_woken(monkeypatch)
    rule = Govern(at=0.0, quota="a", policy=policy, threshold=1)
    after = replace(SECOND, at=2.0, seconds=10)
    quick = replace(FIRST, seconds=5, linger=0)
    told = play(History(seed=1, steps=(rule, quick, after))).wrongs
    assert any("unit second of a fits and waits" in each for each in told)


def test_an_end_that_is_another_after_a_death_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: what ended while no manager was there is never told."""
    short = replace(SECOND, at=1.3, name="short", pods=1, seconds=1.5)
    history = History(seed=1, steps=(short, KillManager(at=3.1)))
    assert judge(history).wrongs == []
    known: set[tuple[JobReconciler, Request]] = set()
    reconcile = JobReconciler.reconcile

    async def of_what_was_seen(self: JobReconciler, request: Request) -> Result:
        job = self._family.job(request.kind, request.namespace, request.name)
        if job is not None and not job.finished:
            known.add((self, request))
        return await reconcile(self, request) if (self, request) in known else Result()

    monkeypatch.setattr(JobReconciler, "reconcile", of_what_was_seen)
    assert play(history.undisturbed).wrongs == []
    told = judge(history).wrongs
    assert any("phase is 'Running', undisturbed 'Succeed'" in each for each in told)


# -- of who overlooks what administrators do, and what nodes do to pods


WAITS = replace(SECOND, at=4.0, name="waits", seconds=10)


def no_stop(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("kq.decide.standing.is_stopped", lambda queue: False)


def no_drain(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("kq.reconcile.hub.drains", lambda queue: False)


def no_list(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ElasticQuotas, "barred", lambda self, namespace, quota: None)


def no_gap(patch: pytest.MonkeyPatch) -> None:
    """An ancestor that is missing limits nothing."""
    chain = ElasticQuotas.chain

    def known(self: ElasticQuotas, quota: str) -> Any:
        whole = ElasticQuotas.build(self.options, [replace_parent(self.quotas, quota)])
        return chain(whole, quota)

    patch.setattr(ElasticQuotas, "chain", known)


def replace_parent(quotas: Any, name: str) -> Any:
    one = quotas[name]
    return one if one.parent in quotas else msgspec.structs.replace(one, parent="")


def no_halt(patch: pytest.MonkeyPatch) -> None:
    arisen, active = causes._arisen, msgspec.structs.replace
    patch.setattr(causes, "_arisen", lambda now, unit: arisen(now, active(unit, active=True)))


def no_pause(patch: pytest.MonkeyPatch) -> None:
    own, active = standing._own_reason, msgspec.structs.replace
    patch.setattr(standing, "_own_reason", lambda unit, job: own(active(unit, active=True), job))
    no_halt(patch)  # else it is granted and stopped in turns


def no_end_of_pods(patch: pytest.MonkeyPatch) -> None:
    """What a pod used stays in use when it is gone without having ended."""
    drop = PodGroup.drop

    def ended(self: PodGroup, uid: str) -> None:
        known = next((each for each in self.pods if each.uid == uid), None)
        if known is None or not known.live:
            drop(self, uid)

    patch.setattr(JobIndex, "_take", lambda self, root, pod: None)
    patch.setattr(PodGroup, "drop", ended)


STOPPED = Stop(at=2.0, quota="a", policy="Hold", seconds=12)
DRAINED = replace(STOPPED, policy="HoldAndDrain")
BARRED = Bar(at=2.0, quota="a", seconds=12)
DROPPED = Drop(at=2.0, quota="root", seconds=12)
PAUSED = Pause(at=6.0, name="waits", seconds=40)
HALTED = Pause(at=3.0, name="first", seconds=15)
LOST = LosePods(at=6.0, name="first")


@pytest.mark.parametrize(
    ("steps", "plant", "wrong"),
    [
        pytest.param((STOPPED, WAITS), no_stop, "granted: its Queue is stopped", id="a stop"),
        pytest.param((DRAINED, FIRST), no_drain, "quota: its Queue is drained", id="a drain"),
        pytest.param((BARRED, WAITS), no_list, "granted: its namespace may not", id="a list"),
        pytest.param((DROPPED, WAITS), no_gap, "granted: there is no quota root", id="a quota"),
        pytest.param((FIRST, WAITS, PAUSED), no_pause, "granted: it is inactive", id="a pause"),
        pytest.param((FIRST, HALTED), no_halt, "quota: it is inactive", id="a halt"),
        pytest.param((FIRST, WAITS, LOST), no_end_of_pods, "waits has not ended", id="lost pods"),
    ],
)
def test_whoever_overlooks_what_is_done_to_quotas_queues_and_units_is_seen(
    steps: tuple[Step, ...],
    plant: Callable[[pytest.MonkeyPatch], None],
    wrong: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    history = History(seed=1, steps=tuple(sorted(steps, key=lambda step: step.at)))
    assert play(history).wrongs == []
    plant(monkeypatch)
    assert any(wrong in each for each in play(history).wrongs)


def test_what_fails_is_made_as_short_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_is_left_behind(monkeypatch)
    shortest = shrunk(BUSY, lambda each: bool(play(each).wrongs))
    names = [each.name for each in shortest.steps if isinstance(each, Submit | Delete)]
    assert names in (["first", "second", "first"], ["first", "third", "first"])
