"""Field selectors: as texts, and the values of objects that they look at."""

from typing import Any

from kq.core.kinds import Object
from kq.sim.api.kinds import Kind
from kq.sim.api.status import bad_request
from kq.sim.read.selectors import Operator, Requirement


def parse_fields(kind: Kind, text: str) -> tuple[Requirement, ...]:
    """The requirements of a field selector such as `metadata.name=a,status.phase!=Running`."""
    return tuple(_field(kind, text, term) for term in text.split(",") if term)


def fields_of(kind: Kind, obj: Object) -> dict[str, str]:
    """The values that field selectors may ask for, as texts."""
    meta = obj["metadata"]
    fields = {"metadata.name": meta["name"]}
    if kind.namespaced:
        fields["metadata.namespace"] = meta.get("namespace", "")
    for path in kind.selectable:
        fields[path] = _text(_value_at(obj, path))
    return fields


def _value_at(obj: Object, path: str) -> Any:
    match path:
        case "source":
            return (obj.get("source") or {}).get("component")
        case "status.successful":
            return (obj.get("status") or {}).get("succeeded", 0)
        case "spec.hostNetwork" | "spec.unschedulable":
            return bool((obj.get("spec") or {}).get(path.removeprefix("spec.")))
    here: Any = obj
    for part in path.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _field(kind: Kind, whole: str, term: str) -> Requirement:
    for sign, operator in (
        ("!=", Operator.NOT_EQUALS),
        ("==", Operator.EQUALS),
        ("=", Operator.EQUALS),
    ):
        key, found, value = term.partition(sign)
        if not found:
            continue
        if key not in ("metadata.name", "metadata.namespace", *kind.selectable):
            raise bad_request(_unsupported(kind, key))
        return Requirement(key, operator, (value,))
    raise bad_request(f"invalid selector: '{whole}'; can't understand '{term}'")


def _unsupported(kind: Kind, key: str) -> str:
    if kind.kind_key == "Job.batch":
        return f'field label "{key}" not supported for Job'
    if kind.custom or kind.selectable:
        return f"field label not supported: {key}"
    return f'"{key}" is not a known field selector: only "metadata.name", "metadata.namespace"'
