"""One that fits has another make way whose pods do not start (spec 13.12)."""

from datetime import timedelta

import msgspec
import pytest
from builders import amounts, at, changed, pod, pod_set, queue, quota, running_job, unit
from test_decide_taking import Cluster, low

from kq.core import keys, messages
from kq.core.model import Phase
from kq.core.options import RetryOptions, TakingOptions
from kq.decide.places import Place

ONE_AT_A_TIME = {keys.WAIT_FOR_PODS[0]: "true"}
M9 = messages.m9("team-a")
GIVES_BACK = messages.m12("team-a", ["team-a/starts"])
TWO = (pod_set("main", 2, cpu=1),)
NEVER = (pod_set(cpu=1),)


def starts(name="starts", cpu=1, **fields):
    """One that was granted and has no pod that runs."""
    return low(name, cpu, **{"phase": Phase.DEQUEUED, **fields})


def first(name="first", cpu=1, priority=5, **fields):
    return unit(name, cpu=cpu, priority=priority, minute=9, **fields)


def cluster(*units, cpu=8, annotations=ONE_AT_A_TIME, policy="Priority", **options):
    lines = [queue(annotations=annotations, policy=policy), queue("team-b")]
    quotas = [quota(cpu=cpu), quota("team-b", cpu=4)]
    return Cluster(*units, quotas=quotas, queues=lines, **options)


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_one_that_goes_first_has_the_one_make_way_that_does_not_start(policy):
    """Spec 13.12, 13.5: the victim's message and events name it; M12 until it is gone."""
    made = cluster(starts(), first(), policy=policy)
    assert made.pass_over() == []
    assert (made.victims(), made.told("first")) == (["team-a/starts"], GIVES_BACK)
    taken = made.book.takings.of("team-a/starts")
    assert taken.reason == "Preempted"
    assert taken.text == "Enqueued after preempted by team-a/first for quota team-a"
    assert taken.told == (
        "Preempted by team-a/first for quota team-a: it goes first in queue team-a"
    )
    assert made.book.takings.take_news() == ["team-a/starts"]
    made.mark("starts")
    assert (made.pass_over(), made.told("first")) == ([], GIVES_BACK)
    made.leave("starts")
    assert "team-a" in made.book.take_woken()
    assert made.pass_over() == ["first"]
    assert made.pass_over() == []
    assert (made.victims(), made.told("starts")) == ([], M9)


@pytest.mark.parametrize(
    ("holder", "candidate", "options"),
    [
        pytest.param(starts(priority=5, minute=1), first(), {}, id="as high and older"),
        pytest.param(starts(priority=6), first(), {}, id="higher"),
        pytest.param(
            starts(labels={**starts().labels, keys.PREEMPTIBLE_LABELS[0]: "false"}),
            first(),
            {},
            id="not preemptible",
        ),
        pytest.param(
            starts(allocated=at(9)),
            first(),
            {"taking": TakingOptions(protection=timedelta(minutes=30))},
            id="protected",
        ),
        pytest.param(
            starts(),
            first(
                pod_sets=(
                    msgspec.structs.replace(
                        NEVER[0],
                        template=msgspec.structs.replace(
                            NEVER[0].template, preemption_policy="Never"
                        ),
                    ),
                )
            ),
            {},
            id="the candidate's preemptionPolicy is Never",
        ),
        pytest.param(starts(active=False), first(), {}, id="leaves for another reason"),
    ],
)
def test_else_it_waits_for_the_pods_of_the_last_that_was_started(holder, candidate, options):
    """Spec 13.12, 13.2: else M9."""
    made = cluster(holder, candidate, **options)
    assert made.pass_over() == []
    assert (made.victims(), made.told("first")) == ([], M9)


def test_one_of_a_kind_that_cannot_be_stopped_stays():
    """Spec 13.12, 13.15."""
    made = cluster(starts(), first())
    made.book.saw(running_job("starts", evictable=False))
    assert (made.pass_over(), made.victims(), made.told("first")) == ([], [], M9)


def test_an_equal_one_that_is_younger_makes_way():
    """Spec 13.12: the order of 10.4 decides, not when it was granted."""
    made = cluster(starts(priority=5, minute=10), first())
    made.pass_over()
    assert made.victims() == ["team-a/starts"]


@pytest.mark.parametrize(("phase", "victims"), [("Running", []), ("Pending", ["team-a/starts"])])
def test_one_with_a_pod_that_runs_stays(phase, victims):
    """Spec 13.12: has no pod Running."""
    made = cluster(starts(pod_sets=TWO), first())
    made.book.saw(pod("starts-0", job="starts", phase=phase))
    made.pass_over()
    assert made.victims() == victims


def test_it_is_left_alone_when_its_pod_runs_before_its_eviction_has_begun():
    made = cluster(starts(pod_sets=TWO), first())
    made.pass_over()
    made.book.saw(pod("starts-0", job="starts"))
    assert "team-a" in made.book.take_woken()
    made.pass_over()
    assert (made.victims(), made.told("first")) == ([], M9)


def test_one_that_does_not_fit_displaces_nobody():
    """Spec 13.12: a candidate that fits."""
    made = cluster(starts(cpu=4), first(cpu=5), cpu=8)
    made.pass_over()
    assert made.victims() == []
    assert made.told("first").startswith("waiting for quota team-a: 5 cpu")


def test_without_the_annotation_it_just_starts():
    made = cluster(starts(), first(), annotations={})
    assert made.pass_over() == ["first"]
    assert made.victims() == []


def test_all_that_hold_the_queue_up_make_way_or_none():
    """Spec 13.4, 24.6: no eviction without effect."""
    made = cluster(starts("one"), starts("two", priority=9), first())
    made.pass_over()
    assert (made.victims(), made.told("first")) == ([], M9)
    made = cluster(starts("one"), starts("two"), first())
    made.pass_over()
    assert made.victims() == ["team-a/one", "team-a/two"]


def test_those_whose_pods_run_are_left_alone():
    made = cluster(starts(), low("runs", 1), first())
    made.book.saw(pod("runs-0", job="runs"))
    made.pass_over()
    assert (made.victims(), made.told("first")) == (["team-a/starts"], GIVES_BACK)


def test_only_the_first_displaces_and_nobody_slips_in_before_it():
    """Spec 13.6: its request is set aside, also from lower ones of other Queues."""
    tree = [quota("top", cpu=4), quota(parent="top"), quota("team-b", parent="top")]
    lines = [queue(annotations=ONE_AT_A_TIME), queue("team-b")]
    units = [starts(), first(cpu=3), first("second", cpu=3, priority=4)]
    elsewhere = [unit("other", quota="team-b", cpu=1), unit("above", quota="team-b", priority=9)]
    made = Cluster(*units, *elsewhere, quotas=tree, queues=lines)
    made.pass_over()
    assert made.victims() == ["team-a/starts"]
    assert not made.told("second").startswith("waiting for 1 unit(s)")
    made.mark("starts")
    assert made.pass_over("team-b") == ["above"]
    assert made.told("other").startswith("waiting for quota top, ancestor of team-b: 1 cpu")
    made.leave("starts")
    assert made.pass_over("team-b") == []
    assert made.pass_over() == ["first"]


def test_one_that_waits_for_it_is_in_no_back_off():
    """Spec 10.19: it lacks no quota."""
    made = cluster(starts(), first(), retry=RetryOptions(backs_off=True))
    made.pass_over()
    assert made.told("first") == GIVES_BACK
    made.mark("starts")
    made.leave("starts")
    assert made.pass_over(minute=10.001) == ["first"]


def test_one_behind_a_job_whose_unit_is_about_to_be_made_displaces_nobody():
    """Spec 10.4, 24.6: the place that would be freed is that job's."""
    made = cluster(starts(), first())
    order = (-9, 0.0, "team-a/expected")
    made.book.expect("job-expected", Place("team-a", order, "team-a", amounts(cpu=1)))
    made.pass_over()
    assert (made.victims(), made.told("first")) == ([], M9)


def test_when_a_protection_ends_it_is_looked_at_again():
    """Spec 10.15, 13.8."""
    options = TakingOptions(protection=timedelta(minutes=30))
    made = cluster(starts(allocated=at(9)), first(), taking=options)
    made.pass_over()
    assert made.book.next_look("team-a") == at(39)
    made.pass_over(minute=39)
    assert made.victims() == ["team-a/starts"]


def test_if_the_first_goes_away_nobody_is_displaced_any_more():
    """Spec 13.6: further evictions are not begun."""
    made = cluster(starts(), first())
    made.pass_over()
    known = made.book.units["team-a/first"]
    made.book.saw(changed(known, active=False))
    assert "team-a" in made.book.take_woken() or made.pass_over() == []
    made.pass_over()
    assert made.victims() == []
