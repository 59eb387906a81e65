"""From submission to end: deleted, failed, scaled, paused, deactivated, let go behind our back."""

import pytest
from ground import Object
from reading import is_suspended, phase_of, replicas_of
from world import INSTALLED_IN, World

from kq.core import keys
from kq.core.kinds import EVENT, POD

PAUSED = (
    "Paused because the job was suspended by someone else; "
    "set spec.active to true to queue it again"
)


def waiting_for(quota: str, cpu: int, limit: int) -> str:
    return f"waiting for quota {quota}: {cpu} cpu requested, not enough free of {limit}"


def is_inactive(unit: Object) -> bool:
    return phase_of(unit) == "Enqueued" and unit["spec"].get("active") is False


def test_a_job_deleted_while_it_waits_leaves_its_place(world: World) -> None:
    a = world.quota("a", cpu=4, policy="Block")
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_granted("first")
    world.submit(world.manifest("big", a, cpu=4, priority=5), world.manifest("small", a, cpu=1))
    world.wait_phase("big", "Enqueued")
    world.wait_phase("small", "Enqueued")
    world.delete_job("big")
    world.wait_granted("small")


def test_a_job_deleted_while_it_runs_gives_its_quota_back(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_phase("first", "Running")
    world.delete_job("first")
    world.wait_pods("second")


def test_a_job_deleted_in_the_foreground_keeps_its_quota_until_its_pods_are_gone(
    world: World,
) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2, played={"linger-for": "2s"}))
    world.wait_pods("first")
    world.submit(world.manifest("second", a, cpu=2))
    world.wait_phase("second", "Enqueued")
    world.delete_job("first", policy="Foreground")
    world.wait_granted("second")
    assert world.pods("first") == []


def test_a_job_made_again_under_its_name_while_it_waited_gets_a_new_place(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_granted("first")
    world.submit(world.manifest("second", a, cpu=2))
    old = world.wait_phase("second", "Enqueued")
    world.delete_job("second")
    world.ground.until(lambda: world.seen_job("second") is None, "the job is gone")
    world.job_again("second")
    new = world.wait_unit("second", lambda unit: unit["metadata"]["uid"] != old["metadata"]["uid"])
    job = world.seen_job("second")
    assert job
    assert new["spec"]["consumerRef"]["uid"] == job["metadata"]["uid"]
    world.delete_job("first")
    world.wait_granted("second")


def test_a_job_made_again_under_its_name_waits_for_the_pods_of_the_old_one(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2, played={"linger-for": "2s"}))
    [pod] = world.wait_pods("first")
    old = world.unit("first")
    world.delete_job("first")
    world.ground.until(lambda: world.seen_job("first") is None, "the job is gone")
    world.job_again("first")
    world.wait_unit("first", lambda unit: unit["metadata"]["uid"] != old["metadata"]["uid"])
    world.wait_message("first", waiting_for(a, 2, 2))
    world.wait_granted("first")
    assert pod["metadata"]["uid"] not in {each["metadata"]["uid"] for each in world.pods("first")}


def test_a_failed_job_gives_its_quota_back(world: World) -> None:
    a = world.quota("a", cpu=2)
    failing = world.manifest(
        "first", a, cpu=2, played={"fail-after": "0s"}, spec={"backoffLimit": 0}
    )
    world.submit(failing, world.manifest("second", a, cpu=2))
    world.wait_message("first", "Failed")
    assert world.phase("first") == "Failed"
    world.wait_granted("second")


def test_a_job_between_two_attempts_keeps_its_grant(world: World) -> None:
    a = world.quota("a", cpu=2)
    failing = world.manifest(
        "first", a, cpu=2, played={"fail-after": "0s"}, spec={"backoffLimit": 3}
    )
    world.submit(failing, world.manifest("second", a, cpu=2))
    world.wait_job("first", lambda job: job.get("status", {}).get("failed", 0) >= 1)
    assert world.phase("first") in ("Dequeued", "Running")
    assert world.phase("second") in ("", "Enqueued")
    world.delete_job("first")
    world.wait_granted("second")


def test_a_job_that_is_removed_as_soon_as_it_ends_gives_its_quota_back(world: World) -> None:
    a = world.quota("a", cpu=2)
    ttl = {"ttlSecondsAfterFinished": 0}
    world.submit(
        world.manifest("first", a, cpu=2, run_for="0s", spec=ttl),
        world.manifest("second", a, cpu=2, run_for="0s", spec=ttl),
        world.manifest("third", a, cpu=2),
    )
    world.wait_granted("third")
    world.wait_unit_gone("first")
    world.wait_unit_gone("second")


def test_a_waiting_job_that_is_scaled_down_fits(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("first", a, cpu=3))
    world.wait_granted("first")
    world.submit(world.manifest("wide", a, cpu=1, spec={"parallelism": 2}))
    world.wait_message("wide", waiting_for(a, 2, 4))
    world.change_job("wide", {"spec": {"parallelism": 1}})
    world.wait_pods("wide", count=1)
    assert replicas_of(world.unit("wide")) == 1


def test_a_running_job_that_is_scaled_up_counts_at_once(world: World) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("wide", a, cpu=1, spec={"parallelism": 1}))
    world.wait_pods("wide", count=1)
    world.change_job("wide", {"spec": {"parallelism": 3}})
    world.wait_unit("wide", lambda unit: replicas_of(unit) == 3)
    world.submit(world.manifest("second", a, cpu=2))
    world.wait_message("second", waiting_for(a, 2, 4))
    world.change_job("wide", {"spec": {"parallelism": 1}})
    world.wait_granted("second")
    assert replicas_of(world.unit("wide")) == 1


def test_a_job_scaled_above_its_quota_runs_on_and_nothing_else_starts(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("wide", a, cpu=1, spec={"parallelism": 1}))
    world.wait_phase("wide", "Running")
    world.change_job("wide", {"spec": {"parallelism": 3}})
    world.wait_unit("wide", lambda unit: replicas_of(unit) == 3)
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_message("second", waiting_for(a, 1, 2))
    assert world.phase("wide") == "Running"
    told = world.ground.until(
        lambda: [
            each
            for each in world.ground.items(EVENT, INSTALLED_IN)
            if (each["reason"], each["involvedObject"]["name"]) == ("OverQuota", a)
        ],
        f"the Queue {a} is told of",
    )
    text = f"quota {a} is above its max: 3 cpu in use, max is 2; nothing starts there"
    assert [each["message"].partition(", so ")[2] for each in told] == [text]


def test_a_half_finished_job_gives_back_the_share_of_its_finished_pods(world: World) -> None:
    """Spec 8.2, 9.17: four pods, two at once; the first three end, and the last one runs on."""
    a = world.quota("a", cpu=2)
    counts = {"completions": 4, "parallelism": 2}
    world.submit(world.manifest("wide", a, cpu=1, spec=counts))
    world.wait_phase("wide", "Running")
    world.submit(world.manifest("next", a, cpu=1))
    world.wait_message("next", waiting_for(a, 1, 2))
    for _ in range(3):
        pod = world.wait_pods("wide", count=2)[0]
        ended = {"status": {"phase": "Succeeded"}}
        world.ground.patch(POD, world.namespace, pod["metadata"]["name"], ended, "status")
    world.wait_pods("next")
    unit = world.wait_unit("wide", lambda unit: replicas_of(unit) == 1)
    assert world.phase("wide") == "Running"
    assert unit["status"]["reclaimablePods"] == [{"name": "wide", "count": 1}]
    (last,) = [each for each in world.pods("wide") if each["status"]["phase"] == "Running"]
    assert "deletionTimestamp" not in last["metadata"]


def test_a_paused_job_gives_its_quota_back_and_queues_again_when_told(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_phase("first", "Running")
    world.change_job("first", {"spec": {"suspend": True}})
    paused = world.wait_message("first", PAUSED)
    assert is_inactive(paused)
    assert world.pods("first") == []
    world.wait_granted("second")
    world.annotate_job("first", {keys.ACTIVE: "true"})
    world.wait_message("first", waiting_for(a, 2, 2))
    world.delete_job("second")
    world.wait_pods("first")


def test_a_job_paused_twice_stays_paused_though_it_was_told_to_go_on_before(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_pods("first")
    world.change_job("first", {"spec": {"suspend": True}})
    world.wait_unit("first", is_inactive)
    world.annotate_job("first", {keys.ACTIVE: "true"})
    world.wait_pods("first")
    world.change_job("first", {"spec": {"suspend": True}})
    world.wait_message("first", PAUSED)
    assert is_inactive(world.unit("first"))
    job = world.seen_job("first")
    assert job
    assert keys.ACTIVE not in job["metadata"]["annotations"]


def test_a_deactivated_unit_is_evicted_and_starts_again_when_activated(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_phase("first", "Running")
    world.change_unit("first", {"spec": {"active": False}})
    world.wait_message("first", "Evicted because the queue unit is deactivated")
    world.wait_held("first")
    assert world.pods("first") == []
    world.wait_granted("second")
    world.delete_job("second")
    world.change_unit("first", {"spec": {"active": True}})
    world.wait_pods("first")
    assert world.unit("first")["status"]["attempts"] == 2


def test_a_deactivated_unit_that_waits_lets_others_pass(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_granted("first")
    world.submit(world.manifest("second", a, cpu=2, priority=5), world.manifest("third", a, cpu=2))
    world.wait_phase("second", "Enqueued")
    world.change_unit("second", {"spec": {"active": False}})
    world.wait_message("second", "deactivated")
    world.delete_job("first")
    world.wait_granted("third")
    assert is_inactive(world.unit("second"))


@pytest.mark.parametrize("suspend", [True, False], ids=["suspended", "plain"])
def test_a_job_submitted_as_inactive_stays_out_of_the_queue(world: World, suspend: bool) -> None:
    a = world.quota("a", cpu=2)
    world.submit(
        world.manifest(
            "first", a, cpu=2, annotations={keys.ACTIVE: "false"}, spec={"suspend": suspend}
        )
    )
    world.wait_message("first", "deactivated")
    world.annotate_job("first", {keys.ACTIVE: "true"})
    world.wait_pods("first")


def test_a_word_that_was_taken_away_counts_when_it_is_said_again(world: World) -> None:
    """Spec 9.18: it was removed, and the unit activated by hand, in between."""
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2, annotations={keys.ACTIVE: "false"}))
    world.wait_message("first", "deactivated")
    world.annotate_job("first", {keys.ACTIVE: None})
    world.wait_unit("first", lambda unit: keys.ACTIVE not in unit["metadata"]["annotations"])
    assert is_inactive(world.unit("first"))
    world.change_unit("first", {"spec": {"active": True}})
    world.wait_pods("first")
    world.annotate_job("first", {keys.ACTIVE: "false"})
    world.wait_message("first", "Evicted because the queue unit is deactivated")


def test_a_held_job_that_somebody_resumes_is_suspended_again(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_message("second", waiting_for(a, 2, 2))
    world.change_job("second", {"spec": {"suspend": False}})
    world.wait_event("second", "SlippedThrough")
    world.wait_held("second")
    world.ground.until(lambda: world.pods("second") == [], "its pods are gone")
    world.delete_job("first")
    world.wait_released("second")
    world.wait_pods("second")


def test_a_unit_deleted_by_hand_comes_back_at_its_place(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2))
    world.wait_granted("first")
    world.job("older", a, cpu=2)
    world.next_second("older")
    world.job("newer", a, cpu=2)
    old = world.wait_phase("older", "Enqueued")
    world.wait_phase("newer", "Enqueued")
    world.delete_unit("older")
    world.wait_unit("older", lambda unit: unit["metadata"]["uid"] != old["metadata"]["uid"])
    world.wait_phase("older", "Enqueued")
    world.delete_job("first")
    world.wait_granted("older")
    assert world.phase("newer") == "Enqueued"


def test_a_unit_of_a_running_job_deleted_by_hand_comes_back_as_running(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    old = world.wait_phase("first", "Running")
    [pod] = world.wait_pods("first")
    world.delete_unit("first")
    world.wait_unit("first", lambda unit: unit["metadata"]["uid"] != old["metadata"]["uid"])
    world.wait_message("first", f"already running when found, counted against quota {a}")
    assert [each["metadata"]["uid"] for each in world.pods("first")] == [pod["metadata"]["uid"]]
    assert world.phase("second") == "Enqueued"


def test_a_job_may_move_to_another_quota_while_it_waits(world: World) -> None:
    a, b = world.quota("a", cpu=2), world.quota("b", cpu=2)
    world.submit(world.manifest("first", a, cpu=2), world.manifest("second", a, cpu=2))
    world.wait_message("second", waiting_for(a, 2, 2))
    world.change_job("second", {"metadata": {"labels": {keys.QUOTA_LABEL: b}}})
    world.wait_granted("second")
    unit = world.unit("second")
    assert unit["spec"]["queue"] == b
    job = world.wait_job("second", lambda each: not is_suspended(each))
    assert job["metadata"]["labels"][keys.QUOTA_LABEL] == b
