"""Who plays: what a seed and a number of jobs make."""

from random import Random

import pytest

from kq.core import keys
from kq.jobs import INTEGRATIONS
from kq.settings import Settings
from kq.show.cast import LAB, ROLES, TEAMS, Role, cast_of
from kq.show.kinds import KINDS
from kq.show.manifests import job, operators_for, settings_for, stage_set
from kq.show.specs import GPU
from kq.sim.operators import OPERATORS


def names(jobs: int, seed: int = 1) -> list[str]:
    return [each.name for each in cast_of(jobs, Random(seed)).roles]


def test_a_seed_gives_the_same_cast_and_another_seed_another() -> None:
    assert cast_of(40, Random(1)) == cast_of(40, Random(1))
    assert cast_of(40, Random(1)) != cast_of(40, Random(2))


@pytest.mark.parametrize("jobs", [1, 4, len(ROLES), 50])
def test_there_are_so_many_jobs_and_the_story_comes_first(jobs: int) -> None:
    story = [each.name for each in ROLES]
    assert len(names(jobs)) == len(set(names(jobs))) == jobs
    assert names(jobs)[: len(story)] == story[:jobs]


def test_jobs_are_submitted_in_order_and_each_fits_into_its_quota() -> None:
    roles = cast_of(200, Random(1)).roles
    limits = {each.name: each.limit for each in TEAMS}
    assert [each.at for each in roles] == sorted(each.at for each in roles)
    assert all(each.total <= limits[each.team] for each in roles)
    assert {each.kind for each in roles} == KINDS.keys()


def test_the_story_has_every_kind_that_kq_queues_and_every_operator() -> None:
    cast = cast_of(len(ROLES), Random(1))
    assert set(settings_for(cast).jobs.enabled) == INTEGRATIONS.keys()
    assert operators_for(cast) == sorted(OPERATORS)
    assert {each.team for each in ROLES} == {each.name for each in TEAMS}


def test_what_is_guaranteed_to_teams_is_there_for_all_at_once() -> None:
    cast = cast_of(1, Random(1))
    assert sum(each.owed for each in TEAMS) <= cast.lab.limit < sum(each.limit for each in TEAMS)


def test_a_manifest_says_nothing_of_a_queue() -> None:
    made = job(Role(at=0, team="vision", name="resnet", gpus=2, pods=3, seconds=60))
    assert made["metadata"] == {"name": "resnet", "namespace": "vision", "annotations": {}}
    assert made["spec"]["parallelism"] == made["spec"]["completions"] == 3
    template = made["spec"]["template"]
    assert template["metadata"]["annotations"] == {"run-for": "60s"}
    assert template["spec"]["containers"][0]["resources"] == {"limits": {GPU: "2"}}


def test_an_important_job_says_so() -> None:
    made = job(Role(at=0, team="vision", name="resnet", gpus=1, seconds=1, priority=7))
    assert made["metadata"]["annotations"] == {keys.PRIORITY: "7"}


def test_the_quotas_of_teams_are_under_that_of_all_and_say_by_what_rules_they_go() -> None:
    made = [each for _, each in stage_set(cast_of(1, Random(1)))]
    quotas = {each["metadata"]["name"]: each for each in made if each["kind"] == "ElasticQuota"}
    labels = {name: each["metadata"]["labels"] for name, each in quotas.items()}
    said = {name: each["metadata"]["annotations"] for name, each in quotas.items()}
    parents = {name: each[keys.PARENT_LABEL] for name, each in labels.items()}
    assert parents == {LAB: "", "vision": LAB, "speech": LAB, "text": LAB}
    assert labels[LAB][keys.IS_PARENT_LABEL] == "true"
    assert labels["speech"]["koord-queue/queue-policy"] == "Block"
    assert said["vision"]["koord-queue/enable-queueunit-preemption"] == "true"
    assert {name for name, each in said.items() if each.get("koord-queue/reclaim") == "Any"} == {
        "vision",
        "speech",
        "text",
    }
    assert quotas["text"]["spec"] == {"max": {GPU: "6"}, "min": {GPU: "4"}}


def test_what_a_job_is_made_from_is_there_before_it() -> None:
    cast = cast_of(len(ROLES), Random(1))
    (runtime,) = [each for kind, each in stage_set(cast) if kind.kind == "TrainingRuntime"]
    (role,) = [each for each in cast.roles if each.kind == "TrainJob"]
    assert job(role)["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]
    assert role.team == runtime["metadata"]["namespace"]


def test_kq_is_told_of_the_kinds_that_play_and_of_nothing_else() -> None:
    cast = cast_of(2, Random(1))
    assert settings_for(cast).jobs.enabled == ("job", "pytorchjob")
    assert settings_for(cast).quotaPlugin == Settings().quotaPlugin
    assert operators_for(cast) == ["training"]
