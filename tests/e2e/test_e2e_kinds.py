"""The life of a job in a queue, with the real operator of its kind: written once for all kinds."""

import json

import kind_cases_data
import kind_cases_kubeflow
from ground import Object
from kind_cases import of_kinds
from kind_cases_kubeflow import JOB_SET, MPI_JOB
from kind_world import KindWorld, asked, granted, pod_sets_of, waiting_for
from reading import phase_of, reason_of
from test_e2e_updates import TOLERATION, answer
from world import World

from kq.core import keys
from kq.core.kinds import JOB

CASES = (*kind_cases_kubeflow.CASES, *kind_cases_data.CASES)
MADE_BY_A_JOB = "batch.kubernetes.io/controller-uid"
"""The label of such pods."""


@of_kinds(CASES)
def test_a_job_waits_without_pods_runs_on_what_it_asks_for_and_frees_that_at_its_end(
    world: World, jobs: KindWorld
) -> None:
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    world.submit(world.manifest("blocker", a, cpu=cpu))
    world.wait_pods("blocker")
    said = jobs.submit("first", a, run_for="2s")
    assert f"held by koord-queue until quota {a} allows" in said
    jobs.wait("first", jobs.case.is_noticed)
    unit = world.wait_message(jobs.unit("first"), waiting_for(a, cpu))
    assert pod_sets_of(unit) == list(jobs.case.pod_sets)
    jobs.wait_shown("first")
    world.submit(world.manifest("last", a, cpu=cpu))
    world.wait_message("last", waiting_for(a, cpu))
    world.delete_job("blocker")
    jobs.wait_over("first")
    world.wait_pods("last")
    story = jobs.onlooker.story()
    assert story.faults(cpu) == []
    pods = story.most_pods("first")
    assert len(pods) == jobs.case.pods
    assert granted(story.last_grant(jobs.unit("first"))) == asked(pods)


@of_kinds(tuple(each for each in CASES if each.evictable))
def test_a_stopped_job_frees_its_quota_when_its_pods_are_gone_and_runs_again(
    world: World, jobs: KindWorld
) -> None:
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    written = jobs.unqueued_spec("first", linger_for="2s")
    jobs.submit("first", a, linger_for="2s")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=cpu))
    world.wait_message("second", waiting_for(a, cpu))
    jobs.activate("first", False)
    world.wait_pods("second")
    world.wait_message(jobs.unit("first"), "Evicted because the queue unit is deactivated")
    jobs.activate("first", True)
    world.wait_message(jobs.unit("first"), waiting_for(a, cpu))
    jobs.wait_shown("first")
    world.delete_job("second")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    assert jobs.own_spec(jobs.wait("first", bool)) == written
    jobs.delete("first")
    world.submit(world.manifest("third", a, cpu=cpu))
    world.wait_pods("third")
    assert jobs.onlooker.faults(cpu) == []


@of_kinds(tuple(each for each in CASES if each.kind.kind == "TFJob"))
def test_what_checks_want_is_on_the_pods_of_one_run_only(world: World, jobs: KindWorld) -> None:
    """Spec 8.9, 8.21, 14.10: in all pod sets that have a place for it."""
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    written = jobs.unqueued_spec("first")
    world.submit(world.manifest("blocker", a, cpu=cpu))
    world.wait_pods("blocker")
    jobs.submit("first", a)
    unit = world.wait_message(jobs.unit("first"), waiting_for(a, cpu))
    sets = [name for name, _ in pod_sets_of(unit) if name != "submitter"]
    wanted = {"labels": {"rack": "r1"}, "tolerations": [TOLERATION]}
    answer(world, jobs.unit("first"), *({"name": name, **wanted} for name in sets))
    world.delete_job("blocker")
    jobs.wait_running("first")
    marked = [each for each in jobs.pods("first") if each["metadata"]["labels"].get("rack") == "r1"]
    assert len(marked) == jobs.case.pods - (len(pod_sets_of(unit)) - len(sets))
    world.wait_phase(jobs.unit("first"), "Running")
    jobs.activate("first", False)
    world.wait_message(jobs.unit("first"), "Evicted because the queue unit is deactivated")
    gone = keys.POD_SET_UPDATES
    held = jobs.wait("first", lambda job: gone not in job["metadata"]["annotations"])
    assert jobs.own_spec(held) == written
    answer(world, jobs.unit("first"))
    jobs.activate("first", True)
    jobs.wait_running("first")
    # A Job that an operator made merges what it gets, and never gives it up.
    labels = [each["metadata"]["labels"] for each in jobs.pods("first")]
    own = [each for each in labels if MADE_BY_A_JOB not in each]
    assert [each for each in own if "rack" in each] == []
    assert jobs.onlooker.faults(cpu) == []


@of_kinds(tuple(each for each in CASES if each.kind.kind == "TrainJob"))
def test_pods_name_the_quota_that_their_job_was_moved_to_while_it_waited(
    world: World, jobs: KindWorld
) -> None:
    """Spec 6.6, 11.9: nothing else tells whose quota they use when their job is gone."""
    cpu = jobs.case.cpu
    a, b = world.quota("a", cpu=cpu), world.quota("b", cpu=cpu)
    world.submit(world.manifest("blocker", a, cpu=cpu))
    world.wait_pods("blocker")
    jobs.submit("first", a)
    world.wait_message(jobs.unit("first"), waiting_for(a, cpu))
    jobs.change("first", {"metadata": {"labels": {keys.QUOTA_LABEL: b}}})
    jobs.wait_running("first")
    pods = [each["metadata"]["labels"] for each in jobs.pods("first")]
    submitter = {"batch.kubernetes.io/job-name": "first"}
    named = [each.get(keys.QUOTA_LABEL) for each in pods if not submitter.items() <= each.items()]
    assert set(named) == {b}
    assert len(named) >= jobs.case.pods - 1


@of_kinds((JOB_SET, MPI_JOB))
def test_what_checks_want_the_next_time_is_on_all_pods_of_the_next_run(
    world: World, jobs: KindWorld
) -> None:
    """Spec 8.9, 8.21: operators merge it into Jobs that they have made; new ones have it alone."""
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    world.submit(world.manifest("blocker", a, cpu=cpu))
    world.wait_pods("blocker")
    jobs.submit("first", a)
    sets = pod_sets_of(world.wait_message(jobs.unit("first"), waiting_for(a, cpu)))
    wanted = {"labels": {"rack": "r1", "zone": "z"}, "tolerations": [TOLERATION]}
    answer(world, jobs.unit("first"), *({"name": name, **wanted} for name, _ in sets))
    world.delete_job("blocker")
    jobs.wait_running("first")
    other = {"labels": {"rack": "r2"}}
    stop(world, jobs)
    answer(world, jobs.unit("first"), *({"name": name, **other} for name, _ in sets))
    jobs.activate("first", True)
    jobs.wait_running("first")
    pods = jobs.pods("first")
    assert {each["metadata"]["labels"].get("rack") for each in pods} == {"r2"}
    stale = [each for each in pods if "zone" in each["metadata"]["labels"]]
    assert stale == [each for each in pods if MADE_BY_A_JOB in each["metadata"]["labels"]]
    tolerant = [each for each in pods if TOLERATION in each["spec"]["tolerations"]]
    assert tolerant == (stale if jobs.case is JOB_SET else [])
    added = json.loads(jobs.wait("first", bool)["metadata"]["annotations"][keys.POD_SET_UPDATES])
    assert added["podSets"] == {name: other for name, _ in sets}
    stop(world, jobs)
    old = {each["metadata"]["labels"].get(MADE_BY_A_JOB) for each in stale}
    for each in made_by_operator(world):
        world.delete_job(each["metadata"]["name"])
    world.ground.until(
        lambda: made_by_operator(world) and not old & set(map(uid_of, made_by_operator(world))),
        "its operator has made other Jobs",
    )
    jobs.activate("first", True)
    jobs.wait_running("first")
    pods = jobs.pods("first")
    assert {each["metadata"]["labels"].get("rack") for each in pods} == {"r2"}
    assert [each for each in pods if "zone" in each["metadata"]["labels"]] == []
    assert [each for each in pods if TOLERATION in each["spec"]["tolerations"]] == []


def stop(world: World, jobs: KindWorld) -> None:
    """Has a running job wait, and what checks have added taken out of it."""
    world.wait_phase(jobs.unit("first"), "Running")
    jobs.activate("first", False)
    world.wait_message(jobs.unit("first"), "Evicted because the queue unit is deactivated")
    jobs.wait("first", lambda job: keys.POD_SET_UPDATES not in job["metadata"]["annotations"])


def made_by_operator(world: World) -> list[Object]:
    """The Jobs that are part of another job."""
    listed = world.ground.items(JOB, world.namespace)
    return [each for each in listed if each["metadata"].get("ownerReferences")]


def uid_of(job: Object) -> str:
    return str(job["metadata"]["uid"])


@of_kinds(tuple(each for each in CASES if not each.evictable))
def test_a_job_that_cannot_be_stopped_runs_on_and_counts(world: World, jobs: KindWorld) -> None:
    cpu = jobs.case.cpu
    a = world.quota("a", cpu=cpu)
    jobs.submit("first", a, run_for="6s")
    jobs.wait_running("first")
    world.wait_phase(jobs.unit("first"), "Running")
    world.submit(world.manifest("second", a, cpu=cpu))
    world.wait_message("second", waiting_for(a, cpu))
    jobs.activate("first", False)
    world.wait_event("first", "NotEvictable", jobs.case.kind)
    unit = world.unit(jobs.unit("first"))
    assert phase_of(unit) == "Running"
    assert reason_of(unit, "Evicted") == "NotEvictable"
    jobs.wait_over("first")
    world.wait_pods("second")
    assert jobs.onlooker.faults(cpu) == []
