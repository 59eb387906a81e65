"""What a user says that a job needs at least (spec 8.16)."""

import contextlib

import pytest
from builders import amounts
from hypothesis import given
from hypothesis import strategies as st

from kq.core.minresources import min_resources
from kq.errors import DecodeError

KOORD, KUBE = "koord-queue/min-resources", "kube-queue/min-resources"


@pytest.mark.parametrize(
    ("annotations", "amount"),
    [
        ({KOORD: "cpu: 5\nmemory: 5Gi\n"}, amounts(cpu=5, memory=5368709120)),
        ({KUBE: "cpu: 5\nmemory: 5G\n"}, amounts(cpu=5, memory=5000000000)),
        ({KOORD: '{"cpu":"500m","memory":"1e9"}'}, amounts(cpu="500m", memory=1000000000)),
        ({KOORD: '{"cpu":2,"memory":1.5}'}, amounts(cpu=2, memory=2)),
        ({KUBE: "cpu: 9", KOORD: "cpu: 1"}, amounts(cpu=1)),
        ({KOORD: "{}"}, amounts()),
    ],
    ids=["b9-yaml", "b9-decimal", "b9-json", "numbers", "first-wins", "nothing-needed"],
)
def test_the_annotation_is_read_in_all_its_forms(annotations, amount):
    """Case B9."""
    assert min_resources(annotations) == amount


def test_no_annotation_is_none():
    assert min_resources({"koord-queue/queue-name": "q"}) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu 5", f"{KOORD} is 'cpu 5', not a map of quantities"),
        ("", f"{KOORD} is '', not a map of quantities"),
        ("- cpu", f"{KOORD} is '- cpu', not a map of quantities"),
        ("cpu: -1", f"cpu in {KOORD} is -1, not a quantity of 0 or more"),
        ("cpu: 0x10", f"cpu in {KOORD} is 0x10, not a quantity"),
        ("cpu:", f"cpu in {KOORD} is , not a quantity"),
        ('{"cpu":null}', f"cpu in {KOORD} is null, not a quantity"),
        ("cpu: [1]", f"cpu in {KOORD} is ['1'], not a quantity"),
        (
            "cpu: 1\ncpu: 2",
            f"{KOORD} is 'cpu: 1\\ncpu: 2', not a map of quantities "
            "(not plain: it has a key twice)",
        ),
    ],
    ids=["text", "empty", "list", "negative", "hexadecimal", "blank", "null", "inner", "doubled"],
)
def test_a_bad_value_never_means_that_nothing_is_needed(text, message):
    """Cases B9, C3."""
    with pytest.raises(DecodeError) as refusal:
        min_resources({KOORD: text})
    assert str(refusal.value) == message


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(DecodeError):
        assert min_resources({KOORD: text}) is not None
