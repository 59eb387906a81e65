"""What a task of a DAG waits for: `depends: "a && (b.Succeeded || c.Failed)"`."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kq.core.kinds import Object

DONE: Final = frozenset({"Succeeded", "Skipped", "Daemoned"})
"""What a task has to be that is named without more."""

_TOKEN = re.compile(r"\s*(&&|\|\||!|\(|\)|[\w-]+(?:\.[A-Z]\w+)?)")


def text_of(task: Object) -> str:
    """What a task waits for; its older form is all of a list."""
    return task.get("depends") or " && ".join(task.get("dependencies") or ())


def awaited(text: str) -> list[str]:
    """The tasks that are named, each once."""
    names = (token.partition(".")[0] for token in _tokens(text))
    return list(dict.fromkeys(each for each in names if each[0].isalnum()))


def is_met(text: str, phases: Mapping[str, str]) -> bool:
    """Whether it holds, once all that it names has ended in these phases."""
    value, rest = _either(_tokens(text), phases)
    return value and not rest


def in_order(tasks: Mapping[str, Object]) -> Sequence[str]:
    """Names of tasks, those first that others wait for."""
    ordered: list[str] = []
    left = dict.fromkeys(tasks)
    while left:
        free = [
            name for name in left if not any(each in left for each in awaited(text_of(tasks[name])))
        ]
        for name in free or list(left):
            ordered.append(name)
            del left[name]
    return ordered


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


Parsed = tuple[bool, Sequence[str]]


def _either(tokens: Sequence[str], phases: Mapping[str, str]) -> Parsed:
    value, rest = _both(tokens, phases)
    while rest and rest[0] == "||":
        other, rest = _both(rest[1:], phases)
        value = value or other
    return value, rest


def _both(tokens: Sequence[str], phases: Mapping[str, str]) -> Parsed:
    value, rest = _one(tokens, phases)
    while rest and rest[0] == "&&":
        other, rest = _one(rest[1:], phases)
        value = value and other
    return value, rest


def _one(tokens: Sequence[str], phases: Mapping[str, str]) -> Parsed:
    if not tokens:
        return False, tokens
    first, rest = tokens[0], tokens[1:]
    if first == "!":
        value, rest = _one(rest, phases)
        return not value, rest
    if first == "(":
        value, rest = _either(rest, phases)
        return value, rest[1:]
    name, _, wanted = first.partition(".")
    phase = phases.get(name, "")
    return (phase == wanted if wanted else phase in DONE), rest
