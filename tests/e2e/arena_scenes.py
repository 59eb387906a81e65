"""What becomes of Arena's elastic jobs and Crons beside kq, whatever the ground.

Their operators are not there: what these would make is made here.
"""

from collections.abc import Callable

from arena_others import CRON, ELASTIC, cron, elastic_job, looks, owned_by, turn_of
from ground import Ground, Object
from kind_cases import policy_suspends
from kind_cases_kubeflow import TF_JOB
from kind_world import waiting_for
from world import FOREVER, World

from kq.core import keys
from kq.core.kinds import CRD, JOB, POD, QUEUE_UNIT, ResourceKind

Submit = Callable[[str], object]
"""Submits such an object for a quota, as Arena does."""


def kind_of(listed: tuple[str, str, str]) -> ResourceKind:
    api, name, plural = listed
    return ResourceKind(*api.split("/"), name, plural)


ELASTIC_JOB, CRON_TAB = kind_of(ELASTIC), kind_of(CRON)


def serve(ground: Ground, kind: ResourceKind) -> None:
    """Has a kind served by a definition that keeps what it gets."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True}
    spec = {
        "group": kind.group,
        "names": {"kind": kind.kind, "plural": kind.plural},
        "scope": "Namespaced",
        "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
    }
    ground.create(CRD, {"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec})


def check_elastic_jobs_are_left_alone(world: World, submit: Submit) -> None:
    """One, called first, its pods, and a Job that it has: they run at once, and count nowhere."""
    a = world.quota("a", cpu=1)
    submit(a)
    whole = world.ground.wait(ELASTIC_JOB, world.namespace, "first", bool)
    assert looks(whole) == looks(elastic_job())
    world.ground.create(POD, worker_of(whole))
    own = world.manifest("first-own", a, cpu=1)
    own["metadata"]["ownerReferences"] = [owned_by(whole)]
    world.ground.create(JOB, own)
    world.wait_pods("first-own")
    world.job("last", a, cpu=1)
    world.wait_pods("last")
    units = world.ground.items(QUEUE_UNIT, world.namespace)
    assert [each["metadata"]["name"] for each in units] == ["last"]
    [worker] = [each for each in world.ground.items(POD, world.namespace) if is_worker(each)]
    assert worker["status"]["phase"] == "Running"
    marks = world.wait_job("first-own", bool)["metadata"].get("annotations", {})
    assert [each for each in marks if each.startswith("koord-queue/")] == []
    assert [each["reason"] for each in world.events("first-own") if "Owner" in each["reason"]] == []


def check_turns_of_a_cron_wait(world: World, submit: Submit) -> None:
    """It is called nightly; each turn is a job like any other, that waits and has its time."""
    a = world.quota("a", cpu=5)
    world.job("blocker", a, cpu=1)
    world.wait_granted("blocker")
    submit(a)
    whole = world.ground.wait(CRON_TAB, world.namespace, "nightly", bool)
    assert looks(whole) == looks(cron())
    units = [taken(world, whole, at) for at in (1772334000, 1772420400)]
    for each in units:
        world.wait_message(each, waiting_for(a, 5))
    world.delete_job("blocker")
    world.wait_phase(units[0], "Running")
    world.wait_message(units[1], waiting_for(a, 5))


def taken(world: World, whole: Object, at: int) -> str:
    """The unit of the job that a Cron's operator makes at a time."""
    made = turn_of(whole, at=at)
    for each in made["spec"]["tfReplicaSpecs"].values():
        each["template"]["metadata"]["annotations"]["run-for"] = FOREVER
    held = world.ground.create(TF_JOB.kind, made)
    assert policy_suspends(held)
    assert held["metadata"]["annotations"][keys.SUSPEND] == "true"
    return f"{made['metadata']['name']}{TF_JOB.suffix}"


def worker_of(whole: Object) -> Object:
    """The first pod that an elastic job's operator makes of its workers."""
    template = whole["spec"]["etReplicaSpecs"]["worker"]["template"]
    meta = template["metadata"]
    named = {
        "name": f"{whole['metadata']['name']}-worker-0",
        "namespace": whole["metadata"]["namespace"],
        "annotations": {**meta["annotations"], "run-for": FOREVER},
        "ownerReferences": [owned_by(whole)],
    }
    return {"metadata": {**meta, **named}, "spec": template["spec"]}


def is_worker(pod: Object) -> bool:
    return bool(pod["metadata"]["name"] == "first-worker-0")
