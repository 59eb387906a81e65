"""Passes that take back and set aside: who loses what for whom, and who starts meanwhile (13.6)."""

from collections.abc import Iterator
from datetime import timedelta

import msgspec
import pytest
from builders import (
    NOW,
    amounts,
    at,
    book,
    changed,
    condition,
    grant,
    pod,
    pod_set,
    queue,
    quota,
    running_job,
    unit,
)
from builders import job_view as held_job
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys, messages
from kq.core.model import Phase
from kq.core.options import TakingOptions
from kq.core.plugins import Level
from kq.core.resources import ZERO
from kq.decide.reclaim import mode_of

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
RUNS = {"phase": Phase.RUNNING}


class Cluster:
    """A book of units and their jobs."""

    def __init__(self, *units, quotas=None, queues=None, **options):
        self.book = book(
            *(quotas or [quota(cpu=4)]),
            views=[*(queues or [queue(annotations=PREEMPTS)]), *self.jobs(units), *units],
            **options,
        )

    @staticmethod
    def jobs(units) -> Iterator[object]:
        for each in units:
            yield running_job(each.name) if each.holds_quota else held_job(each.name)

    def pass_over(self, name="team-a", minute=10.0):
        return [each.name for each in self.book.cycle(name, at(minute))]

    def victims(self):
        return sorted(key for key in self.book.units if self.book.takings.of(key) is not None)

    def told(self, name):
        verdict = self.book.verdict(f"team-a/{name}")
        return verdict.message if verdict else None

    def mark(self, *names):
        """Their evictions have begun."""
        for name in names:
            known = self.book.units[f"team-a/{name}"]
            mark = condition("Evicted", True, "Preempted", "x")
            self.book.saw(changed(known, conditions=(mark,)))

    def leaving(self):
        """Units whose evictions have begun."""
        marked = (each for each in self.book.units.values() if each.holds_quota)
        return [each.name for each in marked if (mark := each.condition("Evicted")) and mark.status]

    def settle(self, names):
        """What was granted is written and let go."""
        for name in names:
            known = self.book.units[f"team-a/{name}"]
            self.book.ledger.revoke(known.key)
            self.book.saw(changed(known, conditions=()))
            self.book.saw(running_job(name))

    def leave(self, *names):
        """Their evictions are done."""
        for name in names:
            known = self.book.units[f"team-a/{name}"]
            out = {"phase": Phase.ENQUEUED, "raw_phase": "Enqueued", "grants": ()}
            self.book.saw(changed(known, **out))


def low(name="low", cpu=4, **fields):
    return unit(name, cpu=cpu, **{**RUNS, **fields})


def high(name="high", cpu=4, priority=5, **fields):
    return unit(name, cpu=cpu, priority=priority, **fields)


def test_one_that_does_not_fit_has_others_make_room():
    cluster = Cluster(low(), high())
    assert cluster.pass_over() == []
    assert cluster.victims() == ["team-a/low"]
    taken = cluster.book.takings.of("team-a/low")
    assert taken.reason == "Preempted"
    assert taken.text == messages.s7("team-a/high", "team-a")
    assert taken.told == "Preempted by team-a/high for cpu of quota team-a"
    assert cluster.told("high") == messages.m12("team-a", ["team-a/low"])
    assert cluster.book.take_to_tell() == ["team-a/high"]
    assert cluster.book.takings.take_news() == ["team-a/low"]


def test_it_says_the_same_until_they_are_gone_and_takes_nobody_else():
    cluster = Cluster(low("one", 2), low("two", 2), low("low", 0, minute=1), high("high", 2))
    cluster.pass_over()
    (victim,) = cluster.victims()
    told = cluster.told("high")
    cluster.book.take_to_tell()
    cluster.book.takings.take_news()
    for _ in range(2):
        assert cluster.pass_over() == []
        assert (cluster.victims(), cluster.told("high")) == ([victim], told)
        assert cluster.book.take_to_tell() == []
        assert cluster.book.takings.take_news() == []
    cluster.mark(victim.partition("/")[2])
    assert cluster.pass_over() == []
    assert (cluster.victims(), cluster.told("high")) == ([], told)
    cluster.leave(victim.partition("/")[2])
    assert "team-a" in cluster.book.take_woken()
    assert cluster.pass_over() == ["high"]


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_without_the_annotation_nobody_takes_anything(policy):
    cluster = Cluster(low(), high(), queues=[queue(policy=policy)])
    assert cluster.pass_over() == []
    assert cluster.victims() == []
    assert cluster.told("high").startswith("waiting for quota team-a")


@pytest.mark.parametrize(
    "text", ["false", "", "yes", "1"], ids=["false", "empty", "no truth", "a number"]
)
def test_only_true_is_true(text):
    named = {keys.ENABLE_PREEMPTION[0]: text, keys.ENABLE_PREEMPTION[1]: "true"}
    cluster = Cluster(low(), high(), queues=[queue(annotations=named)])
    cluster.pass_over()
    assert cluster.victims() == []


@pytest.mark.parametrize(
    ("victim", "options"),
    [
        pytest.param(low(priority=5), {}, id="an equal one"),
        pytest.param(
            low(labels={keys.QUOTA_LABEL: "team-a", keys.PREEMPTIBLE_LABELS[0]: "false"}),
            {},
            id="not preemptible",
        ),
        pytest.param(low(), {"taking": TakingOptions(preemptible=False)}, id="not by default"),
        pytest.param(low(active=False), {}, id="deactivated already"),
        pytest.param(low(deleting=True), {}, id="on its way out"),
        pytest.param(
            low(conditions=(condition("Evicted", False, "NotEvictable"),)),
            {},
            id="13.15: not evictable",
        ),
        pytest.param(
            low(phase=None, raw_phase="Odd", grants=(grant(cpu=4),)),
            {},
            id="9.3: of an unknown phase",
        ),
    ],
)
def test_who_is_no_victim(victim, options):
    cluster = Cluster(victim, high(), **options)
    cluster.pass_over()
    assert cluster.victims() == []
    assert cluster.told("high").startswith("waiting for quota")


@pytest.mark.parametrize(
    ("reason", "victims"),
    [
        ("Deactivated", []),
        ("Suspended", []),
        ("PodsReadyTimeout", []),
        ("MaximumExecutionTimeExceeded", []),
        ("QueueStopped", []),
        ("Preempted", []),
        pytest.param("Restarted", ["team-a/stays"], id="it may have it back at once"),
    ],
)
def test_nobody_is_taken_from_for_what_one_gives_back_that_is_evicted_anyway(reason, victims):
    mark = condition("Evicted", True, reason)
    cluster = Cluster(low("leaves", 2, conditions=(mark,)), low("stays", 2), high(cpu=2))
    cluster.pass_over()
    assert cluster.victims() == victims
    if not victims:
        assert cluster.told("high") == (
            "waiting for 1 unit(s) to give back quota team-a: team-a/leaves"
        )


def test_nobody_waits_for_what_is_held_in_vain():
    text = "the operator of Job does not stop it: it is held, and counts while its pods run"
    mark = condition("Evicted", True, "Deactivated")
    vain = low("vain", 2, conditions=(mark,), message=text)
    cluster = Cluster(vain, low("stays", 2), high(cpu=2))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/stays"]


def test_one_that_was_evicted_before_and_granted_again_is_a_victim_again():
    """Spec 9.8, 13.2: its condition is of the last time."""
    again = condition("Evicted", False, "QuotaReserved", "x")
    cluster = Cluster(low(conditions=(again,)), high())
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low"]


def test_one_that_was_not_let_go_yet_is_a_victim_whatever_its_kind():
    """Spec 13.2, 8.1."""
    cluster = Cluster(low(), high())
    cluster.book.saw(running_job("low", evictable=False))
    cluster.pass_over()
    assert cluster.victims() == []
    cluster.book.saw(held_job("low", evictable=False))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low"]


def test_one_whose_hold_proved_ineffective_is_no_victim_while_its_pods_run():
    """Spec 13.15, 8.12: its job is held, and that stops nothing."""
    told = (condition("QuotaReserved", True, "QuotaReserved", messages.m25("Job")),)
    runs = pod("defied-0", job="defied", cpu=2)
    cluster = Cluster(low("defied", 2, minute=1, conditions=told), low("other", 2), high(cpu=2))
    cluster.book.saw(held_job("defied"))
    cluster.book.saw(runs)
    cluster.pass_over()
    assert cluster.victims() == ["team-a/other"]
    cluster.book.lost(runs)
    cluster.pass_over()
    assert cluster.victims() == ["team-a/defied"]


def test_a_victim_gives_what_it_has_in_use_by_now():
    """Spec 13.3, 11.7: its pod asks for more than its grant, and is seen after the first pass."""
    cluster = Cluster(low("one", 1), low("two", 1, minute=1), high(cpu=3))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/two"]
    cluster.book.saw(pod("one-0", job="one", cpu=3))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/one"]


def test_a_unit_whose_job_nobody_knows_is_no_victim():
    cluster = Cluster(low(), high())
    cluster.book.lost(running_job("low"))
    cluster.pass_over()
    assert cluster.victims() == []


@pytest.mark.parametrize(
    ("policy", "classes", "takes"),
    [
        pytest.param("", (), True, id="nothing said"),
        pytest.param("Never", (), False, id="its template"),
        pytest.param("", {"calm"}, False, id="its class"),
        pytest.param("PreemptLowerPriority", {"calm"}, True, id="the template first"),
    ],
)
def test_who_takes_nothing(policy, classes, takes):
    """Spec 13.2."""
    pods = pod_set(cpu=4)
    template = msgspec.structs.replace(pods.template, preemption_policy=policy)
    pods = msgspec.structs.replace(pods, template=template)
    cluster = Cluster(low(), high(pod_sets=(pods,), priority_class="calm"))
    cluster.book.takings.set_modest(classes)
    cluster.pass_over()
    assert bool(cluster.victims()) is takes


def calm(policy="", name="calm", **fields):
    """One that goes first and asks for all, of that class and that preemptionPolicy."""
    pods = pod_set(cpu=4)
    template = msgspec.structs.replace(pods.template, preemption_policy=policy)
    sets = (msgspec.structs.replace(pods, template=template),)
    return high(pod_sets=sets, priority_class=name, **fields)


def test_one_that_takes_nothing_is_promised_nothing_of_what_others_give_back():
    """Spec 13.2, 13.6."""
    cluster = Cluster(low(), calm("Never"))
    cluster.mark("low")
    cluster.pass_over()
    assert cluster.told("high").startswith("waiting for quota team-a")
    assert cluster.book.takings.has_promises is False


@pytest.mark.parametrize(
    ("before", "after"),
    [(calm("Never"), calm("PreemptLowerPriority")), (calm(), calm(name="gold"))],
    ids=["its template", "its class"],
)
def test_one_that_may_take_from_now_on_wakes_its_queue(before, after):
    """Spec 10.15, 13.2."""
    cluster = Cluster(low(), before)
    cluster.book.takings.set_modest({"calm"})
    cluster.pass_over()
    cluster.book.take_woken()
    cluster.book.saw(changed(before, pod_sets=after.pod_sets, priority_class=after.priority_class))
    assert cluster.book.take_woken() == ["team-a"]
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low"]


def test_a_class_that_lets_its_units_take_wakes_their_queues_alone():
    """Spec 12.8, 13.2: a preemptionPolicy changes only as the class is made again."""
    cluster = Cluster(low(), calm(), queues=[*QUEUES], quotas=family())
    cluster.book.takings.set_modest({"calm"})
    cluster.pass_over()
    cluster.book.take_woken()
    cluster.book.course.class_changed("gold")
    assert cluster.book.take_woken() == []
    cluster.book.course.class_changed("calm")
    assert cluster.book.take_woken() == ["team-a"]
    cluster.book.takings.set_modest(())
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low"]


def test_one_that_can_take_from_nobody_says_nothing_of_those_of_another_quota():
    """Spec 13.2: each asks as much, of quotas that share no level."""
    named = {**high().annotations, keys.QUEUE_NAME[0]: "team-a"}
    apart = {"quota": "team-b", "queue": "team-a", "annotations": named}
    units = [low("firm", priority=9), high("hopeless", priority=8)]
    others = [low("weak", **apart), high("hopeful", **apart)]
    cluster = Cluster(*units, *others, quotas=[quota(cpu=4), quota("team-b", cpu=4)])
    cluster.pass_over()
    assert cluster.victims() == ["team-a/weak"]
    assert cluster.told("hopeful") == messages.m12("team-b", ["team-a/weak"])


def test_a_grant_is_safe_for_its_time_and_then_it_is_looked_at_again():
    """Spec 13.8, 10.15."""
    options = TakingOptions(protection=timedelta(minutes=30))
    cluster = Cluster(low(allocated=NOW), high(), taking=options)
    cluster.pass_over(minute=29)
    assert cluster.victims() == []
    assert cluster.book.takings.next_look("team-a") == at(30)
    cluster.pass_over(minute=30)
    assert cluster.victims() == ["team-a/low"]
    assert cluster.book.takings.next_look("team-a") is None


def test_the_next_look_is_at_the_end_of_a_protection_that_is_still_to_come():
    """Spec 13.8: one that has ended is no reason to look again."""
    options = TakingOptions(protection=timedelta(minutes=30))
    safe = [low("one", 1, allocated=NOW), low("two", 3, allocated=at(9))]
    cluster = Cluster(*safe, high(), taking=options)
    cluster.pass_over(minute=10)
    assert cluster.book.next_look("team-a") == at(30)
    cluster.pass_over(minute=30)
    assert (cluster.victims(), cluster.book.next_look("team-a")) == ([], at(39))
    cluster.book.saw(changed(queue(annotations={})))
    cluster.pass_over(minute=31)
    assert cluster.book.next_look("team-a") is None


def test_nobody_looks_again_where_nobody_waits():
    options = TakingOptions(protection=timedelta(minutes=30))
    cluster = Cluster(low(cpu=1, allocated=NOW), high(cpu=1), taking=options)
    assert cluster.pass_over() == ["high"]
    assert cluster.book.takings.next_look("team-a") is None


# -- set aside (13.6)


def test_nobody_behind_it_starts_with_what_is_being_freed():
    cluster = Cluster(low("one", 2), low("two", 2), high("high", 4), high("slips", 2, priority=1))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/one", "team-a/two"]
    cluster.mark("one", "two")
    cluster.pass_over()
    cluster.leave("one")
    assert cluster.pass_over() == []
    assert cluster.told("slips").startswith("waiting for quota team-a")
    cluster.leave("two")
    assert cluster.pass_over() == ["high"]


def test_who_fits_beside_it_starts():
    cluster = Cluster(low("one", 3), high("high", 2), high("small", 1, priority=1))
    assert cluster.pass_over() == ["small"]
    assert cluster.victims() == ["team-a/one"]


def test_one_before_it_may_have_it():
    cluster = Cluster(low("one", 4), high("high", 4))
    cluster.pass_over()
    cluster.mark("one")
    cluster.book.saw(held_job("first"))
    cluster.book.saw(high("first", 4, priority=9))
    cluster.pass_over()
    assert cluster.told("first") == messages.m12("team-a", ["team-a/one"])
    cluster.leave("one")
    assert cluster.pass_over() == ["first"]


def family(**child):
    """Two quotas below one, each with its Queue."""
    return [
        quota("top", cpu=4, is_parent=True),
        quota("team-a", cpu=4, parent="top", **child),
        quota("team-b", cpu=4, parent="top"),
    ]


QUEUES = [queue(annotations=PREEMPTS), queue("team-b")]


@pytest.mark.parametrize(("priority", "starts"), [(4, []), (5, ["other"]), (6, ["other"])])
def test_no_lower_one_of_another_queue_starts_with_it(priority, starts):
    other = high("other", 2, priority, quota="team-b")
    cluster = Cluster(
        low("one", 2), low("two", 2), high("high", 4), other, quotas=family(), queues=QUEUES
    )
    cluster.pass_over()
    cluster.mark("one", "two")
    cluster.pass_over()
    cluster.pass_over("team-b")
    assert cluster.told("other").startswith("waiting for quota top, ancestor of team-b")
    cluster.leave("one")
    assert cluster.pass_over("team-b") == starts


@pytest.mark.parametrize("marks", [{}, PREEMPTS], ids=["takes nothing", "may take"])
def test_what_has_come_back_for_one_is_no_lower_ones_though_more_is_to_come_than_is_asked(marks):
    """Spec 13.6: once both have left there is room for it as well, but not yet."""
    limits = [quota("top", cpu=7, is_parent=True)]
    limits += [quota(name, cpu=7, parent="top") for name in ("team-a", "team-b")]
    runs = [low("stays", 2, priority=9), low("one", 1, minute=2), low("two", 4, minute=1)]
    waits = [high("first", 1, minute=3), high("second", 3, minute=4)]
    other = high("other", 1, 1, quota="team-b")
    lines = [QUEUES[0], queue("team-b", annotations=marks)]
    cluster = Cluster(*runs, *waits, other, quotas=limits, queues=lines)
    cluster.pass_over()
    assert cluster.told("first") == messages.m12("team-a", ["team-a/one"])
    assert cluster.told("second") == messages.m12("team-a", ["team-a/two"])
    cluster.mark("one", "two")
    cluster.pass_over()
    cluster.leave("one")
    assert cluster.pass_over("team-b") == []
    assert cluster.pass_over() == ["first"]
    assert cluster.pass_over("team-b") == []


def test_what_nobody_waits_for_any_more_is_for_all():
    """Case F4: no further eviction begins, and the others are woken."""
    other = high("other", 2, 1, quota="team-b")
    cluster = Cluster(
        low("one", 2), low("two", 2), high("high", 4), other, quotas=family(), queues=QUEUES
    )
    cluster.pass_over()
    cluster.mark("one")
    cluster.pass_over()
    cluster.leave("one")
    cluster.book.lost(cluster.book.units["team-a/one"])
    assert cluster.pass_over("team-b") == []
    cluster.book.take_woken()
    cluster.book.lost(cluster.book.units["team-a/high"])
    assert cluster.book.take_woken() == ["team-a"]
    cluster.pass_over()
    assert cluster.victims() == []
    assert "team-b" in cluster.book.take_woken()
    assert cluster.pass_over("team-b") == ["other"]


def test_the_last_one_that_waits_takes_its_promise_along():
    other = high("other", 4, 1, quota="team-b")
    cluster = Cluster(low("one", 4), high("high", 4), other, quotas=family(), queues=QUEUES)
    cluster.pass_over()
    cluster.leave("one")
    cluster.book.lost(cluster.book.units["team-a/high"])
    cluster.book.lost(cluster.book.units["team-a/one"])
    cluster.book.take_woken()
    cluster.pass_over()
    assert "team-b" in cluster.book.take_woken()
    assert cluster.pass_over("team-b") == ["other"]


def test_a_queue_that_goes_takes_what_it_set_aside_along():
    """Spec 13.6: nobody waits there any more, so no eviction begins, and the others are woken."""
    named = {**high().annotations, keys.QUEUE_NAME[0]: "mine"}
    mine = {"queue": "mine", "annotations": named}
    made = queue("mine", annotations=PREEMPTS)
    units = [low("one", 2, **mine), low("two", 2, **mine), high("high", 4, **mine)]
    other = high("other", 2, 1, quota="team-b")
    cluster = Cluster(*units, other, quotas=family(), queues=[queue(), queue("team-b"), made])
    cluster.pass_over("mine")
    assert cluster.victims() == ["team-a/one", "team-a/two"]
    cluster.mark("one")
    cluster.leave("one")
    assert cluster.pass_over("team-b") == []
    cluster.book.take_woken()
    cluster.book.lost(made)
    assert "team-b" in cluster.book.take_woken()
    assert cluster.victims() == []
    assert cluster.pass_over("team-b") == ["other"]


def test_an_eviction_that_came_to_nothing_lets_it_choose_anew():
    """Spec 13.15."""
    cluster = Cluster(low("one", 2, minute=1), low("two", 2), high("high", 2))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/one"]
    cluster.mark("one")
    cluster.pass_over()
    cluster.book.take_woken()
    spared = condition("Evicted", False, "NotEvictable")
    cluster.book.saw(changed(cluster.book.units["team-a/one"], conditions=(spared,)))
    assert cluster.book.take_woken() == ["team-a"]
    cluster.pass_over()
    assert cluster.victims() == ["team-a/two"]


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": -1},
        {"labels": {keys.QUOTA_LABEL: "team-a", keys.PREEMPTIBLE_LABELS[0]: "true"}},
    ],
    ids=["lower now", "preemptible now"],
)
def test_one_that_becomes_a_victim_wakes_the_queue(fields):
    cluster = Cluster(low(priority=5), high(), taking=TakingOptions(preemptible=True))
    cluster.pass_over()
    cluster.book.take_woken()
    cluster.book.saw(changed(cluster.book.units["team-a/low"], **fields))
    assert cluster.book.take_woken() == ["team-a"]


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": 5},
        {"labels": {keys.QUOTA_LABEL: "team-a", keys.PREEMPTIBLE_LABELS[0]: "false"}},
        {"conditions": (condition("Evicted", False, "NotEvictable"),)},
    ],
    ids=["as high now", "not preemptible now", "cannot be stopped"],
)
def test_one_that_is_no_victim_any_more_is_spared_at_once(fields):
    """Spec 13.2, 24.6: its eviction has not begun, and the next pass is still to come."""
    cluster = Cluster(low("one", minute=1), high())
    cluster.pass_over()
    assert cluster.victims() == ["team-a/one"]
    cluster.book.take_woken()
    cluster.book.saw(changed(cluster.book.units["team-a/one"], **fields))
    assert cluster.victims() == []
    assert cluster.book.take_woken() == ["team-a"]
    cluster.pass_over()
    assert cluster.victims() == []


def test_each_is_told_of_the_fewest_who_give_it_enough():
    """Spec 13.6, M12: those who leave already, each of whom one waits for."""
    sizes = {"one": 2, "two": 3, "three": 3}
    lows = [low(name, cpu, minute=-number) for number, (name, cpu) in enumerate(sizes.items())]
    highs = [high("first", 2, minute=1), high("second", 3, minute=2)]
    cluster = Cluster(*lows, *highs, quotas=[quota(cpu=8)])
    cluster.mark(*sizes)
    cluster.pass_over()
    assert cluster.victims() == []
    assert cluster.told("first") == messages.m12("team-a", ["team-a/one"])
    assert cluster.told("second") == messages.m12("team-a", ["team-a/two"])


# -- a line of them


def test_equal_ones_each_find_their_own_victims_at_once():
    lows = [low(f"low{n}", 1, minute=n) for n in range(4)]
    highs = [high(f"high{n}", 1, minute=n) for n in range(3)]
    cluster = Cluster(*lows, *highs)
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low1", "team-a/low2", "team-a/low3"]
    assert [cluster.told(f"high{n}") for n in range(3)] == [
        messages.m12("team-a", [f"team-a/low{n}"]) for n in (3, 2, 1)
    ]


def test_under_block_only_the_head_takes():
    lows = [low(f"low{n}", 1, minute=n) for n in range(4)]
    highs = [high(f"high{n}", 1, minute=n) for n in range(3)]
    cluster = Cluster(*lows, *highs, queues=[queue(policy="Block", annotations=PREEMPTS)])
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low3"]
    assert cluster.told("high1") == messages.m8("team-a", "team-a")


def test_a_low_one_takes_from_nobody_beside_a_high_one_that_waits():
    """Spec 10.11c, 24.6: what it took would not let it start."""
    runs = [low("firm", 3, priority=9), low("weak", 1)]
    waits = [high("high", 4, priority=9), high("low", 1, priority=2)]
    lines = [queue(policy="Intelligent", annotations=PREEMPTS)]
    cluster = Cluster(*runs, *waits, queues=lines)
    assert cluster.pass_over() == []
    assert cluster.victims() == []


def test_a_hopeless_one_hides_nobody():
    """Case F1."""
    cluster = Cluster(low("w1", 1, priority=1), high("big", 5, 9), high("mid", 4, 8))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/w1"]
    assert cluster.told("big").startswith("cannot start")
    assert cluster.told("mid") == messages.m12("team-a", ["team-a/w1"])


def test_one_that_finds_too_few_hides_nobody_and_is_not_asked_twice():
    units = [low("same", 3, priority=5), low("low", 1)]
    cluster = Cluster(*units, high("four", 4), high("two", 2), high("one", 1))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/low"]
    assert cluster.told("one") == messages.m12("team-a", ["team-a/low"])
    assert cluster.told("two").startswith("waiting for quota")


def test_nobody_is_taken_from_while_the_queue_waits_for_pods():
    """Spec 10.13: the winner could not start."""
    waits = {**PREEMPTS, keys.WAIT_FOR_PODS[0]: "true"}
    cluster = Cluster(low("low", 3), high("high", 2), queues=[queue(annotations=waits)])
    cluster.pass_over()
    assert cluster.victims() == []


def test_what_is_set_aside_stays_so_while_those_behind_a_cut_are_tried():
    """Spec 10.12, 13.6: the pass after the cut would have forgotten it, and so on for ever."""
    deep = {**PREEMPTS, keys.MAX_DEPTH[0]: "1"}
    waits, slips = high("waits", 4, 2), high("slips", 1, 1)
    cluster = Cluster(
        low("runs", 3), waits, slips, queues=[queue(policy="Intelligent", annotations=deep)]
    )
    assert cluster.pass_over() == []
    passes = 1
    while cluster.book.take_woken() and passes < 9:
        assert cluster.pass_over() == []
        passes += 1
    assert passes < 3
    assert cluster.victims() == ["team-a/runs"]
    assert cluster.told("waits") == messages.m12("team-a", ["team-a/runs"])


# -- across quotas (13.9-13.11)


def reclaiming(mode, *units, **options):
    marks = {keys.RECLAIM[0]: mode} if mode else {}
    quotas = [
        quota("top", cpu=8, is_parent=True),
        quota("team-a", parent="top", minimum=amounts(cpu=4), annotations=marks),
        quota("team-b", parent="top"),
    ]
    return Cluster(*units, quotas=quotas, queues=[queue(), queue("team-b")], **options)


OTHERS = [low(f"b{n}", 2, priority=5, quota="team-b", minute=n) for n in range(4)]


@pytest.mark.parametrize(
    ("mode", "priority", "victims"),
    [
        pytest.param("Any", 0, ["team-a/b3"], id="Any"),
        pytest.param("LowerPriority", 5, [], id="LowerPriority: not an equal one"),
        pytest.param("LowerPriority", 6, ["team-a/b3"], id="LowerPriority: a lower one"),
        pytest.param("Never", 9, [], id="Never"),
        pytest.param("", 9, [], id="nothing said"),
        pytest.param("any", 9, [], id="not known"),
    ],
)
def test_a_quota_takes_back_its_min(mode, priority, victims):
    cluster = reclaiming(mode, *OTHERS, high("due", 2, priority))
    cluster.pass_over()
    assert cluster.victims() == victims
    if victims:
        taken = cluster.book.takings.of(victims[0])
        assert (taken.reason, taken.text) == ("Reclaimed", messages.s7("team-a/due", "team-a"))
        assert cluster.told("due") == messages.m12("top", victims)


def test_a_better_one_does_not_come_back_before_it():
    """Spec 24.6: with `Any` the victims may go before the one that they make room for."""
    cluster = reclaiming("Any", *OTHERS, high("due", 2, 0))
    cluster.pass_over()
    cluster.mark("b3")
    cluster.pass_over()
    cluster.leave("b3")
    assert cluster.pass_over("team-b") == []
    assert cluster.pass_over("team-a") == ["due"]


def test_nor_does_one_of_several_that_is_better():
    worse = low("b3", 2, priority=-1, quota="team-b", minute=3)
    cluster = reclaiming("Any", *OTHERS[:3], worse, high("due", 4, 0))
    cluster.pass_over()
    assert cluster.victims() == ["team-a/b2", "team-a/b3"]
    cluster.mark("b2", "b3")
    cluster.pass_over()
    cluster.leave("b2")
    assert cluster.pass_over("team-b") == []


def test_first_across_quotas_then_in_the_queue():
    """Spec 13.11."""
    own = low("own", 2, priority=0, quota="team-a")
    quotas = [
        quota("top", cpu=8, is_parent=True),
        quota(
            "team-a",
            parent="top",
            minimum=amounts(cpu=4),
            annotations={keys.RECLAIM[0]: "LowerPriority"},
        ),
        quota("team-b", parent="top"),
    ]
    cluster = Cluster(own, *OTHERS[:3], high("due", 2, 6), quotas=quotas, queues=[*QUEUES])
    cluster.pass_over()
    assert cluster.victims() == ["team-a/b2"]
    over = Cluster(own, *OTHERS[:3], high("due", 4, 6), quotas=quotas, queues=[*QUEUES])
    over.pass_over()
    assert over.victims() == []


@pytest.mark.parametrize(
    ("marks", "victims"), [(PREEMPTS, ["team-a/own"]), ({}, [])], ids=["its Queue too", "alone"]
)
def test_what_cannot_be_reclaimed_is_preempted_only_where_the_queue_does_so(marks, victims):
    """Spec 13.1, 13.11: with what its quota uses it would be above its min."""
    own = low("own", 3, priority=0)
    cluster = reclaiming("LowerPriority", own, *OTHERS[:2], high("due", 3, 6))
    cluster.book.saw(changed(queue(annotations=marks)))
    cluster.pass_over()
    assert cluster.victims() == victims
    if victims:
        assert cluster.book.takings.of("team-a/own").reason == "Preempted"


def test_a_mode_is_read_of_the_first_spelling():
    assert mode_of(()) == "Never"
    assert mode_of((Level("a", ZERO, ZERO, reclaim="Any"),)) == "Any"


# -- all together

sizes = st.integers(1, 3)
workloads = st.lists(
    st.tuples(sizes, st.integers(0, 3), st.sampled_from(("team-a", "team-b")), st.booleans()),
    min_size=1,
    max_size=9,
)


@given(
    workloads,
    st.sampled_from(("Priority", "Block", "Intelligent")),
    st.sampled_from(("Never", "LowerPriority", "Any")),
)
def test_it_comes_to_rest_with_all_that_go_first_and_nobody_above_a_limit(units, policy, mode):
    """No preemption in turn (13.7, 24.6), none without effect, no level above its limit (24.1)."""
    made = [
        unit(f"u{n}", cpu=cpu, priority=priority, quota=name, minute=n, **(RUNS if runs else {}))
        for n, (cpu, priority, name, runs) in enumerate(units)
    ]
    held = 0
    for each in list(made):
        size = units[int(each.name[1:])][0]
        if each.holds_quota and held + size > 6:
            made.remove(each)
        elif each.holds_quota:
            held += size
    quotas = [
        quota("top", cpu=6, is_parent=True),
        quota("team-a", parent="top", minimum=amounts(cpu=3), annotations={keys.RECLAIM[0]: mode}),
        quota("team-b", parent="top", cpu=5),
    ]
    queues = [queue(policy=policy, annotations=PREEMPTS), queue("team-b", annotations=PREEMPTS)]
    cluster = Cluster(*made, quotas=quotas, queues=queues)
    evictions = 0
    for _ in range(40):
        started, victims = [], []
        for name in ("team-a", "team-b"):
            started += cluster.pass_over(name)
            victims += [key.partition("/")[2] for key in cluster.victims()]
            cluster.mark(*(each for each in victims if each not in cluster.leaving()))
        assert cluster.book.usage.of("top").get("cpu", 0) <= 6000
        leaving = cluster.leaving()
        cluster.leave(*leaving)
        cluster.settle(started)
        evictions += len(leaving)
        if not (started or leaving or victims):
            break
    else:
        pytest.fail("it never comes to rest")
    assert evictions <= len(made) ** 2
