"""The end-to-end scenarios of the job kinds with simulated operators, word for word."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import test_e2e_kinds as scenarios
import test_e2e_taken_out as taken_out
from ground import Object
from kind_cases import KindCase
from kind_world import KindWorld, granted
from reading import message_of, phase_of, reason_of
from simulated_ground import manifests, simulated_ground
from test_e2e_updates import answer
from world import INSTALLED_IN, World

from kq.core.kinds import EVENT, NAMESPACE, QUEUE_UNIT, ResourceKind
from kq.jobs import INTEGRATIONS
from kq.settings import Settings
from kq.sim.operators import OPERATORS
from kq.sim.world import Terms

SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
NAME = "test-a"
OVER = "OverQuota"


def is_simulated(case: KindCase) -> bool:
    """Whether its operator is played: MPIJob's is mpi-operator alone."""
    kind = f"{case.kind.plural}.{case.kind.group}"
    return any(kind in OPERATORS[name].kinds for name in case.operators if name in OPERATORS)


CASES = [each for each in scenarios.CASES if is_simulated(each)]


def of_kinds(cases: list[KindCase]) -> Callable[..., object]:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


@pytest.fixture
def world(case: KindCase) -> Iterator[World]:
    """A namespace on a cluster with the operators of a kind, whose jobs kq queues."""
    settings = Settings()
    settings = replace(settings, jobs=replace(settings.jobs, enabled=tuple(INTEGRATIONS)))
    terms = Terms(objects=manifests(), settings=settings, operators=case.operators)
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


@pytest.fixture
def jobs(world: World, case: KindCase) -> KindWorld:
    return KindWorld.of(world, case)


@of_kinds(CASES)
def test_a_job_waits_without_pods_and_runs_on_what_it_asks_for(
    world: World, jobs: KindWorld
) -> None:
    scenarios.test_a_job_waits_without_pods_runs_on_what_it_asks_for_and_frees_that_at_its_end(
        world, jobs
    )


@of_kinds([each for each in CASES if each.evictable])
def test_a_stopped_job_frees_its_quota_when_its_pods_are_gone(
    world: World, jobs: KindWorld
) -> None:
    scenarios.test_a_stopped_job_frees_its_quota_when_its_pods_are_gone_and_runs_again(world, jobs)


@of_kinds(list(taken_out.CASES))
def test_a_job_whose_field_is_taken_out_is_held_again(
    world: World, jobs: KindWorld, case: KindCase
) -> None:
    taken_out.test_a_job_whose_field_is_taken_out_is_held_again(world, jobs, case)


@of_kinds([each for each in CASES if each.evictable and each.kind.kind != "TrainJob"])
def test_what_checks_want_is_on_the_pods_of_one_run_only(world: World, jobs: KindWorld) -> None:
    scenarios.test_what_checks_want_is_on_the_pods_of_one_run_only(world, jobs)


@of_kinds([scenarios.JOB_SET, scenarios.MPI_JOB])
def test_what_checks_want_the_next_time_is_on_all_pods_of_the_next_run(
    world: World, jobs: KindWorld
) -> None:
    scenarios.test_what_checks_want_the_next_time_is_on_all_pods_of_the_next_run(world, jobs)


@of_kinds([each for each in CASES if each.kind.kind in ("TrainJob", "Workflow")])
def test_some_kinds_have_no_place_for_what_checks_want(world: World, jobs: KindWorld) -> None:
    """Spec 8.9, M20."""
    a = world.quota("a", cpu=jobs.case.cpu)
    world.submit(world.manifest("blocker", a, cpu=jobs.case.cpu))
    world.wait_pods("blocker")
    jobs.submit("first", a)
    unit = jobs.unit("first")
    (name, *_) = world.wait_phase(unit, "Enqueued")["spec"]["podSet"]
    answer(world, unit, {"name": name["name"], "labels": {"rack": "r1"}})
    world.delete_job("blocker")
    kind = jobs.case.kind.kind
    text = f"{kind} has no place for podSetUpdates of admission check quota"
    assert phase_of(world.wait_message(unit, text)) == "TimeoutBackoff"
    assert jobs.pods("first") == []


@of_kinds([each for each in CASES if not each.evictable])
def test_a_job_that_cannot_be_stopped_runs_on_and_counts(world: World, jobs: KindWorld) -> None:
    scenarios.test_a_job_that_cannot_be_stopped_runs_on_and_counts(world, jobs)


@of_kinds(CASES)
def test_pods_name_the_quota_that_their_job_was_moved_to_while_it_waited(
    world: World, jobs: KindWorld
) -> None:
    scenarios.test_pods_name_the_quota_that_their_job_was_moved_to_while_it_waited(world, jobs)


@of_kinds(CASES)
def test_a_running_job_is_charged_once_and_leaves_the_rest_to_others(
    world: World, jobs: KindWorld
) -> None:
    """By its grant or by its pods, never by both, nor by those of a child beside them."""
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu + 1)
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_pods("second")


STOPPED = {"spec": {"stopPolicy": "HoldAndDrain"}}
"""Has a Queue take back what its units hold (spec 3.1)."""


@of_kinds([each for each in CASES if each.kind.kind in ("TFJob", "RayJob")])
def test_a_drained_queue_has_a_job_of_several_roles_wait_and_run_again(
    world: World, jobs: KindWorld
) -> None:
    """Spec 9.5 i, 13.15."""
    a = world.quota("a", cpu=jobs.case.cpu)
    jobs.submit("first", a, linger_for="2s")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.set_queue(a, STOPPED)
    world.wait_message(jobs.unit("first"), f"queue {a} is stopped")
    assert jobs.case.is_held(jobs.wait("first", bool))
    assert [each for each in jobs.pods("first") if each["status"]["phase"] == "Running"] == []
    world.set_queue(a, {"spec": {"stopPolicy": "None"}})
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    assert jobs.onlooker.faults(jobs.case.cpu) == []


@of_kinds([each for each in CASES if not each.evictable][:1])
def test_a_drained_queue_lets_run_what_cannot_be_stopped(world: World, jobs: KindWorld) -> None:
    """Spec 13.15: told once, it goes on and counts; nobody else starts."""
    a = world.quota("a", cpu=jobs.case.cpu)
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.set_queue(a, STOPPED)
    told = world.wait_event("first", "NotEvictable", jobs.case.kind)
    assert f"(queue {a} is stopped)" in told["message"]
    unit = world.unit(jobs.unit("first"))
    assert (phase_of(unit), reason_of(unit, "Evicted")) == ("Running", "NotEvictable")
    assert message_of(unit) == told["message"]
    world.set_queue(a, {"spec": {"stopPolicy": "None"}})
    world.wait_message(jobs.unit("first"), "Running")


def with_one_more(job: Object) -> Object:
    """The patch by which a person has one worker more."""
    spec = job["spec"]
    if "pytorchReplicaSpecs" in spec:
        more = spec["pytorchReplicaSpecs"]["Worker"]["replicas"] + 1
        return {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": more}}}}
    first, *rest = spec["workerGroupSpecs"]
    wider = {**first, "replicas": first["replicas"] + 1, "maxReplicas": first["replicas"] + 1}
    return {"spec": {"workerGroupSpecs": [wider, *rest]}}


@of_kinds([each for each in CASES if each.kind.kind in ("PyTorchJob", "RayCluster")])
def test_a_job_that_is_scaled_up_raises_its_grants_at_once(world: World, jobs: KindWorld) -> None:
    """Spec 9.17, 2.2: above its max its Queue is told, and the unit says how many of each run."""
    a = world.quota("a", cpu=jobs.case.cpu)
    jobs.submit("first", a)
    jobs.wait_running("first")
    unit = world.wait_phase(jobs.unit("first"), "Running")
    before = sum(each["replicas"] for each in unit["status"]["admissions"])
    jobs.change("first", with_one_more(jobs.wait("first", bool)))
    grown = world.wait_unit(
        jobs.unit("first"),
        lambda unit: sum(each["replicas"] for each in unit["status"]["admissions"]) == before + 1,
    )
    assert phase_of(grown) == "Running"
    told = [each for each in world.ground.items(EVENT, INSTALLED_IN) if each["reason"] == OVER]
    assert [each["involvedObject"]["name"] for each in told] == [a]
    world.wait_unit(
        jobs.unit("first"),
        lambda unit: all(
            each["running"] == each["replicas"] for each in unit["status"]["admissions"]
        ),
    )


@pytest.mark.parametrize("fits", [True, False], ids=["it fits", "another one has the rest"])
@of_kinds([each for each in CASES if each.kind.kind == "SparkApplication"])
def test_other_sizes_of_an_application_that_runs_count_at_once(
    world: World, jobs: KindWorld, *, fits: bool
) -> None:
    """Spec 8.19: it starts anew, beside the rest or when its turn comes again."""
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu + 4)
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    if not fits:
        world.job("second", a, cpu=4)
        world.wait_pods("second")
    executor = jobs.wait("first", bool)["spec"]["executor"]
    jobs.change("first", {"spec": {"executor": {"cores": executor["cores"] + 1}}})
    if not fits:
        text = "Enqueued because the job was started anew"
        world.ground.until(
            lambda: any(
                each["reason"] == "Evicted" and each["message"] == text
                for each in world.events(jobs.unit("first"), QUEUE_UNIT)
            ),
            "it is evicted",
        )
        assert world.pods("second")
        world.wait_phase(jobs.unit("first"), "Enqueued")
        world.delete_job("second")
    jobs.wait_running("first")
    unit = world.wait_phase(jobs.unit("first"), "Running")
    instances = executor["instances"]
    assert granted(unit)["cpu"] == (cpu + instances) * 1000
    # Its operator starts the new run without asking, so it is above until it is stopped (24.1).
    assert not fits or jobs.onlooker.faults(cpu + 4) == []
