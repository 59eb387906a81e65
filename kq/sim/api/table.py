"""The forms in which clients take objects: whole, as rows of a Table, or their metadata alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from kq.core.kinds import Object
from kq.sim.api.call import Answer, Call
from kq.sim.api.kinds import Column, Kind
from kq.sim.api.status import ApiStatus
from kq.sim.printing.builtin import printer_of
from kq.sim.printing.columns import Printer, custom_printer

META = "meta.k8s.io/v1"
_JSON_TYPES = ("application/json", "*/*", "application/*", "")
_LIST_FIELDS = ("resourceVersion", "continue", "remainingItemCount")
_ENDS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "Succeeded": [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }
    ],
    "Failed": [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Failed",
            "message": "The pod failed.",
        }
    ],
}


class Form(StrEnum):
    """What a client takes."""

    OBJECT = ""
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaper:
    """Gives answers about one kind the form that a client takes."""

    kind: Kind
    form: Form
    include: str
    now: Callable[[], datetime]

    def shape(self, value: Object) -> Object:
        """An object or a list in that form; what is no such thing stays as it is."""
        if value.get("kind") == "Status" or self.form is Form.OBJECT:
            return value
        if self.form is Form.TABLE:
            return self._table(value)
        if "items" in value and value.get("kind") == self.kind.list_kind:
            items = [partial(each) for each in value["items"]]
            head = {"kind": Form.PARTIAL_LIST.value, "apiVersion": META}
            return {**head, "metadata": value.get("metadata", {}), "items": items}
        return partial(value)

    def line(self, raw: bytes, *, is_first: bool) -> bytes:
        """A line of a watch in that form; only the first one of a Table names the columns."""
        event = msgspec.json.decode(raw)
        shaped = dict(self.shape(event["object"]))
        if shaped.get("kind") == Form.TABLE and not is_first:
            shaped["columnDefinitions"] = None
        return msgspec.json.encode({**event, "object": shaped}) + b"\n"

    def _table(self, value: Object) -> Object:
        is_list = "items" in value and value.get("kind") == self.kind.list_kind
        items = value["items"] if is_list else [value]
        meta = value.get("metadata") or {}
        fields = {name: meta[name] for name in _LIST_FIELDS if meta.get(name)}
        made = as_table(self.kind, items, self.kind.columns, now=self.now(), include=self.include)
        return made | {"metadata": fields}


def form_of(accept: str) -> Form:
    """The first form of an Accept header that can be given; ApiStatus 406 if none can."""
    for choice in accept.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        asked = dict(each.partition("=")[::2] for each in parameters)
        wanted = asked.get("as", "")
        if media in _JSON_TYPES and wanted in set(Form) and asked.get("v", "v1") == "v1":
            return Form(wanted)
    raise ApiStatus(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
    )


def as_table(
    kind: Kind,
    items: Sequence[Object],
    columns: Sequence[Column] = (),
    *,
    now: datetime,
    include: str = "Metadata",
) -> dict[str, Any]:
    """Objects as rows under the columns of their kind, and as much of each as is to be included."""
    printer = _printer(replace(kind, columns=tuple(columns)))
    return {
        "kind": Form.TABLE.value,
        "apiVersion": META,
        "metadata": {},
        "columnDefinitions": printer.definitions(),
        "rows": [_row(kind, each, printer, include, now) for each in items],
    }


def partial(obj: Object) -> dict[str, Any]:
    """The metadata of an object, without anything else."""
    head = {"kind": Form.PARTIAL.value, "apiVersion": META}
    return {**head, "metadata": obj.get("metadata") or {}}


def shaped(answer: Answer, call: Call, now: Callable[[], datetime]) -> Answer:
    """An answer in the form that the call's client takes; ApiStatus 406 if it takes none."""
    form = form_of(call.accept)
    if form is Form.OBJECT or answer.code >= 400:
        return answer
    include = call.query.get("includeObject", "Metadata")
    shaper = Shaper(kind=call.kind, form=form, include=include, now=now)
    if answer.stream is not None:
        return replace(answer, stream=_shaped_lines(answer.stream, shaper))
    value = msgspec.json.decode(answer.body)
    return replace(answer, body=msgspec.json.encode(shaper.shape(value)))


async def _shaped_lines(lines: Any, shaper: Shaper) -> Any:
    is_first = True
    try:
        async for line in lines:
            yield shaper.line(line, is_first=is_first)
            is_first = False
    finally:
        await lines.aclose()


def _printer(kind: Kind) -> Printer:
    return custom_printer(kind) if kind.custom else printer_of(kind.kind_key)


def _row(kind: Kind, obj: Object, printer: Printer, include: str, now: datetime) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": printer.cells(obj, now)}
    phase = (obj.get("status") or {}).get("phase", "")
    if kind.kind_key == "Pod" and phase in _ENDS:
        row["conditions"] = _ENDS[phase]
    match include:
        case "None":
            row["object"] = None
        case "Object":
            row["object"] = {"kind": kind.kind, "apiVersion": kind.api_version, **obj}
        case _:
            row["object"] = partial(obj)
    return row
