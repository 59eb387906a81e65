"""The order inside a Queue, and what the policies make of one that does not fit (spec 10.4)."""

from itertools import pairwise

import pytest
from builders import stamp, unit
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys
from kq.core.plugins import Blocking
from kq.policies import POLICIES
from kq.policies.order import by_priority_and_age


def ordered(*units):
    return [each.name for each in sorted(units, key=by_priority_and_age)]


def test_priority_then_age_then_name():
    assert ordered(
        unit("young", minute=5),
        unit("b", minute=1),
        unit("a", minute=1),
        unit("high", priority=7, minute=9),
        unit("low", priority=-1),
    ) == ["high", "a", "b", "young", "low"]


def test_no_priority_is_zero():
    assert ordered(unit("one", priority=0, minute=1), unit("none", minute=0)) == ["none", "one"]


def test_10_4_of_one_age_the_namespace_goes_before_the_name():
    """As text, with what parts them: `-` stands before `/`."""
    named = [("b", "a"), ("a", "z"), ("a-b", "m"), ("a", "b")]
    units = [unit(name, namespace=namespace, priority=2) for namespace, name in named]
    found = [each.key for each in sorted(units, key=by_priority_and_age)]
    assert found == ["a-b/m", "a/b", "a/z", "b/a"]


def test_the_age_is_that_of_the_job_and_not_of_its_unit():
    """Spec 2.9, 9.15: a unit made again is at its old place."""
    again = unit("again", annotations={keys.JOB_CREATION: stamp(-5)}, minute=9)
    assert ordered(unit("other", minute=0), again) == ["again", "other"]


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_a_unit_without_the_age_of_its_job_counts_its_own(text):
    """Made by hand, or the annotation is spoiled."""
    own = unit("own", annotations={keys.JOB_CREATION: text}, minute=5)
    assert ordered(own, unit("young", minute=6), unit("old", minute=4)) == ["old", "own", "young"]


def test_a_requeued_unit_keeps_its_place():
    """Case F5."""
    before = unit("v", minute=0)
    after = unit("v", minute=0, attempts=3, message="Enqueued after preempted")
    assert by_priority_and_age(before) == by_priority_and_age(after)


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**31), 2**31 - 1),
            st.integers(0, 3),
            st.sampled_from(("team-a", "team-b")),
        ),
        max_size=8,
    )
)
def test_the_order_is_total(drawn):
    units = [
        unit(f"u{number}", priority=priority, minute=minute, namespace=namespace)
        for number, (priority, minute, namespace) in enumerate(drawn)
    ]
    found = sorted(units, key=by_priority_and_age)
    assert found == sorted(reversed(units), key=by_priority_and_age)
    assert len({by_priority_and_age(each) for each in units}) == len(units)
    for first, second in pairwise(found):
        assert (first.priority or 0) >= (second.priority or 0)


@pytest.mark.parametrize(
    ("name", "blocking"),
    [("Priority", Blocking.FREE), ("Round", Blocking.FREE), ("Block", Blocking.BARRED)],
)
def test_what_one_that_does_not_fit_means_for_the_next(name, blocking):
    policy = POLICIES[name](4)
    place = policy.order_key(unit("a"))
    assert policy.blocks(policy.rank(place), policy.rank(place)) is blocking
    assert place == by_priority_and_age(unit("a"))


@pytest.mark.parametrize(
    ("waiting", "later", "blocking"),
    [
        (9, 4, Blocking.BARRED),
        (4, 3, Blocking.BESIDE),
        (4, None, Blocking.BESIDE),
        (3, 3, Blocking.FREE),
        (-1, -2, Blocking.FREE),
    ],
)
def test_intelligent_has_a_high_list_and_a_low_one(waiting, later, blocking):
    """Spec 10.11a-c, the threshold of 4."""
    policy = POLICIES["Intelligent"](4)
    ranks = [policy.rank(policy.order_key(unit("a", priority=each))) for each in (waiting, later)]
    assert policy.blocks(*ranks) is blocking


def test_another_threshold_is_another_policy():
    """Spec 10.11e."""
    make = POLICIES["Intelligent"]
    assert make(4) == make(4)
    assert make(4) != make(5)
    assert POLICIES["Block"](4) == POLICIES["Block"](5)
