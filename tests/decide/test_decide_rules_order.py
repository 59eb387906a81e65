"""Rules of order and quota that no other module names: each as the specification says it."""

import pytest
from books import cpu_used, message, waiting_book
from builders import (
    amounts,
    at,
    book,
    changed,
    granted,
    job_view,
    pod_set,
    queue,
    quota,
    quotas,
    running_job,
    unit,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kq.core import keys
from kq.core.model import Phase
from kq.core.options import QuotaOptions
from kq.decide.fit import Demand
from kq.decide.queuesettings import preempts, skips_impossible, waits_for_pods
from kq.quota.elasticquota import ElasticQuotas

RUNS = {"phase": Phase.RUNNING}
T = "team-a"


def names(each):
    return [one.name for one in each]


def test_10_2_an_inner_quota_gets_its_queue_when_one_is_to_wait_there():
    """Spec 10.2: not before, and no job waits elsewhere for it."""
    picture = ElasticQuotas.build(
        QuotaOptions(parents_take_jobs=True),
        [quota("top", cpu=4, is_parent=True), quota("leaf", parent="top")],
    )
    inner, leaf = picture.auto_made("top"), picture.auto_made("leaf")
    assert inner is not None
    assert leaf is not None
    assert (inner.quota, leaf.quota) == ("top", "leaf")
    assert picture.queue_of("top") == "top"


@pytest.mark.parametrize(
    ("reads", "spellings"),
    [
        pytest.param(skips_impossible, keys.SKIP_IMPOSSIBLE, id="skip-impossible"),
        pytest.param(waits_for_pods, keys.WAIT_FOR_PODS, id="wait-for-pods-running"),
        pytest.param(preempts, keys.ENABLE_PREEMPTION, id="enable-queueunit-preemption"),
    ],
)
@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param(None, "true", True, id="theirs alone"),
        pytest.param("false", "true", False, id="ours wins"),
        pytest.param("true", "false", True, id="ours wins when it is on"),
        pytest.param(None, None, False, id="neither"),
    ],
)
def test_10_14_both_spellings_are_read_and_ours_wins(reads, spellings, ours, theirs, expected):
    """Spec 10.14."""
    given_ = zip(spellings, (ours, theirs), strict=True)
    marks = {key: text for key, text in given_ if text is not None}
    assert reads(queue(annotations=marks)) is expected


def test_10_18_a_failed_candidate_is_tried_again_at_the_next_wake_from_the_head():
    """Spec 10.18: mode `event`; however often it failed and however lately."""
    made = waiting_book(
        running_job("r"), unit("r", cpu=4, **RUNS), job_view("hi"), job_view("lo"),
        unit("hi", cpu=4, priority=9), unit("lo", cpu=3, minute=-1),
    )  # fmt: skip
    for minute in range(5):
        assert made.cycle(T, at(minute)) == []
    made.saw(changed(made.units["team-a/r"], phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert made.take_woken() == [T]
    assert names(made.cycle(T, at(5))) == ["hi"]


def test_10_8_a_cycle_grants_many_and_each_counts_for_the_next():
    """Spec 10.8: those of one pass are never more than there is."""
    views = [each for n in range(6) for each in (job_view(f"u{n}"), unit(f"u{n}", minute=n))]
    made = waiting_book(*views, cpu=4)
    assert names(made.cycle(T, at(1))) == ["u0", "u1", "u2", "u3"]
    assert cpu_used(made) == 4000
    assert made.cycle(T, at(2)) == []


def test_11_10_a_lowered_limit_evicts_nobody_and_starts_nobody_until_usage_is_below_it():
    """Spec 11.10, case E4: max 10, used 8, then 5; 1 cpu waits until 4 + 1 fit."""
    held = [unit(name, cpu=4, **RUNS) for name in ("one", "two")]
    waits = unit("waits", cpu=1)
    jobs = [running_job("one"), running_job("two"), job_view("waits")]
    made = waiting_book(*jobs, *held, cpu=10)
    made.set_quotas(quotas(quota(cpu=5)), structure_changed=False)
    made.saw(waits)
    assert made.cycle(T, at(1)) == []
    assert cpu_used(made) == 8000
    assert message(made, waits.key) == (
        "waiting for quota team-a: 1 cpu requested, not enough free of 5"
    )
    assert made.takings.take_news() == []
    made.saw(changed(held[0], phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert T in made.take_woken()
    assert names(made.cycle(T, at(2))) == ["waits"]


quantities = st.sampled_from(
    (("1", "1000m"), ("0.5", "500m"), ("1.5", "1500m"), ("2", "2000m"), ("1e1", "10"), ("3", "3.0"))
)


@given(quantities, st.integers(1, 4), quantities)
def test_11_12_amounts_are_numbers_however_they_are_written(size, count, limit):
    """Spec 11.12, case C2: the same grants, and a change of spelling is none."""

    def granted_of(each: int) -> tuple[list[str], int]:
        views = []
        for number in range(count):
            pods = (pod_set(cpu=size[each]),)
            views += [job_view(f"u{number}"), unit(f"u{number}", pod_sets=pods, minute=number)]
        made = book(quota(cpu=limit[each]), views=[queue(), *views])
        return names(made.cycle(T, at(1))), cpu_used(made)

    assert granted_of(0) == granted_of(1)
    made = book(quota(cpu=limit[0]), views=[queue(), job_view("u"), unit("u", cpu="9999999")])
    made.cycle(T, at(1))
    made.set_quotas(quotas(quota(cpu=limit[1])), structure_changed=False)
    assert made.take_woken() == []


def test_11_12_a_request_of_less_than_the_smallest_unit_counts_as_that():
    """Spec 11.12: rounded up for each pod."""
    pods = (pod_set("main", 3, cpu="0.0001"),)
    made = book(quota(cpu="3m"), views=[queue(), job_view("u"), unit("u", pod_sets=pods)])
    assert names(made.cycle(T, at(1))) == ["u"]
    assert cpu_used(made) == 3


def test_12_11_a_changed_priority_wakes_its_queue_and_counts_in_the_next_cycle():
    """Spec 12.11, case D3."""
    older, newer = unit("older", cpu=4), unit("newer", cpu=4, minute=1)
    made = waiting_book(
        running_job("r"), unit("r", cpu=4, **RUNS), job_view("older"), job_view("newer"),
        older, newer,
    )  # fmt: skip
    made.cycle(T, at(1))
    made.saw(changed(newer, priority=5))
    assert made.take_woken() == [T]
    made.saw(changed(made.units["team-a/r"], phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert names(made.cycle(T, at(2))) == ["newer"]


def test_13_14_no_job_is_started_smaller_than_it_asks():
    """Spec 13.14: minCount does not make it fit, and a grant is for all of its replicas."""
    pods = (pod_set("main", 3, cpu=2),)
    small = [changed_min(each, 1) for each in pods]
    waits = unit("u", pod_sets=tuple(small))
    made = book(quota(cpu=4), views=[queue(), job_view("u"), waits])
    assert made.cycle(T, at(1)) == []
    made.set_quotas(quotas(quota(cpu=6)), structure_changed=False)
    (got,) = made.cycle(T, at(2))
    assert [each.replicas for each in got.grants] == [3]


def changed_min(pods, least):
    return replace(pods, min_count=least)


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_10_13_the_next_starts_however_the_last_one_ends(policy):
    """Spec 10.13, case D7: deleted, failed, preempted, timed out."""
    waits_so = {keys.WAIT_FOR_PODS[0]: "true"}
    first, second = unit("u1", cpu=1, priority=9), unit("u2", cpu=1)
    gone = {"phase": Phase.FAILED, "raw_phase": "Failed", "grants": ()}
    back = {"phase": Phase.ENQUEUED, "raw_phase": "Enqueued", "grants": (), "active": False}
    timed_out = {"phase": Phase.BACKOFF, "raw_phase": "TimeoutBackoff", "grants": ()}
    for end in (None, gone, back, timed_out):
        views = [queue(policy=policy, annotations=waits_so), job_view("u1"), job_view("u2")]
        made = book(quota(cpu=4), views=[*views, first, second])
        assert names(made.cycle(T, at(1))) == ["u1"]
        written = granted(first)
        made.ledger.revoke(first.key)
        made.saw(written)
        assert made.cycle(T, at(2)) == []
        made.take_woken()
        if end is None:
            made.lost(written)
            made.lost(job_view("u1"))
        else:
            made.saw(changed(written, **end))
        assert made.take_woken() == [T]
        assert names(made.cycle(T, at(3))) == ["u2"]


def test_11_9_growth_of_a_running_job_counts_at_once_and_nobody_else_starts():
    """Case E9: 24 of 16; scaled down to 8 again, 8 are free and the queue is woken."""
    gpu = "nvidia.com/gpu"

    def sized(count):
        pods = (pod_set("main", count, **{gpu: 8}),)
        grown = unit("ray", pod_sets=pods, **RUNS)
        return {"pod_sets": grown.pod_sets, "grants": grown.grants, "resource": grown.resource}

    ray = unit("ray", pod_sets=(pod_set("main", 2, **{gpu: 8}),), **RUNS)
    waits = unit("waits", pod_sets=(pod_set("main", 1, **{gpu: 8}),), minute=1)
    none = unit("none", pod_sets=(pod_set("main", 1, **{gpu: 0}),), minute=2)
    limit = quota(limit=amounts(**{gpu: 16}))
    made = book(limit, views=[queue(), running_job("ray"), job_view("waits"), ray, waits])
    ray = changed(ray, **sized(3))
    made.saw(ray)
    assert made.usage.of(T)[gpu] == 24
    made.saw(job_view("none"))
    made.saw(none)
    assert names(made.cycle(T, at(1))) == ["none"]
    made.take_woken()
    made.saw(changed(ray, **sized(1)))
    assert made.usage.of(T)[gpu] == 8
    assert made.take_woken() == [T]
    assert names(made.cycle(T, at(2))) == ["waits"]


def test_10_16_the_cost_of_a_cycle_follows_shapes_not_waiting_units(monkeypatch):
    """Spec 10.16: as many looks at a quota for 600 that wait as for 30, of the same 3 requests."""
    looks: list[int] = []
    look = Demand.shortage

    def looked(*given_):
        looks[-1] += 1
        return look(*given_)

    monkeypatch.setattr(Demand, "shortage", looked)
    for count in (10, 200):
        waiting = [unit(f"u{n}", cpu=1 + n % 3, minute=n) for n in range(3 * count)]
        jobs = [job_view(each.name) for each in waiting]
        made = waiting_book(running_job("r"), unit("r", cpu=4, **RUNS), *jobs, *waiting, cpu=4)
        looks.append(0)
        assert made.cycle(T, at(1)) == []
    assert looks == [3, 3]
