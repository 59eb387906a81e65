"""A Queue that gives back all that its units hold, and goes on later (spec 3.1, stopPolicy)."""

from reading import is_suspended, message_of, phase_of, reason_of
from world import World

from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT

DRAIN = {"spec": {"stopPolicy": "HoldAndDrain"}}
GO_ON = {"spec": {"stopPolicy": "None"}}


def test_a_drained_queue_takes_back_what_runs_and_goes_on_in_its_old_order(world: World) -> None:
    """Spec 9.5 i: told once, free when the pods are gone; others may use it meanwhile."""
    root = world.quota("root", cpu=2, labels={keys.IS_PARENT_LABEL: "true"})
    a = world.quota("a", parent=root, cpu=2)
    b = world.quota("b", parent=root, cpu=2)
    world.job("first", a, cpu=2, priority=5, played={"linger-for": "1s"})
    world.wait_pods("first")
    world.job("beside", b, cpu=2)
    world.job("later", a, cpu=2, priority=1)
    stopped = f"queue {a} is stopped"
    world.set_queue(a, DRAIN)
    world.wait_message("later", stopped)
    unit = world.wait_unit("first", lambda unit: phase_of(unit) == "Enqueued")
    assert reason_of(unit, "Evicted") == reason_of(unit, "QuotaReserved") == "QueueStopped"
    assert (message_of(unit), unit["status"]["admissions"]) == (stopped, [])
    assert is_suspended(world.wait_job("first", bool))
    for kind in (JOB, QUEUE_UNIT):
        told = world.wait_event("first", "Evicted", kind)
        assert (told["message"], told.get("count", 1)) == (stopped, 1)
    world.wait_pods("beside")
    world.delete_job("beside")
    assert (world.phase("first"), world.phase("later")) == ("Enqueued", "Enqueued")
    world.set_queue(a, GO_ON)
    world.wait_granted("first")
    world.wait_message("later", f"waiting for quota {a}: 2 cpu requested, not enough free of 2")
