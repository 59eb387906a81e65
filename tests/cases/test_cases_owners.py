"""Children, true and false, in the manager: cases A6 and N1."""

from typing import Any

import pytest
from api import on
from case_stage import Stage

from kq.core import keys
from kq.core.kinds import JOB, ResourceKind
from kq.kube.errors import Forbidden, ServerError

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

RAY_JOB = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
MPI_JOB = ResourceKind("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
JOB_SET = ResourceKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
RAY_CLUSTER = ResourceKind("ray.io", "v1", "RayCluster", "rayclusters")
WORKFLOW = ResourceKind("argoproj.io", "v1alpha1", "Workflow", "workflows")
CRON_JOB = ResourceKind("batch", "v1", "CronJob", "cronjobs")

SNEAKY = "team-a/sneaky"


def owner(kind: ResourceKind, uid: str = "real", *, name: str = "real", **more: Any) -> Any:
    named = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid}
    return {"ownerReferences": [{**named, "controller": True, **more}]}


def full(*parents: ResourceKind, namespace: str = "team-a") -> Stage:
    """A quota of which one cpu is left; these parents exist."""
    stage = Stage(cpu=4)
    for kind in parents:
        meta = {"namespace": namespace, "name": "real", "uid": "real"}
        stage.api.put(kind, {"metadata": meta})
    stage.submit("full", cpu=3)
    return stage


def slips(stage: Stage, metadata: Any, name: str = "sneaky", **fields: Any) -> None:
    """What the webhook lets through, as it claims to be a child."""
    untouched = {keys.HAS_ENQUEUED: ""}
    stage.submit(
        name,
        suspend=False,
        metadata={**metadata, "annotations": untouched},
        **{"cpu": 8} | fields,
    )


TRUE = [
    pytest.param(MPI_JOB, id="launcher of an MPIJob"),
    pytest.param(RAY_JOB, id="submitter of a RayJob"),
    pytest.param(RAY_CLUSTER, id="of a RayCluster"),
    pytest.param(JOB_SET, id="of a JobSet"),
    pytest.param(WORKFLOW, id="of a Workflow"),
]


@pytest.mark.parametrize("parent", TRUE)
async def test_a6_a_child_of_a_job_that_exists_has_no_unit_and_no_second_charge(
    parent: ResourceKind,
) -> None:
    stage = full(parent)
    async with stage.runs():
        slips(stage, owner(parent))
        await stage.settled(60)
        assert not stage.is_held(SNEAKY)
        assert stage.phases() == {"team-a/full": "Running"}
        assert stage.api.writes_to(JOB, SNEAKY) == []
        assert stage.usage() == {"cpu": "3"}


@pytest.mark.parametrize("suspend", [True, False], ids=["held", "slipped through"])
async def test_a6_a_job_of_a_cron_job_is_suspended_and_queued(suspend: bool) -> None:
    """Its parent only submits."""
    stage = full(CRON_JOB)
    async with stage.runs():
        stage.submit("sneaky", cpu=2, suspend=suspend, metadata=owner(CRON_JOB))
        await stage.settled(30)
        assert stage.is_held(SNEAKY)
        assert stage.phases() == {"team-a/full": "Running", SNEAKY: "Enqueued"}
        stage.finish("team-a/full")
        await stage.settled()
        assert stage.phase(SNEAKY) == "Running"


FALSE: list[Any] = [
    pytest.param([RAY_JOB], owner(RAY_JOB, "wrong"), id="wrong uid"),
    pytest.param([RAY_JOB], owner(RAY_JOB, "0" * 36), id="uid of zeros"),
    pytest.param([RAY_JOB], owner(RAY_JOB, ""), id="empty uid"),
    pytest.param([], owner(RAY_JOB), id="owner does not exist"),
    pytest.param([RAY_JOB], owner(RAY_JOB, name="other"), id="another name"),
    pytest.param([RAY_JOB], owner(MPI_JOB), id="uid of an object of another kind"),
    pytest.param([RAY_JOB], owner(RAY_JOB, controller=False), id="controller: false"),
    pytest.param([RAY_JOB], {"labels": {"ray.io/cluster": "real"}}, id="by label alone"),
    pytest.param([RAY_JOB], owner(CRON_JOB), id="of a CronJob"),
]


@pytest.mark.parametrize(("parents", "metadata"), FALSE)
async def test_n1_a_false_child_is_suspended_and_queued_as_any_job(
    parents: list[ResourceKind], metadata: dict[str, Any]
) -> None:
    stage = full(*parents)
    async with stage.runs():
        slips(stage, metadata, cpu=1, parallelism=8)
        await stage.settled(30)
        assert stage.is_held(SNEAKY)
        assert stage.pods(SNEAKY) == []
        assert stage.phase(SNEAKY) == "Enqueued"
        assert "8 cpu requested" in stage.message(SNEAKY)
        assert stage.usage() == {"cpu": "3"}
        assert stage.events("SlippedThrough", "sneaky")


async def test_n1_an_owner_of_another_namespace_is_none() -> None:
    stage = full(RAY_JOB, namespace="team-b")
    async with stage.runs():
        slips(stage, owner(RAY_JOB))
        await stage.settled(30)
        assert stage.is_held(SNEAKY)
        assert stage.phase(SNEAKY) == "Enqueued"


THIEVES: list[Any] = [
    pytest.param({"namespace": "team-b"}, owner(RAY_JOB), id="in another namespace"),
    pytest.param({}, owner(RAY_JOB, name="other"), id="under another name"),
    pytest.param({}, owner(MPI_JOB), id="as another kind"),
]


@pytest.mark.parametrize(("place", "metadata"), THIEVES)
async def test_n1_the_uid_of_a_parent_that_was_just_looked_up_is_no_pass_for_others(
    place: dict[str, str], metadata: dict[str, Any]
) -> None:
    """A true child came first, so that its owner is known; the false one borrows the uid."""
    stage = full(RAY_JOB)
    async with stage.runs():
        slips(stage, owner(RAY_JOB), name="true-child", cpu=1)
        await stage.settled()
        slips(stage, place | metadata)
        await stage.settled(30)
        key = f"{place.get('namespace', 'team-a')}/sneaky"
        assert stage.is_held(key)
        assert stage.phase(key) == "Enqueued"
        assert not stage.is_held("team-a/true-child")


async def test_n1_a_parent_that_is_gone_vouches_for_nobody_who_comes_later() -> None:
    """Its uid was known as long as it was there."""
    stage = full(RAY_JOB)
    async with stage.runs():
        slips(stage, owner(RAY_JOB), name="true-child", cpu=1)
        await stage.settled()
        stage.api.remove(RAY_JOB, "team-a/real")
        await stage.settled(600)
        slips(stage, owner(RAY_JOB))
        await stage.settled(30)
        assert stage.is_held(SNEAKY)
        assert stage.phase(SNEAKY) == "Enqueued"


@pytest.mark.parametrize(
    "error",
    [ServerError("etcdserver: leader changed", code=500), Forbidden("rayjobs", code=403)],
    ids=["500", "403"],
)
async def test_n1_a_look_up_that_fails_decides_nothing_and_is_tried_again(error: Exception) -> None:
    stage = full(RAY_JOB)
    async with stage.runs():
        stage.api.fail(error, on("get rayjobs"), times=3)
        slips(stage, owner(RAY_JOB, "wrong"))
        await stage.settled(60)
        assert stage.is_held(SNEAKY)
        assert stage.phase(SNEAKY) == "Enqueued"


async def test_n1_the_manager_says_which_claim_was_false() -> None:
    stage = full(RAY_JOB)
    async with stage.runs():
        stage.submit("sneaky", cpu=8, metadata=owner(RAY_JOB, "wrong"))
        await stage.settled(30)
        [told] = stage.events("FalseOwner", "sneaky")
        assert told["type"] == "Warning"
        assert told["message"] == ("RayJob real with UID wrong does not exist: queued as any job")


async def test_n1_a_false_child_that_was_held_all_along_waits_its_turn() -> None:
    stage = full()
    async with stage.runs():
        stage.submit("sneaky", cpu=4, metadata=owner(RAY_JOB))
        await stage.settled()
        assert stage.phase(SNEAKY) == "Enqueued"
        stage.finish("team-a/full")
        await stage.settled()
        assert stage.phase(SNEAKY) == "Running"
