"""What happens to jobs, as scenes that are played on a real cluster and on the simulated one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from controller_stage import CRON_JOB, RESOURCE_QUOTA, Object, Stage

from kq.core.kinds import JOB, NAMESPACE, POD

Now = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One scene, and how closely the two clusters can be compared by it."""

    play: Callable[[Stage, Now], Awaitable[None]]
    is_racy: bool = False
    """Whether steps on the way differ from run to run: several pods change, or controllers race."""


def job(
    name: str = "a",
    *,
    spec: Mapping[str, Any] | None = None,
    resources: Mapping[str, Any] | None = None,
    pod_spec: Mapping[str, Any] | None = None,
    **played: str,
) -> Object:
    """A Job of one container; `played` steers how its pods run."""
    container = {"name": "main", "image": "busybox", "resources": dict(resources or {})}
    annotations = {key.replace("_", "-"): value for key, value in played.items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            **(spec or {}),
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [container],
                    **(pod_spec or {}),
                },
            },
        },
    }


def says(type_: str, status: str = "True") -> Callable[[Object], bool]:
    """Whether a Job has that condition."""

    def claim(obj: Object) -> bool:
        conditions = obj.get("status", {}).get("conditions") or ()
        return any(each["type"] == type_ and each["status"] == status for each in conditions)

    return claim


def counts(**wanted: int) -> Callable[[Object], bool]:
    """Whether a Job's status has these counts."""
    return lambda obj: all(obj.get("status", {}).get(key, 0) == n for key, n in wanted.items())


async def running(stage: Stage, pods: int = 1, **options: Any) -> None:
    """A Job whose pods run, and whose status says so."""
    await stage.create(JOB, job(**{"run_for": "forever", **options}))
    await stage.until(JOB, "a", counts(ready=pods, active=pods))


async def suspend(stage: Stage, *, suspended: bool) -> None:
    """Suspends or resumes the Job."""
    await stage.patch(JOB, "a", {"spec": {"suspend": suspended}})


async def completes(stage: Stage, now: Now) -> None:
    await stage.create(JOB, job(run_for="1500ms"))
    await stage.until(JOB, "a", says("Complete"))


async def created_suspended_then_resumed(stage: Stage, now: Now) -> None:
    await stage.create(JOB, job(run_for="1500ms", spec={"suspend": True}))
    await stage.until(JOB, "a", says("Suspended"))
    await suspend(stage, suspended=False)
    await stage.until(JOB, "a", says("Complete"))


async def suspended_while_running(stage: Stage, now: Now) -> None:
    await running(stage)
    await suspend(stage, suspended=True)
    await stage.until(JOB, "a", says("Suspended"))
    await stage.until(JOB, "a", counts(terminating=0))
    await suspend(stage, suspended=False)
    await stage.until(JOB, "a", counts(ready=1))


async def suspended_with_a_pod_that_takes_its_time(stage: Stage, now: Now) -> None:
    await running(stage, linger_for="2500ms")
    await suspend(stage, suspended=True)
    await stage.until(JOB, "a", counts(terminating=1))
    await stage.until(JOB, "a", counts(terminating=0))


async def resumed_beside_a_terminating_pod(stage: Stage, now: Now) -> None:
    await running(stage, linger_for="6s")
    await suspend(stage, suspended=True)
    await stage.until(JOB, "a", counts(terminating=1))
    await suspend(stage, suspended=False)
    await stage.until(JOB, "a", counts(ready=1, terminating=1))
    await stage.until(JOB, "a", counts(ready=1, terminating=0))


async def fails_at_once(stage: Stage, now: Now) -> None:
    await stage.create(JOB, job(fail_after="1500ms", spec={"backoffLimit": 0}))
    await stage.until(JOB, "a", says("Failed"))


async def fails_after_a_retry(stage: Stage, now: Now) -> None:
    await stage.create(JOB, job(fail_after="1500ms", spec={"backoffLimit": 1}))
    await stage.until(JOB, "a", says("Failed"))


async def three_pods_fail_of_two_that_may(stage: Stage, now: Now) -> None:
    spec = {"backoffLimit": 2, "parallelism": 3, "completions": 3}
    await stage.create(JOB, job(fail_after="300ms", spec=spec))
    await stage.until(JOB, "a", says("Failed"))


async def fails_by_its_policy(stage: Stage, now: Now) -> None:
    codes = {"containerName": "main", "operator": "In", "values": [1]}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
    await stage.create(JOB, job(fail_after="1500ms", spec={"podFailurePolicy": policy}))
    await stage.until(JOB, "a", says("Failed"))


async def fails_with_a_pod_that_takes_its_time(stage: Stage, now: Now) -> None:
    spec = {"backoffLimit": 0, "parallelism": 2, "completions": 2}
    await running(stage, 2, spec=spec, linger_for="2500ms")
    await stage.delete(POD, stage.all(POD)[0]["metadata"]["name"])
    await stage.until(JOB, "a", says("Failed"))


async def runs_too_long(stage: Stage, now: Now) -> None:
    spec = {"activeDeadlineSeconds": 2}
    await stage.create(JOB, job(run_for="forever", linger_for="1500ms", spec=spec))
    await stage.until(JOB, "a", says("Failed"))


async def five_completions_three_at_a_time(stage: Stage, now: Now) -> None:
    spec = {"parallelism": 3, "completions": 5}
    await stage.create(JOB, job(run_for="500ms", spec=spec))
    await stage.until(JOB, "a", says("Complete"))


async def indexed(stage: Stage, now: Now) -> None:
    spec = {"parallelism": 2, "completions": 3, "completionMode": "Indexed"}
    await stage.create(JOB, job(run_for="500ms", spec=spec))
    await stage.until(JOB, "a", says("Complete"))


async def suspended_half_done(stage: Stage, now: Now) -> None:
    spec = {"parallelism": 2, "completions": 4}
    await stage.create(JOB, job(run_for="2500ms", spec=spec))
    await stage.until(JOB, "a", counts(succeeded=2, ready=2))
    await suspend(stage, suspended=True)
    await stage.until(JOB, "a", says("Suspended"))
    await stage.until(JOB, "a", counts(succeeded=2, terminating=0))
    await suspend(stage, suspended=False)
    await stage.until(JOB, "a", says("Complete"))


async def made_smaller_and_larger(stage: Stage, now: Now) -> None:
    await running(stage, 3, spec={"parallelism": 3, "completions": 3})
    await stage.patch(JOB, "a", {"spec": {"parallelism": 1}})
    await stage.until(JOB, "a", counts(active=1, ready=1, terminating=0))
    await stage.patch(JOB, "a", {"spec": {"parallelism": 2}})
    await stage.until(JOB, "a", counts(active=2, ready=2))


async def enough_of_its_indexes(stage: Stage, now: Now) -> None:
    policy = {"rules": [{"succeededIndexes": "0-1"}]}
    # One after another: beside one that ends a moment earlier, a third may come and be stopped.
    spec = {"parallelism": 1, "completions": 4, "completionMode": "Indexed"}
    await stage.create(JOB, job(run_for="1500ms", spec={**spec, "successPolicy": policy}))
    await stage.until(JOB, "a", says("Complete"))


async def goes_by_itself_after_its_end(stage: Stage, now: Now) -> None:
    await stage.create(JOB, job(run_for="1500ms", spec={"ttlSecondsAfterFinished": 1}))
    await stage.until(JOB, "a", says("Complete"))
    await stage.until_gone(JOB, "a")
    await stage.until_all(POD, lambda pods: not pods)


async def deleted_in_the_background(stage: Stage, now: Now) -> None:
    await running(stage)
    await stage.delete(JOB, "a", "Background")
    await stage.until_all(POD, lambda pods: not pods)


async def deleted_in_the_foreground(stage: Stage, now: Now) -> None:
    await running(stage, linger_for="1500ms")
    await stage.delete(JOB, "a", "Foreground")
    await stage.until_gone(JOB, "a")
    await stage.until_all(POD, lambda pods: not pods)


async def deleted_without_its_pods(stage: Stage, now: Now) -> None:
    await running(stage)
    await stage.delete(JOB, "a", "Orphan")
    await stage.until_gone(JOB, "a")
    await stage.until_all(POD, lambda pods: not pods[0]["metadata"].get("finalizers"))


async def child_of_a_cron_job(stage: Stage, now: Now) -> None:
    template = {"spec": job(run_for="1500ms")["spec"]}
    spec = {"schedule": "0 * * * *", "jobTemplate": template}
    await stage.create(CRON_JOB, {"metadata": {"name": "c"}, "spec": spec})
    hour = now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    last = (hour - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    await stage.patch(CRON_JOB, "c", {"status": {"lastScheduleTime": last}}, "status")
    await stage.until_all(JOB, lambda jobs: jobs and says("Complete")(jobs[0]))
    await stage.until(CRON_JOB, "c", lambda cron: cron["status"].get("lastSuccessfulTime"))


async def namespace_deleted(stage: Stage, now: Now) -> None:
    await stage.create(JOB, job("b", run_for="forever", spec={"suspend": True}))
    await stage.until(JOB, "b", says("Suspended"))
    await running(stage)
    await stage.client.delete(NAMESPACE, stage.namespace)
    await stage.until_namespace_is_gone()


async def pod_deleted_by_hand(stage: Stage, now: Now) -> None:
    await running(stage)
    await stage.delete(POD, stage.all(POD)[0]["metadata"]["name"])
    await stage.until(JOB, "a", counts(failed=1))
    await stage.until(JOB, "a", counts(failed=1, ready=1))


async def pod_evicted(stage: Stage, now: Now) -> None:
    await running(stage)
    await stage.evict(stage.all(POD)[0]["metadata"]["name"])
    await stage.until(JOB, "a", counts(failed=1, terminating=0))


async def without_quota_for_its_pods(stage: Stage, now: Now) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1", "requests.cpu": "1"}}}
    await stage.create(RESOURCE_QUOTA, body)
    await stage.until(RESOURCE_QUOTA, "q", lambda quota: quota["status"].get("used"))
    resources = {"requests": {"cpu": "500m"}}
    await running(stage, resources=resources, spec={"parallelism": 2, "completions": 2})
    await suspend(stage, suspended=True)
    await stage.until(JOB, "a", says("Suspended"))
    await stage.until(RESOURCE_QUOTA, "q", lambda quota: quota["status"]["used"]["pods"] == "0")
    await stage.until(JOB, "a", counts(terminating=0))


async def under_a_quota_that_demands_no_storage(stage: Stage, now: Now) -> None:
    """Of every container cpu and memory are demanded where they are limited, storage is not."""
    hard = {"requests.cpu": "1", "requests.ephemeral-storage": "1Gi"}
    await stage.create(RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    await stage.until(RESOURCE_QUOTA, "q", lambda quota: quota["status"].get("used"))
    await running(stage, resources={"requests": {"cpu": "500m"}})
    await stage.until(
        RESOURCE_QUOTA, "q", lambda quota: quota["status"]["used"]["requests.cpu"] == "500m"
    )


async def too_large_for_any_node(stage: Stage, now: Now) -> None:
    resources = {"requests": {"cpu": "5000", "memory": "9Ti"}}
    await stage.create(JOB, job(resources=resources))
    await stage.until_all(POD, lambda pods: pods and pods[0]["status"].get("conditions"))
    await stage.until(JOB, "a", counts(active=1))


SCENES = {
    "completes": Scene(play=completes),
    "created suspended, then resumed": Scene(play=created_suspended_then_resumed),
    "suspended while running, then resumed": Scene(play=suspended_while_running),
    "a suspended pod takes its time": Scene(play=suspended_with_a_pod_that_takes_its_time),
    "resumed beside a terminating pod": Scene(play=resumed_beside_a_terminating_pod),
    "fails at once": Scene(play=fails_at_once),
    "fails after a retry": Scene(play=fails_after_a_retry),
    "three pods fail": Scene(play=three_pods_fail_of_two_that_may, is_racy=True),
    "fails by its policy": Scene(play=fails_by_its_policy),
    "a failed job's pod takes its time": Scene(
        play=fails_with_a_pod_that_takes_its_time, is_racy=True
    ),
    "runs too long": Scene(play=runs_too_long),
    "five completions": Scene(play=five_completions_three_at_a_time, is_racy=True),
    "indexed": Scene(play=indexed, is_racy=True),
    "suspended half done": Scene(play=suspended_half_done, is_racy=True),
    "made smaller and larger": Scene(play=made_smaller_and_larger, is_racy=True),
    "enough of its indexes": Scene(play=enough_of_its_indexes, is_racy=True),
    "time to live": Scene(play=goes_by_itself_after_its_end),
    "deleted in the background": Scene(play=deleted_in_the_background, is_racy=True),
    "deleted in the foreground": Scene(play=deleted_in_the_foreground, is_racy=True),
    "deleted without its pods": Scene(play=deleted_without_its_pods, is_racy=True),
    "child of a cron job": Scene(play=child_of_a_cron_job),
    "namespace deleted": Scene(play=namespace_deleted),
    "pod deleted by hand": Scene(play=pod_deleted_by_hand),
    "pod evicted": Scene(play=pod_evicted),
    "without quota": Scene(play=without_quota_for_its_pods),
    "quota that demands no storage": Scene(play=under_a_quota_that_demands_no_storage),
    "too large for any node": Scene(play=too_large_for_any_node),
}
