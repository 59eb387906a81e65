"""Custom objects are pruned, filled in and judged by their schema, in the real server's words."""

from typing import Any

import pytest
from sim_things import kind_of

from kq.errors import DecodeError
from kq.sim.api import schema
from kq.sim.api.kinds import Kind
from kq.sim.api.schema import Schema, completed, rules_for

ENTRY = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "v": {"type": "integer"},
        "d": {"type": "integer", "default": 3},
    },
}
SPEC = {
    "type": "object",
    "required": ["must"],
    "properties": {
        "must": {"type": "string"},
        "str": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
        "en": {"type": "string", "enum": ["a", "b"]},
        "int": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10},
        "xmin": {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        "mult": {"type": "integer", "multipleOf": 5},
        "num": {"type": "number"},
        "bo": {"type": "boolean"},
        "date": {"type": "string", "format": "date-time"},
        "ios": {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": "^[0-9]+$",
        },
        "nul": {"type": "string", "nullable": True},
        "def": {"type": "string", "default": "x"},
        "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": ENTRY,
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "props": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 2,
            "additionalProperties": {"type": "integer"},
        },
        "emb": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "obj": {
            "type": "object",
            "default": {},
            "properties": {"d": {"type": "integer", "default": 7}},
        },
        "i64": {"type": "integer", "format": "int64"},
        "neg": {
            "type": "object",
            "not": {"required": ["z"]},
            "properties": {"z": {"type": "string"}},
        },
        "one": {
            "type": "object",
            "oneOf": [{"required": ["p"]}, {"required": ["q"]}],
            "properties": {"p": {"type": "string"}, "q": {"type": "string"}},
        },
    },
}
RULES = Schema({"type": "object", "properties": {"spec": SPEC}})
NOWHERE = '<nil>: Invalid value: "": '


GO = "json: cannot unmarshal"


def texts(**spec: Any) -> list[str]:
    made = completed(RULES, {"spec": {"must": "m", **spec}})
    return [cause.text for cause in RULES.faults(made)]


def typed(field: str, wanted: str, got: str) -> str:
    return f'{field}: Invalid value: "{got}": {field} in body must be of type {wanted}: "{got}"'


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param({"must": None}, ["spec.must: Required value"], id="a null that must be"),
        pytest.param({"must": 1}, [typed("spec.must", "string", "integer")], id="a number"),
        pytest.param(
            {"str": "A"},
            ['spec.str: Invalid value: "A": spec.str in body should be at least 2 chars long'],
            id="short",
        ),
        pytest.param(
            {"str": "abcde"}, ["spec.str: Too long: may not be more than 4 bytes"], id="long"
        ),
        pytest.param(
            {"str": "AB"},
            ["spec.str: Invalid value: \"AB\": spec.str in body should match '^[a-z]+$'"],
            id="not as its pattern",
        ),
        pytest.param(
            {"str": "ab\n"},
            ["spec.str: Invalid value: \"ab\\n\": spec.str in body should match '^[a-z]+$'"],
            id="a line break is no end",
        ),
        pytest.param(
            {"en": "c"},
            ['spec.en: Unsupported value: "c": supported values: "a", "b"'],
            id="none of those",
        ),
        pytest.param({"int": "x"}, [typed("spec.int", "integer", "string")], id="a text"),
        pytest.param(
            {"int": 1.5},
            [
                typed("spec.int", "int32", "float64"),
                f"{NOWHERE}Checked value must be of type integer with format int32 in spec.int",
            ],
            id="a fraction",
        ),
        pytest.param({"int": 1.0}, [], id="a whole fraction"),
        pytest.param(
            {"int": 0},
            ["spec.int: Invalid value: 0: spec.int in body should be greater than or equal to 1"],
            id="too small",
        ),
        pytest.param(
            {"int": 11},
            ["spec.int: Invalid value: 11: spec.int in body should be less than or equal to 10"],
            id="too large",
        ),
        pytest.param(
            {"i64": 2**63},
            [
                typed("spec.i64", "int64", "float64"),
                f"{NOWHERE}Checked value must be of type integer with format int64 in spec.i64",
            ],
            id="beyond 64 bits",
        ),
        pytest.param(
            {"xmin": 1},
            ["spec.xmin: Invalid value: 1: spec.xmin in body should be greater than 1"],
            id="the bound itself",
        ),
        pytest.param(
            {"mult": 7},
            ["spec.mult: Invalid value: 7: spec.mult in body should be a multiple of 5"],
            id="no multiple",
        ),
        pytest.param({"num": 1}, [], id="an integer is a number"),
        pytest.param({"bo": "true"}, [typed("spec.bo", "boolean", "string")], id="a word"),
        pytest.param({"date": "x"}, [typed("spec.date", "date-time", "x")], id="no time"),
        pytest.param({"ios": 5}, [], id="an integer or text"),
        pytest.param(
            {"ios": True},
            [
                typed("spec.ios", "integer,string", "boolean"),
                f'{NOWHERE}"spec.ios" must validate at least one schema (anyOf)',
                typed("spec.ios", "integer", "boolean"),
            ],
            id="neither integer nor text",
        ),
        pytest.param(
            {"list": []},
            ["spec.list: Invalid value: 0: spec.list in body should have at least 1 items"],
            id="too few",
        ),
        pytest.param(
            {"list": ["a", "b", "c"]},
            ["spec.list: Too many: 3: must have at most 2 items"],
            id="too many",
        ),
        pytest.param(
            {"list": [1, None]},
            [
                typed("spec.list[0]", "string", "integer"),
                typed("spec.list[1]", "string", "null"),
            ],
            id="wrong items",
        ),
        pytest.param(
            {"set": ["a", "a", "b", "b", "a"]},
            ['spec.set[1]: Duplicate value: "a"', 'spec.set[3]: Duplicate value: "b"'],
            id="twice in a set",
        ),
        pytest.param(
            {"map": [{"name": "a"}, {"name": "a", "v": 2}]},
            ['spec.map[1]: Duplicate value: {"name":"a"}'],
            id="twice in a list map",
        ),
        pytest.param({"map": [{"v": 1}]}, ["spec.map[0].name: Required value"], id="no key"),
        pytest.param(
            {"props": {}},
            ["spec.props: Invalid value: 0: spec.props in body should have at least 1 properties"],
            id="no properties",
        ),
        pytest.param(
            {"props": {"a": 1, "b": 2, "c": 3}},
            ["spec.props: Too many: 3: must have at most 2 items"],
            id="too many properties",
        ),
        pytest.param(
            {"emb": {"apiVersion": "v1"}}, ["spec.emb.kind: Required value"], id="half embedded"
        ),
        pytest.param(
            {"neg": {"z": "1"}},
            [f'{NOWHERE}"spec.neg" must not validate the schema (not)'],
            id="what must not be",
        ),
        pytest.param(
            {"one": {}},
            [
                f'{NOWHERE}"spec.one" must validate one and only one schema (oneOf).'
                " Found none valid",
                "spec.one.p: Required value",
            ],
            id="none of one",
        ),
        pytest.param(
            {"one": {"p": "a", "q": "b"}},
            [
                f'{NOWHERE}"spec.one" must validate one and only one schema (oneOf).'
                " Found 2 valid alternatives"
            ],
            id="two of one",
        ),
    ],
)
def test_what_is_wrong_is_found(spec: dict[str, Any], told: list[str]) -> None:
    assert texts(**spec) == told


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"str": None, "int": None}, {}, id="nulls that may not be"),
        pytest.param({"nul": None}, {"nul": None}, id="a null that may be"),
        pytest.param({"def": None}, {}, id="a null with a default"),
        pytest.param({"unknown": 1}, {}, id="unknown"),
        pytest.param(
            {"map": [{"name": "a", "z": 1}]},
            {"map": [{"name": "a", "d": 3}]},
            id="unknown in a list",
        ),
        pytest.param(
            {"free": {"a": [1, {"b": None}]}},
            {"free": {"a": [1, {"b": None}]}},
            id="free",
        ),
        pytest.param({"obj": None}, {}, id="a null map with a default"),
        pytest.param(
            {"emb": {"apiVersion": "v1", "kind": "Pod", "x": 1}},
            {"emb": {"apiVersion": "v1", "kind": "Pod", "x": 1}},
            id="embedded",
        ),
    ],
)
def test_objects_are_pruned_and_filled_in(given: dict[str, Any], kept: dict[str, Any]) -> None:
    made = completed(RULES, {"spec": {"must": "m", **given}})
    assert made == {"spec": {"must": "m", "def": "x", "obj": {"d": 7}, **kept}}


def test_what_was_cut_is_named() -> None:
    given = {
        "foo": 1,
        "metadata": {"name": "a", "bar": 1},
        "spec": {"map": [{"zz": 1}], "obj": {"w": {}}, "free": {"any": 1}},
    }
    decoded = RULES.decode(given)
    assert decoded.unknown == ["foo", "metadata.bar", "spec.map[0].zz", "spec.obj.w"]
    assert given["foo"] == 1


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        pytest.param([], f"{GO} array into Go value of type v1.ObjectMeta", id="list"),
        pytest.param(
            {"labels": {"a": 1}},
            f"{GO} number into Go struct field ObjectMeta.labels of type string",
            id="label",
        ),
    ],
)
def test_metadata_has_to_be_well_formed(metadata: Any, told: str) -> None:
    with pytest.raises(DecodeError) as caught:
        RULES.decode({"metadata": metadata})
    assert str(caught.value) == told


def test_kinds_that_nobody_knows_have_no_rules() -> None:
    assert schema.builtin(kind_of("v1", "ConfigMap")) is not None
    nobody = Kind(group="x.io", version="v1", kind="X", plural="xs", custom=True)
    assert schema.builtin(nobody) is None
    assert completed(rules_for(nobody), {"any": {"thing": None}}) == {"any": {"thing": None}}
