"""Selectors as values: requirements on labels and fields, and what meets them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kq.core.kinds import Object

_NUMBER = re.compile(r"[+-]?[0-9]+")


class Operator(StrEnum):
    """How a requirement compares."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER = "gt"
    LESS = "lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on one label or field."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, having: Mapping[str, str]) -> bool:
        """Whether what is there meets it."""
        value = having.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.EQUALS | Operator.IN:
                return value in self.values if value is not None else False
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value not in self.values
            case Operator.GREATER:
                return _number(value) is not None and _more(value, self.values[0])
            case Operator.LESS:
                return _number(value) is not None and _more(self.values[0], value)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or watch is about: requirements on labels and on fields."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def takes_all(self) -> bool:
        """Whether there is nothing to check."""
        return not self.labels and not self.fields

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Whether an object with these belongs to it."""
        return all(each.matches(labels) for each in self.labels) and all(
            each.matches(fields) for each in self.fields
        )


def label_selector(selector: Object | None) -> tuple[Requirement, ...]:
    """The requirements of a selector as objects carry it: matchLabels and matchExpressions."""
    selector = selector or {}
    equal = [
        Requirement(key, Operator.EQUALS, (value,))
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    operators = {
        "In": Operator.IN,
        "NotIn": Operator.NOT_IN,
        "Exists": Operator.EXISTS,
        "DoesNotExist": Operator.DOES_NOT_EXIST,
    }
    expressions = [
        Requirement(each["key"], operators[each["operator"]], tuple(each.get("values") or ()))
        for each in selector.get("matchExpressions") or ()
    ]
    return (*equal, *expressions)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def _more(left: str | None, right: str | None) -> bool:
    high, low = _number(left), _number(right)
    return high is not None and low is not None and high > low
