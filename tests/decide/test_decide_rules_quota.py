"""Rules of quotas as the specification says them, in a book that decides (spec 11, 15.4)."""

from decimal import Decimal
from typing import Any

import pytest
from books import cpu_used, message
from builders import (
    NOW,
    amounts,
    book,
    changed,
    job_view,
    namespace,
    pod,
    pod_set,
    queue,
    quota,
    quotas,
    unit,
)

from kq.core import keys
from kq.core.keys import MAX_JOBS
from kq.core.model import Phase, Quota
from kq.decide.book import Book

HOLDS = [Phase.RESERVED, Phase.DEQUEUED, Phase.RUNNING]
OVER = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
AT = ("a", "b")


def asks(name: str, of: str, minute: float = 0, **fields: Any) -> list[object]:
    """A job and its unit."""
    return [job_view(name), unit(name, quota=of, minute=minute, **fields)]


def settled(*each: Quota, views: Any = (), **options: Any) -> Book:
    """A book with a Queue for each of two quotas."""
    return book(*each, views=[*map(queue, AT), *views], **options)


def started(of: Book, *names: str) -> list[str]:
    return [each.name for name in names for each in of.cycle(name, NOW)]


# -- what fits (11.2, 11.11)


@pytest.mark.parametrize(
    ("limit", "starts"),
    [
        pytest.param({}, True, id="no max at all"),
        pytest.param({"cpu": 3, "memory": "2Gi"}, True, id="just"),
        pytest.param({"cpu": 3}, True, id="what is not named is unlimited"),
        pytest.param({"cpu": "2999m"}, False, id="a thousandth less"),
        pytest.param({"cpu": 9, "memory": "2147483647"}, False, id="a byte less"),
        pytest.param({"gpu": 0}, True, id="nothing of what is not asked for"),
        pytest.param({"cpu": 9, "pods": 2}, False, id="one pod too many"),
        pytest.param({"memory": 0}, False, id="nothing of what is"),
    ],
)
def test_11_2_all_pod_sets_start_together_or_none(limit: dict[str, Any], starts: bool) -> None:
    """3 cpu, 2Gi and 3 pods in all; each pod set alone would fit."""
    roles = (pod_set("ps", 1, cpu=1), pod_set("worker", 2, cpu=1, memory="1Gi"))
    of = settled(quota("a", limit=amounts(**limit)), views=asks("u", "a", pod_sets=roles))
    assert started(of, "a") == (["u"] if starts else [])
    assert cpu_used(of, "a") == (3000 if starts else 0)


@pytest.mark.parametrize(
    ("rate", "of_child", "of_parent", "count"),
    [
        ("1.5", 2, 9, 3),
        ("1.5", 9, 2, 3),
        ("0.5", 4, 9, 2),
        ("0.5", 9, 4, 2),
        ("1.25", 2, 2, 2),
        ("0.333", 3, 9, 0),
    ],
)
def test_11_2_what_starts_is_within_every_limit_times_the_rate(
    rate: str, of_child: int, of_parent: int, count: int
) -> None:
    tree = [quota("p", cpu=of_parent), quota("a", cpu=of_child, parent="p")]
    views = [view for n in range(9) for view in asks(f"u{n}", "a", n, cpu=1)]
    of = settled(*tree, views=views, oversell=Decimal(rate))
    assert len(started(of, "a")) == count
    assert [cpu_used(of, each) for each in ("a", "p")] == [count * 1000] * 2


@pytest.mark.parametrize("spelling", MAX_JOBS)
@pytest.mark.parametrize("at", ["a", "p", "top"])
@pytest.mark.parametrize("phase", HOLDS)
def test_11_11_each_unit_counts_as_one_job_at_every_level(
    spelling: str, at: str, phase: Phase
) -> None:
    """From its reservation on, however many pods it has and however little they ask."""
    limits = {at: amounts(**{spelling: 2})}
    tree = [
        quota(name, parent=parent, limit=limits.get(name, amounts()))
        for name, parent in (("top", ""), ("p", "top"), ("a", "p"), ("b", "p"))
    ]
    many = (pod_set(count=5, cpu=0),)
    views = [
        *asks("holds", "a", phase=phase, pod_sets=many),
        *asks("goes", "a", 1),
        *asks("waits", "a", 2),
    ]
    of = settled(*tree, views=views)
    assert started(of, "a") == ["goes"]
    level = "quota a" if at == "a" else f"quota {at}, ancestor of a"
    told = f"waiting for {level}: 1 {spelling} requested, not enough free of 2"
    assert message(of, "team-a/waits") == told


def test_11_11_both_spellings_bind_side_by_side() -> None:
    limit = amounts(**{MAX_JOBS[0]: 5, MAX_JOBS[1]: 1})
    views = [*asks("one", "a"), *asks("two", "a", 1)]
    assert started(settled(quota("a", limit=limit), views=views), "a") == ["one"]


def test_11_11_pods_left_behind_are_no_job() -> None:
    tree = [quota("a", limit=amounts(**{MAX_JOBS[0]: 1}))]
    orphan = pod(job="gone", quota="a", cpu=3)
    of = settled(*tree, views=[orphan, *asks("u", "a")])
    assert cpu_used(of, "a") == 3000
    assert started(of, "a") == ["u"]


# -- trees under load (11.3, 11.5, 11.8, 11.10)


def tree(**changes: Any) -> list[Quota]:
    """Two quotas below one for four cpu; None leaves one out."""
    of = {"p": {"cpu": 4}, "a": {"parent": "p"}, "b": {"parent": "p"}} | changes
    return [quota(name, **fields) for name, fields in of.items() if fields is not None]


def put(of: Book, each: list[Quota]) -> None:
    of.set_quotas(quotas(*each), structure_changed=True)


FULL = [*asks("runs", "a", cpu=3, phase=Phase.RUNNING), *asks("waits", "b", 1, cpu=2)]


def test_11_5_a_missing_parent_is_waited_for_and_sees_what_runs_below_it() -> None:
    of = settled(*tree(p=None), views=FULL)
    assert started(of, "b") == []
    assert message(of, "team-a/waits") == "quota p, ancestor of b, does not exist"
    of.take_woken()
    put(of, tree(p={"cpu": 4}))
    assert of.take_woken() == ["b"]
    assert started(of, "b") == []
    assert message(of, "team-a/waits") == (
        "waiting for quota p, ancestor of b: 2 cpu requested, not enough free of 4"
    )
    put(of, tree(p={"cpu": 5}))
    assert started(of, "b") == ["waits"]


def test_11_8_a_parent_deleted_and_made_again_counts_all_that_runs_at_once() -> None:
    of = settled(*tree(), views=FULL)
    put(of, tree(p=None))
    assert cpu_used(of, "a") == 3000
    put(of, tree())
    assert [cpu_used(of, each) for each in "pab"] == [3000, 3000, 0]
    assert started(of, "b") == []


@pytest.mark.parametrize(
    ("to", "used", "starts"),
    [
        pytest.param({"parent": ""}, [0, 3000], ["waits"], id="out of the tree"),
        pytest.param({"parent": "b"}, [3000, 3000], [], id="below the other"),
        pytest.param({"parent": "gone"}, [0, 3000], ["waits"], id="below nothing"),
        pytest.param({"parent": "a"}, [0, 3000], ["waits"], id="into a cycle"),
    ],
)
def test_11_8_a_quota_moved_under_load_takes_its_usage_along(
    to: dict[str, str], used: list[int], starts: list[str]
) -> None:
    of = settled(*tree(), views=FULL)
    assert started(of, "b") == []
    put(of, tree(a=to))
    assert [cpu_used(of, each) for each in "pa"] == used
    assert started(of, "b") == starts
    of.saw(changed(of.units["team-a/runs"], **OVER))
    assert [cpu_used(of, each) for each in "pa"] == [2000 if starts else 0, 0]


def test_11_10_where_usage_is_above_a_lowered_limit_nothing_starts_until_it_is_below() -> None:
    views = [*FULL, *asks("more", "a", 2, cpu=1), *asks("small", "b", 3, cpu=1)]
    of = settled(*tree(), views=views)
    put(of, tree(p={"cpu": 2}))
    assert started(of, "a", "b") == []
    assert of.units["team-a/runs"].phase is Phase.RUNNING
    of.saw(changed(of.units["team-a/runs"], **OVER))
    assert started(of, "a", "b") == ["more", "small"]


def test_11_3_a_quota_that_becomes_a_parent_lets_run_what_runs_and_starts_nothing() -> None:
    views = [*asks("runs", "a", cpu=1, phase=Phase.RUNNING), *asks("waits", "a", 1, cpu=1)]
    of = settled(*tree(), views=views)
    put(of, tree(a={"parent": "p", "is_parent": True}))
    assert started(of, "a") == []
    told = "quota a is a parent quota: name one of its children"
    assert message(of, "team-a/waits") == told
    assert [cpu_used(of, each) for each in "pa"] == [1000, 1000]


# -- pods without grants (11.9)


@pytest.mark.parametrize("phase", [Phase.SUCCEED, Phase.FAILED, Phase.ENQUEUED, Phase.BACKOFF])
def test_11_9_live_pods_of_a_unit_that_holds_nothing_count_as_they_are(phase: Phase) -> None:
    views = [*asks("old", "a", cpu=9, phase=phase), pod(job="old", quota="a", cpu=3)]
    of = settled(*tree(), views=[*views, *asks("waits", "b", 1, cpu=2)])
    assert [cpu_used(of, each) for each in "pa"] == [3000, 3000]
    assert started(of, "b") == []
    of.saw(pod(job="old", quota="a", cpu=3, phase="Failed"))
    assert started(of, "b") == ["waits"]


# -- who may use what (15.4, 15.4a)


@pytest.mark.parametrize(
    ("quota_of", "of_namespace"),
    [
        pytest.param({"annotations": {keys.ALLOWED_NAMESPACES: "others"}}, {}, id="its list"),
        pytest.param({}, {keys.QUOTA_LABEL: "b"}, id="the namespace's own quota"),
    ],
)
def test_15_4_running_units_stay_when_their_namespace_may_use_the_quota_no_more(
    quota_of: dict[str, Any], of_namespace: dict[str, str]
) -> None:
    views = [*asks("runs", "a", cpu=1, phase=Phase.RUNNING), *asks("waits", "a", 1, cpu=1)]
    of = settled(*tree(), views=[namespace(), *views])
    put(of, tree(a={"parent": "p", **quota_of}))
    of.saw(namespace(labels=of_namespace))
    assert started(of, "a") == []
    assert message(of, "team-a/waits") == "namespace team-a may not use quota a"
    assert of.units["team-a/runs"].holds_quota
    assert [cpu_used(of, each) for each in "pa"] == [1000, 1000]
    put(of, tree())
    of.saw(namespace())
    assert started(of, "a") == ["waits"]
