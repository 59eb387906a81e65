"""Units that nobody may preempt start only within the min of their quotas (spec 11.13)."""

import pytest
from books import is_candidate, message
from builders import (
    amounts,
    at,
    book,
    changed,
    condition,
    job_view,
    pod,
    pod_set,
    queue,
    quota,
    quotas,
    running_job,
    unit,
)

from kq.core import keys
from kq.core.model import Owner, Phase
from kq.core.options import RetryOptions, TakingOptions
from kq.core.resources import firm, is_firm

KEPT = {keys.PREEMPTIBLE_LABELS[0]: "false"}
LENT = {keys.PREEMPTIBLE_LABELS[0]: "true"}
PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
RECLAIMS = {keys.RECLAIM[0]: "Any"}
RUNS = {"phase": Phase.RUNNING}
TEAM = quota(cpu=8, minimum=amounts(cpu=4))


def labelled(label, of="team-a"):
    return {keys.QUOTA_LABEL: of, **label}


def kept(name, cpu=1, of="team-a", **fields):
    """A unit that nobody may preempt."""
    return unit(name, quota=of, cpu=cpu, labels=labelled(KEPT, of), **fields)


def lent(name, cpu=1, of="team-a", **fields):
    return unit(name, quota=of, cpu=cpu, **fields)


def bounded(*units, of=(TEAM,), queues=(), **options):
    """A book in which min bounds what nobody may preempt, with the jobs of these units."""
    jobs = [(running_job if each.holds_quota else job_view)(each.name) for each in units]
    views = [*(queues or [queue(each.name) for each in of]), *jobs, *units]
    return book(*of, views=views, **{"firm_within_min": True} | options)


def started(known, name="team-a", minute=1):
    return [each.name for each in known.cycle(name, at(minute))]


def told(known, name):
    return message(known, f"team-a/{name}")


def firm_cpu(known, level="team-a"):
    return known.usage.of(level).get(firm("cpu"), 0)


def waits(need, free, of="team-a"):
    """The words of M1 for a min."""
    return (
        f"waiting for quota {of}: {need} cpu requested, "
        f"not enough free of min {free} for jobs that are not preemptible"
    )


# -- who starts


@pytest.mark.parametrize(
    ("before", "waiting", "expected"),
    [
        pytest.param([], kept("x", 4), True, id="all of min"),
        pytest.param([], kept("x", 5), False, id="more than min"),
        pytest.param([], lent("x", 8), True, id="all of max, if it may be preempted"),
        pytest.param([kept("a", 3, **RUNS)], kept("x", 1), True, id="beside others, within min"),
        pytest.param([kept("a", 3, **RUNS)], kept("x", 2), False, id="with them above min"),
        pytest.param([lent("a", 4, **RUNS)], kept("x", 4), True, id="what may go does not count"),
        pytest.param([lent("a", 5, **RUNS)], kept("x", 4), False, id="but for max it does"),
        pytest.param([kept("a", 4, **RUNS)], lent("x", 4), True, id="above min, if it may go"),
    ],
)
def test_11_13_who_may_not_be_preempted_starts_within_min_and_max(before, waiting, expected):
    known = bounded(*before, waiting)
    assert started(known) == (["x"] if expected else [])


def test_11_13_min_bounds_nobody_where_the_setting_is_off():
    known = bounded(kept("a", 3, **RUNS), kept("x", 5), firm_within_min=False)
    assert started(known) == ["x"]
    assert not [name for name in known.usage.of("team-a") if is_firm(name)]


@pytest.mark.parametrize(
    ("default", "label", "expected"),
    [
        pytest.param(False, {}, False, id="says nothing, and may not by default"),
        pytest.param(False, LENT, True, id="may, by its own word"),
        pytest.param(True, {}, True, id="says nothing, and may by default"),
    ],
)
def test_who_says_nothing_of_it_is_what_the_default_says(default, label, expected):
    """Spec 11.13: defaultPreemptible."""
    known = bounded(unit("x", cpu=5, labels=labelled(label)), preemptible=default)
    assert started(known) == (["x"] if expected else [])


TOP = quota("top", cpu=8, minimum=amounts(cpu=3), is_parent=True)
LEAVES = [quota(each, cpu=8, minimum=amounts(cpu=2), parent="top") for each in ("a", "b")]


def test_11_13_min_bounds_at_every_ancestor():
    known = bounded(kept("x", 2, "a"), kept("y", 2, "b"), kept("z", 1, "b"), of=(TOP, *LEAVES))
    assert started(known, "a") == ["x"]
    assert started(known, "b") == ["z"]
    assert told(known, "y") == (
        "waiting for quota top, ancestor of b: 2 cpu requested, "
        "not enough free of min 3 for jobs that are not preemptible"
    )


@pytest.mark.parametrize(
    ("minimum", "expected"),
    [
        pytest.param(
            {"cpu": 4}, "1Gi memory requested, but min of quota team-a is 0", id="left out"
        ),
        pytest.param({"cpu": 4, "memory": "1Gi"}, None, id="named"),
        pytest.param({"cpu": 4, "memory": "1Gi", "pods": 1}, None, id="so many pods"),
        pytest.param(
            {"cpu": 4, "memory": "1Gi", "pods": 0},
            "1 pods requested, but min of quota team-a is 0",
            id="too many pods",
        ),
    ],
)
def test_what_min_does_not_name_is_nothing_but_of_pods_and_jobs(minimum, expected):
    """Spec 11.4, 13.10: in min, what is not named is 0."""
    asks = kept("x", pod_sets=(pod_set(cpu=1, memory="1Gi"),))
    known = bounded(asks, of=[quota(cpu=8, minimum=amounts(**minimum))])
    assert started(known) == ([] if expected else ["x"])
    text = f"cannot start: {expected} for jobs that are not preemptible" if expected else None
    assert told(known, "x") == text


def test_a_min_of_jobs_bounds_how_many_of_them_may_not_be_preempted():
    """Spec 11.11."""
    jobs = keys.MAX_JOBS[0]
    minimum = amounts(cpu=4, **{jobs: 1})
    known = bounded(kept("x"), kept("y"), lent("z"), of=[quota(cpu=8, minimum=minimum)])
    assert started(known) == ["x", "z"]
    assert told(known, "y") == (
        f"waiting for quota team-a: 1 {jobs} requested, "
        "not enough free of min 1 for jobs that are not preemptible"
    )


# -- what they are told


def test_who_waits_is_told_that_it_is_the_min():
    known = bounded(kept("a", 3, **RUNS), kept("x", 2))
    started(known)
    assert told(known, "x") == waits(2, 4)


def test_who_can_never_fit_into_the_min_is_told_so():
    known = bounded(kept("x", 5))
    started(known)
    assert told(known, "x") == (
        "cannot start: 5 cpu requested, "
        "but min of quota team-a is 4 for jobs that are not preemptible"
    )


def test_under_block_one_that_waits_for_min_holds_back_those_behind_it():
    known = bounded(
        kept("a", 3, **RUNS), kept("x", 2), lent("y", minute=1), queues=[queue(policy="Block")]
    )
    assert started(known) == []
    assert told(known, "x") == waits(2, 4)


def test_in_retry_mode_backoff_a_higher_min_ends_the_back_off():
    """Spec 10.19: also that of a resource that min did not name."""
    known = bounded(kept("x", 3), of=[quota(cpu=8)], retry=RetryOptions(backs_off=True))
    other = kept("a", pod_sets=(pod_set(cpu=1, memory="1Gi"),), **RUNS)
    known.saw(other)
    assert started(known) == []
    for minimum, expected in (({"cpu": 3}, []), ({"cpu": 4}, ["x"])):
        known.set_quotas(
            quotas(quota(cpu=8, minimum=amounts(**minimum)), firm_within_min=True),
            structure_changed=False,
        )
        assert known.take_woken() == ["team-a"]
        assert started(known) == expected


# -- changes


def test_a_label_on_a_running_unit_changes_what_it_counts_for():
    """11.10: what is above min then stays, and nothing starts beside it."""
    known = bounded(lent("a", 5, **RUNS), kept("x", 2, minute=1))
    held = known.units["team-a/a"]
    assert firm_cpu(known) == 0
    held = changed(held, labels=labelled(KEPT))
    known.saw(held)
    assert firm_cpu(known) == 5000
    assert known.units["team-a/a"].holds_quota
    assert started(known) == []
    assert told(known, "x") == waits(2, 4)
    known.take_woken()
    known.saw(changed(held, labels=labelled({})))
    assert known.take_woken() == ["team-a"]
    assert started(known) == ["x"]


def test_a_label_on_a_waiting_unit_changes_what_it_asks():
    known = bounded(kept("x", 5))
    assert started(known) == []
    known.saw(changed(known.units["team-a/x"], labels=labelled(LENT)))
    assert known.take_woken() == ["team-a"]
    assert started(known) == ["x"]


def test_a_lowered_min_evicts_nobody_and_a_raised_one_wakes_who_waits():
    """Spec 11.10, 10.15."""
    known = bounded(kept("a", 4, **RUNS), kept("x", 1))
    for minimum, expected in ((2, []), (4, []), (5, ["x"])):
        level = quota(cpu=8, minimum=amounts(cpu=minimum))
        known.set_quotas(quotas(level, firm_within_min=True), structure_changed=False)
        assert known.take_woken() == ["team-a"]
        assert started(known) == expected
        assert known.units["team-a/a"].holds_quota


def test_who_ends_gives_its_part_of_min_back():
    known = bounded(kept("a", 4, **RUNS), kept("x", 4))
    assert started(known) == []
    over = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
    known.saw(changed(known.units["team-a/a"], **over))
    assert started(known) == ["x"]


# -- pods without grants (11.9)


def test_live_pods_of_one_that_has_ended_count_to_both():
    known = bounded(kept("a", 3, **RUNS), kept("x", 2))
    known.saw(pod(job="a", cpu=3))
    over = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
    known.saw(changed(known.units["team-a/a"], **over))
    assert (known.usage.of("team-a")["cpu"], firm_cpu(known)) == (3000, 3000)
    assert started(known) == []


def test_pods_that_a_deleted_job_left_behind_count_as_its_unit_did():
    known = bounded(kept("a", 3, **RUNS), kept("x", 2))
    known.saw(pod(job="a", cpu=3))
    known.lost(running_job("a"), 7)
    known.lost(known.units["team-a/a"])
    known.saw_pods(7)
    assert firm_cpu(known) == 3000
    assert started(known) == []
    known.lost(pod(job="a", cpu=3))
    assert started(known) == ["x"]


@pytest.mark.parametrize(("label", "expected"), [(KEPT, 3000), ({}, 0)])
def test_a_job_that_lost_its_unit_counts_by_its_own_label(label, expected):
    """Spec 5.12: until its pods are known, by its own word."""
    runs = running_job("a", labels=labelled(label), pod_sets=(pod_set(cpu=3),))
    known = bounded()
    known.saw(runs)
    assert (known.usage.of("team-a")["cpu"], firm_cpu(known)) == (3000, expected)


@pytest.mark.parametrize(("default", "expected"), [(True, 0), (False, 1000)])
def test_pods_of_which_nobody_knows_count_as_the_default_says(default, expected):
    known = bounded(counts_foreign=True, preemptible=default)
    known.saw(pod(owner=Owner("apps/v1", "ReplicaSet", "web", "web-1", controller=True)))
    assert firm_cpu(known) == expected


# -- taking from others


def test_nobody_gives_way_to_one_that_waits_for_min():
    """Spec 13.4: what may be taken back is not what it lacks."""
    known = bounded(
        lent("a", 4, **RUNS),
        kept("b", 3, **RUNS),
        kept("x", 2, priority=5),
        queues=[queue(annotations=PREEMPTS)],
    )
    assert started(known) == []
    assert known.takings.of("team-a/a") is None
    assert told(known, "x") == (
        "waiting for quota team-a: 2 cpu requested, not enough free of 8; "
        "2 cpu requested, not enough free of min 4 for jobs that are not preemptible"
    )


def test_one_that_fits_into_min_takes_its_place_from_those_that_may_go():
    known = bounded(
        lent("a", 8, **RUNS), kept("x", 4, priority=5), queues=[queue(annotations=PREEMPTS)]
    )
    assert started(known) == []
    taken = known.takings.of("team-a/a")
    assert taken is not None
    assert taken.told == "Preempted by team-a/x for cpu of quota team-a"


def test_a_drained_unit_gives_its_part_of_min_to_the_next_in_time():
    """Spec 13.6: what is given back is promised to one only, of min too."""
    mark = condition("Evicted", True, "Preempted", "x")
    known = bounded(
        kept("a", 4, conditions=(mark,), **RUNS),
        kept("x", 3, priority=5),
        kept("y", 2, minute=1),
        queues=[queue(annotations=PREEMPTS)],
    )
    assert started(known) == []
    out = {"phase": Phase.ENQUEUED, "raw_phase": "Enqueued", "grants": (), "conditions": ()}
    known.saw(changed(known.units["team-a/a"], **out))
    assert started(known) == ["x"]


def test_one_within_min_reclaims_it_from_another_quota():
    """Spec 13.10: what of it is firm fits into min anyhow."""
    top = quota("top", cpu=4, minimum=amounts(cpu=4), is_parent=True)
    own = quota("a", cpu=4, minimum=amounts(cpu=2), parent="top", annotations=RECLAIMS)
    other = quota("b", cpu=4, minimum=amounts(cpu=2), parent="top")
    lends = [lent(name, 2, "b", minute=minute, **RUNS) for minute, name in enumerate("vw")]
    known = bounded(*lends, kept("x", 2, "a"), of=(top, own, other))
    assert started(known, "a") == []
    taken = known.takings.of("team-a/w")
    assert taken is not None
    assert taken.reason == "Reclaimed"


def test_without_room_in_the_min_of_an_ancestor_nothing_is_reclaimed():
    top = quota("top", cpu=4, minimum=amounts(cpu=1), is_parent=True)
    own = quota("a", cpu=4, minimum=amounts(cpu=2), parent="top", annotations=RECLAIMS)
    other = quota("b", cpu=4, minimum=amounts(cpu=0), parent="top")
    known = bounded(lent("w", 4, "b", **RUNS), kept("x", 2, "a"), of=(top, own, other))
    assert started(known, "a") == []
    assert known.takings.of("team-a/w") is None


def test_who_may_not_be_preempted_is_the_same_for_both_rules():
    """One that counts as firm is nobody's victim, and a victim does not count as firm."""
    options = TakingOptions(preemptible=False)
    known = bounded(
        lent("a", 4, **RUNS),
        kept("x", 5, priority=5, minute=1),
        queues=[queue(annotations=PREEMPTS)],
        taking=options,
        preemptible=False,
    )
    assert firm_cpu(known) == 4000
    assert started(known) == []
    assert known.takings.of("team-a/a") is None
    assert is_candidate(known, "team-a/x")
