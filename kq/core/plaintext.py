"""The plain maps, lists and texts that an annotation says in YAML or JSON (spec 21.2).

It is the text of strangers: at most 16 KiB, no tags, anchors, aliases or doubled keys. Scalars come
as they are written, as texts; what they mean is for the rule of their key to say.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from kq.errors import DecodeError

MAX_BYTES: Final = 16 * 1024
MAX_DEPTH: Final = 32

_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} deep"


def read_plain(text: str) -> Any:
    """A text, or lists and maps of such; DecodeError says what is wrong and shows nothing of it."""
    try:
        if len(text.encode()) > MAX_BYTES:
            raise DecodeError("longer than 16 KiB")
        return _of_json(text) if text.startswith("{") else _of_yaml(text)
    except (yaml.YAMLError, json.JSONDecodeError) as err:
        raise DecodeError("neither YAML nor JSON") from err
    except UnicodeError as err:
        raise DecodeError("not Unicode") from err
    except RecursionError as err:
        raise DecodeError(_TOO_DEEP) from err


def _of_json(text: str) -> Any:
    try:
        said = json.loads(
            text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_once
        )
    except json.JSONDecodeError:
        # A map of YAML may begin like this too.
        return _of_yaml(text)
    return _written(said, 0)


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        _add(result, key, value)
    return result


def _add(result: dict[str, Any], key: str, value: Any) -> None:
    if key in result:
        raise DecodeError("not plain: it has a key twice")
    result[key] = value


def _written(value: Any, depth: int) -> Any:
    """The scalars of JSON as they were written."""
    if depth > MAX_DEPTH:
        raise DecodeError(_TOO_DEEP)
    match value:
        case dict():
            return {_utf8(key): _written(each, depth + 1) for key, each in value.items()}
        case list():
            return [_written(each, depth + 1) for each in value]
        case str():
            return _utf8(value)
        case _:
            return json.dumps(value)


def _utf8(text: str) -> str:
    """The text; JSON can spell half a character, which nobody could write again."""
    text.encode()
    return text


def _of_yaml(text: str) -> Any:
    events = iter(yaml.parse(text, Loader=_LOADER))
    value: Any = ""
    documents = 0
    for event in events:
        match event:
            case yaml.DocumentStartEvent():
                documents += 1
                if event.version or event.tags or documents > 1:
                    raise DecodeError("not one plain document")
            case yaml.StreamStartEvent() | yaml.StreamEndEvent() | yaml.DocumentEndEvent():
                continue
            case _:
                value = _node(event, events, 0)
    return value


def _node(event: Any, events: Iterator[Any], depth: int) -> Any:
    """The value that begins with that event; those after it are the next value's."""
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise DecodeError("not plain: it has an anchor or alias")
    if event.tag is not None:
        raise DecodeError("not plain: it has a tag")
    if depth > MAX_DEPTH:
        raise DecodeError(_TOO_DEEP)
    match event:
        case yaml.MappingStartEvent():
            return _map(events, depth)
        case yaml.SequenceStartEvent():
            return _list(events, depth)
        case _:
            return event.value


def _map(events: Iterator[Any], depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        key = _node(event, events, depth + 1)
        if not isinstance(key, str):
            raise DecodeError("not plain: a key is no text")
        _add(result, key, _node(next(events), events, depth + 1))
    return result


def _list(events: Iterator[Any], depth: int) -> list[Any]:
    result: list[Any] = []
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        result.append(_node(event, events, depth + 1))
    return result
