"""Arena's jobs on the simulated cluster: its list, and definitions that drop the hold."""

from functools import partial
from typing import Any

import arena_scenes as scenes
import pytest
from arena_jobs import both, listed, marks, pytorch_job, roles, tf_job
from arena_others import cron, elastic_job
from ground import Object
from kind_cases import KindCase
from kind_cases_kubeflow import PYTORCH_JOB, TF_JOB
from kind_world import KindWorld
from reading import message_of
from sim_case import TEAM, Case
from test_sim_case_kinds import stage_of

from kq.core import keys
from kq.core.kinds import POD, ResourceKind
from kq.sim.crds.definitions import Variant, job_kinds

M25 = "pods run although the job is held: the operator of {} does not honour suspension"
ASKS = both(cpu="1")


def sent(kind: KindCase, name: str, quota: str, *, policy: Any) -> dict[str, Any]:
    """Three pods of one cpu, by `arena submit --queue`, which run for ever."""
    made: dict[str, Any]
    if kind is TF_JOB:
        made = tf_job(policy, PS=(1, "Never", ASKS), Worker=(2, "Never", ASKS))
    else:
        made = pytorch_job(policy, workers=2)
        listed = roles("pytorch", marks("pytorchjob", "PyTorchJob"), Worker=(2, "Never", ASKS))
        leader = roles("pytorch", marks("pytorchjob", "PyTorchJob"), Master=(1, "Never", ASKS))
        made["spec"]["pytorchReplicaSpecs"] = {**leader, **listed}
    labels = {**made["metadata"]["labels"], "release": name, keys.QUOTA_LABEL: quota}
    meta = {**made["metadata"], "name": name, "namespace": TEAM, "labels": labels}
    for each in next(v for k, v in made["spec"].items() if k.endswith("Specs")).values():
        played = each["template"]["metadata"]["annotations"]
        each["template"]["metadata"]["annotations"] = {**played, "run-for": "forever"}
    return {**made, "metadata": meta}


def shown(case: Case, kind: KindCase, name: str) -> str:
    """What Arena's list says of a job."""
    job = case.ground.read(kind.kind, TEAM, name)
    assert job is not None
    pods = case.ground.items(POD, TEAM)
    return listed(job, [each for each in pods if each["metadata"]["name"].startswith(name)])


@pytest.mark.parametrize("kind", [TF_JOB], ids=lambda kind: kind.id)
def test_its_list_follows_a_job_through_the_queue(kind: KindCase) -> None:
    """Spec 8.8: QUEUING while held and after an eviction, RUNNING after each release."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3)
        world.submit(sent(kind, "first", quota, policy={"suspend": False}))
        jobs.wait_running("first")
        case.until(lambda: shown(case, kind, "first") == "RUNNING", "it runs", 5)
        world.submit(sent(kind, "second", quota, policy={"suspend": False}))
        case.until(lambda: shown(case, kind, "second") == "QUEUING", "it waits", 5)
        old = jobs.wait("second", bool)["metadata"]["uid"]
        jobs.delete("second")
        world.submit(sent(kind, "second", quota, policy={}))
        assert jobs.wait("second", kind.is_held)["metadata"]["uid"] != old
        case.until(lambda: shown(case, kind, "second") == "QUEUING", "and again", 5)
        jobs.activate("first", False)
        case.until(lambda: shown(case, kind, "second") == "RUNNING", "it has its turn", 20)
        case.until(lambda: shown(case, kind, "first") == "QUEUING", "they change places", 20)
        jobs.activate("first", True)
        jobs.delete("second")
        case.until(lambda: shown(case, kind, "first") == "RUNNING", "it runs again", 20)


@pytest.fixture
def its_own_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """TFJob and PyTorchJob as Arena's CRDs keep them: no runPolicy, a whole status."""
    served = ("tfjobs.kubeflow.org", "pytorchjobs.kubeflow.org")
    all_kinds = {each["metadata"]["name"]: each for each in job_kinds(Variant.ARENA)}
    monkeypatch.setattr(
        "kq.sim.world.operator_kinds", lambda names: [all_kinds[each] for each in served]
    )


@pytest.mark.parametrize("kind", [PYTORCH_JOB], ids=lambda kind: kind.id)
def test_an_operator_that_ignores_the_only_mark_is_told_of_and_counted(
    kind: KindCase, its_own_definitions: None
) -> None:
    """Spec 8.12: the pods of a held job ran at once; the quota is right all the same.

    As nothing stops it, it is nobody's victim (spec 13.15).
    """
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=3, annotations={keys.ENABLE_PREEMPTION[0]: "true"})
        world.job("blocker", quota, cpu=1)
        world.wait_phase("blocker", "Running")
        world.submit(sent(kind, "first", quota, policy=None))
        job = jobs.wait("first", bool)
        assert "runPolicy" not in job["spec"]
        assert job["metadata"]["annotations"][keys.SUSPEND] == "true"
        unit = jobs.unit("first")
        case.until(lambda: case.phases().get(unit) == "Running", "it is counted", 30)
        assert message_of(world.unit(unit)) == M25.format(kind.kind.kind)
        world.job("other", quota, cpu=1, priority=9)
        case.passes(60)
        assert case.phases()["other"] == "Enqueued"
        told = [each["reason"] for each in world.events("first", kind.kind)]
        assert told.count("HoldIneffective") == 1
        assert "NotEvictable" not in told
        jobs.delete("first")
        case.until(lambda: case.phases()["other"] == "Running", "and gives it back", 20)
        case.onlooker.wrongs.clear()


def test_elastic_jobs_are_left_alone_with_all_that_they_have() -> None:
    """Spec 5.6, 8.1: they are no kind of ours, whatever mark they bear."""
    with stage_of(TF_JOB) as case:
        scenes.serve(case.ground, scenes.ELASTIC_JOB)
        submits = partial(submit, case, scenes.ELASTIC_JOB, elastic_job(), "first")
        scenes.check_elastic_jobs_are_left_alone(case.world, submits)


def test_what_a_cron_makes_waits_like_any_job() -> None:
    """Spec 5.8: the Cron itself is not looked at."""
    with stage_of(TF_JOB) as case:
        scenes.serve(case.ground, scenes.CRON_TAB)
        submits = partial(submit, case, scenes.CRON_TAB, cron(), "nightly")
        scenes.check_turns_of_a_cron_wait(case.world, submits)


def submit(case: Case, kind: ResourceKind, body: Object, name: str, quota: str) -> None:
    """As Arena does with `--label`, which it puts on pods of elastic jobs too."""
    labelled(body, quota)
    body["metadata"] |= {"name": name, "namespace": TEAM}
    case.ground.create(kind, body)


def labelled(value: Any, quota: str) -> None:
    """Puts the label of a quota beside each that says for whom a job is."""
    for each in value if isinstance(value, list) else value.values():
        if isinstance(each, dict | list):
            labelled(each, quota)
    if isinstance(value, dict) and "arena.kubeflow.org/uid" in value:
        value[keys.QUOTA_LABEL] = quota
