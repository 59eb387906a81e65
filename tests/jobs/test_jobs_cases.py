"""Golden pairs: what kq makes of a job of each kind (spec 8).

`cases/<key>/<case>.job.yaml` is a job as the API server sends it, `<case>.view.yaml` what is seen
of it (fields that say nothing left out), `.hold.yaml`, `.suspend.yaml` and `.resume.yaml` the merge
patches that hold it, stop it and let it run.
"""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kq.core.codec import format_time
from kq.core.model import JobState, JobView
from kq.jobs import INTEGRATIONS
from kq.jobs.integration import JobIntegration
from kq.jobs.options import JobOptions

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.job.yaml"))


NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Json(yaml.CSafeLoader):
    """Reads times as texts, as they come over the wire."""


Json.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def loaded(path: Path) -> Any:
    """YAML as JSON."""
    return yaml.load(path.read_text(), Json)


def integration_of(case: Path) -> JobIntegration:
    return INTEGRATIONS[case.parent.name](JobOptions())


def beside(job: Path, part: str) -> Path:
    return job.with_name(job.name.replace(".job.", f".{part}."))


def shown(view: JobView) -> dict[str, Any]:
    """What a view says; what it leaves open is left out."""
    controller = view.controller
    fields = {
        "name": view.name,
        "deleting": view.deleting,
        "labels": dict(view.labels),
        "annotations": dict(view.annotations),
        "controller": f"{controller.kind}/{controller.name}" if controller else "",
        "suspended": view.suspended,
        "managedByOther": view.managed_by_other,
        "state": "" if view.state is JobState.PENDING else view.state.value,
        "podsActive": view.pods_active,
        "podsTerminating": view.pods_terminating,
        "hasRun": view.has_run,
        "started": format_time(view.started) if view.started else "",
        "releasedAt": format_time(view.released_at) if view.released_at else "",
        "defect": view.defect or "",
        "priorities": [list(each) for each in view.priorities if any(each)],
        "notEvictable": not view.evictable,
        "whole": view.whole,
        "showsWaiting": view.queuing,
        "podsOf": view.pods_of,
        "endsWith": view.ends_with,
        "note": view.note,
        "estimated": view.estimated,
        "unsuspendable": view.unsuspendable,
        "remarks": list(view.remarks),
        "podSets": [
            {
                "name": each.name,
                "count": each.count,
                "wanted": each.wanted,
                "request": each.template.request.to_wire(),
                "path": list(each.path),
            }
            for each in view.pod_sets
        ],
    }
    # Whether it shows that it waits says something also if it does not.
    return {
        name: value
        for name, value in fields.items()
        if value or name == "podSets" or (name == "showsWaiting" and value is False)
    }


@pytest.fixture(params=CASES, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def case(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_there_are_cases_of_every_kind():
    assert {path.parent.name for path in CASES} == set(INTEGRATIONS)


def test_a_job_is_seen_as_it_is(case: Path):
    """Cases B3, C1-C3, I7."""
    job = loaded(case)
    before = copy.deepcopy(job)
    view = integration_of(case).view(job)
    assert shown(view) == loaded(beside(case, "view"))
    assert job == before


def test_what_is_shown_is_what_is_counted(case: Path):
    """Case B3: the request and the pod count of the unit agree."""
    view = integration_of(case).view(loaded(case))
    for each in view.pod_sets:
        assert 0 <= each.count <= each.wanted


def test_a_job_is_held(case: Path):
    integration, job = integration_of(case), loaded(case)
    patch = integration.hold(job)
    if (expected := beside(case, "hold")).exists():
        assert patch.body == loaded(expected)
    held = patch.apply(job)
    assert integration.view(held).suspended
    assert integration.hold(held).is_noop(held)


def test_a_job_is_suspended(case: Path):
    integration, job = integration_of(case), loaded(case)
    patch = integration.suspend(job)
    if (expected := beside(case, "suspend")).exists():
        assert patch.body == loaded(expected)
    assert integration.view(patch.apply(job)).suspended


def test_a_job_is_let_run(case: Path):
    integration, job = integration_of(case), loaded(case)
    held = integration.hold(job).apply(job)
    patch = integration.resume(held, (), NOW)
    if (expected := beside(case, "resume")).exists():
        assert patch.body == loaded(expected)
    released = patch.apply(held)
    assert not integration.view(released).suspended
    assert integration.view(released).pod_sets == integration.view(job).pod_sets
