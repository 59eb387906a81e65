"""The crowd of waiting jobs: made by kq itself, multiplied, and nothing of it is there twice."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from bench.crowd import crowd, sample
from bench.crowd.crowd import FIRST_TEAM, LEFT_OUT

UNITS = 450
"""More than two of each job of the sample."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[sample.Object]:
    path: Path = tmp_path_factory.mktemp("crowd") / "objects.jsonl"
    assert crowd.write(sample.taken(), UNITS, path) == UNITS
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_each_waiting_job_has_a_unit_that_says_why_and_names_it(
    objects: list[sample.Object],
) -> None:
    jobs = {each["metadata"]["uid"]: each for each in objects if each["kind"] == "Job"}
    units = [each for each in objects if each["kind"] == "QueueUnit" and is_waiting(each)]
    assert len(units) == UNITS
    for unit in units:
        job = jobs[unit["metadata"]["ownerReferences"][0]["uid"]]
        assert job["spec"]["suspend"]
        assert unit["spec"]["consumerRef"]["name"] == job["metadata"]["name"]
        assert unit["status"]["message"].startswith("waiting for quota team-")


def test_no_uid_and_no_name_is_there_twice(objects: list[sample.Object]) -> None:
    uids = Counter(each["metadata"]["uid"] for each in objects)
    assert max(uids.values()) == 1
    places = Counter(
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in objects
    )
    assert max(places.values()) == 1


def test_only_one_place_is_free(objects: list[sample.Object]) -> None:
    running = [each for each in objects if each["kind"] == "Pod"]
    assert len(running) == sample.TEAMS * (1 + sample.ROOMS) - 1
    assert not any(
        LEFT_OUT in (each["metadata"]["name"], *owners(each))
        for each in objects
        if each["metadata"].get("namespace") == FIRST_TEAM
    )


def is_waiting(unit: sample.Object) -> bool:
    return str(unit["metadata"]["name"]).startswith(sample.WAITING)


def owners(obj: sample.Object) -> list[str]:
    return [each["name"] for each in obj["metadata"].get("ownerReferences", ())]
