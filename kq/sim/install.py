"""kq's installation in a simulated cluster: the objects of its manifests, without their pods."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import yaml

import kq
from kq.core.kinds import Object
from kq.errors import ConfigError
from kq.kube.errors import from_status
from kq.sim.api.call import Request
from kq.sim.api.kinds import Kind
from kq.sim.api.server import ApiServer

PACKAGE = Path(kq.__file__).parent
PLACES = (PACKAGE / "manifests" / "kustomize", PACKAGE.parent / "manifests" / "kustomize")
"""Where the manifests are: inside a package from a wheel, beside that of the repository."""
FOLDERS = ("base", "components/koordinator-crds", "components/elasticquotatree-crd")
"""The installation, and the kinds of quotas that it rests on."""
LEFT_OUT = ("Deployment",)
"""Webhook and manager run beside the cluster, not in it."""
FIRST = ("CustomResourceDefinition", "Namespace")
"""Kinds that others need, in the order in which they are made."""

_KUSTOMIZATION = "kustomization.yaml"


def installation(folders: Sequence[Path] | None = None) -> list[Object]:
    """What is to be made, in an order in which it can be."""
    if folders is None:
        manifests = manifests_in(PLACES)
        folders = [manifests / each for each in FOLDERS]
    objects = [each for folder in folders for each in _within(folder)]
    kept = [each for each in objects if each["kind"] not in LEFT_OUT]
    return sorted(kept, key=lambda each: _rank(each["kind"]))


def manifests_in(places: Sequence[Path]) -> Path:
    """The first of the places that there is."""
    for place in places:
        if place.is_dir():
            return place
    raise ConfigError(f"kq's manifests are in none of {', '.join(map(str, places))}")


async def install(server: ApiServer, objects: Sequence[Object]) -> None:
    """Makes objects on a server; its refusal of one raises."""
    for obj in objects:
        await create(server, obj)


async def create(server: ApiServer, obj: Object) -> None:
    """Makes one object; a refusal raises."""
    await _write(server, "POST", _path(server, obj), obj)


async def replace(server: ApiServer, obj: Object, version: int) -> None:
    """Puts an object in the place of that version of it; a refusal raises."""
    meta = {**obj["metadata"], "resourceVersion": str(version)}
    path = f"{_path(server, obj)}/{meta['name']}"
    await _write(server, "PUT", path, {**obj, "metadata": meta})


def kind_of(server: ApiServer, api_version: str, name: str) -> Kind:
    """The kind that the server serves under that name."""
    kind = server.registry.of(api_version, name)
    if kind is None:
        raise ConfigError(f"{name} of {api_version} is not served")
    return kind


def _path(server: ApiServer, obj: Object) -> str:
    """Where the objects of its kind are, in its namespace."""
    kind = kind_of(server, obj["apiVersion"], obj["kind"])
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    namespace = obj["metadata"].get("namespace") or "default"
    inside = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"{root}{inside}/{kind.plural}"


async def _write(server: ApiServer, method: str, path: str, obj: Object) -> None:
    request = Request(method=method, path=path, body=msgspec.json.encode(obj))
    answer = await server.serve(request)
    if answer.code >= 300:
        raise from_status(answer.code, answer.body, answer.headers)


def _within(folder: Path) -> Iterator[Object]:
    """The objects of a kustomization that only lists what belongs to it."""
    named = _read(folder / _KUSTOMIZATION)[0].get("resources") or ()
    for name in named:
        place = folder / name
        if place.is_dir():
            yield from _within(place)
        else:
            yield from _read(place)


def _read(file: Path) -> list[Object]:
    try:
        return [each for each in yaml.safe_load_all(file.read_text("utf-8")) if each]
    except (OSError, yaml.YAMLError) as err:
        raise ConfigError(f"{file} cannot be read: {err}") from err


def _rank(kind: str) -> int:
    return FIRST.index(kind) if kind in FIRST else len(FIRST)
