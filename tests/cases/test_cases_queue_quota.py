"""Cases of quota accounting that are decided in one pass."""

from collections.abc import Mapping
from typing import Any

import pytest
from builders import NOW, amounts, as_bytes, at, book, changed, job_view, queue, quota, quotas, unit
from builders import running_job as runs_on

from kq.core import codec
from kq.core.model import Phase, PodSet, QueueUnit
from kq.core.options import QuotaOptions
from kq.core.quotaviews import resource_quota
from kq.decide.book import Book
from kq.policies import POLICIES
from kq.quota.resourcequota import ResourceQuotas

A = "team-a"
RUNS = {"phase": Phase.RUNNING}
OVER = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
Json = dict[str, Any]


# -- E7


class Limited:
    """A namespace with one ResourceQuota, and jobs that come in order."""

    def __init__(self, hard: Mapping[str, str]) -> None:
        meta = {"namespace": A, "name": "rq", "uid": "u", "resourceVersion": "1"}
        read = resource_quota(as_bytes({"metadata": meta, "spec": {"hard": dict(hard)}}))
        self.book = Book(
            policies=POLICIES,
            default_policy="Priority",
            quotas=ResourceQuotas.build(QuotaOptions(), [read]),
            kinds=("Job",),
        )
        self.book.saw(queue())
        self.count = 0

    def submit(self, name: str, pods: int, cpu: str | None, memory: str | None = "1Gi") -> None:
        resources = {
            "requests": {"cpu": cpu} if cpu else {},
            "limits": {"memory": memory} if memory else {},
        }
        container = {"name": "main", "image": "busybox", "resources": resources}
        template = codec.template_of({"spec": {"containers": [container]}})
        role = PodSet(name="main", count=pods, wanted=pods, template=template)
        self.count += 1
        made = unit(name, quota=None, pod_sets=(role,), minute=self.count)
        self.book.saw(job_view(name, pod_sets=(role,)))
        self.book.saw(made)

    def cycle(self) -> list[str]:
        return [each.name for each in self.book.cycle(A, at(self.count))]

    def told(self, name: str) -> str:
        verdict = self.book.verdict(f"{A}/{name}")
        return verdict.message if verdict else ""


@pytest.mark.parametrize("cpu", ["requests.cpu", "cpu"])
@pytest.mark.parametrize("pods", ["pods", "count/pods"])
def test_e7_every_spelling_of_a_key_limits_and_what_is_missing_is_waited_for(
    cpu: str, pods: str
) -> None:
    """Case E7, spec 11.14, 11.17: A starts; B waits; C, D, E can never start and say why."""
    limited = Limited({cpu: "4", "limits.memory": "8Gi", pods: "3"})
    limited.submit("a", 1, "3")
    limited.submit("b", 1, "2")
    limited.submit("c", 3, "100m", "3Gi")
    limited.submit("d", 4, "100m")
    limited.submit("e", 1, None)
    limited.submit("f", 1, "100m", None)
    assert limited.cycle() == ["a"]
    assert limited.told("b") == (
        f"waiting for quota {A}/rq: 2 {cpu} requested, not enough free of 4"
    )
    assert limited.told("c") == (
        f"cannot start: 9Gi limits.memory requested, but max of quota {A}/rq is 8Gi"
    )
    assert limited.told("d").startswith(f"cannot start: 4 {pods} requested")
    for name, key in (("e", cpu), ("f", "limits.memory")):
        assert limited.told(name).startswith(f"resource quota {A}/rq demands {key} of every")


# -- E1, E3, E4, E8 with other shapes


def held(name: str, of: str, cpu: int, minute: float = 0) -> list[object]:
    return [runs_on(name), unit(name, quota=of, cpu=cpu, minute=minute, **RUNS)]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_e1_the_level_that_binds_is_named_however_far_up_it_is(depth: int) -> None:
    """Case E1: three levels deep, too."""
    inner = [
        quota(f"p{n}", cpu=None, parent=f"p{n + 1}" if n + 1 < depth else "root-a", is_parent=True)
        for n in range(depth)
    ]
    top = quota("root-a", cpu=4, minimum=amounts(cpu=4), is_parent=True)
    leaves = [quota(each, cpu=4, parent="p0") for each in ("c1", "c2")]
    waits = [job_view("new"), unit("new", quota="c2", cpu=2)]
    made = book(top, *inner, *leaves, views=[queue("c2"), *held("old", "c1", 3), *waits])
    assert made.cycle("c2", NOW) == []
    told = made.verdict(f"{A}/new")
    assert told is not None
    assert told.message == (
        "waiting for quota root-a, ancestor of c2: 2 cpu requested, not enough free of 4"
    )


@pytest.mark.parametrize("to", ["p2", ""])
@pytest.mark.parametrize("flips", [True, False])
def test_e3_usage_goes_along_with_the_quota_and_ends_at_nought(to: str, flips: bool) -> None:
    """Case E3: another parent, none (then directly under the root), and is-parent flipped."""
    parents = [quota(each, cpu=4, is_parent=True) for each in ("p1", "p2")]
    made = book(*parents, quota("c1", cpu=4, parent="p1"), views=[queue("c1"), *held("u", "c1", 3)])

    def used() -> list[int]:
        return [made.usage.of(each).get("cpu", 0) for each in ("p1", "p2", "c1")]

    assert used() == [3000, 0, 3000]
    moved = quota("c1", cpu=4, parent=to, is_parent=flips)
    made.set_quotas(quotas(*parents, moved), structure_changed=True)
    assert used() == [0, 3000 if to else 0, 3000]
    made.saw(changed(made.units[f"{A}/u"], **OVER))
    assert used() == [0, 0, 0]


@pytest.mark.parametrize("lowered", [0, 1, 5, 7])
def test_e4_headroom_below_nought_starts_nobody_and_leaves_siblings_alone(lowered: int) -> None:
    """Case E4: used 8 of less; another quota under the same parent goes on."""
    two = [*held("one", "a", 4), *held("two", "a", 4, 1)]
    waits = [job_view("new"), job_view("other"), unit("new", quota="a", cpu=1)]
    top, b = quota("top", cpu=20, is_parent=True), quota("b", cpu=2, parent="top")
    views = [queue("a"), queue("b"), *two, *waits, unit("other", quota="b", cpu=2)]
    made = book(top, quota("a", cpu=10, parent="top"), b, views=views)
    smaller = quota("a", cpu=lowered, parent="top")
    made.set_quotas(quotas(top, smaller, b), structure_changed=False)
    assert made.cycle("a", NOW) == []
    assert [each.name for each in made.cycle("b", NOW)] == ["other"]
    assert made.usage.of("a")["cpu"] == 8000
    assert made.takings.take_news() == []
    made.saw(changed(made.units[f"{A}/one"], **OVER))
    fits = lowered >= 5
    assert [each.name for each in made.cycle("a", NOW)] == (["new"] if fits else [])


# -- E9


GPU = "nvidia.com/gpu"


def ray(workers: int) -> QueueUnit:
    template = codec.template_of(
        {"spec": {"containers": [{"name": "w", "resources": {"limits": {GPU: "8"}}}]}}
    )
    role = PodSet(name="worker", count=workers, wanted=workers, template=template)
    return unit("ray", pod_sets=(role,), **RUNS)


@pytest.mark.parametrize(("grown", "used"), [(3, 24), (5, 40)])
def test_e9_growth_counts_at_once_and_starts_nobody_until_it_is_over(grown: int, used: int) -> None:
    """Case E9: 16 of 16, then more; scaled down to 1 the rest is free and the queue is woken."""
    waits = unit("waits", pod_sets=ray(1).pod_sets, minute=1)
    made = book(
        quota(limit=amounts(**{GPU: 16})),
        views=[queue(), runs_on("ray"), job_view("waits"), ray(2), waits],
    )
    for count, expected in ((grown, used), (2, 16)):
        larger = ray(count)
        fields = {"pod_sets": larger.pod_sets, "grants": larger.grants}
        made.saw(changed(made.units[f"{A}/ray"], **fields))
        assert made.usage.of(A)[GPU] == expected
        assert made.cycle(A, NOW) == []
    made.take_woken()
    smaller = ray(1)
    fields = {"pod_sets": smaller.pod_sets, "grants": smaller.grants}
    made.saw(changed(made.units[f"{A}/ray"], **fields))
    assert made.take_woken() == [A]
    assert [each.name for each in made.cycle(A, NOW)] == ["waits"]
