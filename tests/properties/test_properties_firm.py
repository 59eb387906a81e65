"""Units that nobody may preempt, in trees with random mins, edited and relabelled under load.

Whatever happens, no grant brings what they use at a node above its min, whatever is granted to
others, and nobody waits who fits (spec 11.13, 11.10, 24.1).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from builders import changed, namespace, pod_set, queue, unit
from hypothesis import event, given, settings
from hypothesis import strategies as st
from playing import Play

from kq.core import keys
from kq.core.options import QuotaOptions, TakingOptions
from kq.core.quotaviews import queue_name
from kq.core.resources import firm, is_firm
from kq.decide.book import Book
from kq.policies import POLICIES
from kq.quota.elasticquotatree import ElasticQuotaTrees
from kq.quota.treeview import quota_tree

PATHS = {"x": "root/t/x", "y": "root/t/y", "z": "root/z", "root": "root"}
"""Where units are."""
NODES = ("root/t/x", "root/t/y", "root/t", "root/z", "root")
GPU = "nvidia.com/gpu"
JOBS = keys.MAX_JOBS[0]
PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
KEPT, LENT = ({keys.PREEMPTIBLE_LABELS[0]: text} for text in ("false", "true"))
UNNAMED = frozenset({JOBS, "pods"})
"""What min does not bound where it does not name it."""

Amounts = Mapping[str, int]

bounds = st.fixed_dictionaries(
    {"cpu": st.sampled_from((1, 2, 2, 3, 4))},
    optional={GPU: st.sampled_from((0, 1, 2)), JOBS: st.sampled_from((1, 2))},
)
more = st.fixed_dictionaries({"cpu": st.sampled_from((0, 0, 1, 2))}, optional={GPU: st.just(1)})


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A tree: of each node its min, and by how much its max is higher."""

    mins: Mapping[str, Amounts]
    more: Mapping[str, Amounts]

    def picture(self, options: QuotaOptions) -> ElasticQuotaTrees:
        """As kq reads it."""
        team = self.node("root/t", self.node("root/t/x"), self.node("root/t/y"))
        root = self.node("root", team, self.node("root/z"))
        meta = {"namespace": "kube-system", "name": "tree", "uid": "u", "resourceVersion": "1"}
        tree = quota_tree(json.dumps({"metadata": meta, "spec": {"root": root}}).encode())
        assert tree is not None
        return ElasticQuotaTrees.build(options, [tree])

    def node(self, path: str, *children: object) -> dict[str, object]:
        return {
            "name": path.rpartition("/")[2],
            "children": list(children),
            "min": {name: str(amount) for name, amount in self.mins[path].items()},
            "max": {name: str(amount) for name, amount in self.maximum(path).items()},
        }

    def maximum(self, path: str) -> Amounts:
        return {name: self.mins[path].get(name, 0) + n for name, n in self.more[path].items()}

    def room(self, path: str, name: str, *, is_firm: bool) -> float:
        """How much may be used at most."""
        if is_firm:
            missing = float("inf") if name in UNNAMED else 0
            return self.mins[path].get(name, missing)
        return self.maximum(path).get(name, float("inf"))


trees = st.builds(
    Drawn,
    mins=st.fixed_dictionaries({path: bounds for path in NODES}),
    more=st.fixed_dictionaries({path: more for path in NODES}),
)
sizes = st.sampled_from(({"cpu": 1}, {"cpu": 2}, {"cpu": 1, GPU: 1}, {GPU: 1}))
labels = st.sampled_from((KEPT, KEPT, LENT, {}))
places = st.sampled_from(("x", "x", "y", "z", "root"))
jobs = st.tuples(places, sizes, labels, st.integers(0, 2), st.integers(1, 4))
Listed = Sequence[tuple[str, dict[str, int], Mapping[str, str], int, int]]
loads = st.lists(st.lists(jobs, min_size=1, max_size=4), min_size=3, max_size=7)


class History:
    """A book of a tree, and what should be in use of every node by the words of the rule."""

    def __init__(self, tree: Drawn, *, default: bool, preempts: bool = False) -> None:
        self.options = QuotaOptions(firm_within_min=True, preemptible=default)
        self.tree = tree
        book = Book(
            policies=POLICIES,
            default_policy="Priority",
            quotas=tree.picture(self.options),
            kinds=("Job",),
            taking=TakingOptions(preemptible=default),
        )
        marks = PREEMPTS if preempts else {}
        queues = (queue(queue_name(each), annotations=marks) for each in PATHS.values())
        for view in (namespace("team-a"), *queues):
            book.saw(view)
        self.play = Play(book=book)
        self.asked: dict[str, tuple[str, Counter[str]]] = {}
        self.labels: dict[str, Mapping[str, str]] = {}

    def edit(self, tree: Drawn) -> None:
        self.tree = tree
        self.play.book.set_quotas(tree.picture(self.options), structure_changed=True)

    def submit(self, listed: Listed) -> None:
        for at, size, marks, priority, lasts in listed:
            name = f"u{len(self.asked)}"
            self.asked[name] = (PATHS[at], Counter(size) + Counter({JOBS: 1, "pods": 1}))
            self.labels[name] = marks
            self.play.lasts = {**self.play.lasts, name: lasts}
            made = unit(
                name,
                quota=at,
                pod_sets=(pod_set("main", 1, **size),),
                priority=priority,
                minute=len(self.asked),
            )
            self.play.submit(changed(made, labels={keys.QUOTA_LABEL: at, **marks}))

    def relabel(self, number: int, marks: Mapping[str, str]) -> None:
        """Of a job that is there, be it running or not."""
        name = f"u{number}"
        if name in self.asked:
            self.labels[name] = marks
            known = self.play.book.units[f"team-a/{name}"]
            own = {keys.QUOTA_LABEL: known.labels[keys.QUOTA_LABEL], **marks}
            self.play.book.saw(changed(known, labels=own))

    def is_kept(self, name: str) -> bool:
        said = self.labels[name].get(keys.PREEMPTIBLE_LABELS[0])
        return not self.options.preemptible if said is None else said == "false"

    def used(self, *, is_firm: bool) -> dict[str, Counter[str]]:
        """From scratch, by node: what those that run ask, or those of them that are kept."""
        total = {path: Counter[str]() for path in NODES}
        for name in self.play.started:
            at, asked = self.asked[name]
            for path in NODES if self.is_kept(name) or not is_firm else ():
                if f"{at}/".startswith(f"{path}/"):
                    total[path].update(asked)
        return total

    def check(self, before: Mapping[str, Counter[str]], started: Sequence[str]) -> None:
        """Nothing was granted above min, and nobody is left who fits."""
        for path, amounts in self.used(is_firm=True).items():
            known = self.play.used(path)
            shown = {name: milli(name, amount) for name, amount in amounts.items()}
            assert {name: known.get(firm(name), 0) for name in amounts} == shown
            for name, amount in amounts.items() if path != "root" else ():
                most = self.tree.room(path, name, is_firm=True)
                assert amount <= max(most, before[path][name])
        left = self.asked.keys() - self.play.started.keys() - self.over
        assert not [name for name in left if self.fits(name)]

    def fits(self, name: str) -> bool:
        at, asked = self.asked[name]
        sorts = (False, True) if self.is_kept(name) else (False,)
        above = [path for path in NODES if f"{at}/".startswith(f"{path}/")]
        return all(
            self.used(is_firm=sort)[path][key] + amount <= self.tree.room(path, key, is_firm=sort)
            for sort in sorts
            for path in above
            if not (sort and path == "root" and at != "root")
            for key, amount in asked.items()
        )

    @property
    def over(self) -> set[str]:
        """Jobs that have ended."""
        return {each.name for each in self.play.book.units.values() if each.raw_phase == "Succeed"}


def milli(name: str, amount: int) -> int:
    return amount * 1000 if name == "cpu" else amount


@settings(max_examples=60)
@given(trees, loads, st.booleans(), st.booleans())
def test_from_nothing_on_what_nobody_may_preempt_stays_within_min(tree, drawn, default, preempts):
    history = History(tree, default=default, preempts=preempts)
    play = history.play
    for number, listed in enumerate(drawn):
        play.step = number
        play.end_those_that_are_done()
        history.submit(listed)
        started = play.pass_over(play.book.take_woken())
        for path, amounts in history.used(is_firm=True).items():
            for name, amount in amounts.items() if path != "root" else ():
                assert amount <= tree.room(path, name, is_firm=True)
        kept = [name for name in started if history.is_kept(name)]
        event(f"{min(len(kept), 2)} kept ones started or more")
        marked = play.mark()
        assert not [name for name in marked if history.is_kept(name)]
        play.leave(play.leaving())
        event(f"somebody gave way: {bool(marked)}")


edits = st.none() | trees
flips = st.none() | st.tuples(st.integers(0, 9), labels)


@settings(max_examples=60)
@given(trees, st.lists(st.tuples(edits, flips), min_size=4, max_size=4), loads, st.booleans())
def test_whatever_is_edited_and_relabelled_nothing_starts_above_min(tree, changes, drawn, default):
    history = History(tree, default=default)
    play = history.play
    for number, (listed, (edited, flip)) in enumerate(zip(drawn, changes, strict=False)):
        play.step = number
        play.end_those_that_are_done()
        history.submit(listed)
        if edited is not None:
            history.edit(edited)
        if flip is not None:
            history.relabel(*flip)
        before = history.used(is_firm=True)
        started = play.pass_over(play.book.take_woken())
        event(f"{min(len(started), 2)} started or more")
        history.check(before, started)


@settings(max_examples=30)
@given(trees, loads)
def test_where_all_may_be_preempted_min_makes_no_difference(tree, drawn):
    histories = [History(tree, default=True) for _ in range(2)]
    histories[1].options = replace(histories[0].options, firm_within_min=False)
    histories[1].edit(tree)
    for number, listed in enumerate(drawn):
        lent = [(at, size, LENT, *rest) for at, size, _, *rest in listed]
        started = []
        for history in histories:
            history.play.step = number
            history.play.end_those_that_are_done()
            history.submit(lent)
            started.append(history.play.pass_over(history.play.book.take_woken()))
            for path in NODES:
                assert not [name for name in history.play.used(path) if is_firm(name)]
        assert started[0] == started[1]
