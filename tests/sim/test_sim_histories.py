"""Whatever people do and whatever goes wrong: no quota is exceeded, and every job comes to its end.

Each seed is a history of jobs, edits, faults and deaths on a cluster of its own; `soak` plays more.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from history_draw import TROUBLES, draw
from history_kinds import CASES
from history_player import Outcome, judge, play
from history_quotas import POLICIES, QUOTAS, RECLAIMS, STOPS
from history_samples import FIRST, SECOND, THIRD
from history_shrinking import shrunk
from history_steps import (
    Deactivate,
    Delete,
    DeleteUnit,
    Drop,
    Govern,
    History,
    Jump,
    KillManager,
    LosePods,
    LoseWebhook,
    Move,
    Pause,
    Plan,
    Reorder,
    Step,
    Stop,
    Submit,
)
from soak import Tally, quiet, soak

from kq.decide.charge import charge_of
from kq.decide.pods import PodGroup
from kq.sim.faults import Trouble

SEEDS = range(13)


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
    assert sum(draw(seed).has_deaths for seed in SEEDS) >= 4
    assert sum(played(seed).judged for seed in SEEDS) >= 15


def test_the_seeds_know_every_step_and_most_troubles() -> None:
    steps = [each for seed in SEEDS for each in draw(seed).steps]
    planned = {each.trouble for each in steps if isinstance(each, Plan)}
    kinds = Counter(map(type, steps))
    assert planned == set(TROUBLES)
    assert {each.__name__ for each in kinds} == {each.__name__ for each in Step.__subclasses__()}
    assert kinds[Submit] > 80


def test_jobs_of_all_kinds_are_moved_and_deleted() -> None:
    done: dict[type[Step], set[str]] = {Move: set(), Delete: set()}
    for history in map(draw, range(1500)):
        kinds = {each.name: each.kind for each in history.steps if isinstance(each, Submit)}
        for each in history.steps:
            if isinstance(each, Move | Delete):
                done[type(each)].add(kinds[each.name])
    assert done[Move] == done[Delete] == {"Job", *CASES}


def test_histories_know_all_steps_all_kinds_of_jobs_and_all_rules_of_queues() -> None:
    steps = [each for seed in range(200) for each in draw(seed).steps]
    known = {each.__name__ for each in Step.__subclasses__()}
    assert {type(each).__name__ for each in steps} == known
    assert {each.policy for each in steps if isinstance(each, Stop)} == set(STOPS)
    assert {each.quota for each in steps if isinstance(each, Drop)} == set(QUOTAS)
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


def test_pods_of_a_preempted_job_count_although_its_unit_is_lost() -> None:
    """No webhook has marked it, as its owner held it when there was none."""
    alone = LoseWebhook(at=0.5, seconds=2.0)
    high = replace(SECOND, at=5.0, name="high", priority=5)
    outcome = play(History(seed=1, steps=(TAKES, alone, LOW, high, DeleteUnit(at=6.5, name="low"))))
    assert outcome.wrongs == []
    assert outcome.seconds > 5.0 + LOW.linger + LOW.seconds


def test_a_job_that_was_moved_while_it_ran_stays_where_its_pods_count() -> None:
    """Though its unit is deleted, and made anew."""
    runs = replace(FIRST, at=6.0, name="runs", quota="apart", pods=2, cpu=1, seconds=20)
    other = replace(SECOND, at=12.0, name="other", quota="a", pods=1, cpu=3, seconds=20)
    steps = (
        runs,
        Move(at=8.2, name="runs", quota="a"),
        other,
        DeleteUnit(at=25.995, name="runs"),
    )
    assert play(History(seed=5048, steps=steps)).wrongs == []


def test_a_watch_that_has_failed_again_and_again_may_rest_longer_each_time() -> None:
    """Nobody is missed whom no watch has shown yet."""
    job = replace(SECOND, at=17.081, name="unseen", seconds=20, linger=12)
    garbled = Plan(at=3.032, trouble=Trouble.GARBLED, spared=0, times=1, seconds=0.05)
    again = replace(garbled, at=16.559, times=3)
    failed = replace(garbled, at=25.091, trouble=Trouble.FAILED, spared=1, seconds=3.0)
    early = replace(job, at=4.0, name="early", linger=0, pods=1)
    steps = (garbled, early, again, job, failed, Jump(at=35.055, seconds=-90))
    assert play(History(seed=2247, steps=steps)).wrongs == []


def test_a_job_that_can_never_start_may_hold_back_those_behind_it_in_its_own_line_alone() -> None:
    strict = Govern(at=0.0, quota="apart", policy="Block")
    large = replace(SECOND, name="large", quota="apart", priority=2)
    behind = replace(SECOND, at=2.0, name="behind", quota="apart", pods=1)
    steps = (strict, large, behind, FIRST)
    assert play(History(seed=1, steps=steps)).wrongs == []


def test_as_many_high_ones_as_max_depth_lets_be_tried_keep_no_low_one_for_ever() -> None:
    """Found by seed 1664."""
    cut = Govern(
        at=0.0,
        quota="apart",
        policy="Intelligent",
        threshold=1,
        max_depth=2,
        skips_impossible=True,
    )
    large = replace(SECOND, name="large", quota="apart", priority=1)
    small = replace(SECOND, at=2.0, name="small", quota="apart", pods=1, priority=0)
    steps = (cut, large, replace(large, at=1.5, name="larger"), small)
    people = (Delete(at=60.0, name="large"), Delete(at=60.0, name="larger"))
    assert play(History(seed=1, steps=(*steps, *people))).wrongs == []


def test_a_quota_that_comes_back_may_find_the_one_above_it_full() -> None:
    """Found by seed 7373: nobody starts until there is room, and those who run may be edited."""
    runs, other = replace(FIRST, quota="b"), replace(FIRST, at=1.5, name="other", pods=1)
    later = replace(FIRST, at=3.0, name="later", cpu=1)
    last = replace(later, at=9.0, name="last", pods=1, quota="b")
    steps = (runs, other, later, Drop(at=4.0, quota="b", seconds=3.0), last)
    edited = Reorder(at=12.0, name="later", priority=6)
    assert play(History(seed=1, steps=(*steps, edited))).wrongs == []


def test_a_job_between_two_pods_keeps_its_quota_when_its_unit_is_deleted() -> None:
    """Found by seed 100256."""
    lost = replace(FIRST, at=1.4, quota="apart", cpu=1, linger=3, seconds=10)
    waits = replace(SECOND, at=2.3, quota="apart", pods=1, priority=2)
    edits = (LosePods(at=4.0, name="first"), DeleteUnit(at=20.8, name="first"))
    assert play(History(seed=1, steps=(lost, waits, *edits))).wrongs == []


def test_a_rayjob_that_is_stopped_while_nobody_shows_its_pods_keeps_its_quota() -> None:
    """Found by seed 8086: KubeRay counts no pods, and forgets the cluster that had them."""
    runs = replace(FIRST, name="first", at=2.0, pods=1)
    ray = replace(FIRST, at=12.0, name="other", kind="RayJob", cpu=CASES["RayJob"].cpu, pods=1)
    silent = Plan(at=23.0, trouble=Trouble.STALLED, spared=9, times=3, seconds=0.05)
    stopped = Pause(at=24.0, name="other", seconds=10.6)
    assert play(History(seed=8086, steps=(runs, ray, silent, stopped))).wrongs == []


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


LINGERS = replace(FIRST, pods=1)
"""It draws on `b` from its move on; its pod is there for 12 seconds after its end."""
MOVED = (
    replace(SECOND, at=0.5, name="early"),
    LINGERS,
    Move(at=2.0, name="first", quota="b"),
    Delete(at=10.0, name="first"),
)


@pytest.mark.parametrize("dies", [False, True])
def test_pods_that_a_moved_job_left_behind_stay_with_the_quota_of_its_run(
    dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: they are taken for those of the quota that the webhook wrote on them."""
    deaths = (KillManager(at=11.0),) if dies else ()
    later = replace(SECOND, at=13.0, name="next", quota="b")
    history = History(seed=1, steps=(*MOVED, *deaths, later))
    assert play(history).wrongs == []
    monkeypatch.setattr("kq.reconcile.gather.missing_label", lambda job, unit, around: "")
    monkeypatch.setattr(PodGroup, "quota", property(labelled_quota))
    assert "6 of 4 cpu used of b" in play(history).wrongs[0]


def labelled_quota(group: PodGroup) -> str:
    return next((pod.quota for pod in group.pods if pod.live), "")


@pytest.mark.parametrize("kind", ["Job", "TrainJob", "RayJob", "SparkApplication"])
def test_pods_of_a_job_that_is_gone_keep_its_quota_over_a_death(kind: str) -> None:
    cpu = CASES[kind].cpu if kind in CASES else 2
    gone = replace(LINGERS, name="other", kind=kind, cpu=cpu)
    steps = (gone, Delete(at=10.0, name="other"), KillManager(at=11.0))
    each = replace(SECOND, at=13.0, cpu=1, pods=1)
    later = tuple(replace(each, name=f"next-{number}") for number in range(4))
    outcome = play(History(seed=1, steps=(*steps, *later)))
    assert (outcome.wrongs, outcome.deaths) == ([], 1)


def test_pods_of_a_trainjob_that_nobody_labels_are_missed_after_a_death(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: Trainer is not asked to label them."""
    cpu = CASES["TrainJob"].cpu
    gone = replace(LINGERS, name="other", kind="TrainJob", cpu=cpu)
    steps = (gone, Delete(at=10.0, name="other"), KillManager(at=11.0))
    history = History(seed=1, steps=(*steps, replace(SECOND, at=13.0, name="next")))
    monkeypatch.setattr("kq.reconcile.jobwriter.label_patch", lambda job, whole, label: None)
    assert "6 of 4 cpu used of a" in play(history).wrongs[0]
