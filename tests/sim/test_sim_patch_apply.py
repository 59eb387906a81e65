"""Server-side apply: managers share an object, and are told where they do not agree."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sim_things import NOW, THING, kind_of, patched, refusal

from kq.sim.api import patching
from kq.sim.api.patching import APPLY_PATCH, MERGE_PATCH
from kq.sim.api.schema import completed, rules_for
from kq.sim.api.status import ApiStatus

STAMP = "2026-01-01T00:00:00Z"
JOB = kind_of("batch/v1", "Job")
BASE = {"apiVersion": "try.io/v1", "kind": "Thing", "metadata": {"name": "a"}}


def thing(**spec: Any) -> dict[str, Any]:
    return {**BASE, "spec": spec}


def live(*, tracked: bool = True) -> dict[str, Any]:
    """A thing that somebody made by an ordinary write."""
    made = completed(rules_for(THING), thing(must="m", map=[{"name": "x", "v": 1}]))
    if tracked:
        patching.track(THING, None, made, manager="unknown", now=NOW)
    return made


def applied(current: Any, said: Any, manager: str = "m1", **more: Any) -> dict[str, Any]:
    return patched(current, said, APPLY_PATCH, kind=THING, manager=manager, **more)


def managers(obj: Any) -> dict[tuple[str, str], Any]:
    entries = obj["metadata"].get("managedFields", [])
    return {(each["manager"], each["operation"]): each["fieldsV1"] for each in entries}


def refused_thing(current: Any, said: Any, **more: Any) -> ApiStatus:
    return refusal(current, said, APPLY_PATCH, kind=THING, **more)


ITEM_Y = {'k:{"name":"y"}': {".": {}, "f:name": {}, "f:v": {}}}


def test_an_applier_adds_its_entry_and_owns_no_more() -> None:
    made = applied(live(), thing(map=[{"name": "y", "v": 2}]))
    assert made["spec"]["map"] == [
        {"name": "x", "v": 1, "d": 3},
        {"name": "y", "v": 2, "d": 3},
    ]
    assert managers(made)["m1", "Apply"] == {"f:spec": {"f:map": ITEM_Y}}
    assert managers(made)["unknown", "Update"]["f:spec"]["f:must"] == {}


def test_two_managers_of_a_list_map_do_not_clobber_each_other() -> None:
    made = applied(live(), thing(map=[{"name": "y", "v": 2}]))
    made = applied(made, thing(map=[{"name": "z", "v": 3}]), "m2")
    made = applied(made, thing(map=[{"name": "y", "v": 9}]))
    assert [(each["name"], each["v"]) for each in made["spec"]["map"]] == [
        ("x", 1),
        ("y", 9),
        ("z", 3),
    ]
    gone = applied(made, BASE)
    assert [each["name"] for each in gone["spec"]["map"]] == ["x", "z"]
    assert ("m1", "Apply") not in managers(gone)


def test_a_conflict_names_field_and_manager() -> None:
    refused = refused_thing(live(), thing(must="n"))
    assert (refused.code, refused.reason, refused.message) == (
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "unknown" using try.io/v1: .spec.must',
    )
    assert refused.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "unknown" using try.io/v1',
                "field": ".spec.must",
            }
        ]
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    made = applied(live(), thing(must="m", map=[{"name": "y", "v": 2}]))
    refused = refused_thing(made, thing(must="n", map=[{"name": "y", "v": 3}]), manager="m2")
    assert refused.message == (
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .spec.must\n'
        '- .spec.map[name="y"].v\nconflicts with "unknown" using try.io/v1:\n- .spec.must'
    )


def test_force_takes_fields_over() -> None:
    made = applied(live(), thing(must="n"), force=True)
    assert made["spec"]["must"] == "n"
    assert managers(made)["m1", "Apply"] == {"f:spec": {"f:must": {}}}
    assert "f:must" not in managers(made)["unknown", "Update"]["f:spec"]


def test_a_shared_field_stays_until_its_last_manager_leaves_it_out() -> None:
    made = applied({}, thing(must="m", set=["a", "b"], labels={"k": "v"}))
    made = applied(made, thing(must="m", set=["b", "c"]), "m2")
    made = applied(made, thing(must="m"))
    assert made["spec"] == {"must": "m", "set": ["b", "c"]}
    assert applied(made, BASE, "m2")["spec"] == {"must": "m"}


def test_what_is_applied_again_changes_nothing() -> None:
    made = applied({}, thing(must="m", list=["a"]))
    assert applied(made, thing(must="m", list=["a"]), now=datetime(2027, 1, 1, tzinfo=UTC)) == made


def test_untracked_objects_belong_to_somebody_before_the_first_apply() -> None:
    refused = refused_thing(live(tracked=False), thing(must="n"))
    assert 'conflict with "before-first-apply" using try.io/v1: .spec.must' in refused.message


def test_status_and_the_rest_are_applied_apart() -> None:
    made = applied({}, {**thing(must="m"), "status": {"a": 1}})
    assert managers(made) == {("m1", "Apply"): {"f:spec": {"f:must": {}}}}
    said = {**thing(must="z"), "status": {"a": 1}}
    options = {"kind": THING, "manager": "m2", "subresource": "status"}
    other = patched(made, said, APPLY_PATCH, **options)
    assert managers(other)["m2", "Apply"] == {"f:status": {"f:a": {}}}


def test_ordinary_writes_take_fields_from_appliers() -> None:
    made = applied({}, thing(must="m", list=["a"]))
    made = patched(made, {"spec": {"must": "n"}}, MERGE_PATCH, kind=THING, manager="kubectl")
    assert managers(made) == {
        ("m1", "Apply"): {"f:spec": {"f:list": {}}},
        ("kubectl", "Update"): {"f:spec": {"f:must": {}}},
    }
    gone = patched(made, {"spec": {"list": None}}, MERGE_PATCH, kind=THING, manager="kubectl")
    assert ("m1", "Apply") not in managers(gone)


def test_objects_that_nobody_tracks_stay_so() -> None:
    made = patched(live(tracked=False), {"spec": {"must": "n"}}, MERGE_PATCH, kind=THING)
    assert "managedFields" not in made["metadata"]


def test_a_created_job_is_tracked_as_a_real_server_does() -> None:
    job = {"metadata": {"name": "j", "labels": {"a": "b"}}, "spec": {"suspend": True}}
    patching.track(JOB, None, job, manager="m", now=NOW)
    assert job["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "batch/v1",
            "time": STAMP,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:suspend": {}},
            },
        }
    ]


FAILED = "failed to create typed patch object (/a; try.io/v1, Kind=Thing): "
NO_YAML = (
    "error decoding YAML: error converting YAML to JSON: yaml: line 1:"
    " did not find expected node content"
)
NO_MAP = (
    "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"
    " array into Go value of type map[string]interface {}"
)
NO_TEXT = f"{FAILED}.spec.must: expected string, got &value.valueUnstructured{{Value:5}}"
NO_KEY = (
    f"{FAILED}.spec.map: element 0: associative list with keys has an element that omits all key"
    ' fields ["name"] (and doesn\'t have default values for any key fields)'
)
TWICE = f'{FAILED}.spec.map: duplicate entries for key [name="q"]'
WRONG = "invalid object type: "


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        pytest.param(b"{{", 400, NO_YAML, id="no YAML"),
        pytest.param(b"[]", 400, NO_MAP, id="a list"),
        pytest.param(b"null", 400, f"{WRONG}/, Kind=", id="null"),
        pytest.param({**BASE, "kind": None}, 400, f"{WRONG}try.io/v1, Kind=", id="no kind"),
        pytest.param({**BASE, "apiVersion": None}, 400, f"{WRONG}/, Kind=Thing", id="no version"),
        pytest.param(
            {**BASE, "apiVersion": "try.io/v2"},
            400,
            f"{WRONG}try.io/v2, Kind=Thing",
            id="another version",
        ),
        pytest.param(
            {**BASE, "metadata": {"name": "a", "managedFields": []}},
            400,
            "metadata.managedFields must be nil",
            id="managedFields",
        ),
        pytest.param(thing(must=5), 500, NO_TEXT, id="no text"),
        pytest.param(
            thing(foo=5), 500, f"{FAILED}.spec.foo: field not declared in schema", id="unknown"
        ),
        pytest.param(
            thing(map=5), 500, f"{FAILED}.spec.map: expected list, got &{{5}}", id="no list"
        ),
        pytest.param(thing(map=[{"name": "q"}, {"name": "q"}]), 500, TWICE, id="twice"),
        pytest.param(thing(map=[{"v": 1}]), 500, NO_KEY, id="no key"),
    ],
)
def test_a_bad_configuration_is_refused_in_the_servers_words(
    said: Any, code: int, told: str
) -> None:
    refused = refused_thing({}, said)
    assert (refused.code, refused.message) == (code, told)


def test_yaml_is_taken_and_times_are_texts() -> None:
    body = b"apiVersion: try.io/v1\nkind: Thing\nmetadata: {name: a}\nspec: {must: 2026-01-01}\n"
    assert applied({}, body)["spec"]["must"] == "2026-01-01"


def test_a_uid_of_nothing_conflicts() -> None:
    said = {**BASE, "metadata": {"name": "a", "uid": "1"}}
    refused = refused_thing({}, said)
    assert refused.code == 409
    assert refused.message.endswith(
        "uid mismatch: the provided object specified uid 1, and no existing object was found"
    )
