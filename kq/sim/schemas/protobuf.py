"""Objects in the protobuf of Kubernetes, in which clients write those of built-in kinds."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kq.errors import DecodeError
from kq.sim.schemas.definitions import Schema, definition_of, wire_fields

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Values = dict[str, Any]


def read_object(body: bytes) -> Values:
    """The object in a body; DecodeError if it is none that can be read."""
    if not body.startswith(MAGIC):
        raise DecodeError("provided data does not appear to be a protobuf message")
    envelope = dict(_fields(body[len(MAGIC) :]))
    about = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    version, kind = about.get(1, ""), about.get(2, "")
    schema = definition_of(version, kind)
    if schema is None:
        raise DecodeError(f"no kind {kind!r} is registered for version {version!r}")
    return {"apiVersion": version, "kind": kind} | _message(schema, _bytes(envelope.get(2, b"")))


def _message(schema: Schema, data: bytes) -> Values:
    read: Values = {}
    _read_into(read, str(schema.get("title", "")), schema, data)
    return read


def _read_into(read: Values, name: str, schema: Schema, data: bytes) -> None:
    fields = wire_fields().get(name)
    if fields is None:
        raise DecodeError(f"type {name!r} cannot be read from protobuf")
    for number, value in _fields(data):
        marked = fields.get(str(number), "")
        field = marked.rstrip("*?")
        if marked.endswith("?") and not value:
            # Protobuf says zeros where JSON says nothing.
            continue
        if field.startswith("+"):
            # The fields of this one stand in the object itself.
            _read_into(read, field[1:], schema, _bytes(value))
        elif field in schema["properties"]:
            _set(read, field, schema["properties"][field], value)


def _set(read: Values, field: str, schema: Schema, value: int | bytes) -> None:
    match schema.get("type"):
        case "array":
            read.setdefault(field, []).append(_value(schema["items"], value))
        case "object" if "additionalProperties" in schema:
            entry = dict(_fields(_bytes(value)))
            inner = schema["additionalProperties"]
            read.setdefault(field, {})[_text(entry.get(1, b""))] = _value(inner, entry.get(2, b""))
        case _:
            read[field] = _value(schema, value)


def _value(schema: Schema, value: int | bytes) -> Any:
    special = _SPECIAL.get(str(schema.get("title", "")))
    if special is not None:
        return special(dict(_fields(_bytes(value))))
    match schema.get("type"):
        case "string" if schema.get("format") == "byte":
            return base64.b64encode(_bytes(value)).decode()
        case "string":
            return _text(value)
        case "boolean":
            return bool(value)
        case "integer" | "number":
            return _signed(value)
        case _:
            return _message(schema, _bytes(value))


def _time(fields: Mapping[int, Any], *, micro: bool) -> str | None:
    if not fields.get(1):
        return None
    stamp = _EPOCH + timedelta(seconds=_signed(fields[1]), microseconds=fields.get(2, 0) // 1000)
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def _int_or_string(fields: Mapping[int, Any]) -> int | str:
    return _text(fields.get(3, b"")) if fields.get(1) else _signed(fields.get(2, 0))


def _json(fields: Mapping[int, Any]) -> Any:
    raw = _bytes(fields.get(1, b""))
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError as err:
        raise DecodeError(f"raw JSON in protobuf cannot be read: {err}") from err


_SPECIAL: Mapping[str, Callable[[Mapping[int, Any]], Any]] = {
    "api.resource.Quantity": lambda fields: _text(fields.get(1, b"")),
    "meta.v1.Time": lambda fields: _time(fields, micro=False),
    "meta.v1.MicroTime": lambda fields: _time(fields, micro=True),
    "util.intstr.IntOrString": _int_or_string,
    "meta.v1.FieldsV1": _json,
    "pkg.runtime.RawExtension": _json,
}


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: numbers, and values as they are on the wire."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if wire == _BYTES:
            length, at = _varint(data, at)
        if length is None or at + length > len(data):
            raise DecodeError(f"protobuf field {number} ends early or is of wire type {wire}")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise DecodeError("a protobuf number ends early")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DecodeError(f"protobuf has the number {value} where a message should be")


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as err:
        raise DecodeError("a text in protobuf is not UTF-8") from err


def _signed(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise DecodeError(f"protobuf has {json.dumps(value.hex())} where a number should be")
    return value - 2**64 if value >= 2**63 else value
