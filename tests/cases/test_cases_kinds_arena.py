"""Jobs as Arena sends them: held, counted, shown (spec 8.8, 8.12, 12.3)."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from arena_jobs import SENT, Object, Sent, listed, tf_job
from arena_others import CRON, ELASTIC, TURN, cron, elastic_job, owned_by, turn_of
from case_kinds import (
    KINDS,
    SUSPEND,
    Kind,
    answer,
    held,
    integration,
    is_untouched,
    let_go,
    stored,
    unit_of,
)

from kq.core import keys
from kq.core.podviews import pod_decoder
from kq.decide.kin import maker_of, owner_of, pod_owners
from kq.jobs.queuing import dequeued_patch, waiting_patch

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
of_every_command = pytest.mark.parametrize("sent", [*SENT, TURN], ids=lambda sent: sent.command)


def kind_of(job: Object) -> Kind:
    return next(each for each in KINDS if (each.api, each.kind) == (job["apiVersion"], job["kind"]))


def whole(kind: Kind, job: Object) -> Kind:
    """The kind with all places where this job says what its pods are."""
    field = next((each for each in job["spec"] if each.endswith("ReplicaSpecs")), "")
    roles = job["spec"].get(field, ())
    ways = tuple(("spec", field, each, "template", "metadata") for each in roles)
    return replace(kind, templates=ways) if ways else kind


@of_every_command
def test_what_arena_sends_is_held_and_nothing_else_of_it_changes(sent: Sent) -> None:
    """Spec 6.2, 8.3, 8.12: both marks, whichever of them the operator honours."""
    kind = whole(kind_of(sent.job), sent.job)
    expected = held(kind, sent.job)
    if "shutdown-after-finished" in sent.command:
        expected["spec"]["shutdownAfterJobFinishes"] = True
        expected["metadata"]["annotations"][keys.INJECTED] = (
            "label,pod-labels,shutdown-after-finish,suspend"
        )
    done = stored(kind, sent.job)
    assert done == expected
    assert done["metadata"]["labels"].items() >= sent.job["metadata"]["labels"].items()
    owners = sent.job["metadata"].get("ownerReferences")
    assert done["metadata"].get("ownerReferences") == owners
    assert "finalizers" not in done["metadata"]


@of_every_command
def test_a_person_is_told_and_never_refused(sent: Sent) -> None:
    """Arena prints warnings; a refusal would leave debris behind (spec 6.2a)."""
    said = answer(kind_of(sent.job), sent.job)
    assert said.allowed
    assert any("held by koord-queue until quota team-a allows" in each for each in said.warnings)


@of_every_command
def test_what_arena_sends_is_counted_by_requests_else_limits(sent: Sent) -> None:
    """Spec 8.2, 12.3, 12.5: roles without requests, limits alone, an empty launcher."""
    unit = unit_of(kind_of(sent.job), stored(kind_of(sent.job), sent.job))
    assert {each["name"]: each["count"] for each in unit["spec"]["podSet"]} == sent.pods
    assert unit["spec"]["resource"] == sent.asks
    assert keys.DEFECT not in unit["metadata"]["annotations"]


@of_every_command
def test_the_annotation_that_arena_leaves_on_pods_holds_nothing(sent: Sent) -> None:
    """After a release pods still bear "true": it is never read from them."""
    kind = kind_of(sent.job)
    done = let_go(kind, stored(kind, sent.job))
    assert not integration(kind).view(done).suspended


def test_definitions_that_drop_the_run_policy_leave_the_annotation() -> None:
    """Spec 8.12: pruned when it is stored and at each patch, held and let go all the same."""
    job = tf_job(None, Worker=(1, "Never", {}))
    kind = kind_of(job)
    done = pruned(stored(kind, job))
    assert done["metadata"]["annotations"][SUSPEND] == "true"
    assert integration(kind).view(done).suspended
    assert done["spec"]["activeDeadlineSeconds"] == 3600
    freed = pruned(let_go(kind, done))
    assert not integration(kind).view(freed).suspended
    again = pruned(integration(kind).suspend(freed).apply(freed))
    assert integration(kind).view(again).suspended


def pruned(job: Object) -> Object:
    """As Arena's definitions keep it."""
    kept = copy.deepcopy(job)
    kept["spec"].pop("runPolicy", None)
    return kept


# -- what its list shows


def said(*conditions: tuple[str, str]) -> Object:
    listed = [{"type": name, "status": status} for name, status in conditions]
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "status": {"conditions": listed}}


def waits(job: Object) -> Object:
    patch = waiting_patch(job, NOW)
    return job if patch is None else patch.apply(job)


def dequeued(job: Object) -> Object:
    patch = dequeued_patch(job, NOW)
    return job if patch is None else patch.apply(job)


STORIES: list[tuple[Object, str, str]] = [
    (said(), "QUEUING", "PENDING"),
    (said(("Created", "True")), "QUEUING", "PENDING"),
    (said(("Created", "True"), ("Suspended", "True")), "QUEUING", "PENDING"),
    (said(("Queuing", "True"), ("Suspended", "True")), "QUEUING", "PENDING"),
    (said(("Running", "False"), ("Suspended", "True")), "QUEUING", "PENDING"),
    (said(("Running", "True"), ("Suspended", "True")), "QUEUING", "RUNNING"),
    (said(("Queuing", "False"), ("Running", "True")), "QUEUING", "RUNNING"),
]


@pytest.mark.parametrize(("job", "waiting", "running"), STORIES)
def test_its_list_shows_a_waiting_job_as_queuing_and_a_released_one_never(
    job: Object, waiting: str, running: str
) -> None:
    """Spec 8.8: also beside Restarting, where a True left behind would show QUEUING."""
    held_now = waits(job)
    assert listed(held_now) == waiting
    assert held_now["status"]["conditions"][-1]["type"] == "Queuing"
    freed = dequeued(held_now)
    assert listed(freed) == "PENDING"
    assert freed["status"]["conditions"][0]["type"] == "Queuing"
    assert listed(dequeued(job)) == running
    restarts = copy.deepcopy(freed)
    restarts["status"]["conditions"].append({"type": "Restarting", "status": "True"})
    assert listed(restarts) == "PENDING"


def test_its_list_goes_by_what_is_true() -> None:
    """The table of what Arena prints, as it was seen."""
    table = {
        (("Running", "True"), ("Queuing", "True")): "RUNNING",
        (("Succeeded", "True"), ("Queuing", "True")): "SUCCEEDED",
        (("Failed", "True"), ("Running", "True")): "FAILED",
        (("Restarting", "True"), ("Queuing", "True")): "QUEUING",
        (("Created", "True"), ("Queuing", "False")): "PENDING",
    }
    assert {each: listed(said(*each)) for each in table} == table
    pending: list[Any] = [{"status": {"phase": "Pending"}}]
    assert listed(said(("Running", "True")), pending) == "PENDING"


# -- what is no job of ours

UNQUEUED = {ELASTIC: elastic_job(), CRON: cron()}


@pytest.mark.parametrize("listed", UNQUEUED, ids=lambda listed: listed[1])
def test_elastic_jobs_and_crons_are_no_kinds_that_are_held(listed: tuple[str, str, str]) -> None:
    """Spec 5.8, 8.1: also when somebody has the webhook asked about them, with --queue or not."""
    api, name, plural = listed
    kind = Kind(key="", api=api, kind=name, plural=plural, spec=dict)
    assert (api, name) not in {(each.api, each.kind) for each in KINDS}
    assert is_untouched(answer(kind, UNQUEUED[listed]))


def test_a_job_that_an_elastic_job_makes_is_its_own_affair() -> None:
    """Spec 5.6: of any kind, were there one; its pods are nobody's whom kq knows."""
    whole = elastic_job()
    for sent in SENT:
        made = {
            **sent.job,
            "metadata": {**sent.job["metadata"], "ownerReferences": [owned_by(whole)]},
        }
        assert is_untouched(answer(kind_of(made), made)), sent.command
    worker = whole["spec"]["etReplicaSpecs"]["worker"]["template"]
    meta = {
        **worker["metadata"],
        "name": "j1-worker-0",
        "namespace": "team-a",
        "uid": "p",
        "labels": {**worker["metadata"]["labels"], keys.QUOTA_LABEL: "team-a"},
        "ownerReferences": [owned_by(whole)],
    }
    raw = json.dumps({**worker, "metadata": meta}).encode()
    kinds = pod_owners([each.kind for each in KINDS])
    assert pod_decoder(kinds, counts_foreign=False)(raw) is None
    seen = pod_decoder(kinds, counts_foreign=True)(raw)
    assert seen is not None
    assert (seen.quota, owner_of(seen), maker_of(seen)) == ("team-a", "u-1", None)


def test_each_turn_of_a_cron_has_a_unit_of_its_own() -> None:
    """Spec 5.8."""
    names = set()
    for at in (1772334000, 1772420400):
        made = turn_of(cron(), at=at)
        unit = unit_of(kind_of(made), stored(kind_of(made), made))
        names.add(unit["metadata"]["name"])
        assert unit["spec"]["consumerRef"]["name"] == f"j1-{at}"
    assert names == {"j1-1772334000-tf-qu", "j1-1772420400-tf-qu"}


# -- what is not the job's


def test_the_pods_of_a_tensorboard_are_not_the_job_s() -> None:
    """Spec 8.23: app and release match, but their owner is a ReplicaSet."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "j1-tensorboard-7", "uid": "r"}
    labels = {"app": "tfjob", "release": "j1", "role": "tensorboard"}
    meta = {
        "name": "j1-tensorboard-7-x",
        "namespace": "team-a",
        "uid": "p",
        "labels": labels,
        "ownerReferences": [{**owner, "controller": True}],
    }
    board = json.dumps({"metadata": meta, "spec": {"containers": []}}).encode()
    worker = {**owner, "apiVersion": "kubeflow.org/v1", "kind": "TFJob", "controller": True}
    mine = json.dumps({"metadata": {**meta, "ownerReferences": [worker]}}).encode()
    kinds = pod_owners([each.kind for each in KINDS])
    assert pod_decoder(kinds, counts_foreign=False)(board) is None
    seen = pod_decoder(kinds, counts_foreign=True)(board)
    assert seen is not None
    assert (seen.quota, seen.holder, owner_of(seen), maker_of(seen)) == ("", "", "r", None)
    assert pod_decoder(kinds, counts_foreign=False)(mine) is not None
