"""What a task of a DAG waits for, and in which order tasks are looked at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.sim.argo.depends import awaited, in_order, is_met, text_of

PHASES = {"a": "Succeeded", "b": "Failed", "c": "Skipped", "d-1": "Omitted"}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("a", True),
        ("b", False),
        ("c", True),
        ("d-1", False),
        ("d-1.Omitted", True),
        ("b.Failed", True),
        ("a.Failed", False),
        ("a && b", False),
        ("a || b", True),
        ("b || b.Failed && a", True),
        ("(b || b.Failed) && d-1", False),
        ("!b", True),
        ("!(a && c)", False),
        ("a && !b.Succeeded && (c.Skipped || d-1)", True),
        ("a b", False),
        ("a &&", False),
    ],
)
def test_a_task_goes_ahead_as_its_depends_says(text: str, met: bool) -> None:
    assert is_met(text, PHASES) is met


def test_each_task_is_awaited_once() -> None:
    assert awaited("a && (b.Succeeded || !b.Failed) && d-1") == ["a", "b", "d-1"]


def test_the_older_form_is_all_of_a_list() -> None:
    assert text_of({"dependencies": ["a", "b"]}) == "a && b"
    assert text_of({"depends": "a"}) == "a"
    assert text_of({}) == ""


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=10), st.randoms())
def test_tasks_come_after_those_that_they_wait_for(
    earlier: list[list[int]], random: object
) -> None:
    tasks = {
        str(number): {"dependencies": [str(each) for each in waits if each < number]}
        for number, waits in enumerate(earlier)
    }
    shuffled = list(tasks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ordered = in_order({name: tasks[name] for name in shuffled})
    assert sorted(ordered) == sorted(tasks)
    for name, task in tasks.items():
        assert all(ordered.index(each) < ordered.index(name) for each in task["dependencies"])


def test_tasks_in_a_circle_are_looked_at_all_the_same() -> None:
    tasks = {"a": {"depends": "b"}, "b": {"depends": "a"}, "c": {}}
    assert in_order(tasks) == ["c", "a", "b"]
