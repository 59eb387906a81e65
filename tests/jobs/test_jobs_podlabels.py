"""Where the quota label of pods is put, for all kinds (spec 6.6)."""

import copy
from typing import Any

import pytest
from msgspec.structs import replace
from test_jobs_cases import CASES, integration_of, loaded

from kq.core import keys
from kq.core.model import PodSet
from kq.core.patch import Patch
from kq.jobs.podlabels import MANAGER, label_patch

HELD = [each for each in CASES if each.name.startswith(("real-held.", "suspended."))]
OWN_PODS = [each for each in HELD if each.parent.name != "trainjob"]
LABEL = keys.QUOTA_LABEL


def held(path: Any) -> tuple[Any, Any]:
    """The job of a case, as it is and as decisions see it."""
    body = loaded(path)
    return integration_of(path).view(body), body


def labels_at(body: Any, pod_set: PodSet) -> Any:
    for step in (*pod_set.path, "labels"):
        body = body[step] if isinstance(step, int) else body.get(step) or {}
    return body


def drop_labels(body: Any, pod_set: PodSet) -> None:
    """Leaves no map behind that would be there for them alone."""
    above = [body]
    for step in pod_set.path:
        below = above[-1][step] if isinstance(step, int) else above[-1].get(step)
        if below is None:
            break
        above.append(below)
    if len(above) > len(pod_set.path):
        above[-1].pop("labels", None)
        if not above[-1]:
            del above[-2][pod_set.path[-1]]


@pytest.mark.parametrize("path", OWN_PODS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_all_pod_sets_that_have_a_place_for_it_get_the_label_and_nothing_else_changes(
    path: Any,
) -> None:
    job, body = held(path)
    before = copy.deepcopy(body)
    placed = [each for each in job.pod_sets if each.path]
    patch = label_patch(job, body, "team-b")
    assert body == before
    assert (patch is not None) == bool(placed)
    if patch is None:
        return
    after = copy.deepcopy(patch.apply(body))
    assert label_patch(job, after, "team-b") is None
    for each in placed:
        assert labels_at(after, each) == {**labels_at(before, each), LABEL: "team-b"}
        drop_labels(after, each)
        drop_labels(before, each)
    assert after == before


def train_job(*patches: Any) -> Any:
    (path,) = [each for each in HELD if each.parent.name == "trainjob"]
    job, body = held(path)
    (one,) = held(next(each for each in HELD if each.parent.name == "job"))[0].pod_sets
    roles = tuple(replace(one, name=name, path=()) for name in ("launcher", "node"))
    spec = {**body["spec"], **({"runtimePatches": list(patches)} if patches else {})}
    return replace(job, pod_sets=roles), {**body, "spec": spec}


def labels_in(patch: Any) -> dict[str, Any]:
    spec = patch["trainingRuntimeSpec"]["template"]["spec"]
    return {
        each["name"]: each["template"]["spec"]["template"]["metadata"]["labels"]
        for each in spec["replicatedJobs"]
    }


def patched(job: Any, body: Any, label: str) -> Any:
    """The TrainJob with the label, as Trainer keeps it."""
    patch = label_patch(job, body, label)
    assert isinstance(patch, Patch)
    after = patch.apply(body)
    listed = [{**each, "time": "2026-03-01T12:00:00Z"} for each in after["spec"]["runtimePatches"]]
    return {**after, "spec": {**after["spec"], "runtimePatches": listed}}


def test_a_trainjob_patches_its_runtime_for_every_replicated_job() -> None:
    job, body = train_job()
    after = patched(job, body, "team-a")
    (ours,) = after["spec"]["runtimePatches"]
    assert ours["manager"] == MANAGER
    assert labels_in(ours) == {"launcher": {LABEL: "team-a"}, "node": {LABEL: "team-a"}}
    assert label_patch(job, after, "team-a") is None


def test_what_others_patch_stays_and_ours_is_replaced_when_the_job_is_moved() -> None:
    theirs = {"manager": "kueue.x-k8s.io/manager"}
    job, body = train_job(theirs)
    after = patched(job, patched(job, body, "team-a"), "team-b")
    first, ours = after["spec"]["runtimePatches"]
    assert first["manager"] == theirs["manager"]
    assert set(labels_in(ours)["node"].values()) == {"team-b"}
