"""What counts in ResourceQuotas is the sum over grants and pods, whatever came first (11.16)."""

import pytest
from builders import NOW, grant, job_view, pod, queue, unit
from hypothesis import given
from hypothesis import strategies as st
from resource_quotas import container, picture, pods, rq

from kq.core.demand import demand
from kq.core.model import Phase
from kq.decide.book import Book
from kq.policies import POLICIES

QUOTAS = (
    rq("all", hard={"requests.cpu": 20, "count/pods": 30}),
    rq("late", hard={"cpu": 10, "pods": 5}, scopes=["Terminating"]),
)
ENDS = {"activeDeadlineSeconds": 60}


def asks(cpu, ends):
    return {"requests": {"cpu": cpu}}, ENDS if ends else {}


def held(number, cpu, count, ends, phase):
    """A job and its unit."""
    resources, spec = asks(cpu, ends)
    role = pods(container(**resources), count=count, **spec)
    made = unit(f"u{number}", quota=None, queue="", pod_sets=(role,), phase=phase)
    return [job_view(f"u{number}", pod_sets=(role,)), made]


def foreign(number, cpu, ends, phase):
    """A pod that is of no job."""
    resources, spec = asks(cpu, ends)
    request = demand({"containers": [container(**resources)], **spec})
    return pod(f"own-{number}", owner=None, phase=phase, request=request)


PHASES = st.sampled_from([Phase.ENQUEUED, Phase.RESERVED, Phase.RUNNING, Phase.SUCCEED])
UNITS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.booleans(), PHASES), max_size=4)
OWN = st.lists(
    st.tuples(st.integers(1, 3), st.booleans(), st.sampled_from(["Running", "Failed"])), max_size=3
)


def known(views, quotas=QUOTAS):
    book = Book(
        policies=POLICIES,
        default_policy="Priority",
        quotas=picture(*quotas),
        kinds=["Job"],
        counts_foreign=True,
    )
    for each in [queue(), *views]:
        book.saw(each)
    return book


def in_use(book):
    used = {}
    for name in ("all", "late"):
        of = book.usage.of(f"team-a/{name}")
        used[name] = {key: of.get(f"{key}@{name}", 0) for key in QUOTAS[name == "late"].limit}
    return used


def expected(units, own):
    holding = (Phase.RESERVED, Phase.RUNNING)
    asked = [(cpu, count, ends) for cpu, count, ends, phase in units if phase in holding]
    asked += [(cpu, 1, ends) for cpu, ends, phase in own if phase == "Running"]
    late = [each for each in asked if each[2]]
    ended = sum(phase != "Running" for _, _, phase in own)
    return {
        "all": {
            "count/pods": sum(count for _, count, _ in asked) + ended,
            "requests.cpu": sum(cpu * count * 1000 for cpu, count, _ in asked),
        },
        "late": {
            "cpu": sum(cpu * count * 1000 for cpu, count, _ in late),
            "pods": sum(count for _, count, _ in late),
        },
    }


@given(UNITS, OWN, st.randoms(use_true_random=False))
def test_usage_is_the_sum_of_grants_and_foreign_pods_in_whatever_order(units, own, chance):
    views = [view for number, each in enumerate(units) for view in held(number, *each)]
    views += [foreign(number, *each) for number, each in enumerate(own)]
    chance.shuffle(views)
    assert in_use(known(views)) == expected(units, own)


@given(UNITS, OWN)
def test_a_quota_that_comes_later_counts_all_that_is_there(units, own):
    views = [view for number, each in enumerate(units) for view in held(number, *each)]
    views += [foreign(number, *each) for number, each in enumerate(own)]
    book = known(views, quotas=())
    for quotas in (QUOTAS[:1], QUOTAS):
        book.set_quotas(picture(*quotas), structure_changed=True)
    assert in_use(book) == expected(units, own)


@given(UNITS, OWN)
def test_no_cycle_grants_beyond_any_quota(units, own):
    """Spec 24.1, for quotas that were not overrun before."""
    waiting = [(cpu, count, ends, Phase.ENQUEUED) for cpu, count, ends, _ in units]
    views = [view for number, each in enumerate(waiting) for view in held(number, *each)]
    views += [foreign(number, *each) for number, each in enumerate(own)]
    book = known(views)
    book.take_woken()
    granted = book.cycle("team-a", NOW)
    for level in book.quotas.chain("team-a"):
        used = book.usage.of(level.name)
        assert all(used.get(key, 0) <= amount for key, amount in level.limit.items())
    left = [view for view in book.units.values() if view.phase is Phase.ENQUEUED]
    assert len(granted) + len(left) == len(units)


def test_the_larger_of_grant_and_live_pods_counts_by_quota():
    """Spec 11.7: a pod that somebody else made larger counts as it is."""
    role = pods(container(requests={"cpu": 1}), count=2)
    job = job_view("u", pod_sets=(role,))
    runs = unit("u", quota=None, queue="", pod_sets=(role,), phase=Phase.RUNNING)
    grown = demand({"containers": [container(requests={"cpu": 3})]})
    book = known([job, runs, pod("p", job="u", request=grown)])
    assert in_use(book)["all"] == {"requests.cpu": 3000, "count/pods": 2}


OBJECTS = (rq("objects", hard={"count/pods": 3, "pods": 9, "koord-queue/max-jobs": 9}),)
ROLE = pods(container(requests={"cpu": 1}), count=2)
ONE = demand({"containers": [container(requests={"cpu": 1})]})


def objects(of):
    """Pods that are there, those of them that are live, and jobs."""
    used = of.usage.of("team-a/objects")
    keys = ("count/pods", "pods", "koord-queue/max-jobs")
    return tuple(used.get(f"{key}@objects", 0) for key in keys)


def ran(name, *phases, **fields):
    """A job with pods in these phases, and its unit."""
    made = [
        pod(f"{name}-{n}", job=name, phase=phase, request=ONE) for n, phase in enumerate(phases)
    ]
    held = unit(name, quota=None, queue="", pod_sets=(ROLE,), **fields)
    return [job_view(name, pod_sets=(ROLE,)), held, *made]


@pytest.mark.parametrize(
    ("phase", "pods_of", "expected"),
    [
        pytest.param(Phase.RUNNING, [], (2, 2, 1), id="granted"),
        pytest.param(Phase.RUNNING, ["Running", "Running"], (2, 2, 1), id="its pods run"),
        pytest.param(Phase.RUNNING, ["Running", "Succeeded"], (2, 2, 1), id="one has ended"),
        pytest.param(Phase.RUNNING, ["Running", "Failed", "Running"], (3, 2, 1), id="replaced"),
        pytest.param(Phase.SUCCEED, ["Succeeded", "Succeeded"], (2, 0, 0), id="over"),
        pytest.param(Phase.SUCCEED, ["Succeeded", "Running"], (2, 1, 1), id="over, one runs on"),
        pytest.param(Phase.ENQUEUED, ["Failed"], (1, 0, 0), id="of an earlier run"),
        pytest.param(Phase.SUCCEED, [], (0, 0, 0), id="over, its pods are gone"),
    ],
)
def test_11_14_pods_that_have_ended_count_as_objects_while_they_are_there(phase, pods_of, expected):
    """So does the API server, which refuses one more."""
    assert objects(known(ran("u", *pods_of, phase=phase), quotas=OBJECTS)) == expected


def test_11_14_ended_pods_of_nobody_or_of_a_job_that_is_gone_count_as_objects():
    foreign = pod("own", owner=None, phase="Succeeded", request=ONE)
    left = pod("left", job="gone", phase="Failed", request=ONE)
    of = known([foreign, left], quotas=OBJECTS)
    assert objects(of) == (2, 0, 0)
    of.lost(left)
    of.lost(foreign)
    assert objects(of) == (0, 0, 0)


def test_11_14_a_job_waits_until_ended_pods_are_gone():
    over, waits = ran("over", *["Succeeded"] * 2, phase=Phase.SUCCEED), ran("waits", minute=1)
    of = known([*over, *waits], quotas=OBJECTS)
    of.take_woken()
    assert of.cycle("team-a", NOW) == []
    told = "waiting for quota team-a/objects: 2 count/pods requested, not enough free of 3"
    assert of.verdict("team-a/waits").message == told
    of.lost(over[-1])
    assert of.take_woken() == ["team-a"]
    assert [each.name for each in of.cycle("team-a", NOW)] == ["waits"]


def test_11_9a_a_stuck_pod_is_still_an_object():
    stuck = pod("stuck", owner=None, request=ONE, deleted_at=NOW)
    of = known([stuck], quotas=OBJECTS)
    assert objects(of) == (1, 1, 0)
    of.stuck(stuck)
    assert objects(of) == (1, 0, 0)
    of.lost(stuck)
    assert objects(of) == (0, 0, 0)


def test_a_grant_for_unknown_pods_counts_by_its_own_resources_in_every_quota():
    """Spec 22.1."""
    role = pods(container(requests={"cpu": 1}))
    grants = (grant("old", 2, cpu=2),)
    runs = unit("u", quota=None, queue="", pod_sets=(role,), phase=Phase.RUNNING, grants=grants)
    assert in_use(known([job_view("u", pod_sets=(role,)), runs])) == {
        "all": {"requests.cpu": 4000, "count/pods": 2},
        "late": {"cpu": 4000, "pods": 2},
    }
