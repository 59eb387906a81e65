"""QueueUnits that are wrong in their spec or status (spec 22.1).

A consumer in another namespace, a second unit of a job, a job that does not exist, and a unit
without a consumer are in test_e2e_hand_made.py; one deleted by hand is in test_e2e_life.py.
"""

import json

from bad_input import contained, good_job, refusals, set_status
from controlplane.cluster import Cluster
from controlplane.kq import Kq
from ground import Object
from objects import queue_unit
from reading import phase_of, replicas_of
from world import World

from kq.core import keys
from kq.core.kinds import QUEUE_UNIT

LEVELS = 3000


def asking(containers: object) -> Object:
    """A spec of one pod with these containers."""
    return {"podSet": [{"name": "main", "template": {"spec": {"containers": containers}}}]}


def of_one(cpu: str) -> Object:
    """A spec of one pod with one container."""
    return asking([{"name": "main", "resources": {"requests": {"cpu": cpu}}}])


def waiting_for(quota: str, cpu: int, limit: int) -> str:
    return f"waiting for quota {quota}: {cpu} cpu requested, not enough free of {limit}"


def test_what_the_api_server_itself_refuses_never_comes_to_kq(world: World) -> None:
    specs: dict[str, Object] = {
        "negative count": {"podSet": [{"name": "main", "count": -1}]},
        "two of one name": {"podSet": [{"name": "main"}, {"name": "main"}]},
        "name that is none": {"podSet": [{"name": "Main_1"}]},
        "too many pod sets": {"podSet": [{"name": f"p{n}"} for n in range(257)]},
        "no quantity": {"resource": {"cpu": "many"}},
        "priority above int32": {"priority": 1 << 31},
        "active is a word": {"active": "no"},
    }
    wanted = {
        "negative count": "spec.podSet[0].count in body should be greater than or equal to 0",
        "two of one name": 'spec.podSet[1]: Duplicate value: {"name":"main"}',
        "name that is none": "spec.podSet[0].name in body should match",
        "too many pod sets": "spec.podSet: Too many: 257: must have at most 256 items",
        "no quantity": "spec.resource.cpu in body should match",
        "priority above int32": "spec.priority: Invalid value: 2147483648",
        "active is a word": 'spec.active in body must be of type boolean: "string"',
    }
    bodies = {name: queue_unit("refused", world.namespace, spec) for name, spec in specs.items()}
    assert contained(refusals(world, QUEUE_UNIT, bodies), wanted) == wanted


def test_a_unit_that_cannot_be_read_waits_until_it_is_edited(world: World) -> None:
    a = world.quota("a", cpu=8)
    texts = {
        "negative": "cpu in requests of container main is -1, not a quantity of 0 or more",
        "power": "cpu in requests of container main is 1e1.5, not a quantity",
        "words": "cpu in requests of container main is many, not a quantity",
        "listless": "containers is a str, not a list",
        "bare": "no quota found for this job: set label quota.scheduling.koordinator.sh/name "
        f"on it or on namespace {world.namespace}",
    }
    world.hand_made("negative", {"resource": {"cpu": "-1"}}, quota=a)
    world.hand_made("power", {"request": {"cpu": "1e1.5"}}, quota=a)
    world.hand_made("words", of_one("many"), quota=a)
    world.hand_made("listless", asking("none"), quota=a)
    world.hand_made("bare", {"resource": {"cpu": "1"}})
    for name, text in texts.items():
        world.wait_message(name, text)
    good = good_job(world, a)
    assert {name: world.phase(name) for name in texts} == dict.fromkeys(texts, "Enqueued")
    world.change_unit("negative", {"spec": {"resource": {"cpu": "1"}}})
    world.change_unit("power", {"spec": {"request": {"cpu": "1"}}})
    world.change_unit("words", {"spec": of_one("1")})
    world.change_unit("listless", {"spec": of_one("1")})
    world.change_unit("bare", {"metadata": {"labels": {keys.QUOTA_LABEL: a}}})
    world.wait_granted(*texts)
    assert [replicas_of(world.unit(name)) for name in texts] == [1] * len(texts)
    world.wait_complete(good)


def test_a_unit_of_another_controller_holds_quota_until_that_one_ends_it(world: World) -> None:
    a = world.quota("a", cpu=3)
    names = ("succeeds", "fails", "leaves")
    for name in names:
        reference = {"apiVersion": "example.com/v1", "kind": "Train", "name": "of-steel"}
        world.hand_made(name, {"consumerRef": reference, "resource": {"cpu": "1"}}, quota=a)
        world.wait_phase(name, "Dequeued")
    world.submit(world.manifest("first", a, cpu=1), world.manifest("second", a, cpu=2))
    world.wait_message("second", waiting_for(a, 2, 3))
    set_status(world, "succeeds", {"phase": "Succeed", "admissions": []})
    world.wait_granted("first")
    set_status(world, "fails", {"phase": "Failed", "admissions": []})
    world.delete_unit("leaves")
    world.wait_granted("second")


def test_a_unit_in_an_unknown_phase_is_left_alone_and_what_it_holds_counts(world: World) -> None:
    a = world.quota("a", cpu=3)
    world.job("fills", a, cpu=3)
    world.wait_granted("fills")
    world.job("parked", a, cpu=2, run_for="0s")
    world.wait_message("parked", waiting_for(a, 2, 3))
    grants = [{"name": "parked", "replicas": 1, "running": 0, "resources": {"cpu": "2"}}]
    set_status(world, "parked", {"phase": "Parked", "admissions": grants})
    seen = world.wait_message("parked", "phase Parked is not known")
    assert (phase_of(seen), replicas_of(seen)) == ("Parked", 1)
    world.delete_job("fills")
    good = good_job(world, a)
    world.job("other", a, cpu=2, run_for="0s")
    world.wait_message("other", waiting_for(a, 2, 3))
    assert world.unit("parked")["metadata"]["resourceVersion"] == version_of(seen)
    assert world.pods("parked") == []
    set_status(world, "parked", {"phase": "Enqueued", "admissions": []})
    world.wait_complete(good, "parked", "other")


def version_of(thing: Object) -> str:
    return str(thing["metadata"]["resourceVersion"])


def test_grants_that_cannot_be_are_read_as_they_can_be_and_set_right(world: World) -> None:
    """Of no pod set: they count by their resources, until the next write."""
    odd = {
        "ghost": [grant("ghost", 1, 1), grant("other", 2, 0, cpu=2)],
        "negative": [grant("negative", -3, 0)],
        "more-run": [grant("more-run", 1, 9)],
    }
    limits = {"ghost": 4, "negative": 2, "more-run": 2}
    quotas = {name: world.quota(name, cpu=limit) for name, limit in limits.items()}
    for name, quota in quotas.items():
        world.job(name, quota, cpu=1, spec={"parallelism": 1})
    for name, grants in odd.items():
        world.wait_phase(name, "Running")
        set_status(world, name, {"admissions": grants})
    for name, quota in quotas.items():
        world.job(f"after-{name}", quota, cpu=2, run_for="0s")
        world.wait_message(f"after-{name}", waiting_for(quota, 2, limits[name]))
        good_job(world, quota, f"good-{name}")
    world.change_job("ghost", {"spec": {"parallelism": 2}})
    world.delete_job("negative")
    world.delete_job("more-run")
    world.wait_complete(*(f"{each}-{name}" for name in quotas for each in ("good", "after")))
    [kept] = world.unit("ghost")["status"]["admissions"]
    assert {**kept, "running": 2} == grant("ghost", 2, 2, cpu=2)


def grant(name: str, replicas: int, running: int, cpu: int = 1) -> Object:
    resources = {"cpu": str(cpu)}
    return {"name": name, "replicas": replicas, "running": running, "resources": resources}


def test_pod_sets_edited_by_hand_are_set_back_while_quota_is_held(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.job("first", a, cpu=2, spec={"parallelism": 1})
    world.wait_phase("first", "Running")
    [before] = world.unit("first")["spec"]["podSet"]
    cheaper = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1m"}}}]}}
    world.change_unit("first", {"spec": {"podSet": [{**before, "count": 9, "template": cheaper}]}})
    world.wait_unit("first", lambda unit: unit["spec"]["podSet"] == [before])
    assert replicas_of(world.unit("first")) == 1
    good = good_job(world, a)
    world.job("second", a, cpu=3)
    world.wait_message("second", waiting_for(a, 3, 4))
    world.wait_complete(good)


def test_a_unit_nested_too_deeply_stops_nobody_else(
    mortal_kq: Kq, world: World, control_plane: Cluster
) -> None:
    """Neither by its event, nor by the list of the next start."""
    a = world.quota("a", cpu=2)
    template = '{"of":' * LEVELS + "1" + "}" * LEVELS
    spec = {"podSet": [{"name": "main", "template": "here"}], "resource": {"cpu": "1"}}
    body = json.dumps(queue_unit("deep", world.namespace, spec, quota=a))
    try:
        control_plane.kubectl("create", "-f", "-", input=body.replace('"here"', template))
        good = good_job(world, a)
        mortal_kq.kill_manager()
        mortal_kq.start_manager()
        world.wait_complete(good, good_job(world, a, "better"))
    except Exception:
        mortal_kq.kill_manager()  # as it may have ended by itself, the next tests get another one
        raise
    finally:
        world.delete_unit("deep")
