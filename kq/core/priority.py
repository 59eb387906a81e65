"""Whose priority counts for a job (spec 12.8)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kq.core.keys import PRIORITY
from kq.core.kinds import Object

_INT32 = range(-(2**31), 2**31)
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClassView:
    """A PriorityClass, as far as priorities go."""

    name: str
    value: int
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class DerivedPriority(msgspec.Struct, frozen=True, kw_only=True):
    """A job's priority, None if nothing sets one, and what was found on the way.

    `class_name` is the class that the job's pods have, also if an annotation decides the value;
    `missing_class` is a named class that does not exist, `bad_annotation` a text that is no int32.
    """

    value: int | None = None
    class_name: str | None = None
    missing_class: str | None = None
    bad_annotation: str | None = None


def derive(
    annotations: Mapping[str, str] | None,
    templates: Sequence[Object],
    classes: Mapping[str, PriorityClassView],
) -> DerivedPriority:
    """The priority of a job whose templates come in the order in which they are asked (12.9)."""
    text = (annotations or {}).get(PRIORITY)
    annotated = None if text is None else parse_int32(text)
    name, number = _first_set(templates)
    named = classes.get(name) if name else None
    counting = named
    if named is None and number is None:
        counting = global_default(classes.values())
    by_template = counting.value if counting else number
    return DerivedPriority(
        value=by_template if annotated is None else annotated,
        class_name=counting.name if counting else None,
        missing_class=name if name and named is None else None,
        bad_annotation=text if annotated is None else None,
    )


def global_default(classes: Iterable[PriorityClassView]) -> PriorityClassView | None:
    """The default class; of several, as the API server takes it, the one of lowest value."""
    defaults = (each for each in classes if each.global_default)
    return min(defaults, key=lambda each: (each.value, each.name), default=None)


def parse_int32(text: str) -> int | None:
    """The int32 that a text of ASCII digits stands for; None if it is none."""
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if value in _INT32 else None


def _first_set(templates: Sequence[Object]) -> tuple[str | None, int | None]:
    """Class and number of the first template that sets either."""
    for template in templates:
        spec = template.get("spec")
        if not isinstance(spec, Mapping):
            continue
        name, number = spec.get("priorityClassName"), spec.get("priority")
        known_name = name if isinstance(name, str) and name else None
        is_number = isinstance(number, int) and not isinstance(number, bool)
        known_number = number if is_number and number in _INT32 else None
        if known_name is not None or known_number is not None:
            return known_name, known_number
    return None, None
