"""Reading of the manifests: files, documents, schemas."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2] / "manifests"
BASE = ROOT / "kustomize" / "base"
LOCAL = ROOT / "kustomize" / "overlays" / "local"
KOORDINATOR = ROOT / "kustomize" / "components" / "koordinator-crds"
EXAMPLES = ROOT / "examples"

FILES = sorted(ROOT.rglob("*.yaml"))


@cache
def documents(path: Path) -> list[Any]:
    """All documents of a file."""
    return list(yaml.safe_load_all(path.read_text()))


def objects(folder: Path) -> list[Any]:
    """All Kubernetes objects of a folder; kustomizations are none."""
    return [
        document
        for path in sorted(folder.rglob("*.yaml"))
        if path.name != "kustomization.yaml"
        for document in documents(path)
    ]


def named(kind: str, name: str, folder: Path = BASE) -> Any:
    """The one object of that kind and name."""
    (found,) = (
        each
        for each in objects(folder)
        if each["kind"] == kind and each["metadata"]["name"] == name
    )
    return found


def schema_of(crd: Any) -> Any:
    """The schema of a CRD's only version."""
    (version,) = crd["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def schemas(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """A schema and all schemas inside it, each with its path."""
    yield path or ".", schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from schemas(schema["additionalProperties"], f"{path}.*")
