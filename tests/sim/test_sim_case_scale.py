"""Many jobs, and large ones, on the simulated cluster: cases O1 to O4 and their neighbours.

KQ_SCALE_JOBS says how many; the suite takes few, so that it stays quick: 10000 take minutes.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator

import pytest
from sim_case import TEAM, Case, on_stage, sort_of
from simulated_ground import manifests

from kq.core import keys
from kq.core.kinds import JOB, LIMIT_RANGE, QUEUE_UNIT
from kq.sim.cluster.cluster import node
from kq.sim.faults import Asked, Matches, Trouble, on
from kq.sim.world import Terms

GIVEN = int(os.environ.get("KQ_SCALE_JOBS", "0"))
JOBS = GIVEN or 120
PAGE = 500
"""Objects that the manager asks for at once."""
PAGED = max(JOBS, PAGE + 40)
ROOM = {"cpu": "100k", "memory": "1Pi", "pods": "1M"}
MOST_WRITES = 6
"""Of a job that waits for one reason and then runs for a while; its Queue's status not counted."""


@pytest.fixture
def case() -> Iterator[Case]:
    terms = Terms(objects=manifests(), nodes=[node("large", ROOM)], history=100_000)
    with on_stage(terms=terms) as case:
        yield case


def submit(case: Case, count: int, quota: str, name: str = "job", **what: object) -> list[str]:
    names = [f"{name}-{number:05}" for number in range(count)]
    case.world.submit(*(case.world.manifest(each, quota, **what) for each in names))  # type: ignore[arg-type]
    return names


def count(case: Case, *phases: str) -> int:
    """How many units are in one of these phases; only their bytes are looked at."""
    kind = case.simulation.server.registry.of(QUEUE_UNIT.api_version, QUEUE_UNIT.kind)
    assert kind is not None
    marks = [f'"phase":"{each}"'.encode() for each in phases]
    return sum(any(mark in each.raw for mark in marks) for each in case.storage.list(kind))


def writes_by_name(case: Case) -> Counter[str]:
    ours = (each for each in case.writes() if each.plural in ("jobs", "queueunits"))
    return Counter(each.name for each in ours)


# -- O1


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({"parallelism": 1_000_000, "completions": 1_000_000}, 1_000_000),
        ({"parallelism": 1_000_000}, 1_000_000),
        ({"parallelism": 7, "completions": 1_000_000}, 7),
        ({"parallelism": 1_000_000, "completions": 3}, 3),
    ],
    ids=["both", "parallelism", "few at once", "few in all"],
)
def test_o1_a_million_pods_are_counted_and_not_walked_over(
    case: Case, spec: dict[str, int], pods: int
) -> None:
    quota = case.world.quota("a", cpu=2)
    case.world.job("huge", quota, cpu=2, spec=spec)
    unit = case.world.wait_unit("huge", lambda each: "cannot start" in str(each.get("status")))
    assert [each["count"] for each in unit["spec"]["podSet"]] == [pods]
    spelled = {2_000_000: "2M"}.get(2 * pods, str(2 * pods))
    assert unit["spec"]["resource"]["cpu"] == spelled
    case.world.job("small", quota, cpu=2, run_for="1s")
    case.until(lambda: case.phases()["small"] == "Succeed", "others go on", 10.0)


# -- O2


def test_o2_many_jobs_at_rest_are_not_written_to_in_an_hour(case: Case) -> None:
    limit = {"type": "Container", "defaultRequest": {"memory": "1Gi"}}
    body = {"metadata": {"name": "x", "namespace": TEAM}, "spec": {"limits": [limit]}}
    case.ground.create(LIMIT_RANGE, body)
    a, b = case.world.quota("a", cpu=JOBS // 6), case.world.quota("b", cpu=JOBS // 6)
    part = JOBS // 6
    submit(case, part, a, "runs", cpu=1)
    case.passes(10)
    submit(case, part, a, "waits", cpu=1)
    submit(case, part, b, "ends", cpu=1, run_for="1s")
    submit(case, part, b, "never", cpu=JOBS + 1)
    submit(case, part, case.world.name_of("none"), "lost", cpu=1)
    submit(case, part, b, "rests", cpu=1, annotations={keys.ACTIVE: "false"})
    case.passes(120)
    assert Counter(case.phases().values()) == {
        "Running": part,
        "Enqueued": 4 * part,
        "Succeed": part,
    }
    versions = {each["metadata"]["name"]: each["metadata"] for each in case.all(QUEUE_UNIT)}
    case.heard.clear()
    for trouble in (Trouble.EXPIRED, Trouble.DROPPED):
        case.plan(trouble, lambda asked: asked.verb == "watch", times=11)
        case.passes(1800)
    assert [sort_of(each) for each in case.heard if each.is_write] == []
    assert versions == {each["metadata"]["name"]: each["metadata"] for each in case.all(QUEUE_UNIT)}


# -- O3


def test_o3_the_unit_of_a_large_job_stays_small(case: Case) -> None:
    quota = case.world.quota("a", cpu=40)
    env = [{"name": f"NAME_{number}", "value": "x" * 100} for number in range(200)]
    containers = [
        {
            "name": f"c{number}",
            "image": "busybox",
            "env": env,
            "resources": {"requests": {"cpu": "1"}},
        }
        for number in range(40)
    ]
    body = case.world.manifest("large", quota, pod_spec={"containers": containers})
    assert len(str(body)) > 1_000_000
    case.world.submit(body)
    case.until(lambda: case.phases().get("large") == "Running", "it runs", 10.0)
    unit = case.world.unit("large")
    assert unit["spec"]["resource"] == {"cpu": "40"}
    assert len(str(unit)) < 20_000


@pytest.mark.parametrize("sort", ["create queueunits", "patch jobs"])
def test_o3_what_is_too_large_for_the_api_server_is_told_and_not_tried_over_and_over(
    case: Case, sort: str
) -> None:
    quota = case.world.quota("a", cpu=2)
    ends = case.now + 300
    fault = case.plan(
        Trouble.FAILED,
        lambda asked: sort_of(asked) == sort and case.now < ends,
        times=10**6,
        code=413,
    )
    case.world.job("large", quota, cpu=1)
    case.passes(120)
    told = {each["reason"] for each in case.world.events("large")}
    assert told & {"UnitRefused", "ResumeFailed"}
    assert fault.struck <= 20
    case.world.job("small", quota, cpu=1)
    case.passes(200)
    case.until(lambda: case.phases().get("large") == "Running", "it runs", 400.0)


# -- O4


def test_o4_when_a_large_job_ends_all_that_fits_is_released_soon_and_in_order(case: Case) -> None:
    places = JOBS * 2 // 3
    quota = case.world.quota("a", cpu=places)
    case.world.job("big", quota, cpu=places)
    case.world.wait_phase("big", "Running")
    names = submit(case, JOBS, quota, cpu=1)
    case.passes(60)
    assert count(case, "Enqueued") == JOBS
    case.heard.clear()
    case.world.delete_job("big")
    took = case.until(lambda: count(case, "Dequeued", "Running") == places, "all run", 30.0)
    assert took < 10.0
    released = [each.name for each in case.asked("patch", "jobs")]
    assert sorted(released) == names[:places]
    # Sixteen at a time are on their way: nobody is further from its place than that.
    assert max(abs(released.index(name) - names.index(name)) for name in released) <= 32
    case.passes(30)
    assert max(writes_by_name(case).values()) <= 3


# -- neighbours


def test_many_jobs_through_few_places_end_all_and_cost_few_writes_each(case: Case) -> None:
    places = JOBS // 20
    quota = case.world.quota("a", cpu=places)
    names = submit(case, JOBS, quota, cpu=1, run_for="2s")
    case.until(lambda: count(case, "Succeed") == JOBS, "all have ended", 40 * 4.0)
    costs = writes_by_name(case)
    assert max(costs[each] for each in names) <= MOST_WRITES
    queues = [each for each in case.writes() if each.plural == "queues"]
    assert len(queues) <= 2 + 160 / 5 * 2
    assert set(case.onlooker.releases.values()) == {1}


def test_j1_l2_a_restart_with_many_jobs_reads_each_page_once_and_writes_nothing(
    case: Case,
) -> None:
    """Nor when the token of the first page is too old as soon as the second is asked for."""
    quota = case.world.quota("a", cpu=2)
    case.world.job("first", quota, cpu=2, run_for="1s")
    case.world.wait_phase("first", "Succeed")
    case.world.job("runs", quota, cpu=2)
    case.world.job("waits", quota, cpu=2)
    case.passes(60)
    multiply(case, "first", PAGED)
    case.passes(60)
    before, pages = case.outcome(), -(-len(case.all(JOB)) // PAGE)
    for plural in ("", "jobs", "queueunits"):
        case.ground.run(case.simulation.kill_manager())
        case.heard.clear()
        done = case.meanwhile(second_page(case, plural), lambda asked: forget(case))
        case.ground.run(case.simulation.start_manager())
        case.passes(60)
        lists = Counter(each.plural for each in case.asked("list"))
        # The first page again, and then everything at once; the other kind may be as far.
        for each in ("jobs", "queueunits"):
            assert lists[each] in ((3,) if each == plural else (pages, 3 if plural else pages))
        assert len(done) == bool(plural)
        assert case.writes() == []
    assert case.outcome() == before


def multiply(case: Case, name: str, times: int) -> None:
    """As many jobs that are over, each with its unit, as if all had run one after the other."""
    for kind in (JOB, QUEUE_UNIT):
        known = case.simulation.server.registry.of(kind.api_version, kind.kind)
        assert known is not None
        stored = case.storage.get(known, TEAM, name)
        job = case.world.seen_job(name)
        assert stored is not None
        assert job is not None
        for number in range(times):
            text = stored.raw.decode().replace(job["metadata"]["uid"], f"job-{number:05}")
            found = json.loads(text.replace(f'"{name}"', f'"{name}-{number:05}"'))
            found["metadata"]["uid"] = f"{kind.kind.lower()}-{number:05}"
            case.storage.put(known, found)


def second_page(case: Case, plural: str) -> Matches:
    is_list = on("list", plural)

    def matches(asked: Asked) -> bool:
        return is_list(asked) and len(case.asked("list", plural)) == 2

    return matches


def forget(case: Case) -> None:
    # Something has to happen after the first page, or its version is the newest.
    case.storage.version += 1
    case.storage.compact()


def test_many_waiting_jobs_deleted_at_once_leave_nothing_and_block_nobody(case: Case) -> None:
    quota = case.world.quota("a", cpu=2)
    case.world.job("first", quota, cpu=2)
    case.world.wait_phase("first", "Running")
    names = submit(case, JOBS, quota, cpu=2)
    case.world.job("last", quota, cpu=2, priority=-1)
    case.passes(60)
    case.heard.clear()
    for name in names:
        case.world.delete_job(name)
    case.world.delete_job("first")
    case.until(lambda: case.phases() == {"last": "Running"}, "the last one runs", 30.0)
    assert sum(writes_by_name(case).values()) <= 10
    assert [each["metadata"]["name"] for each in case.all(JOB)] == ["last"]


def test_a_quota_that_goes_and_comes_is_told_to_each_waiting_job_once(case: Case) -> None:
    quota = case.world.quota("a", cpu=2)
    case.world.job("first", quota, cpu=2)
    case.world.wait_phase("first", "Running")
    submit(case, JOBS, quota, cpu=2)
    case.passes(60)
    case.heard.clear()
    case.world.delete_quota(quota)
    case.passes(60)
    assert max(writes_by_name(case).values()) == 1
    assert "does not exist" in case.message("job-00000")
    case.heard.clear()
    case.world.quota("a", cpu=2)
    case.passes(60)
    assert max(writes_by_name(case).values()) == 1
    assert count(case, "Enqueued") == JOBS


def test_many_quotas_have_a_queue_each_and_do_not_wait_for_each_other(case: Case) -> None:
    quotas = [case.world.name_of(f"q{number:03}") for number in range(JOBS // 8)]
    case.world.submit(
        *(
            {
                "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"name": each, "namespace": TEAM},
                "spec": {"max": {"cpu": "1"}, "min": {}},
            }
            for each in quotas
        )
    )
    case.passes(5)
    for number, each in enumerate(quotas):
        submit(case, 3, each, f"j{number:03}", cpu=1, run_for="2s")
    case.until(lambda: count(case, "Succeed") == 3 * len(quotas), "all have ended", 40.0)
