"""What the API server refuses for what it says: nothing is held by it (spec 8.9, 22.1)."""

from reading import is_suspended, message_of, reason_of
from test_e2e_updates import answer, waits
from world import World

NEXT_TRY_SECONDS = 90.0
"""A minute of back-off, and time to start."""
WRONG = {"name": "first", "labels": {"rack": "no label"}}
GOOD = {"name": "first", "labels": {"rack": "r1"}}


def test_pods_that_may_not_be_made_leave_the_quota_to_others_and_start_once_they_may(
    world: World,
) -> None:
    a = world.quota("a", cpu=2)
    waits(world, "first", a)
    answer(world, "first", WRONG)
    world.job("second", a, cpu=2)
    world.delete_job("blocker")
    unit = world.wait_phase("first", "TimeoutBackoff")
    text = message_of(unit)
    job = f"{world.namespace}/first"
    assert text.startswith(f'the API server refused to let job {job} start: Job.batch "first" is ')
    assert '"no label"' in text
    assert text.endswith(
        "; correct what admission checks quota add to its pods, or the rule that refuses it; "
        "it is tried again by itself"
    )
    assert reason_of(unit, "Evicted") == "ResumeFailed"
    assert unit["status"]["admissions"] == []
    told = world.wait_event("first", "ResumeFailed")
    assert (told["type"], told["message"], told.get("count", 1)) == ("Warning", text, 1)
    world.wait_pods("second")
    held = world.wait_job("first", bool)
    assert is_suspended(held)
    assert world.pods("first") == []
    answer(world, "first", GOOD)
    world.delete_job("second")
    world.ground.until(
        lambda: world.phase("first") == "Running", "it starts by itself", NEXT_TRY_SECONDS
    )
    (pod,) = world.wait_pods("first")
    assert pod["metadata"]["labels"]["rack"] == "r1"
