"""Usage: kept by deltas, always equal to the sum."""

from collections import Counter

from builders import amounts
from hypothesis import given
from hypothesis import strategies as st

from kq.core.resources import ZERO
from kq.decide.usage import Trial, UsageIndex

QUOTAS = ("a", "b", "c", "d")
names = st.sampled_from(QUOTAS)
resources = st.builds(
    amounts, cpu=st.sampled_from((None, 0, 1, 3)), memory=st.sampled_from((None, "1Gi"))
)
trees = st.fixed_dictionaries({name: st.sampled_from(("", *QUOTAS)) for name in QUOTAS})
steps = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), st.sampled_from("xyz"), names, resources),
        st.tuples(st.just("drop"), st.sampled_from("xyz")),
        st.tuples(st.just("tree"), trees),
    ),
    max_size=20,
)


def ancestry_of(tree):
    """The way up, ending where it closes."""

    def ancestry(name):
        path = []
        while name and name not in path:
            path.append(name)
            name = tree.get(name, "")
        return path

    return ancestry


FLAT = ancestry_of({})
CHAIN = ancestry_of({"a": "b", "b": "c"})


def summed(charges, ancestry):
    total = {name: Counter() for name in QUOTAS}
    for quota, amount in charges.values():
        for level in ancestry(quota):
            total[level].update(dict(amount.items()))
    return {name: dict(+amount) for name, amount in total.items()}


@given(trees, steps)
def test_deltas_equal_the_sum(tree, steps):
    """Case E2, with quotas that move (case E3)."""
    ancestry = ancestry_of(tree)
    usage, charges = UsageIndex(ancestry), {}
    for step in steps:
        match step:
            case ("charge", holder, quota, amount):
                usage.charge(holder, quota, amount)
                charges[holder] = (quota, amount)
            case ("drop", holder):
                usage.drop(holder)
                charges.pop(holder, None)
            case ("tree", tree):
                ancestry = ancestry_of(tree)
                usage.set_ancestry(ancestry)
        assert {name: dict(usage.of(name)) for name in QUOTAS} == summed(charges, ancestry)


def test_a_charge_counts_at_every_level():
    usage = UsageIndex(CHAIN)
    usage.charge("x", "a", amounts(cpu=3))
    assert [dict(usage.of(name)) for name in "abcd"] == [{"cpu": 3000}] * 3 + [{}]


def test_what_is_given_back_is_what_was_taken():
    """Case E2: the request changes between, given back twice, given back before taken."""
    usage = UsageIndex(CHAIN)
    assert usage.drop("x") is None
    usage.charge("x", "a", amounts(cpu=4))
    usage.charge("x", "a", amounts(cpu=2))
    assert dict(usage.of("c")) == {"cpu": 2000}
    assert usage.drop("x") == "a"
    assert usage.drop("x") is None
    assert dict(usage.of("c")) == {}


def test_who_got_something_back_is_told():
    usage = UsageIndex(FLAT)
    assert usage.charge("x", "a", amounts(cpu=2)) is None
    assert usage.charge("x", "a", amounts(cpu=2)) is None
    assert usage.charge("x", "a", amounts(cpu=3)) is None
    assert usage.charge("x", "a", amounts(cpu=1, memory="1Gi")) == "a"
    assert usage.charge("x", "b", amounts(cpu=9, memory="1Gi")) == "a"
    assert usage.charge("x", "b", ZERO) == "b"


def test_a_holder_is_charged_once():
    usage = UsageIndex(FLAT)
    usage.charge("x", "a", amounts(cpu=2))
    usage.charge("x", "b", amounts(cpu=2))
    assert dict(usage.charges()) == {"x": ("b", amounts(cpu=2))}
    assert usage.charge_of("x") == amounts(cpu=2)
    assert usage.charge_of("y") == ZERO


def test_a_trial_leaves_the_usage_as_it_is():
    usage = UsageIndex(CHAIN)
    usage.charge("x", "a", amounts(cpu=1))
    trial = Trial(usage)
    trial.grant(("a", "b"), amounts(cpu=2))
    trial.grant(("a",), amounts(cpu=1, memory=5))
    assert [trial.used(level, "cpu") for level in "abc"] == [4000, 3000, 1000]
    assert trial.used("a", "memory") == 5
    assert dict(usage.of("a")) == {"cpu": 1000}
