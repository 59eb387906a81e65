"""The faults that built-in kinds share: negative numbers, unknown words, changed fixed fields."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kq.core.kinds import Object
from kq.sim.api import names
from kq.sim.api.kinds import Naming
from kq.sim.api.status import Cause, forbidden_field, invalid_value
from kq.sim.schemas.amounts import amount_of

INTEGER_RESOURCES = ("pods", "services", "secrets", "configmaps", "resourcequotas")
NOT_NEGATIVE = "must be greater than or equal to 0"


def not_negative(owner: Object, fields: Iterable[str], path: str) -> Iterator[Cause]:
    """The named numbers that are below zero."""
    for name in fields:
        value = owner.get(name)
        if value is not None and value < 0:
            yield invalid_value(f"{path}.{name}", value, NOT_NEGATIVE)


def not_supported(path: str, value: object, choices: Sequence[str]) -> Cause:
    """A word that is none of those the field takes."""
    shown = json.dumps(value, ensure_ascii=False)
    supported = ", ".join(f'"{choice}"' for choice in choices)
    text = f"Unsupported value: {shown}: supported values: {supported}"
    return Cause(path, "FieldValueNotSupported", text)


def word(owner: Object, name: str, choices: Sequence[str], path: str) -> Iterator[Cause]:
    """The field, if it has a value that is none of the choices."""
    value = owner.get(name)
    if value is not None and value not in choices:
        yield not_supported(f"{path}.{name}" if path else name, value, choices)


def duplicate(path: str, value: object) -> Cause:
    """A value that stands there for the second time."""
    shown = json.dumps(value, ensure_ascii=False)
    return Cause(path, "FieldValueDuplicate", f"Duplicate value: {shown}")


def immutable(new: Any, old: Any, path: str) -> Iterator[Cause]:
    """The field, if it changed at all."""
    if new != old:
        yield invalid_value(path, new, "field is immutable")


def labels(values: Mapping[str, str] | None, path: str) -> Iterator[Cause]:
    """The keys and values that are no labels."""
    for value, why in names.labels_faults(values or {}):
        yield invalid_value(path, value, why)


def label_name(value: str, path: str) -> Iterator[Cause]:
    """A name that is no DNS label."""
    for why in names.name_faults(value, Naming.LABEL):
        yield invalid_value(path, value, why)


def amounts(values: Mapping[str, str] | None, path: str) -> Iterator[Cause]:
    """Quantities below zero, and fractions of what is counted in whole numbers."""
    for name, text in (values or {}).items():
        quantity = amount_of(text)
        if quantity.nano < 0:
            yield invalid_value(f"{path}[{name}]", text, NOT_NEGATIVE)
        if _is_counted(name) and quantity.milli % 1000:
            yield invalid_value(f"{path}[{name}]", text, "must be an integer")


def is_extended(name: str) -> bool:
    """Whether the resource is one that a device plugin offers, such as `nvidia.com/gpu`."""
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and domain != "requests"


def fixed_when_immutable(new: Object, old: Object, fields: Sequence[str]) -> Iterator[Cause]:
    """The fields of a Secret or ConfigMap that changed although they are declared immutable."""
    if not old.get("immutable"):
        return
    for name in ("immutable", *fields):
        if new.get(name) != old.get(name):
            yield forbidden_field(name, "field is immutable when `immutable` is set")


def _is_counted(name: str) -> bool:
    return name in INTEGER_RESOURCES or name.startswith("count/") or is_extended(name)
