"""What admission checks want added to pods goes in, and comes out again (spec 8.9, 14.10-14.12)."""

import copy
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from test_jobs_cases import CASES, integration_of, loaded

from kq.core import checks, keys
from kq.jobs.podupdates import clash_of, with_updates, without_updates

PLACED = [
    each
    for each in CASES
    if each.name.startswith(("real-held.", "suspended.", "real-v2beta1-held.", "kubectl."))
    and each.parent.name not in ("workflow", "trainjob")
]
TOLERATION = {"key": "gpu", "operator": "Exists"}
WANTED = {
    "labels": {"rack": "r1"},
    "annotations": {"note": "n"},
    "nodeSelector": {"zone": "a"},
    "tolerations": [TOLERATION],
}

JOB = yaml.safe_load("""
apiVersion: batch/v1
kind: Job
metadata: {name: main, namespace: team-a}
spec:
  suspend: true
  template:
    metadata: {labels: {rack: r1, team: a}, annotations: null}
    spec:
      nodeSelector: {zone: a}
      tolerations: [{key: gpu, operator: Exists}]
      containers: [{name: main, image: busybox}]
""")
(JOB_KIND,) = [each for each in CASES if each.parent.name == "job" and "suspended." in each.name]


def answer(check: str = "quota", *updates: Any, pod_set: str = "main", **wanted: Any) -> Any:
    """An answer, as it stands in a unit."""
    given = updates or ({"name": pod_set, **wanted},)
    return {"name": check, "state": "Ready", "podSetUpdates": list(given)}


def ready(*entries: Any) -> list[checks.Answer]:
    return checks.ready(checks.answers(list(entries)))


def view(job: Any) -> Any:
    return integration_of(JOB_KIND).view(job)


def added(job: Any, *entries: Any) -> Any:
    return with_updates(view(job), job, ready(*entries), 1).apply(job)


@pytest.mark.parametrize("case", PLACED, ids=lambda each: f"{each.parent.name}-{each.name}")
def test_what_was_added_is_in_the_templates_and_comes_out_to_the_last_bit(case):
    """Of every kind that has a place: each field of each pod set once."""
    integration, job = integration_of(case), loaded(case)
    before = copy.deepcopy(job)
    seen = integration.view(job)
    names = [each.name for each in seen.pod_sets if each.path]
    given = ready(answer("quota", *({"name": name, **WANTED} for name in names)))
    assert clash_of(seen, job, given) == ""
    changed = with_updates(seen, job, given, 3).apply(job)
    assert job == before
    templates = [each.template.wire for each in integration.view(changed).pod_sets if each.path]
    assert names
    for wire in templates:
        assert b'"rack":"r1"' in wire
        assert b'"zone":"a"' in wire
        assert b'"key":"gpu"' in wire
    known = checks.added_of(integration.view(changed).annotations)
    assert known is not None
    assert (known.attempt, set(known.podSets)) == (3, set(names))
    restored = without_updates(integration.view(changed), changed).apply(changed)
    assert integration.view(restored).pod_sets == seen.pod_sets
    assert keys.POD_SET_UPDATES not in restored["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([answer(labels={"rack": "r1"})], "", id="as the template"),
        pytest.param(
            [answer(labels={"rack": "r2"})],
            "admission check quota wants label rack=r2 on pod set main, but its template sets r1",
            id="against the template",
        ),
        pytest.param(
            [answer("a", annotations={"x": "1"}), answer("b", annotations={"x": "2"})],
            "admission check b wants annotation x=2 on pod set main, but admission check a sets 1",
            id="against one another",
        ),
        pytest.param(
            [answer("a", nodeSelector={"x": "1"}), answer("b", nodeSelector={"x": "1"})],
            "",
            id="two of one mind",
        ),
        pytest.param(
            [answer(nodeSelector={"zone": "b"})],
            "admission check quota wants node selector zone=b on pod set main, "
            "but its template sets a",
            id="a node selector",
        ),
        pytest.param(
            [answer(pod_set="workers", labels={"x": "1"})],
            "admission check quota names unknown pod set workers",
            id="unknown pods",
        ),
        pytest.param([answer(tolerations=[TOLERATION])], "", id="tolerations never clash"),
        pytest.param(
            [{**answer(labels={"rack": "r2"}), "state": "Pending"}], "", id="only what is Ready"
        ),
        pytest.param([answer("a", {"name": 3, "labels": [1]}, "x")], "", id="odd entries"),
    ],
)
def test_what_cannot_be_is_found_before_anything_is_written(entries, expected):
    """Spec 14.10, M17."""
    assert clash_of(view(JOB), JOB, ready(*entries)) == expected


@pytest.mark.parametrize("key", ["workflow", "trainjob", "mpijob"])
def test_some_kinds_have_no_place(key):
    """Spec 8.9, M20: Workflow, TrainJob and MPIJob v1alpha1."""
    case = next(
        each
        for each in CASES
        if each.parent.name == key and each.name.startswith(("real-held.", "v1alpha1-held."))
    )
    seen = integration_of(case).view(loaded(case))
    found = clash_of(seen, loaded(case), ready(answer(labels={"x": "1"})))
    assert found == f"{seen.kind.kind} has no place for podSetUpdates of admission check quota"


def test_an_equal_toleration_is_not_added_twice_and_what_was_there_stays():
    """Spec 14.10: only what was not there is ours."""
    changed = added(JOB, answer("a", {"name": "main", **WANTED}), answer("b", labels={"x": "1"}))
    assert changed["spec"]["template"]["spec"]["tolerations"] == [TOLERATION]
    known = checks.added_of(view(changed).annotations)
    assert known is not None
    assert known.podSets == {"main": {"labels": {"x": "1"}, "annotations": {"note": "n"}}}


def test_what_somebody_changed_since_stays_when_ours_is_taken_out():
    """Spec 8.9: key by key, only if the value is still ours."""
    changed = added(JOB, answer(labels={"x": "1", "y": "2"}, nodeSelector={"disk": "ssd"}))
    changed["spec"]["template"]["metadata"]["labels"]["x"] = "other"
    changed["spec"]["template"]["spec"]["nodeSelector"]["rack"] = "r7"
    restored = without_updates(view(changed), changed).apply(changed)
    template = restored["spec"]["template"]
    assert template["metadata"]["labels"] == {"rack": "r1", "team": "a", "x": "other"}
    assert template["spec"]["nodeSelector"] == {"zone": "a", "rack": "r7"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"podSets": {"main": 1}}', '{"podSets": {"main": {"labels": "x"}}}'],
    ids=["empty", "a list", "cut off", "no map", "no labels"],
)
def test_of_a_note_that_cannot_be_read_nothing_is_ours(text):
    """Spec 22.1: it goes, and the job stays as it is."""
    job = copy.deepcopy(JOB)
    job["metadata"]["annotations"] = {keys.POD_SET_UPDATES: text}
    restored = without_updates(view(job), job).apply(job)
    assert restored["spec"] == JOB["spec"]
    assert restored["metadata"]["annotations"] == {}


def test_pod_sets_that_are_gone_are_passed_over():
    changed = added(JOB, answer(labels={"x": "1"}))
    renamed = replace(view(changed), pod_sets=())
    restored = without_updates(renamed, changed).apply(changed)
    assert restored["spec"] == changed["spec"]
