"""One pass over one Queue: who starts, and what the others are told (spec 10.7-10.10)."""

import pytest
from builders import amounts, pod_set, request_of, unit

from kq.core.messages import Reason
from kq.core.plugins import Level
from kq.core.resources import ZERO
from kq.decide.cycle import Line, run_cycle
from kq.decide.usage import UsageIndex
from kq.decide.waiting import WaitingList
from kq.policies import POLICIES

A = "A"
B = "B"


class Pass:
    """A Queue `main` with these units and limits, and what a cycle makes of it."""

    def __init__(self, policy, limits, *units, used=(), threshold=4, **settings):
        self.policy = POLICIES[policy](threshold)
        self.units = {self.policy.order_key(each): each for each in units}
        self.chains = {
            name: tuple(Level(of, amounts(cpu=cpu), ZERO) for of, cpu in levels)
            for name, levels in limits.items()
        }
        self.waiting = WaitingList()
        for place, each in self.units.items():
            shape = (each.queue, request_of(each.pod_sets), self.policy.rank(place))
            self.waiting.add(place, shape, None)
        self.usage = UsageIndex(lambda name: [level.name for level in self.chains[name]])
        for number, (name, cpu) in enumerate(used):
            self.usage.charge(f"holder{number}", name, amounts(cpu=cpu))
        line = Line(
            queue="main",
            waiting=self.waiting,
            policy=self.policy,
            chain_of=self.chains.__getitem__,
            **settings,
        )
        before = dict(self.usage.charges())
        self.outcome = run_cycle(line, self.usage)
        assert dict(self.usage.charges()) == before

    @property
    def started(self):
        return [self.units[place].name for place in self.outcome.granted]

    def told(self, name):
        place, found = next((at, each) for at, each in self.units.items() if each.name == name)
        assert found.name not in self.started
        return self.waiting.verdict(place)


def one(cpu):
    return {A: [(A, cpu)]}


def blocked(queue_, quota_):
    return (
        f"queue {queue_} starts units of quota {quota_} strictly in order, "
        "an earlier one does not fit"
    )


def test_block_holds_back_only_the_same_quota():
    """Case D1."""
    made = Pass(
        "Block",
        {A: [(A, 8)], B: [(B, 8)]},
        unit("u1", quota=A, cpu=4, priority=9),
        unit("u2", quota=A, cpu=1, priority=5),
        unit("u3", quota=B, cpu=1, priority=1),
        used=[(A, 6)],
    )
    assert made.started == ["u3"]
    assert made.told("u1").message == ("waiting for quota A: 4 cpu requested, not enough free of 8")
    assert made.told("u2").message == blocked("main", A)
    assert made.told("u2").reason == Reason.BLOCKED


def test_block_starts_in_order_once_there_is_room():
    """Case D1: when A frees what u1 needs, then u1 first, then u2."""
    units = [unit("u1", quota=A, cpu=4, priority=9), unit("u2", quota=A, cpu=1, priority=5)]
    assert Pass("Block", one(8), *units, used=[(A, 4)]).started == ["u1"]
    assert Pass("Block", one(8), *units).started == ["u1", "u2"]


def test_priority_passes_over_what_does_not_fit():
    """Case D2: 4 of 8 are free, so a low one may start; the high one comes first when all is."""
    low = [unit(f"lo{number}", quota=A, cpu=4, priority=1, minute=number) for number in range(1, 4)]
    high = unit("hi", quota=A, cpu=8, priority=10, minute=9)
    assert Pass("Priority", one(8), *low, high, used=[(A, 4)]).started == ["lo1"]
    assert Pass("Priority", one(8), *low, high).started == ["hi"]


def test_priority_tells_everyone_what_they_lack():
    made = Pass(
        "Priority",
        one(4),
        unit("u1", quota=A, cpu=5),
        unit("u2", quota=A, cpu=3, minute=1),
        unit("u3", quota=A, cpu=2, minute=2),
        unit("u4", quota=A, cpu=2, minute=3),
        used=[(A, 2)],
    )
    assert made.started == ["u3"]
    assert made.told("u1").message == "cannot start: 5 cpu requested, but max of quota A is 4"
    assert made.told("u1").reason == Reason.EXCEEDS
    for name in ("u2", "u4"):
        cpu = {"u2": 3, "u4": 2}[name]
        text = f"waiting for quota A: {cpu} cpu requested, not enough free of 4"
        assert made.told(name).message == text
        assert made.told(name).reason == Reason.WAITING
    assert made.outcome.failed == 3


@pytest.mark.parametrize("policy", ["Priority", "Round"])
def test_round_is_another_name_for_priority(policy):
    """Case B5: a third job of 1 cpu may start beside the first, under Priority."""
    units = [unit("job2", quota=A, cpu=3), unit("job3", quota=A, cpu=1, minute=1)]
    assert Pass(policy, one(4), *units, used=[(A, 3)]).started == ["job3"]


def test_block_lets_the_third_job_wait_behind_the_second():
    """Case B5."""
    units = [unit("job2", quota=A, cpu=3), unit("job3", quota=A, cpu=1, minute=1)]
    assert Pass("Block", one(4), *units, used=[(A, 3)]).started == []


def test_a_head_that_can_never_fit_blocks_its_quota():
    """Spec 10.10."""
    units = [unit("big", quota=A, cpu=9), unit("small", quota=A, cpu=1, minute=1)]
    made = Pass("Block", one(4), *units)
    assert made.started == []
    assert made.told("big").message == "cannot start: 9 cpu requested, but max of quota A is 4"
    assert made.told("small").message == blocked("main", A)
    assert made.outcome.blocking[A][1].impossible


def test_skip_impossible_passes_over_what_can_never_fit():
    units = [
        unit("big", quota=A, cpu=9),
        unit("small", quota=A, cpu=1, minute=1),
        unit("waits", quota=A, cpu=4, minute=2),
        unit("behind", quota=A, cpu=1, minute=3),
    ]
    made = Pass("Block", one(4), *units, skip_impossible=True)
    assert made.started == ["small"]
    assert made.told("big").reason == Reason.EXCEEDS
    assert made.told("waits").reason == Reason.WAITING
    assert made.told("behind").reason == Reason.BLOCKED


def test_skip_impossible_passes_over_all_of_that_shape():
    units = [unit(f"big{number}", quota=A, cpu=9, minute=number) for number in range(3)]
    made = Pass("Block", one(4), *units, skip_impossible=True)
    assert {made.told(each.name).reason for each in units} == {Reason.EXCEEDS}


def test_those_behind_the_head_in_its_own_shape_are_told_that_it_goes_first():
    units = [unit(f"u{number}", quota=A, cpu=3, minute=number) for number in range(3)]
    made = Pass("Block", one(4), *units)
    assert made.started == ["u0"]
    assert made.told("u1").reason == Reason.WAITING
    assert made.told("u2").reason == Reason.BLOCKED


def test_a_grant_of_this_cycle_counts_for_the_next_unit():
    units = [unit(f"u{number}", quota=A, cpu=2, minute=number) for number in range(5)]
    assert Pass("Priority", one(5), *units).started == ["u0", "u1"]


def test_quotas_that_share_a_parent_share_its_limit():
    """Case E1."""
    tree = {"c1": [("c1", 4), ("root-a", 4)], "c2": [("c2", 4), ("root-a", 4)]}
    made = Pass("Priority", tree, unit("u", quota="c2", cpu=2), used=[("c1", 3)])
    assert made.told("u").message == (
        "waiting for quota root-a, ancestor of c2: 2 cpu requested, not enough free of 4"
    )


def test_a_parent_that_fills_during_the_cycle_binds_the_other_child():
    tree = {"c1": [("c1", 4), ("p", 5)], "c2": [("c2", 4), ("p", 5)]}
    units = [unit("one", quota="c1", cpu=3), unit("two", quota="c2", cpu=3, minute=1)]
    assert Pass("Priority", tree, *units).started == ["one"]


def test_block_in_one_child_leaves_the_other_child_free():
    tree = {"c1": [("c1", 2), ("p", 5)], "c2": [("c2", 4), ("p", 5)]}
    units = [unit("one", quota="c1", cpu=3, priority=9), unit("two", quota="c2", cpu=3)]
    assert Pass("Block", tree, *units).started == ["two"]


def test_equal_ones_start_by_age_of_the_job_then_by_name():
    units = [
        unit("b", quota=A, minute=1),
        unit("a", quota=A, minute=1),
        unit("old", quota=A, minute=-9),
        unit("first", quota=A, priority=1, minute=5),
        unit("last", quota=A, priority=-1, minute=-99),
    ]
    assert Pass("Priority", one(9), *units).started == ["first", "old", "a", "b", "last"]


def test_a_unit_that_asks_for_nothing_starts():
    empty = unit("empty", quota=A, pod_sets=(pod_set(count=0, cpu=4),))
    none = unit("none", quota=A, pod_sets=())
    assert Pass("Block", one(0), empty, none, used=[(A, 3)]).started == ["empty", "none"]


def test_an_empty_queue_has_nothing_to_decide():
    made = Pass("Block", one(1))
    assert (made.outcome.granted, made.outcome.blocking, made.outcome.failed) == ([], {}, 0)
