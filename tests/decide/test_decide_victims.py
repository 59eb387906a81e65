"""Victims: chosen minimal, never for nothing, never an equal, never below a min (spec 13)."""

from datetime import timedelta
from itertools import combinations

import pytest
from builders import NOW, amounts, at, unit
from hypothesis import given
from hypothesis import strategies as st

from kq.core.keys import PREEMPTIBLE_LABELS, is_preemptible
from kq.core.plugins import Level
from kq.core.resources import ZERO
from kq.decide.reclaim import Reclaim, reclaimed
from kq.decide.victims import (
    Claimant,
    Holder,
    lacking,
    preempted,
    protected_until,
    rank,
)


def level(name, cpu=None, minimum=ZERO, **limits):
    return Level(name, amounts(cpu=cpu, **limits), minimum)


def holder(key, cpu=1, *, priority=0, quota="a", queue="q", minute=0, **more):
    return Holder(
        key=key,
        queue=queue,
        quota=quota,
        priority=priority,
        allocated=at(minute).timestamp(),
        charge=amounts(cpu=cpu, **more),
    )


class Tree:
    """Quotas with their chains, and units that use them."""

    def __init__(self, chains, *holders):
        self.chains = chains
        self.holders = holders
        self.ranked = sorted(holders, key=rank)

    def chain_of(self, quota):
        return self.chains[quota]

    def used(self, name, resource):
        return sum(
            each.charge.get(resource)
            for each in self.holders
            if name in {one.name for one in self.chains[each.quota]}
        )

    def claimant(self, quota="a", *, priority=9, queue="q", takes_none=False, **request):
        return Claimant(
            queue=queue,
            chain=self.chains[quota],
            priority=priority,
            request=amounts(**request),
            takes_none=takes_none,
        )

    def preempt(self, **claim):
        found = preempted(self.claimant(**claim), self.ranked, self.used, self.chain_of)
        return [each.key for each in found]

    def reclaim(self, mode=Reclaim.LOWER, **claim):
        found = reclaimed(self.claimant(**claim), self.ranked, self.used, self.chain_of, mode)
        return [each.key for each in found]


def one_quota(*holders, cpu=3, **limits):
    return Tree({"a": (level("a", cpu, **limits),)}, *holders)


@pytest.mark.parametrize(
    ("tree", "claim", "expected"),
    [
        pytest.param(one_quota(holder("v", 3)), {"cpu": 3}, ["v"], id="13.2: the lower one"),
        pytest.param(
            one_quota(holder("v", 3, priority=9)), {"cpu": 3}, [], id="13.2: not an equal one"
        ),
        pytest.param(
            one_quota(holder("v", 3, priority=10)), {"cpu": 3}, [], id="13.2: not a higher one"
        ),
        pytest.param(
            one_quota(holder("v", 3, priority=-7)),
            {"cpu": 3, "priority": -1},
            ["v"],
            id="F2: below zero is below as well",
        ),
        pytest.param(
            one_quota(holder("v", 3)),
            {"cpu": 3, "takes_none": True},
            [],
            id="13.2: preemptionPolicy Never",
        ),
        pytest.param(
            one_quota(holder("v", 3, queue="other")), {"cpu": 3}, [], id="13.1: of its own Queue"
        ),
        pytest.param(one_quota(holder("v", 1)), {"cpu": 2}, [], id="it fits already"),
        pytest.param(
            one_quota(holder("v", 1)), {"cpu": 4}, [], id="F1: what can never fit takes nobody"
        ),
        pytest.param(
            one_quota(holder("low", 1), holder("same", 2, priority=9)),
            {"cpu": 3},
            [],
            id="13.4: all of them would not do",
        ),
        pytest.param(
            one_quota(holder("x", 1, priority=2), holder("y", 1, priority=1), holder("z", 1)),
            {"cpu": 2},
            ["z", "y"],
            id="13.3: the lowest first",
        ),
        pytest.param(
            one_quota(holder("old", 1), holder("new", 1, minute=5), holder("mid", 1, minute=2)),
            {"cpu": 1},
            ["new"],
            id="13.3: the youngest grant first",
        ),
        pytest.param(
            one_quota(holder("b", 1), holder("a", 1), holder("c", 1)),
            {"cpu": 1},
            ["a"],
            id="13.3: then by name",
        ),
        pytest.param(
            one_quota(holder("small", 1), holder("large", 2, priority=1)),
            {"cpu": 2},
            ["large"],
            id="13.3: one that proves needless is given back",
        ),
        pytest.param(
            one_quota(holder("cpu", 3), holder("memory", 0, memory="4Gi"), memory="4Gi"),
            {"memory": "1Gi"},
            ["memory"],
            id="13.2: only who has what is short",
        ),
        pytest.param(
            one_quota(holder("v", 2), holder("w", 4, priority=9)),
            {"cpu": 2},
            [],
            id="11.10: a lowered limit must be made good as well",
        ),
    ],
)
def test_victims_within_a_queue(tree, claim, expected):
    """Spec 13.1, spec 13.2, spec 13.3, spec 13.4, cases F1 and F2."""
    assert tree.preempt(**claim) == expected


SHARED = {
    "a": (level("a", 10), level("top", 4)),
    "b": (level("b", 10), level("top", 4)),
    "apart": (level("apart", 10),),
}


def test_a_unit_of_another_quota_helps_only_at_a_level_that_both_share():
    tree = Tree(SHARED, holder("b", 4, quota="b"), holder("apart", 4, quota="apart"))
    assert tree.preempt(cpu=4) == ["b"]


def test_every_level_has_to_fit():
    """What is freed above does not help where the own quota is short."""
    chains = {"a": (level("a", 2), level("top", 4)), "b": (level("b", 4), level("top", 4))}
    full = Tree(chains, holder("own", 2, priority=9), holder("b", 2, quota="b"))
    assert full.preempt(cpu=2) == []
    both = Tree(chains, holder("own", 2), holder("b", 2, quota="b"))
    assert both.preempt(cpu=2) == ["own"]


def guaranteed(*holders, limit=10):
    """Case F3: `a` and `c` have a min of 4, `b` has none."""
    top = level("top", limit)
    chains = {
        "a": (level("a", 10, amounts(cpu=4)), top),
        "b": (level("b", 10, amounts(cpu=0)), top),
        "c": (level("c", 10, amounts(cpu=4)), top),
    }
    return Tree(chains, *holders)


A = holder("a", 4, priority=1, quota="a")
SIX = tuple(holder(f"b{n}", 1, priority=1, quota="b", minute=n) for n in range(6))


def test_a_min_is_made_good_by_those_above_theirs():
    tree = guaranteed(A, *SIX)
    assert tree.reclaim(quota="c", cpu=4, mode=Reclaim.ANY, priority=1) == ["b5", "b4", "b3", "b2"]


@pytest.mark.parametrize(
    ("tree", "claim", "expected"),
    [
        pytest.param(
            guaranteed(A, *SIX), {"cpu": 4, "mode": Reclaim.NEVER}, [], id="13.9: not asked for"
        ),
        pytest.param(
            guaranteed(A, *SIX), {"cpu": 4, "priority": 1}, [], id="13.10: LowerPriority spares 1"
        ),
        pytest.param(guaranteed(A, *SIX), {"cpu": 8}, [], id="F3: above its own min"),
        pytest.param(
            guaranteed(A, *SIX, holder("c", 1, quota="c", priority=9), limit=11),
            {"cpu": 4},
            [],
            id="13.10: with what its quota uses above its min",
        ),
        pytest.param(
            guaranteed(A, *SIX),
            {"cpu": 4, "memory": "1Gi"},
            [],
            id="13.10: what its min does not name is 0",
        ),
        pytest.param(
            guaranteed(A, *SIX), {"cpu": 4, "takes_none": True}, [], id="13.2: Never, here too"
        ),
        pytest.param(
            guaranteed(A, holder("large", 6, quota="b")), {"cpu": 4}, ["large"], id="one large one"
        ),
        pytest.param(
            guaranteed(A, holder("own", 2, quota="c"), limit=6),
            {"cpu": 2},
            [],
            id="13.10: not of its own quota",
        ),
        pytest.param(
            guaranteed(holder("a", 10, quota="a")),
            {"cpu": 4},
            [],
            id="13.10: it would bring them below their min",
        ),
        pytest.param(
            guaranteed(*(holder(f"a{n}", 5, quota="a") for n in range(2))),
            {"cpu": 4},
            ["a0"],
            id="13.10: as far as their min",
        ),
        pytest.param(
            guaranteed(
                holder("big", 4, quota="a"), *(holder(f"a{n}", 2, quota="a") for n in "123")
            ),
            {"cpu": 4},
            ["a1", "a2"],
            id="13.3: as in a Queue",
        ),
        pytest.param(
            guaranteed(holder("a", 4, quota="a"), holder("a1", 2, quota="a", minute=3), *SIX[:4]),
            {"cpu": 2},
            ["b3", "b2"],
            id="13.10: first the one with the largest usage/min",
        ),
    ],
)
def test_victims_across_quotas(tree, claim, expected):
    """Spec 13.9, spec 13.10, case F3."""
    assert tree.reclaim(**{"quota": "c"} | claim) == expected


def test_of_several_short_resources_the_largest_share_of_a_min_decides_who_gives_first():
    """Spec 13.10: `a` uses 2 times its min of cpu, 1.5 times that of memory, `b` 1.75 of both."""
    top, floor = level("top", 15, memory="14Gi"), amounts(cpu=4, memory="4Gi")
    chains = {name: (level(name, 15, floor), top) for name in "abc"}
    rest = [holder("a1", 7, memory="5Gi"), holder("b1", 6, quota="b", memory="6Gi")]
    a2, b2 = holder("a2", 1, memory="1Gi"), holder("b2", 1, quota="b", memory="1Gi")
    tree = Tree(chains, *rest, a2, b2)
    assert tree.reclaim(quota="c", cpu=1, memory="2Gi") == ["a2"]


def test_a_quota_whose_min_names_not_all_that_is_short_gives_before_one_whose_does():
    """Spec 13.10: what a min does not name of that is used without any."""
    top = level("top", 13, memory="13Gi")
    both = amounts(cpu=4, memory="4Gi")
    floors = {"a": amounts(cpu=4), "b": both, "c": both}
    chains = {name: (level(name, 13, floor), top) for name, floor in floors.items()}
    rest = [holder("a1", 4, memory="5Gi"), holder("b1", 7, quota="b", memory="6Gi")]
    a2, b2 = holder("a2", 1, memory="1Gi"), holder("b2", 1, quota="b", memory="1Gi")
    assert Tree(chains, *rest, a2, b2).reclaim(quota="c", cpu=1, memory="1Gi") == ["a2"]


def test_what_is_short_in_the_own_quota_is_not_taken_elsewhere():
    """F3: its own max is not enlarged by evicting elsewhere."""
    chains = {
        "c": (level("c", 4, amounts(cpu=4)), level("top", 10)),
        "b": (level("b", 10), level("top", 10)),
    }
    tree = Tree(chains, *SIX[:5], holder("c", 3, quota="c"))
    assert tree.reclaim(quota="c", cpu=2) == []


def test_a_small_one_does_not_hide_a_large_one_that_alone_helps():
    chains = {
        "c": (level("c", 9, amounts(cpu=4)), level("top", 6)),
        "b": (level("b", 9, amounts(cpu=2)), level("top", 6)),
    }
    small = (holder("b1", 1, quota="b", minute=9), holder("b2", 1, quota="b"))
    tree = Tree(chains, holder("large", 4, quota="b"), *small)
    assert tree.reclaim(quota="c", cpu=4) == ["large"]


@pytest.mark.parametrize(
    ("org", "top", "expected"),
    [
        pytest.param(6, 12, ["near"], id="short below the root: of the same branch"),
        pytest.param(9, 9, ["far"], id="short at the root: of the largest usage/min"),
        pytest.param(6, 9, ["near"], id="short at both: of those who share both"),
        pytest.param(5, 9, [], id="one level would stay short"),
    ],
)
def test_a_min_is_made_good_at_every_level_that_is_short(org, top, expected):
    """Spec 13.10: `c` and `near` are below one quota of their own, `far` is not."""
    root, branch = level("top", top), level("org", org)
    chains = {
        "c": (level("c", 9, amounts(cpu=4)), branch, root),
        "near": (level("near", 9, amounts(cpu=2)), branch, root),
        "far": (level("far", 9, amounts(cpu=1)), root),
    }
    old = [holder("old", 2, quota="near"), holder("older", 1, quota="far")]
    new = [holder(name, 2, quota=name, minute=1) for name in ("near", "far", "c")]
    assert Tree(chains, *old, *new).reclaim(quota="c", cpu=2) == expected


@pytest.mark.parametrize(
    ("floor", "expected"),
    [
        pytest.param(6, ["a0", "a1", "a2"], id="as far as its min"),
        pytest.param(7, [], id="not below it"),
    ],
)
def test_a_quota_above_is_not_brought_below_its_min_either(floor, expected):
    top = level("top", 10)
    chains = {
        "a": (level("a", 10), level("org", 10, amounts(cpu=floor)), top),
        "c": (level("c", 10, amounts(cpu=4)), top),
    }
    tree = Tree(chains, *(holder(f"a{n}", 1, quota="a") for n in range(9)))
    assert tree.reclaim(quota="c", cpu=4) == expected


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        pytest.param("1Gi", ["v"], id="below its min already: nobody's to defend"),
        pytest.param("3Gi", [], id="it would go below its min"),
        pytest.param("4Gi", ["v"], id="it stays at its min"),
    ],
)
def test_what_is_not_short_stays_at_its_min_too(memory, expected):
    chains = {
        "c": (level("c", 9, amounts(cpu=4)), level("top", 4)),
        "b": (level("b", 9, amounts(cpu=0, memory="2Gi")), level("top", 4)),
    }
    rest = {"1Gi": "0", "3Gi": "1Gi", "4Gi": "2Gi"}[memory]
    tree = Tree(
        chains,
        holder("v", 4, quota="b", memory="2Gi" if memory != "1Gi" else "1Gi"),
        holder("w", 0, quota="b", memory=rest),
    )
    assert tree.reclaim(quota="c", cpu=4) == expected


@pytest.mark.parametrize(
    ("labels", "default", "expected"),
    [
        pytest.param({}, True, True, id="absent"),
        pytest.param({}, False, False, id="absent, by default not"),
        pytest.param({PREEMPTIBLE_LABELS[0]: "false"}, True, False, id="protected"),
        pytest.param({PREEMPTIBLE_LABELS[1]: "False"}, True, False, id="in the older spelling"),
        pytest.param(
            dict(zip(PREEMPTIBLE_LABELS, ("true", "false"), strict=True)), True, True, id="first"
        ),
        pytest.param({PREEMPTIBLE_LABELS[0]: "true"}, False, True, id="allowed"),
        pytest.param({PREEMPTIBLE_LABELS[0]: "maybe"}, False, False, id="neither: the default"),
    ],
)
def test_a_label_protects_from_preemption(labels, default, expected):
    """Spec 11.13."""
    assert is_preemptible(labels, default) is expected


def test_a_grant_is_safe_for_a_time():
    """Spec 13.8."""
    granted = unit(allocated=NOW)
    assert protected_until(granted, timedelta(minutes=2)) == at(2)
    assert protected_until(granted, timedelta(0)) is None
    assert protected_until(unit(), timedelta(minutes=2)) is None


TOP = 8
sizes = st.integers(0, 4)
quota_names = st.sampled_from("abc")
holders = st.lists(
    st.builds(
        lambda key, cpu, memory, priority, quota, queue, minute: holder(
            key,
            cpu,
            priority=priority,
            quota=quota,
            queue=queue,
            minute=minute,
            memory=memory,
        ),
        st.uuids().map(str),
        sizes,
        sizes,
        st.integers(0, 3),
        quota_names,
        st.sampled_from("qr"),
        st.integers(0, 2),
    ),
    max_size=7,
)
minima = st.builds(amounts, cpu=st.sampled_from((None, 0, 2, 4)), memory=st.sampled_from((None, 3)))
trees = st.builds(
    lambda mins, limits, given: Tree(
        {
            name: (
                level(name, limit, minimum, memory=6),
                *((level("org", 6, amounts(cpu=3)),) if name == "c" else ()),
                level("top", TOP, memory=8),
            )
            for name, limit, minimum in zip("abc", limits, mins, strict=True)
        },
        *given,
    ),
    st.tuples(minima, minima, minima),
    st.tuples(*(st.sampled_from((None, 4, 8)),) * 3),
    holders,
)
claims = st.fixed_dictionaries(
    {
        "quota": quota_names,
        "priority": st.integers(0, 3),
        "cpu": st.integers(1, 5),
        "memory": st.sampled_from((0, 1, 4)),
    }
)


def fits_without(tree, claim, gone):
    rest = Tree(tree.chains, *(each for each in tree.holders if each.key not in gone))
    return not lacking(tree.claimant(**claim), rest.used)


def proper_subsets(keys):
    return (set(each) for size in range(len(keys)) for each in combinations(keys, size))


def can_ever_fit(tree, claim):
    return all(
        amount <= one.limit.get(name)
        for one in tree.chains[claim["quota"]]
        for name, amount in tree.claimant(**claim).request.items()
        if name in one.limit
    )


@given(trees, claims)
def test_preemption_takes_no_more_and_no_less_than_it_needs(tree, claim):
    """Against brute force: all subsets of those that may be taken."""
    found = tree.preempt(**claim)
    may = [e.key for e in tree.holders if e.priority < claim["priority"] and e.queue == "q"]
    helped = can_ever_fit(tree, claim) and not fits_without(tree, claim, ())
    assert bool(found) == (helped and fits_without(tree, claim, may))
    assert set(found) <= set(may)
    if found:
        assert fits_without(tree, claim, found)
        assert not any(fits_without(tree, claim, few) for few in proper_subsets(found))


def taken_below_min(tree, claim, found):
    """Levels that the victims' quotas had at or above their min, and then no more."""
    common = {one.name for one in tree.chains[claim["quota"]]}
    rest = Tree(tree.chains, *(each for each in tree.holders if each.key not in found))
    return [
        (one.name, name)
        for chain in tree.chains.values()
        for one in chain
        for name, floor in one.minimum.items()
        if one.name not in common and rest.used(one.name, name) < floor <= tree.used(one.name, name)
    ]


@given(trees, claims, st.sampled_from((Reclaim.LOWER, Reclaim.ANY)))
def test_reclaim_takes_no_more_than_it_needs_and_no_quota_below_its_min(tree, claim, mode):
    found = tree.reclaim(mode=mode, **claim)
    assert taken_below_min(tree, claim, found) == []
    own = tree.chains[claim["quota"]][0]
    if found:
        assert fits_without(tree, claim, found)
        assert not any(fits_without(tree, claim, few) for few in proper_subsets(found))
        for name, amount in tree.claimant(**claim).request.items():
            assert not amount or tree.used(own.name, name) + amount <= own.minimum.get(name)
    for each in tree.holders:
        if each.key in found:
            assert each.quota != claim["quota"]
            assert mode is Reclaim.ANY or each.priority < claim["priority"]


@given(trees, claims)
def test_two_units_never_preempt_one_another_in_turn(tree, claim):
    """Spec 13.7: who was preempted finds nobody to take from among those that replaced it."""
    found = tree.preempt(**claim)
    left = [each for each in tree.holders if each.key not in found]
    winner = holder(
        "winner",
        claim["cpu"],
        priority=claim["priority"],
        quota=claim["quota"],
        memory=claim["memory"],
    )
    after = Tree(tree.chains, *left, winner)
    for lost in (each for each in tree.holders if each.key in found):
        again = after.preempt(
            quota=lost.quota, priority=lost.priority, **dict(lost.charge.to_wire())
        )
        assert "winner" not in again


@given(st.lists(st.tuples(quota_names, st.integers(0, 3)), max_size=8), claims)
def test_with_equal_sizes_reclaim_finds_victims_whenever_there_are_any(units, claim):
    """Against brute force; of unequal sizes the choice of the specification may miss some."""
    top = level("top", 6)
    chains = {
        name: (level(name, None, amounts(cpu=floor)), top)
        for name, floor in zip("abc", (0, 2, 4), strict=True)
    }
    held = [holder(f"u{n}", 1, quota=q, priority=p) for n, (q, p) in enumerate(units)]
    tree = Tree(chains, *held)
    claim = claim | {"memory": 0}
    found = tree.reclaim(**claim)
    own = chains[claim["quota"]][0]
    within = tree.used(own.name, "cpu") + claim["cpu"] * 1000 <= own.minimum.get("cpu")
    helped = within and can_ever_fit(tree, claim) and not fits_without(tree, claim, ())
    may = [e.key for e in held if e.quota != claim["quota"] and e.priority < claim["priority"]]
    sets = [*proper_subsets(may), set(may)]
    floors = {name: chains[name][0].minimum.get("cpu") for name in "abc"}

    def leaves_mins(few):
        rest = Tree(chains, *(each for each in held if each.key not in few))
        lost = {each.quota for each in held if each.key in few}
        return all(rest.used(name, "cpu") >= floors[name] for name in lost)

    some = any(fits_without(tree, claim, few) and leaves_mins(few) for few in sets)
    assert bool(found) == (helped and some)
