"""A hold that somebody takes out of a job instead of off: no field is as good as false."""

from typing import Any

from kind_cases import KindCase, of_kinds
from kind_cases_data import SPARK_APPLICATION
from kind_cases_kubeflow import TF_JOB
from kind_world import KindWorld
from world import World

CASES = (TF_JOB, SPARK_APPLICATION)
FIELDS: dict[str, Any] = {
    TF_JOB.kind.kind: {"spec": {"runPolicy": None}},
    SPARK_APPLICATION.kind.kind: {"spec": {"suspend": None}},
}


@of_kinds(CASES)
def test_a_job_whose_field_is_taken_out_is_held_again(
    world: World, jobs: KindWorld, case: KindCase
) -> None:
    """Case I4, spec 8.3: its annotation still says so, but its operator goes by the field."""
    a = world.quota("a", cpu=1)
    jobs.submit("first", a)
    unit = jobs.unit("first")
    jobs.wait("first", case.is_noticed)
    world.wait_phase(unit, "Enqueued")
    jobs.change("first", FIELDS[case.kind.kind])
    world.wait_event("first", "SlippedThrough", case.kind)
    jobs.wait("first", lambda job: case.is_held(job) and case.is_noticed(job))
    world.ground.until(lambda: jobs.pods("first") == [], "no pod of it is left")
    reasons = {each["reason"] for each in world.events("first", case.kind)}
    assert "HoldIneffective" not in reasons
    assert world.phase(unit) == "Enqueued"
