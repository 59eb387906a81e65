"""Rules of policies and settings of Queues that meet: each as the specification says it (10)."""

import pytest
from books import message
from builders import (
    amounts,
    at,
    book,
    changed,
    grant,
    granted,
    job_view,
    pod,
    pod_set,
    queue,
    quota,
    quotas,
    running_job,
    unit,
    unit_by_hand,
)
from retry_scene import BACKOFF, STRICT, Scene

from kq.core import keys
from kq.core.messages import M29, m8, m9, m11
from kq.core.model import Consumer, Phase

T = "team-a"
SKIPS = {keys.SKIP_IMPOSSIBLE[0]: "true"}
ONE_AT_A_TIME = {keys.WAIT_FOR_PODS[0]: "true"}
OVER = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}


def names(each):
    return [one.name for one in each]


def asks(name, minute=0, priority=None, replicas=1, quota=T, **requests):
    """One that asks for other resources than cpu alone."""
    pods = (pod_set("main", replicas, **requests),)
    return unit(name, pod_sets=pods, minute=minute, priority=priority, quota=quota)


class Line:
    """A Queue with units of one quota or of several, and what passes over it make of them."""

    def __init__(self, *quotas_, policy="Priority", annotations=None, **more):
        self.queue = queue(policy=policy, annotations=annotations or {})
        self.book = book(*quotas_, views=[self.queue], **more)

    def add(self, *units):
        for each in units:
            self.book.saw(running_job(each.name) if each.holds_quota else job_view(each.name))
            self.book.saw(each)
        return self

    def set(self, **annotations):
        """The Queue is edited."""
        marks = {f"koord-queue/{key.replace('_', '-')}": text for key, text in annotations.items()}
        self.queue = changed(self.queue, annotations=marks)
        self.book.saw(self.queue)

    def cycle(self, minute=1):
        self.book.take_woken()
        return names(self.book.cycle(T, at(minute)))

    def told(self, name):
        return message(self.book, f"{T}/{name}")


# -- 10.10: a head that can never fit for one thing only


def two_limits(policy, **annotations):
    """A pod of 8Gi where 4Gi are the most, and one that fits behind it."""
    line = Line(quota(limit=amounts(cpu=4, memory="4Gi")), policy=policy, annotations=annotations)
    return line.add(asks("never", cpu=1, memory="8Gi"), asks("fits", 1, cpu=1, memory="1Gi"))


def test_10_10_what_can_never_fit_of_one_resource_blocks_and_that_one_alone_is_named():
    line = two_limits("Block")
    assert line.cycle() == []
    text = "cannot start: 8Gi memory requested, but max of quota team-a is 4Gi"
    assert (line.told("never"), line.told("fits")) == (text, m8(T, T))


@pytest.mark.parametrize("policy", ["Block", "Intelligent", "Priority"])
def test_10_10_where_the_queue_says_so_it_is_passed_over(policy):
    line = two_limits(policy, **SKIPS)
    assert line.cycle() == ["fits"]


def test_10_10_the_max_of_an_ancestor_is_enough_to_never_fit():
    levels = [quota("top", cpu=4), quota(cpu=16, parent="top")]
    line = Line(*levels, policy="Block", annotations=SKIPS)
    line.add(unit("never", cpu=5), unit("fits", cpu=4, minute=1))
    assert line.cycle() == ["fits"]
    assert line.told("never") == "cannot start: 5 cpu requested, but max of quota top is 4"


def test_10_10_one_that_does_not_fit_now_is_not_passed_over_as_one_that_never_does():
    line = Line(quota(cpu=4), policy="Block", annotations=SKIPS)
    line.add(unit("r", cpu=2, phase=Phase.RUNNING), unit("head", cpu=4), unit("u", minute=1))
    assert line.cycle() == []


def test_10_10_a_higher_limit_makes_what_could_never_fit_a_head_like_others():
    line = Line(quota(cpu=4), policy="Block", annotations=SKIPS)
    line.add(unit("r", cpu=4, phase=Phase.RUNNING), unit("head", cpu=5), unit("u", minute=1))
    assert line.cycle() == []
    line.book.set_quotas(quotas(quota(cpu=5)), structure_changed=False)
    assert line.cycle() == []
    assert line.told("u") == m8(T, T)


def test_10_10_each_quota_of_a_queue_has_a_head_of_its_own():
    named = {keys.QUEUE_NAME[0]: T}
    both = [quota(cpu=2), quota("b", cpu=2)]
    theirs = [
        unit(name, quota="b", cpu=cpu, minute=minute, annotations={**unit().annotations, **named})
        for name, cpu, minute in (("b-head", 3, 0), ("b-next", 1, 9))
    ]
    line = Line(*both, policy="Block").add(unit("a-next", cpu=1, minute=5), *theirs)
    assert line.cycle() == ["a-next"]
    assert line.told("b-next") == m8(T, "b")


# -- 10.11: several resources, several levels, several high ones


def test_10_11c_only_what_the_high_one_asks_for_is_kept_for_it():
    """A low one that asks for both has to fit beside it in the one that both ask for."""
    line = Line(quota(limit=amounts(cpu=8, gpu=4)), policy="Intelligent")
    line.add(
        unit("r", pod_sets=(pod_set(gpu=3, cpu=1),), phase=Phase.RUNNING),
        asks("high", priority=9, gpu=2),
        asks("both", 1, cpu=1, gpu=1),
        asks("cpu", 2, cpu=5),
    )
    assert line.cycle() == ["cpu"]
    assert line.told("both") == m11(T)


def test_10_11c_beside_is_meant_at_every_level():
    """There is room in the quota itself, none beside the high one at its parent."""
    levels = [quota("top", cpu=6), quota(cpu=100, parent="top")]
    line = Line(*levels, policy="Intelligent")
    line.add(unit("r", cpu=2, phase=Phase.RUNNING), unit("high", cpu=5, priority=4), unit("low"))
    assert line.cycle() == []
    assert line.told("low") == m11(T)


def test_10_11c_what_is_kept_is_for_the_first_high_one_alone():
    """4 of 10 are in use, and 5 for the low one beside 1: the second high one would leave 0."""
    line = Line(quota(limit=amounts(cpu=10, gpu=1)), policy="Intelligent")
    line.add(
        unit("r", pod_sets=(pod_set(cpu=4, gpu=1),), phase=Phase.RUNNING),
        asks("first", priority=9, cpu=1, gpu=1),
        asks("second", 1, priority=8, cpu=6),
        asks("low", 2, cpu=5),
    )
    assert line.cycle() == ["low"]
    assert line.told("second") == m8(T, T)


def test_10_11c_low_ones_share_what_is_left_beside_it():
    line = Line(quota(limit=amounts(cpu=10, gpu=1)), policy="Intelligent")
    lows = [unit(f"low{number}", cpu=1, minute=number) for number in range(4)]
    holds = unit("r", pod_sets=(pod_set(cpu=3, gpu=1),), phase=Phase.RUNNING)
    line.add(holds, asks("high", priority=9, cpu=5, gpu=1), *lows)
    assert line.cycle() == ["low0", "low1"]
    assert line.told("low2") == m11(T)


@pytest.mark.parametrize(
    ("before", "after", "starts"),
    [
        pytest.param(None, 4, [], id="it is high now, and waits behind the first"),
        pytest.param(4, 3, ["moves"], id="it is low now, and fits beside the first"),
        pytest.param(3, None, ["moves"], id="it was low and stays so"),
        pytest.param(4, 8, [], id="it was high and stays so"),
    ],
)
def test_10_11e_a_priority_that_crosses_the_threshold_moves_its_unit_at_once(before, after, starts):
    line = Line(quota(limit=amounts(cpu=4, gpu=1)), policy="Intelligent")
    line.add(
        unit("r", pod_sets=(pod_set(gpu=1),), phase=Phase.RUNNING),
        asks("first", priority=9, gpu=1),
        unit("moves", cpu=8, priority=before),
    )
    assert line.cycle() == []
    edited = changed(line.book.units[f"{T}/moves"], priority=after, pod_sets=(pod_set(cpu=1),))
    line.book.saw(edited)
    assert line.book.take_woken() == [T]
    assert names(line.book.cycle(T, at(2))) == starts


@pytest.mark.parametrize(
    ("threshold", "starts"),
    [("0", []), ("-1", []), ("1", ["b"]), ("2147483647", ["b"]), ("2147483648", ["b"])],
)
def test_10_11_a_threshold_may_be_any_priority(threshold, starts):
    """No priority is 0; what is no priority is no threshold (22.1)."""
    line = Line(quota(cpu=4), policy="Intelligent")
    line.set(priority_threshold=threshold)
    assert line.add(unit("a", cpu=5), unit("b", minute=1)).cycle() == starts


# -- 10.12


@pytest.mark.parametrize(
    ("depth", "starts"),
    [
        ("2", []),
        ("3", ["fits"]),
        ("0", ["fits"]),
        ("-1", ["fits"]),
        ("99999999999999999999", ["fits"]),
        ("two", ["fits"]),
        ("", ["fits"]),
    ],
)
def test_10_12_so_many_are_tried_and_all_where_no_number_says_less(depth, starts):
    line = Line(quota(cpu=4))
    line.set(max_depth=depth)
    line.add(*(unit(f"l{number}", cpu=9, minute=number) for number in range(2)))
    assert line.add(unit("fits", minute=9)).cycle() == starts


def test_10_12_without_the_annotation_nothing_goes_on_where_a_list_was_cut():
    line = Line(quota(cpu=4), policy="Intelligent")
    line.set(max_depth="1")
    larges = [unit(f"l{number}", cpu=9 + number, minute=number) for number in range(3)]
    line.add(*larges)
    assert line.cycle() == []
    line.set()
    assert line.book.take_woken() == [T]
    assert line.cycle() == []
    assert [line.told(each.name)[:12] for each in larges] == ["cannot start"] * 3
    assert line.book.take_woken() == []


def test_10_12_a_wake_begins_at_the_head_again():
    """What was freed goes to the first, not to those with whom the cut list would have gone on."""
    line = Line(quota(cpu=4), policy="Intelligent")
    line.set(max_depth="1")
    holder = unit("r", cpu=2, phase=Phase.RUNNING)
    line.add(holder, unit("l0", cpu=3), unit("l1", cpu=4, minute=1), unit("l2", cpu=5, minute=2))
    assert line.cycle() == []
    assert line.told("l0").startswith("waiting for quota team-a: 3 cpu")
    line.book.saw(changed(holder, **OVER))
    assert line.book.take_woken() == [T]
    assert names(line.book.cycle(T, at(2))) == ["l0"]


def test_10_12_a_list_that_was_cut_and_is_gone_is_looked_at_no_more():
    line = Line(quota(cpu=4), policy="Intelligent")
    line.set(max_depth="1")
    lows = [unit(f"l{number}", cpu=9, minute=number) for number in range(3)]
    line.add(*lows)
    line.cycle()
    for each in lows:
        line.book.lost(each)
    assert line.book.take_woken() == [T]
    assert names(line.book.cycle(T, at(2))) == []
    assert line.book.take_woken() == []


def test_10_12_each_low_one_has_one_try_and_then_all_is_quiet():
    line = Line(quota(cpu=4), policy="Intelligent")
    line.set(max_depth="2")
    line.add(unit("high", cpu=9, priority=9), *(unit(f"l{n}", cpu=9 + n) for n in range(1, 6)))
    passes = 0
    while line.book.take_woken():
        passes += 1
        assert line.book.cycle(T, at(1)) == []
    assert passes == 5
    assert all(line.told(f"l{n}").startswith("cannot start") for n in range(1, 6))


def test_10_12_a_cut_list_of_a_stopped_queue_is_looked_at_no_more():
    """Spec 3.1: nobody waits for a turn there until it goes on, from the head."""
    line = Line(quota(cpu=4), policy="Intelligent")
    line.set(max_depth="1")
    line.add(*(unit(f"l{number}", cpu=9 - 4 * number, minute=number) for number in range(2)))
    line.cycle()
    line.book.saw(changed(line.queue, stop_policy="Hold"))
    assert line.book.take_woken() == [T]
    assert names(line.book.cycle(T, at(2))) == []
    assert (line.book.take_woken(), line.told("l1")) == ([], "queue team-a is stopped")
    line.book.saw(changed(changed(line.queue)))
    assert line.book.take_woken() == [T]
    started = names(line.book.cycle(T, at(3)))
    assert line.told("l0").startswith("cannot start")
    while line.book.take_woken():
        started += names(line.book.cycle(T, at(3)))
    assert started == []


# -- 10.13


def foreign(name, minute=0, **fields):
    """A unit of somebody else's job, whose kind is not served here (spec 15.2)."""
    fields.setdefault("consumer", Consumer("example.com/v1", "Thing", name, T))
    return unit_by_hand(name, minute=minute, **fields)


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(foreign("a"), id="of another kind"),
        pytest.param(foreign("a", consumer=None), id="of no job"),
    ],
)
def test_10_13_a_job_without_visible_pods_runs_when_its_own_controller_says_so(each):
    """The next one does not wait for ever for pods that nobody can see."""
    line = Line(quota(cpu=4), annotations=ONE_AT_A_TIME).add(unit("next", minute=5))
    line.book.saw(each)
    assert line.cycle() == ["a"]
    assert line.cycle() == []
    assert line.told("next") == m9(T)
    written = granted(each)
    line.book.wrote(written, line.book.ledger.sending(each.key))
    assert line.cycle() == []
    line.book.saw(changed(written, phase=Phase.RUNNING, raw_phase="Running"))
    assert line.book.take_woken() == [T]
    assert names(line.book.cycle(T, at(2))) == ["next"]


HELD = {"phase": Phase.RUNNING, "grants": (grant(cpu=1),)}


@pytest.mark.parametrize(
    ("each", "whose"),
    [
        pytest.param(unit("a", **HELD), {"job": "a"}, id="served here"),
        pytest.param(
            foreign("a", **HELD), {"owner": None, "holder": "unit:team-a/a"}, id="named by its pods"
        ),
    ],
)
def test_10_13_where_pods_are_known_they_decide_whatever_the_phase(each, whose):
    """Spec 8.23."""
    line = Line(quota(cpu=4), annotations=ONE_AT_A_TIME).add(unit("next", minute=5))
    line.book.saw(running_job("a"))
    line.book.saw(each)
    waiting = pod(phase="Pending", **whose)
    line.book.saw(waiting)
    assert line.cycle() == []
    line.book.saw(changed(waiting, phase="Running"))
    assert line.cycle() == ["next"]


def test_10_13_a_job_that_is_served_here_needs_pods_that_run_though_it_ran_before():
    line = Line(quota(cpu=4), annotations=ONE_AT_A_TIME).add(unit("a", **HELD), unit("next"))
    assert line.cycle() == []
    assert line.told("next") == m9(T)


def test_10_13_a_job_without_pods_keeps_nobody_waiting():
    line = Line(quota(cpu=4), annotations=ONE_AT_A_TIME)
    line.add(unit("none", replicas=0), unit("one", minute=1), unit("two", minute=2))
    started = []
    while line.book.take_woken():
        started += names(line.book.cycle(T, at(1)))
    assert started == ["none", "one"]


def test_10_13_those_who_lack_quota_are_told_that():
    line = Line(quota(cpu=4), annotations=ONE_AT_A_TIME)
    line.add(unit("r", cpu=2, phase=Phase.RUNNING), unit("large", cpu=3), unit("fits", minute=1))
    assert line.cycle() == []
    assert line.told("large").startswith("waiting for quota team-a: 3 cpu")
    assert line.told("fits") == m9(T)


# -- 10.19-10.22: what else becomes of units in back-off


def runs(name="holds", cpu=4, **fields):
    return unit(name, cpu=cpu, phase=Phase.RUNNING, **fields)


def test_10_19_more_of_one_quota_ends_no_back_off_of_another_in_the_same_queue():
    named = {**unit().annotations, keys.QUEUE_NAME[0]: T}
    other = unit("theirs", quota="b", cpu=2, minute=1, annotations=named)
    scene = Scene(runs(cpu=2), retry=BACKOFF, cpu=2)
    scene.set_quota(quota(cpu=2), quota("b", cpu=2))
    taken = unit("b-holds", quota="b", cpu=2, phase=Phase.RUNNING, annotations=named)
    scene.add(taken, unit("ours", cpu=2), other)
    assert scene.cycle(0) == []
    scene.ends("holds")
    scene.ends("b-holds")
    scene.set_quota(quota(cpu=3), quota("b", cpu=2))
    assert scene.cycle(0.2) == ["ours"]
    assert scene.cycle(1) == ["theirs"]


@pytest.mark.parametrize("retry", [BACKOFF, STRICT])
def test_10_19_without_an_initial_back_off_nobody_is_in_one(retry):
    args = {keys.QUEUE_ARGS[0]: "podInitialBackoffSeconds: 0"}
    scene = Scene(runs(), unit("waits", cpu=2), retry=retry, annotations=args)
    assert scene.cycle(0) == []
    assert scene.next_end() is None
    scene.ends("holds")
    assert scene.cycle(0.01) == ["waits"]


@pytest.mark.parametrize(
    ("before", "after", "starts"),
    [
        pytest.param(3, 4, ["waits"], id="from low to high"),
        pytest.param(3, 2, ["waits"], id="low, another priority"),
        pytest.param(3, 3, [], id="no change"),
    ],
)
def test_10_19_a_priority_that_crosses_the_threshold_ends_the_back_off(before, after, starts):
    """Spec 10.11e, 10.21: who is high is in none."""
    waits = unit("waits", cpu=2, priority=before)
    scene = Scene(runs(), waits, policy="Intelligent")
    scene.cycle(0)
    assert M29 in scene.told("waits")
    scene.ends("holds")
    scene.book.saw(changed(scene.book.units[f"{T}/waits"], priority=after))
    assert scene.cycle(0.5) == starts


def test_10_21_one_that_was_high_is_in_back_off_once_it_is_low():
    scene = Scene(runs(), unit("waits", cpu=2, priority=4), policy="Intelligent")
    scene.cycle(0)
    assert M29 not in scene.told("waits")
    scene.book.saw(changed(scene.book.units[f"{T}/waits"], priority=3))
    assert scene.cycle(0.1) == []
    assert M29 in scene.told("waits")


@pytest.mark.parametrize(
    ("annotations", "starts"),
    [
        pytest.param({keys.THRESHOLD[0]: "3"}, ["waits"], id="high by a lower threshold"),
        pytest.param({keys.QUEUE_ARGS[0]: "podMaxBackoffSeconds: 2"}, [], id="another pace"),
    ],
)
def test_10_11e_a_new_threshold_ends_the_back_off_of_whom_it_makes_high(annotations, starts):
    """Spec 10.19: other edits of the Queue leave it alone."""
    scene = Scene(runs(), unit("waits", cpu=2, priority=3), policy="Intelligent")
    scene.cycle(0)
    scene.ends("holds")
    scene.book.saw(changed(scene.book.queues[T], annotations=annotations))
    assert scene.cycle(0.5) == starts


@pytest.mark.parametrize(
    ("before", "after", "starts"),
    [
        pytest.param("Priority", "Block", ["waits"], id="who blocks is in none"),
        pytest.param("Block", "Priority", ["waits"], id="it never was in one"),
        pytest.param("Priority", "Round", [], id="the same by another name"),
    ],
)
def test_10_21_another_policy_counts_for_those_in_back_off_too(before, after, starts):
    scene = Scene(runs(), unit("waits", cpu=2), policy=before)
    scene.cycle(0)
    scene.ends("holds")
    scene.book.saw(changed(scene.book.queues[T], policy=after))
    assert scene.cycle(0.5) == starts


def test_10_22_a_release_leaves_those_alone_whose_job_did_not_start():
    """TimeoutBackoff is no back-off of candidates."""
    rests = {"phase": Phase.BACKOFF, "raw_phase": "TimeoutBackoff"}
    scene = Scene(runs(), unit("parked", cpu=1, **rests), unit("waits", cpu=1), retry=STRICT)
    scene.cycle(0)
    scene.ends("holds")
    assert scene.cycle(0.1) == ["waits"]
