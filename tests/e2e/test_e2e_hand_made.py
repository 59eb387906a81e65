"""Units that somebody makes by hand (the manual's example, and what it must not open)."""

from world import World


def consumer(name: str, namespace: str) -> dict[str, str]:
    return {"apiVersion": "batch/v1", "kind": "Job", "name": name, "namespace": namespace}


def test_a_unit_without_a_job_is_granted_and_holds_its_quota(world: World) -> None:
    a = world.quota("a", cpu=2, memory="4Gi")
    world.hand_made("place", {"queue": a, "priority": 5, "resource": {"cpu": "2"}})
    world.wait_phase("place", "Dequeued")
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_message("first", f"waiting for quota {a}: 2 cpu requested, not enough free of 2")
    world.delete_unit("place")
    world.wait_granted("first")


def test_the_manual_s_unit_waits_for_its_job_and_becomes_its_unit(world: World) -> None:
    a = world.quota("a", cpu=2, memory="4Gi")
    spec = {
        "queue": a,
        "priority": 200,
        "consumerRef": consumer("important-job", world.namespace),
        "resource": {"cpu": "2", "memory": "4Gi"},
    }
    made = world.unit(world.hand_made("high-priority-job", spec))
    world.wait_message("high-priority-job", f"job {world.namespace}/important-job does not exist")
    world.submit(world.manifest("important-job", a, cpu=1))
    world.wait_granted("high-priority-job")
    world.wait_pods("important-job")
    unit = world.unit("high-priority-job")
    assert unit["metadata"]["uid"] == made["metadata"]["uid"]
    assert unit["spec"]["priority"] == 200
    assert unit["spec"]["resource"] == {"cpu": "1"}
    job = world.seen_job("important-job")
    assert job
    assert unit["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    assert world.seen_unit("important-job") is None


def test_it_stays_in_the_queue_that_it_names_when_its_job_comes(world: World) -> None:
    """Spec 10.1, 10.3, 15.2: and draws on the quota of its job."""
    a, b = world.quota("a", cpu=2), world.quota("b", cpu=2)
    world.set_queue(b, {"spec": {"stopPolicy": "Hold"}})
    spec = {"queue": b, "consumerRef": consumer("job", world.namespace), "resource": {"cpu": "1"}}
    world.hand_made("place", spec, quota=a)
    world.wait_message("place", f"job {world.namespace}/job does not exist")
    world.submit(world.manifest("job", a, cpu=1))
    world.wait_unit("place", lambda unit: bool(unit["metadata"].get("ownerReferences")))
    world.wait_message("place", f"queue {b} is stopped")
    assert world.unit("place")["spec"]["queue"] == b
    world.set_queue(b, {"spec": {"stopPolicy": "None"}})
    world.wait_granted("place")
    world.wait_queue(a, lambda each: each.get("status", {}).get("usage") == {"cpu": "1"})
    world.wait_queue(b, lambda each: each.get("status", {}).get("admittedUnits") == 1)


def test_a_unit_for_a_job_of_another_namespace_is_never_granted(world: World) -> None:
    a = world.quota("a", cpu=2)
    spec = {"queue": a, "consumerRef": consumer("theirs", "default"), "resource": {"cpu": "1"}}
    world.hand_made("sly", spec, quota=a)
    world.wait_message("sly", "consumer default/theirs is in another namespace")


def test_a_second_unit_for_a_job_is_never_granted(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=1))
    world.wait_granted("first")
    spec = {
        "queue": a,
        "consumerRef": consumer("first", world.namespace),
        "resource": {"cpu": "1"},
    }
    world.hand_made("second", spec, quota=a)
    ours = f"{world.namespace}/first"
    world.wait_message("second", f"job {ours} is already queued as {ours}")


def test_a_unit_made_beforehand_cannot_make_its_job_cheaper(world: World) -> None:
    a = world.quota("a", cpu=2)
    spec = {
        "queue": a,
        "consumerRef": consumer("huge", world.namespace),
        "resource": {"cpu": "100m"},
    }
    world.hand_made("sly", spec, quota=a)
    world.wait_message("sly", f"job {world.namespace}/huge does not exist")
    world.submit(world.manifest("huge", a, cpu=4))
    world.wait_message("sly", f"cannot start: 4 cpu requested, but max of quota {a} is 2")
    assert world.pods("huge") == []
