"""Which jobs are queued, and which are left alone."""

from datetime import datetime, timedelta

import pytest
from ground import Object
from reading import is_suspended
from world import World

from kq.core import keys
from kq.core.kinds import JOB, NAMESPACE, ResourceKind

CRON_JOB = ResourceKind("batch", "v1", "CronJob", "cronjobs")


def label_namespace(world: World, labels: dict[str, str]) -> None:
    world.ground.patch(NAMESPACE, "", world.namespace, {"metadata": {"labels": labels}})


def test_a_namespace_names_the_quota_of_jobs_that_name_none(world: World) -> None:
    a = world.quota("a", cpu=2)
    label_namespace(world, {keys.QUOTA_LABEL: a})
    world.ground.until(lambda: takes_label(world, a), "the webhook has seen the label")
    world.submit(world.manifest("first", cpu=2), world.manifest("second", cpu=2))
    text = f"waiting for quota {a}: 2 cpu requested, not enough free of 2"
    world.wait_message("second", text)
    [pod] = world.wait_pods("first")
    assert pod["metadata"]["labels"][keys.QUOTA_LABEL] == a
    assert world.unit("first")["metadata"]["labels"][keys.QUOTA_LABEL] == a


def takes_label(world: World, quota: str) -> bool:
    """Whether a job submitted now would get the quota of its namespace."""
    world.job("probe", cpu=0, run_for="0s")
    seen = world.seen_job("probe")
    world.delete_job("probe")
    world.ground.until(lambda: world.seen_job("probe") is None, "the probe is gone")
    return seen is not None and seen["metadata"]["labels"].get(keys.QUOTA_LABEL) == quota


def test_a_job_without_a_quota_is_none_of_ours(world: World) -> None:
    world.submit(world.manifest("free", cpu=2, run_for="0s"))
    world.wait_complete("free")
    assert world.seen_unit("free") is None
    job = world.seen_job("free")
    assert job
    assert set(job["metadata"].get("annotations") or {}) == set()
    assert world.events("free") != []
    assert {each["source"]["component"] for each in world.events("free")} == {"job-controller"}


def test_jobs_of_an_excluded_namespace_run_at_once(world: World) -> None:
    label_namespace(world, {keys.MANAGED_LABEL: "false"})
    world.submit(world.manifest("free", world.name_of("unknown"), cpu=2, run_for="0s"))
    world.wait_complete("free")
    assert world.seen_unit("free") is None


def test_a_user_s_own_suspended_job_without_a_quota_stays_suspended(world: World) -> None:
    world.submit(world.manifest("mine", cpu=1, spec={"suspend": True}))
    world.submit(world.manifest("free", cpu=1, run_for="0s"))
    world.wait_complete("free")
    job = world.seen_job("mine")
    assert job
    assert is_suspended(job)
    assert world.seen_unit("mine") is None


def test_jobs_that_a_cron_job_makes_are_queued(world: World) -> None:
    """By the controller of CronJobs itself, which makes up for a turn that it missed."""
    a = world.quota("a", cpu=2)
    world.job("first", a, cpu=2)
    world.wait_granted("first")
    template = world.manifest("nightly", a, cpu=2)
    labels = template["metadata"]["labels"]
    cron = {
        "metadata": {"name": "nightly", "namespace": world.namespace},
        "spec": {
            "schedule": "0 * * * *",
            "jobTemplate": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }
    owner = world.ground.create(CRON_JOB, cron)
    made = datetime.fromisoformat(owner["metadata"]["creationTimestamp"])
    last = {"status": {"lastScheduleTime": f"{made - timedelta(minutes=90):%Y-%m-%dT%H:%M:%SZ}"}}
    world.ground.patch(CRON_JOB, world.namespace, "nightly", last, "status")
    [job] = world.ground.until(lambda: jobs_of(world, owner), "the CronJob has made a Job")
    name = job["metadata"]["name"]
    world.wait_message(name, f"waiting for quota {a}: 2 cpu requested, not enough free of 2")
    world.wait_held(name)
    assert world.pods(name) == []
    world.delete_job("first")
    world.wait_pods(name)


def jobs_of(world: World, owner: Object) -> list[Object]:
    """The Jobs that an object owns."""
    uid = owner["metadata"]["uid"]
    jobs = world.ground.items(JOB, world.namespace)
    owners = ((job, job["metadata"].get("ownerReferences", ())) for job in jobs)
    return [job for job, names in owners if any(each["uid"] == uid for each in names)]


def test_a_false_claim_to_be_a_child_is_queued_all_the_same(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.job("first", a, cpu=2)
    world.wait_granted("first")
    sly = world.manifest("sly", a, cpu=2)
    nobody = {"metadata": {"name": "nobody", "uid": "7d8ee36a-ba49-4f2a-9d19-5a4d0d5fbd11"}}
    sly["metadata"]["ownerReferences"] = [
        reference(nobody, "kai.alibabacloud.com/v1alpha1", "TrainingJob")
    ]
    world.submit(sly)
    world.wait_event("sly", "FalseOwner")
    world.wait_message("sly", f"waiting for quota {a}: 2 cpu requested, not enough free of 2")
    world.wait_held("sly")
    world.ground.until(lambda: world.pods("sly") == [], "no pod of it is left")


def reference(owner: dict[str, dict[str, str]], api_version: str, kind: str) -> dict[str, object]:
    meta = owner["metadata"]
    named = {"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**named, "controller": True}


@pytest.mark.parametrize("label", keys.QUOTA_LABELS)
def test_all_spellings_of_the_quota_label_are_read(world: World, label: str) -> None:
    a = world.quota("a", cpu=2)
    world.submit(world.manifest("first", cpu=2, labels={label: a}))
    world.wait_granted("first")
    job = world.seen_job("first")
    assert job
    assert job["metadata"]["labels"][label] == a
    assert world.unit("first")["spec"]["queue"] == a
