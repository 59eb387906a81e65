"""What happens to jobs of operators, as scenes played on a real cluster and on the simulated one.

The jobs are those of manifests/examples, with pods that run as a scene wants it.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from controller_scenes import says
from controller_stage import SERVICE_ACCOUNT, Claim, Object, Stage

from kq.core.kinds import JOB, POD, ResourceKind
from kq.jobs.jobset import JOBSET
from kq.jobs.kubeflow import PADDLEJOB, PYTORCHJOB, TFJOB, XGBOOSTJOB
from kq.jobs.mpi import V2BETA1
from kq.jobs.trainjob import TRAINJOB

EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples"
RUNTIME = ResourceKind("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
LEADERS = ("-chief-0", "-master-0", "-launcher-", "-driver-0-", "-node-0-0-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """A kind of jobs: how one is held, and what it says of itself."""

    kind: ResourceKind
    example: str
    ended: str = "Succeeded"
    ends_with_all: bool = False
    """Whether all pods have to end, not the leader alone."""
    made: Mapping[ResourceKind, int] = field(default_factory=dict)
    """How many it makes, held, of what has `spec.suspend` too."""
    in_policy: bool = False
    dies_of_an_early_resume: bool = False
    settled: Claim = lambda job: True
    """Whether a job that has ended says all that it will say."""

    @property
    def watched(self) -> tuple[ResourceKind, ...]:
        """The kinds whose objects tell the story."""
        return self.kind, POD, SERVICE_ACCOUNT, *self.made

    def suspension(self, *, suspended: bool) -> Object:
        """The patch that holds or releases it."""
        spec = {"suspend": suspended}
        return {"spec": {"runPolicy": spec} if self.in_policy else spec}


def _as_it_is(job: Object) -> None:
    """No change."""


@cache
def _example(name: str) -> Sequence[Object]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def templates(value: Any) -> Iterator[Object]:
    """All pod templates inside an object, in their order."""
    if isinstance(value, dict):
        if "containers" in value.get("spec", {}):
            yield value
            return
        for each in value.values():
            yield from templates(each)
    elif isinstance(value, list):
        for each in value:
            yield from templates(each)


@dataclass(slots=True)
class Play:
    """A cast on a stage."""

    cast: Cast
    stage: Stage
    pods: int = 0

    async def create(self, change: Callable[[Object], None] = _as_it_is, **played: str) -> None:
        """Makes the example, held, and what its operator makes of it; its pods run for ever."""
        *others, job = deepcopy(_example(self.cast.example))
        change(job)
        self.pods = _pods(job)
        how = {key.replace("_", "-"): value for key, value in played.items()}
        for template in templates([*others, job]):
            template["metadata"]["annotations"] = {"run-for": "forever", **how}
        job["metadata"] = {"name": "a"}
        for each in others:
            del each["metadata"]["namespace"]
            await self.stage.create(RUNTIME, each)
        await self.stage.create(self.cast.kind, job)
        await self.until(says("Suspended"))
        for kind, count in self.cast.made.items():
            await self.stage.until_all(kind, _says_all("Suspended", count))

    async def resume(self) -> None:
        """Releases the job; returns as soon as all pods run and the job says so."""
        await self.suspend(suspended=False)
        await self.runs()

    async def suspend(self, *, suspended: bool = True) -> None:
        """Holds the job, or releases it."""
        patch = self.cast.suspension(suspended=suspended)
        await self.stage.patch(self.cast.kind, "a", patch)
        await self.until(says("Suspended", str(suspended)))

    async def runs(self) -> None:
        """Returns as soon as all pods run, and the job says so."""
        await self.stage.until_all(
            POD, lambda pods: sum(map(_runs, pods)) == len(pods) == self.pods
        )
        await self.stage.until_all(JOB, lambda jobs: all(map(_is_ready, jobs)))
        await self.until(_tells_of(self.pods))

    async def end(self, *, leader: bool = True, well: bool = True) -> None:
        """Lets a pod end: the leader, or the first worker."""
        for pod in self.stage.all(POD):
            name = pod["metadata"]["name"]
            if not leader or _leads(name):
                how = {"run-for": "0s"} if well else {"fail-after": "0s"}
                await self.stage.patch(POD, name, {"metadata": {"annotations": how}})

    async def until(self, claim: Claim) -> None:
        """Returns as soon as the claim holds for the job."""
        await self.stage.until(self.cast.kind, "a", claim)

    async def no_pods(self) -> None:
        """Returns as soon as there is none."""
        await self.stage.until_all(POD, lambda pods: not pods)


async def held_stopped_and_run_to_its_end(play: Play) -> None:
    await play.create(linger_for="2500ms")
    await play.resume()
    await play.suspend()
    await play.no_pods()
    await play.resume()
    await play.end(leader=not play.cast.ends_with_all)
    await play.until(says(play.cast.ended))
    await play.until(play.cast.settled)
    if play.cast.kind == V2BETA1:
        await play.stage.until_all(POD, lambda pods: len(pods) == 1)


async def deleted_while_it_runs(play: Play) -> None:
    await play.create()
    await play.resume()
    await play.stage.delete(play.cast.kind, "a")
    await play.stage.until_gone(play.cast.kind, "a")
    await play.no_pods()


async def resumed_while_pods_terminate(play: Play) -> None:
    # Those that die of it must not live to see their pods gone.
    await play.create(linger_for="60s" if play.cast.dies_of_an_early_resume else "4s")
    await play.resume()
    await play.suspend()
    await play.stage.until_all(POD, lambda pods: not any(map(_runs, pods)))
    await play.suspend(suspended=False)
    if play.cast.dies_of_an_early_resume:
        await play.until(says("Failed"))
    else:
        await play.runs()


async def a_pod_fails(play: Play) -> None:
    await play.create(_without_retries if play.cast.kind == V2BETA1 else _as_it_is)
    await play.resume()
    await play.end(well=False)
    await play.until(says("Failed"))


async def its_child_is_suspended_by_somebody(play: Play) -> None:
    await play.create()
    await play.resume()
    kind = next(iter(play.cast.made))
    child = play.stage.all(kind)[0]["metadata"]["name"]
    begin = len(play.stage.happened)
    await play.stage.patch(kind, child, {"spec": {"suspend": True}})
    await play.stage.until(
        kind,
        child,
        lambda obj: (
            not obj["spec"]["suspend"]
            and any(
                each.kind == kind.kind and each.obj["spec"]["suspend"]
                for each in play.stage.happened[begin:]
            )
        ),
    )
    await play.runs()
    await play.until(_tells_of_none_suspended)


async def labelled_while_it_is_held(play: Play) -> None:
    await play.create()
    marks = {key: {"queue/quota": "a"} for key in ("labels", "annotations")}
    job = {"name": "node", "template": {"spec": {"template": {"metadata": marks}}}}
    patch = {
        "manager": "queue/manager",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    await play.stage.patch(play.cast.kind, "a", {"spec": {"runtimePatches": [patch]}})
    await play.resume()
    await play.suspend()
    await play.no_pods()
    # Before that it takes no patch.
    await play.until(lambda job: not any(each["active"] for each in job["status"]["jobsStatus"]))
    marks["labels"]["queue/quota"] = "b"
    await play.stage.patch(play.cast.kind, "a", {"spec": {"runtimePatches": [patch]}})
    await play.resume()


async def workers_alone(play: Play) -> None:
    await play.create(_without_leader)
    await play.resume()
    await play.end(leader=False)
    await play.until(says("Succeeded"))
    await play.until(play.cast.settled)


async def restarted_after_a_failure(play: Play) -> None:
    await play.create(_restarting)
    await play.resume()
    before = {each["metadata"]["uid"] for each in play.stage.all(POD)}
    await play.end(well=False)
    await play.until(says("Restarting"))
    await play.stage.until_all(
        POD, lambda pods: before - {each["metadata"]["uid"] for each in pods}
    )
    await play.runs()
    await play.until(says("Running"))


async def fails_for_good_by_its_limit(play: Play) -> None:
    await play.create(_without_retries)
    await play.resume()
    await play.end(well=False)
    await play.until(says("Failed"))
    await play.no_pods()


async def made_larger_while_held(play: Play) -> None:
    await play.create()
    field = next(key for key in _example(play.cast.example)[-1]["spec"] if key in REPLICA_SPECS)
    change = {"spec": {field: {"Worker": {"replicas": 3}}}}
    await play.stage.patch(play.cast.kind, "a", change)
    play.pods += 1
    await play.resume()
    await play.stage.patch(play.cast.kind, "a", {"spec": {field: {"Worker": {"replicas": 1}}}})
    play.pods -= 2
    await play.runs()


async def goes_with_its_pods_after_its_end(play: Play) -> None:
    await play.create(_short_lived)
    await play.resume()
    await play.end()
    await play.stage.until_gone(play.cast.kind, "a")
    await play.no_pods()


async def starts_in_order(play: Play) -> None:
    await play.create(_ordered)
    await play.resume()
    await play.until(says("StartupPolicyCompleted"))


async def starts_again_then_fails(play: Play) -> None:
    await play.create(_with_one_restart)
    await play.resume()
    for restarts in (1, 2):
        await play.end(well=False)
        if restarts == 1:
            await play.until(lambda job: job["status"]["restarts"] == 1)
            await play.stage.until_all(JOB, lambda jobs: all(map(_is_second, jobs)))
            await play.runs()
    await play.until(says("Failed"))


async def succeeds_with_its_driver(play: Play) -> None:
    await play.create(_ending_with_driver, linger_for="2500ms")
    await play.resume()
    await play.end()
    await play.until(says("Completed"))
    await play.stage.until_all(JOB, lambda jobs: len(jobs) == 1)


Scene = Callable[[Play], Awaitable[None]]
REPLICA_SPECS = tuple(f"{each}ReplicaSpecs" for each in ("tf", "pytorch", "xgb", "paddle", "mpi"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A scene for one cast."""

    cast: str
    scene: Scene

    @property
    def is_racy(self) -> bool:
        """Whether only the end can be told beforehand, not the way to it."""
        return self.scene is its_child_is_suspended_by_somebody


def _counts(job: Object) -> list[Object]:
    status = job.get("status", {})
    listed = status.get("replicatedJobsStatus") or status.get("jobsStatus")
    return list(listed or status.get("replicaStatuses", {}).values())


def _none_active(job: Object) -> bool:
    return not any(each.get("active") for each in _counts(job))


def _tells_of(pods: int) -> Claim:
    """Whether a job says that so many pods are active, or that all its Jobs are ready."""

    def claim(job: Object) -> bool:
        counts = _counts(job)
        if any("ready" in each for each in counts):
            return all(each["ready"] for each in counts)
        return sum(each.get("active", 0) for each in counts) == pods

    return claim


def _tells_of_none_suspended(job: Object) -> bool:
    """Whether a job that counts its suspended Jobs has none."""
    return not any(each.get("suspended") for each in _counts(job))


def _is_ready(job: Object) -> bool:
    status = job["status"]
    is_full = status.get("ready") == job["spec"]["parallelism"] and not status["terminating"]
    return is_full and "startTime" in status


def _runs(pod: Object) -> bool:
    return pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]


def _leads(name: str) -> bool:
    return any(each in name for each in LEADERS)


def _says_all(type_: str, count: int) -> Callable[[list[Object]], bool]:
    return lambda found: len(found) == count and all(map(says(type_), found))


def _pods(job: Object) -> int:
    spec = job["spec"]
    if "trainer" in spec:
        return int(spec["trainer"]["numNodes"])
    if "replicatedJobs" in spec:
        return sum(each["template"]["spec"]["parallelism"] for each in spec["replicatedJobs"])
    return sum(each["replicas"] for each in _replicas(job).values())


def _without_retries(job: Object) -> None:
    job["spec"]["runPolicy"]["backoffLimit"] = 0


def _restarting(job: Object) -> None:
    for each in _replicas(job).values():
        each["restartPolicy"] = "OnFailure"


def _short_lived(job: Object) -> None:
    job["spec"]["runPolicy"] |= {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 5}


def _ordered(job: Object) -> None:
    job["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}


def _with_one_restart(job: Object) -> None:
    job["spec"]["failurePolicy"] = {"maxRestarts": 1}


def _ending_with_driver(job: Object) -> None:
    job["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["driver"]}


def _is_second(job: Object) -> bool:
    return bool(job["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1")


def _replicas(job: Object) -> Object:
    return next(each for key, each in job["spec"].items() if key in REPLICA_SPECS)


def _without_leader(job: Object) -> None:
    replicas = _replicas(job)
    del replicas[next(iter(replicas))]


TRAINING = {
    each.kind.kind: Cast(
        kind=each.kind,
        example=f"{each.kind.kind.lower()}.yaml",
        in_policy=True,
        dies_of_an_early_resume=True,
        settled=_none_active,
    )
    for each in (TFJOB, PYTORCHJOB, XGBOOSTJOB, PADDLEJOB)
}
CASTS = {
    **TRAINING,
    "MPIJob": Cast(
        kind=V2BETA1, example="mpijob.yaml", in_policy=True, made={JOB: 1}, settled=_none_active
    ),
    "JobSet": Cast(
        kind=JOBSET, example="jobset.yaml", ended="Completed", ends_with_all=True, made={JOB: 2}
    ),
    "TrainJob": Cast(
        kind=TRAINJOB,
        example="trainjob.yaml",
        ended="Complete",
        ends_with_all=True,
        made={JOBSET: 1, JOB: 1},
    ),
}
USUAL: Sequence[Scene] = (
    held_stopped_and_run_to_its_end,
    resumed_while_pods_terminate,
    a_pod_fails,
)
MORE: Sequence[tuple[str, Scene]] = (
    ("TFJob", workers_alone),
    ("TFJob", restarted_after_a_failure),
    ("TFJob", fails_for_good_by_its_limit),
    ("TFJob", made_larger_while_held),
    ("PyTorchJob", workers_alone),
    ("PyTorchJob", restarted_after_a_failure),
    ("XGBoostJob", goes_with_its_pods_after_its_end),
    ("PaddleJob", deleted_while_it_runs),
    ("MPIJob", deleted_while_it_runs),
    ("MPIJob", made_larger_while_held),
    ("MPIJob", its_child_is_suspended_by_somebody),
    ("JobSet", its_child_is_suspended_by_somebody),
    ("JobSet", starts_in_order),
    ("JobSet", starts_again_then_fails),
    ("JobSet", succeeds_with_its_driver),
    ("TrainJob", deleted_while_it_runs),
    ("TrainJob", its_child_is_suspended_by_somebody),
    ("TrainJob", labelled_while_it_is_held),
)
PARTS: Mapping[str, Part] = {
    f"{name}: {scene.__name__.replace('_', ' ')}": Part(cast=name, scene=scene)
    for name, scene in (
        *((name, scene) for name in CASTS for scene in USUAL),
        *MORE,
    )
}
