"""Files of objects for `kq sim`: manifests, or what `kubectl get -o yaml` wrote of a cluster."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from kq.core.kinds import Object
from kq.errors import ConfigError

LINES = (".jsonl", ".ndjson")
"""Ends of names of files that have one object a line, in JSON: they are read as they are used."""
FIRST = ("CustomResourceDefinition", "Namespace")
"""Kinds that other objects need, in the order in which they come, wherever they stand."""
STDIN = Path("-")

_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_RESOLVERS: Final = {
    first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
"""For kubectl a time is a text like any other."""


def read_files(paths: Iterable[Path]) -> Iterable[Object]:
    """The objects of all files, those of files of lines last; a ConfigError if there are none."""
    paths = list(paths)
    whole = [each for path in paths if path.suffix not in LINES for each in _read(path)]
    lines = (_read_lines(path) for path in paths if path.suffix in LINES)
    return chain(sorted(whole, key=_rank), *lines)


def _read(path: Path) -> list[Object]:
    documents = _documents(_text(path), path)
    if not documents:
        raise ConfigError(f"{path} has no object in it: it is empty")
    return [
        each
        for number, document in enumerate(documents, start=1)
        for each in _objects(document, f"{path}, object {number}")
    ]


def _read_lines(path: Path) -> Iterator[Object]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield from _objects(msgspec.json.decode(line), f"{path}, line {number}")
    except OSError as err:
        raise _unreadable(path, err.strerror) from err
    except (msgspec.DecodeError, RecursionError) as err:
        raise ConfigError(f"{path}, line {number} is no JSON: {err}") from err


def _text(path: Path) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as err:
        raise _unreadable(path, err.strerror) from err
    except UnicodeDecodeError as err:
        raise ConfigError(f"{path} is no text in UTF-8: byte {err.start + 1} is none") from err


def _documents(text: str, path: Path) -> list[Any]:
    """The documents of a text; kubectl writes JSON into files of any name."""
    if path.suffix == ".json" or text.lstrip().startswith("{"):
        try:
            return [msgspec.json.decode(text)] if text.strip() else []
        except (msgspec.DecodeError, RecursionError) as err:
            if path.suffix == ".json":
                raise ConfigError(f"{path} is no JSON: {err}") from err
    try:
        return [each for each in _read_yaml(text) if each is not None]
    except (yaml.YAMLError, RecursionError, ValueError) as err:
        raise ConfigError(f"{path} is no YAML: {' '.join(str(err).split())}") from err


def _read_yaml(text: str) -> Iterator[Any]:
    loader = _LOADER(text)
    loader.yaml_implicit_resolvers = _RESOLVERS
    try:
        while loader.check_data():  # type: ignore[no-untyped-call]
            yield loader.get_data()
    finally:
        loader.dispose()


def _objects(document: Any, where: str) -> Iterator[Object]:
    match document:
        case {"kind": str(kind), "apiVersion": str(), "items": list(items)} if kind.endswith(
            "List"
        ):
            for number, each in enumerate(items, start=1):
                yield from _objects(each, f"{where}, item {number}")
        case {"kind": str(), "apiVersion": str(), "metadata": {"name": str(name)}} if name:
            yield document
        case {"kind": str(), "apiVersion": str(), "metadata": {"generateName": str()}}:
            yield document
        case {"kind": str(kind), "apiVersion": str(), "metadata": Mapping()}:
            raise ConfigError(f"{where} is a {kind} without a name: metadata.name is missing")
        case _:
            raise ConfigError(f"{where} is no object: it needs apiVersion, kind and metadata")


def _rank(obj: Object) -> int:
    kind = obj["kind"]
    return FIRST.index(kind) if kind in FIRST else len(FIRST)


def _unreadable(path: Path, why: str | None) -> ConfigError:
    return ConfigError(f"{path} cannot be read: {why}")
