"""Histories of an ElasticQuotaTree under load: raised, lowered, moved, deleted, made again.

Whatever is edited, nothing starts where a level would be above its limit, and nothing that fits is
left waiting (spec 11.2, 11.4, 11.8, 11.10, 11.11, 15.4, 24.1).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from builders import namespace, pod_set, queue, unit
from hypothesis import event, given, settings
from hypothesis import strategies as st
from playing import Play

from kq.core import keys
from kq.core.options import QuotaOptions
from kq.core.quotaviews import queue_name
from kq.decide.book import Book
from kq.policies import POLICIES
from kq.quota.elasticquotatree import ElasticQuotaTrees
from kq.quota.treeview import quota_tree

LEAVES = ("x", "y")
INNER = ("t1", "t2")
ABOVE = ("", *INNER)
GPU = "nvidia.com/gpu"
GPU_MEMORY = "aliyun.com/gpu-mem"
JOBS = keys.MAX_JOBS[0]
OTHERS = "others-*"
PATHS = [f"root/{each}/{leaf}".replace("//", "/") for each in ABOVE for leaf in LEAVES]

limits = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from((2, 3, 4, 6)),
        GPU: st.sampled_from((1, 3)),
        GPU_MEMORY: st.sampled_from((8, 16)),
        JOBS: st.sampled_from((2, 4)),
    },
)
Limits = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A tree as it was edited; none if it was deleted."""

    exists: bool
    above: Mapping[str, str]
    limits: Mapping[str, Limits]
    closed: bool
    """Whether leaf x is for other namespaces."""

    def ancestry(self, leaf: str) -> Sequence[str]:
        """The nodes from the leaf to the root, by bare name."""
        return [each for each in (leaf, self.above[leaf], "root") if each]

    def path(self, name: str) -> str:
        if name == "root":
            return name
        above = self.above.get(name, "")
        return f"root/{above}/{name}".replace("//", "/")

    def picture(self, options: QuotaOptions) -> ElasticQuotaTrees:
        """As kq reads it."""
        if not self.exists:
            return ElasticQuotaTrees.build(options, [])
        inside = [self.node(each, self.children(each)) for each in INNER]
        root = self.node("root", [*inside, *self.children("")])
        meta = {"namespace": "kube-system", "name": "tree", "uid": "u", "resourceVersion": "1"}
        tree = quota_tree(json.dumps({"metadata": meta, "spec": {"root": root}}).encode())
        assert tree is not None
        return ElasticQuotaTrees.build(options, [tree])

    def children(self, above: str) -> list[dict[str, object]]:
        return [self.node(leaf, []) for leaf in LEAVES if self.above[leaf] == above]

    def node(self, name: str, children: list[dict[str, object]]) -> dict[str, object]:
        closed = {keys.ALLOWED_NAMESPACES: OTHERS} if self.closed and name == "x" else {}
        limit = {key: str(amount) for key, amount in self.limits[name].items()}
        return {"name": name, "children": children, "max": limit, "attributes": closed}


above = st.sampled_from(ABOVE)
trees = st.builds(
    Drawn,
    exists=st.sampled_from((True, True, True, True, False)),
    above=st.fixed_dictionaries({leaf: above for leaf in LEAVES}),
    limits=st.fixed_dictionaries({name: limits for name in (*LEAVES, *INNER, "root")}),
    closed=st.sampled_from((False, False, True)),
)
sizes = st.sampled_from(
    ({"cpu": 1}, {"cpu": 2}, {"cpu": 1, GPU: 1}, {"cpu": 1, GPU: 1, GPU_MEMORY: 8}, {GPU: 2})
)
jobs = st.tuples(st.sampled_from(LEAVES), sizes, st.integers(0, 2), st.integers(1, 4))
steps = st.lists(st.tuples(st.none() | trees, st.lists(jobs, max_size=3)), min_size=3, max_size=7)
rates = st.sampled_from((Decimal(1), Decimal("1.5"), Decimal("1.01")))


def milli(name: str, amount: int) -> int:
    return amount * 1000 if name == "cpu" else amount


class History:
    """A book in this mode, and what should be in use of every level."""

    def __init__(self, first: Drawn, rate: Decimal) -> None:
        self.options = QuotaOptions(oversell=rate)
        self.rate = rate
        self.tree = first
        book = Book(
            policies=POLICIES,
            default_policy="Priority",
            quotas=first.picture(self.options),
            kinds=("Job",),
        )
        for view in (namespace("team-a"), *(queue(queue_name(each)) for each in PATHS)):
            book.saw(view)
        self.play = Play(book=book)
        self.asked: dict[str, tuple[str, Counter[str]]] = {}

    def edit(self, tree: Drawn) -> None:
        self.tree = tree
        self.play.book.set_quotas(tree.picture(self.options), structure_changed=True)

    def submit(self, listed: Sequence[tuple[str, dict[str, int], int, int]]) -> None:
        for leaf, size, priority, lasts in listed:
            name = f"u{len(self.asked)}"
            asked = Counter({key: milli(key, amount) for key, amount in size.items()})
            self.asked[name] = (leaf, asked + Counter({JOBS: 1}))
            self.play.lasts = {**self.play.lasts, name: lasts}
            pods = (pod_set("main", 1, **size),)
            made = unit(name, quota=leaf, pod_sets=pods, priority=priority, minute=len(self.asked))
            self.play.submit(made)

    def used(self) -> dict[str, Counter[str]]:
        """From scratch: what those that run ask, at their leaf and above."""
        total = {name: Counter[str]() for name in (*LEAVES, *INNER, "root")}
        for name in self.play.started:
            leaf, asked = self.asked[name]
            for level in self.tree.ancestry(leaf):
                total[level].update(asked)
        return total

    def room(self, level: str, name: str) -> int | None:
        """The limit times the oversell rate, exactly; None if there is none."""
        limit = self.tree.limits[level].get(name)
        return None if limit is None else int(milli(name, limit) * self.rate)

    def fits(self, name: str) -> bool:
        leaf, asked = self.asked[name]
        used = self.used()
        return all(
            (room := self.room(level, key)) is None or used[level][key] + amount <= room
            for level in self.tree.ancestry(leaf)
            for key, amount in asked.items()
        )

    def may_start(self, name: str) -> bool:
        leaf, _ = self.asked[name]
        return self.tree.exists and not (self.tree.closed and leaf == "x") and self.fits(name)

    def check(self, before: Mapping[str, Counter[str]], started: Sequence[str]) -> None:
        used = self.used()
        for level, amounts in used.items():
            for key, amount in amounts.items():
                if (room := self.room(level, key)) is not None:
                    assert amount <= max(room, before[level][key])
            if self.tree.exists:
                known = self.play.used(self.tree.path(level))
                assert {key: known.get(key, 0) for key in amounts} == dict(amounts)
        if not self.tree.exists:
            assert started == []
        assert not [n for n in started if self.tree.closed and self.asked[n][0] == "x"]
        left = self.asked.keys() - self.play.started.keys() - self.over
        assert not [name for name in left if self.may_start(name)]

    @property
    def over(self) -> set[str]:
        """Jobs that have ended."""
        return {each.name for each in self.play.book.units.values() if each.raw_phase == "Succeed"}


@settings(max_examples=60)
@given(trees.filter(lambda each: each.exists), steps, rates)
def test_whatever_becomes_of_the_tree_no_level_is_granted_above_its_limit(
    first: Drawn, drawn: list[tuple[Drawn | None, list[tuple[str, dict[str, int], int, int]]]], rate
) -> None:
    history = History(first, rate)
    for number, (tree, listed) in enumerate(drawn):
        history.play.step = number
        history.play.end_those_that_are_done()
        history.submit(listed)
        if tree is not None:
            history.edit(tree)
        before = history.used()
        started = history.play.pass_over(history.play.book.take_woken())
        event(f"{min(len(started), 2)} started or more")
        history.check(before, started)
