"""The policy Intelligent in a cycle (spec 10.11), and cycles cut short or one at a time."""

import pytest
from builders import pod_set, unit
from test_decide_cycle import A, B, Pass, blocked, one

from kq.core.messages import m9, m11
from kq.decide.cycle import UNTRIED

GO_FIRST = m11(A)


def high(name, cpu, minute=0, priority=9, quota=A):
    return unit(name, quota=quota, cpu=cpu, minute=minute, priority=priority)


def low(name, cpu, minute=0, quota=A):
    return unit(name, quota=quota, cpu=cpu, minute=minute, priority=1)


def test_the_high_list_is_tried_first_and_strictly_in_order():
    """Spec 10.11a: the small high unit behind does not pass the large one."""
    made = Pass("Intelligent", one(8), high("large", 6), high("small", 1, 1), used=[(A, 4)])
    assert made.started == []
    assert made.told("small").message == blocked("main", A)
    assert made.told("large").message.startswith("waiting for quota A: 6 cpu requested")


def test_a_low_unit_that_does_not_fit_gives_way_to_the_next():
    """Spec 10.11b."""
    made = Pass("Intelligent", one(4), low("large", 5), low("wide", 4, 1), low("small", 1, 2))
    assert made.started == ["wide"]


def test_a_low_unit_takes_nothing_of_what_a_high_one_waits_for():
    """Spec 10.11c: 2 are free, the high unit wants 6 of 8: every one of them counts."""
    made = Pass("Intelligent", one(8), high("waits", 6), low("fits", 2), used=[(A, 6)])
    assert made.started == []
    assert made.told("fits").message == GO_FIRST


def test_a_low_unit_starts_in_room_that_the_high_one_does_not_need():
    """Spec 10.11c: beside 4 in use and 5 asked for there is room for 1 of 10."""
    made = Pass("Intelligent", one(10), high("waits", 7), low("small", 1, 1), used=[(A, 4)])
    assert made.started == []
    made = Pass("Intelligent", one(10), high("waits", 7), low("small", 1, 1), used=[(A, 2)])
    assert made.started == ["waits", "small"]
    made = Pass("Intelligent", one(12), high("waits", 7), low("small", 1, 1), used=[(A, 6)])
    assert made.told("small").message == GO_FIRST


def test_low_units_of_another_quota_have_their_turns():
    made = Pass(
        "Intelligent",
        {A: [(A, 8)], B: [(B, 8)]},
        high("waits", 6),
        low("other", 2, quota=B),
        used=[(A, 6)],
    )
    assert made.started == ["other"]


def test_a_resource_that_the_high_unit_does_not_ask_for_is_free():
    """Spec 10.11c: in every resource that it asks for, and in no other."""
    gpu = unit("gpu", quota=A, pod_sets=(pod_set(cpu=None, gpu=1),), priority=1)
    made = Pass("Intelligent", one(8), high("waits", 6), gpu, used=[(A, 6)])
    assert made.started == ["gpu"]


def test_a_high_unit_that_can_never_fit_holds_low_ones_back_unless_it_is_skipped():
    """Spec 10.11d."""
    units = [high("never", 9), low("fits", 1)]
    made = Pass("Intelligent", one(8), *units)
    assert made.told("fits").message == GO_FIRST
    made = Pass("Intelligent", one(8), *units, skip_impossible=True)
    assert made.started == ["fits"]


def test_the_threshold_decides_who_is_high():
    """Spec 10.11: default 4; of the Queue."""
    units = [high("large", 6, priority=5), high("small", 1, priority=4)]
    assert Pass("Intelligent", one(8), *units, used=[(A, 4)]).started == []
    made = Pass("Intelligent", one(8), *units, used=[(A, 4)], threshold=6)
    assert made.started == ["small"]


# -- max-depth (spec 10.12)


def test_only_so_many_are_tried():
    units = [unit(f"u{number}", quota=A, cpu=9, minute=number) for number in range(2)]
    small = unit("small", quota=A, cpu=1, minute=5)
    assert Pass("Priority", one(8), *units, small).started == ["small"]
    assert Pass("Priority", one(8), *units, small, depth=2).started == []
    assert Pass("Priority", one(8), *units, small, depth=3).started == ["small"]


def test_those_behind_the_last_that_is_tried_are_told_that_they_are_in_line():
    """Spec 10.12, 20: S1, and what they lack once they are tried."""
    units = [unit(f"u{number}", quota=A, cpu=9, minute=number) for number in range(2)]
    small, wide = unit("small", quota=A, cpu=1, minute=5), unit("wide", quota=A, cpu=7, minute=6)
    cut = Pass("Priority", one(8), *units, small, wide, depth=2)
    assert [cut.told(each.name) for each in (small, wide)] == [UNTRIED, UNTRIED]
    assert (UNTRIED.message, UNTRIED.reason) == ("Enqueued", "Pending")
    assert cut.told("u1").reason == "ExceedsMax"
    tried = Pass("Priority", one(8), *units, small, wide, depth=4, used=[(A, 2)])
    assert tried.told("wide").reason == "WaitingForQuota"


def test_those_behind_the_last_in_a_shape_are_told_that_they_are_in_line_too():
    """Spec 10.12."""
    units = [unit(f"u{number}", quota=A, cpu=1, minute=number) for number in range(3)]
    made = Pass("Priority", one(8), *units, depth=2)
    assert (made.started, made.told("u2")) == (["u0", "u1"], UNTRIED)


def test_those_with_whom_the_next_pass_goes_on_are_told_nothing_yet():
    """Spec 10.12: it follows at once, and knows."""
    units = [high("high", 9), low("one", 9), low("two", 8, 1)]
    made = Pass("Intelligent", one(8), *units, depth=2, skip_impossible=True, used=[(A, 1)])
    assert made.outcome.goes_on_after is not None
    assert made.told("two") is None


def test_grants_count_as_tries():
    units = [unit(f"u{number}", quota=A, cpu=1, minute=number) for number in range(5)]
    made = Pass("Priority", one(8), *units, depth=2)
    assert made.started == ["u0", "u1"]
    assert made.outcome.goes_on_after is None


def test_a_low_list_that_was_cut_short_goes_on_behind_the_last_that_was_tried():
    lows = [low(f"low{number}", 9, number) for number in range(3)]
    units = [high("high", 9), *lows, low("fits", 1, 9)]
    first = Pass("Intelligent", one(8), *units, depth=2, skip_impossible=True)
    assert first.started == []
    assert first.outcome.goes_on_after[2].endswith("low0")
    after = first.outcome.goes_on_after
    second = Pass("Intelligent", one(8), *units, depth=3, skip_impossible=True, after=after)
    assert second.outcome.goes_on_after[2].endswith("low2")
    after = second.outcome.goes_on_after
    third = Pass("Intelligent", one(8), *units, depth=3, skip_impossible=True, after=after)
    assert third.started == ["fits"]
    assert third.outcome.goes_on_after is None


def test_as_many_high_ones_as_are_tried_keep_no_low_one_from_its_try():
    """Spec 10.12: the next pass goes on with low ones, of which it counts so many."""
    highs = [high(f"high{number}", 9 + number, number) for number in range(3)]
    lows = [low(f"low{number}", 9, number) for number in range(2)]
    units, options = [*highs, *lows, low("fits", 1, 9)], {"depth": 2, "skip_impossible": True}
    first = Pass("Intelligent", one(8), *units, **options)
    assert (first.started, first.told("high2"), first.told("fits")) == ([], UNTRIED, None)
    second = Pass("Intelligent", one(8), *units, **options, after=first.outcome.goes_on_after)
    assert (second.started, second.told("high2"), second.told("fits")) == ([], UNTRIED, None)
    third = Pass("Intelligent", one(8), *units, **options, after=second.outcome.goes_on_after)
    assert (third.started, third.told("high2")) == (["fits"], UNTRIED)
    assert third.outcome.goes_on_after is None


# -- one at a time (spec 10.13)


def test_one_at_a_time_starts_one_and_keeps_those_that_fit():
    units = [unit(f"u{number}", quota=A, cpu=3, minute=number) for number in range(2)]
    made = Pass("Priority", one(8), *units, one_at_a_time=True)
    assert made.started == ["u0"]
    assert made.told("u1").message == m9("main")
    assert made.told("u1").reason == "WaitingForPodsRunning"


def test_nobody_starts_beside_one_whose_pods_do_not_all_run():
    fits, large = unit("fits", quota=A, cpu=1), unit("large", quota=A, cpu=9, minute=1)
    made = Pass(
        "Priority", one(8), fits, large, one_at_a_time=True, unready=[(0, 0.0, "team-a/other")]
    )
    assert made.started == []
    assert made.told("fits").message == m9("main")
    assert made.told("large").message.startswith("cannot start")


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent", "Round"])
def test_one_at_a_time_is_for_all_policies(policy):
    units = [unit(f"u{number}", quota=A, cpu=1, minute=number) for number in range(3)]
    assert Pass(policy, one(8), *units, one_at_a_time=True).started == ["u0"]
