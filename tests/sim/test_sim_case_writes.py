"""Writes fail on the simulated cluster: cases J5 and J6, for every sort of write that kq does.

Two jobs run in turn, whatever is answered, how often, and whoever else writes in between.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from reading import phase_of
from sim_case import ALWAYS, TEAM, Case, sort_of

from kq.core import keys
from kq.core.kinds import JOB, QUEUE, QUEUE_UNIT, ResourceKind
from kq.sim.api.kinds import Kind
from kq.sim.faults import Asked, Matches, Trouble, on

SORTS = (
    "create queues",
    "patch queues/status",
    "create queueunits",
    "patch queueunits/status",
    "patch jobs",
)
"""Writes on the way of two jobs."""
KINDS = {each.plural: each for each in (JOB, QUEUE, QUEUE_UNIT)}
EACH_SORT = pytest.mark.parametrize("sort", SORTS)


def of_sort(sort: str) -> Matches:
    return lambda asked: sort_of(asked) == sort


def run_in_turn(case: Case, seconds: float = 60.0) -> None:
    """Two jobs of which one fits; returns when both have ended well."""
    quota = case.world.name_of("a")
    if case.ground.read(QUEUE, "koord-queue", quota) is None:
        case.world.quota("a", cpu=2)
    for name in ("first", "second"):
        case.world.job(name, quota, cpu=2, run_for="2s")
    assert_ended(case, "first", "second", seconds=seconds)
    assert dict(case.onlooker.grants) == {"first": 1, "second": 1}
    assert dict(case.onlooker.releases) == {"first": 1, "second": 1}


def assert_ended(case: Case, *names: str, seconds: float) -> None:
    wanted = dict.fromkeys(names, "Succeed")
    case.until(lambda: wanted.items() <= case.phases().items(), "all have ended well", seconds)
    for name in names:
        assert case.world.unit(name)["status"]["attempts"] == 1


# -- every answer to every sort of write


ANSWERS: list[Any] = [
    *((Trouble.FAILED, code) for code in (400, 401, 403, 413, 422, 500, 502, 503, 504)),
    (Trouble.BUSY, 429),
    (Trouble.CONFLICT, 409),
    (Trouble.UNREACHABLE, 0),
    (Trouble.UNSENT, 0),
    (Trouble.LOST, 0),
    (Trouble.GARBLED, 0),
    (Trouble.SLOW, 0),
]


REFUSED = [("patch jobs", code) for code in (400, 403, 413, 422)]
"""Of a release these are final, and give the quota back: test_sim_case_refused."""
MET = [
    pytest.param(sort, trouble, code, id=f"{sort}-{trouble}-{code}")
    for at, (trouble, code) in enumerate(ANSWERS)
    for sort in (SORTS[(at + far) % len(SORTS)] for far in (0, 1, 3))
    if (sort, code) not in REFUSED
]
"""Each answer to three sorts of writes: all pairs would be many."""


@pytest.mark.parametrize(("sort", "trouble", "code"), MET)
def test_j5_a_write_that_fails_some_times_delays_and_changes_nothing(
    case: Case, sort: str, trouble: Trouble, code: int
) -> None:
    times = 1 + (ANSWERS.index((trouble, code)) + SORTS.index(sort)) % 6
    case.plan(trouble, of_sort(sort), times=times, code=code)
    run_in_turn(case, seconds=90.0)
    assert case.sorts()[sort] <= 16 + times


@pytest.mark.parametrize("sort", SORTS[1:])
@pytest.mark.parametrize("spared", [1, 3])
def test_j5_a_write_in_the_middle_whose_answer_is_lost_is_not_done_twice(
    case: Case, sort: str, spared: int
) -> None:
    often = sort == "patch queueunits/status"
    case.plan(Trouble.LOST, of_sort(sort), spared=spared if often else spared // 2)
    run_in_turn(case)


@pytest.mark.parametrize(
    ("code", "sort"),
    [(code, sort) for code in (403, 503) for sort in SORTS if (sort, code) not in REFUSED],
)
def test_a_write_that_fails_for_ten_minutes_is_tried_ever_more_slowly(
    case: Case, sort: str, code: int
) -> None:
    """As long as it fails nobody gets more than the quota; afterwards all goes on."""
    quota = case.world.name_of("a")
    if sort != "create queues":
        case.world.quota("a", cpu=2)
    case.passes(10)
    ends = case.now + 600
    fault = case.plan(
        Trouble.FAILED,
        lambda asked: case.now < ends and sort_of(asked) == sort,
        times=ALWAYS,
        code=code,
    )
    if sort == "create queues":
        case.world.submit(
            {
                "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"name": quota, "namespace": TEAM},
                "spec": {"max": {"cpu": "2"}, "min": {}},
            }
        )
    case.world.job("first", quota, cpu=2, run_for="2s")
    case.world.job("second", quota, cpu=2, run_for="2s")
    case.passes(600)
    # 5 ms, doubled each time, for each of two keys. What lacks a right counts as refused after ten
    # tries, which grants, reasons and jobs find out on their own.
    assert fault.struck <= (80 if (code, sort) == (403, "patch queueunits/status") else 40)
    assert_ended(case, "first", "second", seconds=700.0)


@pytest.mark.parametrize("code", [401, 403, 404, 429, 500], ids=str)
def test_events_that_cannot_be_written_keep_nobody_waiting(case: Case, code: int) -> None:
    trouble = Trouble.BUSY if code == 429 else Trouble.FAILED
    case.plan(trouble, on("create", "events"), times=ALWAYS, code=code)
    run_in_turn(case, seconds=12.0)
    assert len([each for each in case.heard if each.plural == "events"]) <= 60


@pytest.mark.parametrize("seconds", [5.0, 20.0], ids=str)
def test_nobody_comes_back_before_the_time_that_a_busy_api_server_tells(
    case: Case, seconds: float
) -> None:
    """Retry-After (spec 22.1): the server names it for its own protection."""
    quota = case.world.quota("a", cpu=2)
    case.passes(10)
    case.plan(Trouble.BUSY, on("patch", "jobs"), seconds=seconds)
    case.heard.clear()
    case.world.job("first", quota, cpu=2, run_for="2s")
    case.passes(seconds - 1)
    assert len(case.asked("patch", "jobs", "first")) == 1
    assert_ended(case, "first", seconds=10.0)


# -- J5: others write in between


def kind_of(case: Case, kind: ResourceKind) -> Kind:
    found = case.simulation.server.registry.of(kind.api_version, kind.kind)
    assert found is not None
    return found


def interfered(case: Case, asked: Asked) -> None:
    """Another controller writes the object just before we do."""
    kind = kind_of(case, KINDS[asked.plural])
    stored = case.storage.get(kind, asked.namespace, asked.name)
    if stored is None:
        return
    found = stored.read()
    marks = found["metadata"].setdefault("annotations", {})
    marks["example.com/x"] = str(int(marks.get("example.com/x", 0)) + 1)
    found["metadata"]["finalizers"] = ["example.com/f"]
    found.setdefault("status", {})["foreign"] = marks["example.com/x"]
    case.storage.put(kind, found)


@pytest.mark.parametrize(
    ("sort", "times"),
    [
        ("patch queues/status", 2),
        ("patch queueunits/status", 1),
        ("patch queueunits/status", 5),
        ("patch jobs", 1),
        ("patch jobs", 5),
    ],
)
def test_j5_what_others_wrote_in_between_survives_and_we_judge_again(
    case: Case, sort: str, times: int
) -> None:
    done = case.meanwhile(of_sort(sort), lambda asked: interfered(case, asked), times=times)
    run_in_turn(case)
    assert len(done) == times
    kind = KINDS[sort.partition(" ")[2].partition("/")[0]]
    touched = [each for each in case.all(kind) if each["metadata"].get("finalizers")]
    assert touched
    written = [int(each["metadata"]["annotations"]["example.com/x"]) for each in touched]
    assert sum(written) == times
    assert [each for each in case.logs if each["log_level"] == "error"] == []


def test_j5_the_job_is_judged_anew_when_somebody_has_changed_what_counts(case: Case) -> None:
    """Just before its release the waiting job is taken out of the queue."""

    def rests(asked: Asked) -> None:
        kind = kind_of(case, JOB)
        stored = case.storage.get(kind, asked.namespace, asked.name)
        assert stored is not None
        found = stored.read()
        found["metadata"]["annotations"][keys.ACTIVE] = "false"
        case.storage.put(kind, found)

    quota = case.world.quota("a", cpu=2)
    done = case.meanwhile(on("patch", "jobs"), rests)
    case.world.job("first", quota, cpu=2, run_for="2s")
    case.world.job("second", quota, cpu=2, run_for="2s")
    assert_ended(case, "second", seconds=30.0)
    assert len(done) == 1
    assert case.phases()["first"] == "Enqueued"
    assert case.onlooker.releases["first"] == 0
    assert case.world.pods("first") == []


# -- J6: what is written is gone


def remove(case: Case, kind: ResourceKind, name: str, namespace: str = TEAM) -> None:
    stored = case.storage.get(kind_of(case, kind), namespace, name)
    if stored is not None:
        case.storage.remove(kind_of(case, kind), stored.read())


@pytest.mark.parametrize("sort", ["create queueunits", "patch queueunits/status", "patch jobs"])
def test_j6_a_write_to_a_job_or_unit_that_is_gone_ends_the_matter(case: Case, sort: str) -> None:
    quota = case.world.quota("a", cpu=2)
    case.passes(10)
    done = case.meanwhile(of_sort(sort), lambda asked: remove(case, JOB, "first"))
    case.heard.clear()
    case.world.job("first", quota, cpu=2, run_for="2s")
    case.world.job("second", quota, cpu=2, run_for="2s")
    assert_ended(case, "second", seconds=30.0)
    case.passes(60)
    assert len(done) == 1
    assert set(case.phases()) == {"second"}
    assert len(case.asked("patch", "jobs", "first")) <= 1
    assert [each for each in case.logs if each["log_level"] == "error"] == []


@pytest.mark.parametrize("spared", range(4))
def test_j6_a_unit_that_somebody_deletes_under_our_hands_is_made_again(
    case: Case, spared: int
) -> None:
    quota = case.world.quota("a", cpu=2)
    seen: list[Asked] = []

    def nth(asked: Asked) -> bool:
        if sort_of(asked) == "patch queueunits/status" and asked.name == "first":
            seen.append(asked)
            return len(seen) == spared + 1
        return False

    done = case.meanwhile(nth, lambda asked: remove(case, QUEUE_UNIT, "first"))
    case.world.job("first", quota, cpu=2, run_for="5s")
    case.world.job("second", quota, cpu=2, run_for="5s")
    case.world.wait_complete("first", "second")
    case.passes()
    # A job that is over needs no unit any more.
    lost = len(done) == 1 and seen[-1] is seen[spared] and spared > 1
    assert case.phases() == {"second": "Succeed"} | ({} if lost else {"first": "Succeed"})


def replaced(case: Case, asked: Asked) -> None:
    """The object has been deleted and made again under its name; the new one is somebody else's."""
    kind = kind_of(case, KINDS[asked.plural])
    stored = case.storage.get(kind, asked.namespace, asked.name)
    assert stored is not None
    found = stored.read()
    case.storage.remove(kind, stored.read())
    meta = {
        "name": asked.name,
        "namespace": asked.namespace,
        "uid": "00000000-0000-4000-8000-000000000000",
        "creationTimestamp": found["metadata"]["creationTimestamp"],
        "labels": found["metadata"].get("labels", {}),
        "annotations": found["metadata"].get("annotations", {}),
    }
    new = json.dumps({**found, "metadata": meta, "status": {}})
    case.storage.put(kind, json.loads(new.replace(found["metadata"]["uid"], meta["uid"])))


def test_j6_a_job_of_the_same_name_is_not_released_in_the_place_of_the_old_one(
    case: Case,
) -> None:
    quota = case.world.quota("a", cpu=2)
    done = case.meanwhile(on("patch", "jobs"), lambda asked: replaced(case, asked))
    case.world.job("first", quota, cpu=2, run_for="2s")
    assert_ended(case, "first", seconds=60.0)
    assert len(done) == 1
    job = case.world.seen_job("first")
    assert job is not None
    assert job["metadata"]["uid"].startswith("00000000")
    assert case.world.unit("first")["spec"]["consumerRef"]["uid"] == job["metadata"]["uid"]
    # The first grant was the old job's.
    assert case.onlooker.releases["first"] == 1


LEFT: list[Callable[[Case, Asked], None]] = [
    lambda case, asked: remove(case, QUEUE_UNIT, asked.name, asked.namespace),
    replaced,
]


@pytest.mark.parametrize("happens", LEFT, ids=["gone", "another one's"])
def test_j6_a_delete_of_a_unit_that_is_gone_or_another_ones_ends_the_matter(
    case: Case, happens: Callable[[Case, Asked], None]
) -> None:
    """The job is deleted and leaves its unit behind, so kq deletes that."""
    quota = case.world.quota("a", cpu=2)
    case.world.job("first", quota, cpu=2, run_for="9s")
    case.world.wait_phase("first", "Running")
    done = case.meanwhile(on("delete", "queueunits"), lambda asked: happens(case, asked))
    case.world.delete_job("first", policy="Orphan")
    case.passes(120)
    assert len(done) == 1
    assert len(case.asked("delete", "queueunits")) == 1
    left = [each["metadata"]["uid"] for each in case.all(QUEUE_UNIT)]
    assert [each for each in left if not each.startswith("00000000")] == []
    assert [each for each in case.logs if each["log_level"] == "error"] == []


@EACH_SORT
def test_j6_an_api_server_that_does_not_know_the_path_yet_has_not_lost_the_object(
    case: Case, sort: str
) -> None:
    """While it starts, kinds of CRDs are answered with 404; that says nothing of the object."""
    case.plan(Trouble.FAILED, of_sort(sort), times=2, code=404)
    run_in_turn(case)
    assert {phase_of(each) for each in case.all(QUEUE_UNIT)} == {"Succeed"}
