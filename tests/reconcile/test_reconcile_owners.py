"""A job is a child only of an owner that exists (spec 5.6, 5.6a)."""

import pytest
from api import Api
from builders import job_view

from kq.core.kinds import ResourceKind
from kq.core.model import JobView, Owner
from kq.kube.errors import ServerError
from kq.reconcile import owners
from kq.reconcile.owners import Owners

RAY_JOB = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
WORKFLOW = ResourceKind("argoproj.io", "v1alpha1", "Workflow", "workflows")


def child(
    uid: str = "owner", *, api: str = "ray.io/v1", kind: str = "RayJob", controller: bool = True
) -> JobView:
    return job_view(owners=(Owner(api, kind, "owner", uid, controller),))


@pytest.fixture
def api() -> Api:
    made = Api()
    for kind in (RAY_JOB, WORKFLOW):
        made.put(kind, {"metadata": {"namespace": "team-a", "name": "owner", "uid": "owner"}})
    return made


async def is_child(api: Api, job: JobView) -> bool:
    return await Owners(api).is_child(job)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(child(), True, id="of a RayJob that is there"),
        pytest.param(child(api="argoproj.io/v1alpha1", kind="Workflow"), True, id="of a Workflow"),
        pytest.param(child("other"), False, id="of an earlier one of that name"),
        pytest.param(child(api="batch/v1", kind="CronJob"), False, id="of a CronJob"),
        pytest.param(child(api="ray.io/v1", kind="RayService"), False, id="RayService makes none"),
        pytest.param(child(api="kubeflow.org/v1", kind="MPIJob"), False, id="that does not exist"),
        pytest.param(child(controller=False), False, id="owned, not controlled"),
        pytest.param(job_view(labels={"ray.io/cluster": "x"}), False, id="by label alone"),
    ],
)
async def test_who_is_a_child(api: Api, job: JobView, expected: bool) -> None:
    assert await is_child(api, job) is expected


async def test_a_claim_that_cannot_be_true_is_not_looked_up(api: Api) -> None:
    await is_child(api, child(api="batch/v1", kind="CronJob"))
    assert api.asked == []


async def test_what_was_found_is_not_asked_again(api: Api) -> None:
    known = Owners(api)  # type: ignore[arg-type]
    for _ in range(3):
        assert await known.is_child(child())
        assert not await known.is_child(child("other"))
    assert [each.short for each in api.asked] == ["get rayjobs team-a/owner"] * 2


async def test_a_look_up_that_fails_decides_nothing(api: Api) -> None:
    known = Owners(api)  # type: ignore[arg-type]
    api.fail(ServerError("not now", code=503), lambda asked: asked.verb == "get")
    with pytest.raises(ServerError):
        await known.is_child(child())
    assert await known.is_child(child())


async def test_not_more_is_remembered_than_has_room(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "MOST_REMEMBERED", 2)
    known = Owners(api)  # type: ignore[arg-type]
    for uid in ("a", "b", "c", "a"):
        await known.is_child(child(uid))
    assert len(api.asked) == 4
