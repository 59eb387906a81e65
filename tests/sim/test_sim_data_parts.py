"""What jobs of Ray, Spark and Argo do on the simulated cluster that is not seen with real ones."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import pytest
from data_scenes import (
    EXAMPLE,
    RAY_CLUSTER,
    RAY_JOB,
    Part,
    Play,
    Scene,
    example,
    is_ending,
    is_running,
)
from data_stage import simulated
from data_stories import Story

from kq.core.kinds import JOB, POD, ResourceKind
from kq.core.model import JobView
from kq.core.podrequests import pod_request
from kq.core.resources import ZERO, Resources
from kq.jobs import INTEGRATIONS
from kq.jobs.argo import WORKFLOW
from kq.jobs.options import JobOptions
from kq.jobs.spark import SPARK_APPLICATION

pytestmark = pytest.mark.looptime

Object = dict[str, Any]
Change = Callable[[Object], None]


async def story_of(kind: ResourceKind, scene: Scene) -> Story:
    beside = (RAY_CLUSTER, JOB) if kind == RAY_JOB else ()
    story, failures = await simulated(Part(scene=scene, kind=kind, beside=beside))
    assert failures == []
    return story


def setting(**fields: Any) -> Change:
    """A change that sets fields of the spec; None takes one away."""

    def change(job: Object) -> None:
        job["spec"].update(fields)
        for key in [key for key, each in fields.items() if each is None]:
            del job["spec"][key]

    return change


def now() -> float:
    return asyncio.get_running_loop().time()


def view_of(kind: ResourceKind) -> JobView:
    """What kq reads in the example."""
    job = example(EXAMPLE[kind])
    meta = {**job["metadata"], "uid": "uid", "namespace": "default"}
    [integration] = [
        each
        for each in (make(JobOptions()) for make in INTEGRATIONS.values())
        if kind in each.kinds
    ]
    return integration.view({**job, "metadata": meta})


def total(amounts: Iterable[Resources]) -> Resources:
    return sum(amounts, start=ZERO)


async def test_a_ray_job_has_only_so_much_time() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False, activeDeadlineSeconds=5))
        await play.says("RUNNING")
        await play.says("Failed")
        await play.stage.until_all(POD, lambda pods: len(pods) == 1)
        job = await play.stage.until(RAY_JOB, "a", bool)
        assert (job["status"]["reason"], job["status"]["failed"]) == ("DeadlineExceeded", 1)

    await story_of(RAY_JOB, scene)


async def test_a_ray_job_that_may_is_tried_again_with_a_new_cluster() -> None:
    async def scene(play: Play) -> None:
        config = {"backoffLimit": 0}
        await play.create(setting(suspend=False, backoffLimit=1, submitterConfig=config))
        for state in ("Initializing", "Failed"):
            await play.says("RUNNING")
            [submitter] = [
                each
                for each in filter(is_running, play.stage.all(POD))
                if each["metadata"]["labels"].get("job-name") == "a"
            ]
            await play.end(submitter["metadata"]["name"], well=False)
            await play.says(state)

    story = await story_of(RAY_JOB, scene)
    states = [state for _, state in story.jobs["RayJob"][0]]
    assert states == [
        None,
        *("Initializing", "Running", "Retrying", None),
        *("Initializing", "Running", "Failed"),
    ]
    assert len(story.jobs["RayCluster"]) == 2


@pytest.mark.parametrize(("how", "end"), [("run-for", "Complete"), ("fail-after", "Failed")])
async def test_a_ray_job_without_a_submitter_runs_as_it_says_itself(how: str, end: str) -> None:
    async def scene(play: Play) -> None:
        def by_http(job: Object) -> None:
            setting(suspend=False, submissionMode="HTTPMode")(job)
            job["metadata"]["annotations"] = {how: "10s"}

        await play.create(by_http)
        await play.says("RUNNING")
        await play.says(end)
        await play.no_pods()

    story = await story_of(RAY_JOB, scene)
    assert "Job" not in story.jobs
    assert len(story.made) == 3


async def test_the_cluster_of_a_ray_job_goes_some_time_after_its_end() -> None:
    times: list[float] = []

    async def scene(play: Play) -> None:
        def with_time(job: Object) -> None:
            setting(suspend=False, ttlSecondsAfterFinished=30)(job)
            job["spec"]["submitterPodTemplate"]["metadata"]["annotations"] = {"run-for": "1s"}

        await play.create(with_time)
        await play.says("Complete")
        times.append(now())
        await play.stage.until_all(RAY_CLUSTER, lambda clusters: not clusters)
        times.append(now())

    await story_of(RAY_JOB, scene)
    # The end is told in whole seconds.
    assert 29 <= times[1] - times[0] <= 30


async def test_an_interactive_ray_job_waits_and_is_not_suspended() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False, submissionMode="InteractiveMode"))
        await play.says("Waiting")
        await play.suspend()
        await asyncio.sleep(10)
        await play.runs(3)

    story = await story_of(RAY_JOB, scene)
    assert story.jobs["RayJob"][0][-1] == [True, "Waiting"]


async def test_the_head_of_a_ray_job_in_sidecar_mode_submits_it_itself() -> None:
    async def scene(play: Play) -> None:
        def with_sidecar(job: Object) -> None:
            setting(suspend=False, submissionMode="SidecarMode")(job)
            job["metadata"]["annotations"] = {"run-for": "5s"}

        await play.create(with_sidecar)
        await play.says("Complete")

    story = await story_of(RAY_JOB, scene)
    [head] = [each for each in story.made if each["labels"]["ray.io/node-type"] == "head"]
    assert [name for name, _ in head["containers"]] == ["ray-head", "ray-job-submitter"]
    assert "Job" not in story.jobs


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds must be a positive integer"),
        ({"backoffLimit": -1}, "backoffLimit must be a positive integer"),
        (
            {"ttlSecondsAfterFinished": -1},
            "TTLSecondsAfterFinished must be a non-negative integer",
        ),
        (
            {"shutdownAfterJobFinishes": False},
            "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
        ),
        (
            {"shutdownAfterJobFinishes": False, "suspend": False, "ttlSecondsAfterFinished": 3},
            "a RayJob with shutdownAfterJobFinishes set to false cannot have "
            "TTLSecondsAfterFinished",
        ),
        (
            {"clusterSelector": {"ray.io/cluster": "x"}},
            "the ClusterSelector mode doesn't support the suspend operation",
        ),
        (
            {"deletionStrategy": {"deletionRules": [{"policy": "DeleteCluster"}]}},
            "spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are mutually "
            "exclusive",
        ),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, dict) else "",
)
async def test_kuberay_says_what_is_wrong_with_a_ray_job(spec: Object, said: str) -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(**spec))
        await play.says("ValidationFailed")

    story = await story_of(RAY_JOB, scene)
    assert story.ends[0]["message"] == f"The RayJob spec is invalid: {said}"


async def test_a_ray_cluster_grows_and_shrinks_as_its_spec_says() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False))
        await play.says("ready")
        groups = deepcopy(example("raycluster")["spec"]["workerGroupSpecs"])
        for replicas in (4, 1):
            groups[0].update(replicas=replicas, minReplicas=0, maxReplicas=5)
            await play.spec(workerGroupSpecs=groups)
            await play.stage.until_all(POD, lambda pods, n=replicas: len(pods) == 1 + n)

    await story_of(RAY_CLUSTER, scene)


async def test_a_spark_application_is_tried_again_as_often_as_it_may() -> None:
    async def scene(play: Play) -> None:
        policy = {"type": "OnFailure", "onFailureRetries": 1, "onFailureRetryInterval": 1}
        await play.create(setting(suspend=False, restartPolicy=policy), fail_after="2s")
        await play.says("FAILED")

    story = await story_of(SPARK_APPLICATION, scene)
    states = [state for _, state, *_ in story.jobs["SparkApplication"][0]]
    once = ["SUBMITTED", "RUNNING", "FAILING"]
    assert states == [None, *once, "PENDING_RERUN", *once, "FAILED"]


async def test_a_driver_that_ends_ends_its_executors() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False))
        await play.executors_run(2)
        await play.end("-driver")
        await play.says("COMPLETED")
        await play.stage.until_all(POD, lambda pods: len(pods) == 1)

    await story_of(SPARK_APPLICATION, scene)


async def test_a_spark_application_without_its_driver_has_failed() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False))
        await play.executors_run(2)
        await play.stage.delete(POD, "a-driver")
        await play.says("FAILED")
        await play.no_pods()

    story = await story_of(SPARK_APPLICATION, scene)
    assert story.ends[0][0]["errorMessage"] == "driver pod not found"


async def test_a_spark_application_goes_some_time_after_its_end() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False, timeToLiveSeconds=5), run_for="1s")
        await play.says("COMPLETED")
        await play.stage.until_gone(SPARK_APPLICATION, "a")
        await play.no_pods()

    await story_of(SPARK_APPLICATION, scene)


async def test_terminating_a_workflow_ends_its_pods() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=None))
        await play.runs(2)
        await play.spec(shutdown="Terminate")
        await play.says("Failed")
        await play.runs(0)

    story = await story_of(WORKFLOW, scene)
    assert story.ends[0]["message"] == "Stopped with strategy 'Terminate'"
    assert {steps[-1][0] for steps in story.pods} == {"Failed"}


async def test_a_workflow_that_runs_too_long_ends_its_pods() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=None, activeDeadlineSeconds=5))
        await play.runs(2)
        await play.says("Failed")
        await play.runs(0)

    await story_of(WORKFLOW, scene)


async def test_a_pod_that_is_deleted_soon_is_made_again_and_later_it_is_an_error() -> None:
    async def scene(play: Play) -> None:
        await play.create(setting(suspend=None))
        await play.runs(2)
        for _ in range(2):
            pod = next(filter(is_running, play.stage.all(POD)))
            await play.stage.delete(POD, pod["metadata"]["name"])
            await play.stage.until_all(
                POD, lambda pods, pod=pod: pod not in pods and not any(map(is_ending, pods))
            )
            await asyncio.sleep(12)
        await play.end("a-work-")
        await play.says("Failed")

    story = await story_of(WORKFLOW, scene)
    messages = {each["message"] for each in story.ends[0]["nodes"].values()}
    assert "pod deleted" in messages
    assert len(story.made) == 3


async def test_a_workflow_tries_a_step_again_as_often_as_it_may() -> None:
    async def scene(play: Play) -> None:
        def with_retries(job: Object) -> None:
            setting(suspend=None)(job)
            job["spec"]["templates"][0]["retryStrategy"] = {"limit": "1"}

        await play.create(with_retries, fail_after="1s")
        await play.says("Failed")

    story = await story_of(WORKFLOW, scene)
    assert len(story.made) == 4
    retries = [each for each in story.ends[0]["nodes"].values() if each["type"] == "Retry"]
    assert {each["message"] for each in retries} == {"No more retries left"}


async def test_a_workflow_waits_at_a_suspend_node_for_so_long() -> None:
    times: list[float] = []

    async def scene(play: Play) -> None:
        def with_pause(job: Object) -> None:
            setting(suspend=None)(job)
            job["spec"]["templates"].append({"name": "pause", "suspend": {"duration": "20s"}})
            job["spec"]["templates"][1]["steps"].insert(0, [{"name": "p", "template": "pause"}])

        await play.create(with_pause, run_for="1s")
        times.append(now())
        await play.runs(2)
        times.append(now())
        await play.says("Succeeded")

    await story_of(WORKFLOW, scene)
    assert 20 <= times[1] - times[0] <= 22


async def test_a_workflow_goes_some_time_after_its_end() -> None:
    async def scene(play: Play) -> None:
        strategy = {"secondsAfterCompletion": 9, "secondsAfterSuccess": 3}
        await play.create(setting(suspend=None, ttlStrategy=strategy), run_for="1s")
        await play.says("Succeeded")
        await play.stage.until_gone(WORKFLOW, "a")
        await play.no_pods()

    await story_of(WORKFLOW, scene)


@pytest.mark.parametrize("kind", [RAY_JOB, RAY_CLUSTER, SPARK_APPLICATION], ids=lambda k: k.kind)
async def test_an_example_has_the_pods_that_kq_counts(kind: ResourceKind) -> None:
    seen: list[Sequence[Object]] = []

    async def scene(play: Play) -> None:
        await play.create(setting(suspend=False))
        await play.says("ready" if kind == RAY_CLUSTER else "RUNNING")
        await play.runs(3 + (kind == RAY_JOB))
        seen.append(play.stage.all(POD))

    await story_of(kind, scene)
    view = view_of(kind)
    assert view.defect is None
    assert sum(each.wanted for each in view.pod_sets) == len(seen[0])
    counted = total(each.template.request.times(each.wanted) for each in view.pod_sets)
    assert counted == total(pod_request(each["spec"]) for each in seen[0])


async def test_the_example_of_a_workflow_asks_for_what_its_pods_need_at_once() -> None:
    seen: list[Resources] = []

    async def scene(play: Play) -> None:
        await play.create(setting(suspend=None))
        await play.runs(2)
        seen.append(total(pod_request(each["spec"]) for each in play.stage.all(POD)))

    await story_of(WORKFLOW, scene)
    [pod_set] = view_of(WORKFLOW).pod_sets
    assert pod_set.template.request == seen[0]
