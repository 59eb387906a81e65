"""Annotations are the text of strangers: plain maps, lists and texts only (spec 21.2)."""

import contextlib
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kq.core.plaintext import MAX_BYTES, read_plain
from kq.errors import DecodeError

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
PLAIN = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cpu: 5\nmemory: 5Gi\n", {"cpu": "5", "memory": "5Gi"}),
        ('{"cpu":"500m","memory":1e9}', {"cpu": "500m", "memory": "1e9"}),
        ("{cpu: 5}", {"cpu": "5"}),
        (
            '{"a":true,"b":null,"c":1.50,"d":NaN}',
            {"a": "true", "b": "null", "c": "1.50", "d": "NaN"},
        ),
        (
            "on: yes\nsince: 2026-01-01\nhex: 0x10\nlong: 1_000",
            {
                "on": "yes",
                "since": "2026-01-01",
                "hex": "0x10",
                "long": "1_000",
            },
        ),
        ("- a\n-\n- [b, {c: d}]", ["a", "", ["b", {"c": "d"}]]),
        ("cpu 5", "cpu 5"),
        ("", ""),
        ("# only a comment", ""),
        ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ("<<: 1", {"<<": "1"}),
    ],
    ids=[
        "yaml",
        "json",
        "flow",
        "scalars-of-json",
        "scalars-of-yaml",
        "lists",
        "text",
        "empty",
        "comment",
        "pairs-of-json",
        "no-merge-key",
    ],
)
def test_scalars_come_as_they_are_written(text, said):
    assert read_plain(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "!!str 5",
        "!mine {a: b}",
        "a: &x 1",
        "a: &x 1\nb: *x",
        "a: &x [*x]",
        "a: 1\na: 2",
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":1}}',
        "? [a]\n: b",
        "a: 1\n---\nb: 2",
        "%YAML 1.1\n---\na: b",
        "%TAG ! tag:example.com,2026:\n---\na: b",
        "a: [",
        '{"a": ',
        "a:\tb: c\n\t- d",
        "\x00",
        '{"a":"\\ud83d"}',
        "\ud83d",
        "[" * 5000,
        '{"a":' * 2500 + "1" + "}" * 2500,
        "[" * 40 + "]" * 40,
        '{"a":' + "[" * 40 + "]" * 40 + "}",
        "a: " + "x" * MAX_BYTES,
        "a: " + "\u00e9" * (MAX_BYTES // 2),
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_what_is_not_plain_is_refused(text):
    with pytest.raises(DecodeError) as refusal:
        read_plain(text)
    assert len(str(refusal.value)) < 100


def test_sixteen_kibibytes_are_read():
    assert read_plain("x" * MAX_BYTES) == "x" * MAX_BYTES


@given(PLAIN)
def test_what_is_written_as_json_is_read_as_it_was(value):
    assert read_plain(json.dumps({"a": value})) == {"a": value}


@given(PLAIN)
def test_what_is_written_as_yaml_is_read_as_it_was(value):
    text = yaml.safe_dump({"a": value}, allow_unicode=True)
    assert read_plain(text) == {"a": value}


@given(st.text(max_size=60) | st.text(alphabet="{}[]:,-&*!|>%\"'\n \ta1", max_size=60))
def test_no_text_makes_it_fail_otherwise(text):
    with contextlib.suppress(DecodeError):
        assert isinstance(read_plain(text), str | list | dict)
