"""What happens to jobs of Ray, Spark and Argo, as scenes for real operators and simulated ones.

The jobs are those of manifests/examples, all of whose pods run for ever until a scene ends them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from controller_stage import Object, Stage

from kq.core.kinds import JOB, POD, ResourceKind
from kq.jobs.argo import WORKFLOW
from kq.jobs.ray import RAY_CLUSTERS, RAY_JOBS
from kq.jobs.spark import SPARK_APPLICATION

EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples"
RAY_JOB, RAY_CLUSTER = RAY_JOBS[0], RAY_CLUSTERS[0]


EXAMPLE: Mapping[ResourceKind, str] = {
    RAY_JOB: "rayjob",
    RAY_CLUSTER: "raycluster",
    SPARK_APPLICATION: "sparkapplication",
    WORKFLOW: "workflow",
}


@cache
def example(name: str) -> Object:
    """One of the examples, named a, in no namespace."""
    job: Object = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    kept = {key: job["metadata"].get(key, {}) for key in ("labels", "annotations")}
    return {**job, "metadata": {"name": "a", **kept}}


@dataclass(slots=True)
class Play:
    """A kind of jobs on a stage."""

    stage: Stage
    kind: ResourceKind

    async def create(
        self, change: Callable[[Object], None] = lambda job: None, name: str = "a", **played: str
    ) -> None:
        """Makes the example, changed."""
        job = deepcopy(example(EXAMPLE[self.kind]))
        job["metadata"]["name"] = name
        how = {key.replace("_", "-"): value for key, value in played.items()}
        for annotations in _annotations(job["spec"]):
            annotations.clear()
            annotations |= {"run-for": "forever", **how}
        change(job)
        await self.stage.create(self.kind, job)

    async def suspend(self, *, suspended: bool = True) -> None:
        """Holds the job, or releases it, as kq does."""
        value = None if self.kind == WORKFLOW and not suspended else suspended
        await self.spec(suspend=value)

    async def spec(self, **change: Any) -> None:
        """Changes the spec."""
        await self.stage.patch(self.kind, "a", {"spec": change})

    async def says(self, wanted: str, name: str = "a") -> None:
        """Returns as soon as the job is in that state."""
        await self.stage.until(self.kind, name, lambda job: state_of(job) == wanted)

    async def runs(self, count: int) -> None:
        """Returns as soon as so many pods run, beside those that are ending or have ended."""
        await self.stage.until_all(POD, lambda pods: sum(map(is_running, pods)) == count)

    async def executors_run(self, count: int) -> None:
        """Returns as soon as a driver and so many executors run, and the application says so."""
        await self.runs(1 + count)
        wanted = ["RUNNING"] * count
        await self.stage.until(
            self.kind,
            "a",
            lambda app: list(app["status"].get("executorState", {}).values()) == wanted,
        )

    async def no_pods(self) -> None:
        """Returns as soon as there is none."""
        await self.stage.until_all(POD, lambda pods: not pods)

    async def all_terminate(self) -> None:
        """Returns as soon as all pods are ending."""
        await self.stage.until_all(POD, lambda pods: not any(map(is_running, pods)))

    async def old_beside_new(self) -> None:
        """Returns as soon as there is a pod that is younger than others that are ending."""
        before = {each["metadata"]["uid"] for each in self.stage.all(POD)}

        def is_young(pod: Object) -> bool:
            return pod["metadata"]["uid"] not in before

        await self.stage.until_all(
            POD, lambda pods: any(map(is_ending, pods)) and any(map(is_young, pods))
        )

    async def end(self, part: str, *, well: bool = True) -> None:
        """Lets pods end in whose names that is."""
        how = {"run-for": "0s"} if well else {"fail-after": "0s"}
        for pod in filter(is_running, self.stage.all(POD)):
            name = pod["metadata"]["name"]
            if part in name:
                await self.stage.patch(POD, name, {"metadata": {"annotations": how}})

    async def delete(self) -> None:
        """Deletes the job; returns as soon as nothing is left of it."""
        await self.stage.delete(self.kind, "a")
        await self.stage.until_gone(self.kind, "a")
        await self.no_pods()


def state_of(job: Object) -> str:
    """The word in which a job says how it is."""
    status = job.get("status", {})
    match job["kind"]:
        case "RayJob":
            found = status.get("jobDeploymentStatus")
            return str(status.get("jobStatus") if found == "Running" else found)
        case "RayCluster":
            conditions = {each["type"]: each["status"] for each in status.get("conditions", [])}
            going = conditions.get("RayClusterSuspending") == "True"
            return "suspending" if going else str(status.get("state"))
        case "SparkApplication":
            return str(status.get("applicationState", {}).get("state"))
        case _:
            return str(status.get("phase"))


def is_running(pod: Object) -> bool:
    """Whether a pod runs and is to go on."""
    return pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]


def is_ending(pod: Object) -> bool:
    """Whether a pod has been told to end."""
    return "deletionTimestamp" in pod["metadata"]


def _annotations(value: Any) -> list[Object]:
    """All annotations of pods inside a spec."""
    match value:
        case {"run-for": _}:
            return [value]
        case dict():
            return [each for inner in value.values() for each in _annotations(inner)]
        case list():
            return [each for inner in value for each in _annotations(inner)]
        case _:
            return []


HEAD = "-head-"


async def ray_job_to_its_end(play: Play) -> None:
    await play.create()
    await play.says("Suspended")
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await _end_submitter(play)
    await play.says("Complete")
    await play.stage.until_all(POD, lambda pods: len(pods) == 1)


async def ray_job_stopped_and_run_again(play: Play) -> None:
    await play.create(linger_for="2500ms")
    await play.says("Suspended")
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.suspend()
    await play.says("Suspended")
    await play.no_pods()
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.delete()


async def ray_job_resumed_while_pods_terminate(play: Play) -> None:
    await play.create(linger_for="8s")
    await play.says("Suspended")
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.suspend()
    await play.says("Suspended")
    await play.all_terminate()
    await play.suspend(suspended=False)
    await play.old_beside_new()
    await play.says("RUNNING")
    await play.stage.until_all(POD, lambda pods: len(pods) == 4)


async def ray_job_fails(play: Play) -> None:
    def without_retries(job: Object) -> None:
        job["spec"]["submitterConfig"] = {"backoffLimit": 0}

    await play.create(without_retries)
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await _end_submitter(play, well=False)
    await play.says("Failed")
    await play.stage.until_all(POD, lambda pods: len(pods) == 1)


async def ray_job_is_never_valid(play: Play) -> None:
    def without_shutdown(job: Object) -> None:
        job["spec"].pop("shutdownAfterJobFinishes")

    await play.create(without_shutdown)
    await play.says("ValidationFailed")
    await play.spec(shutdownAfterJobFinishes=True, suspend=False)
    # What comes later has been seen to.
    await play.create(name="b")
    await play.says("Suspended", "b")


async def ray_cluster_stopped_and_run_again(play: Play) -> None:
    await play.create(linger_for="1500ms")
    await play.says("suspended")
    await play.suspend(suspended=False)
    await play.runs(3)
    await play.says("ready")
    await play.suspend()
    await play.says("suspending")
    await play.says("suspended")
    await play.no_pods()
    await play.suspend(suspended=False)
    await play.runs(3)
    await play.says("ready")
    await play.delete()


async def ray_cluster_resumed_while_pods_terminate(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(suspend=False), linger_for="4s")
    await play.says("ready")
    await play.suspend()
    await play.says("suspending")
    await play.all_terminate()
    await play.suspend(suspended=False)
    await play.runs(3)
    await play.stage.until_all(POD, lambda pods: len(pods) == 3)
    await play.stage.until(RAY_CLUSTER, "a", _is_whole)


async def ray_cluster_loses_a_worker(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(suspend=False))
    await play.says("ready")
    name = next(
        each["metadata"]["name"]
        for each in play.stage.all(POD)
        if HEAD not in each["metadata"]["name"]
    )
    await play.end(name, well=False)
    await play.stage.until_all(
        POD, lambda pods: name not in [each["metadata"]["name"] for each in pods]
    )
    await play.runs(3)
    await play.stage.until(RAY_CLUSTER, "a", _is_whole)


async def spark_to_its_end(play: Play) -> None:
    await play.create()
    await play.says("SUSPENDED")
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.executors_run(2)
    # The stand-in for Spark leaves executors alone that Spark would end with the driver.
    await play.end("-exec-")
    await play.runs(1)
    await play.end("-driver")
    await play.says("COMPLETED")


async def spark_stopped_and_run_again(play: Play) -> None:
    await play.create(linger_for="1500ms")
    await play.says("SUSPENDED")
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.executors_run(2)
    await play.suspend()
    await play.says("SUSPENDED")
    await play.no_pods()
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.executors_run(2)
    await play.delete()


async def spark_resumed_while_pods_terminate(play: Play) -> None:
    def with_slow_executors(job: Object) -> None:
        job["spec"]["suspend"] = False
        job["spec"]["executor"]["annotations"]["linger-for"] = "7s"

    await play.create(with_slow_executors, linger_for="1s")
    await play.says("RUNNING")
    await play.executors_run(2)
    await play.suspend()
    await play.says("SUSPENDED")
    await play.suspend(suspended=False)
    await play.old_beside_new()
    await play.says("RUNNING")
    await play.executors_run(2)
    await play.stage.until_all(POD, lambda pods: len(pods) == 3)


async def spark_fails(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(suspend=False))
    await play.says("RUNNING")
    await play.executors_run(2)
    await play.end("-exec-")
    await play.runs(1)
    await play.end("-driver", well=False)
    await play.says("FAILED")


async def spark_changed_while_it_runs(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(suspend=False))
    await play.says("RUNNING")
    await play.executors_run(2)
    await play.spec(executor={"instances": 1})
    await play.says("INVALIDATING")
    await play.says("RUNNING")
    await play.executors_run(1)


async def spark_changed_while_it_is_held(play: Play) -> None:
    await play.create()
    await play.says("SUSPENDED")
    await play.spec(executor={"instances": 1})
    await play.says("INVALIDATING")
    await play.says("SUSPENDED")
    await play.suspend(suspended=False)
    await play.says("RUNNING")
    await play.executors_run(1)


async def workflow_to_its_end(play: Play) -> None:
    await play.create(run_for="1s")
    await play.says("Running")
    await play.suspend(suspended=False)
    await play.says("Succeeded")
    await _all_counted(play)


async def workflow_suspended_between_steps(play: Play) -> None:
    await play.create()
    await play.says("Running")
    await play.suspend(suspended=False)
    await play.runs(2)
    await play.suspend()
    await play.end("a-work-")
    await play.stage.until(WORKFLOW, "a", lambda job: job["status"]["progress"] == "2/2")
    await play.suspend(suspended=False)
    await play.runs(1)
    await play.end("a-work-")
    await play.says("Succeeded")
    await _all_counted(play)


async def workflow_deleted_while_it_runs(play: Play) -> None:
    await play.create(lambda job: job["spec"].pop("suspend"), linger_for="1s")
    await play.runs(2)
    await play.stage.until(WORKFLOW, "a", _all_nodes_run)
    await play.delete()


async def workflow_fails(play: Play) -> None:
    await play.create(lambda job: job["spec"].pop("suspend"))
    await play.runs(2)
    await play.end("a-work-", well=False)
    await play.says("Failed")
    await _all_counted(play)


async def workflow_with_a_marker(play: Play) -> None:
    """A DAG whose first task waits for a queue, resumed as `argo resume` does it."""

    def with_marker(job: Object) -> None:
        job["spec"].pop("suspend")
        job["spec"]["templates"][1:] = [
            {"name": "koord-queue-suspend", "suspend": {}},
            {
                "name": "main",
                "dag": {
                    "tasks": [
                        {"name": "wait", "template": "koord-queue-suspend"},
                        {"name": "left", "template": "work", "depends": "wait"},
                        {"name": "right", "template": "work", "depends": "wait && left.Failed"},
                        {"name": "last", "template": "work", "depends": "left || right"},
                    ]
                },
            },
        ]

    await play.create(with_marker, run_for="1s")
    found = await play.stage.until(WORKFLOW, "a", lambda job: job.get("status", {}).get("nodes"))
    [node] = [each for each in found["status"]["nodes"].values() if each["type"] == "Suspend"]
    change = {"phase": "Succeeded", "finishedAt": node["startedAt"], "message": "resumed"}
    await play.stage.patch(WORKFLOW, "a", {"status": {"nodes": {node["id"]: change}}})
    await play.says("Succeeded")
    await _all_counted(play)


async def workflow_holds_a_lock(play: Play) -> None:
    def locked(job: Object) -> None:
        job["spec"]["synchronization"] = {"mutexes": [{"name": "m"}]}

    await play.create(locked, run_for="1s")
    await play.says("Running")
    await play.create(
        lambda job: (locked(job), job["spec"].pop("suspend"))[0], name="b", run_for="1s"
    )
    await play.says("Pending", "b")
    await play.suspend(suspended=False)
    await play.says("Succeeded")
    await play.says("Succeeded", "b")
    await _all_counted(play)


async def workflow_too_late(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(activeDeadlineSeconds=1))
    await play.create(lambda job: job["spec"].update(suspend=False), name="b", run_for="2s")
    await play.says("Succeeded", "b")
    await play.suspend(suspended=False)
    await play.says("Failed")
    await _all_counted(play)


async def workflow_stopped_before_it_began(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(shutdown="Stop", onExit="work"), run_for="1s")
    await play.says("Running")
    await play.suspend(suspended=False)
    await play.says("Failed")
    await _all_counted(play)


async def workflow_ended_before_it_began(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(shutdown="Terminate", onExit="work"))
    await play.says("Running")
    await play.suspend(suspended=False)
    await play.says("Failed")


async def workflow_without_its_entrypoint(play: Play) -> None:
    await play.create(lambda job: job["spec"].update(entrypoint="nowhere"))
    await play.says("Failed")


async def _end_submitter(play: Play, *, well: bool = True) -> None:
    for pod in play.stage.all(POD):
        if pod["metadata"]["labels"].get("job-name") == "a":
            await play.end(pod["metadata"]["name"], well=well)


async def _all_counted(play: Play) -> None:
    """Returns as soon as Argo has done with each pod."""
    completed = "workflows.argoproj.io/completed"
    await play.stage.until_all(
        POD, lambda pods: all(each["metadata"]["labels"][completed] == "true" for each in pods)
    )


def _all_nodes_run(workflow: Object) -> bool:
    nodes = workflow["status"].get("nodes", {}).values()
    return bool(nodes) and {each["phase"] for each in nodes} == {"Running"}


def _is_whole(cluster: Object) -> bool:
    """Whether a RayCluster says that its head and both workers are ready."""
    status = cluster["status"]
    head = [each for each in status["conditions"] if each["type"] == "HeadPodReady"]
    return head[0]["status"] == "True" and status.get("readyWorkerReplicas") == 2


Scene = Callable[[Play], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A scene, the kind of jobs that it is about, and those of which they consist."""

    scene: Scene
    kind: ResourceKind
    beside: Sequence[ResourceKind] = field(default=())

    @property
    def watched(self) -> Sequence[ResourceKind]:
        """The kinds whose objects tell the story."""
        return self.kind, POD, SERVICE_ACCOUNT, *self.beside


SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
SCENES: Mapping[ResourceKind, Sequence[Scene]] = {
    RAY_JOB: (
        ray_job_to_its_end,
        ray_job_stopped_and_run_again,
        ray_job_resumed_while_pods_terminate,
        ray_job_fails,
        ray_job_is_never_valid,
    ),
    RAY_CLUSTER: (
        ray_cluster_stopped_and_run_again,
        ray_cluster_resumed_while_pods_terminate,
        ray_cluster_loses_a_worker,
    ),
    SPARK_APPLICATION: (
        spark_to_its_end,
        spark_stopped_and_run_again,
        spark_resumed_while_pods_terminate,
        spark_fails,
        spark_changed_while_it_runs,
        spark_changed_while_it_is_held,
    ),
    WORKFLOW: (
        workflow_to_its_end,
        workflow_suspended_between_steps,
        workflow_deleted_while_it_runs,
        workflow_fails,
        workflow_with_a_marker,
        workflow_holds_a_lock,
        workflow_too_late,
        workflow_stopped_before_it_began,
        workflow_ended_before_it_began,
        workflow_without_its_entrypoint,
    ),
}
PARTS: Mapping[str, Part] = {
    scene.__name__.replace("_", " "): Part(
        scene=scene, kind=kind, beside=(RAY_CLUSTER, JOB) if kind == RAY_JOB else ()
    )
    for kind, scenes in SCENES.items()
    for scene in scenes
}
