"""What is said of SparkApplications alone: drivers, executors, new runs (spec 8.19, 8.23)."""

from dataclasses import replace

from controlplane.cluster import Cluster
from ground import Object
from kind_cases import Played, of_kinds
from kind_cases_data import SPARK_APPLICATION, spark_application
from kind_world import KindWorld, waiting_for
from reading import replicas_of
from webhook_orders import check_both_orders, check_refused, denied
from world import World

from kq.core.kinds import POD


def is_driver(pod: Object) -> bool:
    return bool(pod["metadata"]["labels"]["spark-role"] == "driver")


def lingering_executors(jobs: KindWorld, name: str, quota: str) -> Object:
    """An application whose driver goes at once and whose executors take their time."""
    body = jobs.manifest(name, quota, run_for="forever")
    executor = body["spec"]["executor"]
    executor["annotations"] = {**executor["annotations"], "linger-for": "3s"}
    return body


@of_kinds([SPARK_APPLICATION])
def test_an_application_counts_until_its_last_executor_is_gone(
    world: World, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=3)
    world.submit(lingering_executors(jobs, "first", a))
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=3))
    world.wait_message("second", waiting_for(a, 3))
    jobs.activate("first", False)
    world.ground.until(lambda: not any(map(is_driver, jobs.pods("first"))), "the driver is gone")
    assert len(jobs.pods("first")) == 2
    assert world.phase(jobs.unit("first")) in ("Dequeued", "Running")
    world.wait_pods("second")
    assert jobs.onlooker.faults(3) == []


@of_kinds([SPARK_APPLICATION])
def test_an_application_that_is_stopped_while_it_is_submitted_waits_again(
    world: World, jobs: KindWorld
) -> None:
    """The operator says SUBMISSION_FAILED in between, and suspends it all the same."""
    a = world.quota("a", cpu=3)
    jobs.submit("first", a)
    world.ground.until(lambda: jobs.pods("first"), "a pod is there")
    jobs.activate("first", False)
    world.wait_message(jobs.unit("first"), "Evicted because the queue unit is deactivated")
    assert jobs.pods("first") == []
    jobs.activate("first", True)
    jobs.wait_running("first")


@of_kinds([SPARK_APPLICATION])
def test_executors_count_once_and_to_their_application(world: World, jobs: KindWorld) -> None:
    """Of its five cpu the other two are free, whoever owns the pods."""
    a = world.quota("a", cpu=5)
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.submit(world.manifest("second", a, cpu=2))
    world.wait_pods("second")


@of_kinds([SPARK_APPLICATION])
def test_a_driver_without_an_owner_counts_by_its_label(world: World, jobs: KindWorld) -> None:
    """So are those of operators whose webhook for pods is off: nothing deletes them."""
    a = world.quota("a", cpu=3)
    jobs.submit("first", a)
    jobs.wait_running("first")
    [driver] = filter(is_driver, jobs.pods("first"))
    name = driver["metadata"]["name"]
    world.change(POD, name, {"metadata": {"ownerReferences": None}})
    world.submit(world.manifest("second", a, cpu=3))
    jobs.delete("first")
    world.ground.until(lambda: jobs.seen("first") is None, "the application is gone")
    world.wait_message("second", waiting_for(a, 3))
    assert len(jobs.pods("first")) == 3
    world.ground.delete(POD, world.namespace, name)
    world.wait_pods("second")
    assert jobs.onlooker.faults(3) == []


@of_kinds([SPARK_APPLICATION])
def test_a_changed_application_runs_anew_and_counts_as_it_is_now(
    world: World, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=4)
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    jobs.change("first", {"spec": {"executor": {"instances": 3}}})
    world.wait_unit(jobs.unit("first"), lambda unit: replicas_of(unit) == 4)
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_message("second", f"waiting for quota {a}: 1 cpu requested, not enough free of 4")
    world.ground.until(lambda: len(jobs.pods("first")) == 4, "it runs anew with one more")


@of_kinds([SPARK_APPLICATION])
def test_a_changed_application_that_does_not_fit_any_more_is_queued_again(
    world: World, jobs: KindWorld
) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("other", a, cpu=1))
    world.wait_pods("other")
    jobs.submit("first", a)
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    jobs.change("first", {"spec": {"executor": {"instances": 3}}})
    world.wait_message(
        jobs.unit("first"), f"waiting for quota {a}: 4 cpu requested, not enough free of 4"
    )
    assert jobs.pods("first") == []
    world.wait_event("first", "Evicted", SPARK_APPLICATION.kind)
    world.delete_job("other")
    world.ground.until(lambda: len(jobs.pods("first")) == 4, "it runs anew with one more")


def sparse(name: str, played: Played) -> Object:
    """A SparkApplication that leaves to its operator what the operator fills in."""
    job = spark_application(name, played)
    for part in (job["spec"], job["spec"]["driver"], job["spec"]["executor"]):
        for field in ("mode", "restartPolicy", "cores", "memory"):
            part.pop(field, None)
    return job


@of_kinds([replace(SPARK_APPLICATION, manifest=sparse)])
def test_the_defaults_of_spark_and_our_hold_give_the_same_in_both_orders(
    control_plane: Cluster, jobs: KindWorld
) -> None:
    check_both_orders(control_plane, jobs)


@of_kinds([SPARK_APPLICATION])
def test_what_spark_refuses_leaves_nothing_in_the_queue(jobs: KindWorld) -> None:
    check_refused(jobs, "1st", denied("validate-sparkapplication.sparkoperator.k8s.io"))
