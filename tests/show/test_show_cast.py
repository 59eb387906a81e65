"""Who plays: what a seed and a number of jobs make."""

from random import Random

import pytest

from kq.core import keys
from kq.jobs import INTEGRATIONS
from kq.settings import Settings
from kq.show.cast import ROLES, TEAMS, Role, cast_of
from kq.show.manifests import GPU, KINDS, job, settings_for, stage_set


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
    assert {each.kind for each in roles} <= KINDS.keys()


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


def test_the_quotas_of_teams_are_under_that_of_all() -> None:
    made = stage_set(cast_of(1, Random(1)))
    quotas = {each["metadata"]["name"]: each for each in made if each["kind"] == "ElasticQuota"}
    parents = {name: each["metadata"]["labels"][keys.PARENT_LABEL] for name, each in quotas.items()}
    assert parents == {"lab": "", "vision": "lab", "speech": "lab"}
    assert quotas["lab"]["metadata"]["labels"][keys.IS_PARENT_LABEL] == "true"
    assert quotas["speech"]["metadata"]["labels"]["koord-queue/queue-policy"] == "Block"


def test_kq_is_told_of_the_kinds_that_play_and_of_nothing_else() -> None:
    assert settings_for(cast_of(1, Random(1))) == Settings()
    assert {each.key for each in KINDS.values()} <= INTEGRATIONS.keys()
