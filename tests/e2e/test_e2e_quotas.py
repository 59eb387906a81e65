"""Limits: of a quota, of its ancestors, and what changes in them does."""

import pytest
from ground import Object
from reading import condition_of, phase_of, replicas_of
from world import INSTALLED_IN, World

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, LIMIT_RANGE, QUEUE

OFTEN = {"koord-queue/queue-items-refresh-interval": "1s"}
"""Has the status of the Queue written without a long wait."""


def waiting_for(quota: str, cpu: int, limit: int) -> str:
    return f"waiting for quota {quota}: {cpu} cpu requested, not enough free of {limit}"


def test_an_ancestor_limits_its_children_together(world: World) -> None:
    root = world.quota("root", cpu=4, labels={keys.IS_PARENT_LABEL: "true"})
    a = world.quota("a", cpu=4, parent=root)
    b = world.quota("b", cpu=4, parent=root)
    world.submit(world.manifest("first", a, cpu=3))
    world.wait_granted("first")
    world.submit(world.manifest("second", b, cpu=2), world.manifest("third", b, cpu=1))
    world.wait_granted("third")
    world.wait_message(
        "second",
        f"waiting for quota {root}, ancestor of {b}: 2 cpu requested, not enough free of 4",
    )
    world.delete_job("first")
    world.wait_granted("second")


def test_a_quota_moved_to_another_parent_takes_its_usage_along(world: World) -> None:
    parent = {keys.IS_PARENT_LABEL: "true"}
    one, two = world.quota("one", cpu=4, labels=parent), world.quota("two", cpu=4, labels=parent)
    a, b = world.quota("a", cpu=4, parent=one), world.quota("b", cpu=4, parent=one)
    world.job("first", a, cpu=4)
    world.wait_granted("first")
    world.job("second", b, cpu=4)
    world.wait_phase("second", "Enqueued")
    world.mark_quota(b, labels={keys.PARENT_LABEL: two})
    world.wait_granted("second")


def test_a_raised_quota_starts_who_fits_now(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_message("second", waiting_for(a, 2, 2))
    world.set_limits(a, cpu=4)
    world.wait_granted("second")
    assert phase_of(world.unit("first")) in ("Dequeued", "Running")


def test_a_lowered_quota_evicts_nobody(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_pods("first")
    world.wait_pods("second")
    world.set_limits(a, cpu=2)
    world.submit(world.manifest("third", a, cpu=2))
    world.wait_message("third", waiting_for(a, 2, 2))
    world.delete_job("first")
    world.ground.until(lambda: world.pods("first") == [], "its pods are gone")
    assert world.phase("third") == "Enqueued"
    assert len(world.wait_pods("second")) == 1
    world.delete_job("second")
    world.wait_granted("third")


def test_a_request_above_the_limit_says_that_it_can_never_start(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("huge", a, cpu=5))
    world.wait_message("huge", f"cannot start: 5 cpu requested, but max of quota {a} is 4")
    told = world.wait_event("huge", "CanNeverFit")
    assert told["type"] == "Warning"
    world.submit(world.manifest("small", a, cpu=4, run_for="0s"))
    world.wait_complete("small")
    assert world.pods("huge") == []


def test_a_job_of_an_unknown_quota_waits_for_it_to_be_made(world: World) -> None:
    later = world.name_of("later")
    world.submit(world.manifest("first", later, cpu=1, spec={"suspend": True}))
    world.wait_message("first", f"quota {later} does not exist")
    world.quota("later", cpu=1)
    world.wait_granted("first")
    world.wait_pods("first")


def test_a_quota_deleted_and_made_again_counts_what_still_runs(world: World) -> None:
    a = world.quota("a", cpu=4, annotations=OFTEN)
    world.submit(world.manifest("first", a, cpu=3))
    world.wait_phase("first", "Running")
    world.delete_quota(a)
    world.submit(world.manifest("second", a, cpu=2))
    world.wait_message("second", f"quota {a} does not exist")
    queue = world.wait_queue(a, lambda each: reason_of(each, "Active") == "QuotaNotFound")
    world.quota("a", cpu=4, annotations=OFTEN)
    world.wait_message("second", waiting_for(a, 2, 4))
    assert world.phase("first") == "Running"
    assert world.queue(a)["metadata"]["uid"] == queue["metadata"]["uid"]
    world.delete_job("first")
    world.wait_granted("second")


def test_a_parent_quota_takes_no_jobs(world: World) -> None:
    root = world.quota("root", cpu=4, labels={keys.IS_PARENT_LABEL: "true"})
    world.submit(world.manifest("first", root, cpu=1))
    world.wait_message("first", f"quota {root} is a parent quota: name one of its children")


def test_a_namespace_that_a_quota_does_not_allow_waits_until_it_does(world: World) -> None:
    a = world.quota("a", cpu=4, annotations={keys.ALLOWED_NAMESPACES: "other-*, third"})
    world.submit(world.manifest("first", a, cpu=1))
    world.wait_message("first", f"namespace {world.namespace} may not use quota {a}")
    world.mark_quota(a, annotations={keys.ALLOWED_NAMESPACES: "test-*"})
    world.wait_granted("first")


def test_a_stopped_queue_starts_nobody_until_it_goes_on(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("first", a, cpu=1))
    world.wait_phase("first", "Running")
    world.set_queue(a, {"spec": {"stopPolicy": "Hold"}})
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_message("second", f"queue {a} is stopped")
    assert world.phase("first") == "Running"
    world.set_queue(a, {"spec": {"stopPolicy": "None"}})
    world.wait_granted("second")


def test_what_a_limit_range_adds_to_the_pods_counts_before_they_exist(world: World) -> None:
    limits = [{"type": "Container", "defaultRequest": {"cpu": "2"}, "default": {"cpu": "2"}}]
    body = {"metadata": {"name": "usual", "namespace": world.namespace}, "spec": {"limits": limits}}
    world.ground.create(LIMIT_RANGE, body)
    a = world.quota("a", cpu=3)
    world.submit(world.manifest("first", a), world.manifest("second", a))
    world.wait_message("second", waiting_for(a, 2, 3))
    assert world.unit("first")["spec"]["request"]["cpu"] == "2"
    [pod] = world.wait_pods("first")
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2"


def test_quota_is_not_handed_on_while_a_pod_of_its_former_holder_lives(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2, played={"linger-for": "2s"}))
    world.wait_pods("first")
    world.submit(world.manifest("second", a, cpu=2))
    world.wait_phase("second", "Enqueued")
    world.delete_job("first")
    world.ground.until(lambda: world.seen_job("first") is None, "the job is gone")
    assert len(world.pods("first")) == 1
    assert world.phase("second") == "Enqueued"
    world.wait_granted("second")
    assert world.pods("first") == []


@pytest.mark.parametrize("resource", ["koord-queue/max-jobs", "pods"])
def test_a_limit_of_numbers_counts_jobs_or_pods(world: World, resource: str) -> None:
    a = world.quota("a", limits={resource: 2})
    world.submit(*(world.manifest(name, a, cpu=1) for name in ("first", "second", "third")))
    world.wait_message(
        "third", f"waiting for quota {a}: 1 {resource} requested, not enough free of 2"
    )
    world.delete_job("first")
    world.wait_granted("third")


def test_a_big_job_fits_whole_or_not_at_all(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_granted("first")
    world.submit(world.manifest("wide", a, cpu=1, spec={"parallelism": 3, "completions": 3}))
    world.wait_message("wide", waiting_for(a, 3, 4))
    assert world.pods("wide") == []
    world.delete_job("first")
    world.wait_pods("wide", count=3)
    assert replicas_of(world.unit("wide")) == 3


def test_a_quota_s_queue_is_made_with_its_marks_and_goes_with_it(world: World) -> None:
    mark = "koord-queue/max-depth"
    a = world.quota("a", cpu=1, annotations={mark: "5"})
    queue = world.queue(a)
    assert queue["metadata"]["labels"][keys.AUTO_MADE_LABEL] == "true"
    assert queue["metadata"]["annotations"][mark] == "5"
    assert queue["spec"]["priority"] == 1000
    assert queue["spec"]["queuePolicy"] == "Priority"
    world.mark_quota(a, annotations={mark: "7"})
    world.wait_queue(a, lambda each: each["metadata"]["annotations"].get(mark) == "7")
    world.mark_quota(a, annotations={mark: None})
    world.wait_queue(a, lambda each: mark not in each["metadata"]["annotations"])
    world.delete_quota(a)
    world.ground.until(
        lambda: world.ground.read(QUEUE, INSTALLED_IN, a) is None, f"queue {a} is gone"
    )


def test_the_policy_label_of_a_quota_wins_over_a_hand_edit_which_else_stays(world: World) -> None:
    a = world.quota("a", cpu=1)
    world.set_queue(a, {"spec": {"queuePolicy": "Block", "priority": 7}})
    world.mark_quota(a, annotations={"koord-queue/max-depth": "5"})
    queue = world.wait_queue(a, lambda each: "koord-queue/max-depth" in marks_of(each))
    assert (queue["spec"]["queuePolicy"], queue["spec"]["priority"]) == ("Block", 7)
    world.mark_quota(a, labels={keys.POLICY_LABELS[0]: "Priority"})
    world.wait_queue(a, lambda each: each["spec"]["queuePolicy"] == "Priority")
    world.set_queue(a, {"spec": {"queuePolicy": "Block"}})
    queue = world.wait_queue(a, lambda each: each["spec"]["queuePolicy"] == "Priority")
    assert queue["spec"]["priority"] == 7


def test_the_queue_of_a_deleted_quota_stays_until_its_last_unit_is_gone(world: World) -> None:
    a = world.quota("a", cpu=1)
    world.submit(world.manifest("first", a, cpu=1))
    world.wait_phase("first", "Running")
    world.delete_quota(a)
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_message("second", f"quota {a} does not exist")
    assert world.queue(a)
    world.delete_job("second")
    world.delete_job("first")
    world.ground.until(
        lambda: world.ground.read(QUEUE, INSTALLED_IN, a) is None, f"queue {a} is gone"
    )


def test_a_queue_shows_its_counts_its_line_and_its_usage(world: World) -> None:
    a = world.quota("a", cpu=4, annotations=OFTEN)
    world.submit(world.manifest("first", a, cpu=3))
    world.wait_granted("first")
    world.submit(
        world.manifest("second", a, cpu=2, priority=1),
        world.manifest("third", a, cpu=2, priority=2),
    )
    seen = world.wait_queue(a, shows_line)["status"]
    assert [each["name"] for each in seen["queueItemDetails"]["active"]] == ["third", "second"]
    assert [each["position"] for each in seen["queueItemDetails"]["active"]] == [1, 2]
    assert seen["usage"] == {"cpu": "3"}
    assert condition_of({"status": seen}, "Active")


def shows_line(queue: Object) -> bool:
    status = queue.get("status", {})
    counts = (status.get("pendingUnits"), status.get("admittedUnits"))
    return counts == (2, 1) and bool(status.get("usage"))


def marks_of(queue: Object) -> Object:
    return dict(queue["metadata"].get("annotations") or {})


def reason_of(thing: Object, type_: str) -> str:
    conditions = thing.get("status", {}).get("conditions") or ()
    return next((each["reason"] for each in conditions if each["type"] == type_), "")


def test_two_quotas_of_one_name_are_told_apart_by_age(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.job("probe")
    world.next_second("probe")
    twin = {"metadata": {"name": a, "namespace": "default"}, "spec": {"max": {"cpu": "8"}}}
    world.ground.create(ELASTIC_QUOTA, twin)
    try:
        world.submit(world.manifest("first", a, cpu=4))
        world.wait_message("first", f"cannot start: 4 cpu requested, but max of quota {a} is 2")
    finally:
        world.ground.delete(ELASTIC_QUOTA, "default", a)
