"""Objects of a file, put onto a simulated cluster: `kubectl get -o json` of a real one, say."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kq.core.kinds import Object
from kq.errors import ConfigError
from kq.sim.api.kinds import Kind
from kq.sim.api.server import ApiServer
from kq.sim.install import create, kind_of

LINES = (".jsonl", ".ndjson")
"""Ends of names of files that have one object a line, in JSON: they are read as they are used."""
MADE = ("CustomResourceDefinition", "Namespace")
"""Kinds that are made anew, if they are not there: much hangs on how they come to be."""


def read_objects(path: Path) -> Iterator[Object]:
    """The objects in a file of YAML, JSON or lines of JSON; items of lists one by one."""
    try:
        documents = _lines(path) if path.suffix in LINES else _documents(path)
        for number, each in enumerate(documents, start=1):
            yield from _objects(each, f"{path}, object {number}")
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.DecodeError) as err:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(err).split())}") from err


async def load(server: ApiServer, objects: Iterable[Object]) -> int:
    """Puts them onto a server, and gives how many.

    What carries a UID was an object already: it is put back as it was, with owners and status,
    and nobody is asked. What carries none is created. Missing namespaces are made.
    """
    namespaces = {each.name for each in server.storage.list(kind_of(server, "v1", "Namespace"))}
    count = 0
    for obj in objects:
        count += 1
        await _make_namespace(server, obj, namespaces)
        kind = kind_of(server, obj["apiVersion"], obj["kind"])
        if kind.kind in MADE and server.storage.get(kind, "", obj["metadata"]["name"]):
            continue
        if obj["metadata"].get("uid") and kind.kind not in MADE:
            server.storage.put(kind, _as_it_was(kind, obj))
        else:
            await create(server, _as_new(obj))
    return count


async def _make_namespace(server: ApiServer, obj: Object, known: set[str]) -> None:
    if obj["kind"] == "Namespace":
        known.add(obj["metadata"]["name"])
    name = obj["metadata"].get("namespace", "")
    if name and name not in known:
        known.add(name)
        await create(server, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _as_it_was(kind: Kind, obj: Object) -> dict[str, Any]:
    meta = {each: value for each, value in obj["metadata"].items() if each != "managedFields"}
    if kind.namespaced:
        meta.setdefault("namespace", "default")
    return {**obj, "metadata": meta}


def _as_new(obj: Object) -> Object:
    left_out = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
    meta = {each: value for each, value in obj["metadata"].items() if each not in left_out}
    return {**obj, "metadata": meta}


def _lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield msgspec.json.decode(line)


def _documents(path: Path) -> Iterator[Any]:
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        yield msgspec.json.decode(text)
    else:
        yield from (each for each in yaml.safe_load_all(text) if each is not None)


def _objects(document: Any, where: str) -> Iterator[Object]:
    match document:
        case {"kind": str(kind), "apiVersion": str(), "items": list(items)} if kind.endswith(
            "List"
        ):
            for each in items:
                yield from _objects(each, where)
        case {"kind": str(), "apiVersion": str(), "metadata": Mapping()}:
            yield document
        case _:
            raise ConfigError(f"{where} is no object: it needs apiVersion, kind and metadata")
