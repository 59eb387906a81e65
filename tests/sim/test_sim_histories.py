"""Whatever people do and whatever goes wrong: no quota is exceeded, and every job comes to its end.

Each seed is a history of jobs, edits, faults and deaths on a cluster of its own; `soak` plays more.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from history_after import has_deaths, without_mishaps
from history_kinds import CASES
from history_player import Outcome, judge, play
from history_shrinking import shrunk
from history_steps import (
    POLICIES,
    RECLAIMS,
    TROUBLES,
    Deactivate,
    Delete,
    Govern,
    History,
    KillManager,
    Move,
    Plan,
    Submit,
    draw,
)
from soak import Tally, quiet, soak

from kq.core.plugins import Blocking
from kq.decide.book import Book
from kq.decide.charge import charge_of
from kq.decide.jobs import JobIndex
from kq.decide.usage import UsageIndex
from kq.policies.block import Block
from kq.policies.intelligent import Intelligent
from kq.reconcile.controller import Request, Result
from kq.reconcile.job import JobReconciler
from kq.sim.faults import Trouble

SEEDS = range(16)
FIRST = Submit(
    at=1.0,
    name="first",
    quota="a",
    cpu=2,
    pods=2,
    seconds=20,
    linger=12,
    priority=1,
    suspended=False,
)
SECOND = replace(FIRST, name="second", seconds=2, linger=0)
THIRD = replace(SECOND, name="third", suspended=True)
BUSY = History(seed=1, steps=(FIRST, SECOND, THIRD, Delete(at=8.0, name="first")))
"""The second has to wait until the last pod of the first is gone, and the third for the second."""


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    with quiet():
        yield


@cache
def played(seed: int) -> Outcome:
    """What came of the history of a seed."""
    return judge(draw(seed)) if seed in SEEDS else play(draw(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_all_comes_to_its_end_and_no_quota_is_exceeded_on_the_way(seed: int) -> None:
    history = draw(seed)
    if played(seed).wrongs:
        shortest = shrunk(history, lambda each: bool(judge(each).wrongs), tries=60)
        wrongs = "\n".join(judge(shortest).wrongs)
        pytest.fail(f"{wrongs}\n{shortest}", pytrace=False)


def test_in_some_of_them_managers_die_and_units_are_asked_why_they_wait() -> None:
    """Where one dies, the end was compared with that of the same history without mishaps."""
    assert sum(has_deaths(draw(seed)) for seed in SEEDS) >= 4
    assert sum(played(seed).judged for seed in SEEDS) >= 20


def test_the_seeds_know_every_step_and_most_troubles() -> None:
    steps = [each for seed in SEEDS for each in draw(seed).steps]
    planned = {each.trouble for each in steps if isinstance(each, Plan)}
    kinds = Counter(map(type, steps))
    assert planned == set(TROUBLES)
    assert {Submit, Delete, Deactivate, KillManager} <= set(kinds)
    assert kinds[Submit] > 80


def test_jobs_of_all_kinds_are_moved() -> None:
    moved = set()
    for history in map(draw, range(1500)):
        kinds = {each.name: each.kind for each in history.steps if isinstance(each, Submit)}
        moved |= {kinds[each.name] for each in history.steps if isinstance(each, Move)}
    assert len(moved) > len(CASES) / 2
    assert "RayJob" in moved


def test_histories_know_all_kinds_of_jobs_and_all_rules_of_queues() -> None:
    steps = [each for seed in range(200) for each in draw(seed).steps]
    rules = [each for each in steps if isinstance(each, Govern)]
    kinds = {each.kind for each in steps if isinstance(each, Submit)}
    assert kinds == {"Job", *CASES}
    assert {each.policy for each in rules} == set(POLICIES)
    assert {each.reclaims for each in rules} == set(RECLAIMS)
    for flag in ("max_depth", "waits_for_pods", "skips_impossible", "preempts"):
        assert {bool(getattr(each, flag)) for each in rules} == {False, True}
    assert any(each.at > 0 for each in rules)


@pytest.mark.parametrize("kind", CASES)
def test_a_job_of_each_kind_has_its_turn_between_others(kind: str) -> None:
    other = replace(SECOND, name="other", kind=kind, cpu=CASES[kind].cpu, pods=1, linger=3)
    others = (FIRST, replace(other, at=2.0), replace(THIRD, at=3.0, linger=3))
    outcome = play(History(seed=1, steps=others))
    assert outcome.wrongs == []
    assert outcome.seconds > FIRST.seconds


def test_quota_that_is_handed_on_before_an_operators_pods_are_gone_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = replace(SECOND, name="other", kind="TFJob", cpu=3, pods=1, linger=12)
    steps = (other, replace(SECOND, at=2.0, name="next"))
    assert play(History(seed=1, steps=steps)).wrongs == []
    charge = charge_of

    def of_grants_alone(unit: Any, pods: Any, quota: str, charges: Any) -> Any:
        return charge(unit, None, quota, charges)

    monkeypatch.setattr("kq.decide.accounts.charge_of", of_grants_alone)
    assert "6 of 4 cpu used of a" in play(History(seed=1, steps=steps)).wrongs[0]


def test_pods_that_a_job_left_behind_stay_with_the_quota_of_its_run_wherever_it_is_moved() -> None:
    other = replace(SECOND, name="other", kind="TFJob", cpu=3, pods=1, linger=12)
    moved = Move(at=6.0, name="other", quota="b")
    steps = (other, moved, replace(SECOND, at=7.0, name="next", quota="b"))
    outcome = play(History(seed=1, steps=steps))
    assert outcome.wrongs == []
    assert outcome.seconds < 20


def test_pods_whose_cluster_is_gone_stay_with_the_quota_of_their_rayjob_over_a_death() -> None:
    """Its pods name the quota that it was moved from; the new manager has not seen the cluster."""
    early = replace(SECOND, at=0.5, name="early")
    ray = replace(FIRST, name="ray", kind="RayJob", cpu=3, pods=1)
    paused = Deactivate(at=10.0, name="ray", seconds=2.0)
    steps = (early, ray, Move(at=2.0, name="ray", quota="b"), paused, KillManager(at=11.0))
    later = replace(SECOND, at=13.0, name="next", quota="b", pods=1)
    outcome = judge(History(seed=1, steps=(*steps, later)))
    assert outcome.wrongs == []
    assert outcome.deaths == 1


def test_units_start_beside_a_rayjob_all_of_whose_pods_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spec 10.13: its submitter is one of them, though its pod names no role."""
    one = Govern(at=0.0, quota="a", policy="Priority", waits_for_pods=True)
    ray = replace(FIRST, name="ray", kind="RayJob", cpu=3, pods=1)
    beside = replace(SECOND, at=2.0, name="beside", cpu=1, pods=1)
    history = History(seed=1, steps=(one, ray, beside))
    assert play(history).wrongs == []
    monkeypatch.setattr("kq.decide.charge.SUBMITTER", "unknown")
    assert "unit beside of a fits and waits" in play(history).wrongs[0]


TAKES = Govern(at=0.0, quota="a", policy="Priority", preempts=True)
LOW = replace(FIRST, name="low", priority=0)
"""Its pods linger for 12 seconds when it has to make room."""
TAKEN = History(seed=1, steps=(TAKES, LOW, replace(SECOND, at=5.0, name="high", priority=5)))


def test_who_is_preempted_runs_again_and_has_not_started_twice() -> None:
    outcome = play(TAKEN)
    assert outcome.wrongs == []
    assert outcome.seconds > 5.0 + LOW.linger + LOW.seconds


def test_an_eviction_that_is_taken_back_is_no_second_start() -> None:
    """Spec 13.15: no pod is seen to end, as their watch is silent; so it goes on with its grant."""
    silent = Plan(at=4.0, trouble=Trouble.STALLED, spared=9, times=1, seconds=0.05)
    low = replace(FIRST, at=8.9, name="low", cpu=1, linger=3)
    beside = replace(low, at=9.0, name="beside", pods=1, priority=2, linger=12)
    high = replace(beside, at=14.0, name="high", pods=2, seconds=2)
    outcome = play(History(seed=20093, steps=(TAKES, silent, low, beside, high)))
    assert outcome.wrongs == []
    assert outcome.seconds > 60


def test_a_job_that_can_never_start_may_hold_back_those_behind_it_in_its_own_line_alone() -> None:
    strict = Govern(at=0.0, quota="apart", policy="Block")
    large = replace(SECOND, name="large", quota="apart", priority=2)
    behind = replace(SECOND, at=2.0, name="behind", quota="apart", pods=1)
    steps = (strict, large, behind, FIRST)
    assert play(History(seed=1, steps=steps)).wrongs == []


def test_what_is_said_to_be_held_back_must_be_so_by_the_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kq.decide.lines.skips_impossible", lambda queue: False)
    skips = Govern(at=0.0, quota="apart", policy="Block", skips_impossible=True)
    large = replace(SECOND, name="large", quota="apart", priority=2)
    behind = replace(SECOND, at=2.0, name="behind", quota="apart", pods=1)
    *_, wrong = play(History(seed=1, steps=(skips, large, behind))).wrongs
    assert wrong.startswith("job behind has not ended: Enqueued")


def test_every_trouble_really_strikes_within_some_histories() -> None:
    tally = Tally()
    for seed in range(3 * len(SEEDS)):
        tally.note(draw(seed), played(seed).met)
        if seed in SEEDS or set(tally.struck) < set(TROUBLES):
            continue
        break
    assert tally.idle() == []
    assert set(tally.struck) == set(TROUBLES)


def test_what_was_planned_and_never_struck_fails_a_soak(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Plan(at=1.0, trouble=Trouble.BUSY, spared=10**6, times=1, seconds=1.0)
    struck = replace(late, trouble=Trouble.SLOW, spared=0, times=3, seconds=0.01)
    history = History(seed=1, steps=(FIRST, struck, late))
    monkeypatch.setattr("soak.draw", lambda seed: history)
    clock = iter((0.0, 0.0, 61.0, 61.0))
    monkeypatch.setattr("soak.monotonic", lambda: next(clock))
    assert soak(minutes=1.0, seed=1) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "planned and never struck: busy"
    table = [line.split() for line in told[1:-1]]
    assert table == [["trouble", "planned", "struck"], ["slow", "1", "3"], ["busy", "1", "0"]]


def test_a_history_of_a_seed_is_always_the_same() -> None:
    assert draw(7) == draw(7)
    assert play(draw(7)) == play(draw(7))


def test_a_job_deleted_as_soon_as_it_was_made_leaves_nothing_behind() -> None:
    short = replace(SECOND, name="short", quota="b", pods=1)
    whole = replace(short, at=5.0, name="whole", pods=2)
    steps = (short, Delete(at=1.0, name="short"), whole)
    assert play(History(seed=1, steps=steps)).wrongs == []


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
    assert play(BUSY).wrongs == []
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
    assert play(without_mishaps(history)).wrongs == []
    told = judge(history).wrongs
    assert any("phase is 'Running', undisturbed 'Succeed'" in each for each in told)


def test_what_fails_is_made_as_short_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_is_left_behind(monkeypatch)
    shortest = shrunk(BUSY, lambda each: bool(play(each).wrongs))
    names = [each.name for each in shortest.steps if isinstance(each, Submit | Delete)]
    assert names in (["first", "second", "first"], ["first", "third", "first"])
