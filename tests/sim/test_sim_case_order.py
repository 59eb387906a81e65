"""Who goes first, with jobs of other kinds, on the simulated cluster: cases D3, D5 and D7."""

from collections.abc import Callable
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from case_plays import never_starting
from kind_cases import KindCase
from kind_world import KindWorld
from sim_case import Case
from test_sim_case_kinds import stage_of

from kq.core import keys
from kq.core.kinds import PRIORITY_CLASS
from kq.sim.faults import Trouble, on

Job = dict[str, Any]
TF_JOB, JOB_SET = kubeflow.TF_JOB, kubeflow.JOB_SET
RAY_JOB, SPARK, WORKFLOW = data.RAY_JOB, data.SPARK_APPLICATION, data.WORKFLOW


def restart(case: Case) -> None:
    case.ground.run(case.simulation.kill_manager())
    case.ground.run(case.simulation.start_manager())


def priority_of(jobs: KindWorld, name: str) -> int | None:
    """Of its unit, a moment later."""
    found: int | None = jobs.world.unit(jobs.unit(name))["spec"].get("priority")
    return found


# -- D3


@pytest.mark.parametrize("kind", [TF_JOB, RAY_JOB, SPARK, WORKFLOW, JOB_SET], ids=lambda k: k.id)
def test_d3_a_priority_set_by_hand_stays_whatever_becomes_of_the_job(kind: KindCase) -> None:
    """Case D3, spec 12.10: labels, its own priority, and a restart; taken back it is the job's."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3)
        world.job("holds", quota, cpu=3)
        world.wait_phase("holds", "Running")
        jobs.submit("parked", quota)
        unit = jobs.unit("parked")
        world.wait_phase(unit, "Enqueued")
        world.job("second", quota, cpu=3, priority=5)
        world.change_unit(unit, {"spec": {"priority": 50}})
        for change in ({"labels": {"x": "y"}}, {"annotations": {keys.PRIORITY: "7"}}):
            jobs.change("parked", {"metadata": change})
            case.passes(3)
            assert priority_of(jobs, "parked") == 50
        restart(case)
        case.passes(3)
        assert priority_of(jobs, "parked") == 50
        world.change_unit(unit, {"spec": {"priority": None}})
        case.passes(3)
        assert priority_of(jobs, "parked") == 7
        world.change_unit(unit, {"spec": {"priority": 4}})
        world.delete_job("holds")
        world.wait_phase("second", "Running")
        world.delete_job("second")
        world.wait_phase(unit, "Running")


# -- D5


def gold_by_policy(job: Job) -> None:
    job["spec"]["runPolicy"]["schedulingPolicy"] = {"priorityClass": "gold"}


def gold_by_head(job: Job) -> None:
    pod = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    pod["priorityClassName"] = "gold"


def gold_by_driver(job: Job) -> None:
    job["spec"]["driver"]["priorityClassName"] = "gold"


def gold_by_pods(job: Job) -> None:
    job["spec"]["podPriorityClassName"] = "gold"


def gold_by_replicated_job(job: Job) -> None:
    pod = job["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    pod["priorityClassName"] = "gold"


GOLDEN = [
    pytest.param(TF_JOB, gold_by_policy, id="TFJob"),
    pytest.param(RAY_JOB, gold_by_head, id="RayJob"),
    pytest.param(SPARK, gold_by_driver, id="SparkApplication"),
    pytest.param(WORKFLOW, gold_by_pods, id="Workflow"),
    pytest.param(JOB_SET, gold_by_replicated_job, id="JobSet"),
]


def make_class(case: Case, name: str, value: int, **more: Any) -> None:
    body = {"metadata": {"name": name}, "value": value, **more}
    case.ground.create(PRIORITY_CLASS, body)


@pytest.fixture(params=[True, False], ids=["a default", "no default"])
def default(request: pytest.FixtureRequest) -> int | None:
    """The value of the class that pods without one get."""
    return 50 if request.param else None


@pytest.mark.parametrize(("kind", "name_it"), GOLDEN)
def test_d5_a_class_that_is_missing_is_told_and_counts_as_soon_as_it_is_there(
    kind: KindCase, name_it: Callable[[Job], None], default: int | None
) -> None:
    """Case D5, spec 12.8: made, and deleted again, while the job waits."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3)
        if default is not None:
            make_class(case, "usual", default, globalDefault=True)
        world.job("holds", quota, cpu=3)
        world.wait_phase("holds", "Running")
        job = dict(jobs.manifest("first", quota))
        name_it(job)
        world.submit(job)
        told = world.wait_event("first", "PriorityClassNotFound", kind.kind)
        assert (told["type"], told["message"]) == ("Warning", "PriorityClass gold does not exist")
        assert priority_of(jobs, "first") == default
        make_class(case, "gold", 1000)
        case.passes(3)
        assert priority_of(jobs, "first") == 1000
        case.ground.delete(PRIORITY_CLASS, "", "gold")
        case.passes(3)
        assert priority_of(jobs, "first") == default


@pytest.mark.parametrize(("kind", "name_it"), GOLDEN)
def test_d5_while_classes_cannot_be_listed_nobody_is_queued_without_one(
    kind: KindCase, name_it: Callable[[Job], None]
) -> None:
    """Case D5: the API server answers 500 twice; never 0 in between."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3)
        make_class(case, "gold", 1000)
        world.job("holds", quota, cpu=3)
        world.wait_phase("holds", "Running")
        case.ground.run(case.simulation.kill_manager())
        job = dict(jobs.manifest("first", quota))
        name_it(job)
        world.submit(job)
        case.plan(Trouble.FAILED, on("list", "priorityclasses"), times=2)
        case.ground.run(case.simulation.start_manager())
        unit, seen = jobs.unit("first"), set()

        def is_waiting() -> bool:
            found = world.seen_unit(unit)
            if found is not None:
                seen.add(found["spec"].get("priority"))
            return case.message(unit) != ""

        case.until(is_waiting, "it waits", 60)
        assert seen == {1000}
        reasons = {each["reason"] for each in world.events("first", kind.kind)}
        assert "PriorityClassNotFound" not in reasons


# -- D7


def deleted(jobs: KindWorld) -> None:
    jobs.delete("stuck")


def deactivated(jobs: KindWorld) -> None:
    jobs.activate("stuck", False)


def paused(jobs: KindWorld) -> None:
    jobs.change("stuck", jobs.case.suspension)


def outwaited(jobs: KindWorld) -> None:
    """Nobody does anything: its start time-out ends."""


@pytest.mark.parametrize("policy", ["Block", "Intelligent"])
@pytest.mark.parametrize("leaves", [deleted, deactivated, paused, outwaited])
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        pytest.param(TF_JOB, "tfjob", id="TFJob"),
        pytest.param(RAY_JOB, "rayjob", id="RayJob"),
        pytest.param(SPARK, "sparkapp", id="SparkApplication"),
    ],
)
def test_d7_a_queue_goes_on_after_a_job_of_any_kind_that_never_ran(
    kind: KindCase, key: str, leaves: Callable[[KindWorld], None], policy: str
) -> None:
    """Case D7."""
    patience = {key: {"runningTimeout": "60s", "backoffTimeout": "10m"}}
    with stage_of(kind, **(patience if leaves is outwaited else {})) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        one_by_one = {keys.WAIT_FOR_PODS[0]: "true"}
        quota = world.quota("a", cpu=9, policy=policy, annotations=one_by_one)
        case.passes(2)
        world.submit(never_starting(jobs.manifest("stuck", quota)))
        world.wait_phase(jobs.unit("stuck"), "Dequeued")
        case.passes(2)  # of one second the other one would go first by its name, and displace it
        world.job("next", quota, cpu=1)
        waits = f"queue {quota} waits until all pods of its last started unit run"
        world.wait_message("next", waits)
        leaves(jobs)
        case.until(lambda: case.phases()["next"] == "Running", "the next one runs", 70)
