"""What the quick start promises: one job runs, the other waits, says why, and follows."""

import pytest
from controlplane.cluster import Cluster
from reading import condition_of, is_suspended, message_of, phase_of
from world import World


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"suspend": True}, id="suspended by its manifest"),
        pytest.param({}, id="held by the webhook"),
        pytest.param({"suspend": False}, id="held against its manifest"),
    ],
)
def test_the_second_job_waits_and_starts_when_the_first_ends(
    world: World, spec: dict[str, bool]
) -> None:
    a = world.quota("a", cpu=4, memory="8Gi")
    world.submit(
        world.manifest("first", a, cpu=4, memory="8Gi", run_for="2s", spec=spec),
        world.manifest("second", a, cpu=4, memory="8Gi", run_for="0s", spec=spec),
    )
    text = "4 cpu requested, not enough free of 4; 8Gi memory requested, not enough free of 8Gi"
    waits = world.wait_message("second", f"waiting for quota {a}: {text}")
    assert phase_of(waits) == "Enqueued"
    assert condition_of(waits, "QuotaReserved") is None
    second = world.seen_job("second")
    assert second
    assert is_suspended(second)
    assert world.pods("second") == []
    world.wait_phase("first", "Succeed")
    world.wait_complete("second")
    done = world.wait_phase("second", "Succeed")
    assert message_of(done) == "Succeeded"
    assert condition_of(done, "Finished")
    assert done["status"]["attempts"] == 1


def test_kubectl_shows_the_columns_of_the_manual(world: World, control_plane: Cluster) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("my-job", a, cpu=4), world.manifest("my-job-blocked", a, cpu=4))
    world.wait_phase("my-job-blocked", "Enqueued")
    shown = control_plane.kubectl("get", "queueunit", "my-job-blocked", "-n", world.namespace)
    head, line = shown.stdout.splitlines()
    assert head.split() == ["NAME", "PHASE", "PRIORITY", "ADMISSIONS", "JOBTYPE"]
    assert line.split() == ["my-job-blocked", "Enqueued", "Job"]


def test_events_tell_why_a_job_waits_and_that_it_was_admitted(
    world: World, control_plane: Cluster
) -> None:
    a = world.quota("a", cpu=4)
    world.submit(world.manifest("first", a, cpu=4), world.manifest("second", a, cpu=4))
    told = world.wait_event("second", "Scheduling")
    assert told["message"] == (
        f"Waiting in queue {a} at position 1: "
        f"waiting for quota {a}: 4 cpu requested, not enough free of 4"
    )
    world.delete_job("first")
    world.wait_event("second", "Resume")
    by_reason = ("get", "events", "-n", world.namespace, "--field-selector", "reason=Scheduling")

    def both() -> bool:
        shown = control_plane.kubectl(*by_reason).stdout
        return "Waiting in queue" in shown and f"Admitted to quota {a}" in shown

    world.ground.until(both, "events answer by their reason")
    assert {each["source"]["component"] for each in world.events("second")} >= {"koord-queue"}


def test_whoever_submits_is_told_that_the_job_is_held(world: World) -> None:
    a = world.quota("a", cpu=4)
    read = world.submit(world.manifest("first", a, cpu=4))
    assert f"held by koord-queue until quota {a} allows" in read
