"""What wakes a Queue, and nothing else does (spec 10.15, 10.17)."""

import pytest
from books import JOB, A, B, cpu_used, is_candidate, message, waiting_book
from builders import (
    NOW,
    amounts,
    book,
    changed,
    job_view,
    namespace,
    pod,
    pod_set,
    queue,
    quota,
    quotas,
    request_of,
    unit,
)

from kq.core import keys
from kq.core.model import Phase
from kq.decide.places import Place
from kq.decide.turns import dominant_share
from kq.decide.usage import UsageIndex
from kq.quota.unlimited import Unlimited

RUNS = {"phase": Phase.RUNNING}


def tree():
    """p1 over c1 and c3, p2 over c2; c1 uses all of p1, a unit waits in each."""
    levels = [quota("p1", cpu=4), quota("p2", cpu=4)]
    leaves = [quota("c1", parent="p1"), quota("c3", parent="p1"), quota("c2", parent="p2")]
    holder = unit("holder", quota="c1", cpu=4, phase=Phase.RUNNING)
    waiting = [unit(f"w-{name}", quota=name, cpu=5) for name in ("c1", "c2", "c3")]
    everything = [*waiting, holder]
    jobs = [job_view(each.name) for each in everything]
    lines = [queue(name) for name in ("c1", "c2", "c3")]
    return levels, leaves, [*lines, *jobs, *everything], holder


def later(name, **fields):
    """A unit as it was edited since."""
    return unit(name, resource_version="2", **fields)


@pytest.mark.parametrize(
    ("event", "woken"),
    [
        pytest.param(
            lambda known, held: known.lost(held),
            {"c1", "c3"},
            id="a holder goes: all that share a level",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(held, phase=Phase.SUCCEED, grants=())),
            {"c1", "c3"},
            id="grants are dropped",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(held, grants=())), set(), id="nothing is freed"
        ),
        pytest.param(
            lambda known, held: known.saw(changed(held, message="other")), set(), id="another text"
        ),
        pytest.param(
            lambda known, held: known.lost(unit("w-c2", quota="c2", cpu=5)),
            {"c2"},
            id="the last that waited in a Queue goes",
        ),
        pytest.param(
            lambda known, held: known.saw(later("w-c2", quota="c2", cpu=5, priority=9)),
            {"c2"},
            id="another priority",
        ),
        pytest.param(
            lambda known, held: known.saw(later("w-c2", quota="c2", cpu=6)), {"c2"}, id="a request"
        ),
        pytest.param(
            lambda known, held: known.saw(later("w-c2", quota="c1", cpu=5)),
            {"c1", "c2"},
            id="another quota: the old and the new Queue",
        ),
        pytest.param(
            lambda known, held: known.saw(later("w-c2", quota="c2", cpu=5, active=False)),
            {"c2"},
            id="deactivated",
        ),
        pytest.param(
            lambda known, held: known.saw(unit("x", quota="c2", job="w-c2", minute=1)),
            set(),
            id="a second unit of a job is no candidate",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), priority=7)),
            {"c3"},
            id="a Queue's rules",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), policy="Block")),
            {"c3"},
            id="a Queue's policy",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), counts=(1, 0, 0))),
            set(),
            id="a Queue's status",
        ),
        pytest.param(
            lambda known, held: known.saw(changed(queue("c3"), annotations={"koord-queue/x": "y"})),
            {"c3"},
            id="a Queue's annotations",
        ),
        pytest.param(
            lambda known, held: known.saw(namespace(labels={"koord-queue/managed": "true"})),
            set(),
            id="labels of a namespace that decide nothing",
        ),
    ],
)
def test_what_wakes(event, woken):
    levels, leaves, views, held = tree()
    known = book(*levels, *leaves, views=views)
    event(known, held)
    assert set(known.take_woken()) == woken


def test_a_new_unit_wakes_its_queue_once():
    known = waiting_book(job_view("a"))
    known.saw(A)
    assert known.take_woken() == ["team-a"]
    assert known.take_woken() == []


def test_a_unit_that_comes_before_its_queue_waits_for_it():
    known = book(quota(cpu=4), views=[job_view("a"), A])
    assert known.take_woken() == []
    assert known.verdict(A.key) is None
    known.saw(queue())
    assert known.take_woken() == ["team-a"]
    assert is_candidate(known, A.key)


def test_a_queue_that_goes_takes_its_candidates_out():
    known = waiting_book(job_view("a"), A)
    known.lost(queue())
    assert not is_candidate(known, A.key)
    assert known.take_woken() == []
    assert known.cycle("team-a", NOW) == []


def test_the_end_of_the_last_pod_of_an_earlier_run_wakes():
    leftover = pod(job="a")
    known = waiting_book(job_view("a"), leftover, A)
    assert not is_candidate(known, A.key)
    known.lost(leftover)
    assert known.take_woken() == ["team-a"]
    assert is_candidate(known, A.key)


def test_a_pod_that_is_stuck_frees_its_quota_but_not_its_own_job():
    """Spec 11.9a."""
    leftover = pod(job="a", cpu=4)
    known = waiting_book(job_view("a"), job_view("b"), leftover, unit("a"), B)
    assert cpu_used(known) == 4000
    known.stuck(leftover)
    assert cpu_used(known) == 0
    assert [each.key for each in known.cycle("team-a", NOW)] == [B.key]


def test_a_higher_max_wakes_and_moves_nobody():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.set_quotas(quotas(quota(cpu=5)), structure_changed=False)
    assert known.take_woken() == ["team-a"]
    assert len(known.cycle("team-a", NOW)) == 1


def test_quotas_that_did_not_change_wake_nobody():
    known = waiting_book(job_view("a"), unit("a", cpu=5))
    known.set_quotas(quotas(quota(cpu=4)), structure_changed=True)
    assert known.take_woken() == []


def test_a_max_below_usage_evicts_nobody_and_lets_nobody_start():
    """Case E4."""
    small = unit("small", cpu=1)
    held = [unit(f"held{n}", cpu=4, phase=Phase.RUNNING) for n in (1, 2)]
    known = waiting_book(*[job_view(each.name) for each in (small, *held)], small, *held, cpu=10)
    known.set_quotas(quotas(quota(cpu=5)), structure_changed=False)
    assert known.cycle("team-a", NOW) == []
    assert cpu_used(known) == 8000
    known.saw(changed(held[0], phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert known.take_woken() == ["team-a"]
    assert [each.key for each in known.cycle("team-a", NOW)] == [small.key]


def test_usage_that_moves_to_another_parent_wakes_those_below_the_old_one():
    """Case E3."""
    levels, leaves, views, _ = tree()
    views.append(unit("fits", quota="c3", cpu=4))
    known = book(*levels, *leaves, views=[*views, job_view("fits")])
    assert known.cycle("c3", NOW) == []
    moved = [quota("c1", parent="p2"), *leaves[1:]]
    known.set_quotas(quotas(*levels, *moved), structure_changed=True)
    assert (cpu_used(known, "p1"), cpu_used(known, "p2")) == (0, 4000)
    assert "c3" in known.take_woken()
    assert [each.name for each in known.cycle("c3", NOW)] == ["fits"]


def test_a_quota_deleted_and_made_again_sees_what_is_running():
    """Spec 11.8."""
    held = unit("a", cpu=4, phase=Phase.RUNNING)
    known = waiting_book(job_view("a"), job_view("b"), held, B)
    known.set_quotas(quotas(), structure_changed=True)
    assert message(known, B.key) == "quota team-a does not exist"
    known.set_quotas(quotas(quota(cpu=4)), structure_changed=True)
    assert cpu_used(known) == 4000
    assert known.take_woken() == ["team-a"]
    assert known.cycle("team-a", NOW) == []


def test_queues_are_woken_by_priority_then_share_then_age_then_name():
    """Spec 10.17."""
    minimum = quota("x", cpu=8).limit
    lines = [
        quota("low", minimum=minimum),
        quota("high"),
        quota("used", minimum=minimum),
        quota("idle", minimum=minimum),
        quota("old"),
        quota("b-young"),
        quota("a-young"),
    ]
    priorities = {"low": -1, "high": 5}
    holder = unit("holder", quota="used", cpu=4, phase=Phase.RUNNING)
    ages = {"old": -5}
    waiting = [unit(f"w-{q.name}", quota=q.name, minute=ages.get(q.name, 0)) for q in lines]
    views = [queue(each.name, priority=priorities.get(each.name, 0)) for each in lines]
    known = book(*lines, views=views)
    for each in (holder, *waiting):
        known.saw(job_view(each.name))
        known.saw(each)
    assert known.take_woken() == ["high", "idle", "used", "old", "a-young", "b-young", "low"]


def test_10_17_of_several_resources_that_which_is_used_most_counts():
    """Spec 10.17: the dominant share, of what min names."""
    held = {"b": pod_set(cpu=5, gpu=1), "a": pod_set(cpu=1, gpu=6, memory="1Ti")}
    known = book(
        *(quota(name, minimum=amounts(cpu=10, gpu=10)) for name in held),
        views=[queue(name) for name in held],
    )
    for name, pods in held.items():
        holds = unit(f"r-{name}", quota=name, pod_sets=(pods,), **RUNS)
        for one in (holds, unit(f"w-{name}", quota=name)):
            known.saw(job_view(one.name))
            known.saw(one)
    assert known.take_woken() == ["b", "a"]


def test_10_17_a_quota_without_limits_has_no_share_and_comes_last():
    assert dominant_share("default", Unlimited(), UsageIndex(lambda name: [name])) == float("inf")


def test_a_queue_that_is_being_deleted_takes_its_candidates_out():
    known = waiting_book(job_view("a"), A)
    known.saw(changed(queue(), deleting=True))
    assert not is_candidate(known, A.key)
    assert known.cycle("team-a", NOW) == []


# -- units that are about to be made (spec 10.4) ---------------------------------------------


def expecting(policy: str, ahead_cpu: int, free_cpu: int = 4):
    """`late` of 4 cpu waits; a job of a higher priority has no unit yet."""
    late = unit("late", cpu=4, minute=1)
    known = book(quota(cpu=free_cpu), views=[queue(policy=policy), job_view("late"), late])
    ahead = unit("ahead", cpu=ahead_cpu, priority=5)
    place = Place("team-a", (-5, 0.0, ahead.key), "team-a", request_of(ahead.pod_sets))
    known.expect("job-ahead", place)
    return known, ahead


@pytest.mark.parametrize("policy", ["Priority", "Block"])
def test_nobody_takes_what_is_of_one_whose_unit_is_about_to_be_made(policy):
    known, ahead = expecting(policy, ahead_cpu=4)
    assert known.cycle("team-a", NOW) == []
    for each in (job_view("ahead"), ahead):
        known.saw(each)
    known.expected("job-ahead")
    assert "team-a" in known.take_woken()
    assert [each.name for each in known.cycle("team-a", NOW)] == ["ahead"]


@pytest.mark.parametrize(("policy", "started"), [("Priority", ["late"]), ("Block", [])])
def test_one_that_is_expected_and_does_not_fit_counts_as_the_policy_says(policy, started):
    known, _ = expecting(policy, ahead_cpu=5)
    assert [each.name for each in known.cycle("team-a", NOW)] == started


def test_one_that_is_expected_takes_nothing_where_there_is_enough():
    known, _ = expecting("Block", ahead_cpu=4, free_cpu=8)
    assert [each.name for each in known.cycle("team-a", NOW)] == ["late"]


def test_an_attempt_that_failed_holds_nobody_up():
    known, _ = expecting("Priority", ahead_cpu=4)
    known.cycle("team-a", NOW)
    known.take_woken()
    known.expected("job-ahead")
    assert known.take_woken() == ["team-a"]
    assert [each.name for each in known.cycle("team-a", NOW)] == ["late"]


def test_a_job_that_is_gone_is_expected_no_more():
    known, _ = expecting("Priority", ahead_cpu=4)
    known.saw(job_view("ahead"))
    known.cycle("team-a", NOW)
    known.take_woken()
    known.lost(job_view("ahead"))
    assert known.take_woken() == ["team-a"]
    assert [each.name for each in known.cycle("team-a", NOW)] == ["late"]


# -- one unit at a time, lists cut short, thresholds (spec 10.11-10.13)


SMALL = unit("b", cpu=1, minute=1)


def line_of(*views, policy="Priority", **annotations):
    marked = {name.replace("_", "-"): value for name, value in annotations.items()}
    annotations = {f"koord-queue/{name}": value for name, value in marked.items()}
    return book(quota(cpu=8), views=(queue(policy=policy, annotations=annotations), *views))


def names(units):
    return [each.name for each in units]


def test_the_next_unit_starts_once_all_pods_of_the_last_run():
    two = unit("a", cpu=1, replicas=2)
    known = line_of(JOB, two, job_view("b"), SMALL, wait_for_pods_running="true")
    assert names(known.cycle("team-a", NOW)) == ["a"]
    known.saw(pod("a-0", job="a"))
    known.saw(pod("a-1", job="a", phase="Pending"))
    assert known.cycle("team-a", NOW) == []
    known.take_woken()
    known.saw(changed(pod("a-1", job="a", phase="Pending"), phase="Running"))
    assert known.take_woken() == ["team-a"]
    assert names(known.cycle("team-a", NOW)) == ["b"]


def test_pods_that_have_ended_well_count_as_running():
    known = line_of(
        JOB,
        unit("a", cpu=1, phase=Phase.RUNNING),
        job_view("b"),
        SMALL,
        wait_for_pods_running="true",
    )
    assert known.cycle("team-a", NOW) == []
    known.saw(pod("a-0", job="a", phase="Succeeded"))
    assert names(known.cycle("team-a", NOW)) == ["b"]


def test_each_role_has_to_run():
    roles = (pod_set("ps", 1, cpu=1), pod_set("worker", 2, cpu=1))
    runs = unit("a", pod_sets=roles, phase=Phase.RUNNING)
    known = line_of(JOB, runs, job_view("b"), SMALL, wait_for_pods_running="true")
    for number in range(3):
        known.saw(pod(f"w-{number}", job="a", pod_set="worker"))
    assert known.cycle("team-a", NOW) == []
    known.saw(pod("ps-0", job="a", pod_set="ps"))
    assert names(known.cycle("team-a", NOW)) == ["b"]


def test_a_list_that_was_cut_short_goes_on_at_once_until_all_had_their_try():
    """Spec 10.12."""
    large = [unit(f"l{number}", cpu=9, minute=number) for number in range(4)]
    jobs = [job_view(each.name) for each in (*large, SMALL)]
    known = line_of(*jobs, *large, unit("b", cpu=1, minute=9), policy="Intelligent", max_depth="2")
    assert known.cycle("team-a", NOW) == []
    assert known.take_woken() == ["team-a"]
    assert known.cycle("team-a", NOW) == []
    assert known.take_woken() == ["team-a"]
    assert names(known.cycle("team-a", NOW)) == ["b"]


def test_what_happens_meanwhile_begins_at_the_head_again():
    large = [unit(f"l{number}", cpu=9, minute=number) for number in range(4)]
    jobs = [job_view(each.name) for each in large]
    known = line_of(*jobs, *large, policy="Intelligent", max_depth="2")
    known.cycle("team-a", NOW)
    known.saw(changed(large[0], priority=1))
    assert known.take_woken() == ["team-a"]
    known.cycle("team-a", NOW)
    assert known.verdict(large[0].key) is not None


def test_a_new_threshold_moves_units_at_once():
    """Spec 10.11e."""
    first, second = unit("a", cpu=9, priority=5), unit("b", cpu=1, priority=5, minute=1)
    line = queue(policy="Intelligent")
    known = book(quota(cpu=8), views=(line, JOB, job_view("b"), first, second))
    assert known.cycle("team-a", NOW) == []
    known.saw(changed(line, annotations={keys.THRESHOLD[0]: "6"}))
    assert known.take_woken() == ["team-a"]
    assert names(known.cycle("team-a", NOW)) == ["b"]


def test_a_queue_goes_on_when_the_unit_that_it_waited_for_ends_whatever_its_quota():
    """Spec 10.13, 10.15: the one that ends gives nothing back that the others could use."""
    line = queue("both", annotations={keys.WAIT_FOR_PODS[0]: "true"})
    named = {keys.QUEUE_NAME[0]: "both"}
    first = unit("first", quota="one", phase=Phase.RUNNING, annotations=named)
    second = unit("second", quota="two", annotations=named)
    jobs = [job_view("first"), job_view("second")]
    of = book(quota("one", cpu=4), quota("two", cpu=4), views=(line, *jobs, first, second))
    assert of.cycle("both", NOW) == []
    of.take_woken()
    of.saw(changed(first, phase=Phase.SUCCEED, raw_phase="Succeed", grants=()))
    assert of.take_woken() == ["both"]
    assert [each.name for each in of.cycle("both", NOW)] == ["second"]
